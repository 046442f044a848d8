// Where the sensor and the movers are at each ray's own time. There are keyframes over a
// capture's window, joined by slerp and by parabolas through the middle between keys. So what
// swings about a parent keeps to its arc.
//
// motion, one texel each (scene.MotionBuffer writes it for each capture):
//   0            number of keys n, seconds of the first key after the window's
//                start, keys per second (0 where n is 1), bits of the root reference
//                of the hierarchy over the movers (0: there is no mover)
//   1            first texel of the movers, first texel of the hierarchy's
//                nodes, texels a mover, bits of the static world's root (0: none)
//   2 ..         4n texels: the sensor's keys
//   movers       each 3 rows that undo a stretch (identity but for animated
//                scales), then its 4n texels of keys; the first two rows end in the
//                seconds after the window's start from which and up to which it
//                is there
//   nodes        as the scene's nodes; a leaf is one mover
// A key is four texels. The first is the position in the world frame and the correction that
// turns linear into spherical interpolation up to the next key. The second is the rotation x, y,
// z, w, on the shorter way from the key before. The others are what is added to position and
// rotation between this key and the next, times f (1 - f).
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
    int at = first + 4 * m.key;
    int next = at + (m.fraction > 0.0 ? 4 : 0);
    float f = m.fraction, bend = f * (1.0 - f);
    vec4 p0 = texelFetch(motion, at), p1 = texelFetch(motion, next);
    vec4 q0 = texelFetch(motion, at + 1), q1 = texelFetch(motion, next + 1);
    float s = f + p0.w * f * (f - 0.5) * (f - 1.0);
    vec3 position = mix(p0.xyz, p1.xyz, f) + bend * texelFetch(motion, at + 2).xyz;
    return RigidPose(position, normalize(mix(q0, q1, s) + bend * texelFetch(motion, at + 3)));
}

// sensorPose returns where the sensor is.
RigidPose sensorPose(Moment m) { return poseAt(2, m); }

// rotate turns v by a unit quaternion, unrotate back.
vec3 rotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec3 unrotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) - q.w * v); }

// MoverFrame turns world coordinates into a mover's frame: linear (p - position).
struct MoverFrame {
    mat3 linear;
    vec3 position;
};

// moverFrame returns the frame of the mover whose record starts at texel at.
MoverFrame moverFrame(int at, Moment when) {
    RigidPose pose = poseAt(at + 3, when);
    vec4 q = pose.rotation;
    mat3 back = mat3(unrotate(q, vec3(1.0, 0.0, 0.0)), unrotate(q, vec3(0.0, 1.0, 0.0)), unrotate(q, vec3(0.0, 0.0, 1.0)));
    mat3 rows = mat3(texelFetch(motion, at).xyz, texelFetch(motion, at + 1).xyz, texelFetch(motion, at + 2).xyz);
    return MoverFrame(transpose(rows) * back, pose.position);
}

// moverRecord returns the texel at which a mover's record starts.
int moverRecord(vec4 layout1, int mover) { return int(layout1.x) + mover * int(layout1.z); }
