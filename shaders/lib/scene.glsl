// The scene's tables as scene.World builds them and scene.Resident binds them,
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
//             enlarged by some 10 micrometres, so that neighbours leave no gap.
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
//             is, see below, 4096 it is paint);
//             layers of base colour (colorTextures), metallic-roughness
//             (dataTextures) and emission (colorTextures), -1 for none, and their
//             wraps, base + 4 metallic-roughness + 16 emission + 64 times the place of
//             its transforms among the records (0: it has none).
//             Transforms are 4 texels, two rows for metallic-roughness and two for
//             emission: times (u, v, 1) they are the texture's coordinates. They end
//             in how many mipmap levels finer the picture is.
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
    float baseLayer;
    float metalRoughLayer;
    float emissionLayer;
    uint wraps;
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
    vec4 layers = texelFetch(materials, 4 * i + 3);
    uint flags = uint(surface.w);
    return Material(base, emission.rgb, emission.a, surface.x, surface.y, surface.z,
        (flags & 1u) != 0u, (flags & 2u) != 0u, (flags & 4u) != 0u, (flags & 8u) != 0u, flags >> 4 & 255u, (flags & 4096u) != 0u, layers.x, layers.y, layers.z,
        uint(layers.w) & 63u, 4 * int(uint(layers.w) >> 6));
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

// wrapped applies a texture's wrap (0 repeat, 1 clamp, 2 mirror) to texture
// coordinates; the pictures themselves repeat.
vec2 wrapped(vec2 uv, uint wrap, float size) {
    if (wrap == 0u) return uv;
    if (wrap == 2u) uv = 1.0 - abs(mod(uv, 2.0) - 1.0);
    return clamp(uv, 0.5 / size, 1.0 - 0.5 / size);
}

// baseColor returns a material's linear base colour and alpha at texture coordinates uv. It
// takes them from mipmap level lod of the picture (log2 of its texels a pixel).
vec4 baseColor(Material m, vec2 uv, float lod) {
    if (m.baseLayer < 0.0) return m.baseColor;
    float size = float(textureSize(colorTextures, 0).x);
    vec2 at = wrapped(uv, m.wraps & 3u, size);
    return m.baseColor * textureLod(colorTextures, vec3(at, m.baseLayer), lod);
}

// transform brings texture coordinates and their mipmap level to those of another texture. Its
// rows among the material's transforms begin at row. A material without such has the same.
void transform(Material m, int row, inout vec2 uv, inout float lod) {
    for (bool own = m.transforms != 0; own; own = false) {
        vec4 u = texelFetch(materials, m.transforms + row), v = texelFetch(materials, m.transforms + row + 1);
        uv = vec2(dot(u.xyz, vec3(uv, 1.0)), dot(v.xyz, vec3(uv, 1.0)));
        lod += u.w;
    }
}

// metallicRoughness returns a material's metallic and roughness factors at uv.
vec2 metallicRoughness(Material m, vec2 uv, float lod) {
    if (m.metalRoughLayer < 0.0) return vec2(m.metallic, m.roughness);
    transform(m, 0, uv, lod);
    float size = float(textureSize(dataTextures, 0).x);
    vec2 at = wrapped(uv, (m.wraps >> 2) & 3u, size);
    return vec2(m.metallic, m.roughness) * textureLod(dataTextures, vec3(at, m.metalRoughLayer), lod).bg;
}

// emission returns a material's emitted linear colour at uv.
vec3 emission(Material m, vec2 uv, float lod) {
    if (m.emissionLayer < 0.0) return m.emission;
    transform(m, 2, uv, lod);
    float size = float(textureSize(colorTextures, 0).x);
    vec2 at = wrapped(uv, (m.wraps >> 4) & 3u, size);
    return m.emission * textureLod(colorTextures, vec3(at, m.emissionLayer), lod).rgb;
}

// surfaceColor returns the linear base colour and alpha of a triangle of material m, from
// mipmap level lod, with the colours of its vertices.
vec4 surfaceColor(Material m, int triangle, vec2 barycentric, float lod) {
    vec4 color = baseColor(m, textureCoordinates(triangle, barycentric), lod);
    for (bool colored = m.colored; colored; colored = false) color *= colorOfVertices(triangle, barycentric);
    return color;
}

// absent tells whether a surface with some alpha isn't there for a pixel or a ray, which who
// tells from others. Below the cutoff of a masked material it never is (glTF 2.0, section
// 3.9.4). One that is blended is there for a share alpha of all.
bool absent(float cutoff, float alpha, uvec4 who) {
    bool gone = alpha < cutoff;
    for (bool blended = cutoff < 0.0; blended; blended = false) gone = alpha <= uniformOf(pcg4d(who).x);
    return gone;
}

// cutOut tells whether a ray passes a hit because the surface is absent there. The bits of
// its origin and direction tell it from others.
bool cutOut(int triangle, int mover, vec2 barycentric, uvec3 ray) {
    int i = triangleMaterial(triangle);
    float cutoff = texelFetch(materials, 4 * i + 1).a;
    if (cutoff == 0.0) return false;
    uvec4 who = uvec4(ray, uint(triangle) + 0x9e3779b9u * uint(mover));
    return absent(cutoff, surfaceColor(materialAt(i), triangle, barycentric, 0.0).a, who);
}
