// Finds what a sensor's rays hit, as shaders.Rays describes. An invocation traces TOGETHER
// neighbours. It lets them pass through the actor that carries the sensor.
//
// rays (uint texels; floats as bits), 2 a ray, in the sensor's frame:
//   origin, minimum range; unit direction, maximum range (0: the ray isn't cast)
//
// A result is compute.Hit: range (+infinity: none, REP-117), cosine of the incidence,
// instance, tag.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"

layout(binding = SLOT_SENSOR) uniform usamplerBuffer rays;

struct Result {
    float range, cosine;
    uint instance, tag;
};

layout(std430, binding = 0) writeonly buffer Results { Result results[]; };

layout(std140, binding = 0) uniform Settings {
    uvec4 settings; // instance id of the owner, 0 for nothing; 0, 0, 0
};

// How many surfaces a ray may pass through, and how far behind one it continues, metres.
const int PASSES = 32;
const float BEHIND = 1e-3;

bool passesThrough(uint what) {
    return settings.x != 0u && labelInstance(what) == settings.x;
}

void main() {
    int first = TOGETHER * int(gl_GlobalInvocationID.x);
    int count = min(results.length() - first, TOGETHER);
    if (count <= 0) return;
    RigidPose sensor = sensorPose(momentAt(0.0));
    Rays beams = noRays();
    for (int k = 0; k < count; k++) {
        vec4 from = uintBitsToFloat(texelFetch(rays, 2 * (first + k)));
        vec4 to = uintBitsToFloat(texelFetch(rays, 2 * (first + k) + 1));
        if (to.w > 0.0) {
            setRay(beams, k, Ray(sensor.position + rotate(sensor.rotation, from.xyz), rotate(sensor.rotation, to.xyz)), from.w, to.w, 0.0);
        }
    }
    Hits hits = traceRays(beams);
    for (int pass = 0; pass < PASSES; pass++) {
        bool again = false;
        for (int k = 0; k < count; k++) {
            if (OF(hits.triangle, k) >= 0 && passesThrough(label(OF(hits.triangle, k), OF(hits.mover, k)))) {
                OF(beams.tmin, k) = OF(hits.t, k) + BEHIND;
                again = true;
            }
        }
        if (!again) break;
        hits = traceRays(beams);
    }
    for (int k = 0; k < count; k++) {
        Hit hit;
        Result r = Result(uintBitsToFloat(0x7f800000u), 0.0, 0u, 0u);
        if (hitAt(beams, hits, k, hit)) {
            uint what = label(hit.triangle, hit.mover);
            if (!passesThrough(what)) {
                r = Result(hit.t, min(-dot(hit.normal, rayOf(beams, k).direction), 1.0), labelInstance(what), labelTag(what));
            }
        }
        results[first + k] = r;
    }
}
