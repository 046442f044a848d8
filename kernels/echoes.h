// lidar.echoes: lidar_echoes.comp, for rays without width. A packet is 128 firings that follow one another in the
// table, which has those side by side that point to one place. beams.h has beams with a width.
#ifndef ECHOES_H
#define ECHOES_H

#include "lidar.h"
#include "sensors.h"

enum { ECHOES_BLOCK = 1024, CLASSES = 32, PLACES = 64 };

enum { ECHOES_RADIOMETRY = LIDAR_COMPENSATED + 1, ECHOES_STEP = ECHOES_RADIOMETRY + 2 };
#define ECHOES_CONSTANTS {"SCALE", "RANDOM", "ROLLING", "COMPENSATED", "RADIOMETRY", "CLASSES", "STEP"}
enum { STEP_RAYS, STEP_CENTERS, STEP_BEAMS };

// mist_settings are those of the weather.
typedef struct {
    float fog, fog_at, single, weakest;         // fog of the shader
    float near, span, total[2];                 // air of the shader
    float sizes[2][2];                          // particles of the shader
    float exit, spread, start, slope;           // width of the shader
    float water, snow, lying, pad;              // film of the shader
    uint32_t first, on, pads[2];                // mist of the shader
} mist_settings;

// Settings of the shader.
typedef struct {
    lidar_settings light;
    float ratio, overlap[2], threshold;           // strength of the shader
    float deviation, least, alarms, clear;        // doubt of the shader
    uint32_t first, named, foreign, code;         // optics of the shader
    uint32_t sub_rays, first_sub_ray, full, mode; // beam of the shader
    float merging, width, pad[2];                 // merging of the shader
    mist_settings mist;
} echoes_settings;

// echoing has the lidar that its firings are of: all but what follows from lasers and columns.
typedef struct {
    lidar of;
    echoes_settings set;
    const float *table; // 8 words a firing
    uint32_t count;
    int32_t radiometry, last; // texel
    char *centers;            // of beams
    uint32_t each;            // points of a firing
    float places[4][PLACES];  // columns of the weather's rows
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

// shot_of reads the firings at places in the table.
INLINE shot shot_of(const echoing *c, vi at, vm on) {
    shot f;
    f.on = on;
    vi row = at * 2;
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

// aim makes the rays of firings at places in the table, in a direction of the sensor's frame.
INLINE void aim(const echoing *c, const shot *f, vi at, const vf direction[3], rays *r) {
    r->tmin = v_set(0), r->tmax = v_sel(f->on, f->farthest, v_set(-1.0f));
    r->number = at;
    r->seconds = i_float(f->ns) * 1e-9f;
    pose sensor = sensor_pose(c->of.s.motion, moment_at(c->of.s.motion, r->seconds));
    rotate(sensor.q, f->origin, r->o);
    rotate(sensor.q, direction, r->d);
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

#define WATER_INDEX 1.33f
#define STEEP 0.8f

// cover is coveredShare of the shader.
INLINE void cover(const mist_settings *m, vf up, vf cosine, vf *rho, vf *gain) {
    vf level = clamped((up - STEEP) / (1.0f - STEEP)), inside = v_sqrt(1.0f - (1.0f - cosine * cosine) / (WATER_INDEX * WATER_INDEX));
    vf s = (cosine - WATER_INDEX * inside) / (cosine + WATER_INDEX * inside), p = (WATER_INDEX * cosine - inside) / (WATER_INDEX * cosine + inside);
    vf face = 0.5f * (s * s + p * p), passed = (1.0f - face) * (1.0f - face) / (1.0f - *rho * face);
    vf wet = *rho * (1.0f - m->water * level * (1.0f - passed));
    *rho = wet + (m->lying - wet) * m->snow * level;
    *gain = *gain * (1.0f - (m->water > m->snow ? m->water : m->snow) * level);
}

// returned_share is returnedShare of the shader.
static __attribute__((noinline)) vf returned_share(const echoing *c, vm there, const found *at, const hit *h, vf cosine, vi label) {
    const hd_tables *t = &c->of.s.t;
    vi triangle = i_sel(there, at->triangle, i_set(0));
    vi index = i_gather(t->attributes + 3, triangle * 12);
    material m = shine_at(t, index);
    painted(t, &m, at->mover);
    vf class[4], zero = v_set(0);
    v_rows(c->table, i_least(label_tag(label), i_set(CLASSES - 1)) + (int32_t)c->set.first, class);
    vf rho = c->set.foreign ? v_set(-1.0f) : v_sel(i_eq(m.flags & 8192, i_set(0)), m.reflectance, v_set(-1.0f));
    vm paint = m_not(i_eq(m.flags & 4096, i_set(0)));
    rho = v_sel(v_lt(zero, class[3]) | (v_lt(rho, zero) & m_not(paint)), class[0], rho);
    vf gain = v_sel(i_eq(m.flags & 1, i_set(1)), class[1], class[2]);
    if (c->set.named) {
        vf own[4];
        v_rows(c->table, i_least(index + (int32_t)(c->set.first + CLASSES), i_set(c->last)), own);
        rho = v_sel(v_ge(own[0], zero), own[0], rho), gain = v_sel(v_ge(own[1], zero), own[1], gain);
    }
    vm colored = there & v_lt(rho, zero);
    if (m_any(colored)) {
        vf color[3];
        corners k = corners_of(t, triangle);
        m = material_at(t, index);
        painted(t, &m, at->mover);
        surface_color(t, &m, &k, triangle, h->u, h->v, color);
        rho = v_sel(colored, color[0] * 0.2126f + color[1] * 0.7152f + color[2] * 0.0722f, rho);
    }
    rho = clamped(rho);
    if (c->set.mist.water + c->set.mist.snow > 0) cover(&c->set.mist, h->normal[2], v_sel(soaks_up(label), v_set(1.0f), cosine), &rho, &gain);
    return rho * cosine + gain;
}

// signal_of is signalOf of the shader, 0 where nothing is there.
INLINE vf signal_of(const echoing *c, vm there, const found *at, const hit *h, vf cosine, vi label) {
    const echoes_settings *set = &c->set;
    if (!m_any(there)) return v_set(0);
    vf t = v_sel(there, h->t, v_set(1.0f));
    vf overlap = clamped((t - set->overlap[0]) * set->overlap[1]);
    return v_sel(there, returned_share(c, there, at, h, cosine, label) * exp_of(-2.0f * set->light.attenuation * t) * overlap / (t * t), v_set(0));
}

// chance_of returns the random words of a firing's echo, and with salt further ones: echoRandomOf of the shader.
INLINE void chance_of(const echoing *c, vi number, vi echo, uint32_t salt, vu out[4]) {
    const lidar_settings *set = &c->set.light;
    out[0] = (vu)i_set((int32_t)(set->key[0] ^ salt)), out[1] = set->key[1] ^ (vu)echo * 0x85ebca6bu;
    out[2] = (vu)i_set((int32_t)set->frame), out[3] = (vu)number;
    pcg4d(out);
}

#include "mist.h"

// echo is what firings measured, as that of the shader.
typedef struct {
    vm seen, real;
    vf range, intensity;
} echo;

// received is that of the shader, with an intensity that isn't coded yet.
INLINE echo received(const echoing *c, const shot *f, vi number, vm there, vf s, vf t, vm sure) {
    const echoes_settings *set = &c->set;
    echo e = {there, there, t, s};
    if (!m_any(there)) return e;
    vf ratio = s * set->ratio;
    vu random[4];
    chance_of(c, f->number, number, 0, random);
    vf radius = radius_of(random[0]), turn = uniform_of(random[1]), level = ratio;
    // Normal numbers are below 5.8. So what is stronger than the threshold by more is seen anyway.
    vm open = there & m_not(sure) & v_le(ratio, v_set(set->threshold + 6.0f));
    if (set->alarms >= 0 && m_any(open)) level = ratio + radius * sin_turns(turn);
    e.seen = e.real = there & (sure | v_lt(v_set(set->threshold), level));
    vf deviation = v_sqrt(set->least + set->deviation / v_max(ratio, v_set(1.0f)));
    e.range = v_max(t + deviation * (radius * cos_turns(turn)), v_set(0));
    e.intensity = s * (t * t) * exp_of(2.0f * set->clear * t);
    return e;
}

// with_alarms gives the echoes that aren't seen noise now and then: alarmOf of the shader.
INLINE void with_alarms(const echoing *c, const shot *f, const rays *r, echo *e) {
    const echoes_settings *set = &c->set;
    vm dark = m_not(e->seen) & v_lt(v_set(0), r->tmax);
    if (!m_any(dark)) return;
    vu random[4];
    chance_of(c, f->number, i_set(0), 0, random);
    vm alarm = dark & v_lt(uniform_of(random[3]), v_set(set->alarms));
    if (!m_any(alarm)) return;
    float unfired = set->light.unfired;
    vf anywhere = f->nearest + (f->farthest - f->nearest) * ((uniform_of(random[2]) - unfired) / (1.0f - unfired));
    e->seen = e->seen | alarm, e->range = v_sel(alarm, anywhere, e->range);
    e->intensity = v_sel(alarm, set->threshold / set->ratio * anywhere * anywhere, e->intensity);
}

// with_mist lets echoes of the weather take the place of weaker ones of surfaces, of strength s. Drops and flakes are sure, so that
// the strongest of them alone can.
INLINE void with_mist(const echoing *c, const shot *f, const veil *v, vf s, echo *e) {
    vm none = m_not(m_all());
    const glimpsed of[2] = {fog_of(v), strongest_particle(v)};
    for (int i = 0; i < 2; i++) {
        vm there = of[i].there & (m_not(e->seen) | v_lt(s, of[i].s));
        if (!m_any(there)) continue;
        echo other = received(c, f, of[i].slot + MIST_ECHO, there, of[i].s, of[i].range, i == 0 ? none : m_all());
        vm stronger = other.seen;
        s = v_sel(stronger, of[i].s, s);
        e->seen = e->seen | stronger, e->real = e->real & m_not(stronger);
        e->range = v_sel(stronger, other.range, e->range), e->intensity = v_sel(stronger, other.intensity, e->intensity);
    }
}

// echo_of is what a ray without width measures.
INLINE echo echo_of(const echoing *c, const shot *f, const rays *r, vm there, const found *at, const hit *h, vf cosine, vi label) {
    vf t = v_sel(there, h->t, v_set(1.0f)), s = signal_of(c, there, at, h, cosine, label);
    veil v;
    if (c->set.mist.on) {
        look_through(c, f, r, v_sel(i_lt(at->triangle, i_set(0)), v_set(BEYOND), h->t), &v);
        s = v.left * s;
    }
    echo e = received(c, f, i_set(0), there, s, t, m_not(m_all()));
    if (c->set.mist.on) with_mist(c, f, &v, s, &e);
    with_alarms(c, f, r, &e);
    e.intensity = coded(c->set.code, e.intensity);
    return e;
}

// point is a record of each firing, where it is an echo: what the returns are, in bits, and what it is of.
typedef struct {
    vm seen, near; // near: something nearer than the shortest range is in the way
    vf range, intensity, cosine;
    vi returns, label;
} point;

// write_point is setPoint of the shader: record at of the points.
INLINE void write_point(const echoing *c, const shot *f, const rays *r, const point *p, vi at) {
    vf zero = v_set(0), place[3];
    place_of(c, f, r, p->range, place);
    vf position[4] = {v_sel(p->seen, place[0], zero), v_sel(p->seen, place[1], zero), v_sel(p->seen, place[2], zero),
                      v_sel(p->seen, p->intensity, zero)};
    vf way[4] = {v_sel(p->seen, p->range, v_sel(p->near, v_set(-INFINITY), v_set(INFINITY))), f->azimuth, f->elevation, as_f(f->ns)};
    vf surface[4] = {as_f(f->ring | i_sel(p->seen, p->returns << 16, i_set(0)) | label_tag(p->label) << 24), as_f(label_instance(p->label)),
                     p->cosine, as_f(f->number)};
    const rows points = {(char *)c->of.points, POINT_BYTES, at, f->on};
    v_write_rows(&points, 0, position);
    v_write_rows(&points, 16, way);
    v_write_rows(&points, 32, surface);
}

// write_points is writePoint of the shader.
INLINE void write_points(const echoing *c, const shot *f, const rays *r, const found *at) {
    const lidar *of = &c->of;
    vm there = m_not(i_lt(at->triangle, i_set(0)));
    vi triangle = i_sel(there, at->triangle, i_set(0));
    hit h = hit_of(&of->s, r, at);
    vf transmission = c->radiometry ? v_set(1.0f) : exp_of(-of->set.attenuation * h.t), range = h.t, zero = v_set(0);
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
    point p = {returned, near, range, intensity, v_sel(real, cosine, zero), i_set(1), i_sel(real, label, i_set(0))};
    write_point(c, f, r, &p, f->number);
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
            uint32_t i = first + (uint32_t)(k * LANES);
            vi at = listed(i, c->count);
            f[k] = shot_of(c, at, m_first(some(i, c->count)));
            aim(c, &f[k], at, f[k].direction, &r[k]);
        }
        trace(&c->of.s, r, hits, 0);
        for (int k = 0; k < PACKETS && m_any(f[k].on); k++) write_points(c, &f[k], &r[k], &hits[k]);
    }
}

#endif
