// Visibility of a camera: what each pixel's centre sees, as the number of the
// triangle plus one (0: nothing) and the frame it is in.

#include "lib/scene.glsl"

layout(location = 0) flat in uvec2 id;
#if CUT
layout(location = 1) in vec2 uv;
layout(location = 2) flat in int material;
layout(location = 3) in float alpha;
#endif

layout(location = 0) out uvec2 seen;

void main() {
#if CUT
    Material m = materialAt(material);
    if (m.alphaCutoff != 0.0 && absent(m.alphaCutoff, alpha * baseColor(m, pointAt(uv)).a, uvec4(gl_FragCoord.xy, id))) discard;
#endif
    seen = id;
}
