// The steps of lidar.echoes for beams with a width, lib/beam.glsl, and its run. A block's firings are looked at one by
// one. The ones beside an edge are gathered, and their rays at the rim traced in full packets; then all sub-rays of the
// ones that need them. So packets have firings that point side by side, and their lanes are busy.
#ifndef BEAMS_H
#define BEAMS_H

#include "echoes.h"

enum { PASSES = 2, RIM = 4, NEIGHBOURS = 8, MOST_SUB_RAYS = 37, MOST_GLINTS = MOST_SUB_RAYS * (PASSES + 1) + GLIMPSES };
enum { CENTER_BYTES = 32, WIDE_CHUNK = 128 }; // firings whose sub-rays are traced together
enum { NEED_CENTER, NEED_RIM, NEED_ALL };
enum { OPEN_SIDE = -2 };

#define SMOOTH 0.25f
#define GLASS 1.5f
#define EDGE 0.02f
#define PASSED_BEHIND 1e-3f
#define NOT_FIRED -2.0f

// Which echoes are points: mode of the settings.
enum { MODE_STRONGEST, MODE_LAST, MODE_FIRST, MODE_DUAL, MODE_TRIPLE };
enum { RETURN_STRONGEST = 1, RETURN_LAST = 2, RETURN_FIRST = 4, RETURN_ONLY = 8, RETURN_SECOND = 16 };

// trace_blended is trace for beams.
static __attribute__((noinline)) void trace_blended(const hd_scene *s, const rays r[PACKETS], found out[PACKETS]) {
    trace(s, r, out, NEAREST_BLENDED);
}

// met is what rays hit, in full.
typedef struct {
    vm there;
    found at; // a triangle of the table
    hit h;
    vf cosine;
    vi label;
} met;

INLINE met met_of(const echoing *c, const rays *r, const found *f) {
    met m;
    m.there = i_below(f->triangle, i_set((int32_t)c->of.s.t.triangles));
    m.at = *f, m.at.triangle = i_sel(m.there, f->triangle, i_set(-1));
    m.h = hit_of(&c->of.s, r, &m.at);
    m.cosine = v_min(-dot(m.h.normal, r->d), v_set(1.0f));
    m.label = label_of(&c->of.s.t, i_sel(m.there, m.at.triangle, i_set(0)), m.at.mover);
    return m;
}

// center_block is step STEP_CENTERS.
static void center_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const echoing *c = data;
    uint32_t end = (block + 1) * ECHOES_BLOCK < c->count ? (block + 1) * ECHOES_BLOCK : c->count;
    for (uint32_t first = block * ECHOES_BLOCK; first < end; first += RAYS) {
        rays r[PACKETS];
        found hits[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            vi at = listed(i, c->count);
            shot f = shot_of(c, at, m_first(some(i, c->count)));
            aim(c, &f, at, f.direction, &r[k]);
        }
        trace_blended(&c->of.s, r, hits);
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            if (some(i, c->count) == 0) break;
            met m = met_of(c, &r[k], &hits[k]);
            vf none = v_sel(v_lt(v_set(0), r[k].tmax), v_set(-1.0f), v_set(NOT_FIRED)), point[4];
            for (int j = 0; j < 3; j++) point[j] = v_sel(m.there, r[k].o[j] + m.h.t * r[k].d[j], v_set(0));
            point[3] = v_sel(m.there, m.h.t, none);
            vi minus = i_set(-1);
            vf surface[4] = {as_f(i_sel(m.there, m.at.triangle, minus)), as_f(i_sel(m.there, m.at.mover, minus)),
                             as_f(i_sel(m.there, label_instance(m.label), i_set(0))), v_set(0)};
            const rows centers = {c->centers, CENTER_BYTES, listed(i, c->count), m_first(some(i, c->count))};
            v_write_rows(&centers, 0, point);
            v_write_rows(&centers, 16, surface);
        }
    }
}

// middle is the centres of beams and what they meet. point is where, and how far, as the table of centres has it.
typedef struct {
    shot f;
    rays r;
    met m;
    vf point[4];
    vi instance;
} middle;

// middle_of reads the centres of firings at places in the table.
INLINE middle middle_of(const echoing *c, vi at, vm on) {
    middle b;
    b.f = shot_of(c, at, on);
    aim(c, &b.f, at, b.f.direction, &b.r);
    vf surface[4];
    v_rows(c->centers, at * 2, b.point);
    v_rows(c->centers, at * 2 + 1, surface);
    vi mover = as_i(surface[1]);
    found f = {b.point[3], as_i(surface[0]), i_sel(i_below(mover, i_set((int32_t)c->of.s.t.mover_count)), mover, i_set(-1))};
    b.m = met_of(c, &b.r, &f);
    b.instance = as_i(surface[2]);
    return b;
}

// plane is what differs_from compares with: a point, its range and instance, a normal.
typedef struct {
    vf point[4], normal[3];
    vi instance;
} plane;

// differs_from is differs of the shader.
INLINE vm differs_from(const plane *p, const vf origin[3], const vf point[4], vi instance) {
    vf from[3], to[3], zero = v_set(0);
    for (int i = 0; i < 3; i++) from[i] = point[i] - p->point[i], to[i] = point[i] - origin[i];
    vm off = v_lt(EDGE * v_abs(dot(p->normal, to)), v_abs(dot(p->normal, from)));
    vm here = v_ge(p->point[3], zero), there = v_ge(point[3], zero);
    return (here & there & (off | m_not(i_eq(instance, p->instance)))) | (here & m_not(there)) | (there & m_not(here));
}

INLINE plane plane_of(const middle *b) {
    plane p;
    for (int i = 0; i < 4; i++) p.point[i] = b->point[i];
    for (int i = 0; i < 3; i++) p.normal[i] = b->m.h.normal[i];
    p.instance = b->instance;
    return p;
}

// edge_sides is edgeSides of the shader.
INLINE vi edge_sides(const echoing *c, vi at, const middle *b) {
    const plane p = plane_of(b);
    vi sides = i_set(0);
    for (int k = 0; k < NEIGHBOURS; k += 4) {
        vf four[4];
        v_rows(c->table, at * 2 + (int32_t)(2 * c->count) + k / 4, four);
        for (int j = 0; j < 4; j++) {
            vm there = i_below(as_i(four[j]), i_set((int32_t)c->count)), edge = i_eq(as_i(four[j]), i_set(OPEN_SIDE));
            if (m_any(there)) {
                vi other = i_sel(there, as_i(four[j]), i_set(0));
                vf point[4];
                v_rows(c->centers, other * 2, point);
                vi instance = i_gather(c->centers, other * (CENTER_BYTES / 4) + 6); // what is behind it may be being written
                there = there & m_not(v_le(point[3], v_set(NOT_FIRED)));
                edge = edge | (there & differs_from(&p, b->r.o, point, instance));
            }
            sides = sides | i_sel(edge, i_set(1 << (k + j) / 2 | 1 << ((k + j + 1) / 2 & (RIM - 1))), i_set(0));
        }
    }
    return sides;
}

// aim_beside makes the rays of firings at places in the table, in the directions of sub-rays, which are rows.
INLINE void aim_beside(const echoing *c, const shot *f, vi at, vi row, rays *r) {
    vf angle[4], up, along, sine, cosine, d[3];
    v_rows(c->table, row + (int32_t)c->set.first_sub_ray, angle);
    sin_cos(f->elevation, &up, &along);
    sin_cos(f->azimuth, &sine, &cosine);
    vf length = v_sqrt(1.0f + (angle[0] * angle[0] + angle[1] * angle[1]));
    d[0] = (along * cosine - angle[0] * sine - angle[1] * up * cosine) / length;
    d[1] = (along * sine + angle[0] * cosine - angle[1] * up * sine) / length;
    d[2] = (up + angle[1] * along) / length;
    aim(c, f, at, d, r);
}

// passed_share is passedShare of the shader: of the light, what a surface returns and what comes through it.
static __attribute__((noinline)) void passed_share(const echoing *c, const met *m, vf out[2]) {
    const hd_tables *t = &c->of.s.t;
    out[0] = v_set(1.0f), out[1] = v_set(0);
    vi triangle = i_sel(m->there, m->at.triangle, i_set(0));
    vi row = i_gather(t->attributes + 3, triangle * 12) * 16;
    vm blended = m->there & v_lt(v_gather(t->materials + 7, row), v_set(0));
    if (!m_any(blended)) return;
    vf alpha = v_set(1.0f);
    for (unsigned left = m_bits(blended); left;) { // triangles differ from lane to lane: one after the other
        int id = triangle[__builtin_ctz(left)];
        vm of = i_eq(triangle, i_set(id));
        alpha = v_sel(of, clamped(alpha_of(t, (uint32_t)id, m->h.u, m->h.v)), alpha);
        left &= ~m_bits(of);
    }
    vf cosine = m->cosine, inside = v_sqrt(1.0f - (1.0f - cosine * cosine) / (GLASS * GLASS));
    vf s = (cosine - GLASS * inside) / (cosine + GLASS * inside), p = (GLASS * cosine - inside) / (GLASS * cosine + inside);
    vf face = 0.5f * (s * s + p * p), pane = (1.0f - face) / (1.0f + face);
    vf through = v_sel(v_le(v_gather(t->materials + 9, row), v_set(SMOOTH)), pane * pane, v_set(1.0f));
    out[0] = v_sel(blended, alpha, out[0]), out[1] = v_sel(blended, (1.0f - alpha) * through, out[1]);
}

// heard is an echo that was detected, and which of all that were: Seen of the shader.
typedef struct {
    vf s, range, intensity, cosine;
    vi label, number;
} heard;

// chosen are the echoes that may be points: Chosen of the shader.
typedef struct {
    vi count;
    heard strongest, second, first, last;
} chosen;

INLINE void heard_sel(vm m, const heard *from, heard *to) {
    to->s = v_sel(m, from->s, to->s), to->range = v_sel(m, from->range, to->range);
    to->intensity = v_sel(m, from->intensity, to->intensity), to->cosine = v_sel(m, from->cosine, to->cosine);
    to->label = i_sel(m, from->label, to->label), to->number = i_sel(m, from->number, to->number);
}

// choose takes an echo that was seen, in lanes, into account.
INLINE void choose(chosen *c, vm there, heard e) {
    e.number = c->count;
    vm strongest = there & v_lt(c->strongest.s, e.s), second = there & m_not(strongest) & v_lt(c->second.s, e.s);
    heard_sel(strongest, &c->strongest, &c->second);
    heard_sel(strongest, &e, &c->strongest);
    heard_sel(second, &e, &c->second);
    heard_sel(there & i_eq(c->count, i_set(0)), &e, &c->first);
    heard_sel(there, &e, &c->last);
    c->count = i_sel(there, c->count + 1, c->count);
}

// roles_of is rolesOf of the shader, in lanes that have an echo.
INLINE vi roles_of(const chosen *c, vi number) {
    vi zero = i_set(0), one = i_set(1);
    vm only = i_eq(c->count, one);
    vi roles = i_sel(i_eq(number, c->strongest.number), i_set(RETURN_STRONGEST), zero) | i_sel(i_eq(number, c->last.number), i_set(RETURN_LAST), zero);
    roles = roles | i_sel(i_eq(number, zero), i_set(RETURN_FIRST), zero) | i_sel(only, i_set(RETURN_ONLY), zero);
    return roles | i_sel(m_not(only) & i_eq(number, c->second.number), i_set(RETURN_SECOND), zero);
}

// write_return is writeReturn of the shader.
INLINE void write_return(const echoing *c, const middle *b, uint32_t k, const heard *e, vi returns, vm near) {
    vm there = m_not(i_eq(returns, i_set(0)));
    point p = {there, near, e->range, e->intensity, v_sel(there, e->cosine, v_set(0)), returns, i_sel(there, e->label, i_set(0))};
    write_point(c, &b->f, &b->r, &p, b->f.number * (int32_t)c->each + (int32_t)k);
}

// write_returns is writeReturns of the shader, alarms included.
INLINE void write_returns(const echoing *c, const middle *b, chosen *of, vm near) {
    vi zero = i_set(0);
    vm none = i_eq(of->count, zero);
    echo alarm = {m_not(none), m_not(none), v_set(0), v_set(0)};
    with_alarms(c, &b->f, &b->r, &alarm);
    vm noise = none & alarm.seen;
    if (m_any(noise)) {
        heard e = {v_set(0), alarm.range, coded(c->set.code, alarm.intensity), v_set(0), zero, zero};
        heard_sel(noise, &e, &of->strongest);
        heard_sel(noise, &e, &of->first);
        heard_sel(noise, &e, &of->last);
        of->count = i_sel(noise, i_set(1), of->count);
    }
    vm any = m_not(i_eq(of->count, zero));
    switch (c->set.mode) {
    case MODE_STRONGEST: write_return(c, b, 0, &of->strongest, i_sel(any, i_set(RETURN_STRONGEST), zero), near); return;
    case MODE_LAST: write_return(c, b, 0, &of->last, i_sel(any, i_set(RETURN_LAST), zero), near); return;
    case MODE_FIRST: write_return(c, b, 0, &of->first, i_sel(any, i_set(RETURN_FIRST), zero), near); return;
    }
    int triple = c->set.mode == MODE_TRIPLE;
    vm two = any & m_not(i_eq(of->count, i_set(1))), same = i_eq(of->last.number, of->strongest.number);
    vi strongest = i_sel(any, roles_of(of, of->strongest.number), zero), last = roles_of(of, of->last.number), first = roles_of(of, zero);
    vm ends = m_not(i_eq(of->strongest.number, zero)); // the first echo is another one than the strongest
    heard other = triple ? of->first : of->second, third = of->first;
    vi others = triple ? first : roles_of(of, of->second.number), thirds = i_sel(two & ends & m_not(same), first, zero);
    heard_sel(m_not(same), &of->last, &other);
    others = i_sel(two & (m_not(same) | (triple ? ends : m_all())), i_sel(same, others, last), zero);
    write_return(c, b, 0, &of->strongest, strongest, near);
    write_return(c, b, 1, &other, others, near);
    if (triple) write_return(c, b, 2, &third, thirds, near);
}

// near_of tells in which lanes something nearer than the shortest range is in the way of the centre.
INLINE vm near_of(const middle *b) { return b->m.there & v_lt(b->point[3], b->f.nearest); }

static const chosen NO_ECHO;

// hear takes echoes of beams into account, by their numbers, where they are there. Noise doesn't hide those that are sure.
INLINE void hear(const echoing *c, const middle *b, vi number, vm there, heard e, vm sure, chosen *of) {
    echo of_all = received(c, &b->f, number, there, e.s, e.range, sure);
    e.range = of_all.range, e.intensity = coded(c->set.code, of_all.intensity);
    choose(of, of_all.seen, e);
}

// glint is the light that a sub-ray brings back from a surface, and then an echo of several. The cosine is OF_SLOT for one of the
// weather alone.
typedef struct {
    float range, energy, cosine;
    int32_t label;
} glint;

#define OF_SLOT(slot) (-1.0f - (float)(slot))
#define SOLID -0.5f

// one_plane is onePlane of the shader: the labels' low halves are instances.
INLINE int one_plane(const echoes_settings *set, const glint *a, const glint *b) {
    float height = a->range * a->cosine, step = (b->range - a->range) * a->cosine, off = b->range * b->cosine - height;
    if (!(a->cosine > 0 && b->cosine > 0) || ((a->label ^ b->label) & 0xffff)) return 0;
    return (off < 0 ? -off : off) <= EDGE * height && step * step <= set->width * (1.0f - a->cosine * a->cosine) * b->range * b->range;
}

// gathered makes one glint of all.
INLINE glint gathered(const glint *list, uint32_t count) {
    float s = 0, moment = 0;
    glint most = {0, 0, 0, 0};
    int solid = 0; // one of them is of a surface
    for (uint32_t i = 0; i < count; i++) {
        s += list[i].energy, moment += list[i].energy * list[i].range;
        if (list[i].energy > most.energy) most = list[i];
        solid |= list[i].cosine > SOLID;
    }
    return (glint){moment / s, s, solid && most.cosine < SOLID ? 0 : most.cosine, most.label};
}

// join makes one glint of those of surfaces, the first of a list, if they are one echo without the others. It returns how many are left.
INLINE uint32_t join(glint *list, uint32_t surfaces, uint32_t count, float merging) {
    float low = INFINITY, high = 0;
    for (uint32_t i = 0; i < surfaces; i++) low = list[i].range < low ? list[i].range : low, high = list[i].range > high ? list[i].range : high;
    if (surfaces < 2 || high - low > merging) return count;
    for (uint32_t i = surfaces; i < count; i++)
        if (list[i].range >= low - merging && list[i].range <= high + merging) return count;
    list[0] = gathered(list, surfaces);
    for (uint32_t i = surfaces; i < count; i++) list[1 + i - surfaces] = list[i];
    return count - surfaces + 1;
}

// by_range sorts glints.
INLINE void by_range(glint *list, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        glint p = list[i];
        uint32_t at = i;
        for (; at > 0 && list[at - 1].range > p.range; at--) list[at] = list[at - 1];
        list[at] = p;
    }
}

// merge makes the echoes of a firing of its glints, in their place, and returns how many: choose of the shader. The first are of surfaces. An
// echo's energy is s.
INLINE uint32_t merge(const echoing *c, glint *list, uint32_t surfaces, uint32_t count) {
    uint32_t echoes = 0, first = 0;
    count = join(list, surfaces, count, c->set.merging);
    by_range(list, count);
    for (uint32_t i = 0; i < count; i++) {
        const glint *p = &list[i];
        if (i + 1 < count && (p[1].range - p->range <= c->set.merging || one_plane(&c->set, p, p + 1))) continue;
        list[echoes++] = gathered(list + first, i + 1 - first); // of one, too: write_misty has it so, and who takes which way depends on the lanes
        first = i + 1;
    }
    return echoes;
}

// hear_all takes the echoes of firings into account, of which each has as many as count in a row of lists.
INLINE void hear_all(const echoing *c, const middle *b, const void *lists, vi row, vi count, chosen *of) {
    vi solid = i_set(0);
    vm there = i_lt(i_set(0), count);
    for (int32_t k = 0; m_any(there); there = i_lt(i_set(++k), count)) {
        vf p[4], one = v_set(1.0f), zero = v_set(0);
        v_rows(lists, row + k, p);
        vm mist = there & v_lt(p[2], v_set(SOLID));
        vi slot = v_trunc(-1.0f - v_sel(mist, p[2], zero));
        heard e = {v_sel(there, p[1], zero), v_sel(there, p[0], one), zero, v_sel(mist, zero, p[2]), as_i(p[3]), i_set(0)};
        hear(c, b, i_sel(mist, slot + MIST_ECHO, solid), there, e, mist & i_lt(i_set(FOG_SLOT), slot), of);
        solid = i_sel(there & m_not(mist), solid + 1, solid);
    }
}

// add_veil puts what a lane sees of the weather behind count of its glints, and returns how many they are then.
INLINE uint32_t add_veil(const veil *v, int lane, glint *list, uint32_t count) {
    for (unsigned left = v->slots; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        if (m_bits(v->there[k]) >> lane & 1) list[count++] = (glint){v->range[k][lane], v->s[k][lane], OF_SLOT(k), 0};
    }
    return count;
}

// center_echo is that of what a beam's centre meets, of strength s.
INLINE heard center_echo(const middle *b, vm there, vf s) {
    vf one = v_set(1.0f);
    return (heard){s, v_sel(there, b->point[3], one), one, b->m.cosine, b->m.label, i_set(0)};
}

// group is glints that are near one another, one after the other by range, of each lane: those of the weather, and then a surface.
typedef struct {
    vf s, moment, last; // last is the range of the latest
    heard most;         // that of the most energy, its number that of the echo
    vm sure;            // it is of drops or flakes alone
} group;

// leave_group takes the echo of groups into account, and begins others. With MODE_STRONGEST, echoes that are weaker than another one
// are left out.
INLINE void leave_group(const echoing *c, const middle *b, vm there, group *g, chosen *of) {
    vm heard_of = there & v_lt(v_set(0), g->s);
    if (c->set.mode == MODE_STRONGEST) heard_of = heard_of & v_lt(of->strongest.s, g->s);
    if (m_any(heard_of)) {
        heard e = g->most;
        e.s = g->s, e.range = v_sel(heard_of, g->moment / g->s, v_set(1.0f));
        hear(c, b, g->most.number, heard_of, e, g->sure, of);
    }
    vf zero = v_set(0);
    g->s = v_sel(there, zero, g->s), g->moment = v_sel(there, zero, g->moment), g->most.s = v_sel(there, zero, g->most.s);
}

// join_group adds a glint to groups, or leaves these where it is far from their latest.
INLINE void join_group(const echoing *c, const middle *b, vm there, const heard *e, group *g, chosen *of) {
    leave_group(c, b, there & v_lt(v_set(c->set.merging), e->range - g->last), g, of);
    g->s = v_sel(there, g->s + e->s, g->s), g->moment = v_sel(there, g->moment + e->s * e->range, g->moment);
    g->last = v_sel(there, e->range, g->last);
    heard_sel(there & v_lt(g->most.s, e->s), e, &g->most);
}

// in_order tells whether all that firings see of the weather is in the order of slots, and nearer than a surface where one is.
INLINE int in_order(const veil *v, vm solid, vf range) {
    unsigned drops = (1u << FLAKE_SLOT) - (1u << DROP_SLOT), flakes = ~((1u << FLAKE_SLOT) - 1), fog = 1u << FOG_SLOT;
    if (((v->slots & drops) != 0) + ((v->slots & flakes) != 0) + ((v->slots & fog) != 0) > 1) return 0;
    return !(v->slots & fog) || !m_any(v->there[FOG_SLOT] & solid & v_lt(range, v->range[FOG_SLOT]));
}

// write_misty is write_single in weather that makes echoes. It returns 0 where these aren't in order, and writes nothing then.
static __attribute__((noinline)) int write_misty(const echoing *c, const middle *b) {
    vm near = near_of(b), there = b->m.there & m_not(near), none = m_not(m_all());
    veil v;
    look_through(c, &b->f, &b->r, v_sel(b->m.there, b->point[3], v_set(BEYOND)), &v);
    vf s = v.left * signal_of(c, there, &b->m.at, &b->m.h, b->m.cosine, b->m.label), zero = v_set(0);
    there = there & v_lt(zero, s);
    if (!in_order(&v, there, b->point[3])) return 0;
    chosen of = NO_ECHO;
    group g = {zero, zero, zero, NO_ECHO.last, m_all()};
    for (unsigned left = v.slots; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        heard e = {v.s[k], v.range[k], zero, zero, i_set(0), i_set(MIST_ECHO + k)};
        join_group(c, b, v.there[k], &e, &g, &of);
    }
    if (v.slots >> FOG_SLOT & 1) g.sure = none;
    heard e = center_echo(b, there, s);
    leave_group(c, b, m_not(there) | v_lt(v_set(c->set.merging), e.range - g.last), &g, &of);
    join_group(c, b, there, &e, &g, &of);
    g.sure = none, g.most.number = i_set(0);
    leave_group(c, b, there, &g, &of);
    write_returns(c, b, &of, near);
    return 1;
}

// write_merged writes the beams that write_misty left out.
static __attribute__((noinline)) void write_merged(const echoing *c, const middle *b) {
    vm near = near_of(b), there = b->m.there & m_not(near);
    veil v;
    look_through(c, &b->f, &b->r, v_sel(b->m.there, b->point[3], v_set(BEYOND)), &v);
    vf s = v.left * signal_of(c, there, &b->m.at, &b->m.h, b->m.cosine, b->m.label);
    chosen of = NO_ECHO;
    unsigned solid = m_bits(there & v_lt(v_set(0), s));
    glint list[LANES][GLIMPSES + 1];
    vi count = i_set(0);
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t n = 0;
        if (solid >> lane & 1) list[lane][n++] = (glint){b->point[3][lane], s[lane], b->m.cosine[lane], b->m.label[lane]};
        count[lane] = (int32_t)merge(c, list[lane], n, add_veil(&v, lane, list[lane], n));
    }
    hear_all(c, b, list, i_ramp() * (GLIMPSES + 1), count, &of);
    write_returns(c, b, &of, near);
}

// write_single writes what beams measure that meet one surface alone: that of their centres.
static __attribute__((noinline)) void write_single(const echoing *c, const middle *b) {
    vm near = near_of(b), there = b->m.there & m_not(near);
    vf s = signal_of(c, there, &b->m.at, &b->m.h, b->m.cosine, b->m.label);
    chosen of = NO_ECHO;
    there = there & v_lt(v_set(0), s);
    hear(c, b, i_set(0), there, center_echo(b, there, s), m_not(m_all()), &of);
    write_returns(c, b, &of, near);
}

// beams is what a block works in: firings by what they need, and the glints of some.
typedef struct {
    uint32_t single[ECHOES_BLOCK], rim[ECHOES_BLOCK], wide[ECHOES_BLOCK], merged[ECHOES_BLOCK];
    uint32_t singles, rims, wides, mergeds;
    float normal[ECHOES_BLOCK][4];      // of what the centres of rim meet
    uint8_t edge[ECHOES_BLOCK];         // of rim
    uint32_t ray[ECHOES_BLOCK * RIM], rays; // at the rim: RIM times the place in rim, and which
    uint32_t surfaces[WIDE_CHUNK], count[WIDE_CHUNK];
    glint glints[WIDE_CHUNK][MOST_GLINTS];
} beams;

// taken reads the firings of a list from one on; where it ends, the last.
INLINE vi taken(const uint32_t *list, uint32_t i, uint32_t n) { return i_gather(list, listed(i, n)); }

// need says in the table of centres which rays a firing needs.
INLINE void need(const echoing *c, uint32_t firing, int32_t rays) { memcpy(c->centers + CENTER_BYTES * (size_t)firing + 28, &rays, 4); }

// write_centers writes firings at places in the table that need their centres alone, or puts them among those whose echoes merge.
INLINE void write_centers(const echoing *c, beams *w, vi at, const middle *b) {
    if (!c->set.mist.on) {
        write_single(c, b);
        return;
    }
    if (write_misty(c, b)) return;
    for (unsigned left = m_bits(b->f.on); left; left &= left - 1) w->merged[w->mergeds++] = (uint32_t)at[__builtin_ctz(left)];
}

// sort_out finds out which firings of a block need what, and writes those that need their centres alone.
INLINE void sort_out(const echoing *c, beams *w, uint32_t first, uint32_t end) {
    w->rims = w->wides = w->singles = w->mergeds = w->rays = 0;
    for (uint32_t i = first; i < end; i += LANES) {
        vi at = listed(i, c->count);
        vm on = m_first(some(i, end));
        middle b = middle_of(c, at, on);
        vm fired = on & v_lt(v_set(0), b.r.tmax), wide = fired, edge = m_not(m_all());
        vi sides = i_set(0);
        if (!c->set.full) {
            vf share[2];
            passed_share(c, &b.m, share);
            wide = fired & b.m.there & v_lt(v_set(0), share[1]);
            sides = edge_sides(c, at, &b);
            edge = fired & m_not(wide | i_eq(sides, i_set(0)));
        }
        b.f.on = on & m_not(wide | edge);
        if (m_any(b.f.on)) write_centers(c, w, at, &b);
        for (unsigned left = m_bits(wide); left; left &= left - 1) w->wide[w->wides++] = i + (uint32_t)__builtin_ctz(left);
        for (unsigned left = m_bits(edge); left; left &= left - 1) {
            int k = __builtin_ctz(left);
            for (int j = 0; j < 3; j++) w->normal[w->rims][j] = b.m.h.normal[j][k];
            for (uint32_t side = 0; side < RIM; side++)
                if (sides[k] >> side & 1) w->ray[w->rays++] = RIM * w->rims + side;
            w->rim[w->rims++] = i + (uint32_t)k;
        }
    }
}

// trace_rims traces the rays at the rim of the firings beside an edge, those on the edge's sides. If one of a firing meets something
// else, the firing needs all its rays.
INLINE void trace_rims(const echoing *c, beams *w) {
    uint32_t n = w->rays;
    memset(w->edge, 0, w->rims);
    for (uint32_t first = 0; first < n; first += RAYS) {
        rays r[PACKETS];
        found hits[PACKETS];
        vi at[PACKETS], rim[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            vi ray = taken(w->ray, i, n);
            rim[k] = ray / RIM, at[k] = i_gather(w->rim, rim[k]);
            shot f = shot_of(c, at[k], m_first(some(i, n)));
            aim_beside(c, &f, at[k], (ray & (RIM - 1)) + (int32_t)c->set.sub_rays, &r[k]);
        }
        trace_blended(&c->of.s, r, hits);
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            if (some(i, n) == 0) break;
            met m = met_of(c, &r[k], &hits[k]);
            plane p;
            vf surface[4], normal[4], point[4];
            v_rows(c->centers, at[k] * 2, p.point);
            v_rows(c->centers, at[k] * 2 + 1, surface);
            v_rows(w->normal, rim[k], normal);
            for (int j = 0; j < 3; j++) p.normal[j] = normal[j], point[j] = r[k].o[j] + m.h.t * r[k].d[j];
            point[3] = v_sel(m.there, m.h.t, v_set(-1.0f)), p.instance = as_i(surface[2]);
            vm other = m_first(some(i, n)) & differs_from(&p, r[k].o, point, label_instance(m.label));
            for (unsigned left = m_bits(other); left; left &= left - 1) w->edge[rim[k][__builtin_ctz(left)]] = 1;
        }
    }
    for (uint32_t i = 0; i < w->rims; i++) {
        need(c, w->rim[i], w->edge[i] ? NEED_ALL : NEED_RIM);
        if (w->edge[i]) w->wide[w->wides++] = w->rim[i];
        else w->single[w->singles++] = w->rim[i];
    }
}

// add_glint puts a glint among those of a firing.
INLINE void add_glint(beams *w, int32_t firing, glint p) { w->glints[firing][w->count[firing]++] = p; }

// add_centers puts what the centres of n firings of the wide ones meet, from first on, among their glints.
INLINE void add_centers(const echoing *c, beams *w, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i += LANES) {
        middle b = middle_of(c, taken(w->wide + first, i, n), m_first(some(i, n)));
        vm there = b.f.on & b.m.there & m_not(near_of(&b));
        vf s = v_set(1.0f / (float)c->set.sub_rays) * signal_of(c, there, &b.m.at, &b.m.h, b.m.cosine, b.m.label);
        for (unsigned bits = m_bits(there & v_lt(v_set(0), s)); bits; bits &= bits - 1) {
            int lane = __builtin_ctz(bits);
            add_glint(w, (int32_t)i + lane, (glint){b.point[3][lane], s[lane], b.m.cosine[lane], b.m.label[lane]});
        }
    }
}

// trace_wide traces the sub-rays of n firings of the wide ones from first on, through what lets light pass. The first skipped of each are
// left out.
INLINE void trace_wide(const echoing *c, beams *w, uint32_t first, uint32_t firings, uint32_t skipped) {
    uint32_t subs = c->set.sub_rays - skipped, n = subs * firings;
    for (uint32_t j = 0; j < n; j += RAYS) {
        rays r[PACKETS];
        found hits[PACKETS];
        vf left[PACKETS], nearest[PACKETS], reach[PACKETS];
        vi firing[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = j + (uint32_t)(k * LANES);
            vi ray = listed(i, n);
            firing[k] = v_trunc((i_float(ray) + 0.5f) / (float)subs); // no CPU divides vectors of whole numbers
            vi at = i_gather(w->wide + first, firing[k]);
            shot f = shot_of(c, at, m_first(some(i, n)));
            aim_beside(c, &f, at, ray - firing[k] * (int32_t)subs + (int32_t)skipped, &r[k]);
            left[k] = v_set(1.0f / (float)c->set.sub_rays), nearest[k] = f.nearest, reach[k] = r[k].tmax;
        }
        int more = 1;
        for (int pass = 0; more; pass++) {
            more = 0;
            trace_blended(&c->of.s, r, hits);
            for (int k = 0; k < PACKETS; k++) {
                uint32_t i = j + (uint32_t)(k * LANES);
                vm on = v_lt(v_set(0), r[k].tmax) & m_first(some(i, n));
                if (!m_any(on)) continue;
                met m = met_of(c, &r[k], &hits[k]);
                m.there = m.there & on;
                vf share[2];
                passed_share(c, &m, share);
                vf s = left[k] * share[0] * signal_of(c, m.there, &m.at, &m.h, m.cosine, m.label);
                vm lit = m.there & m_not(v_lt(m.h.t, nearest[k])) & v_lt(v_set(0), s);
                for (unsigned bits = m_bits(lit); bits; bits &= bits - 1) {
                    int lane = __builtin_ctz(bits);
                    add_glint(w, firing[k][lane], (glint){m.h.t[lane], s[lane], m.cosine[lane], m.label[lane]});
                }
                vm through = m.there & v_lt(v_set(0), share[1]);
                r[k].tmax = v_sel(through, reach[k], v_set(-1.0f)), r[k].tmin = m.h.t + PASSED_BEHIND;
                left[k] = left[k] * share[1];
                more |= pass < PASSES && m_any(through);
            }
        }
    }
}

// add_mist puts what n of the wide firings from first on see of the weather among their glints, and dims these by what flakes hide.
INLINE void add_mist(const echoing *c, beams *w, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i += LANES) {
        middle b = middle_of(c, taken(w->wide + first, i, n), m_first(some(i, n)));
        veil v;
        look_through(c, &b.f, &b.r, v_sel(b.m.there, b.point[3], v_set(BEYOND)), &v);
        for (uint32_t k = i; k < i + LANES && k < n; k++) {
            for (uint32_t j = 0; j < w->count[k]; j++) w->glints[k][j].energy *= v.left[k - i];
            w->count[k] = add_veil(&v, (int)(k - i), w->glints[k], w->count[k]);
        }
    }
}

// write_wide traces and writes a chunk of the wide firings from first to end, whose centre is known or not.
static __attribute__((noinline)) void write_wide(const echoing *c, beams *w, uint32_t first, uint32_t end, int known) {
    uint32_t n = end - first < WIDE_CHUNK ? end - first : WIDE_CHUNK;
    memset(w->count, 0, sizeof w->count);
    if (known) add_centers(c, w, first, n);
    trace_wide(c, w, first, n, known != 0);
    memcpy(w->surfaces, w->count, sizeof w->count);
    if (c->set.mist.on) add_mist(c, w, first, n);
    for (uint32_t i = 0; i < n; i++) w->count[i] = merge(c, w->glints[i], w->surfaces[i], w->count[i]);
    for (uint32_t i = 0; i < n; i += LANES) {
        middle b = middle_of(c, taken(w->wide + first, i, n), m_first(some(i, n)));
        vi firing = listed(i, n), count = i_gather(w->count, firing);
        chosen of = NO_ECHO;
        hear_all(c, &b, w->glints, firing * MOST_GLINTS, count, &of);
        write_returns(c, &b, &of, near_of(&b));
    }
}

// beams_block is step STEP_BEAMS.
static void beams_block(void *data, hd_worker *worker, uint32_t block) {
    const echoing *c = data;
    beams *w = hd_scratch(worker, sizeof *w);
    uint32_t first = block * ECHOES_BLOCK, end = first + ECHOES_BLOCK < c->count ? first + ECHOES_BLOCK : c->count;
    if (!w) return;
    sort_out(c, w, first, end);
    uint32_t passed = w->wides;
    for (uint32_t i = 0; i < passed; i++) need(c, w->wide[i], NEED_ALL);
    trace_rims(c, w);
    for (uint32_t i = 0; i < w->singles; i += LANES) {
        vi at = taken(w->single, i, w->singles);
        middle b = middle_of(c, at, m_first(some(i, w->singles)));
        write_centers(c, w, at, &b);
    }
    for (uint32_t i = 0; i < w->mergeds; i += LANES) {
        middle b = middle_of(c, taken(w->merged, i, w->mergeds), m_first(some(i, w->mergeds)));
        write_merged(c, &b);
    }
    // The centres of beams with an edge at their rim are known, and stop light.
    for (uint32_t i = 0; i < passed; i += WIDE_CHUNK) write_wide(c, w, i, passed, 0);
    for (uint32_t i = passed; i < w->wides; i += WIDE_CHUNK) write_wide(c, w, i, w->wides, 1);
}

// echoes_numbers reports whether each of the firings writes points that there are.
static int echoes_numbers(const echoing *c, uint64_t points) {
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t number;
        memcpy(&number, c->table + 8 * (size_t)i + 6, sizeof number);
        if (number >= points / c->each) return 0;
    }
    return 1;
}

// echoes_beams checks what beams need besides; 0 after hd_fail.
static int echoes_beams(hd_work *w, echoing *c, uint32_t texels) {
    const echoes_settings *set = &c->set;
    c->centers = (char *)w->storage[1].bytes;
    if (!c->centers || w->storage[1].size / CENTER_BYTES < c->count)
        return hd_fail(w, "%u centres are more than the %zu bytes hold", c->count, w->storage[1].size);
    if (set->sub_rays < 1 || set->sub_rays > MOST_SUB_RAYS || set->mode > MODE_TRIPLE)
        return hd_fail(w, "a beam of %u sub-rays, mode %u: want 1 to %d, mode 0 to %d", set->sub_rays, set->mode, MOST_SUB_RAYS, MODE_TRIPLE);
    uint64_t end = (uint64_t)set->first_sub_ray + set->sub_rays + RIM;
    if (end > texels || 4 * (uint64_t)c->count > texels || !c->radiometry)
        return hd_fail(w, "beams and their neighbours end behind the table of %u texels, or lack radiometry", texels);
    return 1;
}

static int lidar_echoes(hd_pool *pool, hd_work *w) {
    echoing c = {.each = 1};
    uint32_t texels = 0;
    const echoes_settings *set = hd_block(w, 0, sizeof *set);
    if (!set || !hd_scene_of(w, &c.of.s) || !(c.table = hd_table(w, HD_SLOT_SENSOR, 16, &texels))) return 0;
    const int32_t *constants = w->program->constants;
    int32_t step = constants[ECHOES_STEP];
    c.set = *set, c.of.set = set->light, c.count = set->light.lasers; // shape's first word
    if (step != STEP_RAYS && set->mode >= MODE_DUAL) c.each = set->mode - 1;
    uint64_t points = w->storage[0].size / POINT_BYTES;
    points = points < INT32_MAX ? points : INT32_MAX;
    if (2 * (uint64_t)c.count > texels || c.count > points || !echoes_numbers(&c, points))
        return hd_fail(w, "%u firings are more than the table of %u texels and the %zu bytes of points hold", c.count, texels,
                       w->storage[0].size);
    if (c.count == 0) return 1;
    c.of.points = w->storage[0].bytes;
    c.of.scale = constants[LIDAR_SCALE], c.of.random = constants[LIDAR_RANDOM];
    c.of.rolling = constants[LIDAR_ROLLING], c.of.compensated = constants[LIDAR_COMPENSATED];
    c.radiometry = constants[ECHOES_RADIOMETRY];
    c.last = (int32_t)texels - 1;
    if (c.radiometry && (uint64_t)set->first + CLASSES + (set->named ? 1 : 0) > texels)
        return hd_fail(w, "the surfaces of classes end behind the table of %u texels", texels);
    if (set->mist.on && (uint64_t)set->mist.first + PLACES > texels)
        return hd_fail(w, "the places of the weather end behind the table of %u texels", texels);
    for (int i = 0; i < 4 * PLACES && set->mist.on; i++) c.places[i % 4][i / 4] = c.table[4 * (size_t)set->mist.first + (size_t)i];
    if (step != STEP_RAYS && !echoes_beams(w, &c, texels)) return 0;
    void (*const blocks[])(void *, hd_worker *, uint32_t) = {echoes_block, center_block, beams_block};
    hd_parallel(pool, blocks[step], &c, (c.count + ECHOES_BLOCK - 1) / ECHOES_BLOCK);
    return 1;
}

#endif
