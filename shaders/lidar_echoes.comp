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
//               all its surfaces, 1 if the reflectance stands before the scene's own and its paint
//   1 a material of the scene, where optics.y is 1: reflectance and gain, below 0 for its tag's, 0, 0
//   1 a place, PLACES of them: drops and flakes up to its range that are seen, strength and range of fog's echo before it
// A gain is the strength that comes back from a surface besides rho cos(incidence): pi times the coefficient of
// retroreflection.
//
// and, between the firings and the tags, for beams with a width:
//   2 a firing:     the places of up to eight neighbours in the table, MAX for none, MAX - 1 where a whole side has none
//   1 a sub-ray, and then 1 a ray at the rim: its angle from the centre to the left and up, in radians; 0, 0
//
// STEP says what is done: STEP_RAYS all, for rays without width; STEP_CENTERS and then STEP_BEAMS else, which need
// RADIOMETRY. A firing then has one point or more, which follow one another: number * (how many) is the first.
//
// The constants SCALE, RANDOM, ROLLING and COMPENSATED, and the points, are those of lidar_scan.comp. With
// RADIOMETRY the light that comes back decides which surfaces are seen; SCALE, SCALE_NONE then, means nothing.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#define STEP_RAYS 0
#define STEP_CENTERS 1
#define STEP_BEAMS 2
#if STEP == STEP_RAYS
#define BEAMS 0
#define BLENDED_STOPS 0
#else
#define BEAMS 1
#define BLENDED_STOPS 1
#endif

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
    uvec4 beam; // sub-rays, their first texel, 1 if all beams are traced by all of them, which echoes are points
    vec4 merging; // up to which distance echoes are one, in metres; square of the widest angle between sub-rays, 0, 0
    vec4 fog; // strength and range of its echo before what is far, from which range on that is, least strength of particles that are seen
    vec4 air; // range of the first place, what the last is behind it, drops and flakes up to that
    vec4 particles; // of drops and of flakes: reflectance, mean of what one is wider than the narrowest, in mm
    vec4 width; // of the beam at its exit in mm, what it widens in mm per metre; start of the overlap in metres and one over its length
    vec4 film; // share of flat ground under water and under snow, snow's reflectance, 0
    uvec4 mist; // first texel of the places, 1 if the weather makes echoes, 0, 0
};

struct Point {
    uvec4 place;
    uvec4 ray;
    uvec4 surface;
};

layout(std430, binding = 0) writeonly buffer Points { Point points[]; };

#if BEAMS
// Center is what the centre of a beam meets: where in the world, and at which range, below 0 for nothing, NOT_FIRED
// where there is no beam; triangle, mover, instance, and which rays STEP_BEAMS found it to need: 0 the centre, 1 those at the
// rim, 2 all.
struct Center {
    vec4 point;
    ivec4 surface;
};

layout(std430, binding = 1) buffer Centers { Center centers[]; };

const float NOT_FIRED = -2.0;
#endif

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

#if RADIOMETRY || BEAMS
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

// keyOf is the key of the random numbers of a firing's echo, counted from 0 by range.
uint keyOf(uint echo) { return key.y ^ echo * 0x85ebca6bu; }

// echoRandomOf returns the random words of a firing's echo: two for the noise of its range and its signal, one for where noise alone
// makes a point, and one for whether.
uvec4 echoRandomOf(Firing f, uint echo) { return pcg4d(uvec4(key.x, keyOf(echo), shape.z, f.number)); }

// WATER_INDEX is its index of refraction. The ground is flat from a normal with this height on, and isn't below STEEP.
const float WATER_INDEX = 1.33;
const float STEEP = 0.8;

// coveredShare returns reflectance and gain of a surface under water or snow, where it is flat. Light passes the water's face
// twice and returns to the ground from below it (Hahner et al. 2022); retroreflectors are blind. A surface that soaks water up has no
// face that turns light away at grazing angles.
vec2 coveredShare(vec2 dry, float up, float cosine) {
    float level = clamp((up - STEEP) / (1.0 - STEEP), 0.0, 1.0);
    float inside = sqrt(1.0 - (1.0 - cosine * cosine) / (WATER_INDEX * WATER_INDEX));
    float s = (cosine - WATER_INDEX * inside) / (cosine + WATER_INDEX * inside), p = (WATER_INDEX * cosine - inside) / (WATER_INDEX * cosine + inside);
    float face = 0.5 * (s * s + p * p), passed = (1.0 - face) * (1.0 - face) / (1.0 - dry.x * face);
    float wet = dry.x * (1.0 - film.x * level * (1.0 - passed));
    return vec2(wet + (film.z - wet) * film.y * level, dry.y * (1.0 - max(film.x, film.y) * level));
}

// returnedShare returns the light that a surface returns: rho cos(incidence), and what retroreflects.
float returnedShare(Hit hit, float cosine, uint what) {
    int index = triangleMaterial(hit.triangle);
    Material plain = materialAt(index), m = painted(plain, hit.mover);
    vec4 byTag = uintBitsToFloat(texelFetch(scan, int(optics.x + min(labelTag(what), CLASSES - 1u))));
    vec4 own = vec4(-1.0);
    for (bool named = optics.y != 0u; named; named = false) own = uintBitsToFloat(texelFetch(scan, int(optics.x + CLASSES) + index));
    float rho = optics.z != 0u || m.asClass || m.reflectance < 0.0 ? -1.0 : m.reflectance;
    rho = byTag.w > 0.0 || (rho < 0.0 && !m.paint) ? byTag.x : rho;
    rho = own.x >= 0.0 ? own.x : rho;
    for (bool colored = rho < 0.0; colored; colored = false)
        rho = dot(surfaceColor(m, hit.triangle, hit.barycentric, beamAt(textureCoordinates(hit.triangle, hit.barycentric))).rgb, vec3(0.2126, 0.7152, 0.0722));
    float gain = own.y >= 0.0 ? own.y : m.retro ? byTag.y : byTag.z;
    vec2 share = vec2(clamp(rho, 0.0, 1.0), gain);
    for (bool covered = film.x + film.y > 0.0; covered; covered = false) share = coveredShare(share, hit.normal.z, soaksUp(labelTag(what)) ? 1.0 : cosine);
    return share.x * cosine + share.y;
}

// signalOf returns the strength of the light that comes back from a hit.
float signalOf(Hit hit, float cosine, uint what) {
    float overlap = clamp((hit.t - strength.y) * strength.z, 0.0, 1.0);
    return returnedShare(hit, cosine, what) * exp(-2.0 * light.x * hit.t) * overlap / (hit.t * hit.t);
}

// Echo is what a firing measured: a range in metres, and an intensity. seen tells whether it is an echo,
// real whether of a surface.
struct Echo {
    bool seen, real;
    float range, intensity;
    float s;
};

// received returns an echo of some strength from some range, where there is one. Noise doesn't hide one that is sure.
Echo received(Firing f, uint echo, bool there, float s, float range, bool sure) {
    float ratio = s * strength.x;
    vec2 noise = gaussiansOf(echoRandomOf(f, echo).xy);
    bool seen = there && (sure || ratio + (doubt.z >= 0.0 ? noise.y : 0.0) > strength.w);
    float apparent = s * (range * range) * exp(2.0 * doubt.w * range);
    float measured = max(range + sqrt(doubt.y + doubt.x / max(ratio, 1.0)) * noise.x, 0.0);
    return Echo(seen, seen, measured, coded(apparent), s);
}

// alarmOf returns a point of noise, where a firing without an echo has one. The part of the third word that firedRange took is left out.
Echo alarmOf(Firing f) {
    uvec4 random = echoRandomOf(f, 0u);
    float range = f.tmin + (f.tmax - f.tmin) * (uniformOf(random.z) - light.z) / (1.0 - light.z);
    bool seen = firedRange(f) > 0.0 && uniformOf(random.w) < doubt.z;
    return Echo(seen, false, range, coded(strength.w / strength.x * range * range), 0.0);
}
#endif

#if RADIOMETRY || BEAMS
#include "lib/mist.glsl"
#endif

// missOf returns the range of a firing without an echo: behind all, or nearer than its shortest range.
float missOf(bool near) { return uintBitsToFloat(near ? 0xff800000u : 0x7f800000u); }

// setPoint writes record k of a firing, with the returns that it is, 0 for none.
void setPoint(Firing f, uint k, vec4 place, float range, uint returns, uint what, float cosine) {
    points[k] = Point(
        floatBitsToUint(place),
        uvec4(floatBitsToUint(range), floatBitsToUint(f.azimuth), floatBitsToUint(f.elevation), f.nanoseconds),
        uvec4(f.ring | (returns << 16) | (labelTag(what) << 24), labelInstance(what), floatBitsToUint(cosine), f.number));
}

// rayAt is a direction of a firing, which is in the sensor's frame as it stands then, in the world.
Ray rayAt(Firing f, vec3 direction) {
    RigidPose sensor = sensorPose(momentAt(secondsOf(f)));
    return Ray(sensor.position + rotate(sensor.rotation, originOf(f)), rotate(sensor.rotation, direction));
}

#if STEP == STEP_RAYS
// writePoint writes what a firing measured.
void writePoint(Firing f, bool found, Hit hit, Ray ray) {
    float range = hit.t;
    bool near = found && range < f.tmin;
    bool returned = found && !near;
    float cosine = min(-dot(hit.normal, ray.direction), 1.0);
    uint what = label(hit.triangle, hit.mover);
#if RADIOMETRY
    lookThrough(f, found ? range : BEYOND);
    Echo e = received(f, 0u, returned, returned ? veilLeft * signalOf(hit, cosine, what) : 0.0, range, false);
    for (int k = 0; k < veilCount; k++) {
        Glimpse g = veil[k];
        for (bool stronger = !e.seen || g.s > e.s; stronger; stronger = false) {
            Echo other = received(f, MIST_ECHO + g.slot, true, g.s, g.range, g.slot != FOG_SLOT);
            if (other.seen) e = other;
            if (other.seen) e.real = false;
        }
    }
    if (!e.seen) e = alarmOf(f);
    range = e.range;
    returned = e.seen;
    if (!e.real) {
        what = 0u;
        cosine = 0.0;
    }
    float brightness = e.intensity;
#else
    float transmission = exp(-light.x * hit.t);
#if RANDOM
    uvec4 random = randomOf(f);
    returned = returned && (transmission > light.w || uniformOf(random.w) < kept.x * transmission + kept.y);
    range = max(range + light.y * gaussianOf(random.xy), 0.0);
#endif
    float brightness = returned ? intensity(hit, cosine, transmission) : 0.0;
#endif
    if (returned) setPoint(f, f.number, vec4(pointOf(f, ray, range), brightness), range, RETURN_STRONGEST, what, cosine);
    else setPoint(f, f.number, vec4(0.0), missOf(near), 0u, 0u, 0.0);
}
#endif

#if STEP != STEP_BEAMS
#if STEP == STEP_CENTERS
// writeCenter writes what the centre of beam i meets.
void writeCenter(int i, Firing f, bool found, Hit hit, Ray ray) {
    float range = found ? hit.t : firedRange(f) > 0.0 ? -1.0 : NOT_FIRED;
    uint what = label(hit.triangle, hit.mover);
    centers[i] = Center(vec4(found ? ray.origin + hit.t * ray.direction : vec3(0.0), range),
        found ? ivec4(hit.triangle, hit.mover, int(labelInstance(what)), 0) : ivec4(-1, -1, 0, 0));
}
#endif

void main() {
    int first = TOGETHER * int(gl_GlobalInvocationID.x);
    int count = min(int(shape.x) - first, TOGETHER);
    if (count <= 0) return;
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        Firing f = firingAt(first + k);
        setRay(rays, k, rayAt(f, directionOf(f)), 0.0, firedRange(f), secondsOf(f));
    }
    Hits hits = traceRays(rays);
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool found = hitAt(rays, hits, k, hit);
#if STEP == STEP_CENTERS
        writeCenter(first + k, firingAt(first + k), found, hit, rayOf(rays, k));
#else
        writePoint(firingAt(first + k), found, hit, rayOf(rays, k));
#endif
    }
}
#else
#include "lib/beam.glsl"
#endif
