// Bounds and numbers of the pixels that show each actor, as
// shaders.GroundTruthBounds describes.

layout(local_size_x = LOCAL_SIZE_X, local_size_y = LOCAL_SIZE_Y) in;

#include "lib/scene.glsl"
#include "lib/tally.glsl"

layout(binding = SLOT_SENSOR + 1) uniform usampler2D visible;

layout(std430, binding = 1) readonly buffer Places { uint places[]; };

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, textureSize(visible, 0)))) return;
    uvec2 id = texelFetch(visible, at, 0).xy;
    if (id.x == 0u) return;
    uint place = places[labelInstance(label(int(id.x) - 1, int(id.y) - 1))];
    if (place == 0u) return;
    atomicMin(tallies[place - 1u].left, uint(at.x));
    atomicMin(tallies[place - 1u].top, uint(at.y));
    atomicMax(tallies[place - 1u].right, uint(at.x));
    atomicMax(tallies[place - 1u].bottom, uint(at.y));
    atomicAdd(tallies[place - 1u].pixels, 1u);
}
