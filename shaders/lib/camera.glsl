// A camera's view: how its pixels, its frame and the scene's frames belong
// together.
//
// The camera works in its optical frame: z forward, x right, y down, metres.
// Pixel (x, y), row 0 at the top, sees the direction ((x - cx) / fx,
// (y - cy) / fy, 1): the factor that reaches a surface is its planar depth.
//
// frames      3 texels a frame of the scene at the capture's instant: frame 0 is
//             the world's, 1 + m mover m's. Row i times (p, 1) is coordinate i,
//             in that frame, of the point p of the optical frame: a rotation,
//             and in w the camera's position.

#include "lib/scene.glsl"

layout(binding = SLOT_SENSOR) uniform samplerBuffer frames;

struct Frame {
    vec3 x, y, z; // rows of the rotation
    vec3 camera;  // the camera's position
};

// frameAt returns entry i of frames.
Frame frameAt(int i) {
    vec4 x = texelFetch(frames, 3 * i);
    vec4 y = texelFetch(frames, 3 * i + 1);
    vec4 z = texelFetch(frames, 3 * i + 2);
    return Frame(x.xyz, y.xyz, z.xyz, vec3(x.w, y.w, z.w));
}

// fromOptical turns a direction of the optical frame into the frame's.
vec3 fromOptical(Frame f, vec3 v) { return vec3(dot(f.x, v), dot(f.y, v), dot(f.z, v)); }

// toOptical turns a direction of the frame into the optical frame's.
vec3 toOptical(Frame f, vec3 v) { return v.x * f.x + v.y * f.y + v.z * f.z; }
