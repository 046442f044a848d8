// Visibility of a camera whose lens no rasteriser can draw, or whose pixels aren't of one instant
// (ROLLING). It traces the ray of each pixel's centre at the capture's instant, or at the pixel's
// own time, and writes what camera_ids writes. That is the number of the
// triangle plus one (0: nothing) and the frame it is in. An invocation traces TOGETHER
// pixels, a square.
//
// The motion table's sensor is the camera's optical frame.

#include "lib/lens.glsl"
#include "lib/trace.glsl"
#if ROLLING
#include "lib/shutter.glsl"
#endif

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y) in;

layout(std140, binding = 0) uniform Pass {
    ivec2 size;       // pixels
    float near, far;  // metres along the axis; of a fisheye, along the ray
};

layout(binding = 0, rg32ui) uniform writeonly uimage2D seen;

// SIDE is that of the square of pixels that an invocation traces.
const int SIDE = TOGETHER == 1 ? 1 : 2;

void main() {
    ivec2 first = SIDE * ivec2(gl_GlobalInvocationID.xy);
#if !ROLLING
    const float seconds = 0.0;
    RigidPose camera = sensorPose(momentAt(0.0));
#endif
    Rays rays = noRays();
    for (int k = 0; k < TOGETHER; k++) {
        ivec2 at = first + ivec2(k & 1, k >> 1);
        PixelRay pixel = rayOf(vec2(at));
        float scale = length(pixel.direction);
        if (!pixel.seeing || any(greaterThanEqual(at, size))) continue;
#if ROLLING
        float seconds = secondsOf(at);
        RigidPose camera = sensorPose(momentAt(seconds));
#endif
        setRay(rays, k, Ray(camera.position, rotate(camera.rotation, pixel.direction / scale)), near * scale, far * scale, seconds);
    }
    Hits hits = traceRays(rays);
    for (int k = 0; k < TOGETHER; k++) {
        ivec2 at = first + ivec2(k & 1, k >> 1);
        if (any(greaterThanEqual(at, size))) continue;
        imageStore(seen, at, uvec4(OF(hits.triangle, k) + 1, OF(hits.mover, k) + 1, 0u, 0u));
    }
}
