// Triangles on pictures: what camera_ids and camera_shadow draw. A picture is made in tiles,
// which stay in a core's caches. First, chunks of the triangles are placed on the picture and
// listed by the tiles that they touch. Then each tile draws what the chunks list for it: near
// triangles first, so that what they hide costs little. Of several at one depth the first in the
// order of the draws is seen. Within a tile, pixels lie in blocks of 4 x 4, block after block.

enum {
    TILE = 64,             // pixels, both ways
    BLOCKS = TILE / 4,     // of a tile, both ways
    TILE_PIXELS = TILE * TILE,
    CHUNKS = 16,           // a pixel of a tile has the chunk's number in 4 bits
    ENTRY_BITS = 28,       // and the place in the chunk's list plus one in the others
    NEARNESSES = 64,       // see nearness
    FARTHEST = (127 - 12) << 2, // of 4 km
    HALVES = 16 / LANES,   // vectors of a block
};

// Samplers of the cameras' own, of the catalogue.
enum { SLOT_FRAMES = HD_SLOT_SENSOR, SLOT_VISIBLE, SLOT_STATIC_SHADOW, SLOT_MOVER_SHADOW, SLOT_PALETTE, SLOT_SUNLIT, SLOT_LENS_TABLE };

// drawn is a triangle on the picture: its corners in pixels, whose centres are whole numbers,
// and at each 1 / depth, or the depth of a map of the sun.
typedef struct {
    float x[3], y[3], w[3];
    uint32_t triangle, frame, draw;
} drawn;

typedef struct {
    uint32_t *items, count, room;
} id_list;

typedef struct {
    drawn *items;
    uint32_t count, room;
    id_list *tiles;
} chunk;

// layer is one draw, with what its shader reads.
typedef struct {
    const hd_call *calls;
    uint32_t call_count, groups; // of 16 triangles
    hd_tables t;
    const float *frames;
    int cut, cull;
    // Of camera.ids: pixels and depth from the camera's frame. x, y: fx, fy; z, w: cx, cy.
    float pixels[4], range[2];
    // Of camera.shadow: from clip space.
    float half[2];
    float slope, units; // glPolygonOffset
} layer;

// patches are the tiles of a map of the sun, kept with its memory: most have nothing in one drawing
// and in the next.
typedef struct {
    uint64_t drawings; // how often the map was written, as far as is known
    uint8_t *blank;    // of each tile: it is as a cleared one
    uint8_t *changed;  // of each tile: by the last drawing
} patches;

static const char patches_key;

static void patches_drop(void *data) {
    patches *p = data;
    free(p->blank);
    free(p->changed);
    free(p);
}

// patches_of returns those of a map that is about to be drawn, and counts the drawing; NULL for no
// memory.
static patches *patches_of(hd_memory *map, uint32_t count) {
    hd_derived *kept = hd_derive(map, &patches_key);
    patches *p = kept ? kept->data : NULL;
    if (!p && kept && (p = calloc(1, sizeof *p))) {
        p->blank = calloc(count, 1), p->changed = calloc(count, 1);
        if (p->blank && p->changed) kept->data = p, kept->drop = patches_drop;
        else patches_drop(p), p = NULL;
    }
    if (!p) return NULL;
    if (kept->lo < kept->hi) memset(p->blank, 0, count), p->drawings++; // something else has written it
    p->drawings++;
    return p;
}

// raster is a picture that is drawn, and its memory, which is kept from one to the next.
typedef struct {
    int width, height, tiles_x, tiles_y;
    int sun;                       // a map of the sun, else ids
    int cleared;                   // what was there doesn't count
    uint32_t *ids;                 // two words a pixel
    float *depth;
    patches *patches;              // of a map of the sun
    const hd_target *to;
    uint32_t blank[2];             // the ids of a cleared picture
    layer *layers;
    uint32_t layer_count, layer_room, groups;
    chunk chunks[CHUNKS];
    id_list *order;                // of each tile: its triangles' ids, near ones first
    uint32_t tile_room;
    int failed; // for no memory
} raster;

static void raster_free(raster *r) {
    for (int k = 0; k < CHUNKS; k++) {
        for (uint32_t i = 0; i < r->tile_room; i++) free(r->chunks[k].tiles[i].items);
        free(r->chunks[k].tiles);
        free(r->chunks[k].items);
    }
    for (uint32_t i = 0; i < r->tile_room; i++) free(r->order[i].items);
    free(r->order);
    free(r->layers);
    memset(r, 0, sizeof *r);
}

// fminf and fmaxf are calls: they have rules for NaN that no instruction has.
INLINE float least_of(float a, float b) { return a < b ? a : b; }
INLINE float most_of(float a, float b) { return a > b ? a : b; }
INLINE float least3(const float v[3]) { return least_of(v[0], least_of(v[1], v[2])); }
INLINE float most3(const float v[3]) { return most_of(v[0], most_of(v[1], v[2])); }

// grown returns a list with room for one more element; NULL for no memory, with failed set.
static void *grown(raster *r, void *items, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room) return items;
    uint32_t more = *room ? 2 * *room : 64;
    void *p = realloc(items, more * size);
    if (!p) {
        __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    *room = more;
    return p;
}

// put lists a triangle with the tiles that its box touches, if the box has a pixel's centre.
static void put(raster *r, chunk *k, const drawn *d) {
    float x0 = most_of(ceilf(least3(d->x)), 0), x1 = least_of(floorf(most3(d->x)), (float)(r->width - 1));
    float y0 = most_of(ceilf(least3(d->y)), 0), y1 = least_of(floorf(most3(d->y)), (float)(r->height - 1));
    if (!(x0 <= x1 && y0 <= y1)) return;
    if (k->count >= (1u << ENTRY_BITS) - 1) return;
    drawn *items = grown(r, k->items, k->count, &k->room, sizeof *items);
    if (!items) return;
    k->items = items;
    items[k->count] = *d;
    for (int ty = (int)y0 / TILE; ty <= (int)y1 / TILE; ty++)
        for (int tx = (int)x0 / TILE; tx <= (int)x1 / TILE; tx++) {
            id_list *l = &k->tiles[ty * r->tiles_x + tx];
            uint32_t *entries = grown(r, l->items, l->count, &l->room, sizeof *entries);
            if (!entries) return;
            l->items = entries;
            entries[l->count++] = k->count;
        }
    k->count++;
}

// faces tells whether a triangle that turns back is to be drawn: counterclockwise ones are
// front faces where y grows upwards, which it does in OpenGL's window.
INLINE int faces(const layer *a, const drawn *d) {
    return !a->cull || (d->x[1] - d->x[0]) * (d->y[2] - d->y[0]) - (d->x[2] - d->x[0]) * (d->y[1] - d->y[0]) > 0;
}

// put_clipped is for a triangle that reaches behind the near plane: what is before it is one
// triangle or two. An edge is cut from its end before the plane, so that neighbours meet.
static void put_clipped(raster *r, chunk *k, const layer *a, const float p[3][3], float near, drawn *d) {
    float poly[4][3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        const float *from = p[i], *to = p[(i + 1) % 3];
        int before = from[2] >= near, beyond = to[2] >= near;
        if (before) memcpy(poly[n++], from, 12);
        if (before == beyond) continue;
        if (!before) from = to, to = p[i];
        float f = (near - from[2]) / (to[2] - from[2]);
        poly[n][0] = from[0] + f * (to[0] - from[0]), poly[n][1] = from[1] + f * (to[1] - from[1]), poly[n++][2] = near;
    }
    for (int i = 1; i + 1 < n; i++) {
        const float *v[3] = {poly[0], poly[i], poly[i + 1]};
        for (int j = 0; j < 3; j++) {
            d->w[j] = 1 / v[j][2];
            d->x[j] = v[j][0] * d->w[j] * a->pixels[0] + a->pixels[2], d->y[j] = v[j][1] * d->w[j] * a->pixels[1] + a->pixels[3];
        }
        if (faces(a, d)) put(r, k, d);
    }
}

// project projects triangles of a call onto the picture: some of them, from first on.
INLINE void project(raster *r, chunk *k, const layer *a, uint32_t first, int some, uint32_t frame) {
    vi id = i_ramp() + (int32_t)first;
    vm in = m_first(some);
    vi row = i_sel(in, id, i_set((int32_t)first)) * 3;
    const float(*to)[4] = (const float(*)[4])(a->frames + (size_t)frame * (r->sun ? 12 : 24) + (r->sun ? 0 : 12));
    vf p[3][3];
    for (int j = 0; j < 3; j++) {
        vf v[4];
        v_rows(a->t.vertices, row + j, v);
        for (int i = 0; i < 3; i++) p[j][i] = v[0] * to[i][0] + v[1] * to[i][1] + v[2] * to[i][2] + to[i][3];
    }
    vm whole = in, through = in & m_not(in);
    vf x[3], y[3], w[3];
    float near = a->range[0] / (1 - a->range[1]);
    if (r->sun) {
        for (int j = 0; j < 3; j++) {
            x[j] = p[j][0] * a->half[0] + a->pixels[2], y[j] = p[j][1] * a->half[1] + a->pixels[3], w[j] = p[j][2] * 0.5f + 0.5f;
        }
    } else {
        vf nearest = v_min(p[0][2], v_min(p[1][2], p[2][2])), farthest = v_max(p[0][2], v_max(p[1][2], p[2][2]));
        whole = in & v_ge(nearest, v_set(near)), through = in & m_not(whole) & v_ge(farthest, v_set(near));
        for (int j = 0; j < 3; j++) {
            w[j] = 1.0f / p[j][2];
            x[j] = p[j][0] * w[j] * a->pixels[0] + a->pixels[2], y[j] = p[j][1] * w[j] * a->pixels[1] + a->pixels[3];
        }
    }
    vf x0 = v_max(-v_floor(-v_min(x[0], v_min(x[1], x[2]))), v_set(0)),
        x1 = v_min(v_floor(v_max(x[0], v_max(x[1], x[2]))), v_set((float)(r->width - 1)));
    vf y0 = v_max(-v_floor(-v_min(y[0], v_min(y[1], y[2]))), v_set(0)),
        y1 = v_min(v_floor(v_max(y[0], v_max(y[1], y[2]))), v_set((float)(r->height - 1)));
    drawn d = {.frame = frame, .draw = (uint32_t)(a - r->layers)};
    // In the triangles' order, however many a vector has.
    unsigned cut = m_bits(through);
    for (unsigned left = m_bits(whole & v_le(x0, x1) & v_le(y0, y1)) | cut; left; left &= left - 1) {
        int l = __builtin_ctz(left);
        d.triangle = (uint32_t)id[l];
        if (cut >> l & 1) {
            float q[3][3];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++) q[j][i] = p[j][i][l];
            put_clipped(r, k, a, (const float(*)[3])q, near, &d);
            continue;
        }
        for (int j = 0; j < 3; j++) d.x[j] = x[j][l], d.y[j] = y[j][l], d.w[j] = w[j][l];
        if (faces(a, &d)) put(r, k, &d);
    }
}

INLINE uint32_t groups_of(const hd_call *c) { return ((uint32_t)c->count / 3 + 15) / 16; }

// place_chunk places one of the chunks of all triangles of a picture.
static void place_chunk(raster *r, uint32_t number) {
    chunk *k = &r->chunks[number];
    k->count = 0;
    for (int i = 0; i < r->tiles_x * r->tiles_y; i++) k->tiles[i].count = 0;
    uint32_t first = (uint32_t)((uint64_t)r->groups * number / CHUNKS),
        end = (uint32_t)((uint64_t)r->groups * (number + 1) / CHUNKS), at = 0;
    for (uint32_t n = 0; n < r->layer_count && at < end; n++) {
        const layer *a = &r->layers[n];
        for (uint32_t i = 0; i < a->call_count && at < end; i++) {
            const hd_call *c = &a->calls[i];
            uint32_t groups = groups_of(c), triangles = (uint32_t)c->count / 3;
            uint32_t g = first > at ? first - at : 0, stop = end - at < groups ? end - at : groups;
            for (; g < stop; g++)
                for (uint32_t t = 16 * g; t < 16 * g + 16 && t < triangles; t += LANES)
                    project(r, k, a, (uint32_t)c->first / 3 + t, (int)(triangles - t), (uint32_t)c->index);
            at += groups;
        }
    }
}

// tile is the part of a picture that a thread works on: pixels in blocks. id has the chunk's
// number and the place in its list plus one, 0 for nothing that was drawn.
typedef struct {
    float depth[TILE_PIXELS];
    uint32_t id[TILE_PIXELS];
    float least[BLOCKS * BLOCKS]; // of each block, the depth of its farthest pixel; of ids alone
    // What a camera's pixels see, as the ids' texture has it.
    uint32_t triangle[TILE_PIXELS], frame[TILE_PIXELS];
    int x, y, width, height; // on the picture
} __attribute__((aligned(64))) tile;

// block_least is the depth of a block's farthest pixel.
INLINE float block_least(const tile *t, int block) {
    vf least = v_load(&t->depth[16 * block]);
    for (int h = 1; h < HALVES; h++) least = v_min(least, v_load(&t->depth[16 * block + h * LANES]));
    return v_least(least);
}

// Offsets of a vector's pixels within a block.
INLINE vf block_x(void) { return i_float(i_ramp() & 3); }
INLINE vf block_y(int half) { return i_float((i_ramp() >> 2) + half * (LANES / 4)); }

// part is where the corners that are drawn lie in the triangle: barycentric coordinates.
typedef struct {
    float u[3], v[3];
} part;

// part_of tells whether a triangle's material may be cut out, and if so what is drawn of it.
static int part_of(const raster *r, const drawn *d, part *c) {
    const layer *a = &r->layers[d->draw];
    if (!a->cut || material_of(&a->t, d->triangle)[7] == 0) return 0;
    *c = (part){{0, 1, 0}, {0, 0, 1}};
    if (r->sun) return 1;
    // The near plane may have taken a piece.
    const float(*to)[4] = (const float(*)[4])(a->frames + (size_t)d->frame * 24 + 12), *p = a->t.vertices + 12 * (size_t)d->triangle;
    double q[3][3], e1[3], e2[3], g11 = 0, g12 = 0, g22 = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) q[i][k] = (double)to[k][0] * p[4 * i]
            + (double)to[k][1] * p[4 * i + 1] + (double)to[k][2] * p[4 * i + 2] + to[k][3];
    for (int k = 0; k < 3; k++) {
        e1[k] = q[1][k] - q[0][k], e2[k] = q[2][k] - q[0][k];
        g11 += e1[k] * e1[k], g12 += e1[k] * e2[k], g22 += e2[k] * e2[k];
    }
    double det = g11 * g22 - g12 * g12;
    if (!(det > 0)) return 1;
    for (int i = 0; i < 3; i++) {
        double z = 1 / (double)d->w[i], at[3] = {(d->x[i] - a->pixels[2]) / a->pixels[0] * z,
            (d->y[i] - a->pixels[3]) / a->pixels[1] * z, z}, b1 = 0, b2 = 0;
        for (int k = 0; k < 3; k++) b1 += (at[k] - q[0][k]) * e1[k], b2 += (at[k] - q[0][k]) * e2[k];
        c->u[i] = (float)((b1 * g22 - b2 * g12) / det), c->v[i] = (float)((b2 * g11 - b1 * g12) / det);
    }
    return 1;
}

// gone tells which fragments are absent. e are the edges' values there, x and y the pixels.
INLINE vm gone(const raster *r, const drawn *d, const part *c, const vf e[3], vi x, vi y) {
    const hd_tables *t = &r->layers[d->draw].t;
    vf sum = v_set(0), u = sum, v = sum;
    for (int i = 0; i < 3; i++) {
        vf share = r->sun ? e[i] : e[i] * d->w[i];
        sum = sum + share, u = u + share * c->u[i], v = v + share * c->v[i];
    }
    float cutoff = material_of(t, d->triangle)[7];
    vf alpha = alpha_of(t, d->triangle, u / sum, v / sum);
    if (r->sun) return v_lt(alpha, v_set(fabsf(cutoff))); // what is blended casts a shadow as a whole, or none
    vu who[4] = {(vu)x, (vu)y, (vu)i_set((int32_t)d->triangle + 1), (vu)i_set((int32_t)d->frame)};
    return absent(cutoff, alpha, who);
}

// window is the blocks of a tile that a triangle's box touches.
typedef struct {
    int left, right, top, bottom;
    unsigned columns; // a bit each
} window;

INLINE window window_of(const raster *r, const tile *t, const drawn *d) {
    float left = most_of(ceilf(least3(d->x)) - (float)t->x, 0), right = least_of(floorf(most3(d->x)), (float)(r->width - 1)) - (float)t->x;
    float top = most_of(ceilf(least3(d->y)) - (float)t->y, 0), bottom = least_of(floorf(most3(d->y)), (float)(r->height - 1)) - (float)t->y;
    window w = {.left = (int)left >> 2, .right = (int)least_of(right, (float)(t->width - 1)) >> 2,
        .top = (int)top >> 2, .bottom = (int)least_of(bottom, (float)(t->height - 1)) >> 2};
    w.columns = (2u << w.right) - (1u << w.left);
    return w;
}

// open_blocks are those of a row of blocks, a bit each, that have a pixel at a depth or beyond.
INLINE unsigned open_blocks(const tile *t, int row, float depth) {
    unsigned open = 0;
    for (int k = 0; k < BLOCKS; k += LANES) open |= m_bits(v_le(v_load(&t->least[row * BLOCKS + k]), v_set(depth))) << k;
    return open;
}

// slants are a triangle's edges and its depth on a tile: a * x + b * y + c, in pixels. Edges that
// two triangles share are exact opposites, since they are made of the same products: no pixel's
// centre falls between them. They are set up in double precision, for corners far beside the
// picture.
typedef struct {
    float a[3], b[3], c[3]; // within the triangle an edge's value is above 0
    double depth[3];
    float bias; // of a map of the sun, which is added to the depth
} slants;

// slants_of returns 0 for a triangle without an area.
INLINE int slants_of(const layer *a, const tile *t, const drawn *d, slants *s, int sun) {
    double x[3], y[3], ea[3], eb[3], ec[3];
    for (int i = 0; i < 3; i++) x[i] = (double)d->x[i] - t->x, y[i] = (double)d->y[i] - t->y;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        ea[i] = y[j] - y[k], eb[i] = x[k] - x[j], ec[i] = x[j] * y[k] - x[k] * y[j];
    }
    double area = ec[0] + ec[1] + ec[2];
    if (!(area != 0)) return 0;
    if (area < 0) {
        for (int i = 0; i < 3; i++) ea[i] = -ea[i], eb[i] = -eb[i], ec[i] = -ec[i];
        area = -area;
    }
    for (int i = 0; i < 3; i++) s->a[i] = (float)ea[i], s->b[i] = (float)eb[i], s->c[i] = (float)ec[i];
    // Depth changes linearly over the picture: as 1 / depth does, or the map's.
    double scale = 1 / area, w1 = (double)d->w[1] - d->w[0], w2 = (double)d->w[2] - d->w[0];
    double da = (w1 * ea[1] + w2 * ea[2]) * scale, db = (w1 * eb[1] + w2 * eb[2]) * scale, d0 = d->w[0] + (w1 * ec[1] + w2 * ec[2]) * scale;
    s->bias = 0;
    if (!sun) da *= a->range[0], db *= a->range[0], d0 = d0 * a->range[0] + a->range[1];
    else if (a->slope != 0 || a->units != 0) {
        // The smallest step of depth is that of the largest number of the triangle.
        int exponent;
        frexpf(most_of(fabsf(least3(d->w)), fabsf(most3(d->w))), &exponent);
        s->bias = a->slope * (float)(fabs(da) > fabs(db) ? fabs(da) : fabs(db)) + a->units * ldexpf(1, exponent - 24);
    }
    s->depth[0] = da, s->depth[1] = db, s->depth[2] = d0;
    return 1;
}

// before tells which fragments at some depth are nearer than what a vector of a tile has. A
// map's depth grows with the distance. Of an equal depth the first in the order of the draws
// counts.
INLINE vm before(const tile *t, int at, vf here, uint32_t id, vm on, int sun) {
    vf old = v_load(&t->depth[at]);
    if (sun) return on & v_lt(here, old);
    on = on & v_le(old, here);
    vm level = on & v_le(here, old);
    if (__builtin_expect(m_any(level), 0)) on = on & (m_not(level) | i_below(i_set((int32_t)id), i_load(&t->id[at])));
    return on;
}

// draw draws a triangle into a tile. It passes over blocks whose pixels are all nearer than the
// triangle's nearest corner: a pixel that would win by its last bit doesn't.
INLINE void draw(const raster *r, tile *t, const drawn *d, uint32_t id, int sun) {
    const layer *a = &r->layers[d->draw];
    window w = window_of(r, t, d);
    float nearest = most3(d->w) * a->range[0] + a->range[1];
    if (!sun) {
        unsigned open = 0;
        for (int row = w.top; row <= w.bottom; row++) open |= open_blocks(t, row, nearest);
        if (!(open & w.columns)) return;
    }
    slants s;
    if (!slants_of(a, t, d, &s, sun)) return;
    part drawn_part;
    int cut = part_of(r, d, &drawn_part);
    vf e[3][HALVES], z[HALVES], out[3];
    float inner[3], least[3];
    for (int h = 0; h < HALVES; h++) {
        for (int i = 0; i < 3; i++) e[i][h] = s.a[i] * block_x() + s.b[i] * block_y(h);
        z[h] = (float)s.depth[0] * block_x() + (float)s.depth[1] * block_y(h);
    }
    for (int i = 0; i < 3; i++) {
        inner[i] = (s.a[i] > 0 ? 3 * s.a[i] : 0) + (s.b[i] > 0 ? 3 * s.b[i] : 0); // to the block's innermost pixel
        out[i] = 4 * s.a[i] * i_float(i_ramp());
        // A pixel's centre on an edge of two triangles is one's: to its right or, where the edge is
        // level, above it.
        least[i] = s.a[i] > 0 || (s.a[i] == 0 && s.b[i] > 0) ? 0 : FLT_MIN;
    }
    for (int row = w.top; row <= w.bottom; row++) {
        unsigned blocks = sun ? w.columns : w.columns & open_blocks(t, row, nearest);
        float edge[3];
        for (int i = 0; i < 3; i++) edge[i] = s.b[i] * (float)(4 * row) + s.c[i];
        if (w.right - w.left > 1) // which blocks have a pixel that may be inside
            for (int k = 0; k < BLOCKS && blocks; k += LANES) {
                vf inside = v_min(v_min(out[0] + (edge[0] + inner[0] + 4 * s.a[0] * (float)k),
                    out[1] + (edge[1] + inner[1] + 4 * s.a[1] * (float)k)),
                    out[2] + (edge[2] + inner[2] + 4 * s.a[2] * (float)k));
                unsigned some = m_bits(v_ge(inside, v_set(0)));
                blocks &= some << k | ~(((2u << (LANES - 1)) - 1) << k);
            }
        double depth_row = s.depth[2] + s.depth[1] * (4 * row);
        for (; blocks; blocks &= blocks - 1) {
            int column = __builtin_ctz(blocks), block = row * BLOCKS + column, changed = 0;
            float base[3], depth = (float)(depth_row + s.depth[0] * (4 * column));
            for (int i = 0; i < 3; i++) base[i] = edge[i] + s.a[i] * (float)(4 * column);
            for (int h = 0; h < HALVES; h++) {
                int at = 16 * block + h * LANES;
                vf here = z[h] + depth, of[3];
                for (int i = 0; i < 3; i++) of[i] = e[i][h] + base[i];
                vm on = v_ge(of[0], v_set(least[0])) & v_ge(of[1], v_set(least[1])) & v_ge(of[2], v_set(least[2]));
                if (sun) {
                    on = on & v_ge(here, v_set(0)) & v_le(here, v_set(1.0f)); // clipped, and then moved
                    here = v_min(v_max(here + s.bias, v_set(0)), v_set(1.0f));
                }
                on = before(t, at, here, id, on, sun);
                if (!m_any(on)) continue;
                if (cut) {
                    vi x = (i_ramp() & 3) + (t->x + 4 * column), y = (i_ramp() >> 2) + (t->y + 4 * row + h * (LANES / 4));
                    on = on & m_not(gone(r, d, &drawn_part, of, x, y));
                }
                v_store(&t->depth[at], v_sel(on, here, v_load(&t->depth[at])));
                if (!sun) i_store(&t->id[at], i_sel(on, i_set((int32_t)id), i_load(&t->id[at])));
                changed = 1;
            }
            if (changed && !sun) t->least[block] = block_least(t, block);
        }
    }
}

// left_of and top_of are where a place of a tile's arrays lies in the tile, pixel_at goes back.
INLINE int left_of(int at) { return at / 16 % BLOCKS * 4 + at % 4; }
INLINE int top_of(int at) { return at / 16 / BLOCKS * 4 + at % 16 / 4; }
INLINE int pixel_at(int x, int y) { return (y >> 2) * (BLOCKS * 16) + (x >> 2) * 16 + (y & 3) * 4 + (x & 3); }

// tile_at says which part of a picture a tile is.
INLINE void tile_at(tile *t, uint32_t number, int tiles_x, int width, int height) {
    t->x = (int)number % tiles_x * TILE, t->y = (int)number / tiles_x * TILE;
    t->width = width - t->x < TILE ? width - t->x : TILE, t->height = height - t->y < TILE ? height - t->y : TILE;
}

// copy_words copies n words, most of which as a rule: a number that the compiler knows.
INLINE void copy_words(void *to, const void *from, int n, int most) {
    if (n == most) memcpy(to, from, 4 * (size_t)most);
    else for (int i = 0; i < n; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
}

// LINES_OF is the head of a loop over the lines of a tile's blocks: n pixels, four as a rule, from
// place on in a picture and from at on in the tile. Its body may be a statement or a block. The
// loops are over the rows, over the blocks of a row, and one that runs once: it only declares
// place, whose type isn't at's.
#define LINES_OF(t, picture_width, place, at, n)                                                                                     \
    for (int y_ = 0; y_ < (t)->height; y_++)                                                                                         \
        for (int x_ = 0, n = 4, at; n = (t)->width - x_ < 4 ? (t)->width - x_ : 4, at = pixel_at(x_, y_), x_ < (t)->width; x_ += 4) \
            for (size_t place = (size_t)((t)->y + y_) * (size_t)(picture_width) + (size_t)((t)->x + x_), once_ = 1; once_; once_ = 0)

// read_ids takes what a tile's pixels see from a texture.
static void read_ids(tile *t, const uint32_t *ids, int width) {
    LINES_OF(t, width, place, at, n)
        for (int i = 0; i < n; i++) t->triangle[at + i] = ids[2 * (place + (size_t)i)], t->frame[at + i] = ids[2 * (place + (size_t)i) + 1];
}

// pad gives pixels beside the picture, in blocks that reach beyond it, what the nearest pixel has.
static void pad(tile *t) {
    int right = (t->width + 3) & ~3, bottom = (t->height + 3) & ~3;
    if (right == t->width && bottom == t->height) return;
    for (int y = 0; y < bottom; y++)
        for (int x = y < t->height ? t->width : 0; x < right; x++) {
            int to = pixel_at(x, y), from = pixel_at(x < t->width ? x : t->width - 1, y < t->height ? y : t->height - 1);
            t->triangle[to] = t->triangle[from], t->frame[to] = t->frame[from];
        }
}

// drawn_of is the triangle of an id of a tile.
INLINE const drawn *drawn_of(const raster *r, uint32_t id) {
    return &r->chunks[id >> ENTRY_BITS].items[(id & ((1u << ENTRY_BITS) - 1)) - 1];
}

// nearness grows as a triangle's nearest corner is nearer: by four each time that the distance is
// halved, from 4 km to 7 cm.
INLINE uint32_t nearness(const drawn *d) {
    float w = most3(d->w);
    uint32_t bits;
    memcpy(&bits, &w, 4);
    bits >>= 21;
    return bits < FARTHEST ? 0 : bits - FARTHEST < NEARNESSES ? bits - FARTHEST : NEARNESSES - 1;
}

// draw_near_first draws the count triangles that the chunks list for a tile.
INLINE void draw_near_first(raster *r, tile *t, uint32_t number, uint32_t count) {
    id_list *order = &r->order[number];
    while (order->room < count) {
        uint32_t *items = grown(r, order->items, order->room, &order->room, sizeof *items);
        if (!items) return;
        order->items = items;
    }
    uint32_t next[NEARNESSES] = {0}, begin = 0;
    for (uint32_t k = 0; k < CHUNKS; k++) {
        const id_list *l = &r->chunks[k].tiles[number];
        for (uint32_t i = 0; i < l->count; i++) next[nearness(&r->chunks[k].items[l->items[i]])]++;
    }
    for (int n = NEARNESSES - 1; n >= 0; n--) {
        uint32_t some = next[n];
        next[n] = begin, begin += some;
    }
    for (uint32_t k = 0; k < CHUNKS; k++) {
        const id_list *l = &r->chunks[k].tiles[number];
        for (uint32_t i = 0; i < l->count; i++)
            order->items[next[nearness(&r->chunks[k].items[l->items[i]])]++] = k << ENTRY_BITS | (l->items[i] + 1);
    }
    for (uint32_t i = 0; i < count; i++) draw(r, t, drawn_of(r, order->items[i]), order->items[i], 0);
}

// draw_tile draws what the chunks list for a tile, and writes it to the targets. Without
// anything listed a picture that isn't cleared stays, and so does a blank tile of a map.
INLINE void draw_tile_of(raster *r, tile *t, uint32_t number, int sun) {
    tile_at(t, number, r->tiles_x, r->width, r->height);
    uint32_t count = 0;
    for (int k = 0; k < CHUNKS; k++) count += r->chunks[k].tiles[number].count;
    if (sun) {
        uint8_t *blank = &r->patches->blank[number], was = *blank;
        *blank = count ? 0 : was | (uint8_t)r->cleared;
        r->patches->changed[number] = count || was != *blank;
        if (!r->patches->changed[number]) return;
    }
    if (r->cleared) {
        float far = sun ? 1 : 0;
        for (int i = 0; i < TILE_PIXELS; i++) t->depth[i] = far;
    } else {
        memset(t->depth, 0, sizeof t->depth); // beside the picture, too
        LINES_OF(t, r->width, place, at, n) copy_words(&t->depth[at], r->depth + place, n, 4);
        if (!sun) read_ids(t, r->ids, r->width);
    }
    if (sun) {
        for (uint32_t k = 0; k < CHUNKS; k++) {
            const id_list *l = &r->chunks[k].tiles[number];
            for (uint32_t i = 0; i < l->count; i++) draw(r, t, &r->chunks[k].items[l->items[i]], 0, 1);
        }
    } else {
        memset(t->id, 0, sizeof t->id);
        for (int i = 0; i < BLOCKS * BLOCKS; i++) t->least[i] = r->cleared ? 0 : block_least(t, i);
        draw_near_first(r, t, number, count);
    }
    if (count || r->cleared)
        LINES_OF(t, r->width, place, at, n) copy_words(r->depth + place, &t->depth[at], n, 4);
    if (sun) return;
    for (int i = 0; i < TILE_PIXELS; i += LANES) {
        vi id = i_load(&t->id[i]);
        vi triangle = r->cleared ? i_set((int32_t)r->blank[0]) : i_load(&t->triangle[i]),
            frame = r->cleared ? i_set((int32_t)r->blank[1]) : i_load(&t->frame[i]);
        for (unsigned left = m_bits(m_not(i_eq(id, i_set(0)))); left;) {
            uint32_t next = (uint32_t)id[__builtin_ctz(left)];
            vm on = i_eq(id, i_set((int32_t)next));
            left &= ~m_bits(on);
            const drawn *d = drawn_of(r, next);
            triangle = i_sel(on, i_set((int32_t)d->triangle + 1), triangle), frame = i_sel(on, i_set((int32_t)d->frame), frame);
        }
        i_store(&t->triangle[i], triangle), i_store(&t->frame[i], frame);
    }
    LINES_OF(t, r->width, place, at, n) {
        uint32_t pairs[8];
        for (int i = 0; i < 4; i++) pairs[2 * i] = t->triangle[at + i], pairs[2 * i + 1] = t->frame[at + i];
        copy_words(r->ids + 2 * place, pairs, 2 * n, 8);
    }
}

static void draw_ids_tile(raster *r, tile *t, uint32_t number) { draw_tile_of(r, t, number, 0); }
static void draw_sun_tile(raster *r, tile *t, uint32_t number) { draw_tile_of(r, t, number, 1); }

static void place_block(void *data, hd_worker *w, uint32_t i) {
    (void)w;
    place_chunk(data, i);
}

static void draw_block(void *data, hd_worker *w, uint32_t i) {
    raster *r = data;
    tile *t = hd_scratch(w, sizeof *t);
    if (!t) {
        __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    if (r->sun) draw_sun_tile(r, t, i);
    else draw_ids_tile(r, t, i);
}

// Making a picture of draws.

// raster_begin makes r ready for draws into a target.
static int raster_begin(raster *r, hd_work *w, const hd_target *to, int sun) {
    if (!to->depth || to->reversed == sun || (!sun && (to->colors != 1 || to->color[0]->format != HD_RG32UI)))
        return hd_fail(w, "this draws ids with reversed depth, or depth of the sun alone");
    if (sun && to->depth->layers > 1) return hd_fail(w, "a map of the sun has one layer, and this has %d", to->depth->layers);
    r->to = to;
    r->width = to->depth->width, r->height = to->depth->height, r->sun = sun, r->cleared = 0, r->failed = 0;
    r->tiles_x = (r->width + TILE - 1) / TILE, r->tiles_y = (r->height + TILE - 1) / TILE;
    r->depth = (float *)(to->depth->memory->bytes + to->depth->level[0]) + (size_t)to->layer * (size_t)r->width * (size_t)r->height;
    r->ids = sun ? NULL : (uint32_t *)(to->color[0]->memory->bytes + to->color[0]->level[0]);
    r->layer_count = r->groups = 0;
    uint32_t tiles = (uint32_t)(r->tiles_x * r->tiles_y);
    for (int k = 0; k <= CHUNKS && tiles > r->tile_room; k++) {
        id_list **kept = k < CHUNKS ? &r->chunks[k].tiles : &r->order, *lists = realloc(*kept, tiles * sizeof *lists);
        if (!lists) return hd_fail(w, "no memory for the lists of %u tiles", tiles);
        *kept = lists;
        memset(lists + r->tile_room, 0, (tiles - r->tile_room) * sizeof *lists);
    }
    if (tiles > r->tile_room) r->tile_room = tiles;
    r->patches = sun ? patches_of(to->depth->memory, tiles) : NULL;
    return !sun || r->patches ? 1 : hd_fail(w, "no memory for %u tiles", tiles);
}

// raster_add adds a draw, or a clear, to a picture.
static int raster_add(raster *r, hd_work *w, hd_work *d) {
    if (!d->program) {
        r->cleared = 1, r->layer_count = r->groups = 0;
        r->blank[0] = d->clear[0][0], r->blank[1] = d->clear[0][1];
        return 1;
    }
    layer *layers = grown(r, r->layers, r->layer_count, &r->layer_room, sizeof *layers);
    if (!layers) return hd_fail(w, "no memory for %u draws", r->layer_count);
    r->layers = layers;
    layer *a = &layers[r->layer_count];
    uint32_t texels;
    *a = (layer){.calls = d->calls, .call_count = d->call_count, .frames = hd_table(d, SLOT_FRAMES, 16, &texels),
        .cut = d->program->constants[0], .cull = d->cull_back, .slope = d->bias[0], .units = d->bias[1]};
    if (!a->frames || !hd_tables_of(d, &a->t)) return d == w ? 0 : hd_fail(w, "%s", d->error);
    if (d->viewport[2] > 0 && (d->viewport[0] || d->viewport[1] || d->viewport[2] != r->width || d->viewport[3] != r->height))
        return hd_fail(w, "the host device draws on whole pictures, not on a part of one");
    double half[2] = {0.5 * r->width, 0.5 * r->height}, scale[4] = {1, 1, 0, 0};
    if (!r->sun) {
        const float *projection = d->uniform[0].size >= 32 ? (const float *)d->uniform[0].bytes : NULL;
        if (!projection) return hd_fail(w, "camera.ids lacks its projection");
        for (int i = 0; i < 4; i++) scale[i] = projection[i];
        memcpy(a->range, projection + 4, sizeof a->range);
    }
    for (int i = 0; i < 2; i++) {
        a->half[i] = (float)half[i], a->pixels[i] = (float)(scale[i] * half[i]);
        a->pixels[2 + i] = (float)(half[i] * (1 + scale[2 + i]) - 0.5);
    }
    for (uint32_t i = 0; i < a->call_count; i++) a->groups += groups_of(&a->calls[i]);
    r->groups += a->groups;
    r->layer_count++;
    return 1;
}

// raster_place places all triangles; raster_draw draws all tiles then.
static int raster_place(raster *r, hd_pool *p, hd_work *w) {
    hd_parallel(p, place_block, r, CHUNKS);
    return r->failed ? hd_fail(w, "no memory for the triangles on a picture of %d x %d pixels", r->width, r->height) : 1;
}

// raster_drawn says that a picture was written, tile by tile.
static void raster_drawn(const raster *r) {
    for (int i = 0; i <= r->to->colors; i++) {
        hd_memory *m = (i < r->to->colors ? r->to->color[i] : r->to->depth)->memory;
        hd_touch(m, 0, m->size);
    }
    hd_derived *kept = r->patches ? hd_derive(r->to->depth->memory, &patches_key) : NULL;
    if (kept) kept->lo = kept->hi = 0; // what they say holds
}

static int raster_draw(raster *r, hd_pool *p, hd_work *w) {
    hd_parallel(p, draw_block, r, (uint32_t)(r->tiles_x * r->tiles_y));
    raster_drawn(r);
    return r->failed ? hd_fail(w, "no memory for the tiles of a picture") : 1;
}

// state_of returns a program's state of some size, 0 at first; NULL after hd_fail.
static void *state_of(hd_work *w, size_t size) {
    if (!w->own->state) w->own->state = calloc(1, size);
    if (!w->own->state) hd_fail(w, "no memory for a program's state");
    return w->own->state;
}

static int run_draw(hd_pool *p, hd_work *w, int sun) {
    raster *r = state_of(w, sizeof *r);
    return r && raster_begin(r, w, &w->target, sun) && raster_add(r, w, w) && raster_place(r, p, w) && raster_draw(r, p, w);
}

static int camera_ids(hd_pool *p, hd_work *w) { return run_draw(p, w, 0); }
static int camera_shadow(hd_pool *p, hd_work *w) { return run_draw(p, w, 1); }

static void camera_draw_end(void *state) {
    raster_free(state);
    free(state);
}
