// The pictures of a camera: camera_shade. Pixels are shaded 16 at a time, or as many as a
// vector has, triangle by triangle: a block of 4 x 4 shows few, and what a triangle gives to all
// of its pixels is worked out once a tile.

// The constants of camera.shade, in the catalogue's order.
enum {
    COLOR, WIDE_COLOR, LUMINANCE, DEPTH, DEPTH_CODES, DEPTH_GREYS, TAGS, TAG_COLORS, WIDE_TAG_COLORS, WIDE_TAGS,
    INSTANCES, WIDE_INSTANCES, INSTANCE_CODES, INSTANCE_COLORS, NORMALS, FLOW,
    SURFACE_TEXTURES, EMISSION_TEXTURES, VERTEX_COLORS, LAMPS, GRID, LENS, GRADED, TRACED, ROLLING, WEATHER,
};

enum { SWAP_RED = 1, TONE_CURVE = 2, FILM_CURVE = 4, LINEAR = 8, SVL_PALETTE = 16 }; // bits of how
enum { SKY_TAG = 11, NO_TAG = 0, KNOWN = 256 };
#define NOT_A_NUMBER 0x7fc00000

// view is the uniform block.
typedef struct {
    int32_t size[2];
    uint32_t how;
    float exposure, depth_range[4], up[4], to_sun[4], sun[4], zenith[4], horizon[4], ground[4], around[4];
    float static_map[3][4], mover_map[3][4], offsets[4];
    float balance[3][4], slope, toe, shoulder, gamma, straight, toe_end, shoulder_start, black_clip, white_clip, rest[3];
    // With WEATHER alone.
    float beyond[4], air_low[4], air_high[4], extinction, air_depth, wetness, snow;
} view;

// shading is one dispatch.
typedef struct {
    const int32_t *on; // the constants
    const view *view;
    optics optics;
    hd_tables t;
    const float *frames, *palette;
    uint32_t frame_count, mover_texels;
    const shutter *shutter; // NULL where all is of one instant
    const float *motion;
    const pictures *colors, *data;
    const struct relief *static_map, *mover_map;
    const hd_texture *sunlit;
    const uint32_t *visible;
    int seen_width, seen_height, tile_width, tile_height, tiles_x, tiles_y; // of the points that are seen
    int light, points, labels, corners;
    uint32_t words[512]; // the palette's colours as bytes
    uint32_t *color, *depth, *tags, *instances, *normals, *flow, *luminance;
    raster *draws; // to be drawn first, or NULL
    int failed;
} shading;

// facts are what a triangle gives to all its pixels. d is a pixel's direction.
typedef struct {
    uint32_t frame;                     // as visible has it
    float plane[3], u[3], v[3];         // times d: the products of the rows with the ray
    float over, u0, v0;                 // reach is over / plane.d, u is u0 + reach * u.d
    float nearest, farthest;
    float normal[3][3], side[3];        // of the corners, optical; their sides of the plane
    float uv[2], edge_u[2], edge_v[2];
    float closed[3];                    // occlusion of a corner, and its changes
    float color[3][3];                  // likewise, of the vertices' colours
    uint32_t material, label, lit;      // lit: it is a lamp that is on
    const float *paint;                 // its mover's colour for the material, or NULL
    float bent[3][3];                   // of a shape that changes
    int changes;
    const float *since;                 // rows of lib/flow.glsl
    // Of points with times of their own. The rest is along the frame's axes then, but for plane_then.
    float corner[3], corner_then[3];    // of the triangle; in the optical frame that the sun's maps are of
    float plane_then[3];                // in that frame
    const float (*then)[4];             // rows that lead there
} facts;

// knowledge is what is known of some triangles of a tile. Whose facts stand at a place is listed
// apart, so that a tile begins by forgetting the list alone.
typedef struct {
    struct known {
        uint32_t triangle, frame; // as visible has them, triangle 0 for none
    } of[KNOWN];
    facts facts[KNOWN];
} knowledge;

static void octahedral(uint32_t code, float n[3]) {
    float x = (float)(int16_t)(code & 0xffff) / 32767.0f, y = (float)(int16_t)(code >> 16) / 32767.0f;
    x = x < -1 ? -1 : x, y = y < -1 ? -1 : y;
    float z = 1 - fabsf(x) - fabsf(y), fold = z < 0 ? -z : 0;
    x += x >= 0 ? -fold : fold, y += y >= 0 ? -fold : fold;
    float size = 1 / sqrtf(x * x + y * y + z * z);
    n[0] = x * size, n[1] = y * size, n[2] = z * size;
}

static void vertex_color(const float *vertex, float c[3]) {
    uint32_t code;
    memcpy(&code, vertex + 3, 4);
    uint32_t rgb = (code & 0x7fffff) | code >> 31 << 23;
    for (int k = 0; k < 3; k++) {
        float root = (float)(rgb >> (8 * k) & 255) / 255.0f;
        c[k] = code & 0x40000000u ? root * root : 1;
    }
}

// turned is a row of the frame times the optical frame's axes.
static void turned(const float (*f)[4], const float row[3], float out[3]) {
    for (int i = 0; i < 3; i++) out[i] = row[0] * f[0][i] + row[1] * f[1][i] + row[2] * f[2][i];
}

// standing_lamps are those that are on in an instance of the static world.
static uint32_t standing_lamps(const shading *s, uint32_t instance) {
    uint32_t texel = s->mover_texels - 1 - (instance >> 4);
    return texel < s->mover_texels ? s->t.movers[4 * (size_t)texel + (instance >> 2 & 3)] >> (8 * (instance & 3)) & 255 : 0;
}

static void learn_light(const shading *s, facts *t, const float *p, const uint32_t *a) {
    float uv[3][2];
    for (int i = 0; i < 3; i++) memcpy(uv[i], a + 4 * i + 1, 8);
    for (int i = 0; i < 2; i++) t->uv[i] = uv[0][i], t->edge_u[i] = uv[1][i] - uv[0][i], t->edge_v[i] = uv[2][i] - uv[0][i];
    for (int i = 0; i < 3; i++) t->closed[i] = (float)(a[11] >> (8 * i) & 255) / 255.0f;
    t->closed[1] -= t->closed[0], t->closed[2] -= t->closed[0];
    if (s->on[VERTEX_COLORS]) {
        for (int i = 0; i < 3; i++) vertex_color(p + 4 * i, t->color[i]);
        for (int k = 0; k < 3; k++) t->color[1][k] -= t->color[0][k], t->color[2][k] -= t->color[0][k];
    }
    uint32_t flags = (uint32_t)s->t.materials[16 * (size_t)t->material + 11];
    if (s->on[LAMPS]) {
        uint32_t lamps = flags >> 4 & 255, side = p[1] > 0 ? 4 : 8, on = t->frame ? t->label >> 24 : standing_lamps(s, t->label & 0xffff);
        if ((lamps & 12) == 12) lamps = (lamps & ~12u) | side;
        t->lit = (lamps & on) != 0;
    }
    const uint32_t *own = t->frame && flags & 4096 ? s->t.movers + 8 * (size_t)(t->frame - 1) + 4 : NULL;
    t->paint = own && own[3] ? (const float *)own : NULL;
}

static void learn_flow(const shading *s, facts *t, const float *p) {
    t->since = s->frames + 24 * (size_t)s->frame_count + 12 * (size_t)t->frame;
    const uint32_t *mover = s->t.movers + 8 * (size_t)(t->frame ? t->frame - 1 : 0);
    t->changes = t->frame != 0 && mover[3] != 0;
    if (!t->changes) return;
    const float *before = p + 12 * (ptrdiff_t)(int32_t)(mover[3] - mover[2]);
    float moved[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) moved[i][k] = before[4 * i + k] - p[4 * i + k];
    for (int i = 1; i < 3; i++)
        for (int k = 0; k < 3; k++) moved[i][k] -= moved[0][k];
    const float(*to)[4] = (const float(*)[4])(s->frames + 24 * (size_t)t->frame + 12);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) t->bent[i][k] = to[k][0] * moved[i][0] + to[k][1] * moved[i][1] + to[k][2] * moved[i][2];
}

static void learn(const shading *s, uint32_t triangle, uint32_t frame, facts *t) {
    size_t n = triangle - 1;
    const float(*f)[4] = (const float(*)[4])(s->frames + 24 * (size_t)frame);
    const float *rows = s->t.planes + 12 * n, *p = s->t.vertices + 12 * n;
    const uint32_t *a = s->t.attributes + 12 * n;
    t->frame = frame;
    t->label = frame ? s->t.movers[8 * (size_t)(frame - 1) + 1] : a[7];
    if (!s->points) return;
    float to[3];
    for (int i = 0; i < 3; i++) to[i] = f[i][3] - p[i];
    turned(f, rows, t->plane), turned(f, rows + 4, t->u), turned(f, rows + 8, t->v);
    t->over = -(rows[0] * to[0] + rows[1] * to[1] + rows[2] * to[2]);
    t->u0 = rows[4] * to[0] + rows[5] * to[1] + rows[6] * to[2];
    t->v0 = rows[8] * to[0] + rows[9] * to[1] + rows[10] * to[2];
    t->nearest = -INFINITY, t->farthest = INFINITY;
    if (s->optics.kind < LENS_SVL_FISHEYE) {
        float z[3];
        for (int i = 0; i < 3; i++) z[i] = f[5][0] * p[4 * i] + f[5][1] * p[4 * i + 1] + f[5][2] * p[4 * i + 2] + f[5][3];
        float slack = 1e-4f + 1e-5f * most3(z);
        t->nearest = most_of(least3(z) - slack, 0), t->farthest = most3(z) + slack;
    }
    if (s->corners)
        for (int i = 0; i < 3; i++) {
            float o[3];
            octahedral(a[4 * i], o);
            t->side[i] = o[0] * rows[0] + o[1] * rows[1] + o[2] * rows[2];
            turned(f, o, t->normal[i]);
        }
    t->material = a[3];
    if (s->light) learn_light(s, t, p, a);
    if (s->on[FLOW]) learn_flow(s, t, p);
}

// paint is what a surface is made of.
typedef struct {
    vf base[4], glow[4], rough[4], places[4]; // the material's rows; colours are under their textures
    reading place;                            // of the base colour's picture
    vm with;                                  // has one
} paint;

// seen is what a vector's pixels see.
typedef struct {
    vi x, y;
    pixel_rays ray;
    vm some; // which see a surface
    int32_t one; // the material, where all have the same, else -1
    vf reach, normal[3], plane[3], closed, color[3], since[3];
    spot spot; // texture coordinates, and their change to the next pixels
    vi material, label, lit;
    paint paint; // of light alone, and the place in the static map
    vf sun[3];
    vm painted; // these have a colour of their mover's
    vf own[3];
    // Of points with times of their own, whose rays are along the world's axes.
    moment when;
    pose camera;
    vf forward;  // of the ray, in the optical frame
    vf place[3]; // in the optical frame that the sun's maps are of
} seen;

// SET gives the pixels that are on a value: all of them, where first is set.
#define SET(to, value) to = first ? (value) : v_sel(on, value, to)
#define SET_I(to, value) to = first ? i_set((int32_t)(value)) : i_sel(on, i_set((int32_t)(value)), to)

// spread is where in a triangle points are, in its coordinates a and b, and how these change to the neighbouring pixels.
typedef struct {
    vf a, b, ux, vx, uy, vy;
} spread;

// surface_of adds what a triangle's surface has at points.
INLINE void surface_of(const shading *s, const facts *t, const spread *p, vm on, seen *h, int first) {
    for (int i = 0; i < 2; i++) {
        SET(h->spot.uv[i], t->uv[i] + p->a * t->edge_u[i] + p->b * t->edge_v[i]);
        SET(h->spot.x[i], p->ux * t->edge_u[i] + p->vx * t->edge_v[i]);
        SET(h->spot.y[i], p->uy * t->edge_u[i] + p->vy * t->edge_v[i]);
    }
    SET(h->closed, t->closed[0] + p->a * t->closed[1] + p->b * t->closed[2]);
    SET_I(h->material, t->material);
    if (t->paint) {
        h->painted = h->painted | on;
        for (int i = 0; i < 3; i++) h->own[i] = v_sel(on, v_set(t->paint[i]), h->own[i]);
    }
    if (s->on[LAMPS]) SET_I(h->lit, t->lit);
    if (s->on[VERTEX_COLORS])
        for (int i = 0; i < 3; i++) SET(h->color[i], t->color[0][i] + p->a * t->color[1][i] + p->b * t->color[2][i]);
}

// point_of adds a triangle's points to what the pixels that are on see. The first triangle's
// are everyone's, until another's come.
INLINE void point_of(const shading *s, const facts *t, vm on, seen *h, int first) {
    vf zero = v_set(0), one = v_set(1.0f);
    const vf *d = h->ray.direction;
    const float *step = s->optics.lens->pixels;
    SET_I(h->label, t->label);
    if (!s->points) return;
    vf across = 1.0f / dot3s(d, t->plane);
    vf r = v_min(v_max(t->over * across, v_set(t->nearest)), v_set(t->farthest));
    SET(h->reach, r);
    if (!s->corners && !s->on[FLOW]) return;
    vf du = dot3s(d, t->u), dv = dot3s(d, t->v), a = t->u0 + r * du, b = t->v0 + r * dv, rest = 1.0f - a - b;
    if (s->on[FLOW]) {
        vf p[3], bent[3], since[3];
        for (int i = 0; i < 3; i++) {
            bent[i] = t->changes ? t->bent[0][i] + a * t->bent[1][i] + b * t->bent[2][i] : zero;
            p[i] = t->changes ? r * d[i] + bent[i] : r * d[i];
        }
        for (int i = 0; i < 3; i++) {
            since[i] = dot3s(p, t->since + 4 * i) + t->since[4 * i + 3];
            if (t->changes) since[i] = bent[i] + since[i];
            h->since[i] = v_sel(on, since[i], h->since[i]);
        }
    }
    if (!s->corners) return;
    vf side = t->side[0] * rest + t->side[1] * a + t->side[2] * b;
    vf sign = v_sel(v_lt(side * across, zero), one, -one), facing = v_sel(v_lt(across, zero), one, -one);
    for (int i = 0; i < 3; i++) {
        SET(h->normal[i], sign * (t->normal[0][i] * rest + t->normal[1][i] * a + t->normal[2][i] * b));
        SET(h->plane[i], facing * t->plane[i]);
    }
    if (!s->light) return;
    // How u and v change to the neighbouring pixels, and with them the texture's.
    vf px, py, ux, vx, uy, vy, rx = r, ry = r;
    if (s->optics.kind == LENS_PINHOLE) {
        rx = r * step[0], ry = r * step[1];
        px = t->plane[0] * across, py = t->plane[1] * across;
        ux = v_set(t->u[0]), vx = v_set(t->v[0]), uy = v_set(t->u[1]), vy = v_set(t->v[1]);
    } else {
        px = dot3s(h->ray.right, t->plane) * across, py = dot3s(h->ray.down, t->plane) * across;
        ux = dot3s(h->ray.right, t->u), vx = dot3s(h->ray.right, t->v), uy = dot3s(h->ray.down, t->u), vy = dot3s(h->ray.down, t->v);
    }
    ux = rx * (ux - du * px), vx = rx * (vx - dv * px), uy = ry * (uy - du * py), vy = ry * (vy - dv * py);
    spread p = {a, b, ux, vx, uy, vy};
    surface_of(s, t, &p, on, h, first);
}

// learn_rolling is learn for points with times of their own.
static void learn_rolling(const shading *s, uint32_t triangle, uint32_t frame, facts *t) {
    size_t n = triangle - 1;
    const float(*f)[4] = (const float(*)[4])(s->frames + 24 * (size_t)frame);
    const float *rows = s->t.planes + 12 * n, *p = s->t.vertices + 12 * n;
    const uint32_t *a = s->t.attributes + 12 * n;
    t->frame = frame;
    t->label = frame ? s->t.movers[8 * (size_t)(frame - 1) + 1] : a[7];
    if (!s->points) return;
    memcpy(t->corner, p, sizeof t->corner);
    memcpy(t->plane, rows, sizeof t->plane), memcpy(t->u, rows + 4, sizeof t->u), memcpy(t->v, rows + 8, sizeof t->v);
    if (s->corners)
        for (int i = 0; i < 3; i++) {
            octahedral(a[4 * i], t->normal[i]);
            t->side[i] = t->normal[i][0] * rows[0] + t->normal[i][1] * rows[1] + t->normal[i][2] * rows[2];
        }
    t->material = a[3];
    if (!s->light) return;
    learn_light(s, t, p, a);
    t->then = f + 3;
    turned(f, rows, t->plane_then);
    for (int i = 0; i < 3; i++) t->corner_then[i] = f[3 + i][0] * p[0] + f[3 + i][1] * p[1] + f[3 + i][2] * p[2] + f[3 + i][3];
}

// framed are the rays of pixels in a frame, each at its own time.
typedef struct {
    uint32_t frame;
    int32_t record;
    vf from[3], direction[3], right[3], down[3];
} framed;

static __attribute__((noinline)) void into_frame(const shading *s, uint32_t frame, const seen *h, framed *f) {
    f->frame = frame;
    f->record = mover_record(s->motion, (int)frame - 1);
    vf at[3];
    into_mover(s->motion, f->record, h->when, h->camera.p, h->ray.direction, f->from, f->direction);
    if (!s->light) return;
    into_mover(s->motion, f->record, h->when, h->camera.p, h->ray.right, at, f->right);
    into_mover(s->motion, f->record, h->when, h->camera.p, h->ray.down, at, f->down);
}

// rolling_point_of is point_of for points with times of their own, in whose frame f has their rays.
INLINE void rolling_point_of(const shading *s, const facts *t, const framed *f, vm on, seen *h) {
    const int first = 0;
    vf zero = v_set(0), one = v_set(1.0f), local[3];
    const vf *d = f->direction;
    SET_I(h->label, t->label);
    if (!s->points) return;
    for (int i = 0; i < 3; i++) local[i] = f->from[i] - t->corner[i];
    vf across = 1.0f / dot3s(d, t->plane), r = -dot3s(local, t->plane) * across;
    SET(h->reach, r);
    if (!s->corners) return;
    for (int i = 0; i < 3; i++) local[i] = local[i] + r * d[i];
    vf a = dot3s(local, t->u), b = dot3s(local, t->v), rest = 1.0f - a - b;
    vf side = t->side[0] * rest + t->side[1] * a + t->side[2] * b;
    vf sign = v_sel(v_lt(side * across, zero), one, -one), facing = v_sel(v_lt(across, zero), one, -one), normal[3];
    for (int i = 0; i < 3; i++) normal[i] = sign * (t->normal[0][i] * rest + t->normal[1][i] * a + t->normal[2][i] * b);
    if (t->frame) {
        vf own[3] = {normal[0], normal[1], normal[2]};
        normal_from_mover(s->motion, f->record, h->when, own, normal);
    }
    for (int i = 0; i < 3; i++) SET(h->normal[i], normal[i]);
    if (!s->light) return;
    for (int i = 0; i < 3; i++) {
        SET(h->plane[i], facing * t->plane_then[i]);
        SET(h->place[i], dot3s(local, t->then[i]) + t->corner_then[i]);
    }
    vf du = dot3s(d, t->u), dv = dot3s(d, t->v), px = dot3s(f->right, t->plane) * across, py = dot3s(f->down, t->plane) * across;
    vf ux = r * (dot3s(f->right, t->u) - du * px), vx = r * (dot3s(f->right, t->v) - dv * px);
    vf uy = r * (dot3s(f->down, t->u) - du * py), vy = r * (dot3s(f->down, t->v) - dv * py);
    spread p = {a, b, ux, vx, uy, vy};
    surface_of(s, t, &p, on, h, first);
}
#undef SET
#undef SET_I

// find_rolling is find for points with times of their own. It turns their rays to the world's axes.
INLINE void find_rolling(const shading *s, vi triangle, vi frame, seen *h, knowledge *memory) {
    vf zero = v_set(0), one = v_set(1.0f);
    framed world = {0}, mover = {0};
    h->when = moment_at(s->motion, seconds_of(s->shutter, h->x, h->y));
    h->camera = sensor_pose(s->motion, h->when);
    h->forward = h->ray.direction[2];
    rotate(h->camera.q, h->ray.direction, world.direction);
    for (int i = 0; i < 3; i++) h->ray.direction[i] = world.direction[i], world.from[i] = h->camera.p[i];
    if (s->light) {
        rotate(h->camera.q, h->ray.right, world.right), rotate(h->camera.q, h->ray.down, world.down);
        for (int i = 0; i < 3; i++) h->ray.right[i] = world.right[i], h->ray.down[i] = world.down[i];
    }
    h->some = m_not(i_eq(triangle, i_set(0)));
    h->one = -1, h->painted = m_first(0);
    h->reach = one, h->label = h->lit = h->material = i_set(0), h->closed = zero;
    for (int i = 0; i < 3; i++) {
        h->own[i] = h->plane[i] = h->place[i] = h->color[i] = zero;
        h->normal[i] = i == 2 ? one : zero;
    }
    for (int i = 0; i < 2; i++) h->spot.uv[i] = h->spot.x[i] = h->spot.y[i] = zero;
    int first = 1;
    for (unsigned left = m_bits(h->some); left; first = 0) {
        int l = __builtin_ctz(left);
        uint32_t next = (uint32_t)triangle[l], of = (uint32_t)frame[l];
        vm on = i_eq(triangle, i_set((int32_t)next)) & i_eq(frame, i_set((int32_t)of));
        left &= ~m_bits(on);
        uint32_t place = (next ^ of * 77) % KNOWN;
        struct known *known = &memory->of[place];
        facts *t = &memory->facts[place];
        if (known->triangle != next || known->frame != of) {
            *known = (struct known){next, of};
            learn_rolling(s, next, of, t);
        }
        if (s->points && of && mover.frame != of) into_frame(s, of, h, &mover);
        h->one = first || h->one == (int32_t)t->material ? (int32_t)t->material : -1;
        rolling_point_of(s, t, of ? &mover : &world, on, h);
    }
    if (!s->corners) return;
    vf size = 1.0f / v_sqrt(dot3(h->normal, h->normal));
    for (int i = 0; i < 3; i++) h->normal[i] = h->normal[i] * size;
}

// find finds the points of the triangles that the pixels show, one triangle after the other.
INLINE void find(const shading *s, vi triangle, vi frame, seen *h, knowledge *memory) {
    vf zero = v_set(0), one = v_set(1.0f);
    h->some = m_not(i_eq(triangle, i_set(0)));
    h->one = -1, h->painted = m_first(0);
    for (int i = 0; i < 3; i++) h->since[i] = h->own[i] = zero;
    if (s->on[FLOW]) { // of the sky
        const float *since = s->frames + 24 * (size_t)s->frame_count;
        for (int i = 0; i < 3; i++) h->since[i] = dot3s(h->ray.direction, since + 4 * i);
    }
    unsigned left = m_bits(h->some);
    if (!left) {
        h->reach = one, h->label = i_set(0);
        for (int i = 0; i < 3; i++) h->normal[i] = i == 2 ? one : zero;
    }
    for (int first = 1; left; first = 0) {
        int l = __builtin_ctz(left);
        uint32_t next = (uint32_t)triangle[l], of = (uint32_t)frame[l];
        vm on = i_eq(triangle, i_set((int32_t)next)) & i_eq(frame, i_set((int32_t)of));
        left &= ~m_bits(on);
        uint32_t place = (next ^ of * 77) % KNOWN;
        struct known *known = &memory->of[place];
        facts *t = &memory->facts[place];
        if (known->triangle != next || known->frame != of) {
            *known = (struct known){next, of};
            learn(s, next, of, t);
        }
        if (first) {
            h->one = (int32_t)t->material;
            point_of(s, t, on, h, 1);
            continue;
        }
        if (h->one != (int32_t)t->material) h->one = -1;
        point_of(s, t, on, h, 0);
    }
    if (!s->corners) return;
    vf size = 1.0f / v_sqrt(dot3(h->normal, h->normal));
    for (int i = 0; i < 3; i++) h->normal[i] = h->normal[i] * size;
}

// Shadows. What is in a map's blocks of 16 x 16 texels tells of most pixels whether the sun
// reaches them.

enum { REGION = 16 };

// relief has, of each block and the texels around it, the least depth and the greatest.
typedef struct relief {
    const hd_texture *map;
    float *range;
    int across;
    uint64_t drawings;      // of the map's patches, when the ranges were made
    const patches *patches; // those that have changed since; NULL for all
} relief;

static const char relief_key;

static void relief_drop(void *data) {
    free(((relief *)data)->range);
    free(data);
}

// stays tells whether a block and the texels around it are in tiles that haven't changed.
static int stays(const relief *r, int x, int y) {
    int across = (r->map->width + TILE - 1) / TILE, down = (r->map->height + TILE - 1) / TILE;
    x = x * REGION / TILE, y = y * REGION / TILE;
    for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < down; v++)
        for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < across; u++)
            if (r->patches->changed[v * across + u]) return 0;
    return 1;
}

// relief_block makes a row of blocks.
static void relief_block(void *data, hd_worker *w, uint32_t row) {
    (void)w;
    const relief *r = data;
    int width = r->map->width, height = r->map->height;
    const float *texels = (const float *)(r->map->memory->bytes + r->map->level[0]);
    for (int b = 0; b < r->across; b++) {
        if (r->patches && stays(r, b, (int)row)) continue;
        vf least = v_set(INFINITY), most = v_set(-INFINITY);
        // The outermost vectors begin at left and right.
        int left = b > 0 ? b * REGION - 1 : 0, right = (b + 1 < r->across ? (b + 1) * REGION + 1 : width) - LANES;
        for (int y = (int)row * REGION - 1; y <= (int)(row + 1) * REGION; y++) {
            if (y < 0 || y >= height) continue;
            const float *line = texels + (size_t)y * (size_t)width;
            for (int x = left; x < right + LANES; x += LANES) {
                vf here = v_load(line + (x < right ? x : right));
                least = v_min(least, here), most = v_max(most, here);
            }
        }
        float *to = r->range + 2 * ((size_t)row * (size_t)r->across + (size_t)b);
        to[0] = v_least(least), to[1] = v_greatest(most);
    }
}

// relief_of returns that of a map as it is; NULL after hd_fail.
static const relief *relief_of(hd_pool *p, hd_work *w, const hd_texture *map) {
    hd_derived *kept = hd_derive(map->memory, &relief_key);
    if (kept && kept->data && kept->lo >= kept->hi) return kept->data;
    int across = map->width / REGION, down = map->height / REGION;
    if (map->width % REGION || map->height % REGION) {
        hd_fail(w, "a map of shadows has %d x %d texels, not whole blocks of %d", map->width, map->height, REGION);
        return NULL;
    }
    relief *r = !kept ? NULL : kept->data ? kept->data : calloc(1, sizeof *r);
    if (r && !r->range) r->range = calloc((size_t)across * (size_t)down, 8);
    if (!r || !r->range) {
        free(kept && kept->data ? NULL : r);
        hd_fail(w, "no memory for a map of shadows");
        return NULL;
    }
    r->map = map, r->across = across;
    const hd_derived *drawn = hd_derive(map->memory, &patches_key);
    const patches *now = drawn ? drawn->data : NULL;
    r->patches = now && drawn->lo >= drawn->hi && kept->data && r->drawings + 1 == now->drawings ? now : NULL;
    r->drawings = now ? now->drawings : 0;
    hd_parallel(p, relief_block, r, (uint32_t)down);
    kept->data = r, kept->drop = relief_drop, kept->lo = kept->hi = 0;
    return r;
}

// range_at returns the least and the greatest depth around texels, of those that are on.
INLINE void range_at(const relief *r, vi x, vi y, vm on, vf range[2]) {
    vi block = i_sel(on, ((y >> 4) * r->across + (x >> 4)) * 2, i_set(0));
    int32_t first = block[__builtin_ctz(m_bits(on))];
    if (!m_any(on & m_not(i_eq(block, i_set(first))))) range[0] = v_set(r->range[first]), range[1] = v_set(r->range[first + 1]);
    else range[0] = v_gather(r->range, block), range[1] = v_gather(r->range + 1, block);
}

INLINE void in_map(const float map[3][4], const vf p[3], vf at[3]) {
    for (int i = 0; i < 3; i++) at[i] = dot3s(p, map[i]) + map[i][3];
}

// inside_map is 1 within a map and 0 outside, with a soft edge.
INLINE vf inside_map(const vf at[3]) {
    return clamp01(20.0f - 40.0f * v_max(v_abs(at[0] - 0.5f), v_abs(at[1] - 0.5f)));
}

// softly is that of the shader: 3 x 3 texels under a quadratic B-spline, each compared with the
// surface's plane. Next to the map's edge, where shadows have ended, it takes those further in.
INLINE vf softly(const relief *r, const vf at[3], const vf slope[2], vm on) {
    int size = r->map->width;
    vf x = v_min(v_max(at[0] * (float)size, v_set(1.0f)), v_set((float)(size - 2))),
        y = v_min(v_max(at[1] * (float)size, v_set(1.0f)), v_set((float)(size - 2)));
    vf fx = v_floor(x), fy = v_floor(y), f[2] = {x - fx - 0.5f, y - fy - 0.5f}, range[2];
    // middle is the plane's depth there, and spread how much it changes around.
    vf middle = at[2] - (slope[0] * f[0] + slope[1] * f[1]), spread = v_abs(slope[0]) + v_abs(slope[1]);
    vi column = v_trunc(fx), line = v_trunc(fy);
    range_at(r, column, line, on, range);
    vm clear = v_lt(middle + spread, range[0]), dark = v_le(range[1], middle - spread);
    vf sum = v_sel(clear, v_set(1.0f), v_set(0));
    vm open = on & m_not(clear) & m_not(dark);
    if (!m_any(open)) return sum;
    vf weight[2][3], all = v_set(0);
    for (int i = 0; i < 2; i++) {
        weight[i][0] = 0.5f * (0.5f - f[i]) * (0.5f - f[i]), weight[i][2] = 0.5f * (0.5f + f[i]) * (0.5f + f[i]);
        weight[i][1] = 0.75f - f[i] * f[i];
    }
    vi first = i_sel(open, line * size + column, i_set(size + 1)) - (size + 1);
    for (int j = 0; j < 3; j++) {
        vf row = v_set(0), texels[4], plane = middle + slope[1] * (float)(j - 1);
        v_quads(r->map->memory->bytes + r->map->level[0], first + j * size, texels);
        for (int i = 0; i < 3; i++) row = row + v_sel(v_lt(plane + slope[0] * (float)(i - 1), texels[i]), weight[0][i], v_set(0));
        all = all + weight[1][j] * row;
    }
    return v_sel(open, all, sum);
}

// compared is texture of a sampler2DShadow: at the four texels around, interpolated.
INLINE vf compared(const relief *r, const vf at[3], vm on) {
    int size = r->map->width;
    vf most = v_set((float)(size - 1)), zero = v_set(0), one = v_set(1.0f), range[2];
    vf x = v_min(v_max(at[0] * (float)size - 0.5f, zero), most), y = v_min(v_max(at[1] * (float)size - 0.5f, zero), most);
    vf fx = v_min(v_floor(x), most - 1.0f), fy = v_min(v_floor(y), most - 1.0f);
    vi column = v_trunc(fx), line = v_trunc(fy);
    range_at(r, column, line, on, range);
    vm clear = v_le(at[2], range[0]), dark = v_lt(range[1], at[2]);
    vf sum = v_sel(clear, one, zero);
    vm open = on & m_not(clear) & m_not(dark);
    if (!m_any(open)) return sum;
    vi corner = i_sel(open, line * size + column, i_set(0));
    fx = x - fx, fy = y - fy;
    vf s[4], texels[4];
    for (int k = 0; k < 4; k += 2) {
        v_quads(r->map->memory->bytes + r->map->level[0], corner + (k >> 1) * size, texels);
        for (int i = 0; i < 2; i++) s[k + i] = v_sel(v_le(at[2], texels[i]), one, zero);
    }
    return v_sel(open, mixed(mixed(s[0], s[1], fx), mixed(s[2], s[3], fx), fy), sum);
}

// shaded_by finds where the pixels are in the static map, and asks for what is there.
INLINE void shaded_by(const shading *s, seen *h, int rolling) {
    const relief *r = s->static_map;
    vf p[3], most = v_set((float)(r->map->width - 1)), zero = v_set(0), size = v_set((float)r->map->width);
    for (int i = 0; i < 3; i++) p[i] = rolling ? h->place[i] : h->reach * h->ray.direction[i];
    in_map(s->view->static_map, p, h->sun);
    vi x = v_trunc(v_min(v_max(h->sun[0] * size, zero), most)), y = v_trunc(v_min(v_max(h->sun[1] * size, zero), most));
    vi place = y * r->map->width + x, block = ((y >> 4) * r->across + (x >> 4)) * 2;
    const float *texels = (const float *)(r->map->memory->bytes + r->map->level[0]);
    for (int l = 0; l < LANES; l = next_end(l)) __builtin_prefetch(texels + place[l]);
    for (int l = 0; l < LANES; l += LANES - 1) __builtin_prefetch(r->range + block[l]);
}

// sunlight is how much of the sun reaches what the pixels see, of those that are on.
INLINE vf sunlight(const shading *s, const seen *h, vm on, int rolling) {
    const view *v = s->view;
    vf one = v_set(1.0f), lit = one;
    if (s->on[TRACED]) {
        const uint8_t *bytes = s->sunlit->memory->bytes + s->sunlit->level[0];
        vi place = h->y * s->seen_width + h->x;
        for (int l = 0; l < LANES; l++) lit[l] = (float)bytes[place[l]] * (1.0f / 255.0f);
        return lit;
    }
    vf at[3] = {h->sun[0], h->sun[1], h->sun[2] - v->offsets[0]}, b[3];
    for (int i = 0; i < 3; i++) b[i] = (rolling ? h->place[i] : h->reach * h->ray.direction[i]) + h->plane[i] * v->offsets[1];
    vf within = inside_map(at);
    vm some = on & v_lt(v_set(0), within);
    if (m_any(some)) {
        vf n[3], slope[2];
        for (int i = 0; i < 3; i++) n[i] = dot3s(h->plane, v->static_map[i]);
        vf scale = -v->offsets[3] / v_min(n[2], v_set(-1e-9f));
        slope[0] = scale * n[0], slope[1] = scale * n[1];
        lit = v_sel(some, mixed(one, softly(s->static_map, at, slope, some), within), one);
    }
    in_map(v->mover_map, b, at);
    within = inside_map(at);
    some = on & v_lt(v_set(0), within);
    if (m_any(some)) lit = v_sel(some, lit * mixed(one, compared(s->mover_map, at, some), within), lit);
    return lit;
}

// Light.

// paint_of finds what the surfaces are made of, and asks for the texels of their base colours.
INLINE void paint_of(const shading *s, seen *h) {
    paint *m = &h->paint;
    if (h->one >= 0) {
        const float *row = s->t.materials + 16 * (size_t)h->one;
        for (int k = 0; k < 4; k++) m->base[k] = v_set(row[k]), m->glow[k] = v_set(row[4 + k]),
            m->rough[k] = v_set(row[8 + k]), m->places[k] = v_set(row[12 + k]);
    } else {
        v_rows(s->t.materials, h->material * 4, m->base);
        v_rows(s->t.materials, h->material * 4 + 1, m->glow);
        v_rows(s->t.materials, h->material * 4 + 2, m->rough);
        v_rows(s->t.materials, h->material * 4 + 3, m->places);
    }
    if (m_any(h->painted))
        for (int k = 0; k < 3; k++) m->base[k] = v_sel(h->painted, h->own[k], m->base[k]);
    vi record = v_trunc(m->places[0]);
    m->with = h->some & i_lt(i_set(-1), record);
    if (!m_any(m->with)) return;
    picture p = picture_at(&s->t, s->t.color, record, m->with);
    reading_of(s->colors, &p, &h->spot, m->with, &m->place);
    fetch(s->colors, &m->place);
}

// second reads the picture of metallic and roughness, or of emission: k is 0 or 1.
INLINE void second(const shading *s, const seen *h, int k, vi record, vm on, vf out[3]) {
    spot at = h->spot;
    vi transforms = v_trunc(h->paint.places[3]);
    vm own = on & m_not(i_eq(transforms, i_set(0)));
    if (m_any(own)) {
        for (int i = 0; i < 2; i++) {
            vf row[4];
            v_rows(s->t.materials, i_sel(own, transforms + 2 * k + i, i_set(0)), row);
            at.uv[i] = v_sel(own, row[0] * h->spot.uv[0] + row[1] * h->spot.uv[1] + row[2], at.uv[i]);
            at.x[i] = v_sel(own, row[0] * h->spot.x[0] + row[1] * h->spot.x[1], at.x[i]);
            at.y[i] = v_sel(own, row[0] * h->spot.y[0] + row[1] * h->spot.y[1], at.y[i]);
        }
    }
    const pictures *of = k ? s->colors : s->data;
    picture p = picture_at(&s->t, k ? s->t.color : s->t.data, record, on);
    reading t;
    reading_of(of, &p, &at, on, &t);
    sampled(of, &t, out);
}

// textured takes what textures say of the materials.
INLINE void textured(const shading *s, seen *h) {
    paint *m = &h->paint;
    vf t[3];
    if (m_any(m->with)) {
        sampled(s->colors, &m->place, t);
        for (int k = 0; k < 3; k++) m->base[k] = v_sel(m->with, m->base[k] * t[k], m->base[k]);
    }
    if (s->on[SURFACE_TEXTURES]) {
        vi record = v_trunc(m->places[1]);
        vm on = h->some & i_lt(i_set(-1), record);
        if (m_any(on)) {
            second(s, h, 0, record, on, t);
            m->rough[0] = v_sel(on, m->rough[0] * t[2], m->rough[0]), m->rough[1] = v_sel(on, m->rough[1] * t[1], m->rough[1]);
        }
    }
    if (s->on[EMISSION_TEXTURES]) {
        vi record = v_trunc(m->places[2]);
        vm on = h->some & i_lt(i_set(-1), record);
        if (m_any(on)) {
            second(s, h, 1, record, on, t);
            for (int k = 0; k < 3; k++) m->glow[k] = v_sel(on, m->glow[k] * t[k], m->glow[k]);
        }
    }
    if (s->on[VERTEX_COLORS])
        for (int k = 0; k < 3; k++) m->base[k] = m->base[k] * h->color[k];
    if (s->on[LAMPS])
        for (int k = 0; k < 3; k++) m->glow[k] = v_sel(i_eq(h->lit, i_set(1)), 6.0f * m->base[k], m->glow[k]);
}

// airlight is that of lib/shade.glsl. rise is the share of what is above.
INLINE vf airlight(const view *l, int i, vf rise) { return l->air_low[i] + rise * (l->air_high[i] - l->air_low[i]); }

INLINE vf rise_of(vf height) { return 1.0f - exp2_of(-4.5f * v_max(height, v_set(0))); }

// through_air is throughAir.
INLINE vf through_air(const view *l, vf height) { return exp2_of(-l->air_depth / v_max(v_abs(height), v_set(1e-6f))); }

#define SNOW 0.85f
#define FILM_ABOVE 0.066f
#define FILM_BELOW 0.472f
#define WATER 0.02f
#define WATER_ROUGHNESS 0.08f

// wetting is how much of the surfaces is under a film of water, and what it mirrors.
typedef struct {
    vf film, mirrors;
} wetting;

// weathered puts snow on the surfaces, and makes them as dark as water does.
INLINE wetting weathered(const shading *s, seen *h, vf ne) {
    const view *l = s->view;
    paint *m = &h->paint;
    const vf *normal = h->normal;
    vf zero = v_set(0), up = dot3s(normal, l->up), snow = zero;
    wetting w = {zero, zero};
    if (l->snow > 0) snow = l->snow * smoothly(clamp01((up - 0.64f) * (1.0f / (0.87f - 0.64f))));
    if (l->wetness > 0) {
        vm soaks = soaks_up(h->label);
        vf wet = l->wetness * smoothly(clamp01((up - 0.87f) * (1.0f / (0.97f - 0.87f)))) * (1.0f - snow);
        vf g = v_sqrt(0.7689f + ne * ne), sum = g + ne, less = g - ne, a = less / sum, b = (ne * sum - 1.0f) / (ne * less + 1.0f);
        w.film = v_sel(soaks, zero, wet), w.mirrors = v_sel(soaks, v_set(WATER), 0.5f * a * a * (1.0f + b * b));
        vf in = (1.0f - w.mirrors) * ((1.0f - FILM_ABOVE) * (1.0f - FILM_BELOW) / (1.0f - WATER)), on = wet * (1.0f - m->rough[0]);
        for (int i = 0; i < 3; i++) m->base[i] = mixed(m->base[i], in * m->base[i] / (1.0f - FILM_BELOW * m->base[i]), on);
    }
    if (l->snow > 0) {
        for (int i = 0; i < 3; i++) m->base[i] = mixed(m->base[i], v_set(SNOW), snow);
        m->rough[0] = m->rough[0] * (1.0f - snow), m->rough[1] = mixed(m->rough[1], v_set(1.0f), snow);
    }
    return w;
}

// radiance is that of lib/shade.glsl.
INLINE void radiance(const shading *s, seen *h, const vf eye[3], vf color[3], int rolling, int weather) {
    const view *l = s->view;
    paint *m = &h->paint;
    vf zero = v_set(0), one = v_set(1.0f), ns = v_max(dot3s(h->normal, l->to_sun), zero), lit = one;
    vm sunny = h->some & v_lt(zero, ns);
    if (m_any(sunny)) lit = sunlight(s, h, sunny, rolling);
    vf ne = v_max(dot3(h->normal, eye), v_set(1e-3f));
    wetting wet = {zero, zero};
    if (weather) wet = weathered(s, h, ne);
    vf own = v_min(v_max(m->rough[1], v_set(0.06f)), one), roughness = own, metallic = m->rough[0];
    if (weather) roughness = mixed(own, v_set(WATER_ROUGHNESS), wet.film);
    vf alpha = roughness * roughness;
    vf between[3];
    for (int i = 0; i < 3; i++) between[i] = l->to_sun[i] + eye[i];
    vf scale = 1.0f / v_sqrt(v_max(dot3(between, between), v_set(1e-12f)));
    vf nb = v_max(dot3(h->normal, between) * scale, zero), eb = v_max(dot3(eye, between) * scale, zero);
    vf a2 = alpha * alpha, q = nb * nb * (a2 - 1.0f) + 1.0f, k = 0.5f * alpha;
    vf lobe = v_min(a2 / (12.566371f * q * q * (ne * (1.0f - k) + k) * (ns * (1.0f - k) + k)), v_set(60.0f));
    vf g = 1.0f - eb, g2 = g * g, g5 = g2 * g2 * g;
    vf r0 = 1.0f - own, r1 = 0.0425f - 0.0275f * own, r2 = 1.04f - 0.572f * own, r3 = 0.022f * own - 0.04f;
    vf fit = v_min(r0 * r0, exp2_of(-9.28f * ne)) * r0 + r1, split_x = r2 - 1.04f * fit, split_y = r3 + 1.04f * fit;
    vf mirror = 2.0f * dot3(h->normal, eye), height = zero;
    for (int i = 0; i < 3; i++) height = height + (h->normal[i] * mirror - eye[i]) * l->up[i];
    vf rise = 1.0f - exp2_of(-4.5f * v_max(height, zero)), edge = 0.03f + 0.5f * roughness;
    vf sky = smoothly(clamp01((height + edge) / (2.0f * edge))), above = 0.5f + 0.5f * dot3s(h->normal, l->up);
    vf open = clamp01(1.0f - h->closed), through = one;
    if (weather) through = through_air(l, height);
    for (int i = 0; i < 3; i++) {
        vf diffuse = m->base[i] * (1.0f - metallic), bare = 0.04f + metallic * (m->base[i] - 0.04f), specular = bare;
        if (weather) specular = mixed(bare, v_set(WATER), wet.film);
        vf fresnel = specular + (1.0f - specular) * g5;
        vf direct = (diffuse * 0.31830989f + lobe * fresnel) * (l->sun[i] * (ns * lit));
        vf seen_sky = l->horizon[i] + rise * (l->zenith[i] - l->horizon[i]), gloss = bare * split_x + split_y;
        if (weather) seen_sky = mixed(airlight(l, i, rise), seen_sky, through), gloss = mixed(gloss, wet.mirrors, wet.film);
        vf mirrored = mixed(v_set(l->ground[i]), seen_sky, sky);
        vf around = diffuse * (l->ground[i] + above * (l->around[i] - l->ground[i])) + gloss * mirrored;
        color[i] = direct + open * around + m->glow[i];
    }
}

INLINE void sky_radiance(const view *l, const vf direction[3], vf color[3], int weather) {
    vf zero = v_set(0), height = dot3s(direction, l->up), toward = v_max(dot3s(direction, l->to_sun), zero);
    vf rise = 1.0f - exp2_of(-4.5f * v_max(height, zero)), below = clamp01(-10.0f * height);
    vf t8 = toward * toward;
    t8 = t8 * t8, t8 = t8 * t8;
    vf t64 = t8 * t8;
    t64 = t64 * t64, t64 = t64 * t64;
    vf sun = 0.012f * t8 + 0.05f * t64 + 8.0f * smoothly(clamp01((toward - 0.99996f) * (1.0f / (0.99998f - 0.99996f))));
    vm under = v_lt(height, zero);
    const float *of = weather ? l->beyond : l->sun;
    vf through = weather ? through_air(l, height) : v_set(1.0f);
    for (int i = 0; i < 3; i++) {
        vf h = v_set(l->horizon[i]);
        color[i] = v_sel(under, mixed(h, v_set(l->ground[i]), below), mixed(h, v_set(l->zenith[i]), rise)) + of[i] * sun;
        if (weather) color[i] = mixed(airlight(l, i, rise), color[i], through);
    }
}

// film_curve is that of lib/grade.glsl.
INLINE vf film_curve(const view *g, vf c) {
    vf x = log_of(v_min(v_max(c, v_set(1e-8f)), v_set(3e38f))) * 0.43429448f, line = g->slope * (x + g->straight);
    vf low = 2.0f * g->toe / (1.0f + exp_of((-2.0f * g->slope / g->toe) * (x - g->toe_end))) - g->black_clip;
    vf high = (1.0f + g->white_clip) - 2.0f * g->shoulder / (1.0f + exp_of((2.0f * g->slope / g->shoulder) * (x - g->shoulder_start)));
    low = v_sel(v_lt(x, v_set(g->toe_end)), low, line);
    high = v_sel(v_lt(v_set(g->shoulder_start), x), high, line);
    vf t = clamp01((x - g->toe_end) / (g->shoulder_start - g->toe_end));
    if (g->shoulder_start < g->toe_end) t = 1.0f - t;
    return clamp01(mixed(low, high, smoothly(t)));
}

// color_of is what the pixels show, 0 to 1, linear.
INLINE void color_of(const shading *s, seen *h, vf color[3], int rolling, int weather) {
    const view *v = s->view;
    vf away = 1.0f / v_sqrt(dot3(h->ray.direction, h->ray.direction)), eye[3], toward[3], zero = v_set(0);
    for (int i = 0; i < 3; i++) toward[i] = h->ray.direction[i] * away, eye[i] = -toward[i], color[i] = zero;
    vm plain = h->some & m_not(h->some);
    vf painted[3], left = v_set(1.0f); // left of light on its way through the air
    if (m_any(h->some)) {
        textured(s, h);
        if (weather)
            for (int i = 0; i < 3; i++) painted[i] = h->paint.base[i];
        radiance(s, h, eye, color, rolling, weather);
        plain = h->some & m_not(i_eq(v_trunc(h->paint.rough[3]) & 4, i_set(0))) & h->ray.seeing;
        if (weather && v->extinction > 0) {
            left = exp2_of(-v->extinction * h->reach / away);
            vf rise = rise_of(dot3s(toward, v->up)), of = m_any(plain) ? v_sel(plain, zero, left) : left;
            for (int i = 0; i < 3; i++) color[i] = mixed(airlight(v, i, rise), color[i], of);
        }
    }
    if (m_any(m_not(h->some) & m_all())) {
        vf sky[3];
        sky_radiance(v, toward, sky, weather);
        for (int i = 0; i < 3; i++) color[i] = v_sel(h->some, color[i], sky[i]);
    }
    for (int i = 0; i < 3; i++) color[i] = v_sel(h->ray.seeing, color[i] * v->exposure, zero);
    if (s->on[GRADED]) {
        vf c[3] = {color[0], color[1], color[2]};
        for (int i = 0; i < 3; i++) color[i] = v_max(dot3s(c, v->balance[i]), zero);
    }
    for (int i = 0; i < 3; i++) {
        if (s->on[GRADED] && v->how & FILM_CURVE) color[i] = film_curve(v, color[i]);
        else color[i] = v->how & TONE_CURVE ? tone_curve(color[i]) : clamp01(color[i]);
        // An unlit surface is shown as it is painted, but for the air before it.
        if (m_any(plain)) color[i] = v_sel(plain, weather ? mixed(color[i], painted[i], left) : h->paint.base[i], color[i]);
    }
}

// color_in_weather is apart, so that the code of clear air stays as it is.
static __attribute__((noinline)) void color_in_weather(const shading *s, seen *h, vf color[3], int rolling) {
    color_of(s, h, color, rolling, 1);
}

// encoded returns colours as three bytes in a word, red the lowest.
INLINE vi encoded(const shading *s, const vf color[3]) {
    vi word = i_set(0);
    for (int i = 0; i < 3; i++) {
        vf c = color[i];
        if (!s->on[GRADED]) c = encode_srgb(c);
        else if (!(s->view->how & LINEAR)) c = encode_srgb(power_of(c, s->view->gamma));
        word = word | v_trunc(v_min(v_max(c, v_set(0)), v_set(1.0f)) * 255.0f + 0.5f) << (8 * i);
    }
    return word;
}

INLINE vi swapped(vi rgb) { return (rgb & 0xff00) | (rgb >> 16 & 0xff) | (rgb & 0xff) << 16; }

// instance_color is that of the shader.
static uint32_t instance_color(const shading *s, uint32_t tag, uint32_t instance) {
    const float *c = s->palette + 4 * (256 + tag);
    float most = most3(c), least = least3(c), usual[2] = {most > 0 ? 1 - least / most : 0, most}, sv[2];
    uint32_t k = instance * 2531u, word = 0;
    for (int i = 0; i < 2; i++) {
        float own = ((float)(k >> (6 * i) & 63) + 0.5f) / 64.0f, low = most_of(usual[i] - 0.25f, 0), high = least_of(usual[i] + 0.25f, 1);
        sv[i] = low + own * (high - low);
    }
    for (int i = 0; i < 3; i++) {
        float hue = most > least ? (c[i] - least) / (most - least) : i == 0 ? 1.0f : 0.0f;
        float x = instance == 0 ? c[i] : sv[1] * (1 - sv[0] * (1 - hue));
        word |= (uint32_t)(x * 255.0f + 0.5f) << (8 * i);
    }
    return word;
}

// What is written. A line of a block has four pixels, of which n are on the picture.

INLINE void write_words(uint32_t *picture, size_t at, const uint32_t *words, int n) { copy_words(picture + at, words, n, 4); }

// write_triples packs three bytes a pixel. Rows are padded to whole words, which hold what the
// last pixel would have beside the picture.
INLINE void write_triples(uint32_t *picture, int width, int x, int y, const uint32_t *c, int n) {
    uint32_t words[3] = {c[0] | c[1] << 24, c[1] >> 8 | c[2] << 16, c[2] >> 16 | c[3] << 8};
    copy_words(picture + (size_t)y * (size_t)((3 * width + 3) / 4) + 3 * (size_t)(x / 4), words, (3 * n + 3) / 4, 3);
}

INLINE void write_quads(uint32_t *picture, int width, int x, int y, const uint32_t *b) {
    picture[(size_t)y * (size_t)((width + 3) / 4) + (size_t)(x / 4)] = (b[0] & 255) | (b[1] & 255) << 8 | (b[2] & 255) << 16 | b[3] << 24;
}

#define LINES(x0, y0, line, x, y, n, width, height)                                         \
    for (int line = 0, x = (x0), y = (y0), n = (width) - x < 4 ? (width) - x : 4; line < LANES && y < (height); line += 4, y++)

// write_color writes what bytes of light the four or more pixels from x0 and y0 on show.
INLINE void write_color(const shading *s, int x0, int y0, vi rgb) {
    int width = s->view->size[0], height = s->view->size[1];
    vi words = rgb;
    if (s->on[COLOR] && s->view->how & SWAP_RED) words = swapped(rgb);
    if (s->on[WIDE_COLOR]) words = swapped(rgb) | (int32_t)0xff000000;
    if (s->on[LUMINANCE]) words = 2989 * (rgb & 255) + 5870 * (rgb >> 8 & 255) + 1140 * (rgb >> 16 & 255);
    uint32_t lines[LANES] __attribute__((aligned(64)));
    i_store(lines, words);
    LINES(x0, y0, l, x, y, n, width, height) {
        size_t at = (size_t)y * (size_t)width + (size_t)x;
        if (s->on[COLOR]) write_triples(s->color, width, x, y, lines + l, n);
        if (s->on[WIDE_COLOR]) write_words(s->color, at, lines + l, n);
        if (s->on[LUMINANCE]) write_words(s->luminance, at, lines + l, n);
    }
}

INLINE void write_depth(const shading *s, const seen *h, int x0, int y0, int rolling) {
    const view *v = s->view;
    int width = v->size[0], height = v->size[1];
    vf z = h->reach * (rolling ? h->forward : h->ray.direction[2]), near = v_set(v->depth_range[0]), far = v_set(v->depth_range[1]);
    vi words;
    vm seeing = h->ray.seeing;
    if (s->on[DEPTH]) {
        vm beyond = m_not(h->some) | v_lt(far, z);
        z = v_sel(beyond, v_set(INFINITY), v_sel(v_lt(z, near), v_set(-INFINITY), z));
        words = i_sel(seeing, as_i(z), i_set(NOT_A_NUMBER));
    } else if (s->on[DEPTH_CODES]) {
        vf exact = v_min(v_max(z, v_set(0)) * 16777.215f, v_set(16777215.0f)), whole = v_floor(exact);
        vi code = i_sel(v_ge(exact - whole, v_set(0.5f)), v_trunc(whole) + 1, v_trunc(whole)); // a half added would round again
        code = i_sel(v_lt(z, near), i_set(0), code);
        code = i_sel(m_not(h->some) | v_lt(far, z), i_set(0xffffff), code);
        words = swapped(i_sel(seeing, code, i_set(0))) | (int32_t)0xff000000;
    } else {
        vf range = h->reach * v_sqrt(dot3(h->ray.direction, h->ray.direction));
        words = v_trunc(255.0f * power_of(v_min(range * v->depth_range[2], v_set(1.0f)), 0.1f) + 0.5f);
        words = i_sel(m_not(h->some) | v_lt(far, range), i_set(255), words);
        words = i_sel(m_not(seeing) | (h->some & v_lt(range, near)), i_set(0), words);
    }
    uint32_t lines[LANES] __attribute__((aligned(64)));
    i_store(lines, words);
    LINES(x0, y0, l, x, y, n, width, height)
        if (s->on[DEPTH_GREYS]) write_quads(s->depth, width, x, y, lines + l);
        else write_words(s->depth, (size_t)y * (size_t)width + (size_t)x, lines + l, n);
}

// write_palette writes the labels that are looked up.
static void write_palette(const shading *s, int x, int y, int n, const uint32_t *tags, const uint32_t *instances) {
    int width = s->view->size[0];
    uint32_t words[4];
    for (int i = 0; i < 4; i++) words[i] = s->words[tags[i] + (s->on[TAG_COLORS] && s->view->how & SVL_PALETTE ? 256 : 0)];
    if (s->on[TAG_COLORS]) write_triples(s->tags, width, x, y, words, n);
    if (s->on[WIDE_TAG_COLORS]) {
        for (int i = 0; i < 4; i++) words[i] = 0xff000000u | (words[i] & 0xff00) | (words[i] >> 16 & 0xff) | (words[i] & 0xff) << 16;
        write_words(s->tags, (size_t)y * (size_t)width + (size_t)x, words, n);
    }
    if (!s->on[INSTANCE_COLORS]) return;
    for (int i = 0; i < 4; i++) words[i] = instance_color(s, tags[i], instances[i]);
    write_triples(s->instances, width, x, y, words, n);
}

INLINE void write_labels(const shading *s, const seen *h, int x0, int y0) {
    int width = s->view->size[0], height = s->view->size[1];
    vi tag = i_sel(h->some, h->label >> 16 & 255, i_sel(h->ray.seeing, i_set(SKY_TAG), i_set(NO_TAG)));
    vi instance = i_sel(h->some, h->label & 0xffff, i_set(0));
    vi codes = tag << 16 | (instance & 255) << 8 | (instance >> 8 & 255) | (int32_t)0xff000000;
    uint32_t tags[LANES] __attribute__((aligned(64))),
        instances[LANES] __attribute__((aligned(64))), coded[LANES] __attribute__((aligned(64)));
    i_store(tags, tag), i_store(instances, instance), i_store(coded, codes);
    LINES(x0, y0, l, x, y, n, width, height) {
        size_t at = (size_t)y * (size_t)width + (size_t)x;
        const uint32_t *t = tags + l, *k = instances + l;
        if (s->on[TAGS]) write_quads(s->tags, width, x, y, t);
        if (s->on[WIDE_TAGS]) {
            uint32_t words[4] = {0xff000000u | t[0] << 16, 0xff000000u | t[1] << 16, 0xff000000u | t[2] << 16, 0xff000000u | t[3] << 16};
            write_words(s->tags, at, words, n);
        }
        if (s->on[INSTANCES]) {
            uint32_t words[2] = {k[0] | k[1] << 16, k[2] | k[3] << 16};
            copy_words(s->instances + (size_t)y * (size_t)((width + 1) / 2) + (size_t)(x / 2), words, (n + 1) / 2, 2);
        }
        if (s->on[WIDE_INSTANCES]) write_words(s->instances, at, k, n);
        if (s->on[INSTANCE_CODES]) write_words(s->instances, at, coded + l, n);
        if (s->on[TAG_COLORS] || s->on[WIDE_TAG_COLORS] || s->on[INSTANCE_COLORS]) write_palette(s, x, y, n, t, k);
    }
}

INLINE void write_normals(const shading *s, const seen *h, int x0, int y0, int rolling) {
    int width = s->view->size[0], height = s->view->size[1];
    uint32_t rows[3][LANES];
    vf normal[3] = {h->normal[0], h->normal[1], h->normal[2]};
    if (rolling) unrotate(h->camera.q, h->normal, normal);
    for (int i = 0; i < 3; i++) i_store(rows[i], i_sel(h->some, as_i(normal[i]), i_set(NOT_A_NUMBER)));
    LINES(x0, y0, l, x, y, n, width, height)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) s->normals[3 * ((size_t)y * (size_t)width + (size_t)(x + i)) + (size_t)k] = rows[k][l + i];
}

INLINE void write_flow(const shading *s, const seen *h, int x0, int y0) {
    int width = s->view->size[0], height = s->view->size[1];
    vf now[3], then[3], pixels[2];
    vm there;
    for (int i = 0; i < 3; i++) now[i] = v_sel(h->some, h->reach * h->ray.direction[i], h->ray.direction[i]),
        then[i] = now[i] + h->since[i];
    if (s->optics.kind == LENS_PINHOLE) {
        there = v_lt(v_set(0), then[2]);
        for (int i = 0; i < 2; i++) pixels[i] = (h->ray.direction[i] * h->since[2] - h->since[i]) / (then[2] * s->optics.lens->pixels[i]);
    } else if (s->optics.kind == LENS_TABLE) {
        vf at[2] = {i_float(h->x), i_float(h->y)}, before[2];
        there = pixels_before(&s->optics, at, now, then, before) & h->ray.seeing;
        for (int i = 0; i < 2; i++) pixels[i] = at[i] - before[i];
    } else {
        vf before[2], after[2];
        there = pixels_of(&s->optics, then, before) & pixels_of(&s->optics, now, after) & h->ray.seeing;
        for (int i = 0; i < 2; i++) pixels[i] = after[i] - before[i];
    }
    uint32_t rows[2][LANES];
    for (int i = 0; i < 2; i++) i_store(rows[i], i_sel(there, as_i(pixels[i] / (float)s->view->size[i]), i_set(NOT_A_NUMBER)));
    LINES(x0, y0, l, x, y, n, width, height)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) s->flow[2 * ((size_t)y * (size_t)width + (size_t)(x + i)) + (size_t)k] = rows[k][l + i];
}

// look finds what the pixels of a tile from at on see, and asks for what it takes to shade them.
INLINE void look(const shading *s, const tile *t, int at, seen *h, knowledge *memory, int rolling) {
    vi last_x = i_set(s->seen_width - 1), last_y = i_set(s->seen_height - 1);
    h->x = (i_ramp() & 3) + (t->x + left_of(at)), h->y = (i_ramp() >> 2) + (t->y + top_of(at));
    h->x = i_sel(i_lt(h->x, last_x), h->x, last_x), h->y = i_sel(i_lt(h->y, last_y), h->y, last_y);
    rays_of(&s->optics, i_float(h->x), i_float(h->y), &h->ray);
    if (rolling) find_rolling(s, i_load(&t->triangle[at]), i_load(&t->frame[at]), h, memory);
    else find(s, i_load(&t->triangle[at]), i_load(&t->frame[at]), h, memory);
    if (!s->light || !m_any(h->some)) return;
    paint_of(s, h);
    if (!s->on[TRACED]) shaded_by(s, h, rolling);
}

// next_in returns the first place from at on whose pixels are on the picture.
INLINE int next_in(const tile *t, int at) {
    while (at < TILE_PIXELS && (left_of(at) >= t->width || top_of(at) >= t->height)) at += LANES;
    return at;
}

// shade_tile makes the pictures of a tile whose points see what it has. Colours of several
// points a pixel are gathered in light. While some pixels are shaded, the next ones' texels come.
INLINE void shade_tile(const shading *s, tile *t, knowledge *memory, float (*light)[TILE_PIXELS], int rolling) {
    memset(memory->of, 0, sizeof memory->of);
    seen pixels[2];
    int at = next_in(t, 0), turn = 0;
    look(s, t, at, &pixels[0], memory, rolling);
    for (int next; at < TILE_PIXELS; at = next, turn = !turn) {
        next = next_in(t, at + LANES);
        if (next < TILE_PIXELS) look(s, t, next, &pixels[!turn], memory, rolling);
        seen *h = &pixels[turn];
        vf color[3];
        if (s->light && s->on[WEATHER]) color_in_weather(s, h, color, rolling);
        else if (s->light) color_of(s, h, color, rolling, 0);
        if (s->on[GRID] > 1) {
            for (int k = 0; k < 3; k++) v_store(&light[k][at], color[k]);
            continue;
        }
        int x = t->x + left_of(at), y = t->y + top_of(at);
        if (s->light) write_color(s, x, y, encoded(s, color));
        if (s->depth) write_depth(s, h, x, y, rolling);
        if (s->labels) write_labels(s, h, x, y);
        if (s->normals) write_normals(s, h, x, y, rolling);
        if (s->flow) write_flow(s, h, x, y);
    }
    int grid = s->on[GRID];
    if (grid < 2) return;
    for (int at = 0; at < TILE_PIXELS; at += LANES) {
        int x = left_of(at), y = top_of(at);
        if (x * grid >= t->width || y * grid >= t->height) continue;
        vf color[3];
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < LANES; l++) {
                int px = (x + (l & 3)) * grid, py = (y + (l >> 2)) * grid;
                px = px < t->width ? px : t->width - grid, py = py < t->height ? py : t->height - grid;
                float sum = 0;
                for (int i = 0; i < grid * grid; i++) sum += light[k][pixel_at(px + i % grid, py + i / grid)];
                color[k][l] = sum / (float)(grid * grid);
            }
        write_color(s, t->x / grid + x, t->y / grid + y, encoded(s, color));
    }
}

// shade_block draws, if it is to, and shades a tile. Tiles of several points a pixel are whole
// words of the picture, and those that are drawn whole tiles: such a picture is drawn before.
INLINE void shade_one(shading *s, hd_worker *w, uint32_t i, int rolling) {
    struct memory {
        tile tile;
        float light[3][TILE_PIXELS];
        knowledge known;
    } *m = hd_scratch(w, sizeof *m);
    if (!m) {
        __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    if (s->draws) draw_ids_tile(s->draws, &m->tile, i);
    else {
        tile *t = &m->tile;
        t->x = (int)i % s->tiles_x * s->tile_width, t->y = (int)i / s->tiles_x * s->tile_height;
        t->width = s->seen_width - t->x < s->tile_width ? s->seen_width - t->x : s->tile_width;
        t->height = s->seen_height - t->y < s->tile_height ? s->seen_height - t->y : s->tile_height;
        read_ids(t, s->visible, s->seen_width);
    }
    pad(&m->tile);
    shade_tile(s, &m->tile, &m->known, m->light, rolling);
}

static void shade_block(void *data, hd_worker *w, uint32_t i) { shade_one(data, w, i, 0); }
static void shade_rolling(void *data, hd_worker *w, uint32_t i) { shade_one(data, w, i, 1); }

// Dispatches.

// shade_state keeps the pictures that a program's dispatches draw: ids, and the sun's maps.
typedef struct {
    raster rasters[3];
} shade_state;

static void camera_shade_end(void *state) {
    shade_state *k = state;
    for (int i = 0; i < 3; i++) raster_free(&k->rasters[i]);
    free(k);
}

// draws_for makes a picture of the draws that wait for a sampler: 1 where there are some, 0
// where there are none, -1 after hd_fail.
static int draws_for(raster *r, hd_pool *p, hd_work *w, int slot, int sun) {
    const hd_texture *t = w->sampler[slot];
    int some = 0;
    for (uint32_t i = 0; i < w->draw_count; i++) {
        hd_work *d = w->draws[i];
        if (!t || (sun ? d->target.depth : d->target.color[0]) != t) continue;
        if (!some && !raster_begin(r, w, &d->target, sun)) return -1;
        some = 1;
        if (!raster_add(r, w, d)) return -1;
    }
    return some && !raster_place(r, p, w) ? -1 : some;
}

static uint32_t *output(hd_work *w, int slot, size_t words, int wanted, int *short_of) {
    if (!wanted) return NULL;
    if (w->storage[slot].size < 4 * words) *short_of = 1;
    return (uint32_t *)w->storage[slot].bytes;
}

// shading_of reads what a dispatch is to do; 0 after hd_fail.
static int shading_of(shading *s, hd_pool *p, hd_work *w) {
    const int32_t *on = s->on = w->program->constants;
    s->view = hd_block(w, 0, sizeof *s->view);
    if (!s->view || !optics_of(w, on[LENS], &s->optics)) return 0;
    uint32_t keys;
    if (on[ROLLING] && (!(s->shutter = shutter_of(w)) || !(s->motion = hd_table(w, HD_SLOT_MOTION, 16, &keys)))) return 0;
    if (on[ROLLING] && (on[FLOW] || keys < 2)) return hd_fail(w, "a rolling picture has no flow, and needs a motion table");
    s->light = on[COLOR] || on[WIDE_COLOR] || on[LUMINANCE];
    for (int i = TAGS; i <= INSTANCE_COLORS; i++) s->labels |= on[i];
    s->corners = s->light || on[NORMALS];
    int depths = on[DEPTH] || on[DEPTH_CODES] || on[DEPTH_GREYS];
    s->points = s->corners || depths || on[FLOW];
    const hd_texture *visible = w->sampler[SLOT_VISIBLE];
    uint32_t frames, colors;
    s->frames = hd_table(w, SLOT_FRAMES, 16, &frames), s->palette = hd_table(w, SLOT_PALETTE, 16, &colors);
    if (!s->frames || !s->palette || !hd_tables_of(w, &s->t)) return 0;
    if (!visible || colors < 512) return hd_fail(w, "camera.shade lacks what is seen, or colours");
    s->frame_count = frames / 9, s->mover_texels = (uint32_t)w->sampler[HD_SLOT_MOVERS]->width;
    int grid = on[GRID], width = s->view->size[0], height = s->view->size[1];
    if (grid < 1 || grid > 4
        || visible->format != HD_RG32UI
        || width < 1 || height < 1
        || visible->width != width * grid || visible->height != height * grid)
        return hd_fail(w, "what is seen has %d x %d pixels, and the picture %d x %d", visible->width, visible->height, width, height);
    s->visible = (const uint32_t *)(visible->memory->bytes + visible->level[0]);
    s->seen_width = visible->width, s->seen_height = visible->height;
    s->tile_width = s->tile_height = TILE / (4 * grid) * (4 * grid);
    s->tiles_x = (s->seen_width + s->tile_width - 1) / s->tile_width, s->tiles_y = (s->seen_height + s->tile_height - 1) / s->tile_height;
    size_t n = (size_t)width * (size_t)height, triples = (size_t)((3 * width + 3) / 4) * (size_t)height,
        quads = (size_t)((width + 3) / 4) * (size_t)height;
    int labels[2] = {
        on[TAGS] || on[TAG_COLORS] || on[WIDE_TAG_COLORS] || on[WIDE_TAGS],
        on[INSTANCES] || on[WIDE_INSTANCES] || on[INSTANCE_CODES] || on[INSTANCE_COLORS],
    }, off = 0;
    s->color = output(w, 0, on[COLOR] ? triples : n, on[COLOR] || on[WIDE_COLOR], &off);
    s->depth = output(w, 1, on[DEPTH_GREYS] ? quads : n, depths, &off);
    s->tags = output(w, 2, on[TAGS] ? quads : on[TAG_COLORS] ? triples : n, labels[0], &off);
    s->instances = output(w, 3, on[INSTANCES] ? (size_t)((width + 1) / 2) * (size_t)height : on[INSTANCE_COLORS] ? triples : n,
        labels[1], &off);
    s->normals = output(w, 4, 3 * n, on[NORMALS], &off), s->flow = output(w, 5, 2 * n, on[FLOW], &off);
    s->luminance = output(w, 6, n, on[LUMINANCE], &off);
    if (off) return hd_fail(w, "a buffer is too small for a picture of %d x %d pixels", width, height);
    for (int i = 0; i < 512; i++)
        for (int k = 0; k < 3; k++) s->words[i] |= (uint32_t)(s->palette[4 * i + k] * 255.0f + 0.5f) << (8 * k);
    if (!s->light) return 1;
    s->sunlit = w->sampler[SLOT_SUNLIT];
    if (on[TRACED] ? !s->sunlit : !w->sampler[SLOT_STATIC_SHADOW] || !w->sampler[SLOT_MOVER_SHADOW])
        return hd_fail(w, "camera.shade lacks shadows");
    s->colors = pictures_of(p, w, s->t.color, 1);
    return s->colors && (!on[SURFACE_TEXTURES] || (s->data = pictures_of(p, w, s->t.data, 0)));
}

static int camera_shade(hd_pool *p, hd_work *w) {
    shading s = {0};
    shade_state *k = state_of(w, sizeof *k);
    if (!k || !shading_of(&s, p, w)) return 0;
    static const int slots[] = {SLOT_VISIBLE, SLOT_STATIC_SHADOW, SLOT_MOVER_SHADOW};
    for (int i = 0; i < 3; i++) {
        int some = draws_for(&k->rasters[i], p, w, slots[i], i > 0);
        if (some < 0) return 0;
        if (!some) continue;
        if (i == 0 && s.tile_width == TILE) s.draws = &k->rasters[i];
        else if (!raster_draw(&k->rasters[i], p, w)) return 0;
    }
    if (s.light && !s.on[TRACED] &&
        (!(s.static_map = relief_of(p, w, w->sampler[SLOT_STATIC_SHADOW]))
            || !(s.mover_map = relief_of(p, w, w->sampler[SLOT_MOVER_SHADOW])))) return 0;
    hd_parallel(p, s.shutter ? shade_rolling : shade_block, &s, (uint32_t)(s.tiles_x * s.tiles_y));
    if (s.draws) raster_drawn(s.draws);
    return s.failed || (s.draws && s.draws->failed) ? hd_fail(w, "no memory for the tiles of a picture") : 1;
}

// groundtruth.bounds.

typedef struct {
    uint32_t left, top, right, bottom, pixels, hidden;
} tally;

typedef struct {
    hd_tables t;
    const uint32_t *visible, *places;
    size_t place_count;
    tally *tallies;
    int width, height;
} bounding;

enum { BAND = 16 }; // rows that a block looks at

INLINE void lower(uint32_t *of, uint32_t x) {
    uint32_t old = __atomic_load_n(of, __ATOMIC_RELAXED);
    while (x < old && !__atomic_compare_exchange_n(of, &old, x, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

INLINE void raise_to(uint32_t *of, uint32_t x) {
    uint32_t old = __atomic_load_n(of, __ATOMIC_RELAXED);
    while (x > old && !__atomic_compare_exchange_n(of, &old, x, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

// bounds_block takes runs of pixels that see one triangle into the tally of its actor.
static void bounds_block(void *data, hd_worker *w, uint32_t i) {
    (void)w;
    const bounding *b = data;
    int end = (int)(i + 1) * BAND < b->height ? (int)(i + 1) * BAND : b->height;
    for (int y = (int)i * BAND; y < end; y++) {
        const uint32_t *row = b->visible + 2 * (size_t)y * (size_t)b->width;
        for (int x = 0, next; x < b->width; x = next) {
            uint32_t triangle = row[2 * x], frame = row[2 * x + 1];
            for (next = x + 1; next < b->width && row[2 * next] == triangle && row[2 * next + 1] == frame; next++) {}
            if (!triangle) continue;
            uint32_t label = frame ? b->t.movers[8 * (size_t)(frame - 1) + 1] : b->t.attributes[12 * (size_t)(triangle - 1) + 7];
            uint32_t id = label & 0xffff, place = id < b->place_count ? b->places[id] : 0;
            if (!place) continue;
            tally *t = &b->tallies[place - 1];
            lower(&t->left, (uint32_t)x), lower(&t->top, (uint32_t)y);
            raise_to(&t->right, (uint32_t)(next - 1)), raise_to(&t->bottom, (uint32_t)y);
            __atomic_fetch_add(&t->pixels, (uint32_t)(next - x), __ATOMIC_RELAXED);
        }
    }
}

static int groundtruth_bounds(hd_pool *p, hd_work *w) {
    const hd_texture *t = w->sampler[SLOT_VISIBLE];
    bounding b = {.places = (const uint32_t *)w->storage[1].bytes,
        .place_count = w->storage[1].size / 4, .tallies = (tally *)w->storage[0].bytes};
    if (!hd_tables_of(w, &b.t)) return 0;
    if (!t || t->format != HD_RG32UI || !b.places || !b.tallies) return hd_fail(w, "groundtruth.bounds lacks what is seen, or its tallies");
    b.visible = (const uint32_t *)(t->memory->bytes + t->level[0]), b.width = t->width, b.height = t->height;
    hd_parallel(p, bounds_block, &b, (uint32_t)((b.height + BAND - 1) / BAND));
    return 1;
}

#define CAMERA_KERNELS \
    {.entry = "camera.ids", .constants = {"CUT"}, .run = camera_ids, .end = camera_draw_end, .flags = HD_DEFERRED},                        \
    {.entry = "camera.shadow", .constants = {"CUT"}, .run = camera_shadow, .end = camera_draw_end, .flags = HD_DEFERRED},                  \
    {.entry = "camera.shade", .constants = {"COLOR", "WIDE_COLOR", "LUMINANCE", "DEPTH", "DEPTH_CODES", "DEPTH_GREYS", "TAGS",             \
        "TAG_COLORS", "WIDE_TAG_COLORS", "WIDE_TAGS", "INSTANCES", "WIDE_INSTANCES", "INSTANCE_CODES", "INSTANCE_COLORS", "NORMALS",       \
        "FLOW", "SURFACE_TEXTURES", "EMISSION_TEXTURES", "VERTEX_COLORS", "LAMPS", "GRID", "LENS", "GRADED", "TRACED", "ROLLING", \
        "WEATHER"},                                                                                                                        \
        .run = camera_shade, .end = camera_shade_end, .flags = HD_TAKES},                                                                  \
    {.entry = "groundtruth.bounds", .run = groundtruth_bounds}
