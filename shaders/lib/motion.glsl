// Where the sensor and the movers are at each ray's own time: keyframes over a
// capture's window, positions joined linearly, rotations by slerp.
//
// motion, one texel each (scene.MotionBuffer writes it for each capture):
//   0            number of keys n, seconds of the first key after the window's
//                start, keys per second (0 where n is 1), bits of the root reference
//                of the hierarchy over the movers (0: there is no mover)
//   1            first texel of the movers, first texel of the hierarchy's
//                nodes, texels a mover, bits of the static world's root (0: none)
//   2 ..         2n texels: the sensor's keys
//   movers       each 3 rows that undo a stretch (identity but for animated
//                scales), then its 2n texels of keys
//   nodes        as the scene's nodes; a leaf is one mover
// A key is two texels: position in the world frame and the correction that
// turns linear into spherical interpolation up to the next key; then the
// rotation x, y, z, w, on the shorter way from the key before.
//
// Times are seconds after the window's start: small, so that float32 resolves
// nanoseconds.

layout(binding = SLOT_MOTION) uniform samplerBuffer motion;

// Moment is a time as a place between two keys.
struct Moment {
    int key;
    float fraction;
};

// RigidPose places a frame in the world: rotation is a unit quaternion x, y, z, w.
struct RigidPose {
    vec3 position;
    vec4 rotation;
};

Moment momentAt(float seconds) {
    vec4 head = texelFetch(motion, 0);
    float at = max((seconds - head.y) * head.z, 0.0);
    int last = max(int(head.x) - 2, 0);
    int key = min(int(at), last);
    return Moment(key, head.z > 0.0 ? min(at - float(key), 1.0) : 0.0);
}

// poseAt interpolates the keys that start at texel first.
RigidPose poseAt(int first, Moment m) {
    int at = first + 2 * m.key;
    int next = at + (m.fraction > 0.0 ? 2 : 0);
    vec4 p0 = texelFetch(motion, at), q0 = texelFetch(motion, at + 1);
    vec4 p1 = texelFetch(motion, next), q1 = texelFetch(motion, next + 1);
    float f = m.fraction;
    float s = f + p0.w * f * (f - 0.5) * (f - 1.0);
    return RigidPose(mix(p0.xyz, p1.xyz, f), normalize(mix(q0, q1, s)));
}

// sensorPose returns where the sensor is.
RigidPose sensorPose(Moment m) { return poseAt(2, m); }

// rotate turns v by a unit quaternion, unrotate back.
vec3 rotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec3 unrotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) - q.w * v); }
