// The scene's tables as scene.Geometry builds them and scene.Resident binds them,
// and functions that read them.
//
// Frames. The world frame is the map frame moved by World.Anchor, so that coordinates stay
// small in float32. A static triangle is in the world frame, a mover's triangle in its mesh's
// frame. Triangles are numbered through the whole scene. Triangle t has vertices 3t, 3t+1 and
// 3t+2, and the point with barycentric coordinates (u, v) is (1-u-v) p0 + u p1 + v p2. A mover
// is one moving part of an actor, numbered from 0; -1 stands for the static world.
//
// nodes       7 texels a node of four children: min x, max x, min y, max y,
//             min z, max z of each, and their references. A reference's bits:
//             30 always 1 (the value is a normal float), 31 set for a leaf. Inner: bits
//             0..28 are the node. Leaf: bits 0..25 the first triangle, 26..27
//             the count less one, 28 set where a material may be cut out by its
//             alpha. An absent child has min > max.
// triangles   3 texels: unit normal n and d with n.p + d = 0 on the plane; then
//             two rows whose products with (p, 1) are u and v of a triangle
//             enlarged by 20 micrometres or more, so that neighbours leave no gap.
// vertices    1 texel a vertex: position, and the code of its colour (see vertexColor),
//             1 for opaque white.
// attributes  1 texel (uint) a vertex: unit normal as octahedral 2x16 bit snorm, bits
//             of the texture coordinates, and of its triangle: the material
//             (vertex 0), instance id | tag << 16 of a static one or the first index
//             in its mesh of a shaped one (vertex 1), the ambient occlusion of the
//             three vertices as 8 bit unorm (vertex 2).
// materials   4 texels: base colour and alpha; emission, alpha cutoff (0: never
//             cut out, below 0: there by the share of its alpha, with a shadow from
//             so much alpha on); metallic, roughness, lidar reflectance (negative: the
//             base colour's luminance), flags (1 retroreflector, 2 double-sided, 4
//             unlit, 8 some of its vertices have colours, 16 times the lamps that it
//             is, see below, 4096 it is paint, 8192 received light is its class's);
//             records of the base colour's picture, the metallic-roughness's and the
//             emission's among these texels, -1 for none, and the place of its
//             transforms among them, 0 for none.
//             A picture's record is a texel: its layer (of colorTextures, or of
//             dataTextures for metallic-roughness), width, height, and how it is
//             sampled: see Picture.
//             Transforms are 4 texels, two rows for metallic-roughness and two for
//             emission: times (u, v, 1) they are the texture's coordinates.
// movers      2 texels (uint) a mover: reference of its root node, instance id |
//             tag << 16 | lamps that are on << 24, first triangle, and where its shape
//             changes the first of the triangles as they were at a camera's firing
//             before (0: it doesn't); then the bits of the linear colour that its
//             paint has, and 1 (0: the material's own). Behind the movers are the lamps that are
//             on in what stands, a byte for each instance id. Those of ids 0 to 15 are the last
//             texel.
// Lamps are bits: 1 head, 2 brake, 4 left and 8 right indicator, 16 reverse, 32 red, 64
// yellow, 128 green. A material that is both indicators is the one on whose side of its
// frame it lies.

#include "lib/noise.glsl"

layout(binding = SLOT_NODES) uniform samplerBuffer nodes;
layout(binding = SLOT_TRIANGLES) uniform samplerBuffer triangles;
layout(binding = SLOT_VERTICES) uniform samplerBuffer vertices;
layout(binding = SLOT_ATTRIBUTES) uniform usamplerBuffer attributes;
layout(binding = SLOT_MATERIALS) uniform samplerBuffer materials;
layout(binding = SLOT_COLOR_TEXTURES) uniform sampler2DArray colorTextures;
layout(binding = SLOT_DATA_TEXTURES) uniform sampler2DArray dataTextures;
layout(binding = SLOT_MOVERS) uniform usamplerBuffer movers;

struct Material {
    vec4 baseColor;
    vec3 emission;
    float alphaCutoff;
    float metallic;
    float roughness;
    float reflectance;
    bool retro;
    bool doubleSided;
    bool unlit;
    bool colored; // some of its vertices have colours
    uint lamps;
    bool paint; // a mover may have a colour for it
    bool asClass; // its class says what comes back of a lidar's light
    int basePicture; // a record, -1 for none
    int metalRoughPicture;
    int emissionPicture;
    int transforms; // first texel, 0 for none
};

// vertexPosition returns vertex i in its triangle's frame.
vec3 vertexPosition(int i) { return texelFetch(vertices, i).xyz; }

// vertexColor returns the linear colour and alpha of vertex i, which the base colour is
// multiplied by. The code has the colour's square roots in 8 bits each: bits 0..22 and 31. Bits
// 23..29 are the alpha in steps of 1/126. Bit 30 is 1, so that it is a normal float.
vec4 vertexColor(int i) {
    uint code = floatBitsToUint(texelFetch(vertices, i).w);
    uint rgb = code & 0x7fffffu | code >> 31 << 23;
    vec3 root = vec3(uvec3(rgb, rgb >> 8, rgb >> 16) & 255u) / 255.0;
    vec4 color = vec4(root * root, float(code >> 23 & 127u) / 126.0);
    return (code & 0x40000000u) != 0u ? color : vec4(1.0);
}

// octahedral returns the unit vector of an octahedral code.
vec3 octahedral(uint code) {
    vec2 e = unpackSnorm2x16(code);
    vec3 n = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    float fold = max(-n.z, 0.0);
    n.x += n.x >= 0.0 ? -fold : fold;
    n.y += n.y >= 0.0 ? -fold : fold;
    return normalize(n);
}

// triangleMaterial returns the index of a triangle's material.
int triangleMaterial(int triangle) { return int(texelFetch(attributes, 3 * triangle).w); }

// moverAt returns what a mover is and shows: the first texel of its record.
uvec4 moverAt(int mover) { return texelFetch(movers, 2 * mover); }

// label returns instance id | tag << 16 of what was hit.
uint label(int triangle, int mover) {
    return mover < 0 ? texelFetch(attributes, 3 * triangle + 1).w : moverAt(mover).y;
}

uint labelInstance(uint l) { return l & 0xffffu; }
uint labelTag(uint l) { return (l >> 16) & 0xffu; }
uint labelLamps(uint l) { return l >> 24; }

// soaksUp tells whether water goes into what a semantic class is made of: vegetation and terrain, which are leaves, grass and soil.
bool soaksUp(uint tag) { return tag == 9u || tag == 10u; }

// standingLamps returns the lamps that are on in an instance of the static world.
uint standingLamps(uint instance) {
    uvec4 lamps = texelFetch(movers, textureSize(movers) - 1 - int(instance >> 4));
    return lamps[instance >> 2 & 3u] >> 8u * (instance & 3u) & 255u;
}

// textureCoordinates returns the interpolated texture coordinates.
vec2 textureCoordinates(int triangle, vec2 barycentric) {
    vec2 a = uintBitsToFloat(texelFetch(attributes, 3 * triangle).yz);
    vec2 b = uintBitsToFloat(texelFetch(attributes, 3 * triangle + 1).yz);
    vec2 c = uintBitsToFloat(texelFetch(attributes, 3 * triangle + 2).yz);
    return a + barycentric.x * (b - a) + barycentric.y * (c - a);
}

// colorOfVertices returns the interpolated colour and alpha of a triangle's vertices.
vec4 colorOfVertices(int triangle, vec2 barycentric) {
    vec4 a = vertexColor(3 * triangle), b = vertexColor(3 * triangle + 1), c = vertexColor(3 * triangle + 2);
    return a + barycentric.x * (b - a) + barycentric.y * (c - a);
}

// materialAt returns entry i of the material table.
Material materialAt(int i) {
    vec4 base = texelFetch(materials, 4 * i);
    vec4 emission = texelFetch(materials, 4 * i + 1);
    vec4 surface = texelFetch(materials, 4 * i + 2);
    vec4 places = texelFetch(materials, 4 * i + 3);
    uint flags = uint(surface.w);
    return Material(base, emission.rgb, emission.a, surface.x, surface.y, surface.z,
        (flags & 1u) != 0u, (flags & 2u) != 0u, (flags & 4u) != 0u, (flags & 8u) != 0u, flags >> 4 & 255u, (flags & 4096u) != 0u, (flags & 8192u) != 0u,
        int(places.x), int(places.y), int(places.z), int(places.w));
}

// painted returns a material as a mover has it, -1 for the static world. A colour of the mover's
// takes the place of a paint's own. What it reflects of a lidar's light follows from that colour.
Material painted(Material m, int mover) {
    for (bool paint = m.paint && mover >= 0; paint; paint = false) {
        uvec4 own = texelFetch(movers, 2 * mover + 1);
        m.baseColor.rgb = own.w != 0u ? uintBitsToFloat(own.xyz) : m.baseColor.rgb;
        m.reflectance = own.w != 0u ? -1.0 : m.reflectance;
    }
    return m;
}

// Picture is a texture: where it lies in the corner of its layer, and how it is sampled. Of
// sampling, bits 0 and 1 are the wrap along u (0 repeat, 1 clamp, 2 mirror), 2 and 3 that along v.
// Bit 4 asks for the nearest texel alone where the picture is magnified, 5 where it is minified.
// Bit 6 asks for the nearest mipmap level alone, 7 for level 0 alone. Bits from 8 on are the level
// that a lidar's beam covers.
struct Picture {
    int layer;
    ivec2 size;
    uint sampling;
};

Picture pictureAt(int record) {
    vec4 r = texelFetch(materials, record);
    return Picture(int(r.x), ivec2(r.yz), uint(r.w));
}

// Spot is where a surface's textures are sampled: at uv, which moves by x and y from pixel to
// pixel. A lidar's beam covers some texels there, and a ray, where both are 0, a point.
struct Spot {
    vec2 uv, x, y;
    bool beam;
};

Spot pointAt(vec2 uv) { return Spot(uv, vec2(0.0), vec2(0.0), false); }
Spot beamAt(vec2 uv) { return Spot(uv, vec2(0.0), vec2(0.0), true); }

// levelOf returns the mipmap level whose texels are as large as a spot.
float levelOf(Picture p, Spot s) {
    vec2 size = vec2(p.size), x = s.x * size, y = s.y * size;
    return s.beam ? float(p.sampling >> 8) : 0.5 * log2(max(max(dot(x, x), dot(y, y)), 1e-8));
}

// wrapped brings a coordinate into 0..1.
float wrapped(float x, uint wrap) {
    float mirrored = 1.0 - abs(x - 2.0 * floor(0.5 * x) - 1.0);
    return wrap == 0u ? x - floor(x) : wrap == 1u ? clamp(x, 0.0, 1.0) : mirrored;
}

// Line is the two of n texels that a point of a line lies between, and the share of the second.
struct Line {
    int a, b;
    float share;
};

Line lineOf(float x, int n, uint wrap, bool nearest) {
    float size = float(n), at = x * size;
    at = wrap == 0u ? at : clamp(at, 0.5, size - 0.5);
    at = nearest ? min(floor(at), size - 1.0) : at - 0.5;
    float low = floor(at);
    int a = clamp(int(low), -1, n - 1); // where x is no number, any texel
    return Line(a < 0 ? n - 1 : a, a + 1 < n ? a + 1 : 0, at - low);
}

// decoded returns the light of a texel in sRGB (IEC 61966-2-1). Above its straight part it is
// the polynomial that is least far from it, by 1/80 of a byte's step at most. Drivers
// decode by more than a step off.
vec4 decoded(vec4 c) {
    vec3 x = c.rgb;
    vec3 high = 0.000924167456 + x * (0.0325732902 + x * (0.520607173 + x * (0.66372478 + x * (0.0856019408 * x - 0.303327113))));
    return vec4(mix(high, x / 12.92, lessThanEqual(x, vec3(0.04045))), c.a);
}

vec4 texelOf(sampler2DArray pictures, ivec3 at, int level, bool srgb) {
    vec4 c = texelFetch(pictures, at, level);
    return srgb ? decoded(c) : c;
}

// filtered returns a picture's colour in one level, at a point that is in 0..1.
vec4 filtered(sampler2DArray pictures, Picture p, vec2 at, int level, bool nearest, bool srgb) {
    ivec2 size = max(p.size >> level, 1);
    Line x = lineOf(at.x, size.x, p.sampling & 3u, nearest), y = lineOf(at.y, size.y, p.sampling >> 2 & 3u, nearest);
    vec4 upper = mix(texelOf(pictures, ivec3(x.a, y.a, p.layer), level, srgb), texelOf(pictures, ivec3(x.b, y.a, p.layer), level, srgb), x.share);
    vec4 lower = mix(texelOf(pictures, ivec3(x.a, y.b, p.layer), level, srgb), texelOf(pictures, ivec3(x.b, y.b, p.layer), level, srgb), x.share);
    return mix(upper, lower, y.share);
}

// sampled returns the colour of a spot, linear. It filters by itself: what drivers make of
// sRGB, of levels and of a picture in the corner of a layer differs.
vec4 sampled(sampler2DArray pictures, int record, Spot s, bool srgb) {
    Picture p = pictureAt(record);
    float level = levelOf(p, s);
    bool nearest = (p.sampling & (level > 0.0 ? 32u : 16u)) != 0u;
    level = (p.sampling & 128u) != 0u ? 0.0 : clamp(level, 0.0, float(findMSB(max(p.size.x, p.size.y))));
    level = (p.sampling & 64u) != 0u ? floor(level + 0.5) : level;
    vec2 at = vec2(wrapped(s.uv.x, p.sampling & 3u), wrapped(s.uv.y, p.sampling >> 2 & 3u));
    float low = floor(level);
    vec4 color = filtered(pictures, p, at, int(low), nearest, srgb);
    for (float share = level - low; share > 0.0; share = 0.0) // software OpenGL skips a loop alone: it carries out all of an if
        color = mix(color, filtered(pictures, p, at, int(low) + 1, nearest, srgb), share);
    return color;
}

// baseColor returns a material's linear base colour and alpha at a spot.
vec4 baseColor(Material m, Spot s) {
    if (m.basePicture < 0) return m.baseColor;
    return m.baseColor * sampled(colorTextures, m.basePicture, s, true);
}

// transformed returns a spot in the coordinates of another texture. Its rows among the
// material's transforms begin at row. A material without such has the same.
Spot transformed(Material m, int row, Spot s) {
    for (bool own = m.transforms != 0; own; own = false) {
        vec3 u = texelFetch(materials, m.transforms + row).xyz, v = texelFetch(materials, m.transforms + row + 1).xyz;
        s = Spot(vec2(dot(u, vec3(s.uv, 1.0)), dot(v, vec3(s.uv, 1.0))), vec2(dot(u.xy, s.x), dot(v.xy, s.x)),
            vec2(dot(u.xy, s.y), dot(v.xy, s.y)), s.beam);
    }
    return s;
}

// metallicRoughness returns a material's metallic and roughness factors at a spot.
vec2 metallicRoughness(Material m, Spot s) {
    if (m.metalRoughPicture < 0) return vec2(m.metallic, m.roughness);
    return vec2(m.metallic, m.roughness) * sampled(dataTextures, m.metalRoughPicture, transformed(m, 0, s), false).bg;
}

// emission returns a material's emitted linear colour at a spot.
vec3 emission(Material m, Spot s) {
    if (m.emissionPicture < 0) return m.emission;
    return m.emission * sampled(colorTextures, m.emissionPicture, transformed(m, 2, s), true).rgb;
}

// surfaceColor returns the linear base colour and alpha of a triangle of material m, with the
// colours of its vertices.
vec4 surfaceColor(Material m, int triangle, vec2 barycentric, Spot s) {
    vec4 color = baseColor(m, s);
    for (bool colored = m.colored; colored; colored = false) color *= colorOfVertices(triangle, barycentric);
    return color;
}

// absent tells whether a surface with some alpha isn't there for a pixel or a ray, which who
// tells from others. Below the cutoff of a masked material it never is (glTF 2.0, section
// 3.9.4). One that is blended is there for a share alpha of all or, where BLENDED_STOPS is 1, for all that it
// isn't quite transparent for: those who ask then split their light by themselves.
#ifndef BLENDED_STOPS
#define BLENDED_STOPS 0
#endif
bool absent(float cutoff, float alpha, uvec4 who) {
    bool gone = alpha < cutoff;
    for (bool blended = cutoff < 0.0; blended; blended = false) gone = alpha <= (BLENDED_STOPS != 0 ? 0.0 : uniformOf(pcg4d(who).x));
    return gone;
}

// cutOut tells whether a ray passes a hit because the surface is absent there. who tells the
// hit from others.
bool cutOut(int triangle, vec2 barycentric, uvec4 who) {
    int i = triangleMaterial(triangle);
    float cutoff = texelFetch(materials, 4 * i + 1).a;
    if (cutoff == 0.0) return false;
    return absent(cutoff, surfaceColor(materialAt(i), triangle, barycentric, pointAt(textureCoordinates(triangle, barycentric))).a, who);
}
