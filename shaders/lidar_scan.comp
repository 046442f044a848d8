// Traces a lidar's scan, as shaders.Lidar describes. Invocation (x, laser) traces
// four columns from 4 x on together and writes points column * lasers + laser:
// neighbouring firings of one laser see neighbouring surfaces.
//
// scan (uint texels; floats as bits)
//   2 a laser:  cos and sin of the elevation, cos and sin of the azimuth offset;
//               height of its origin in metres, nanoseconds after its column,
//               ring | minimum range in centimetres << 16, maximum range
//   1 a column: cos and sin of the azimuth, nanoseconds after the scan's start, 0
//
// A point is sample.Point: x, y, z, intensity; distance, azimuth, elevation,
// nanoseconds; ring | return << 16 | tag << 24, instance, cosine of the incidence,
// ray. No return has distance +infinity (REP-117) and zeros.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"
#include "lib/noise.glsl"

layout(binding = SLOT_SENSOR) uniform usamplerBuffer scan;

layout(std140, binding = 0) uniform Settings {
    uvec4 shape; // lasers, columns, 1 for a rolling scan, frame number
    uvec4 seed; // low and high word of the noise's key, 0, 0
    vec4 light; // attenuation per metre, noise's standard deviation in metres, 0, 0
};

struct Point {
    uvec4 place;
    uvec4 ray;
    uvec4 surface;
};

layout(std430, binding = 0) writeonly buffer Points { Point points[]; };

const uint RETURN_STRONGEST = 1u;

// reflectance returns a surface's diffuse reflectance at the laser's wavelength.
float reflectance(Material m, int triangle, vec2 barycentric) {
    if (m.reflectance >= 0.0) return m.reflectance;
    // The footprint of a beam covers many texels: a middle mipmap level.
    vec3 color = baseColor(m, textureCoordinates(triangle, barycentric), 4.0).rgb;
    return dot(color, vec3(0.2126, 0.7152, 0.0722));
}

// intensity is 0..100 for diffuse surfaces (Lambert, weakened by the way) and
// 101..255 for retroreflectors, which send the light back at any angle.
float intensity(Hit hit, float cosine) {
    Material m = materialAt(triangleMaterial(hit.triangle));
    float rho = clamp(reflectance(m, hit.triangle, hit.barycentric), 0.0, 1.0);
    float transmission = exp(-light.x * hit.t);
    return m.retro ? 101.0 + 154.0 * rho * transmission : 100.0 * rho * cosine * transmission;
}

// Beam is one firing of one laser, in the sensor's frame.
struct Beam {
    vec3 origin;
    vec3 direction;
    vec2 elevation, azimuth; // cosine and sine
    float tmin, tmax;
    uint nanoseconds, ring;
};

Beam beamOf(uint laser, uint column) {
    uvec4 first = texelFetch(scan, int(2u * laser)), second = texelFetch(scan, int(2u * laser + 1u));
    uvec4 turn = texelFetch(scan, int(2u * shape.x + column));
    vec2 elevation = uintBitsToFloat(first.xy), offset = uintBitsToFloat(first.zw), yaw = uintBitsToFloat(turn.xy);
    vec2 azimuth = vec2(yaw.x * offset.x - yaw.y * offset.y, yaw.y * offset.x + yaw.x * offset.y);
    return Beam(vec3(0.0, 0.0, uintBitsToFloat(second.x)), vec3(elevation.x * azimuth, elevation.y), elevation, azimuth,
        float(second.z >> 16) * 0.01, uintBitsToFloat(second.w), turn.z + second.y, second.z & 0xffffu);
}

// secondsOf returns when a firing happens after the scan's start.
float secondsOf(Beam b) { return shape.z != 0u ? float(b.nanoseconds) * 1e-9 : 0.0; }

// writePoint writes what a firing measured.
void writePoint(uint index, Beam b, bool found, Hit hit, vec3 direction) {
    float range = uintBitsToFloat(0x7f800000u);
    vec4 place = vec4(0.0);
    uint what = 0u;
    float cosine = 0.0;
    if (found) {
        cosine = min(-dot(hit.normal, direction), 1.0);
        range = hit.t;
        if (light.y > 0.0) range = max(range + light.y * gaussian(seed.xy, uvec2(shape.w, index)), 0.0);
        place = vec4(b.origin + range * b.direction, intensity(hit, cosine));
        what = label(hit.triangle, hit.mover);
    }
    points[index] = Point(
        floatBitsToUint(place),
        uvec4(floatBitsToUint(range), floatBitsToUint(atan(b.azimuth.y, b.azimuth.x)), floatBitsToUint(atan(b.elevation.y, b.elevation.x)), shape.z != 0u ? b.nanoseconds : 0u),
        uvec4(b.ring | (found ? RETURN_STRONGEST << 16 : 0u) | (labelTag(what) << 24), labelInstance(what), floatBitsToUint(cosine), index));
}

void main() {
    uint laser = gl_GlobalInvocationID.y, column = 4u * gl_GlobalInvocationID.x;
    if (laser >= shape.x || column >= shape.y) return;
    int count = int(min(shape.y - column, 4u));
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        Beam b = beamOf(laser, column + uint(k));
        float seconds = secondsOf(b);
        RigidPose sensor = sensorPose(momentAt(seconds));
        Ray ray = Ray(sensor.position + rotate(sensor.rotation, b.origin), rotate(sensor.rotation, b.direction));
        setRay(rays, k, ray, b.tmin, b.tmax, seconds);
    }
    Hits hits = traceRays(rays);
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool found = hitAt(rays, hits, k, hit);
        writePoint((column + uint(k)) * shape.x + laser, beamOf(laser, column + uint(k)), found, hit, rayOf(rays, k).direction);
    }
}
