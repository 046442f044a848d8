// Echoes of fog, drops and flakes for a lidar with a threshold, and the surfaces that flakes hide. docs/weather.md has the rules, and
// sensors/lidar/mist.go the table's places: PLACES ranges, denser near the sensor. Needs lidar_echoes.comp's Settings.

const int PLACES = 64;
const float BEYOND = 1e9;

// A firing sees that many drops and that many flakes at most, the nearest.
const uint PARTICLES = 4u;

// Echoes of the weather have numbers from MIST_ECHO on, so that those of surfaces keep theirs.
const uint MIST_ECHO = 64u;
const uint FOG_SLOT = 0u;
const uint DROP_SLOT = 1u;
const uint FLAKE_SLOT = DROP_SLOT + PARTICLES;

// Glimpse is the light that comes back from fog or from a particle, by its slot.
struct Glimpse {
    float s, range;
    uint slot;
};

// lookThrough sets these: the glimpses, and the share of light that flakes leave to what is behind them.
Glimpse veil[1u + 2u * PARTICLES];
int veilCount = 0;
float veilLeft = 1.0;

void glimpse(Firing f, Glimpse g) {
    for (bool kept = g.range >= f.tmin && g.range < f.tmax; kept; kept = false) veil[veilCount++] = g;
}

// placeAt returns place i of the table, and rangeAt its range.
vec4 placeAt(int i) { return uintBitsToFloat(texelFetch(scan, int(mist.x) + i)); }
float rangeAt(int i) {
    float share = float(i) / float(PLACES - 1);
    return air.x + air.y * share * share;
}

// lookAtFog adds fog's echo before a target.
void lookAtFog(Firing f, float target) {
    vec2 echo = fog.xy;
    for (bool near = target < fog.z; near; near = false) {
        float share = sqrt(clamp((target - air.x) / air.y, 0.0, 1.0)) * float(PLACES - 1);
        int i = min(int(share), PLACES - 2);
        vec2 before = placeAt(i).zw, after = placeAt(i + 1).zw;
        echo = before + (after - before) * (share - float(i));
    }
    for (bool any = echo.x > 0.0; any; any = false) glimpse(f, Glimpse(echo.x, echo.y, FOG_SLOT));
}

// gapOf turns a word into a number of mean 1, distributed exponentially.
float gapOf(uint bits) { return -log((float(bits >> 8) + 1.0) * (1.0 / 16777216.0)); }

// lookAtParticles adds drops (kind 0) or flakes (kind 1) before a target, of which total are seen on average.
void lookAtParticles(Firing f, float target, uint kind, float total) {
    vec2 sizes = kind == 0u ? particles.xy : particles.zw;
    uint slot = kind == 0u ? DROP_SLOT : FLAKE_SLOT;
    float sum = 0.0;
    for (uint k = 0u; k < PARTICLES && sum < total; k++) {
        uvec4 random = pcg4d(uvec4(key.x ^ 0x7f4a7c15u, key.y ^ (slot + k - k % 2u) * 0x85ebca6bu, shape.z, f.number)); // of two particles
        uvec2 own = k % 2u == 0u ? random.xy : random.zw;
        sum += gapOf(own.x);
        for (bool here = sum < total; here; here = false) {
            int low = 0;
            for (int step = PLACES / 2; step > 0; step /= 2) low += placeAt(low + step)[kind] <= sum ? step : 0;
            low = min(low, PLACES - 2);
            float before = placeAt(low)[kind], after = placeAt(low + 1)[kind], from = rangeAt(low);
            float range = from + (rangeAt(low + 1) - from) * ((sum - before) / (after - before));
            for (bool nearer = range < target; nearer; nearer = false) {
                float whole = sizes.x * exp(-2.0 * light.x * range) * clamp((range - width.z) * width.w, 1e-6, 1.0) / (range * range);
                float part = sqrt(fog.w / whole) + sizes.y * gapOf(own.y) / (width.x + width.y * range);
                float covered = min(part * part, 1.0);
                glimpse(f, Glimpse(whole * covered, range, slot + k));
                veilLeft *= kind == 0u ? 1.0 : 1.0 - covered;
            }
            sum = range < target ? sum : total;
        }
    }
}

// lookThrough finds what a firing that meets a target at some range, BEYOND for none, sees of the weather.
void lookThrough(Firing f, float target) {
    veilCount = 0;
    veilLeft = 1.0;
    for (bool misty = mist.y != 0u && firedRange(f) > 0.0; misty; misty = false) {
        lookAtFog(f, target);
        for (bool rain = air.z > 0.0; rain; rain = false) lookAtParticles(f, target, 0u, air.z);
        for (bool snow = air.w > 0.0; snow; snow = false) lookAtParticles(f, target, 1u, air.w);
    }
}
