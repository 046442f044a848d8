// Triangles on pictures: what camera_ids and camera_shadow draw. A picture is made in tiles,
// which stay in a core's caches. First, chunks of the triangles are placed on the picture and
// listed by the tiles that they touch. Then each tile draws what the chunks list for it, in the
// order of the draws. Within a tile, pixels lie in blocks of 4 x 4, block after block.

enum {
    TILE = 64,             // pixels, both ways
    BLOCKS = TILE / 4,     // of a tile, both ways
    TILE_PIXELS = TILE * TILE,
    CHUNKS = 16,           // a pixel of a tile has the chunk's number in 4 bits
    ENTRY_BITS = 28,       // and the place in the chunk's list plus one in the others
    HALVES = 16 / LANES,   // vectors of a block
};

// Samplers of the cameras' own, of the catalogue.
enum { SLOT_FRAMES = HD_SLOT_SENSOR, SLOT_VISIBLE, SLOT_STATIC_SHADOW, SLOT_MOVER_SHADOW, SLOT_PALETTE, SLOT_SUNLIT };

// drawn is a triangle on the picture: its corners in pixels, whose centres are whole numbers,
// and at each 1 / depth, or the depth of a map of the sun.
typedef struct {
    float x[3], y[3], w[3];
    uint32_t triangle, frame, draw;
} drawn;

typedef struct {
    uint32_t *items, count, room;
} list;

typedef struct {
    drawn *items;
    uint32_t count, room;
    list *tiles;
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

// raster is a picture that is drawn, and its memory, which is kept from one to the next.
typedef struct {
    int width, height, tiles_x, tiles_y;
    int sun;                       // a map of the sun, else ids
    int cleared;                   // what was there doesn't count
    uint32_t *ids;                 // two words a pixel
    float *depth;
    uint32_t blank[2];             // the ids of a cleared picture
    layer *layers;
    uint32_t layer_count, layer_room, groups;
    chunk chunks[CHUNKS];
    uint32_t tile_room;
    int failed; // for no memory
} raster;

static void raster_free(raster *r) {
    for (int k = 0; k < CHUNKS; k++) {
        for (uint32_t i = 0; i < r->tile_room; i++) free(r->chunks[k].tiles[i].items);
        free(r->chunks[k].tiles);
        free(r->chunks[k].items);
    }
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
            list *l = &k->tiles[ty * r->tiles_x + tx];
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

// place places the triangles from first on, some of them, on the picture: those of a call.
INLINE void place(raster *r, chunk *k, const layer *a, uint32_t first, int some, uint32_t frame) {
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
    vf x0 = v_max(-v_floor(-v_min(x[0], v_min(x[1], x[2]))), v_set(0)), x1 = v_min(v_floor(v_max(x[0], v_max(x[1], x[2]))), v_set((float)(r->width - 1)));
    vf y0 = v_max(-v_floor(-v_min(y[0], v_min(y[1], y[2]))), v_set(0)), y1 = v_min(v_floor(v_max(y[0], v_max(y[1], y[2]))), v_set((float)(r->height - 1)));
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
    uint32_t first = (uint32_t)((uint64_t)r->groups * number / CHUNKS), end = (uint32_t)((uint64_t)r->groups * (number + 1) / CHUNKS), at = 0;
    for (uint32_t n = 0; n < r->layer_count && at < end; n++) {
        const layer *a = &r->layers[n];
        for (uint32_t i = 0; i < a->call_count && at < end; i++) {
            const hd_call *c = &a->calls[i];
            uint32_t groups = groups_of(c), triangles = (uint32_t)c->count / 3;
            uint32_t g = first > at ? first - at : 0, stop = end - at < groups ? end - at : groups;
            for (; g < stop; g++)
                for (uint32_t t = 16 * g; t < 16 * g + 16 && t < triangles; t += LANES)
                    place(r, k, a, (uint32_t)c->first / 3 + t, (int)(triangles - t), (uint32_t)c->index);
            at += groups;
        }
    }
}

// tile is the part of a picture that a thread works on: pixels in blocks. id has the chunk's
// number and the place in its list plus one, 0 for nothing that was drawn.
typedef struct {
    float depth[TILE_PIXELS];
    uint32_t id[TILE_PIXELS];
    // What a camera's pixels see, as the ids' texture has it.
    uint32_t triangle[TILE_PIXELS], frame[TILE_PIXELS];
    int x, y, width, height; // on the picture
} __attribute__((aligned(64))) tile;

// Offsets of a vector's pixels within a block.
INLINE vf block_x(void) { return i_float(i_ramp() & 3); }
INLINE vf block_y(int half) { return i_float((i_ramp() >> 2) + half * (LANES / 4)); }

// part is where the corners that are drawn lie in the triangle: barycentric coordinates.
typedef struct {
    vi material;
    float u[3], v[3];
} part;

// part_of tells whether a triangle's material may be cut out, and if so what is drawn of it.
static int part_of(const raster *r, const drawn *d, part *c) {
    const layer *a = &r->layers[d->draw];
    uint32_t material = a->t.attributes[12 * (size_t)d->triangle + 3];
    if (!a->cut || a->t.materials[16 * (size_t)material + 7] == 0) return 0;
    *c = (part){i_set((int32_t)material), {0, 1, 0}, {0, 0, 1}};
    if (r->sun) return 1;
    // The near plane may have taken a piece.
    const float(*to)[4] = (const float(*)[4])(a->frames + (size_t)d->frame * 24 + 12), *p = a->t.vertices + 12 * (size_t)d->triangle;
    double q[3][3], e1[3], e2[3], g11 = 0, g12 = 0, g22 = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) q[i][k] = (double)to[k][0] * p[4 * i] + (double)to[k][1] * p[4 * i + 1] + (double)to[k][2] * p[4 * i + 2] + to[k][3];
    for (int k = 0; k < 3; k++) {
        e1[k] = q[1][k] - q[0][k], e2[k] = q[2][k] - q[0][k];
        g11 += e1[k] * e1[k], g12 += e1[k] * e2[k], g22 += e2[k] * e2[k];
    }
    double det = g11 * g22 - g12 * g12;
    if (!(det > 0)) return 1;
    for (int i = 0; i < 3; i++) {
        double z = 1 / (double)d->w[i], at[3] = {(d->x[i] - a->pixels[2]) / a->pixels[0] * z, (d->y[i] - a->pixels[3]) / a->pixels[1] * z, z}, b1 = 0, b2 = 0;
        for (int k = 0; k < 3; k++) b1 += (at[k] - q[0][k]) * e1[k], b2 += (at[k] - q[0][k]) * e2[k];
        c->u[i] = (float)((b1 * g22 - b2 * g12) / det), c->v[i] = (float)((b2 * g11 - b1 * g12) / det);
    }
    return 1;
}

// gone tells which fragments are absent. e are the edges' values there, x and y the pixels.
INLINE vm gone(const raster *r, const drawn *d, const part *c, const vf e[3], vi x, vi y, vm on) {
    const hd_tables *t = &r->layers[d->draw].t;
    vf sum = v_set(0), u = sum, v = sum;
    for (int i = 0; i < 3; i++) {
        vf share = r->sun ? e[i] : e[i] * d->w[i];
        sum = sum + share, u = u + share * c->u[i], v = v + share * c->v[i];
    }
    vi triangle = i_set((int32_t)d->triangle);
    material m = material_at(t, c->material);
    vf alpha = alpha_of(t, &m, on, triangle, u / sum, v / sum);
    if (r->sun) return v_lt(alpha, v_abs(m.cutoff)); // what is blended casts a shadow as a whole, or none
    vu who[4] = {(vu)x, (vu)y, (vu)triangle + 1, (vu)i_set((int32_t)d->frame)};
    return absent(m.cutoff, alpha, who);
}

// draw draws a triangle into a tile. Edges that two triangles share are exact opposites, since
// they are made of the same products: no pixel's centre falls between them. They are set up in
// double precision, for corners far beside the picture.
INLINE void draw(const raster *r, tile *t, const drawn *d, uint32_t id, int sun) {
    double x[3], y[3], ea[3], eb[3], ec[3];
    for (int i = 0; i < 3; i++) x[i] = (double)d->x[i] - t->x, y[i] = (double)d->y[i] - t->y;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        ea[i] = y[j] - y[k], eb[i] = x[k] - x[j], ec[i] = x[j] * y[k] - x[k] * y[j];
    }
    double area = ec[0] + ec[1] + ec[2];
    if (!(area != 0)) return;
    if (area < 0) {
        for (int i = 0; i < 3; i++) ea[i] = -ea[i], eb[i] = -eb[i], ec[i] = -ec[i];
        area = -area;
    }
    const layer *a = &r->layers[d->draw];
    // Depth changes linearly over the picture: as 1 / depth does, or the map's.
    double scale = 1 / area, w1 = (double)d->w[1] - d->w[0], w2 = (double)d->w[2] - d->w[0];
    double da = (w1 * ea[1] + w2 * ea[2]) * scale, db = (w1 * eb[1] + w2 * eb[2]) * scale, d0 = d->w[0] + (w1 * ec[1] + w2 * ec[2]) * scale;
    float bias = 0;
    if (!sun) da *= a->range[0], db *= a->range[0], d0 = d0 * a->range[0] + a->range[1];
    else if (a->slope != 0 || a->units != 0) {
        // The smallest step of depth is that of the largest number of the triangle.
        int exponent;
        frexpf(most_of(fabsf(least3(d->w)), fabsf(most3(d->w))), &exponent);
        bias = a->slope * (float)(fabs(da) > fabs(db) ? fabs(da) : fabs(db)) + a->units * ldexpf(1, exponent - 24);
    }
    float fa[3], fb[3], fc[3];
    for (int i = 0; i < 3; i++) fa[i] = (float)ea[i], fb[i] = (float)eb[i], fc[i] = (float)ec[i];
    float lx = most_of(ceilf(least3(d->x)), 0) - (float)t->x, hx = least_of(floorf(most3(d->x)), (float)(r->width - 1)) - (float)t->x;
    float ly = most_of(ceilf(least3(d->y)), 0) - (float)t->y, hy = least_of(floorf(most3(d->y)), (float)(r->height - 1)) - (float)t->y;
    int bx0 = (int)most_of(lx, 0) >> 2, bx1 = (int)least_of(hx, (float)(t->width - 1)) >> 2;
    int by0 = (int)most_of(ly, 0) >> 2, by1 = (int)least_of(hy, (float)(t->height - 1)) >> 2;
    part drawn_part;
    int cut = part_of(r, d, &drawn_part);
    vf e[3][HALVES], z[HALVES], out[3];
    float corner[3], least[3];
    for (int h = 0; h < HALVES; h++) {
        for (int i = 0; i < 3; i++) e[i][h] = fa[i] * block_x() + fb[i] * block_y(h);
        z[h] = (float)da * block_x() + (float)db * block_y(h);
    }
    for (int i = 0; i < 3; i++) {
        corner[i] = (fa[i] > 0 ? 3 * fa[i] : 0) + (fb[i] > 0 ? 3 * fb[i] : 0); // the block's innermost pixel
        out[i] = 4 * fa[i] * i_float(i_ramp());
        // A pixel's centre on an edge of two triangles is one's: to its right or, where the edge is
        // level, above it.
        least[i] = fa[i] > 0 || (fa[i] == 0 && fb[i] > 0) ? 0 : FLT_MIN;
    }
    unsigned all = (2u << bx1) - (1u << bx0);
    for (int by = by0; by <= by1; by++) {
        float row[3];
        for (int i = 0; i < 3; i++) row[i] = fb[i] * (float)(4 * by) + fc[i];
        unsigned blocks = all;
        if (bx1 - bx0 > 1) // which blocks have a pixel that may be inside
            for (int k = 0; k < BLOCKS; k += LANES) {
                vf inside = v_min(v_min(out[0] + (row[0] + corner[0] + 4 * fa[0] * (float)k), out[1] + (row[1] + corner[1] + 4 * fa[1] * (float)k)),
                    out[2] + (row[2] + corner[2] + 4 * fa[2] * (float)k));
                unsigned some = m_bits(v_ge(inside, v_set(0)));
                blocks &= some << k | ~(((2u << (LANES - 1)) - 1) << k);
            }
        double depth_row = d0 + db * (4 * by);
        for (; blocks; blocks &= blocks - 1) {
            int bx = __builtin_ctz(blocks), at = (by * BLOCKS + bx) * 16;
            float base[3], here0 = (float)(depth_row + da * (4 * bx));
            for (int i = 0; i < 3; i++) base[i] = row[i] + fa[i] * (float)(4 * bx);
            for (int h = 0; h < HALVES; h++) {
                vf edge[3];
                for (int i = 0; i < 3; i++) edge[i] = e[i][h] + base[i];
                vf here = z[h] + here0, old = v_load(&t->depth[at + h * LANES]);
                vm on = v_ge(edge[0], v_set(least[0])) & v_ge(edge[1], v_set(least[1])) & v_ge(edge[2], v_set(least[2]));
                if (sun) {
                    on = on & v_ge(here, v_set(0)) & v_le(here, v_set(1.0f)); // clipped, and then moved
                    here = v_min(v_max(here + bias, v_set(0)), v_set(1.0f));
                    on = on & v_lt(here, old);
                } else on = on & v_lt(old, here);
                if (!m_any(on)) continue;
                if (cut) {
                    vi x = (i_ramp() & 3) + (t->x + 4 * bx), y = (i_ramp() >> 2) + (t->y + 4 * by + h * (LANES / 4));
                    on = on & m_not(gone(r, d, &drawn_part, edge, x, y, on));
                }
                v_store(&t->depth[at + h * LANES], v_sel(on, here, old));
                if (!sun) i_store(&t->id[at + h * LANES], i_sel(on, i_set((int32_t)id), i_load(&t->id[at + h * LANES])));
            }
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

// LINES_OF goes through the lines of a tile's blocks: n pixels, four as a rule, from place on in a
// picture and from at on in the tile.
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

// draw_tile draws what the chunks list for a tile, and writes it to the targets. Without
// anything listed a picture that isn't cleared stays.
INLINE void draw_tile_of(raster *r, tile *t, uint32_t number, int sun) {
    tile_at(t, number, r->tiles_x, r->width, r->height);
    uint32_t count = 0;
    for (int k = 0; k < CHUNKS; k++) count += r->chunks[k].tiles[number].count;
    if (r->cleared) {
        float far = sun ? 1 : 0;
        for (int i = 0; i < TILE_PIXELS; i++) t->depth[i] = far;
    } else {
        LINES_OF(t, r->width, place, at, n) copy_words(&t->depth[at], r->depth + place, n, 4);
        if (!sun) read_ids(t, r->ids, r->width);
    }
    if (!sun) memset(t->id, 0, sizeof t->id);
    for (uint32_t k = 0; k < CHUNKS; k++) {
        const list *l = &r->chunks[k].tiles[number];
        for (uint32_t i = 0; i < l->count; i++) draw(r, t, &r->chunks[k].items[l->items[i]], k << ENTRY_BITS | (l->items[i] + 1), sun);
    }
    if (count || r->cleared)
        LINES_OF(t, r->width, place, at, n) copy_words(r->depth + place, &t->depth[at], n, 4);
    if (sun) return;
    for (int i = 0; i < TILE_PIXELS; i += LANES) {
        vi id = i_load(&t->id[i]);
        vi triangle = r->cleared ? i_set((int32_t)r->blank[0]) : i_load(&t->triangle[i]), frame = r->cleared ? i_set((int32_t)r->blank[1]) : i_load(&t->frame[i]);
        for (unsigned left = m_bits(m_not(i_eq(id, i_set(0)))); left;) {
            uint32_t next = (uint32_t)id[__builtin_ctz(left)];
            vm on = i_eq(id, i_set((int32_t)next));
            left &= ~m_bits(on);
            const drawn *d = &r->chunks[next >> ENTRY_BITS].items[(next & ((1u << ENTRY_BITS) - 1)) - 1];
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
    r->width = to->depth->width, r->height = to->depth->height, r->sun = sun, r->cleared = 0, r->failed = 0;
    r->tiles_x = (r->width + TILE - 1) / TILE, r->tiles_y = (r->height + TILE - 1) / TILE;
    r->depth = (float *)(to->depth->memory->bytes + to->depth->level[0]) + (size_t)to->layer * (size_t)r->width * (size_t)r->height;
    r->ids = sun ? NULL : (uint32_t *)(to->color[0]->memory->bytes + to->color[0]->level[0]);
    r->layer_count = r->groups = 0;
    uint32_t tiles = (uint32_t)(r->tiles_x * r->tiles_y);
    for (int k = 0; k < CHUNKS && tiles > r->tile_room; k++) {
        list *lists = realloc(r->chunks[k].tiles, tiles * sizeof *lists);
        if (!lists) return hd_fail(w, "no memory for the lists of %u tiles", tiles);
        r->chunks[k].tiles = lists;
        memset(lists + r->tile_room, 0, (tiles - r->tile_room) * sizeof *lists);
    }
    if (tiles > r->tile_room) r->tile_room = tiles;
    return 1;
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

static int raster_draw(raster *r, hd_pool *p, hd_work *w) {
    hd_parallel(p, draw_block, r, (uint32_t)(r->tiles_x * r->tiles_y));
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
