// Whether something stands between a sensor and points on actors, as
// shaders.GroundTruthSights describes. A point that its own actor hides is not
// counted: that is not what occlusion means.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"
#include "lib/tally.glsl"

// Sight is one point: unit direction to it in the world frame, and how far the way must be
// free, metres. Then place of its actor's tally, the actor's instance id, 0, 0.
struct Sight {
    vec4 way;
    uvec4 whose;
};

layout(std140, binding = 0) uniform Settings {
    uvec4 list;  // number of sights, instance id of what hides nothing (0: none), a bit for each tag that doesn't, 0
    vec4 range;  // what is nearer hides nothing, metres, 0, 0, 0
};

layout(std430, binding = 1) readonly buffer Sights { Sight sights[]; };

// How many surfaces of what hides nothing a ray may pass through, and how far behind one it
// continues, metres.
const int PASSES = 16;
const float BEHIND = 1e-3;

void main() {
    int first = TOGETHER * int(gl_GlobalInvocationID.x);
    int count = min(int(list.x) - first, TOGETHER);
    if (count <= 0) return;
    vec3 origin = sensorPose(momentAt(0.0)).position;
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        vec4 way = sights[first + k].way;
        setRay(rays, k, Ray(origin, way.xyz), range.x, way.w, 0.0);
    }
    for (int pass = 0; pass < PASSES && some(upTo(Reals(0.0), rays.tmax)); pass++) {
        Hits hits = traceRays(rays);
        for (int k = 0; k < count; k++) {
            uvec4 whose = sights[first + k].whose;
            bool hit = OF(rays.tmax, k) >= 0.0 && OF(hits.triangle, k) >= 0;
            uint met = hit ? label(OF(hits.triangle, k), OF(hits.mover, k)) : whose.y;
            uint what = labelInstance(met);
            if (hit && (list.y != 0u && what == list.y || (list.z >> min(labelTag(met), 31u) & 1u) != 0u)) {
                OF(rays.tmin, k) = OF(hits.t, k) + BEHIND;
                continue;
            }
            if (what != whose.y) atomicAdd(tallies[whose.x].hidden, 1u);
            OF(rays.tmax, k) = -1.0;
        }
    }
}
