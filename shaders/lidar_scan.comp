// Traces a lidar's scan, as shaders.Lidar describes. Invocation (x, laser) traces TOGETHER columns
// from TOGETHER * x on and writes points column * lasers + laser. Neighbouring firings of one laser
// see neighbouring surfaces.
//
// scan (uint texels; floats as bits)
//   3 a laser:  cos and sin of the elevation, cos and sin of the azimuth offset;
//               height of its origin in metres, nanoseconds after its column, ring,
//               maximum range; minimum range in even and in odd columns, 0, 0
//   1 a column: cos and sin of the azimuth, nanoseconds after the scan's start, 0
//
// Go gives, as constants, what software OpenGL would otherwise carry out both sides of:
//   SCALE        of the intensity: SCALE_NONE, _SURFACE, _TRANSMISSION or _COLOR
//   RANDOM       1 where noise or drop-off need random numbers
//   ROLLING      1 where each ray has its own time, 0 where all are of the start
//   COMPENSATED  1 for points in the sensor's frame at the start
//
// A point is sample.Point: x, y, z, intensity; distance, azimuth, elevation, nanoseconds. Then
// come ring | return << 16 | tag << 24, instance, cosine of the incidence, ray. No return has
// distance +infinity, -infinity where a surface is nearer than the minimum range (REP-117), and
// zeros.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"
#include "lib/noise.glsl"

layout(binding = SLOT_SENSOR) uniform usamplerBuffer scan;

layout(std140, binding = 0) uniform Settings {
    uvec4 shape; // lasers, columns, frame number, 0
    uvec4 key; // low and high word of the random numbers' key, 0, 0
    vec4 light; // attenuation per metre, noise's standard deviation in metres, share of rays that aren't fired, transmission up to which returns may be lost
    vec4 kept; // share of those returns that is kept: x transmission + y
};

struct Point {
    uvec4 place;
    uvec4 ray;
    uvec4 surface;
};

layout(std430, binding = 0) writeonly buffer Points { Point points[]; };

const uint RETURN_STRONGEST = 1u;

#include "lib/intensity.glsl"

// Beam is one firing of one laser, in the sensor's frame.
struct Beam {
    vec3 origin;
    vec3 direction;
    vec2 elevation, azimuth; // cosine and sine
    float tmax;
    uint nanoseconds, ring;
};

Beam beamOf(uint laser, uint column) {
    uvec4 angles = texelFetch(scan, int(3u * laser)), place = texelFetch(scan, int(3u * laser + 1u));
    uvec4 turn = texelFetch(scan, int(3u * shape.x + column));
    vec2 elevation = uintBitsToFloat(angles.xy), offset = uintBitsToFloat(angles.zw), yaw = uintBitsToFloat(turn.xy);
    vec2 azimuth = vec2(yaw.x * offset.x - yaw.y * offset.y, yaw.y * offset.x + yaw.x * offset.y);
    return Beam(vec3(0.0, 0.0, uintBitsToFloat(place.x)), vec3(elevation.x * azimuth, elevation.y), elevation, azimuth,
        uintBitsToFloat(place.w), turn.z + place.y, place.z);
}

// shortestRanges returns the ranges below which a laser measures nothing, in even and in
// odd columns.
vec2 shortestRanges(uint laser) { return uintBitsToFloat(texelFetch(scan, int(3u * laser + 2u)).xy); }

#if RANDOM
// randomOf returns a ray's random words: two for its noise, one for whether it is
// fired, one for whether its return is kept.
uvec4 randomOf(uint index) { return pcg4d(uvec4(key.xy, shape.z, index)); }
#endif

// firedRange returns how far a ray looks: nowhere, below 0, if it isn't fired.
float firedRange(Beam b, uint index) {
#if RANDOM
    return uniformOf(randomOf(index).z) >= light.z ? b.tmax : -1.0;
#else
    return b.tmax;
#endif
}

// nanosecondsOf returns when a firing happens after the scan's start.
uint nanosecondsOf(Beam b) { return ROLLING != 0 ? b.nanoseconds : 0u; }

// pointOf returns where a range along a firing is: in the sensor's frame as it
// stood then, or at the scan's start.
vec3 pointOf(Beam b, Ray ray, float range) {
#if COMPENSATED
    RigidPose start = sensorPose(momentAt(0.0));
    return unrotate(start.rotation, ray.origin - start.position + range * ray.direction);
#else
    return b.origin + range * b.direction;
#endif
}

// writePoint writes what a firing measured; surfaces below tmin are too near.
void writePoint(uint index, Beam b, float tmin, bool found, Hit hit, Ray ray) {
    float transmission = exp(-light.x * hit.t);
    float range = hit.t;
    bool near = found && range < tmin;
    bool returned = found && !near;
#if RANDOM
    uvec4 random = randomOf(index);
    returned = returned && (transmission > light.w || uniformOf(random.w) < kept.x * transmission + kept.y);
    range = max(range + light.y * gaussianOf(random.xy), 0.0);
#endif
    vec4 place = vec4(0.0);
    uint what = 0u;
    float cosine = 0.0;
    if (returned) {
        cosine = min(-dot(hit.normal, ray.direction), 1.0);
        place = vec4(pointOf(b, ray, range), intensity(hit, cosine, transmission));
        what = label(hit.triangle, hit.mover);
    } else {
        range = uintBitsToFloat(near ? 0xff800000u : 0x7f800000u);
    }
    points[index] = Point(
        floatBitsToUint(place),
        uvec4(floatBitsToUint(range), floatBitsToUint(atan(b.azimuth.y, b.azimuth.x)), floatBitsToUint(atan(b.elevation.y, b.elevation.x)), nanosecondsOf(b)),
        uvec4(b.ring | (returned ? RETURN_STRONGEST << 16 : 0u) | (labelTag(what) << 24), labelInstance(what), floatBitsToUint(cosine), index));
}

void main() {
    uint laser = gl_GlobalInvocationID.y, column = uint(TOGETHER) * gl_GlobalInvocationID.x;
    if (laser >= shape.x || column >= shape.y) return;
    int count = int(min(shape.y - column, uint(TOGETHER)));
    Rays rays = noRays();
#if !ROLLING
    RigidPose sensor = sensorPose(momentAt(0.0));
#endif
    for (int k = 0; k < count; k++) {
        Beam b = beamOf(laser, column + uint(k));
        float seconds = float(nanosecondsOf(b)) * 1e-9;
#if ROLLING
        RigidPose sensor = sensorPose(momentAt(seconds));
#endif
        Ray ray = Ray(sensor.position + rotate(sensor.rotation, b.origin), rotate(sensor.rotation, b.direction));
        setRay(rays, k, ray, 0.0, firedRange(b, (column + uint(k)) * shape.x + laser), seconds);
    }
    Hits hits = traceRays(rays);
    vec2 tmin = shortestRanges(laser);
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool found = hitAt(rays, hits, k, hit);
        writePoint((column + uint(k)) * shape.x + laser, beamOf(laser, column + uint(k)), tmin[(column + uint(k)) & 1u], found, hit, rayOf(rays, k));
    }
}
