// scene.trace, sensor.rays and groundtruth.sights: lists of rays. A packet is 128 neighbours of
// the list.
#ifndef SENSORS_H
#define SENSORS_H

#include "trace.h"

enum { LIST_BLOCK = 1024 };

// some is how many of LANES from i on are below n.
INLINE int some(uint32_t i, uint32_t n) { return i >= n ? 0 : n - i < LANES ? (int)(n - i) : LANES; }

INLINE uint32_t blocks_of(uint32_t n) { return (n + LIST_BLOCK - 1) / LIST_BLOCK; }

// listed returns lanes of a list of n, where those beyond the end have the last one's number.
INLINE vi listed(uint32_t i, uint32_t n) {
    vi at = i_ramp() + (int32_t)i;
    return i_sel(i_lt(at, i_set((int32_t)n)), at, i_set((int32_t)n - 1));
}

// scene.trace: scene_trace.comp.

#define TRACE_CONSTANTS {"OCCLUSION"}

typedef struct {
    hd_scene s;
    const float *list;
    char *hits;
    uint32_t n;
    int32_t any;
} listing;

static void listing_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const listing *c = data;
    uint32_t end = (block + 1) * LIST_BLOCK < c->n ? (block + 1) * LIST_BLOCK : c->n;
    for (uint32_t first = block * LIST_BLOCK; first < end; first += RAYS) {
        rays r[PACKETS];
        found f[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            vi row = listed(i, c->n) * 3;
            vf origin[4], direction[4], time[4];
            v_rows(c->list, row, origin);
            v_rows(c->list, row + 1, direction);
            v_rows(c->list, row + 2, time);
            for (int a = 0; a < 3; a++) r[k].o[a] = origin[a], r[k].d[a] = direction[a];
            r[k].tmin = origin[3], r[k].seconds = time[0];
            r[k].tmax = v_sel(m_first(some(i, c->n)), direction[3], v_set(-1.0f)), r[k].number = listed(i, c->n);
        }
        if (c->any) trace(&c->s, r, f, 1);
        else trace(&c->s, r, f, 0);
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            int n = some(i, c->n);
            if (n == 0) break;
            hit h = hit_of(&c->s, &r[k], &f[k]);
            vm there = m_not(i_lt(f[k].triangle, i_set(0)));
            const rows hits = {c->hits + 32 * (size_t)i, 32, i_ramp(), m_first(n)};
            vf point[4] = {v_sel(there, h.t, v_set(-1.0f)), h.u, h.v, as_f(f[k].triangle)};
            vf surface[4] = {h.normal[0], h.normal[1], h.normal[2], as_f(f[k].mover)};
            v_write_rows(&hits, 0, point);
            v_write_rows(&hits, 16, surface);
        }
    }
}

static int scene_trace(hd_pool *pool, hd_work *w) {
    listing c = {.any = w->program->constants[0]};
    if (!hd_scene_of(w, &c.s)) return 0;
    uint64_t n = (uint64_t)w->groups[0] * w->groups[1] * 64 * 4;
    n = n < w->storage[0].size / 48 ? n : w->storage[0].size / 48;
    n = n < w->storage[1].size / 32 ? n : w->storage[1].size / 32;
    if (n > INT32_MAX / 4) return hd_fail(w, "%llu rays are more than one list holds", (unsigned long long)n);
    c.n = (uint32_t)n;
    c.list = (const float *)(const void *)w->storage[0].bytes;
    c.hits = (char *)w->storage[1].bytes;
    hd_parallel(pool, listing_block, &c, blocks_of(c.n));
    return 1;
}

// sensor.rays: rays.comp.

enum { RAYS_PASSES = 32 };
#define BEHIND 1e-3f

typedef struct {
    hd_scene s;
    const float *list;
    char *results;
    uint32_t n, owner;
} casting;

// passes_through tells what lets a ray through: the sensor's owner.
INLINE vm passes_through(const casting *c, vi label) {
    return c->owner ? i_eq(label_instance(label), i_set((int32_t)c->owner)) : m_not(m_all());
}

static void casting_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const casting *c = data;
    uint32_t end = (block + 1) * LIST_BLOCK < c->n ? (block + 1) * LIST_BLOCK : c->n;
    for (uint32_t first = block * LIST_BLOCK; first < end; first += RAYS) {
        rays r[PACKETS], left[PACKETS];
        found f[PACKETS], more[PACKETS];
        vi label[PACKETS];
        vm passed[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            vi row = listed(i, c->n) * 2;
            vf from[4], to[4];
            v_rows(c->list, row, from);
            v_rows(c->list, row + 1, to);
            pose sensor = sensor_pose(c->s.motion, moment_at(c->s.motion, v_set(0)));
            rotate(sensor.q, from, r[k].o);
            rotate(sensor.q, to, r[k].d);
            for (int a = 0; a < 3; a++) r[k].o[a] = sensor.p[a] + r[k].o[a];
            r[k].tmin = from[3], r[k].seconds = v_set(0);
            vm cast = m_first(some(i, c->n)) & v_lt(v_set(0), to[3]);
            r[k].tmax = v_sel(cast, to[3], v_set(-1.0f)), r[k].number = listed(i, c->n);
        }
        trace(&c->s, r, f, 0);
        // A ray that passes through goes on behind; the others are done.
        for (int pass = 0;; pass++) {
            int again = 0;
            for (int k = 0; k < PACKETS; k++) {
                vm there = m_not(i_lt(f[k].triangle, i_set(0)));
                label[k] = label_of(&c->s.t, i_sel(there, f[k].triangle, i_set(0)), f[k].mover);
                passed[k] = there & passes_through(c, label[k]);
                again |= m_any(passed[k]);
            }
            if (!again || pass == RAYS_PASSES) break;
            for (int k = 0; k < PACKETS; k++) {
                r[k].tmin = v_sel(passed[k], f[k].t + BEHIND, r[k].tmin);
                left[k] = r[k];
                left[k].tmax = v_sel(passed[k], r[k].tmax, v_set(-1.0f));
            }
            trace(&c->s, left, more, 0);
            for (int k = 0; k < PACKETS; k++) {
                f[k].t = v_sel(passed[k], more[k].t, f[k].t);
                f[k].triangle = i_sel(passed[k], more[k].triangle, f[k].triangle);
                f[k].mover = i_sel(passed[k], more[k].mover, f[k].mover);
            }
        }
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            int n = some(i, c->n);
            if (n == 0) break;
            hit h = hit_of(&c->s, &r[k], &f[k]);
            vm seen = m_not(i_lt(f[k].triangle, i_set(0))) & m_not(passed[k]);
            vi none = i_set(0);
            const rows results = {c->results + 16 * (size_t)i, 16, i_ramp(), m_first(n)};
            vf what[4] = {v_sel(seen, h.t, v_set(INFINITY)), v_sel(seen, v_min(-dot(h.normal, r[k].d), v_set(1.0f)), v_set(0)),
                          as_f(i_sel(seen, label_instance(label[k]), none)), as_f(i_sel(seen, label_tag(label[k]), none))};
            v_write_rows(&results, 0, what);
        }
    }
}

static int sensor_rays(hd_pool *pool, hd_work *w) {
    casting c = {0};
    uint32_t texels = 0;
    const uint32_t *set = hd_block(w, 0, 16);
    if (!set || !hd_scene_of(w, &c.s) || !(c.list = hd_table(w, HD_SLOT_SENSOR, 16, &texels))) return 0;
    c.owner = set[0];
    uint64_t n = (uint64_t)w->groups[0] * 64 * 4;
    n = n < w->storage[0].size / 16 ? n : w->storage[0].size / 16;
    n = n < texels / 2 ? n : texels / 2;
    if (n > INT32_MAX / 4) return hd_fail(w, "%llu rays are more than one list holds", (unsigned long long)n);
    c.n = (uint32_t)n, c.results = (char *)w->storage[0].bytes;
    hd_parallel(pool, casting_block, &c, blocks_of(c.n));
    return 1;
}

// groundtruth.sights: groundtruth_sights.comp.

enum { SIGHTS_PASSES = 16, TALLY_WORDS = 6, TALLY_HIDDEN = 5 };

typedef struct {
    hd_scene s;
    const float *list;
    uint32_t *tallies;
    uint32_t n, tally_count, clear, clear_tags;
    float nearest;
} sighting;

// hides_nothing tells what lets a sight through: the sensor's owner, and tags that hide nothing.
INLINE vm hides_nothing(const sighting *c, vi label) {
    vi tag = label_tag(label);
    tag = i_sel(i_lt(tag, i_set(31)), tag, i_set(31));
    vm own = c->clear ? i_eq(label_instance(label), i_set((int32_t)c->clear)) : m_not(m_all());
    return own | m_not(i_eq(i_set((int32_t)c->clear_tags) >> tag & 1, i_set(0)));
}

static void sighting_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const sighting *c = data;
    uint32_t end = (block + 1) * LIST_BLOCK < c->n ? (block + 1) * LIST_BLOCK : c->n;
    for (uint32_t first = block * LIST_BLOCK; first < end; first += RAYS) {
        rays r[PACKETS];
        found f[PACKETS];
        vi place[PACKETS], whose[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            uint32_t i = first + (uint32_t)(k * LANES);
            vi row = listed(i, c->n) * 2;
            vf way[4], who[4];
            v_rows(c->list, row, way);
            v_rows(c->list, row + 1, who);
            place[k] = as_i(who[0]), whose[k] = as_i(who[1]);
            pose sensor = sensor_pose(c->s.motion, moment_at(c->s.motion, v_set(0)));
            for (int a = 0; a < 3; a++) r[k].o[a] = sensor.p[a], r[k].d[a] = way[a];
            r[k].tmin = v_set(c->nearest), r[k].seconds = v_set(0);
            r[k].tmax = v_sel(m_first(some(i, c->n)), way[3], v_set(-1.0f)), r[k].number = listed(i, c->n);
        }
        for (int pass = 0; pass < SIGHTS_PASSES; pass++) {
            trace(&c->s, r, f, 0);
            int again = 0;
            for (int k = 0; k < PACKETS; k++) {
                vm met = v_ge(r[k].tmax, v_set(0)) & m_not(i_lt(f[k].triangle, i_set(0)));
                vi label = label_of(&c->s.t, i_sel(met, f[k].triangle, i_set(0)), f[k].mover);
                vi what = i_sel(met, label_instance(label), whose[k]);
                vm passed = met & hides_nothing(c, label);
                vm hidden = met & m_not(passed) & m_not(i_eq(what, whose[k]));
                for (unsigned left = m_bits(hidden); left; left &= left - 1) {
                    uint32_t tally = (uint32_t)place[k][__builtin_ctz(left)];
                    if (tally < c->tally_count)
                        __atomic_fetch_add(&c->tallies[TALLY_WORDS * (size_t)tally + TALLY_HIDDEN], 1, __ATOMIC_RELAXED);
                }
                r[k].tmin = v_sel(passed, f[k].t + BEHIND, r[k].tmin);
                r[k].tmax = v_sel(passed, r[k].tmax, v_set(-1.0f));
                again |= m_any(passed);
            }
            if (!again) break;
        }
    }
}

static int groundtruth_sights(hd_pool *pool, hd_work *w) {
    sighting c = {0};
    const uint32_t *set = hd_block(w, 0, 32);
    if (!set || !hd_scene_of(w, &c.s)) return 0;
    c.n = set[0], c.clear = set[1], c.clear_tags = set[2];
    memcpy(&c.nearest, &set[4], 4);
    uint64_t most = (uint64_t)w->groups[0] * 64 * 4;
    most = most < w->storage[1].size / 32 ? most : w->storage[1].size / 32;
    c.n = c.n < most ? c.n : (uint32_t)most;
    if (c.n > INT32_MAX / 4) return hd_fail(w, "%u sights are more than one list holds", c.n);
    c.list = (const float *)(const void *)w->storage[1].bytes;
    c.tallies = (uint32_t *)(void *)w->storage[0].bytes;
    c.tally_count = (uint32_t)(w->storage[0].size / (4 * TALLY_WORDS));
    hd_parallel(pool, sighting_block, &c, blocks_of(c.n));
    return 1;
}

#endif
