// Depth of the scene as the sun sees it: nothing but depth is written, and a
// cut-out material lets the light through. A blended one does, or doesn't, as a whole.

#include "lib/scene.glsl"

#if CUT
layout(location = 1) in vec2 uv;
layout(location = 2) flat in int material;
layout(location = 3) in float alpha;
#endif

void main() {
#if CUT
    Material m = materialAt(material);
    if (m.alphaCutoff != 0.0 && alpha * baseColor(m, pointAt(uv)).a < abs(m.alphaCutoff)) discard;
#endif
}
