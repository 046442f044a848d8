// Finds what listed rays hit, as shaders.SceneTrace describes.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y, local_size_z = LOCAL_SIZE_Z) in;

#include "lib/trace.glsl"

struct ListedRay {
    vec4 origin; // and tmin
    vec4 direction; // and tmax
    vec4 time; // seconds after the window's start, 0, 0, 0
};

struct ListedHit {
    uvec4 place; // bits of t or -1, and of the barycentrics u and v; triangle or -1
    uvec4 normal; // bits of the normal, mover or -1
};

layout(std430, binding = 0) readonly buffer RayList { ListedRay listed[]; };
layout(std430, binding = 1) writeonly buffer HitList { ListedHit found[]; };

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    int first = TOGETHER * int(group * (LOCAL_SIZE_X * LOCAL_SIZE_Y * LOCAL_SIZE_Z) + gl_LocalInvocationIndex);
    int count = min(listed.length() - first, TOGETHER);
    if (count <= 0) return;
    Rays rays = noRays();
    for (int k = 0; k < count; k++) {
        ListedRay r = listed[first + k];
        setRay(rays, k, Ray(r.origin.xyz, r.direction.xyz), r.origin.w, r.direction.w, r.time.x);
        OF(rays.number, k) = first + k; // however the groups lie
    }
#if OCCLUSION
    Hits hits = traceAny(rays, true);
#else
    Hits hits = traceRays(rays);
#endif
    for (int k = 0; k < count; k++) {
        Hit hit;
        bool there = hitAt(rays, hits, k, hit);
        found[first + k] = ListedHit(
            uvec4(floatBitsToUint(vec3(there ? hit.t : -1.0, hit.barycentric)), uint(OF(hits.triangle, k))),
            uvec4(floatBitsToUint(hit.normal), uint(OF(hits.mover, k))));
    }
}
