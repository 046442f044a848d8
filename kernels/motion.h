// lib/motion.glsl and the movers' frames of lib/trace.glsl for LANES rays, each at its own time.
#ifndef MOTION_H
#define MOTION_H

#include "scene.h"
#include "simd.h"

INLINE vf dot(const vf a[3], const vf b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

INLINE void cross(const vf a[3], const vf b[3], vf out[3]) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

typedef struct {
    vf x, y, z, w;
} vf4;

// moment is a time as a place between two keys.
typedef struct {
    vi key;
    vf fraction;
} moment;

// pose places a frame in the world: q is a unit quaternion x, y, z, w.
typedef struct {
    vf p[3], q[4];
} pose;

// rows_at returns rows of four floats; where all are one row, which is usual, by broadcasts.
INLINE vf4 rows_at(const float *table, vi row) {
    int32_t first = row[0];
    if (m_bits(i_eq(row, i_set(first))) == m_bits(m_all())) {
        const float *p = table + 4 * (ptrdiff_t)first;
        return (vf4){v_set(p[0]), v_set(p[1]), v_set(p[2]), v_set(p[3])};
    }
    vf r[4];
    v_rows(table, row, r);
    return (vf4){r[0], r[1], r[2], r[3]};
}

INLINE moment moment_at(const float *motion, vf seconds) {
    float last = motion[0] - 2 > 0 ? motion[0] - 2 : 0;
    vf at = v_max((seconds - motion[1]) * motion[2], v_set(0));
    vi key = v_trunc(v_min(at, v_set(last))); // min before the conversion: large numbers have none
    vf fraction = motion[2] > 0 ? v_min(at - i_float(key), v_set(1.0f)) : v_set(0);
    return (moment){key, fraction};
}

// pose_at interpolates the keys that start at texel first.
INLINE pose pose_at(const float *motion, int first, moment m) {
    vi at = m.key * 4 + first;
    vi next = at + (i_sel(v_lt(v_set(0), m.fraction), i_set(4), i_set(0)));
    vf f = m.fraction, bend = f * (1.0f - f);
    vf4 p0 = rows_at(motion, at), p1 = rows_at(motion, next), q0 = rows_at(motion, at + 1), q1 = rows_at(motion, next + 1);
    vf4 pb = rows_at(motion, at + 2), qb = rows_at(motion, at + 3);
    vf s = f + p0.w * f * (f - 0.5f) * (f - 1.0f), g = 1.0f - f, h = 1.0f - s;
    pose r = {
        {p0.x * g + p1.x * f + bend * pb.x, p0.y * g + p1.y * f + bend * pb.y, p0.z * g + p1.z * f + bend * pb.z},
        {q0.x * h + q1.x * s + bend * qb.x, q0.y * h + q1.y * s + bend * qb.y,
            q0.z * h + q1.z * s + bend * qb.z, q0.w * h + q1.w * s + bend * qb.w}};
    vf scale = 1.0f / v_sqrt(r.q[0] * r.q[0] + r.q[1] * r.q[1] + r.q[2] * r.q[2] + r.q[3] * r.q[3]);
    for (int i = 0; i < 4; i++) r.q[i] = r.q[i] * scale;
    return r;
}

// sensor_pose returns where the sensor is.
INLINE pose sensor_pose(const float *motion, moment m) { return pose_at(motion, 2, m); }

// turn turns v by a quaternion whose w is given apart: negated, it turns v back.
INLINE void turn(const vf q[4], vf w, const vf v[3], vf out[3]) {
    vf c[3], e[3];
    cross(q, v, c);
    for (int i = 0; i < 3; i++) c[i] = c[i] + w * v[i];
    cross(q, c, e);
    for (int i = 0; i < 3; i++) out[i] = v[i] + 2.0f * e[i];
}
INLINE void rotate(const vf q[4], const vf v[3], vf out[3]) { turn(q, q[3], v, out); }
INLINE void unrotate(const vf q[4], const vf v[3], vf out[3]) { turn(q, -q[3], v, out); }

// mover_record returns the texel at which a mover's record starts.
INLINE int mover_record(const float *motion, int mover) { return (int)motion[4] + mover * (int)motion[6]; }

// into_mover turns rays into the frame of the mover whose record starts at texel record: its
// keys follow three rows that undo a stretch.
INLINE void into_mover(const float *motion, int record, moment m, const vf o[3], const vf d[3], vf out_o[3], vf out_d[3]) {
    pose at = pose_at(motion, record + 3, m);
    const float *undo = motion + 4 * (ptrdiff_t)record;
    vf from[3], a[3], b[3];
    for (int i = 0; i < 3; i++) from[i] = o[i] - at.p[i];
    unrotate(at.q, from, a);
    unrotate(at.q, d, b);
    for (int i = 0; i < 3; i++) {
        out_o[i] = undo[4 * i] * a[0] + undo[4 * i + 1] * a[1] + undo[4 * i + 2] * a[2];
        out_d[i] = undo[4 * i] * b[0] + undo[4 * i + 1] * b[1] + undo[4 * i + 2] * b[2];
    }
}

// normal_from_mover turns normals of a mover's frame into the world's; their length changes with
// a stretch.
INLINE void normal_from_mover(const float *motion, int record, moment m, const vf n[3], vf out[3]) {
    pose at = pose_at(motion, record + 3, m);
    const float *undo = motion + 4 * (ptrdiff_t)record;
    vf a[3];
    for (int i = 0; i < 3; i++) a[i] = undo[i] * n[0] + undo[4 + i] * n[1] + undo[8 + i] * n[2];
    rotate(at.q, a, out);
}

#endif
