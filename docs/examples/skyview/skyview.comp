// Looks up along evenly spread directions, one an invocation: is there only sky?
layout(local_size_x = LOCAL_SIZE_X) in;
#include "lib/trace.glsl"
layout(std430, binding = 0) writeonly buffer Results { uint sky[]; };
void main() {
    int i = int(gl_GlobalInvocationID.x), n = sky.length();
    if (i >= n) return;
    float z = (float(i) + 0.5) / float(n), turn = 2.39996323 * float(i); // the golden angle
    vec3 direction = vec3(sqrt(1.0 - z * z) * vec2(cos(turn), sin(turn)), z);
    RigidPose sensor = sensorPose(momentAt(0.0));
    sky[i] = occluded(Ray(sensor.position, rotate(sensor.rotation, direction)), 0.01, 500.0, 0.0) ? 0u : 1u;
}
