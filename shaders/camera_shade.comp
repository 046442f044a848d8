// Pictures of a camera: turns what each pixel sees (camera_ids) into every
// picture that is due, in one dispatch. An invocation makes four pixels of a
// row, so that packed ones fill whole words.

#include "lib/camera.glsl"
#include "lib/shade.glsl"

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y) in;

layout(binding = SLOT_SENSOR + 1) uniform usampler2D visible;
layout(binding = SLOT_SENSOR + 2) uniform sampler2DShadow staticShadow;
layout(binding = SLOT_SENSOR + 3) uniform sampler2DShadow moverShadow;
layout(binding = SLOT_SENSOR + 4) uniform samplerBuffer palette; // colour of each tag, 0..1

// Bits of View.what. TAG_COLORS, WIDE_IDS and SWAP_RED say how a picture is written.
const uint COLOR = 1u, DEPTH = 2u, TAGS = 4u, INSTANCES = 8u, NORMALS = 16u;
const uint TAG_COLORS = 32u, WIDE_IDS = 64u, SWAP_RED = 128u, TONE_CURVE = 256u;

// What the pixels without a surface have.
const uint SKY_TAG = 11u;
const uint FAR = 0x7f800000u, NEAR = 0xff800000u, NOT_A_NUMBER = 0x7fc00000u;

layout(std140, binding = 0) uniform View {
    vec4 lens;         // 1/fx, 1/fy, cx, cy
    ivec2 size;        // pixels
    uint what;         // which pictures, and how
    float exposure;
    vec4 depthRange;   // metres: nearer is -Inf, farther than y +Inf
    vec4 up, toSun;    // in the optical frame
    vec4 sun, zenith, horizon, ground;
    // Rows from (p, 1) of the optical frame to the maps' coordinates. The w of
    // row x is unused; offsets.xy are how far a point is moved along its normal
    // for each map, metres; offsets.zw the maps' texels.
    vec4 staticMap[3], moverMap[3];
    vec4 offsets;
};

layout(std430, binding = 0) writeonly buffer Color { uint colors[]; };
layout(std430, binding = 1) writeonly buffer Depth { uint depths[]; };
layout(std430, binding = 2) writeonly buffer Tags { uint tags[]; };
layout(std430, binding = 3) writeonly buffer Instances { uint instances[]; };
layout(std430, binding = 4) writeonly buffer Normals { uint normals[]; };

struct Seen {
    bool hit;
    float depth;
    uint label;
    vec3 normal; // optical frame, towards the camera
    vec3 color;  // as displayed
};

vec3 inMap(vec4 map[3], vec3 p) {
    vec4 h = vec4(p, 1.0);
    return vec3(dot(map[0], h), dot(map[1], h), dot(map[2], h));
}

// inside is 1 within a map, 0 outside, with a soft edge.
float inside(vec3 at) {
    vec2 e = abs(at.xy - 0.5);
    return clamp((0.5 - max(e.x, e.y)) * 40.0, 0.0, 1.0) * step(at.z, 1.0);
}

// sunlight returns how much of the sun reaches a point of the optical frame.
float sunlight(vec3 p, vec3 normal) {
    vec3 a = inMap(staticMap, p + normal * offsets.x);
    float t = offsets.z;
    float lit = texture(staticShadow, a + vec3(-0.75 * t, -0.25 * t, 0.0))
        + texture(staticShadow, a + vec3(0.25 * t, -0.75 * t, 0.0))
        + texture(staticShadow, a + vec3(0.75 * t, 0.25 * t, 0.0))
        + texture(staticShadow, a + vec3(-0.25 * t, 0.75 * t, 0.0));
    float fixedLight = mix(1.0, 0.25 * lit, inside(a));
    vec3 b = inMap(moverMap, p + normal * offsets.y);
    return fixedLight * mix(1.0, texture(moverShadow, b), inside(b));
}

// levelOf returns the mipmap level for texture coordinates that move by x and y
// from pixel to pixel.
float levelOf(vec2 x, vec2 y) {
    float size = float(textureSize(colorTextures, 0).x);
    float widest = max(dot(x, x), dot(y, y));
    return 0.5 * log2(max(widest * size * size, 1e-8));
}

// look returns what pixel (x, y) sees: the exact hit of its centre's ray with
// the plane of the triangle that covers it.
Seen look(ivec2 at) {
    uvec2 id = texelFetch(visible, at, 0).xy;
    Seen seen;
    seen.hit = id.x != 0u;
    int triangle = int(max(id.x, 1u)) - 1;
    Frame f = frameAt(int(id.y));
    vec3 direction = vec3((vec2(at) - lens.zw) * lens.xy, 1.0);
    vec3 ray = fromOptical(f, direction);
    vec3 n = texelFetch(triangles, 3 * triangle).xyz;
    vec3 corner = vertexPosition(3 * triangle);
    float across = 1.0 / dot(n, ray);
    vec3 toCamera = f.camera - corner;
    seen.depth = -dot(n, toCamera) * across;

    uvec4 w0 = texelFetch(attributes, 3 * triangle);
    uvec4 w1 = texelFetch(attributes, 3 * triangle + 1);
    uvec4 w2 = texelFetch(attributes, 3 * triangle + 2);
    seen.label = id.y == 0u ? w1.w : texelFetch(movers, max(int(id.y) - 1, 0)).y;

    vec3 rowU = texelFetch(triangles, 3 * triangle + 1).xyz;
    vec3 rowV = texelFetch(triangles, 3 * triangle + 2).xyz;
    vec3 local = toCamera + seen.depth * ray;
    float u = dot(rowU, local), v = dot(rowV, local);
    vec3 n0 = octahedral(w0.x), n1 = octahedral(w1.x), n2 = octahedral(w2.x);
    vec3 facing = across < 0.0 ? n : -n;
    vec3 smoothed = n0 + u * (n1 - n0) + v * (n2 - n0);
    smoothed *= dot(smoothed, facing) < 0.0 ? -1.0 : 1.0;
    seen.normal = normalize(normalToOptical(f, smoothed));

#if SHADE
    vec3 toEye = -normalize(direction);
    Light light = Light(up.xyz, toSun.xyz, sun.rgb, zenith.rgb, horizon.rgb, ground.rgb);

    // Ray differentials: how the hit moves on the plane for one pixel's step.
    vec3 right = vec3(f.x.x, f.y.x, f.z.x) * lens.x;
    vec3 down = vec3(f.x.y, f.y.y, f.z.y) * lens.y;
    vec3 stepX = seen.depth * (right - ray * (dot(n, right) * across));
    vec3 stepY = seen.depth * (down - ray * (dot(n, down) * across));
    vec2 uv0 = uintBitsToFloat(w0.yz);
    vec2 edgeU = uintBitsToFloat(w1.yz) - uv0, edgeV = uintBitsToFloat(w2.yz) - uv0;
    vec2 uv = uv0 + u * edgeU + v * edgeV;
    vec2 uvX = dot(rowU, stepX) * edgeU + dot(rowV, stepX) * edgeV;
    vec2 uvY = dot(rowU, stepY) * edgeU + dot(rowV, stepY) * edgeV;
    float level = levelOf(uvX, uvY);

    Material m = materialAt(int(w0.w));
    Surface s;
    s.normal = seen.normal;
    s.base = baseColor(m, uv, level).rgb;
#if SURFACE_TEXTURES
    vec2 mr = metallicRoughness(m, uv, level);
    s.metallic = mr.x;
    s.roughness = mr.y;
#else
    s.metallic = m.metallic;
    s.roughness = m.roughness;
#endif
#if EMISSION_TEXTURES
    s.emission = emission(m, uv, level);
#else
    s.emission = m.emission;
#endif
    vec3 geometric = normalize(normalToOptical(f, facing));
    vec3 p = seen.depth * direction;
    vec3 color = radiance(s, light, toEye, sunlight(p, geometric));
    if (!seen.hit) color = skyRadiance(light, -toEye);
    color *= exposure;
    color = (what & TONE_CURVE) != 0u ? toneCurve(color) : clamp(color, 0.0, 1.0);
    seen.color = encodeSrgb(color);
#else
    seen.color = vec3(0.0);
#endif
    return seen;
}

// bytes returns a colour as three bytes, the first in the lowest.
uint bytes(vec3 color, bool swap) {
    uvec3 b = uvec3(color * 255.0 + 0.5);
    return swap ? b.b | b.g << 8 | b.r << 16 : b.r | b.g << 8 | b.b << 16;
}

// pack adds the three bytes of pixel i of four to their three words.
uvec3 pack(uvec3 words, int i, uint b) {
    if (i == 0) return uvec3(b, 0u, 0u);
    if (i == 1) return uvec3(words.x | b << 24, b >> 8, 0u);
    if (i == 2) return uvec3(words.x, words.y | b << 16, b >> 16);
    return uvec3(words.xy, words.z | b << 8);
}

uint depthBits(Seen s) {
    if (!s.hit || s.depth > depthRange.y) return FAR;
    return s.depth < depthRange.x ? NEAR : floatBitsToUint(s.depth);
}

void main() {
    ivec2 first = ivec2(gl_GlobalInvocationID.xy) * ivec2(4, 1);
    if (first.x >= size.x || first.y >= size.y) return;
    uvec3 colorWords = uvec3(0u), tagColorWords = uvec3(0u);
    uint tagWord = 0u;
    uvec2 instanceWords = uvec2(0u);
    for (int i = 0; i < 4; i++) {
        ivec2 at = first + ivec2(i, 0);
        if (at.x >= size.x) break;
        int pixel = at.y * size.x + at.x;
        Seen s = look(at);
        colorWords = pack(colorWords, i, bytes(s.color, (what & SWAP_RED) != 0u));
        if ((what & DEPTH) != 0u) depths[pixel] = depthBits(s);
        uint tag = s.hit ? labelTag(s.label) : SKY_TAG;
        tagWord |= tag << (8 * i);
        tagColorWords = pack(tagColorWords, i, bytes(texelFetch(palette, int(tag)).rgb, false));
        uint instance = s.hit ? labelInstance(s.label) : 0u;
        if ((what & WIDE_IDS) != 0u) instances[pixel] = instance;
        if (i < 2) instanceWords.x |= instance << (16 * i);
        else instanceWords.y |= instance << (16 * i - 32);
        if ((what & NORMALS) != 0u) {
            uvec3 bits = s.hit ? floatBitsToUint(s.normal) : uvec3(NOT_A_NUMBER);
            normals[3 * pixel] = bits.x;
            normals[3 * pixel + 1] = bits.y;
            normals[3 * pixel + 2] = bits.z;
        }
    }
    // Rows of packed pixels are padded to whole words.
    int group = first.x / 4;
    int rowOf3 = (3 * size.x + 3) / 4, rowOf1 = (size.x + 3) / 4, rowOf2 = (size.x + 1) / 2;
    for (int k = 0; k < 3; k++) {
        int word = 3 * group + k;
        if (word >= rowOf3) break;
        int to = first.y * rowOf3 + word;
        if ((what & COLOR) != 0u) colors[to] = colorWords[k];
        if ((what & TAG_COLORS) != 0u) tags[to] = tagColorWords[k];
    }
    if ((what & TAGS) != 0u) tags[first.y * rowOf1 + group] = tagWord;
    for (int k = 0; k < 2; k++) {
        int word = 2 * group + k;
        if (word >= rowOf2) break;
        if ((what & INSTANCES) != 0u) instances[first.y * rowOf2 + word] = instanceWords[k];
    }
}
