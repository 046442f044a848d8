// Traces the firings of a lidar one by one, as shaders.LidarEchoes describes. Invocation x traces the
// TOGETHER firings from TOGETHER * x on. They are in an order in which neighbours point side by side, and
// each says which point it writes.
//
// scan (uint texels; floats as bits), 2 a firing:
//   azimuth and elevation in radians, shortest and longest range in metres (below 0: nothing is fired);
//   nanoseconds after the scan's start, ring, the point's number, height of its origin in metres
//
// and, with RADIOMETRY, behind the firings:
//   1 a semantic tag, CLASSES of them: reflectance (below 0: none is known), gain of its retroreflectors, gain of
//               all its surfaces, 0
//   1 a material of the scene, where optics.y is 1: reflectance and gain, below 0 for its tag's, 0, 0
// A gain is the strength that comes back from a surface besides rho cos(incidence): pi times the coefficient of
// retroreflection.
//
// The constants SCALE, RANDOM, ROLLING and COMPENSATED, and the points, are those of lidar_scan.comp. With
// RADIOMETRY the light that comes back decides which surfaces are seen; SCALE, SCALE_NONE then, means nothing.

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
    vec4 strength; // signal-to-noise ratio of strength 1, start of the overlap in metres and one over its length, threshold
    vec4 doubt; // square of the range's deviation at a ratio of 1, square of its least, share of false alarms, clear air's extinction per metre
    uvec4 optics; // first texel of the tags, 1 for materials of their own, 1 if the scene's reflectances aren't the laser's, scale of the intensity
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

#if RANDOM || RADIOMETRY
// randomOf returns a firing's random words: two for its noise, one for whether it is fired, one for
// whether its return is kept.
uvec4 randomOf(Firing f) { return pcg4d(uvec4(key.xy, shape.z, f.number)); }
#endif

// firedRange returns how far a firing looks: nowhere, below 0, if it isn't fired.
float firedRange(Firing f) {
#if RANDOM || RADIOMETRY
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

#if RADIOMETRY
// The scales of intensity, by what a full white surface has, what retroreflectors begin with, and whether
// these are on a scale of their own.
const uint CODE_VELODYNE = 0u; // and Autoware: 0..100, retroreflectors 101..255
const uint CODE_LIVOX = 1u; // 0..150, retroreflectors 151..255
const uint CODE_HESAI = 2u; // percent, up to 255

// BRIGHTEST is the gain that reads 255: pi times 500 cd/(lx m2).
const float BRIGHTEST = 1570.8;

// coded returns the intensity that a device reports of an apparent reflectance.
float coded(float apparent) {
    uint code = optics.w;
    float white = code == CODE_LIVOX ? 150.0 : 100.0;
    float bright = min(white + 1.0 + (254.0 - white) * log(max(apparent, 1.0)) / log(BRIGHTEST), 255.0);
    return code == CODE_HESAI ? min(100.0 * apparent, 255.0) : apparent > 1.0 ? bright : white * apparent;
}

// alarmsOf returns further random words of a firing: two for the noise of its signal, one for whether noise
// alone makes a point, and one for where.
uvec4 alarmsOf(Firing f) { return pcg4d(uvec4(key.x ^ 0x9e3779b9u, key.y, shape.z, f.number)); }

// returnedShare returns the light that a surface returns: rho cos(incidence), and what retroreflects.
float returnedShare(Hit hit, float cosine, uint what) {
    int index = triangleMaterial(hit.triangle);
    Material plain = materialAt(index), m = painted(plain, hit.mover);
    vec4 byTag = uintBitsToFloat(texelFetch(scan, int(optics.x + min(labelTag(what), CLASSES - 1u))));
    vec4 own = vec4(-1.0);
    for (bool named = optics.y != 0u; named; named = false) own = uintBitsToFloat(texelFetch(scan, int(optics.x + CLASSES) + index));
    float rho = optics.z != 0u || m.reflectance < 0.0 ? -1.0 : m.reflectance;
    rho = rho < 0.0 && !m.paint ? byTag.x : rho;
    rho = own.x >= 0.0 ? own.x : rho;
    for (bool colored = rho < 0.0; colored; colored = false)
        rho = dot(surfaceColor(m, hit.triangle, hit.barycentric, beamAt(textureCoordinates(hit.triangle, hit.barycentric))).rgb, vec3(0.2126, 0.7152, 0.0722));
    float gain = own.y >= 0.0 ? own.y : m.retro ? byTag.y : byTag.z;
    return clamp(rho, 0.0, 1.0) * cosine + gain;
}

// Echo is what a firing measured: a range in metres, and an intensity. seen tells whether it is an echo,
// real whether of a surface.
struct Echo {
    bool seen, real;
    float range, intensity;
};

// echoOf receives the light that comes back from a hit.
Echo echoOf(Firing f, bool there, Hit hit, float cosine, uint what) {
    float r2 = hit.t * hit.t, overlap = clamp((hit.t - strength.y) * strength.z, 0.0, 1.0);
    float s = there ? returnedShare(hit, cosine, what) * exp(-2.0 * light.x * hit.t) * overlap / r2 : 0.0;
    float ratio = s * strength.x;
    uvec4 alarms = alarmsOf(f);
    bool seen = there && ratio + (doubt.z >= 0.0 ? gaussianOf(alarms.xy) : 0.0) > strength.w;
    float range = hit.t, apparent = s * r2 * exp(2.0 * doubt.w * hit.t);
    bool alarm = !seen && firedRange(f) > 0.0 && uniformOf(alarms.z) < doubt.z;
    if (alarm) {
        range = f.tmin + (f.tmax - f.tmin) * uniformOf(alarms.w);
        apparent = strength.w / strength.x * range * range;
    } else {
        range = max(range + sqrt(doubt.y + doubt.x / max(ratio, 1.0)) * gaussianOf(randomOf(f).xy), 0.0);
    }
    return Echo(seen || alarm, seen, range, coded(apparent));
}
#endif

// writePoint writes what a firing measured.
void writePoint(Firing f, bool found, Hit hit, Ray ray) {
    float transmission = exp(-light.x * hit.t);
    float range = hit.t;
    bool near = found && range < f.tmin;
    bool returned = found && !near;
#if RADIOMETRY
    float cosine = min(-dot(hit.normal, ray.direction), 1.0);
    uint what = label(hit.triangle, hit.mover);
    Echo e = echoOf(f, returned, hit, cosine, what);
    vec4 place = vec4(0.0);
    if (e.seen) place = vec4(pointOf(f, ray, e.range), e.intensity);
    range = e.seen ? e.range : uintBitsToFloat(near ? 0xff800000u : 0x7f800000u);
    returned = e.seen;
    if (!e.real) {
        what = 0u;
        cosine = 0.0;
    }
#else
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
#endif
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
