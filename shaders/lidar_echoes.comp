// Traces the firings of a lidar one by one, as shaders.LidarEchoes describes. Invocation x traces the
// TOGETHER firings from TOGETHER * x on. They are in an order in which neighbours point side by side, and
// each says which point it writes.
//
// scan (uint texels; floats as bits), 2 a firing:
//   azimuth and elevation in radians, shortest and longest range in metres (below 0: nothing is fired);
//   nanoseconds after the scan's start, ring, the point's number, height of its origin in metres
//
// The constants SCALE, RANDOM, ROLLING and COMPENSATED, and the points, are those of lidar_scan.comp.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"
#include "lib/noise.glsl"
#include "lib/intensity.glsl"

layout(binding = SLOT_SENSOR) uniform usamplerBuffer scan;

layout(std140, binding = 0) uniform Settings {
    uvec4 shape; // firings, 0, frame number, 0
    uvec4 key; // low and high word of the random numbers' key, 0, 0
    vec4 light; // as in lidar_scan.comp
    vec4 kept; // as in lidar_scan.comp
};

struct Point {
    uvec4 place;
    uvec4 ray;
    uvec4 surface;
};

layout(std430, binding = 0) writeonly buffer Points { Point points[]; };

const uint RETURN_STRONGEST = 1u;

struct Firing {
    float azimuth, elevation, tmin, tmax;
    uint nanoseconds, ring, number;
    float height;
};

Firing firingAt(int i) {
    vec4 way = uintBitsToFloat(texelFetch(scan, 2 * i));
    uvec4 place = texelFetch(scan, 2 * i + 1);
    return Firing(way.x, way.y, way.z, way.w, ROLLING != 0 ? place.x : 0u, place.y, place.z, uintBitsToFloat(place.w));
}

// turnOf returns the cosine and the sine of an angle from -2 pi to 2 pi (Moshier, Cephes, sinf and cosf):
// drivers' own differ by more than a ray may.
vec2 turnOf(float angle) {
    float quarter = floor(angle * 0.636619772 + 0.5);
    float a = angle - quarter * 1.5703125 - quarter * 4.83826794897e-4, z = a * a;
    float c = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
    float s = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * a + a;
    int q = int(quarter) & 3;
    vec2 v = (q & 1) == 1 ? vec2(-s, c) : vec2(c, s);
    return q >= 2 ? -v : v;
}

// originOf and directionOf are in the sensor's frame as it stands when the firing happens.
vec3 originOf(Firing f) { return vec3(0.0, 0.0, f.height); }
vec3 directionOf(Firing f) {
    vec2 turn = turnOf(f.azimuth), rise = turnOf(f.elevation);
    return vec3(rise.x * turn, rise.y);
}

float secondsOf(Firing f) { return float(f.nanoseconds) * 1e-9; }

#if RANDOM
// randomOf returns a firing's random words: two for its noise, one for whether it is fired, one for
// whether its return is kept.
uvec4 randomOf(Firing f) { return pcg4d(uvec4(key.xy, shape.z, f.number)); }
#endif

// firedRange returns how far a firing looks: nowhere, below 0, if it isn't fired.
float firedRange(Firing f) {
#if RANDOM
    return uniformOf(randomOf(f).z) >= light.z ? f.tmax : -1.0;
#else
    return f.tmax;
#endif
}

// pointOf returns where a range along a firing is: in the sensor's frame as it stood then, or at the
// scan's start.
vec3 pointOf(Firing f, Ray ray, float range) {
#if COMPENSATED
    RigidPose start = sensorPose(momentAt(0.0));
    return unrotate(start.rotation, ray.origin - start.position + range * ray.direction);
#else
    return originOf(f) + range * directionOf(f);
#endif
}

// writePoint writes what a firing measured.
void writePoint(Firing f, bool found, Hit hit, Ray ray) {
    float transmission = exp(-light.x * hit.t);
    float range = hit.t;
    bool near = found && range < f.tmin;
    bool returned = found && !near;
#if RANDOM
    uvec4 random = randomOf(f);
    returned = returned && (transmission > light.w || uniformOf(random.w) < kept.x * transmission + kept.y);
    range = max(range + light.y * gaussianOf(random.xy), 0.0);
#endif
    vec4 place = vec4(0.0);
    uint what = 0u;
    float cosine = 0.0;
    if (returned) {
        cosine = min(-dot(hit.normal, ray.direction), 1.0);
        place = vec4(pointOf(f, ray, range), intensity(hit, cosine, transmission));
        what = label(hit.triangle, hit.mover);
    } else {
        range = uintBitsToFloat(near ? 0xff800000u : 0x7f800000u);
    }
    points[f.number] = Point(
        floatBitsToUint(place),
        uvec4(floatBitsToUint(range), floatBitsToUint(f.azimuth), floatBitsToUint(f.elevation), f.nanoseconds),
        uvec4(f.ring | (returned ? RETURN_STRONGEST << 16 : 0u) | (labelTag(what) << 24), labelInstance(what), floatBitsToUint(cosine), f.number));
}

void main() {
    int first = TOGETHER * int(gl_GlobalInvocationID.x);
    int count = min(int(shape.x) - first, TOGETHER);
    if (count <= 0) return;
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        Firing f = firingAt(first + k);
        RigidPose sensor = sensorPose(momentAt(secondsOf(f)));
        Ray ray = Ray(sensor.position + rotate(sensor.rotation, originOf(f)), rotate(sensor.rotation, directionOf(f)));
        setRay(rays, k, ray, 0.0, firedRange(f), secondsOf(f));
    }
    Hits hits = traceRays(rays);
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool found = hitAt(rays, hits, k, hit);
        writePoint(firingAt(first + k), found, hit, rayOf(rays, k));
    }
}
