// Echoes of fog, drops and flakes for a lidar with a threshold, and the surfaces that flakes hide: lib/mist.glsl. echoes.h includes it.
#ifndef MIST_H
#define MIST_H

enum { PARTICLES = 4, MIST_ECHO = 64, FOG_SLOT = 0, DROP_SLOT = 1, FLAKE_SLOT = DROP_SLOT + PARTICLES };
enum { GLIMPSES = FLAKE_SLOT + PARTICLES };
enum { MIST_CHANCE = 0x7f4a7c15u };
#define BEYOND 1e9f

// veil is what firings see of the weather: the light that comes back by slots, and the share that flakes leave to what is behind. Slots
// without a bit in slots are those of no lane, and hold nothing.
typedef struct {
    unsigned slots;
    vm there[GLIMPSES];
    vf s[GLIMPSES], range[GLIMPSES], left;
} veil;

INLINE void glimpse(const shot *f, veil *v, int slot, vm there, vf s, vf range) {
    there = there & v_ge(range, f->nearest) & v_lt(range, f->farthest);
    if (!m_any(there)) return;
    v->slots |= 1u << slot;
    v->there[slot] = there, v->s[slot] = s, v->range[slot] = range;
}

// look_at_fog adds fog's echo before targets.
INLINE void look_at_fog(const echoing *c, const shot *f, vm fired, vf target, veil *v) {
    const mist_settings *m = &c->set.mist;
    vf s = v_set(m->fog), range = v_set(m->fog_at);
    vm near = fired & v_lt(target, v_set(m->single));
    if (m_any(near)) {
        vf share = v_sqrt(clamped((target - m->near) / m->span)) * (float)(PLACES - 1);
        vi i = i_least(v_trunc(share), i_set(PLACES - 2));
        vf before[2] = {v_of_64(c->places[2], i), v_of_64(c->places[3], i)};
        share = share - i_float(i);
        s = v_sel(near, before[0] + (v_of_64(c->places[2], i + 1) - before[0]) * share, s);
        range = v_sel(near, before[1] + (v_of_64(c->places[3], i + 1) - before[1]) * share, range);
    }
    glimpse(f, v, FOG_SLOT, fired & v_lt(v_set(0), s), s, range);
}

// gap_of turns words into numbers of mean 1, distributed exponentially.
INLINE vf gap_of(vu bits) { return -log_of((i_float((vi)(bits >> 8)) + 1.0f) * (1.0f / 16777216.0f)); }

// mist_place is the range of places.
INLINE vf mist_place(const mist_settings *m, vi i) {
    vf share = i_float(i) / (float)(PLACES - 1);
    return m->near + m->span * share * share;
}

// look_at_particles adds drops (kind 0) or flakes (kind 1) before targets.
INLINE void look_at_particles(const echoing *c, const shot *f, vm fired, vf target, int kind, veil *v) {
    const mist_settings *m = &c->set.mist;
    int slot = kind ? FLAKE_SLOT : DROP_SLOT;
    vf sum = v_set(0);
    vm open = fired;
    vu random[4]; // of two particles
    for (int k = 0; k < PARTICLES; k++) {
        if (k % 2 == 0) chance_of(c, f->number, i_set(slot + k), MIST_CHANCE, random);
        sum = sum + gap_of(random[k % 2 * 2]);
        open = open & v_lt(sum, v_set(m->total[kind]));
        if (!m_any(open)) return;
        const float *counts = c->places[kind];
        vi low = i_set(0);
        for (int step = PLACES / 2; step > 0; step /= 2) low = i_sel(v_le(v_of_64(counts, low + step), sum), low + step, low);
        low = i_least(low, i_set(PLACES - 2));
        vf before = v_of_64(counts, low), after = v_of_64(counts, low + 1), from = mist_place(m, low);
        vf range = from + (mist_place(m, low + 1) - from) * ((sum - before) / (after - before));
        open = open & v_lt(range, target);
        if (!m_any(open)) return;
        range = v_sel(open, range, v_set(1.0f));
        vf seen = v_min(v_max((range - m->start) * m->slope, v_set(1e-6f)), v_set(1.0f));
        vf whole = m->sizes[kind][0] * exp_of(-2.0f * c->set.light.attenuation * range) * seen / (range * range);
        vf part = v_sqrt(m->weakest / whole) + m->sizes[kind][1] * gap_of(random[k % 2 * 2 + 1]) / (m->exit + m->spread * range);
        vf covered = v_min(part * part, v_set(1.0f));
        glimpse(f, v, slot + k, open, whole * covered, range);
        if (kind) v->left = v_sel(open, v->left * (1.0f - covered), v->left);
    }
}

// look_through finds what firings that meet targets at some ranges, BEYOND for none, see of the weather.
static __attribute__((noinline)) void look_through(const echoing *c, const shot *f, const rays *r, vf target, veil *v) {
    v->slots = 0, v->left = v_set(1.0f);
    vm fired = f->on & v_lt(v_set(0), r->tmax);
    look_at_fog(c, f, fired, target, v);
    for (int kind = 0; kind < 2; kind++)
        if (c->set.mist.total[kind] > 0) look_at_particles(c, f, fired, target, kind, v);
}

// glimpsed is an echo of the weather, and its slot.
typedef struct {
    vm there;
    vf s, range;
    vi slot;
} glimpsed;

INLINE glimpsed fog_of(const veil *v) {
    if (v->slots >> FOG_SLOT & 1) return (glimpsed){v->there[FOG_SLOT], v->s[FOG_SLOT], v->range[FOG_SLOT], i_set(FOG_SLOT)};
    return (glimpsed){m_not(m_all()), v_set(0), v_set(0), i_set(FOG_SLOT)};
}

// strongest_particle returns the strongest drop or flake.
INLINE glimpsed strongest_particle(const veil *v) {
    glimpsed g = {m_not(m_all()), v_set(0), v_set(0), i_set(0)};
    for (unsigned left = v->slots & ~(1u << FOG_SLOT); left; left &= left - 1) {
        int k = __builtin_ctz(left);
        vm more = v->there[k] & v_lt(g.s, v->s[k]);
        g.there = g.there | more;
        g.s = v_sel(more, v->s[k], g.s), g.range = v_sel(more, v->range[k], g.range), g.slot = i_sel(more, i_set(k), g.slot);
    }
    return g;
}

#endif
