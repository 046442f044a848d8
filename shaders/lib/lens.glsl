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
//   table         every other lens: lensTable has what each pixel sees, two numbers that are
//                 the point at z = 1, or of a wide lens the angle from the axis in radians
//                 along x and y; NaN where it sees nothing

#define LENS_PINHOLE 0
#define LENS_PLUMB_BOB 1
#define LENS_SVL 2
#define LENS_SVL_FISHEYE 3
#define LENS_TABLE 4

layout(std140, binding = 1) uniform Lens {
    vec4 lens;   // 1/fx, 1/fy, cx, cy
    vec4 radial; // coefficients of r^2, r^4, r^6 and r^8
    vec4 shape;  // p1, p2, xi, and the radius up to which the polynomial holds. Of a table, x is 1 of a
                 // wide lens, and y how many of its entries lie from one point of the view to the next
};

layout(binding = SLOT_SENSOR + 6) uniform sampler2D lensTable; // where LENS is LENS_TABLE

// PixelRay is what a pixel sees along. right and down are how the direction changes
// to the neighbouring pixels; seeing is false where the lens has no direction.
struct PixelRay {
    vec3 direction;
    vec3 right, down;
    bool seeing;
};

#if LENS == LENS_TABLE
// nowhere is an entry that a table doesn't have.
vec2 nowhere() { return vec2(uintBitsToFloat(0x7fc00000u)); }

// entryAt returns what the table has of a pixel, nothing beside it.
vec2 entryAt(ivec2 at) {
    bool inside = all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, textureSize(lensTable, 0)));
    return inside ? texelFetch(lensTable, at, 0).xy : nowhere();
}

// missing tells that there is no entry. isnan may say no of every number.
bool missing(vec2 entry) { return (floatBitsToUint(entry.x) & 0x7fffffffu) > 0x7f800000u; }

// changeOf returns how entries change from one pixel to the next, by those before and after one.
vec2 changeOf(vec2 before, vec2 here, vec2 after) {
    float n = 0.0;
    if (!missing(before)) n += 1.0; else before = here;
    if (!missing(after)) n += 1.0; else after = here;
    return (after - before) * (n == 2.0 ? 0.5 : 1.0);
}

// cubic returns the weights of four entries in a row for the place t, counted from the first:
// Lagrange's.
vec4 cubic(float t) {
    float a = t - 1.0, b = t - 2.0, c = t - 3.0;
    return vec4(a * b * c * (-1.0 / 6.0), t * b * c * 0.5, t * a * c * -0.5, t * a * b * (1.0 / 6.0));
}

// between returns the entry at a place between pixels.
vec2 between(vec2 at) {
    ivec2 first = clamp(ivec2(floor(at)) - 1, ivec2(0), textureSize(lensTable, 0) - 4);
    vec4 x = cubic(at.x - float(first.x)), y = cubic(at.y - float(first.y));
    vec2 sum = vec2(0.0);
    for (int j = 0; j < 4; j++) {
        vec2 row = vec2(0.0);
        for (int i = 0; i < 4; i++) row += x[i] * entryAt(first + ivec2(i, j));
        sum += y[j] * row;
    }
    return sum;
}

// directionOf returns where an entry p leads, and how that changes with the entry by x and y. Sine and
// cosine are products of the series of half the angle, to 1e-7.
PixelRay directionOf(vec2 p, vec2 x, vec2 y, bool seeing) {
    if (shape.x == 0.0) return PixelRay(vec3(p, 1.0), vec3(x, 0.0), vec3(y, 0.0), seeing);
    float s = dot(p, p), h = 0.25 * s;
    float c = 1.0 + h * (-1.0 / 2.0 + h * (1.0 / 24.0 + h * (-1.0 / 720.0 + h * (1.0 / 40320.0 + h * (-1.0 / 3628800.0 + h * (1.0 / 479001600.0))))));
    float d = 1.0 + h * (-1.0 / 6.0 + h * (1.0 / 120.0 + h * (-1.0 / 5040.0 + h * (1.0 / 362880.0 + h * (-1.0 / 39916800.0 + h * (1.0 / 6227020800.0))))));
    float over = d * c, cosine = 1.0 - 2.0 * h * d * d; // over is the sine over the angle
    float change = s < 0.05 ? -1.0 / 3.0 + s * (1.0 / 30.0) : (cosine - over) / s; // twice that of over with s
    float across = dot(p, x), along = dot(p, y);
    return PixelRay(vec3(over * p, cosine), vec3(over * x + change * across * p, -over * across),
        vec3(over * y + change * along * p, -over * along), seeing);
}

// rayNear returns what a place of the table, in its pixels, sees along. Beside the picture, and at the lens's
// end, entries go on straight.
PixelRay rayNear(vec2 at) {
    at = clamp(at, vec2(-1e6), vec2(1e6)); // what no whole number holds is undefined
    ivec2 near = clamp(ivec2(floor(at + 0.5)), ivec2(0), textureSize(lensTable, 0) - 1);
    vec2 here = entryAt(near);
    vec2 x = changeOf(entryAt(near - ivec2(1, 0)), here, entryAt(near + ivec2(1, 0)));
    vec2 y = changeOf(entryAt(near - ivec2(0, 1)), here, entryAt(near + ivec2(0, 1)));
    bool seeing = !missing(here);
    vec2 off = at - vec2(near), p = here;
    if (off != vec2(0.0)) {
        bool beside = any(greaterThan(abs(off), vec2(0.75)));
        vec2 fine = beside ? nowhere() : between(at);
        p = missing(fine) ? here + off.x * x + off.y * y : fine;
    }
    return directionOf(seeing ? p : vec2(0.0), seeing ? x : vec2(0.0), seeing ? y : vec2(0.0), seeing);
}

// shownAs returns a point's direction as directionOf has them.
vec3 shownAs(vec3 point) { return point / (shape.x == 0.0 ? point.z : length(point)); }

// pixelBefore tells where on the picture a point appeared that was at then of the optical frame, and is now what
// pixel at sees. It takes four steps of Newton's method on the table; false where it appeared nowhere.
bool pixelBefore(vec2 at, vec3 now, vec3 then, out vec2 before) {
    before = at;
    if (shape.x == 0.0 && then.z <= 0.0) return false;
    vec3 way = shownAs(then) - shownAs(now), start = rayNear(at).direction;
    bool seen = true;
    vec2 move = vec2(0.0);
    for (int i = 0; i < 5; i++) { // the last looks whether it got there
        PixelRay r = rayNear(before);
        vec3 miss = way - (r.direction - start);
        float xx = dot(r.right, r.right), xy = dot(r.right, r.down), yy = dot(r.down, r.down);
        float x = dot(r.right, miss), y = dot(r.down, miss), scale = 1.0 / (xx * yy - xy * xy);
        move = scale * vec2(yy * x - xy * y, xx * y - xy * x);
        seen = seen && r.seeing;
        if (i < 4) before += move;
    }
    return seen && dot(move, move) < 1e-2;
}
#elif LENS != LENS_PINHOLE
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
#if LENS == LENS_TABLE
    PixelRay r = rayNear((at + 0.5) * shape.y - 0.5);
    r.right *= shape.y;
    r.down *= shape.y;
    return r;
#else
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
#endif
}

#if LENS != LENS_TABLE
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
#endif
