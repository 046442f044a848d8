// camera.trace and camera.sun: camera_trace.comp and camera_sun.comp. A packet is 16 x 8 pixels,
// a block is a tile of 32 x 32.

#define CAMERA_TRACE_CONSTANTS {"LENS", "ROLLING"}

enum { SEEN_TILE = 32, SEEN_WIDE = 16, SEEN_HIGH = RAYS / SEEN_WIDE }; // pixels of a block's side and of a packet's sides

typedef struct {
    hd_scene s;
    optics optics;
    int32_t size[2], tiles; // tiles are those of a row
    const shutter *shutter;       // NULL where all is of one instant
    // Of camera.trace.
    float near, far;
    uint32_t *ids; // two a pixel: written here, read by camera.sun
    // Of camera.sun.
    float to_sun[3];
    const float *frames;
    int32_t frame_count;
    uint8_t *sunlit;
} seeing;

// packet_pixels returns the pixels of LANES of a packet, and which are in the picture.
INLINE vm packet_pixels(const seeing *c, int k, int x, int y, vi at[2]) {
    grid_of(SEEN_WIDE, k * LANES, at);
    at[0] = at[0] + x, at[1] = at[1] + y;
    return i_lt(at[0], i_set(c->size[0])) & i_lt(at[1], i_set(c->size[1]));
}

// each_packet calls one for each packet of a tile.
INLINE void each_packet(const seeing *c, uint32_t block, void (*one)(const seeing *, int x, int y)) {
    int x0 = (int)(block % (uint32_t)c->tiles) * SEEN_TILE, y0 = (int)(block / (uint32_t)c->tiles) * SEEN_TILE;
    for (int y = y0; y < y0 + SEEN_TILE && y < c->size[1]; y += SEEN_HIGH)
        for (int x = x0; x < x0 + SEEN_TILE && x < c->size[0]; x += SEEN_WIDE) one(c, x, y);
}

// seeing_of takes a lens and the size of the picture from a work.
static int seeing_of(hd_work *w, seeing *c, const int32_t size[2], size_t pixels) {
    if (!optics_of(w, w->program->constants[0], &c->optics) || !hd_scene_of(w, &c->s)) return 0;
    if (w->program->constants[1] && !(c->shutter = shutter_of(w))) return 0;
    c->size[0] = size[0], c->size[1] = size[1];
    c->tiles = (size[0] + SEEN_TILE - 1) / SEEN_TILE;
    if (size[0] > 0 && size[1] > 0 && (uint64_t)size[0] * (uint64_t)size[1] == pixels) return 1;
    return hd_fail(w, "a view of %d x %d pixels has another size than its picture", size[0], size[1]);
}

static uint32_t tiles_of(const seeing *c) { return (uint32_t)(c->tiles * ((c->size[1] + SEEN_TILE - 1) / SEEN_TILE)); }

static size_t pixels_in(const hd_texture *t, int format) { return t && t->format == format ? (size_t)t->width * (size_t)t->height : 0; }

// camera.trace.

INLINE void trace_pixels(const seeing *c, int x, int y, int rolling) {
    rays r[PACKETS];
    found f[PACKETS];
    vi at[PACKETS][2];
    vm in[PACKETS];
    pose camera;
    if (!rolling) camera = sensor_pose(c->s.motion, moment_at(c->s.motion, v_set(0)));
    for (int k = 0; k < PACKETS; k++) {
        in[k] = packet_pixels(c, k, x, y, at[k]);
        r[k].seconds = rolling ? seconds_of(c->shutter, at[k][0], at[k][1]) : v_set(0);
        if (rolling) camera = sensor_pose(c->s.motion, moment_at(c->s.motion, r[k].seconds));
        pixel_rays p;
        rays_of(&c->optics, i_float(at[k][0]), i_float(at[k][1]), &p);
        vf scale = v_sqrt(dot(p.direction, p.direction)), d[3];
        for (int i = 0; i < 3; i++) d[i] = p.direction[i] / scale, r[k].o[i] = camera.p[i];
        rotate(camera.q, d, r[k].d);
        r[k].tmin = c->near * scale, r[k].number = number_of(at[k][0], at[k][1]);
        r[k].tmax = v_sel(in[k] & p.seeing, c->far * scale, v_set(-1.0f));
    }
    trace(&c->s, r, f, 0);
    for (int k = 0; k < PACKETS; k++)
        for (unsigned left = m_bits(in[k]); left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            uint32_t *to = c->ids + 2 * ((size_t)at[k][1][lane] * (size_t)c->size[0] + (size_t)at[k][0][lane]);
            to[0] = (uint32_t)(f[k].triangle[lane] + 1), to[1] = (uint32_t)(f[k].mover[lane] + 1);
        }
}

static void trace_packet(const seeing *c, int x, int y) { trace_pixels(c, x, y, 0); }
static void trace_rolling(const seeing *c, int x, int y) { trace_pixels(c, x, y, 1); }

static void trace_tile(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    const seeing *c = data;
    if (c->shutter) each_packet(c, block, trace_rolling);
    else each_packet(c, block, trace_packet);
}

static int camera_trace(hd_pool *pool, hd_work *w) {
    seeing c = {0};
    const struct { int32_t size[2]; float near, far; } *pass = hd_block(w, 0, sizeof *pass);
    const hd_texture *to = w->image[0].texture;
    if (!pass || !seeing_of(w, &c, pass->size, pixels_in(to, HD_RG32UI))) return 0;
    c.near = pass->near, c.far = pass->far;
    c.ids = (uint32_t *)(void *)(to->memory->bytes + to->level[w->image[0].level]);
    hd_parallel(pool, trace_tile, &c, tiles_of(&c));
    return 1;
}

// camera.sun.

#define BEFORE 1e-3f
#define SUN_AWAY 1e5f

// sun_frame is the linear part and the camera's place of lanes' frames.
typedef struct {
    vf row[3][4];
} sun_frame;

// frames_then makes the frames of lanes as frameThen of lib/sight.glsl does, one after the other.
static void frames_then(const seeing *c, vi frame, moment when, const pose *camera, sun_frame *f) {
    vf zero = v_set(0), one = v_set(1.0f);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) f->row[i][j] = i == j ? one : zero;
        f->row[i][3] = camera->p[i];
    }
    for (unsigned left = m_bits(m_not(i_eq(frame, i_set(0)))); left;) {
        int of = frame[__builtin_ctz(left)];
        vm on = i_eq(frame, i_set(of));
        left &= ~m_bits(on);
        int record = mover_record(c->s.motion, of - 1);
        for (int j = 0; j < 3; j++) {
            vf axis[3] = {j == 0 ? one : zero, j == 1 ? one : zero, j == 2 ? one : zero}, at[3], along[3];
            into_mover(c->s.motion, record, when, camera->p, axis, at, along);
            for (int i = 0; i < 3; i++) {
                f->row[i][j] = v_sel(on, along[i], f->row[i][j]);
                if (j == 0) f->row[i][3] = v_sel(on, at[i], f->row[i][3]);
            }
        }
    }
}

INLINE vf in_frame(const vf row[4], const vf v[3]) { return row[0] * v[0] + row[1] * v[1] + row[2] * v[2]; }

// reach_to returns the factor of a pixel's direction that reaches what it sees: reachOf of
// lib/reach.glsl.
INLINE vf reach_to(const seeing *c, vi triangle, vi frame, const sun_frame *f, const vf plane[3], const vf ray[3]) {
    vf corner[3][4], out[4], from[3];
    for (int i = 0; i < 3; i++) v_rows(c->s.t.vertices, triangle * 3 + i, corner[i]);
    for (int i = 0; i < 3; i++) from[i] = f->row[i][3] - corner[0][i];
    vf reach = -dot(plane, from) * (1.0f / dot(plane, ray));
    if (c->optics.kind >= LENS_SVL_FISHEYE || c->shutter) return reach;
    v_rows(c->frames, frame * 6 + 5, out);
    vf depth[3];
    for (int i = 0; i < 3; i++) depth[i] = in_frame(out, corner[i]) + out[3];
    vf nearest = v_min(v_min(depth[0], depth[1]), depth[2]), farthest = v_max(v_max(depth[0], depth[1]), depth[2]);
    vf slack = 1e-4f + 1e-5f * farthest;
    return v_min(v_max(reach, v_max(nearest - slack, v_set(0))), farthest + slack);
}

static void sun_packet(const seeing *c, int x, int y) {
    rays r[PACKETS];
    found f[PACKETS];
    vi at[PACKETS][2];
    vm in[PACKETS], sent[PACKETS];
    sun_frame world;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) world.row[i][j] = v_set(c->frames[4 * i + j]);
    for (int k = 0; k < PACKETS; k++) {
        in[k] = packet_pixels(c, k, x, y, at[k]);
        vi pixel = i_sel(in[k], at[k][1] * c->size[0] + at[k][0], i_set(0)) * 2;
        vi id = i_gather(c->ids, pixel), frame = i_gather(c->ids + 1, pixel);
        vm on = in[k] & i_lt(i_set(0), id) & m_not(i_lt(i_set((int32_t)c->s.t.triangles), id)) & i_lt(frame, i_set(c->frame_count));
        vi triangle = i_sel(on, id - 1, i_set(0));
        frame = i_sel(on, frame, i_set(0));
        sun_frame own;
        vf plane[4], ray[3], way[3], optical[3], normal[3];
        v_rows(c->s.t.planes, triangle * 3, plane);
        pixel_rays p;
        rays_of(&c->optics, i_float(at[k][0]), i_float(at[k][1]), &p);
        r[k].seconds = v_set(0);
        if (c->shutter) {
            r[k].seconds = seconds_of(c->shutter, at[k][0], at[k][1]);
            moment when = moment_at(c->s.motion, r[k].seconds);
            pose camera = sensor_pose(c->s.motion, when);
            vf direction[3] = {p.direction[0], p.direction[1], p.direction[2]};
            rotate(camera.q, direction, p.direction);
            frames_then(c, frame, when, &camera, &own);
            frames_then(c, i_set(0), when, &camera, &world);
        } else
            for (int i = 0; i < 3; i++) v_rows(c->frames, frame * 6 + i, own.row[i]);
        for (int i = 0; i < 3; i++) {
            ray[i] = in_frame(own.row[i], p.direction), way[i] = in_frame(world.row[i], p.direction);
            optical[i] = plane[0] * own.row[0][i] + plane[1] * own.row[1][i] + plane[2] * own.row[2][i];
        }
        for (int i = 0; i < 3; i++) normal[i] = in_frame(world.row[i], optical);
        vf length = 1.0f / v_sqrt(dot(normal, normal));
        vm before = v_lt(dot(plane, ray), v_set(0)); // else turned to the camera's side
        for (int i = 0; i < 3; i++) normal[i] = v_sel(before, normal[i] * length, -(normal[i] * length));
        vf facing = normal[0] * c->to_sun[0] + normal[1] * c->to_sun[1] + normal[2] * c->to_sun[2];
        vf reach = reach_to(c, triangle, frame, &own, plane, ray);
        sent[k] = on & v_lt(v_set(0), facing);
        for (int i = 0; i < 3; i++) {
            r[k].o[i] = world.row[i][3] + reach * way[i] + BEFORE * normal[i];
            r[k].d[i] = v_set(c->to_sun[i]);
        }
        r[k].tmin = v_set(0), r[k].number = number_of(at[k][0], at[k][1]);
        r[k].tmax = v_sel(sent[k], v_set(SUN_AWAY), v_set(-1.0f));
    }
    trace(&c->s, r, f, 1);
    for (int k = 0; k < PACKETS; k++) {
        unsigned lit = m_bits(sent[k] & i_lt(f[k].triangle, i_set(0)));
        for (unsigned left = m_bits(in[k]); left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            c->sunlit[(size_t)at[k][1][lane] * (size_t)c->size[0] + (size_t)at[k][0][lane]] = lit >> lane & 1 ? 255 : 0;
        }
    }
}

static void sun_tile(void *data, hd_worker *worker, uint32_t block) {
    (void)worker;
    each_packet(data, block, sun_packet);
}

static int camera_sun(hd_pool *pool, hd_work *w) {
    seeing c = {0};
    const struct { int32_t size[4]; float to_sun[4]; } *sun = hd_block(w, 0, sizeof *sun);
    const hd_texture *seen = w->sampler[HD_SLOT_SENSOR + 1], *to = w->image[0].texture;
    uint32_t texels;
    if (!sun || !seeing_of(w, &c, sun->size, pixels_in(seen, HD_RG32UI))
        || !(c.frames = hd_table(w, HD_SLOT_SENSOR, 16, &texels)))
        return 0;
    if (pixels_in(to, HD_R8) != pixels_in(seen, HD_RG32UI) || texels < 6)
        return hd_fail(w, "what the sun reaches has another size than what is seen");
    memcpy(c.to_sun, sun->to_sun, sizeof c.to_sun);
    c.frame_count = (int32_t)(texels / 6);
    if (c.shutter && c.frame_count > 1 + movers_of(c.s.motion)) c.frame_count = 1 + movers_of(c.s.motion);
    c.ids = (uint32_t *)(void *)(seen->memory->bytes + seen->level[0]);
    c.sunlit = to->memory->bytes + to->level[w->image[0].level];
    hd_parallel(pool, sun_tile, &c, tiles_of(&c));
    return 1;
}
