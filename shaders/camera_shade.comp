// Pictures of a camera: turns what each pixel sees (camera_ids) into every
// picture that is due, in one dispatch. An invocation makes a pixel; packed ones
// meet in shared memory, where a group's row of eight fills whole words.
//
// The constants say which pictures those are; those of one line exclude one another:
//
//   COLOR rgb8 or bgr8, WIDE_COLOR bgra8, LUMINANCE
//   DEPTH float32 metres, DEPTH_CODES CARLA's in bgra8, DEPTH_GREYS SVL's in mono8
//   TAGS mono8, TAG_COLORS rgb8, WIDE_TAG_COLORS bgra8, WIDE_TAGS CARLA's in bgra8
//   INSTANCES 16 bits, WIDE_INSTANCES 32, INSTANCE_CODES CARLA's in bgra8,
//       INSTANCE_COLORS SVL's in rgb8
//   NORMALS, FLOW
//
// No arithmetic here is precise: where a compiler contracts it, on GPUs, a program makes one picture
// alone, so that what else is due changes no byte (view.go's place). Across devices pixels may differ
// by what one rounding more or less does.
//
// What no picture needs isn't computed. With GRID above 1, visible is that many
// times the picture's size, and a picture of light alone is made. LENS is the lens;
// GRADED says that light is shown otherwise than by the tone curve and sRGB. VERTEX_COLORS
// says that some vertices have colours. TRACED takes shadows from camera_sun in place of
// the maps. ROLLING says that each point has a time of its own (lib/sight.glsl). The sun's maps
// are of one time, that of frames. So a point is looked up in them where it is at that time, with
// its frame.

#include "lib/lens.glsl"
#include "lib/camera.glsl"
#if ROLLING
#include "lib/motion.glsl"
#include "lib/shutter.glsl"
#include "lib/sight.glsl"
#endif
#include "lib/reach.glsl"
#include "lib/flow.glsl"
#include "lib/shade.glsl"
#include "lib/grade.glsl"

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y) in;

layout(binding = SLOT_SENSOR + 1) uniform usampler2D visible;
layout(binding = SLOT_SENSOR + 2) uniform sampler2D staticShadow;
layout(binding = SLOT_SENSOR + 3) uniform sampler2DShadow moverShadow;
layout(binding = SLOT_SENSOR + 5) uniform sampler2D sunlit; // where TRACED: 1 where the sun reaches what visible has, else 0
layout(binding = SLOT_SENSOR + 4) uniform samplerBuffer palette; // 0..1: CARLA's colours of 256 tags, then SVL's

const uint SWAP_RED = 1u, TONE_CURVE = 2u, FILM_CURVE = 4u, LINEAR = 8u, SVL_PALETTE = 16u;

// What the pixels without a surface have.
const uint SKY_TAG = 11u, NO_TAG = 0u;
const uint FAR = 0x7f800000u, NEAR = 0xff800000u, NOT_A_NUMBER = 0x7fc00000u;

layout(std140, binding = 0) uniform View {
    ivec2 size;        // of the pictures, pixels
    uint how;          // bits of the constants above
    float exposure;
    vec4 depthRange;   // metres: nearer than x is -Inf, farther than y +Inf; 1/z is SVL's white
    vec4 up, toSun;    // in the optical frame; where ROLLING, along the world's axes
    vec4 sun, zenith, horizon, ground, around;
    // Rows from (p, 1) of the optical frame to the maps' coordinates.
    // offsets.x is how much nearer to the sun a point is taken, in the static map's depth.
    // offsets.y is how far it is moved along its normal for the movers' map, metres.
    // offsets.z is a texel of the static map. On a surface at 45 degrees, depth changes
    // across it by offsets.w.
    vec4 staticMap[3], moverMap[3];
    vec4 offsets;
    Grade grade;       // where GRADED
#if WEATHER
    Air air;
#endif
};

// Only what is written is declared: every declared block is active, and needs a buffer bound to it.
#if COLOR || WIDE_COLOR
layout(std430, binding = 0) writeonly buffer Color { uint colors[]; };
#endif
#if DEPTH || DEPTH_CODES || DEPTH_GREYS
layout(std430, binding = 1) writeonly buffer Depth { uint depths[]; };
#endif
#if TAGS || TAG_COLORS || WIDE_TAG_COLORS || WIDE_TAGS
layout(std430, binding = 2) writeonly buffer Tags { uint tags[]; };
#endif
#if INSTANCES || WIDE_INSTANCES || INSTANCE_CODES || INSTANCE_COLORS
layout(std430, binding = 3) writeonly buffer Instances { uint instances[]; };
#endif
#if NORMALS
layout(std430, binding = 4) writeonly buffer Normals { uint normals[]; };
#endif
#if FLOW
layout(std430, binding = 5) writeonly buffer Flow { uint flows[]; };
#endif
#if LUMINANCE
layout(std430, binding = 6) writeonly buffer Luminance { uint luminances[]; };
#endif

// What light shows is needed.
#define LIGHT (COLOR || WIDE_COLOR || LUMINANCE)
// What a surface belongs to is needed.
#define LABELS (TAGS || TAG_COLORS || WIDE_TAG_COLORS || WIDE_TAGS || INSTANCES || WIDE_INSTANCES || INSTANCE_CODES || INSTANCE_COLORS)
// Pixels share words.
#define PACKED (COLOR || TAG_COLORS || INSTANCE_COLORS || TAGS || INSTANCES || DEPTH_GREYS)

// Hit is the point that a pixel's centre sees.
struct Hit {
    PixelRay pixel; // optical frame; where ROLLING, along the world's axes
    bool seen;      // false: the sky, or nothing where the lens isn't seeing
    int triangle;
    float reach;    // times the direction it is the point: planar depth where z is 1
    vec3 ray;       // the direction in the triangle's frame
    vec3 plane;     // normal of the triangle, in its frame
    float across;   // 1 / dot(plane, ray)
    vec3 local;     // from the triangle's first vertex, in its frame
    ivec2 at;       // where visible has it
#if ROLLING
    int frame;      // the triangle's
    float forward;  // z of the direction in the optical frame
    vec4 rotation;  // of the optical frame
#endif
};

#if ROLLING
// optical turns a direction of the world into a hit's optical frame.
#define OPTICAL(h, v) unrotate(h.rotation, v)
#define FORWARD(h) h.forward
#else
#define OPTICAL(h, v) v
#define FORWARD(h) h.pixel.direction.z
#endif

// hitOf returns the exact hit of the ray through a pixel's centre with the plane
// of the triangle that covers it. f is the triangle's frame, as the pixel sees it.
Hit hitOf(uvec2 id, out Frame f, ivec2 at) {
    Hit h;
    h.at = at;
    h.pixel = rayOf(vec2(at));
#if ROLLING
    Sight sight = sightOf(at);
    f = frameThen(int(id.y), sight);
    h.frame = int(id.y);
    h.forward = h.pixel.direction.z;
    h.rotation = sight.camera.rotation;
    h.pixel = turned(h.pixel, sight);
#else
    f = frameAt(int(id.y));
#endif
    h.seen = id.x != 0u;
    h.triangle = int(max(id.x, 1u)) - 1;
    h.ray = fromOptical(f, h.pixel.direction);
    h.plane = texelFetch(triangles, 3 * h.triangle).xyz;
    h.across = 1.0 / dot(h.plane, h.ray);
    h.reach = reachOf(id, f, h.ray);
    h.local = f.camera - vertexPosition(3 * h.triangle) + h.reach * h.ray;
    return h;
}

uint labelOf(uvec2 id, Hit h) {
    uint still = texelFetch(attributes, 3 * h.triangle + 1).w;
    uint moving = moverAt(max(int(id.y) - 1, 0)).y;
    return id.y == 0u ? still : moving;
}

// Corners are what a triangle's vertices say, and how barycentric coordinates
// change in its frame.
struct Corners {
    uvec4 a, b, c;
    vec3 rowU, rowV;
    float u, v;
};

Corners cornersOf(Hit h) {
    Corners k;
    k.a = texelFetch(attributes, 3 * h.triangle);
    k.b = texelFetch(attributes, 3 * h.triangle + 1);
    k.c = texelFetch(attributes, 3 * h.triangle + 2);
    k.rowU = texelFetch(triangles, 3 * h.triangle + 1).xyz;
    k.rowV = texelFetch(triangles, 3 * h.triangle + 2).xyz;
    k.u = dot(k.rowU, h.local);
    k.v = dot(k.rowV, h.local);
    return k;
}

// normalOf returns the smooth normal on the camera's side, along the axes of the hit's pixel.
vec3 normalOf(Hit h, Corners k, Frame f) {
    vec3 n = octahedral(k.a.x) * (1.0 - k.u - k.v) + octahedral(k.b.x) * k.u + octahedral(k.c.x) * k.v;
    n *= dot(n, h.plane) * h.across < 0.0 ? 1.0 : -1.0;
    return normalize(normalToOptical(f, n));
}

#if LIGHT
vec3 inMap(vec4 map[3], vec3 p) {
    vec4 h = vec4(p, 1.0);
    return vec3(dot(map[0], h), dot(map[1], h), dot(map[2], h));
}

// inside is 1 within a map and 0 outside, with a soft edge.
float inside(vec3 at) {
    vec2 e = abs(at.xy - 0.5);
    return clamp(20.0 - 40.0 * max(e.x, e.y), 0.0, 1.0);
}

// lit returns which of the 2x2 texels around a corner the sun reaches through, in the order of
// textureGather. They have nothing before the plane of the surface. Its depth is z at the
// corner and changes by slope across a texel.
vec4 lit(sampler2D map, vec2 corner, float z, vec2 slope) {
    vec4 plane = z + 0.5 * (slope.x * vec4(-1.0, 1.0, 1.0, -1.0) + slope.y * vec4(1.0, 1.0, -1.0, -1.0));
    return vec4(greaterThan(textureGather(map, corner), plane));
}

// softly returns how lit a point is by a map whose texels are t wide. It takes the 3x3 texels
// around it under a quadratic B-spline, so that edges show no steps. Four gathers hold them,
// those of the middle row and column twice. slope is how the surface's depth changes across
// a texel.
float softly(sampler2D map, vec3 at, float t, vec2 slope) {
    vec2 texel = at.xy / t;
    vec2 corner = floor(texel);
    vec2 f = texel - corner - 0.5;
    vec2 low = 0.5 * (0.5 - f) * (0.5 - f), high = 0.5 * (0.5 + f) * (0.5 + f), middle = 0.375 - 0.5 * f * f;
    vec2 a = corner * t, b = a + t;
    float z = at.z - dot(slope, f + 0.5); // at corner a
    vec4 x = vec4(low.x, middle.x, middle.x, low.x), right = vec4(middle.x, high.x, high.x, middle.x);
    vec4 y = vec4(middle.y, middle.y, low.y, low.y), below = vec4(high.y, high.y, middle.y, middle.y);
    return dot(x * y, lit(map, a, z, slope)) + dot(right * y, lit(map, vec2(b.x, a.y), z + slope.x, slope))
        + dot(x * below, lit(map, vec2(a.x, b.y), z + slope.y, slope)) + dot(right * below, lit(map, b, z + slope.x + slope.y, slope));
}

// slopeIn returns how the depth of a surface changes across a texel of a map: scale is that
// for a surface at 45 degrees.
vec2 slopeIn(vec4 map[3], vec3 normal, float scale) {
    vec3 n = vec3(dot(map[0].xyz, normal), dot(map[1].xyz, normal), dot(map[2].xyz, normal));
    return -scale * n.xy / min(n.z, -1e-9);
}

// sunlight returns how much of the sun reaches a hit, whose geometric normal is on the
// camera's side, in the optical frame.
float sunlight(Hit h, vec3 normal) {
#if TRACED
    return texelFetch(sunlit, h.at, 0).r;
#else
#if ROLLING
    vec3 p = pointToOptical(h.frame, h.local + vertexPosition(3 * h.triangle));
    normal = normalToOptical(frameAt(h.frame), h.across < 0.0 ? h.plane : -h.plane);
#else
    vec3 p = h.reach * h.pixel.direction;
#endif
    vec3 a = inMap(staticMap, p);
    a.z -= offsets.x;
    vec3 b = inMap(moverMap, p + normal * offsets.y);
    return mix(1.0, softly(staticShadow, a, offsets.z, slopeIn(staticMap, normal, offsets.w)), inside(a))
        * mix(1.0, texture(moverShadow, b), inside(b));
#endif
}

#if LAMPS
// LAMP is the radiance of a lamp that is on, times its colour.
const float LAMP = 6.0;

// shines tells whether a hit is on a lamp that is on.
bool shines(Material m, uvec2 id, Hit h) {
    uint label = labelOf(id, h);
    uint on = id.y == 0u ? standingLamps(labelInstance(label)) : labelLamps(label);
    uint side = vertexPosition(3 * h.triangle).y > 0.0 ? 4u : 8u;
    uint lamps = (m.lamps & 12u) == 12u ? m.lamps & ~12u | side : m.lamps;
    return (lamps & on) != 0u;
}
#endif

// colorOf returns what a hit shows, 0..1, linear.
vec3 colorOf(uvec2 id, Hit h, Corners k, Frame f, vec3 normal) {
    // Ray differentials: how the hit moves on its plane for one pixel's step.
    vec3 right = fromOptical(f, h.pixel.right), down = fromOptical(f, h.pixel.down);
    vec3 stepX = h.reach * (right - h.ray * (dot(h.plane, right) * h.across));
    vec3 stepY = h.reach * (down - h.ray * (dot(h.plane, down) * h.across));
    vec2 uv0 = uintBitsToFloat(k.a.yz);
    vec2 edgeU = uintBitsToFloat(k.b.yz) - uv0, edgeV = uintBitsToFloat(k.c.yz) - uv0;
    Spot spot = Spot(uv0 + k.u * edgeU + k.v * edgeV, dot(k.rowU, stepX) * edgeU + dot(k.rowV, stepX) * edgeV,
        dot(k.rowU, stepY) * edgeU + dot(k.rowV, stepY) * edgeV, false);

    Material m = painted(materialAt(int(k.a.w)), int(id.y) - 1);
    Surface s;
    s.normal = normal;
    s.open = clamp(1.0 - dot(unpackUnorm4x8(k.c.w).xyz, vec3(1.0 - k.u - k.v, k.u, k.v)), 0.0, 1.0);
    s.base = baseColor(m, spot).rgb;
#if VERTEX_COLORS
    s.base *= colorOfVertices(h.triangle, vec2(k.u, k.v)).rgb;
#endif
#if SURFACE_TEXTURES
    vec2 mr = metallicRoughness(m, spot);
    s.metallic = mr.x;
    s.roughness = mr.y;
#else
    s.metallic = m.metallic;
    s.roughness = m.roughness;
#endif
#if EMISSION_TEXTURES
    s.emission = emission(m, spot);
#else
    s.emission = m.emission;
#endif
#if LAMPS
    s.emission = shines(m, id, h) ? LAMP * s.base : s.emission;
#endif
#if WEATHER
    s.soaks = soaksUp(labelTag(labelOf(id, h)));
#endif
    vec3 toEye = -normalize(h.pixel.direction);
    Light light = Light(up.xyz, toSun.xyz, sun.rgb, zenith.rgb, horizon.rgb, ground.rgb, around.rgb
#if WEATHER
        , air
#endif
    );
    vec3 geometric = normalToOptical(f, h.across < 0.0 ? h.plane : -h.plane); // unit, but for animated scales
    vec3 color = radiance(s, light, toEye, sunlight(h, geometric));
#if WEATHER
    float height = -dot(toEye, light.up);
    float left = exp2(-air.extinction * h.reach * length(h.pixel.direction));
    color = mix(airlight(air, height), color, m.unlit ? 0.0 : left);
#endif
    color = exposure * (h.seen ? color : skyRadiance(light, -toEye));
    color = h.pixel.seeing ? color : vec3(0.0);
#if GRADED
    color = balanced(grade, color);
    if ((how & FILM_CURVE) != 0u) color = filmCurve(grade, color);
    else
#endif
    color = (how & TONE_CURVE) != 0u ? toneCurve(color) : clamp(color, 0.0, 1.0);
    // An unlit surface is shown as it is painted: neither light nor exposure changes it.
#if WEATHER
    s.base = mix(color, s.base, left); // the air before it is lit
#endif
    return m.unlit && h.seen && h.pixel.seeing ? s.base : color;
}

// encoded returns what a colour from 0 to 1 is in a picture.
vec3 encoded(vec3 color) {
#if GRADED
    if ((how & LINEAR) != 0u) return color;
    color = pow(color, vec3(grade.gamma));
#endif
    return encodeSrgb(color);
}
#endif

// bytes returns a colour as three bytes, the first in the lowest.
uint bytes(vec3 color) {
    uvec3 b = uvec3(color * 255.0 + 0.5);
    return b.r | b.g << 8 | b.b << 16;
}

#if LUMINANCE
// luminanceOf returns the grey of a colour's bytes, as CARLA weighs them, in whole
// ten-thousandths of a level.
uint luminanceOf(uint rgb) { return 2989u * (rgb & 255u) + 5870u * (rgb >> 8 & 255u) + 1140u * (rgb >> 16); }
#endif

#if DEPTH || DEPTH_CODES
float planarDepth(Hit h) { return h.reach * FORWARD(h); }
#endif

#if DEPTH
uint depthBits(Hit h) {
    float z = planarDepth(h);
    if (!h.pixel.seeing) return NOT_A_NUMBER;
    if (!h.seen || z > depthRange.y) return FAR;
    return z < depthRange.x ? NEAR : floatBitsToUint(z);
}
#endif

#if DEPTH_CODES
// depthCode returns CARLA's word: red + 256 green + 65536 blue is 2^24 - 1 at 1000 m.
uint depthCode(Hit h) {
    float z = planarDepth(h);
    uint code = z < depthRange.x ? 0u : uint(min(round(max(z, 0.0) * 16777.215), 16777215.0));
    code = !h.seen || z > depthRange.y ? 0xffffffu : code;
    code = h.pixel.seeing ? code : 0u;
    return 0xff000000u | (code & 255u) << 16u | code & 0xff00u | code >> 16u;
}
#endif

#if DEPTH_GREYS
// depthGrey returns SVL's level: the tenth root of the distance's share of the range.
uint depthGrey(Hit h) {
    float range = h.reach * length(h.pixel.direction);
    if (!h.pixel.seeing || h.seen && range < depthRange.x) return 0u;
    if (!h.seen || range > depthRange.y) return 255u;
    return uint(255.0 * pow(min(range * depthRange.z, 1.0), 0.1) + 0.5);
}
#endif

#if INSTANCE_COLORS
// instanceColor returns the class's colour in SVL's palette, with a saturation and a value of
// the instance's own, each up to 0.25 from the class's. Those of 4096 successive instances are
// a grid of 64 x 64, in mixed order.
vec3 instanceColor(uint tag, uint instance) {
    vec3 c = texelFetch(palette, 256 + int(tag)).rgb;
    float most = max(max(c.r, c.g), c.b), least = min(min(c.r, c.g), c.b);
    vec3 hue = most > least ? (c - least) / (most - least) : vec3(1.0, 0.0, 0.0);
    vec2 usual = vec2(most > 0.0 ? 1.0 - least / most : 0.0, most);
    uint k = instance * 2531u;
    vec2 own = (vec2(k & 63u, k >> 6 & 63u) + 0.5) / 64.0;
    vec2 sv = mix(max(usual - 0.25, 0.0), min(usual + 0.25, 1.0), own);
    return instance == 0u ? c : sv.y * (1.0 - sv.x * (1.0 - hue));
}
#endif

#if FLOW
// sinceOf returns how far a pixel's point lay at the previous firing from now of the optical
// frame. It has the motion of its frame, and what changes its mover's shape.
vec3 sinceOf(uvec2 id, Hit h, vec4 now) {
    uvec4 mover = moverAt(max(int(id.y) - 1, 0));
    vec3 since = sinceBefore(int(id.y), now);
    for (bool changes = h.seen && id.y != 0u && mover.w != 0u; changes; changes = false) {
        int t = 3 * h.triangle, before = t + 3 * int(mover.w - mover.z);
        float u = dot(texelFetch(triangles, t + 1).xyz, h.local), v = dot(texelFetch(triangles, t + 2).xyz, h.local);
        vec3 a = vertexPosition(before) - vertexPosition(t);
        vec3 b = vertexPosition(before + 1) - vertexPosition(t + 1);
        vec3 c = vertexPosition(before + 2) - vertexPosition(t + 2);
        vec3 bent = directionToOptical(int(id.y), a + u * (b - a) + v * (c - a));
        since = bent + sinceBefore(int(id.y), now + vec4(bent, 0.0));
    }
    return since;
}

// flowOf returns how far what a pixel sees moved over the picture since the firing before. It
// is in widths and heights of the picture: x to the right, y down.
uvec2 flowOf(uvec2 id, Hit h) {
    // The sky is at infinity: only the camera's rotation moves it.
    vec3 now = h.seen ? h.reach * h.pixel.direction : h.pixel.direction;
    vec3 since = sinceOf(id, h, vec4(now, h.seen ? 1.0 : 0.0));
#if LENS == LENS_PINHOLE
    float depth = now.z + since.z;
    if (depth <= 0.0) return uvec2(NOT_A_NUMBER);
    vec2 pixels = (h.pixel.direction.xy * since.z - since.xy) / (depth * lens.xy);
#elif LENS == LENS_TABLE
    vec2 before;
    if (!h.pixel.seeing || !pixelBefore(vec2(h.at), now, now + since, before)) return uvec2(NOT_A_NUMBER);
    vec2 pixels = vec2(h.at) - before;
#else
    vec2 before, after;
    bool there = pixelOf(now + since, before) && pixelOf(now, after);
    if (!there || !h.pixel.seeing) return uvec2(NOT_A_NUMBER);
    vec2 pixels = after - before;
#endif
    return floatBitsToUint(pixels / vec2(size));
}
#endif

// What the group's pixels put into words together.
#if COLOR
shared uint colorBytes[64];
#endif
#if TAG_COLORS
shared uint tagBytes[64];
#endif
#if INSTANCE_COLORS
shared uint instanceBytes[64];
#endif
#if DEPTH_GREYS
shared uint greys[64];
#endif
#if TAGS || INSTANCES
shared uint labels[64]; // tag | instance << 16
#endif

#if LIGHT && GRID > 1
// averageColor returns what a pixel of GRID x GRID seen points shows.
vec3 averageColor(ivec2 at) {
    vec3 sum = vec3(0.0);
    for (int k = 0; k < GRID * GRID; k++) {
        ivec2 part = GRID * at + ivec2(k % GRID, k / GRID);
        uvec2 id = texelFetch(visible, part, 0).xy;
        Frame f;
        Hit h = hitOf(id, f, part);
        Corners corners = cornersOf(h);
        sum += colorOf(id, h, corners, f, normalOf(h, corners, f));
    }
    return sum / float(GRID * GRID);
}
#endif

// makePixel makes pixel at: it writes what fills words of its own, and leaves the
// rest to its group.
void makePixel(ivec2 at, bool inside) {
    uint place = gl_LocalInvocationIndex;
#if LIGHT && GRID > 1
    vec3 color = averageColor(at);
#else
    uvec2 id = texelFetch(visible, at, 0).xy;
    Frame f;
    Hit h = hitOf(id, f, at);
#endif
#if NORMALS || LIGHT && GRID == 1
    Corners corners = cornersOf(h);
    vec3 normal = normalOf(h, corners, f);
#endif
#if LIGHT && GRID == 1
    vec3 color = colorOf(id, h, corners, f, normal);
#endif
#if LIGHT
    color = encoded(color);
#endif
#if COLOR
    colorBytes[place] = bytes((how & SWAP_RED) != 0u ? color.bgr : color);
#endif
    int pixel = at.y * size.x + at.x;
#if WIDE_COLOR
    if (inside) colors[pixel] = 0xff000000u | bytes(color.bgr);
#endif
#if LUMINANCE
    if (inside) luminances[pixel] = luminanceOf(bytes(color));
#endif
#if DEPTH
    if (inside) depths[pixel] = depthBits(h);
#endif
#if DEPTH_CODES
    if (inside) depths[pixel] = depthCode(h);
#endif
#if DEPTH_GREYS
    greys[place] = depthGrey(h);
#endif
#if LABELS
    uint label = labelOf(id, h);
    uint tag = h.seen ? labelTag(label) : h.pixel.seeing ? SKY_TAG : NO_TAG;
    uint instance = h.seen ? labelInstance(label) : 0u;
#endif
#if TAG_COLORS
    tagBytes[place] = bytes(texelFetch(palette, int(tag) + ((how & SVL_PALETTE) != 0u ? 256 : 0)).rgb);
#endif
#if WIDE_TAG_COLORS
    if (inside) tags[pixel] = 0xff000000u | bytes(texelFetch(palette, int(tag)).bgr);
#endif
#if WIDE_TAGS
    if (inside) tags[pixel] = 0xff000000u | tag << 16u;
#endif
#if INSTANCE_CODES
    if (inside) instances[pixel] = 0xff000000u | tag << 16u | (instance & 255u) << 8u | instance >> 8u & 255u;
#endif
#if INSTANCE_COLORS
    instanceBytes[place] = bytes(instanceColor(tag, instance));
#endif
#if TAGS || INSTANCES
    labels[place] = tag | instance << 16;
#endif
#if WIDE_INSTANCES
    if (inside) instances[pixel] = instance;
#endif
#if NORMALS
    uvec3 bits = h.seen ? floatBitsToUint(OPTICAL(h, normal)) : uvec3(NOT_A_NUMBER);
    if (inside) {
        normals[3 * pixel] = bits.x;
        normals[3 * pixel + 1] = bits.y;
        normals[3 * pixel + 2] = bits.z;
    }
#endif
#if FLOW
    uvec2 moved = flowOf(id, h);
    if (inside) {
        flows[2 * pixel] = moved.x;
        flows[2 * pixel + 1] = moved.y;
    }
#endif
}

// THREE_BYTES is word w of six, of eight pixels of three bytes that stand in list
// from first on.
#define THREE_BYTES(list, first, w) (list[first + (4u * w) / 3u] >> 8u * (w % 3u) | list[first + (4u * w) / 3u + 1u] << 24u - 8u * (w % 3u))

// FOUR_BYTES is the word of the low bytes of four numbers of list from first on.
#define FOUR_BYTES(list, first) (list[first] & 255u | (list[first + 1u] & 255u) << 8u | (list[first + 2u] & 255u) << 16u | list[first + 3u] << 24u)

// writeWords writes the words that the group's pixels share; rows are padded to
// whole words.
void writeWords() {
    uint row = gl_LocalInvocationID.y * 8u, w = gl_LocalInvocationID.x;
    int group = int(gl_WorkGroupID.x), y = int(gl_GlobalInvocationID.y);
    if (y >= size.y) return;
#if COLOR || TAG_COLORS || INSTANCE_COLORS
    int triples = (3 * size.x + 3) / 4, triple = 6 * group + int(w);
    if (w < 6u && triple < triples) {
#if COLOR
        colors[y * triples + triple] = THREE_BYTES(colorBytes, row, w);
#endif
#if TAG_COLORS
        tags[y * triples + triple] = THREE_BYTES(tagBytes, row, w);
#endif
#if INSTANCE_COLORS
        instances[y * triples + triple] = THREE_BYTES(instanceBytes, row, w);
#endif
    }
#endif
#if TAGS || DEPTH_GREYS
    int quads = (size.x + 3) / 4, quad = 2 * group + int(w);
    if (w < 2u && quad < quads) {
        uint first = row + 4u * w;
#if TAGS
        tags[y * quads + quad] = FOUR_BYTES(labels, first);
#endif
#if DEPTH_GREYS
        depths[y * quads + quad] = FOUR_BYTES(greys, first);
#endif
    }
#endif
#if INSTANCES
    int pairs = (size.x + 1) / 2, pair = 4 * group + int(w);
    if (w < 4u && pair < pairs) {
        uint first = row + 2u * w;
        instances[y * pairs + pair] = labels[first] >> 16 | labels[first + 1u] & 0xffff0000u;
    }
#endif
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    makePixel(min(at, size - 1), all(lessThan(at, size)));
#if PACKED
    memoryBarrierShared();
    barrier();
    writeWords();
#endif
}
