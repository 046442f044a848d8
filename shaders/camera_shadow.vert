// Depth of the scene as the sun sees it: places the triangles of one frame of
// the scene in a shadow map's box. Vertices are pulled from the scene's table by
// gl_VertexID; the rasteriser writes depth alone.
//
// sunFrames   3 texels a frame at the capture's instant: frame 0 is the world's, 1 + m
//             mover m's. Row i times (p, 1) is coordinate i, in clip space, of
//             the frame's point p.

#include "lib/scene.glsl"

layout(location = 0) uniform int frameIndex;

layout(binding = SLOT_SENSOR) uniform samplerBuffer sunFrames;

#if CUT
layout(location = 1) out vec2 uv;
layout(location = 2) flat out int material;
layout(location = 3) out float alpha; // of the vertices
#endif

void main() {
    vec4 p = vec4(vertexPosition(gl_VertexID), 1.0);
    gl_Position = vec4(
        dot(texelFetch(sunFrames, 3 * frameIndex), p),
        dot(texelFetch(sunFrames, 3 * frameIndex + 1), p),
        dot(texelFetch(sunFrames, 3 * frameIndex + 2), p),
        1.0);
#if CUT
    uv = uintBitsToFloat(texelFetch(attributes, gl_VertexID).yz);
    material = triangleMaterial(gl_VertexID / 3);
    alpha = vertexColor(gl_VertexID).a;
#endif
}
