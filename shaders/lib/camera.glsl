// A camera's view: how its pixels, its frame and the scene's frames belong
// together.
//
// The camera works in its optical frame: z forward, x right, y down, metres. Pixel (x, y), row
// 0 at the top, sees the direction ((x - cx) / fx, (y - cy) / fy, 1). The factor that reaches a
// surface is its planar depth.
//
// frames      6 texels a frame of the scene at the capture's instant: frame 0 is
//             the world's, 1 + m mover m's. Rows 0 to 2 times (p, 1) are the
//             coordinates in that frame of the optical frame's point p, so that
//             their w is the camera's position there; rows 3 to 5 lead back.
//             They are rotations but for the movers whose scale is animated.

#include "lib/scene.glsl"

layout(binding = SLOT_SENSOR) uniform samplerBuffer frames;

struct Frame {
    vec3 x, y, z; // rows of the linear part
    vec3 camera;  // the camera's position
};

// frameAt returns entry i of frames.
Frame frameAt(int i) {
    vec4 x = texelFetch(frames, 6 * i);
    vec4 y = texelFetch(frames, 6 * i + 1);
    vec4 z = texelFetch(frames, 6 * i + 2);
    return Frame(x.xyz, y.xyz, z.xyz, vec3(x.w, y.w, z.w));
}

// fromOptical turns a direction of the optical frame into the frame's.
vec3 fromOptical(Frame f, vec3 v) { return vec3(dot(f.x, v), dot(f.y, v), dot(f.z, v)); }

// normalToOptical turns a normal of the frame into the optical frame's; its length
// changes with a scale.
vec3 normalToOptical(Frame f, vec3 n) { return n.x * f.x + n.y * f.y + n.z * f.z; }

// pointToOptical places a point of frame i before the camera.
vec3 pointToOptical(int i, vec3 p) {
    vec4 h = vec4(p, 1.0);
    return vec3(dot(texelFetch(frames, 6 * i + 3), h),
        dot(texelFetch(frames, 6 * i + 4), h),
        dot(texelFetch(frames, 6 * i + 5), h));
}

// directionToOptical turns a direction of frame i into the optical frame.
vec3 directionToOptical(int i, vec3 v) {
    return vec3(dot(texelFetch(frames, 6 * i + 3).xyz, v),
        dot(texelFetch(frames, 6 * i + 4).xyz, v),
        dot(texelFetch(frames, 6 * i + 5).xyz, v));
}

// depthIn returns the depth alone of a point of frame i.
float depthIn(uint i, vec3 p) { return dot(texelFetch(frames, 6 * int(i) + 5), vec4(p, 1.0)); }
