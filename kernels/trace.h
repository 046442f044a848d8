// The search of lib/trace.glsl for packets of 128 rays, as PACKETS vectors of LANES of them.
//
// A packet walks the tree once, as a beam: the interval of its rays' origins and of the inverses
// of their directions. A node's eight boxes are tested against the beam at once, whatever the
// number of rays. Since subtraction and multiplication round monotonically, the beam's entry is
// never later and its exit never earlier than any ray's own, bit for bit. What the beam passes
// by, no ray of the shader would have met. The few boxes that are left, and triangles, are
// tested ray by ray with the shader's own arithmetic. A group of 16 rays takes part where one of
// them met the box above.
//
// Rays of a packet should lie side by side, as wide as high. What a ray hits depends on its company
// where a surface reaches out of its box by rounding. So packets and groups are the same with each
// instruction set.
#ifndef TRACE_H
#define TRACE_H

#include "material.h"
#include "motion.h"

enum { GROUP = 16, VECTORS = GROUP / LANES, PACKETS = RAYS / LANES, STACK = 512 };

#define FAR 1e30f

// rays are LANES rays in the world frame. A surface counts at tmin <= t < tmax metres, at
// seconds after the window's start. A tmax below 0 leaves a ray out. number tells a ray from the
// others of its dispatch: number_of.
typedef struct {
    vf o[3], d[3], tmin, tmax, seconds;
    vi number;
} rays;

// number_of numbers rays by their columns and rows, as setRay of the shader.
INLINE vi number_of(vi column, vi row) { return column + (row << 16); }

// found is what LANES rays hit: triangle and mover are -1 for none, the mover also for the
// static world. t is good to float32 in the frame of the triangle; hit_of makes it exact.
typedef struct {
    vf t;
    vi triangle, mover;
} found;

// hit is the surface point: t in metres along the ray; the geometric unit normal in the world
// frame, on the ray's side.
typedef struct {
    vf t, u, v, normal[3];
} hit;

// lanes are rays in the frame that is searched, and the nearest hit so far.
typedef struct {
    vf o[3], d[3], inverse[3], tmin, tmax;
    vi triangle, mover, number;
} lanes;

typedef struct {
    float near_o[3], far_o[3], a[3], b[3]; // origin's bounds, inverse's bounds
    float tmin;
    int behind[3]; // 1: the near plane is hi
    int mixed;     // bit of an axis whose directions have both signs
} beam;

// A ray ends at the nearest surface, the first one that is found, or the nearest where all that is blended stops
// light but for what is quite transparent (BLENDED_STOPS of the shader).
enum { NEAREST, ANY, NEAREST_BLENDED = BLENDED_STOPS };

// packet is what walks together. set has a bit for each group of which a ray is traced. reach is as
// far as any ray of them goes. any is what ends them.
typedef struct {
    lanes r[PACKETS];
    beam b;
    unsigned set;
    float reach;
    int any;
} packet;

// surface is a triangle that rays meet, and what ends them.
typedef struct {
    int triangle, mover, any;
} surface;

// EACH runs k over the vectors of a set's groups.
#define EACH(k, set)                                             \
    for (unsigned left_ = (set); left_ != 0; left_ &= left_ - 1) \
        for (unsigned k = VECTORS * (unsigned)__builtin_ctz(left_), end_ = k + VECTORS; k < end_; k++)

// grid_of returns the columns and rows of a packet's lanes from one on, where the packet is wide: a
// power of two from 2 to RAYS. Lanes run through one half of it after the other, row by row: a
// group of a packet that is 16 wide is 8 x 2.
INLINE void grid_of(uint32_t wide, int one, vi at[2]) {
    int half = __builtin_ctz(wide) - 1, high = RAYS / (int)wide;
    vi lane = i_ramp() + one;
    at[0] = (lane & ((1 << half) - 1)) | (lane >> (half + __builtin_ctz((unsigned)high))) << half;
    at[1] = lane >> half & (high - 1);
}

INLINE vf finite_inverse(vf d) {
    vf size = v_max(v_abs(d), v_set(1e-20f));
    return v_sel(v_lt(d, v_set(0)), v_set(-1.0f), v_set(1.0f)) / size;
}

INLINE float reach_of(const packet *p) {
    vf most = v_set(-1.0f);
    EACH(k, p->set) most = v_max(most, p->r[k].tmax);
    return v_greatest(most);
}

// set_out bounds the rays of a packet's set that are traced: tmax >= 0 and tmin < FAR. Groups
// without one leave the set. 0: they all do. A ray with NaN or infinity hits nothing. It is left
// out, since its neighbours would hit nothing either.
INLINE int set_out(packet *p) {
    beam *b = &p->b;
    vf lo[6], hi[6], tmin = v_set(FAR);
    for (int i = 0; i < 6; i++) lo[i] = v_set(INFINITY), hi[i] = v_set(-INFINITY);
    unsigned some = 0;
    EACH(k, p->set) {
        lanes *r = &p->r[k];
        vf sum = r->o[0] + r->o[1] + r->o[2] + r->d[0] + r->d[1] + r->d[2];
        r->tmax = v_sel(v_lt(v_abs(sum), v_set(INFINITY)) & v_le(r->tmax, v_set(INFINITY)), r->tmax, v_set(-1.0f));
        for (int i = 0; i < 3; i++) r->inverse[i] = finite_inverse(r->d[i]);
        vm on = v_ge(r->tmax, v_set(0)) & v_lt(r->tmin, v_set(FAR));
        some |= (unsigned)m_any(on) << k / VECTORS;
        tmin = v_min(tmin, v_sel(on, r->tmin, v_set(FAR)));
        for (int i = 0; i < 3; i++) {
            vf inverse = r->inverse[i];
            lo[i] = v_min(lo[i], v_sel(on, r->o[i], lo[i]));
            hi[i] = v_max(hi[i], v_sel(on, r->o[i], hi[i]));
            lo[3 + i] = v_min(lo[3 + i], v_sel(on, inverse, lo[3 + i]));
            hi[3 + i] = v_max(hi[3 + i], v_sel(on, inverse, hi[3 + i]));
        }
    }
    if (!(p->set = some)) return 0;
    b->tmin = v_least(tmin);
    b->mixed = 0;
    for (int i = 0; i < 3; i++) {
        float omin = v_least(lo[i]), omax = v_greatest(hi[i]);
        b->a[i] = v_least(lo[3 + i]);
        b->b[i] = v_greatest(hi[3 + i]);
        b->behind[i] = b->b[i] < 0;
        if (b->a[i] < 0 && b->b[i] > 0) {
            // The steepest on each side: the least inverse above 0, the greatest below.
            b->mixed |= 1 << i;
            vf up = v_set(1e20f), down = v_set(-1e20f);
            EACH(k, p->set) {
                const lanes *r = &p->r[k];
                vm on = v_ge(r->tmax, v_set(0)) & v_lt(r->tmin, v_set(FAR));
                vf inverse = r->inverse[i];
                up = v_min(up, v_sel(on & v_lt(v_set(0), inverse), inverse, up));
                down = v_max(down, v_sel(on & v_lt(inverse, v_set(0)), inverse, down));
            }
            b->a[i] = v_least(up);
            b->b[i] = v_greatest(down);
        }
        b->near_o[i] = b->behind[i] ? omin : omax;
        b->far_o[i] = b->behind[i] ? omax : omin;
    }
    p->reach = reach_of(p);
    return 1;
}

// enter_boxes returns which of a node's children the beam meets, and where at the earliest.
INLINE unsigned enter_boxes(const hd_node *n, const beam *b, float reach, float enter[8]) {
    f8 from = b->tmin - (f8){0}, to = reach - (f8){0};
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        const float *near = b->behind[i] ? n->hi[i] : n->lo[i], *far = b->behind[i] ? n->lo[i] : n->hi[i];
        f8 e = f8_load(near) - b->near_o[i], x = f8_load(far) - b->far_o[i];
        if (__builtin_expect(b->mixed >> i & 1, 0)) {
            // Rays go both ways: those that start outside enter by the side they start on.
            from = f8_max(from, f8_max(e * b->a[i], x * b->b[i]));
            continue;
        }
        from = f8_max(from, f8_min(e * b->a[i], e * b->b[i]));
        to = f8_min(to, f8_max(x * b->a[i], x * b->b[i]));
    }
    memcpy(enter, &from, sizeof from);
    // The factor covers the rounding of three slabs, as in the shader.
    return f8_le(from, to * 1.0000005f) & ((1u << n->count) - 1);
}

// refine computes a hit again from the vertices a, b and c relative to the ray, as refine of the
// shader. That keeps distances exact far from the frame's origin. n becomes the triangle's normal,
// of any length; normal of the hit stays.
INLINE void refine(const vf a[3], const vf b[3], const vf c[3], const vf o[3], const vf d[3], hit *h, vf n[3]) {
    vf e1[3], e2[3], to[3], p[3], pu[3], pv[3];
    for (int i = 0; i < 3; i++) e1[i] = b[i] - a[i], e2[i] = c[i] - a[i], to[i] = a[i] - o[i];
    cross(e1, e2, n);
    h->t = dot(n, to) / dot(n, d);
    for (int i = 0; i < 3; i++) p[i] = h->t * d[i] - to[i];
    vf scale = dot(n, n);
    cross(p, e2, pu);
    cross(e1, p, pv);
    h->u = v_min(v_max(dot(pu, n) / scale, v_set(0)), v_set(1.0f));
    h->v = v_min(v_max(dot(pv, n) / scale, v_set(0)), v_set(1.0f));
}

// holes are those of the lanes that meet a triangle where its material is cut out by its alpha, or
// blended and not there for them: stopped of the shader.
static __attribute__((noinline)) vm holes(const hd_scene *s, const lanes *r, vm met, surface of) {
    vf corner[3][3], n[3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) corner[k][i] = v_set(s->t.vertices[12 * (size_t)of.triangle + 4 * (size_t)k + (size_t)i]);
    hit h;
    refine(corner[0], corner[1], corner[2], r->o, r->d, &h, n);
    vu who[4] = {(vu)r->number, (vu)i_set(of.any), (vu)i_set(of.mover), (vu)i_set(of.triangle)};
    return met & cut_out(&s->t, h.u, h.v, who);
}

// entry is what waits to be searched: where the beam enters it, and the groups that do.
typedef struct {
    uint32_t ref;
    float t;
    unsigned set;
} entry;

// walk is the way through a hierarchy. planes are those of the triangles that leaves name.
typedef struct {
    const hd_node *nodes;
    const float *planes;
    int top;
    entry stack[STACK];
} walk;

INLINE void start(walk *w, const hd_scene *s, const hd_node *nodes, uint32_t root, unsigned set) {
    w->nodes = nodes, w->planes = s->t.planes;
    w->stack[0] = (entry){root, 0, set};
    w->top = root != 0;
}

// wins_tie tells which rays' hits so far are of a higher triangle number, or of the same triangle and a
// higher mover: movers of one mesh share its triangles. Where there is no hit, none is.
INLINE vm wins_tie(int triangle, int mover, const lanes *r) {
    return i_lt(i_set(triangle), r->triangle) | (i_eq(i_set(triangle), r->triangle) & i_lt(i_set(mover), r->mover));
}

// test_leaf updates the rays that meet a triangle of the leaf nearer than before; it is meet and
// stopped of the shader. Of triangles at equal range the one with the lower number is nearer. A surface
// that may be cut out is looked up when it is met: rays go on through its holes from that very point.
INLINE int test_leaf(packet *p, entry e, const hd_scene *s, int mover) {
    int first = (int)(e.ref & HD_TRIANGLE), end = first + (int)(e.ref >> 26 & 3) + 1, any = 0;
    for (int triangle = first; triangle < end; triangle++) {
        const float *rows = s->t.planes + 12 * (size_t)triangle;
        EACH(k, e.set) {
            lanes *r = &p->r[k];
            vf *o = r->o, *d = r->d;
            vf t = -(rows[0] * o[0] + rows[1] * o[1] + rows[2] * o[2] + rows[3]) / (rows[0] * d[0] + rows[1] * d[1] + rows[2] * d[2]);
            vm met = v_ge(t - r->tmin, v_set(0)) & v_le(t, r->tmax);
            if (!m_any(met)) continue;
            vf x = o[0] + t * d[0], y = o[1] + t * d[1], z = o[2] + t * d[2];
            vf a = rows[4] * x + rows[5] * y + rows[6] * z + rows[7];
            vf b = rows[8] * x + rows[9] * y + rows[10] * z + rows[11];
            // A ray in the plane has NaN or infinity here: both fail a comparison.
            met = met & v_ge(v_min(v_min(a, b), 1.0f - a - b), v_set(0)) & (v_lt(t, r->tmax) | wins_tie(triangle, mover, r));
            if (!m_any(met)) continue;
            if (__builtin_expect((e.ref & HD_CUT) != 0, 0)) met = met & m_not(holes(s, r, met, (surface){triangle, mover, p->any}));
            r->tmax = v_sel(met, t, r->tmax);
            r->triangle = i_sel(met, i_set(triangle), r->triangle);
            r->mover = i_sel(met, i_set(mover), r->mover);
            any |= m_any(met);
        }
    }
    return any;
}

// rays_enter returns the groups of a set of which a ray meets a child's box: enterBox of the shader.
// Many of the children that the beam meets are met by no ray of it where triangles are small.
INLINE unsigned rays_enter(const packet *p, unsigned set, const hd_node *n, int c) {
    const float *lo = &n->lo[0][c], *hi = &n->hi[0][c];
    unsigned met = 0;
    EACH(k, set) {
        const lanes *r = &p->r[k];
        vf from = r->tmin, to = r->tmax;
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) {
            vf x = (lo[8 * i] - r->o[i]) * r->inverse[i], y = (hi[8 * i] - r->o[i]) * r->inverse[i];
            from = v_max(from, v_min(x, y)), to = v_min(to, v_max(x, y));
        }
        met |= (unsigned)m_any(v_le(from, to * 1.0000005f)) << k / VECTORS;
    }
    return met;
}

// expand puts the children of a node that some ray meets on the stack, the nearest on top, and
// has the caches fetch them.
INLINE void expand(walk *w, entry from, const packet *p) {
    const hd_node *n = w->nodes + (from.ref & HD_NODE);
    float enter[8];
    int base = w->top;
    for (unsigned met = enter_boxes(n, &p->b, p->reach, enter); met; met &= met - 1) {
        int c = __builtin_ctz(met);
        entry e = {n->ref[c], enter[c], rays_enter(p, from.set, n, c)};
        if (!e.set) continue;
        const char *next = e.ref & HD_LEAF ? (const char *)(w->planes + 12 * (size_t)(e.ref & HD_TRIANGLE))
            : (const char *)(w->nodes + (e.ref & HD_NODE));
        for (int line = 0; line < 256; line += 64) __builtin_prefetch(next + line);
        int i = w->top++;
        for (; i > base && w->stack[i - 1].t < e.t; i--) w->stack[i] = w->stack[i - 1];
        w->stack[i] = e;
    }
}

// search finds the nearest triangles of a mover, or of the static world where mover is -1. With
// any, a ray ends at the first: its tmax becomes -1.
INLINE void search(packet *p, const hd_scene *s, int mover, int any) {
    walk w;
    start(&w, s, s->nodes, mover < 0 ? s->root : s->mover_root[mover], p->set);
    while (w.top > 0) {
        entry e = w.stack[--w.top];
        if (e.t > p->reach * 1.0000005f) continue;
        if (!(e.ref & HD_LEAF)) {
            expand(&w, e, p);
            continue;
        }
        if (!test_leaf(p, e, s, mover)) continue;
        if (any)
            EACH(k, e.set) {
                lanes *r = &p->r[k];
                r->tmax = v_sel(i_lt(r->triangle, i_set(0)), r->tmax, v_set(-1.0f));
            }
        p->reach = reach_of(p);
    }
}

// search_movers goes on with the movers whose boxes the beam meets, nearest first, each ray
// where the mover is at the ray's own time.
static __attribute__((noinline)) void search_movers(packet *p, const hd_scene *s, const rays *r, int any) {
    walk w;
    start(&w, s, s->top, s->top_root, p->set);
    while (w.top > 0) {
        entry e = w.stack[--w.top];
        if (e.t > p->reach * 1.0000005f) continue;
        if (!(e.ref & HD_LEAF)) {
            expand(&w, e, p);
            continue;
        }
        int mover = (int)(e.ref & HD_TRIANGLE), record = mover_record(s->motion, mover);
        const float *when = s->motion + 4 * (ptrdiff_t)record;
        packet q;
        q.set = e.set, q.any = p->any;
        EACH(k, e.set) {
            lanes *l = &q.r[k];
            into_mover(s->motion, record, moment_at(s->motion, r[k].seconds), p->r[k].o, p->r[k].d, l->o, l->d);
            vm there = v_ge(r[k].seconds, v_set(when[3])) & v_lt(r[k].seconds, v_set(when[7]));
            l->tmin = v_sel(there, p->r[k].tmin, v_set(FAR));
            l->tmax = p->r[k].tmax, l->triangle = p->r[k].triangle, l->mover = p->r[k].mover;
            l->number = p->r[k].number;
        }
        if (!set_out(&q)) continue;
        search(&q, s, mover, any);
        EACH(k, q.set) {
            lanes *to = &p->r[k], *l = &q.r[k];
            vm met = i_eq(l->mover, i_set(mover));
            to->triangle = i_sel(met, l->triangle, to->triangle);
            to->mover = i_sel(met, l->mover, to->mover);
            to->tmax = v_sel(met, l->tmax, to->tmax);
        }
        p->reach = reach_of(p);
    }
}

// trace finds the surface of each ray that ends it, any being one of the above: traceAny of the shader. It
// searches the static world and then the movers.
INLINE void trace(const hd_scene *s, const rays r[PACKETS], found out[PACKETS], int any) {
    packet p;
    for (int k = 0; k < PACKETS; k++) {
        lanes *l = &p.r[k];
        for (int i = 0; i < 3; i++) l->o[i] = r[k].o[i], l->d[i] = r[k].d[i];
        l->number = r[k].number;
        l->tmin = r[k].tmin, l->tmax = r[k].tmax;
        l->triangle = l->mover = i_set(-1);
    }
    p.set = (1u << RAYS / GROUP) - 1, p.any = any;
    if (set_out(&p)) {
        search(&p, s, -1, any == ANY);
        if (s->top_root) search_movers(&p, s, r, any == ANY);
    }
    for (int k = 0; k < PACKETS; k++) out[k] = (found){p.r[k].tmax, p.r[k].triangle, p.r[k].mover};
}

// hit_of computes hits again from the triangles' vertices, as hitAt of the shader. Where a ray hits
// nothing it is of triangle 0.
static __attribute__((noinline)) hit hit_of(const hd_scene *s, const rays *r, const found *f) {
    vi triangle = i_sel(i_lt(f->triangle, i_set(0)), i_set(0), f->triangle);
    vf o[3], d[3];
    for (int i = 0; i < 3; i++) o[i] = r->o[i], d[i] = r->d[i];
    vm moving = m_not(i_lt(f->mover, i_set(0)));
    moment m = moment_at(s->motion, r->seconds);
    // Movers differ from lane to lane: one after the other.
    for (unsigned left = m_bits(moving); left;) {
        int id = f->mover[__builtin_ctz(left)];
        vm of = i_eq(f->mover, i_set(id));
        vf a[3], b[3];
        into_mover(s->motion, mover_record(s->motion, id), m, r->o, r->d, a, b);
        for (int i = 0; i < 3; i++) o[i] = v_sel(of, a[i], o[i]), d[i] = v_sel(of, b[i], d[i]);
        left &= ~m_bits(of);
    }
    vf a[4], b[4], c[4], n[3];
    v_rows(s->t.vertices, triangle * 3, a);
    v_rows(s->t.vertices, triangle * 3 + 1, b);
    v_rows(s->t.vertices, triangle * 3 + 2, c);
    hit h;
    refine(a, b, c, o, d, &h, n);
    for (unsigned left = m_bits(moving); left;) {
        int id = f->mover[__builtin_ctz(left)];
        vm of = i_eq(f->mover, i_set(id));
        vf out[3];
        normal_from_mover(s->motion, mover_record(s->motion, id), m, n, out);
        for (int i = 0; i < 3; i++) n[i] = v_sel(of, out[i], n[i]);
        left &= ~m_bits(of);
    }
    vf length = 1.0f / v_sqrt(dot(n, n));
    for (int i = 0; i < 3; i++) n[i] = n[i] * length;
    vm away = v_lt(v_set(0), dot(n, r->d));
    for (int i = 0; i < 3; i++) h.normal[i] = v_sel(away, -n[i], n[i]);
    return h;
}

#endif
