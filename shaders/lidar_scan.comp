// Traces a lidar's scan, as shaders.Lidar describes. Invocation (x, laser) traces
// four columns from 4 x on together and writes points column * lasers + laser:
// neighbouring firings of one laser see neighbouring surfaces.
//
// scan (uint texels; floats as bits)
//   3 a laser:  cos and sin of the elevation, cos and sin of the azimuth offset;
//               height of its origin in metres, nanoseconds after its column, ring,
//               0; minimum range, maximum range, 0, 0
//   1 a column: cos and sin of the azimuth, nanoseconds after the scan's start, 0
//
// A point is sample.Point: x, y, z, intensity; distance, azimuth, elevation,
// nanoseconds; ring | return << 16 | tag << 24, instance, cosine of the incidence,
// ray. No return has distance +infinity, -infinity where a surface is nearer than
// the minimum range (REP-117), and zeros.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"
#include "lib/noise.glsl"

layout(binding = SLOT_SENSOR) uniform usamplerBuffer scan;

layout(std140, binding = 0) uniform Settings {
    uvec4 shape; // lasers, columns, 1 for a rolling scan, frame number
    uvec4 mode; // low and high word of the random numbers' key, scale of the intensity, 1 for compensated points
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

// Scales of the intensity.
const uint SCALE_SURFACE = 1u;
const uint SCALE_TRANSMISSION = 2u;
const uint SCALE_COLOR = 3u;

// The footprint of a beam covers many texels: a middle mipmap level.
const float FOOTPRINT = 4.0;

// reflectance returns a surface's diffuse reflectance at the laser's wavelength.
float reflectance(Material m, int triangle, vec2 barycentric) {
    if (m.reflectance >= 0.0) return m.reflectance;
    vec3 color = baseColor(m, textureCoordinates(triangle, barycentric), FOOTPRINT).rgb;
    return dot(color, vec3(0.2126, 0.7152, 0.0722));
}

// surfaceIntensity is 0..100 for diffuse surfaces (Lambert, weakened by the way)
// and 101..255 for retroreflectors, which send the light back at any angle.
float surfaceIntensity(Hit hit, float cosine, float transmission) {
    Material m = materialAt(triangleMaterial(hit.triangle));
    float rho = clamp(reflectance(m, hit.triangle, hit.barycentric), 0.0, 1.0);
    return m.retro ? 101.0 + 154.0 * rho * transmission : 100.0 * rho * cosine * transmission;
}

// colorIntensity is SVL Simulator's, 0..1: the metallic factor of a material that
// has a texture of them, the mean of the base colour of the others.
float colorIntensity(Hit hit) {
    Material m = materialAt(triangleMaterial(hit.triangle));
    vec2 uv = textureCoordinates(hit.triangle, hit.barycentric);
    float value = dot(baseColor(m, uv, FOOTPRINT).rgb, vec3(1.0 / 3.0));
    for (bool metal = m.metalRoughLayer >= 0.0; metal; metal = false) value = metallicRoughness(m, uv, FOOTPRINT).x;
    return clamp(value, 0.0, 1.0);
}

// intensity returns a hit's intensity. Loops stand for ifs: software OpenGL would
// carry out both sides of those.
float intensity(Hit hit, float cosine, float transmission) {
    float value = mode.z == SCALE_TRANSMISSION ? transmission : 0.0;
    for (bool one = mode.z == SCALE_SURFACE; one; one = false) value = surfaceIntensity(hit, cosine, transmission);
    for (bool one = mode.z == SCALE_COLOR; one; one = false) value = colorIntensity(hit);
    return value;
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
    uvec4 angles = texelFetch(scan, int(3u * laser)), place = texelFetch(scan, int(3u * laser + 1u));
    vec2 ranges = uintBitsToFloat(texelFetch(scan, int(3u * laser + 2u)).xy);
    uvec4 turn = texelFetch(scan, int(3u * shape.x + column));
    vec2 elevation = uintBitsToFloat(angles.xy), offset = uintBitsToFloat(angles.zw), yaw = uintBitsToFloat(turn.xy);
    vec2 azimuth = vec2(yaw.x * offset.x - yaw.y * offset.y, yaw.y * offset.x + yaw.x * offset.y);
    return Beam(vec3(0.0, 0.0, uintBitsToFloat(place.x)), vec3(elevation.x * azimuth, elevation.y), elevation, azimuth,
        ranges.x, ranges.y, turn.z + place.y, place.z);
}

// randomOf returns a ray's random words: two for its noise, one for whether it is
// fired, one for whether its return is kept.
uvec4 randomOf(uint index) { return pcg4d(uvec4(mode.xy, shape.w, index)); }

// secondsOf returns when a firing happens after the scan's start.
float secondsOf(Beam b) { return shape.z != 0u ? float(b.nanoseconds) * 1e-9 : 0.0; }

// pointOf returns where a range along a firing is: in the sensor's frame as it
// stood then, or at the scan's start.
vec3 pointOf(Beam b, Ray ray, float range) {
    vec3 p = b.origin + range * b.direction;
    for (bool compensated = mode.w != 0u; compensated; compensated = false) {
        RigidPose start = sensorPose(momentAt(0.0));
        p = unrotate(start.rotation, ray.origin - start.position + range * ray.direction);
    }
    return p;
}

// writePoint writes what a firing measured.
void writePoint(uint index, Beam b, bool found, Hit hit, Ray ray) {
    uvec4 random = randomOf(index);
    float transmission = exp(-light.x * hit.t);
    bool near = found && hit.t < b.tmin;
    bool stays = transmission > light.w || uniformOf(random.w) < kept.x * transmission + kept.y;
    float range = uintBitsToFloat(near ? 0xff800000u : 0x7f800000u);
    vec4 place = vec4(0.0);
    uint what = 0u, returned = 0u;
    float cosine = 0.0;
    if (found && !near && stays) {
        cosine = min(-dot(hit.normal, ray.direction), 1.0);
        range = max(hit.t + light.y * gaussianOf(random.xy), 0.0);
        place = vec4(pointOf(b, ray, range), intensity(hit, cosine, transmission));
        what = label(hit.triangle, hit.mover);
        returned = RETURN_STRONGEST;
    }
    points[index] = Point(
        floatBitsToUint(place),
        uvec4(floatBitsToUint(range), floatBitsToUint(atan(b.azimuth.y, b.azimuth.x)), floatBitsToUint(atan(b.elevation.y, b.elevation.x)), shape.z != 0u ? b.nanoseconds : 0u),
        uvec4(b.ring | (returned << 16) | (labelTag(what) << 24), labelInstance(what), floatBitsToUint(cosine), index));
}

void main() {
    uint laser = gl_GlobalInvocationID.y, column = 4u * gl_GlobalInvocationID.x;
    if (laser >= shape.x || column >= shape.y) return;
    int count = int(min(shape.y - column, 4u));
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        Beam b = beamOf(laser, column + uint(k));
        bool fired = uniformOf(randomOf((column + uint(k)) * shape.x + laser).z) >= light.z;
        float seconds = secondsOf(b);
        RigidPose sensor = sensorPose(momentAt(seconds));
        Ray ray = Ray(sensor.position + rotate(sensor.rotation, b.origin), rotate(sensor.rotation, b.direction));
        setRay(rays, k, ray, 0.0, fired ? b.tmax : -1.0, seconds);
    }
    Hits hits = traceRays(rays);
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool found = hitAt(rays, hits, k, hit);
        writePoint((column + uint(k)) * shape.x + laser, beamOf(laser, column + uint(k)), found, hit, rayOf(rays, k));
    }
}
