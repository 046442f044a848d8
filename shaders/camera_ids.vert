// Visibility of a camera: places the triangles of one frame of the scene before
// the camera. Vertices are pulled from the scene's table by gl_VertexID.

#include "lib/camera.glsl"

layout(location = 0) uniform int frameIndex; // 0: the static world, 1 + m: mover m

layout(std140, binding = 0) uniform Projection {
    vec4 scale; // x, y: clip units a metre at depth 1; z, w: their offsets at depth 1
    vec4 range; // z of clip space is x + y * depth: 1 at the near plane, 0 at the far one
};

layout(location = 0) flat out uvec2 id;
#if CUT
layout(location = 1) out vec2 uv;
layout(location = 2) flat out int material;
layout(location = 3) out float alpha; // of the vertices
#endif

void main() {
    vec3 p = pointToOptical(frameIndex, vertexPosition(gl_VertexID));
    // Row 0 of the target is the picture's top: y grows downwards in both.
    gl_Position = vec4(scale.xy * p.xy + scale.zw * p.z, range.x + range.y * p.z, p.z);
    int triangle = gl_VertexID / 3;
    id = uvec2(triangle + 1, frameIndex);
#if CUT
    uv = uintBitsToFloat(texelFetch(attributes, gl_VertexID).yz);
    material = triangleMaterial(triangle);
    alpha = vertexColor(gl_VertexID).a;
#endif
}
