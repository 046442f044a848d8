// lidar.echoes: lidar_echoes.comp. A packet is 128 firings that follow one another in the table, which
// has those side by side that point to one place.
#ifndef ECHOES_H
#define ECHOES_H

#include "lidar.h"
#include "sensors.h"

enum { ECHOES_BLOCK = 1024, CLASSES = 32 };

enum { ECHOES_RADIOMETRY = LIDAR_COMPENSATED + 1 };
#define ECHOES_CONSTANTS {"SCALE", "RANDOM", "ROLLING", "COMPENSATED", "RADIOMETRY", "CLASSES"}

// Settings of the shader.
typedef struct {
    lidar_settings light;
    float ratio, overlap[2], threshold;           // strength of the shader
    float deviation, least, alarms, clear;        // doubt of the shader
    uint32_t first, named, foreign, code;         // optics of the shader
} echoes_settings;

// echoing has the lidar that its firings are of: all but what follows from lasers and columns.
typedef struct {
    lidar of;
    echoes_settings set;
    const float *table; // 8 words a firing
    uint32_t count;
    int32_t radiometry, last; // texel
} echoing;

// sin_cos is turnOf of the shader.
INLINE void sin_cos(vf angle, vf *sine, vf *cosine) {
    vf quarter = v_floor(angle * 0.636619772f + 0.5f);
    vf a = angle - quarter * 1.5703125f - quarter * 4.83826794897e-4f, z = a * a;
    vf c = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
    vf s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * a + a;
    vi q = v_trunc(quarter) & 3;
    vm odd = i_eq(q & 1, i_set(1)), turned = i_lt(i_set(1), q);
    vf x = v_sel(odd, -s, c), y = v_sel(odd, c, s);
    *cosine = v_sel(turned, -x, x), *sine = v_sel(turned, -y, y);
}

// shot is LANES firings. Lanes that aren't on have those of the last.
typedef struct {
    vm on;
    vf azimuth, elevation, nearest, farthest;
    vi ns, ring, number;
    vf origin[3], direction[3]; // in the sensor's frame
} shot;

INLINE shot shot_at(const echoing *c, uint32_t i) {
    shot f;
    f.on = m_first(some(i, c->count));
    vi row = listed(i, c->count) * 2;
    vf way[4], place[4], up, along, sine, cosine;
    v_rows(c->table, row, way);
    v_rows(c->table, row + 1, place);
    f.azimuth = way[0], f.elevation = way[1], f.nearest = way[2], f.farthest = way[3];
    f.ns = c->of.rolling ? as_i(place[0]) : i_set(0), f.ring = as_i(place[1]), f.number = as_i(place[2]);
    sin_cos(f.elevation, &up, &along);
    sin_cos(f.azimuth, &sine, &cosine);
    f.origin[0] = f.origin[1] = v_set(0), f.origin[2] = place[3];
    f.direction[0] = along * cosine, f.direction[1] = along * sine, f.direction[2] = up;
    return f;
}

// aim makes the rays of firings.
INLINE void aim(const echoing *c, const shot *f, uint32_t i, rays *r) {
    r->tmin = v_set(0), r->tmax = v_sel(f->on, f->farthest, v_set(-1.0f));
    r->number = listed(i, c->count);
    r->seconds = i_float(f->ns) * 1e-9f;
    pose sensor = sensor_pose(c->of.s.motion, moment_at(c->of.s.motion, r->seconds));
    rotate(sensor.q, f->origin, r->o);
    rotate(sensor.q, f->direction, r->d);
    for (int k = 0; k < 3; k++) r->o[k] = sensor.p[k] + r->o[k];
    if (c->of.random && c->of.set.unfired > 0) {
        vu random[4];
        random_of(&c->of, f->number, random);
        r->tmax = v_sel(v_ge(uniform_of(random[2]), v_set(c->of.set.unfired)), r->tmax, v_set(-1.0f));
    }
}

// place_of is pointOf of the shader.
INLINE void place_of(const echoing *c, const shot *f, const rays *r, vf range, vf out[3]) {
    if (!c->of.compensated) {
        for (int k = 0; k < 3; k++) out[k] = f->origin[k] + range * f->direction[k];
        return;
    }
    pose start = sensor_pose(c->of.s.motion, moment_at(c->of.s.motion, v_set(0)));
    vf world[3];
    for (int k = 0; k < 3; k++) world[k] = r->o[k] - start.p[k] + range * r->d[k];
    unrotate(start.q, world, out);
}

enum { CODE_VELODYNE, CODE_LIVOX, CODE_HESAI };
#define BRIGHTEST_LOG 7.35933f // natural logarithm of BRIGHTEST of the shader

// coded is that of the shader.
INLINE vf coded(uint32_t code, vf apparent) {
    if (code == CODE_HESAI) return v_min(100.0f * apparent, v_set(255.0f));
    float white = code == CODE_LIVOX ? 150.0f : 100.0f;
    vm retro = v_lt(v_set(1.0f), apparent);
    if (!m_any(retro)) return white * apparent;
    vf bright = v_min(white + 1.0f + (254.0f - white) * log_of(v_max(apparent, v_set(1.0f))) / BRIGHTEST_LOG, v_set(255.0f));
    return v_sel(retro, bright, white * apparent);
}

// returned_share is returnedShare of the shader.
static __attribute__((noinline)) vf returned_share(const echoing *c, vm there, const found *at, const hit *h, vf cosine, vi label) {
    const hd_tables *t = &c->of.s.t;
    vi triangle = i_sel(there, at->triangle, i_set(0));
    corners k = corners_of(t, triangle);
    vi index = as_i(k.a[3]);
    material m = material_at(t, index);
    painted(t, &m, at->mover);
    vf class[4], zero = v_set(0);
    v_rows(c->table, i_least(label_tag(label), i_set(CLASSES - 1)) + (int32_t)c->set.first, class);
    vf rho = c->set.foreign ? v_set(-1.0f) : m.reflectance;
    vm paint = m_not(i_eq(m.flags & 4096, i_set(0)));
    rho = v_sel(v_lt(rho, zero) & m_not(paint), class[0], rho);
    vf gain = v_sel(i_eq(m.flags & 1, i_set(1)), class[1], class[2]);
    if (c->set.named) {
        vf own[4];
        v_rows(c->table, i_least(index + (int32_t)(c->set.first + CLASSES), i_set(c->last)), own);
        rho = v_sel(v_ge(own[0], zero), own[0], rho), gain = v_sel(v_ge(own[1], zero), own[1], gain);
    }
    vm colored = there & v_lt(rho, zero);
    if (m_any(colored)) {
        vf color[3];
        surface_color(t, &m, &k, triangle, h->u, h->v, color);
        rho = v_sel(colored, color[0] * 0.2126f + color[1] * 0.7152f + color[2] * 0.0722f, rho);
    }
    return clamped(rho) * cosine + gain;
}

// echo is what firings measured, as that of the shader.
typedef struct {
    vm seen, real;
    vf range, intensity;
} echo;

// echo_of is echoOf of the shader.
INLINE echo echo_of(const echoing *c, const shot *f, const rays *r, vm there, const found *at, const hit *h, vf cosine, vi label) {
    const echoes_settings *set = &c->set;
    vf zero = v_set(0), t = v_sel(there, h->t, v_set(1.0f)), r2 = t * t;
    vf overlap = clamped((t - set->overlap[0]) * set->overlap[1]);
    vf s = v_sel(there, returned_share(c, there, at, h, cosine, label) * exp_of(-2.0f * set->light.attenuation * t) * overlap / r2, zero);
    vf ratio = s * set->ratio;
    vu doubt[4] = {(vu)i_set((int32_t)(set->light.key[0] ^ 0x9e3779b9u)), (vu)i_set((int32_t)set->light.key[1]),
                   (vu)i_set((int32_t)set->light.frame), (vu)f->number}, random[4];
    pcg4d(doubt);
    random_of(&c->of, f->number, random);
    // Normal numbers are below 5.8. So what is stronger than the threshold by more is seen anyway.
    vm open = there & v_le(ratio, v_set(set->threshold + 6.0f));
    vf level = set->alarms >= 0 && m_any(open) ? ratio + gaussian_of(doubt[0], doubt[1]) : ratio;
    echo e;
    e.real = there & v_lt(v_set(set->threshold), level);
    vm alarm = m_not(e.real) & v_lt(zero, r->tmax) & v_lt(uniform_of(doubt[2]), v_set(set->alarms));
    vf deviation = v_sqrt(set->least + set->deviation / v_max(ratio, v_set(1.0f)));
    vf measured = v_max(t + deviation * gaussian_of(random[0], random[1]), zero);
    vf apparent = s * r2 * exp_of(2.0f * set->clear * t);
    e.seen = e.real | alarm, e.range = measured;
    if (m_any(alarm)) {
        vf anywhere = f->nearest + (f->farthest - f->nearest) * uniform_of(doubt[3]);
        e.range = v_sel(alarm, anywhere, measured);
        apparent = v_sel(alarm, set->threshold / set->ratio * anywhere * anywhere, apparent);
    }
    e.intensity = coded(set->code, apparent);
    return e;
}

// write_points is writePoint of the shader.
INLINE void write_points(const echoing *c, const shot *f, const rays *r, const found *at) {
    const lidar *of = &c->of;
    vm there = m_not(i_lt(at->triangle, i_set(0)));
    vi triangle = i_sel(there, at->triangle, i_set(0));
    hit h = hit_of(&of->s, r, at);
    vf transmission = c->radiometry ? v_set(1.0f) : exp_of(-of->set.attenuation * h.t), range = h.t, zero = v_set(0), place[3];
    vm near = there & v_lt(range, f->nearest), returned = there & m_not(near), real;
    vf cosine = v_min(-dot(h.normal, r->d), v_set(1.0f)), intensity;
    vi label = label_of(&of->s.t, triangle, at->mover);
    if (of->random && !c->radiometry) {
        vu random[4];
        random_of(of, f->number, random);
        returned = returned & (v_lt(v_set(of->set.lossy), transmission)
            | v_lt(uniform_of(random[3]), of->set.kept[0] * transmission + of->set.kept[1]));
        range = v_max(range + of->set.deviation * gaussian_of(random[0], random[1]), zero);
    }
    if (c->radiometry) {
        echo e = echo_of(c, f, r, returned, at, &h, cosine, label);
        range = e.range, returned = e.seen, real = e.real, intensity = e.intensity;
    } else {
        real = returned, intensity = intensity_of(of, returned, at, &h, cosine, transmission);
    }
    place_of(c, f, r, range, place);
    label = i_sel(real, label, i_set(0));
    vf position[4] = {v_sel(returned, place[0], zero), v_sel(returned, place[1], zero), v_sel(returned, place[2], zero),
                      v_sel(returned, intensity, zero)};
    vf way[4] = {v_sel(returned, range, v_sel(near, v_set(-INFINITY), v_set(INFINITY))), f->azimuth, f->elevation, as_f(f->ns)};
    vf surface[4] = {as_f(f->ring | i_sel(returned, i_set(1 << 16), i_set(0)) | label_tag(label) << 24), as_f(label_instance(label)),
                     v_sel(real, cosine, zero), as_f(f->number)};
    const rows points = {(char *)of->points, POINT_BYTES, f->number, f->on};
    v_write_rows(&points, 0, position);
    v_write_rows(&points, 16, way);
    v_write_rows(&points, 32, surface);
}

static void echoes_block(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const echoing *c = data;
    uint32_t end = (block + 1) * ECHOES_BLOCK < c->count ? (block + 1) * ECHOES_BLOCK : c->count;
    for (uint32_t first = block * ECHOES_BLOCK; first < end; first += RAYS) {
        rays r[PACKETS];
        shot f[PACKETS];
        found hits[PACKETS];
        for (int k = 0; k < PACKETS; k++) {
            f[k] = shot_at(c, first + (uint32_t)(k * LANES));
            aim(c, &f[k], first + (uint32_t)(k * LANES), &r[k]);
        }
        trace(&c->of.s, r, hits, 0);
        for (int k = 0; k < PACKETS && m_any(f[k].on); k++) write_points(c, &f[k], &r[k], &hits[k]);
    }
}

// echoes_numbers reports whether each of the firings writes a point that there is.
static int echoes_numbers(const echoing *c, uint64_t points) {
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t number;
        memcpy(&number, c->table + 8 * (size_t)i + 6, sizeof number);
        if (number >= points) return 0;
    }
    return 1;
}

static int lidar_echoes(hd_pool *pool, hd_work *w) {
    echoing c = {0};
    uint32_t texels = 0;
    const echoes_settings *set = hd_block(w, 0, sizeof *set);
    if (!set || !hd_scene_of(w, &c.of.s) || !(c.table = hd_table(w, HD_SLOT_SENSOR, 16, &texels))) return 0;
    c.set = *set, c.of.set = set->light, c.count = set->light.lasers; // shape's first word
    uint64_t points = w->storage[0].size / POINT_BYTES;
    points = points < INT32_MAX ? points : INT32_MAX;
    if (2 * (uint64_t)c.count > texels || c.count > points || !echoes_numbers(&c, points))
        return hd_fail(w, "%u firings are more than the table of %u texels and the %zu bytes of points hold", c.count, texels,
                       w->storage[0].size);
    if (c.count == 0) return 1;
    c.of.points = w->storage[0].bytes;
    const int32_t *constants = w->program->constants;
    c.of.scale = constants[LIDAR_SCALE], c.of.random = constants[LIDAR_RANDOM];
    c.of.rolling = constants[LIDAR_ROLLING], c.of.compensated = constants[LIDAR_COMPENSATED];
    c.radiometry = constants[ECHOES_RADIOMETRY];
    c.last = (int32_t)texels - 1;
    if (c.radiometry && (uint64_t)set->first + CLASSES + (set->named ? 1 : 0) > texels)
        return hd_fail(w, "the surfaces of classes end behind the table of %u texels", texels);
    hd_parallel(pool, echoes_block, &c, (c.count + ECHOES_BLOCK - 1) / ECHOES_BLOCK);
    return 1;
}

#endif
