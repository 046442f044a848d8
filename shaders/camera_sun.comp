// What the sun reaches of what a camera sees. It traces a ray to the sun from each point
// that camera_ids or camera_trace found, at the capture's instant, or where ROLLING at the
// pixel's own time. It writes 1 where
// nothing stands in the way. It writes 0 in the shade, on sides that are turned away from
// the sun, and where nothing is seen. An invocation traces TOGETHER pixels, a square.

#include "lib/lens.glsl"
#include "lib/camera.glsl"
#include "lib/reach.glsl"
#include "lib/trace.glsl"
#if ROLLING
#include "lib/shutter.glsl"
#include "lib/sight.glsl"
#endif

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y) in;

layout(binding = SLOT_SENSOR + 1) uniform usampler2D visible;

layout(std140, binding = 0) uniform Sun {
    ivec2 size; // pixels of visible
    vec4 toSun; // in the world frame, a unit vector
};

layout(binding = 0, r8) uniform writeonly image2D sunlit;

// How far before its surface a ray begins, metres, and where it ends.
const float BEFORE = 1e-3;
const float SUN_AWAY = 1e5;

// SIDE is that of the square of pixels that an invocation traces.
const int SIDE = TOGETHER == 1 ? 1 : 2;

void main() {
    ivec2 first = SIDE * ivec2(gl_GlobalInvocationID.xy);
#if !ROLLING
    const float seconds = 0.0;
    Frame world = frameAt(0);
#endif
    Rays rays = noRays();
    for (int k = 0; k < TOGETHER; k++) {
        ivec2 at = first + ivec2(k & 1, k >> 1);
        uvec2 id = texelFetch(visible, min(at, size - 1), 0).xy;
        if (id.x == 0u || any(greaterThanEqual(at, size))) continue;
#if ROLLING
        Sight sight = sightOf(at);
        float seconds = sight.seconds;
        Frame world = frameThen(0, sight), f = frameThen(int(id.y), sight);
        vec3 direction = rotate(sight.camera.rotation, rayOf(vec2(at)).direction), ray = fromOptical(f, direction);
#else
        Frame f = frameAt(int(id.y));
        vec3 direction = rayOf(vec2(at)).direction, ray = fromOptical(f, direction);
#endif
        vec3 plane = texelFetch(triangles, 3 * (int(id.x) - 1)).xyz;
        vec3 normal = normalize(fromOptical(world, normalToOptical(f, plane)));
        normal = dot(plane, ray) < 0.0 ? normal : -normal; // on the camera's side
        if (dot(normal, toSun.xyz) <= 0.0) continue;
        vec3 point = world.camera + reachOf(id, f, ray) * fromOptical(world, direction);
        setRay(rays, k, Ray(point + BEFORE * normal, toSun.xyz), 0.0, SUN_AWAY, seconds);
    }
    Bools sent = below(Reals(0.0), rays.tmax);
    Ints hit = traceAny(rays, true).triangle;
    for (int k = 0; k < TOGETHER; k++) {
        ivec2 at = first + ivec2(k & 1, k >> 1);
        if (any(greaterThanEqual(at, size))) continue;
        imageStore(sunlit, at, vec4(OF(sent, k) && OF(hit, k) < 0 ? 1.0 : 0.0));
    }
}
