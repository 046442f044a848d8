// Depth of the scene as the sun sees it: places the triangles of one frame in
// the shadow map's box. The rasteriser writes depth alone.

#include "lib/scene.glsl"

layout(location = 0) uniform int mover; // -1: the static world

layout(std140, binding = 0) uniform Sun {
    vec4 mapX, mapY, mapZ; // rows: clip coordinates of a point (p, 1) of the world frame
};

#if CUT
layout(location = 1) out vec2 uv;
layout(location = 2) flat out int material;
#endif

void main() {
    vec4 p = vec4(worldPosition(vertexPosition(gl_VertexID), mover), 1.0);
    gl_Position = vec4(dot(mapX, p), dot(mapY, p), dot(mapZ, p), 1.0);
#if CUT
    uv = uintBitsToFloat(texelFetch(attributes, gl_VertexID).yz);
    material = triangleMaterial(gl_VertexID / 3);
#endif
}
