// How the points that a camera sees lay before it at its previous firing.
//
// The table frames of lib/camera.glsl has 3 texels a frame behind all its records. They are
// rows for the point that is at p of the optical frame now, and moves with the frame. Times (p,
// 1), they are how far it lay from there at the previous firing, in the optical frame of then.
// A difference, so that what stands still before the camera has moved by exactly nothing.

// sinceBefore returns that difference, metres, for a point of frame i; w of p is 1,
// or 0 for a direction.
vec3 sinceBefore(int i, vec4 p) {
    int at = textureSize(frames) / 9 * 6 + 3 * i;
    return vec3(dot(texelFetch(frames, at), p), dot(texelFetch(frames, at + 1), p), dot(texelFetch(frames, at + 2), p));
}
