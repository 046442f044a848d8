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

layout(std430, binding = 0) readonly buffer Rays { ListedRay rays[]; };
layout(std430, binding = 1) writeonly buffer Hits { ListedHit hits[]; };

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint i = group * (LOCAL_SIZE_X * LOCAL_SIZE_Y * LOCAL_SIZE_Z) + gl_LocalInvocationIndex;
    if (i >= uint(rays.length())) return;
    ListedRay r = rays[i];
    Ray ray = Ray(r.origin.xyz, r.direction.xyz);
#if OCCLUSION
    bool found = occluded(ray, r.origin.w, r.direction.w, r.time.x);
    Hit hit = Hit(r.origin.w, -1, -1, vec2(0.0), vec3(0.0));
#else
    Hit hit;
    bool found = trace(ray, r.origin.w, r.direction.w, r.time.x, hit);
#endif
    hits[i] = ListedHit(
        uvec4(floatBitsToUint(vec3(found ? hit.t : -1.0, hit.barycentric)), uint(hit.triangle)),
        uvec4(floatBitsToUint(hit.normal), uint(hit.mover)));
}
