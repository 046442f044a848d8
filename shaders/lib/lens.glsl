// Lenses: which direction of the optical frame each pixel sees, and where on the
// picture a point appears. LENS says which lens; Lens of package camera has the
// same in float64, and the sources of the formulas.
//
// Pixel (x, y), row 0 at the top, is the point ((x - cx) / fx, (y - cy) / fy) of the
// picture plane. A pinhole sees (point, 1) there. The others bend it:
//
//   plumb_bob     the plane's point is a polynomial of the ideal one (OpenCV)
//   svl           the ideal point is a polynomial of the plane's
//   svl_fisheye   as svl, and from there to the unit sphere, seen from xi behind its
//                 centre: directions are unit vectors, also sideways and backwards

#define LENS_PINHOLE 0
#define LENS_PLUMB_BOB 1
#define LENS_SVL 2
#define LENS_SVL_FISHEYE 3

layout(std140, binding = 1) uniform Lens {
    vec4 lens;   // 1/fx, 1/fy, cx, cy
    vec4 radial; // coefficients of r^2, r^4, r^6 and r^8
    vec4 shape;  // p1, p2, xi, and the radius up to which the polynomial holds
};

// PixelRay is what a pixel sees along. right and down are how the direction changes
// to the neighbouring pixels; seeing is false where the lens has no direction.
struct PixelRay {
    vec3 direction;
    vec3 right, down;
    bool seeing;
};

#if LENS != LENS_PINHOLE
// polynomial applies the lens's polynomial to a point, and returns the matrix of
// its derivatives.
vec2 polynomial(vec2 p, out mat2 slope) {
    float s = dot(p, p);
    float g = 1.0 + s * (radial.x + s * (radial.y + s * (radial.z + s * radial.w)));
    float change = radial.x + s * (2.0 * radial.y + s * (3.0 * radial.z + s * (4.0 * radial.w)));
    slope = mat2(g) + 2.0 * change * outerProduct(p, p);
    vec2 q = p * g;
#if LENS == LENS_PLUMB_BOB
    vec2 t = shape.xy;
    float across = 2.0 * dot(t, p);
    slope += mat2(2.0 * t.x * p.y + 6.0 * t.y * p.x, across, across, 2.0 * t.y * p.x + 6.0 * t.x * p.y);
    q += 2.0 * p.x * p.y * t + t.yx * (s + 2.0 * p * p);
#endif
    return q;
}

// held returns p, or the nearest point that the polynomial holds for.
vec2 held(vec2 p) { return p * min(1.0, shape.w * inversesqrt(max(dot(p, p), 1e-30))); }

bool holdsFor(vec2 p) { return dot(p, p) <= shape.w * shape.w; }

// solve finds the point that the polynomial turns into q, by Newton's method from
// q on; false where there is none.
bool solve(vec2 q, out vec2 p, out mat2 slope) {
    p = held(q);
    float off = 1.0;
    for (int i = 0; i < 20 && off > 3e-7; i++) {
        vec2 miss = q - polynomial(p, slope);
        vec2 next = held(p + inverse(slope) * miss);
        off = length(next - p);
        p = next;
    }
    return length(polynomial(p, slope) - q) < 1e-5 * (1.0 + length(q)) && determinant(slope) > 0.0;
}
#endif

// rayOf returns what the point at of the picture, in pixels, sees along.
PixelRay rayOf(vec2 at) {
    vec2 q = (at - lens.zw) * lens.xy;
#if LENS == LENS_PINHOLE
    return PixelRay(vec3(q, 1.0), vec3(lens.x, 0.0, 0.0), vec3(0.0, lens.y, 0.0), true);
#else
    vec2 p;
    mat2 slope;
#if LENS == LENS_PLUMB_BOB
    bool seeing = solve(q, p, slope);
    slope = inverse(slope);
#else
    bool seeing = holdsFor(q);
    p = polynomial(q, slope);
#endif
    vec2 x = slope[0] * lens.x, y = slope[1] * lens.y;
#if LENS == LENS_SVL_FISHEYE
    float xi = shape.z;
    float l = dot(p, p) + 1.0, under = 1.0 + (1.0 - xi * xi) * (l - 1.0), root = sqrt(max(under, 1e-12));
    float lambda = (xi + root) / l;
    float change = 2.0 * (0.5 * (1.0 - xi * xi) / root - lambda) / l; // times p, of lambda
    return PixelRay(vec3(lambda * p, lambda - xi),
        vec3(lambda * x, 0.0) + change * dot(p, x) * vec3(p, 1.0),
        vec3(lambda * y, 0.0) + change * dot(p, y) * vec3(p, 1.0), seeing && under >= 0.0);
#else
    return PixelRay(vec3(p, 1.0), vec3(x, 0.0), vec3(y, 0.0), seeing);
#endif
#endif
}

// pixelOf tells where on the picture a point of the optical frame appears, in pixels,
// which may be beside it; false where it appears nowhere.
bool pixelOf(vec3 point, out vec2 at) {
    float far = length(point), xi = shape.z; // of other lenses 0
    float depth = point.z + xi * far;
    bool seen = depth > 0.0 && (xi <= 1.0 || xi * point.z > -far);
    vec2 p = point.xy / (seen ? depth : 1.0);
#if LENS == LENS_PLUMB_BOB
    mat2 slope;
    seen = seen && holdsFor(p);
    p = polynomial(p, slope);
#elif LENS != LENS_PINHOLE
    mat2 slope;
    vec2 q = p;
    seen = solve(q, p, slope) && seen;
#endif
    at = p / lens.xy + lens.zw;
    return seen;
}
