// lidar.scan: lidar_scan.comp. A block is 32 steps of all lasers, or as many as a packet is wide,
// so that what it needs stays in the caches. A packet is as wide as high: see firings.h.
#ifndef LIDAR_H
#define LIDAR_H

#include "firings.h"
#include "trace.h"

enum { LIDAR_SCALE, LIDAR_RANDOM, LIDAR_ROLLING, LIDAR_COMPENSATED };
#define LIDAR_CONSTANTS {"SCALE", "RANDOM", "ROLLING", "COMPENSATED"}
enum { SCALE_NONE, SCALE_SURFACE, SCALE_TRANSMISSION, SCALE_COLOR };
enum { LIDAR_BLOCK = 32, POINT_BYTES = 48 };

// Settings of the shader.
typedef struct {
    uint32_t lasers, columns, frame, pad;
    uint32_t key[4];
    float attenuation, deviation, unfired, lossy; // light of the shader
    float kept[4];
} lidar_settings;

typedef struct {
    hd_scene s;
    lidar_settings set;
    const firings *firings;
    uint8_t *points;
    int32_t scale, random, rolling, compensated;
} lidar;

// random_of returns the random words of rays.
INLINE void random_of(const lidar *c, vi ray, vu out[4]) {
    out[0] = (vu)i_set((int32_t)c->set.key[0]), out[1] = (vu)i_set((int32_t)c->set.key[1]);
    out[2] = (vu)i_set((int32_t)c->set.frame), out[3] = (vu)ray;
    pcg4d(out);
}

// metal_share is the metallic factor of lanes whose material has a picture of it.
INLINE vf metal_share(const lidar *c, const material *m, vm of, const vf at[2]) {
    const hd_tables *t = &c->s.t;
    vf uv[2] = {at[0], at[1]}, color[3];
    vm moved = of & m_not(i_eq(m->transforms, i_set(0))) & i_below(m->transforms + 1, i_set((int32_t)t->material_rows));
    if (m_any(moved)) {
        vf row[2][4];
        for (int i = 0; i < 2; i++) {
            v_rows(t->materials, i_sel(moved, m->transforms + i, i_set(0)), row[i]);
            uv[i] = v_sel(moved, row[i][0] * at[0] + row[i][1] * at[1] + row[i][2], at[i]);
        }
    }
    picture p = picture_at(t, t->data, m->metal_rough_picture, of);
    beam_color(t->data, &p, uv, 0, color);
    return v_sel(of, m->metallic * color[2], m->metallic);
}

INLINE vf clamped(vf x) { return v_min(v_max(x, v_set(0)), v_set(1.0f)); }

// intensity_of returns the intensity of returns.
INLINE vf intensity_of(const lidar *c, vm returned, const found *at, const hit *h, vf cosine, vf transmission) {
    if (c->scale == SCALE_TRANSMISSION) return transmission;
    if (c->scale == SCALE_NONE) return v_set(0);
    const hd_tables *t = &c->s.t;
    vi triangle = i_sel(i_lt(at->triangle, i_set(0)), i_set(0), at->triangle);
    corners k = corners_of(t, triangle);
    material m = material_at(t, as_i(k.a[3]));
    painted(t, &m, at->mover);
    vf color[3];
    if (c->scale == SCALE_COLOR) {
        surface_color(t, &m, &k, triangle, h->u, h->v, color);
        vf share = color[0] * (1.0f / 3.0f) + color[1] * (1.0f / 3.0f) + color[2] * (1.0f / 3.0f), uv[2];
        vm metal = returned & i_lt(i_set(-1), m.metal_rough_picture);
        if (m_any(metal)) {
            texture_coordinates(&k, h->u, h->v, uv);
            share = v_sel(metal, metal_share(c, &m, metal, uv), share);
        }
        return clamped(share);
    }
    vf rho = m.reflectance;
    vm colored = returned & m_not(v_ge(rho, v_set(0)));
    if (m_any(colored)) {
        surface_color(t, &m, &k, triangle, h->u, h->v, color);
        rho = v_sel(colored, color[0] * 0.2126f + color[1] * 0.7152f + color[2] * 0.0722f, rho);
    }
    rho = clamped(rho);
    return v_sel(i_eq(m.flags & 1, i_set(1)), 101.0f + 154.0f * rho * transmission, 100.0f * rho * cosine * transmission);
}

// firing is LANES rays of a packet. laser and column are rows of firings, and number is the laser's own.
typedef struct {
    vm fired;
    vi laser, number, column, ns, ray, ring;
    vf origin[3], direction[3]; // in the sensor's frame
} firing;

// laser_row reads row of the four that lanes' lasers have.
INLINE void laser_row(const firings *all, vi laser, int row, vf out[4]) { v_rows(all->laser, laser * 4 + row, out); }

// fire makes LANES rays with their steps and lasers. It returns how far they reach.
INLINE vf fire(const lidar *c, vi step, vi laser, firing *g) {
    const firings *all = c->firings;
    vm in = i_lt(laser, i_set((int32_t)all->lasers)) & i_lt(step, i_set((int32_t)all->steps));
    g->laser = i_sel(in, laser, i_set(0));
    vf along[4], reach[4], numbers[4], turn[4];
    laser_row(all, g->laser, 0, along);
    laser_row(all, g->laser, 1, reach);
    laser_row(all, g->laser, 3, numbers);
    vi column = step - as_i(reach[3]);
    column = i_sel(i_lt(column, i_set(0)), column + all->round, column);
    g->fired = in & i_below(column, i_set((int32_t)all->columns));
    g->column = i_sel(g->fired, column, i_set(0));
    v_rows(all->column, g->column, turn);
    vf azimuth[2] = {turn[0] * along[2] - turn[1] * along[3], turn[1] * along[2] + turn[0] * along[3]};
    g->ns = c->rolling ? as_i(turn[2]) + as_i(reach[1]) : i_set(0);
    g->number = as_i(numbers[0]), g->ray = g->column * (int32_t)all->lasers + g->number, g->ring = as_i(numbers[1]);
    g->origin[0] = g->origin[1] = v_set(0), g->origin[2] = reach[0];
    g->direction[0] = along[0] * azimuth[0], g->direction[1] = along[0] * azimuth[1], g->direction[2] = along[1];
    return v_sel(g->fired, reach[2], v_set(-1.0f));
}

// azimuth_of returns the azimuths of lanes, from -pi to pi.
INLINE vf azimuth_of(vf column, vf laser) {
    vf angle = column + laser;
    vf full = v_sel(v_lt(v_set(3.14159274f), angle), v_set(6.28318531f), v_set(0));
    return angle - v_sel(v_lt(angle, v_set(-3.14159274f)), v_set(-6.28318531f), full);
}

static void lidar_packet(const lidar *c, uint32_t step, uint32_t laser) {
    rays r[PACKETS];
    firing f[PACKETS];
    for (int k = 0; k < PACKETS; k++) {
        firing *g = &f[k];
        vi at[2];
        grid_of(c->firings->wide, k * LANES, at);
        r[k].tmax = fire(c, at[0] + (int32_t)step, at[1] + (int32_t)laser, g);
        r[k].number = number_of(g->column, g->number);
        r[k].seconds = i_float(g->ns) * 1e-9f;
        pose sensor = sensor_pose(c->s.motion, moment_at(c->s.motion, r[k].seconds));
        rotate(sensor.q, g->origin, r[k].o);
        rotate(sensor.q, g->direction, r[k].d);
        for (int i = 0; i < 3; i++) r[k].o[i] = sensor.p[i] + r[k].o[i];
        r[k].tmin = v_set(0);
        if (c->random) {
            vu random[4];
            random_of(c, g->ray, random);
            r[k].tmax = v_sel(v_ge(uniform_of(random[2]), v_set(c->set.unfired)), r[k].tmax, v_set(-1.0f));
        }
    }
    found hits[PACKETS];
    trace(&c->s, r, hits, 0);
    for (int k = 0; k < PACKETS; k++) {
        const firing *g = &f[k];
        if (!m_any(g->fired)) continue;
        vf row[4], turn[4];
        laser_row(c->firings, g->laser, 2, row);
        v_rows(c->firings->column, g->column, turn);
        vf elevation = row[2], azimuth = azimuth_of(turn[3], row[3]);
        vm there = m_not(i_lt(hits[k].triangle, i_set(0)));
        vi triangle = i_sel(there, hits[k].triangle, i_set(0));
        hit h = hit_of(&c->s, &r[k], &hits[k]);
        vf shortest = v_sel(i_eq(g->column & 1, i_set(0)), row[0], row[1]);
        vf transmission = exp_of(-c->set.attenuation * h.t), range = h.t;
        vm near = there & v_lt(range, shortest), returned = there & m_not(near);
        if (c->random) {
            vu random[4];
            random_of(c, g->ray, random);
            vm kept = v_lt(v_set(c->set.lossy), transmission) | v_lt(uniform_of(random[3]), c->set.kept[0] * transmission + c->set.kept[1]);
            returned = returned & kept;
            range = v_max(range + c->set.deviation * gaussian_of(random[0], random[1]), v_set(0));
        }
        vf cosine = v_min(-dot(h.normal, r[k].d), v_set(1.0f)), zero = v_set(0), place[3];
        if (c->compensated) {
            pose start = sensor_pose(c->s.motion, moment_at(c->s.motion, zero));
            for (int i = 0; i < 3; i++) place[i] = r[k].o[i] - start.p[i] + range * r[k].d[i];
            vf world[3] = {place[0], place[1], place[2]};
            unrotate(start.q, world, place);
        } else {
            for (int i = 0; i < 3; i++) place[i] = g->origin[i] + range * g->direction[i];
        }
        vf intensity = intensity_of(c, returned, &hits[k], &h, cosine, transmission);
        vi label = i_sel(returned, label_of(&c->s.t, triangle, hits[k].mover), i_set(0));
        vf position[4] = {v_sel(returned, place[0], zero), v_sel(returned, place[1], zero), v_sel(returned, place[2], zero),
                          v_sel(returned, intensity, zero)};
        vf way[4] = {v_sel(returned, range, v_sel(near, v_set(-INFINITY), v_set(INFINITY))), azimuth, elevation, as_f(g->ns)};
        vf surface[4] = {as_f(g->ring | i_sel(returned, i_set(1 << 16), i_set(0)) | label_tag(label) << 24), as_f(label_instance(label)),
                         v_sel(returned, cosine, zero), as_f(g->ray)};
        const rows points = {(char *)c->points, POINT_BYTES, g->ray, g->fired};
        v_write_rows(&points, 0, position);
        v_write_rows(&points, 16, way);
        v_write_rows(&points, 32, surface);
    }
}

// lidar_steps is a block's.
INLINE uint32_t lidar_steps(const lidar *c) { return c->firings->wide > LIDAR_BLOCK ? c->firings->wide : LIDAR_BLOCK; }

static void lidar_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const lidar *c = data;
    uint32_t first = block * lidar_steps(c), end = first + lidar_steps(c);
    for (uint32_t step = first; step < end && step < c->firings->steps; step += c->firings->wide)
        for (uint32_t laser = 0; laser < c->set.lasers; laser += RAYS / c->firings->wide) lidar_packet(c, step, laser);
}

static int lidar_scan(hd_pool *pool, hd_work *w) {
    lidar c = {0};
    uint32_t texels = 0;
    const lidar_settings *set = hd_block(w, 0, sizeof *set);
    if (!set || !hd_scene_of(w, &c.s) || !hd_table(w, HD_SLOT_SENSOR, 16, &texels)) return 0;
    c.set = *set;
    uint64_t points = (uint64_t)c.set.lasers * c.set.columns;
    if (3 * (uint64_t)c.set.lasers + c.set.columns > texels || points * POINT_BYTES > w->storage[0].size || points > INT32_MAX)
        return hd_fail(w, "%u lasers and %u columns are more than the table of %u texels and the %zu bytes of points hold",
                       c.set.lasers, c.set.columns, texels, w->storage[0].size);
    if (points == 0) return 1;
    c.points = w->storage[0].bytes;
    const int32_t *constants = w->program->constants;
    c.scale = constants[LIDAR_SCALE], c.random = constants[LIDAR_RANDOM];
    c.rolling = constants[LIDAR_ROLLING], c.compensated = constants[LIDAR_COMPENSATED];
    if (!(c.firings = hd_firings_of(w, w->sampler[HD_SLOT_SENSOR]->memory, c.set.lasers, c.set.columns))) return 0;
    hd_parallel(pool, lidar_block, &c, (c.firings->steps + lidar_steps(&c) - 1) / lidar_steps(&c));
    return 1;
}

#endif
