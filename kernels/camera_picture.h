// Pictures of the scene for shading, and mathematics of light.

// pictures are a texture's texels as shading reads them: square roots of linear light, 10 bits
// a channel. A texel is two words, itself and the one below, and a row ends in its first once
// more. So a bilinear tap is one read of four words, whatever lies around. A picture smaller
// than its layer has its first row and column behind its last ones: see mipmap.around of package
// scene.
typedef struct {
    uint32_t *texels;
    size_t bytes;
    int32_t size, layers, levels, start[HD_LEVELS]; // of each level, in texels
    const hd_texture *from;
    uint32_t roots[256];
} pictures;

static const char pictures_key;

static void pictures_drop(void *data) {
    pictures *p = data;
    hd_room_free(p->texels, p->bytes);
    free(p);
}

// pictures_block makes one layer of one level.
static void pictures_block(void *data, hd_worker *w, uint32_t i) {
    (void)w;
    pictures *p = data;
    int level = (int)i / p->layers, n = (int)i % p->layers, size = p->size >> level;
    const uint8_t *from = p->from->memory->bytes + p->from->level[level] + 4 * (size_t)n * (size_t)size * (size_t)size;
    uint32_t *to = p->texels + 2 * ((size_t)p->start[level] + (size_t)n * (size_t)size * (size_t)(size + 1));
    for (int y = 0; y < size; y++) {
        const uint8_t *row[2] = {from + 4 * (size_t)y * (size_t)size, from + 4 * (size_t)((y + 1) & (size - 1)) * (size_t)size};
        for (int x = 0; x <= size; x++)
            for (int k = 0; k < 2; k++) {
                const uint8_t *b = row[k] + 4 * (x & (size - 1));
                *to++ = p->roots[b[0]] | p->roots[b[1]] << 10 | p->roots[b[2]] << 20;
            }
    }
}

// pictures_of returns the pictures of a texture, and makes them where it was written since.
// NULL after hd_fail.
static const pictures *pictures_of(hd_pool *pool, hd_work *w, const hd_texture *t, int srgb) {
    hd_derived *kept = t ? hd_derive(t->memory, &pictures_key) : NULL;
    if (kept && kept->data && kept->lo >= kept->hi) return kept->data;
    if (!kept || t->kind != HD_2D_ARRAY || t->width != t->height || (t->width & (t->width - 1))) {
        hd_fail(w, "the scene's pictures are not what shading reads");
        return NULL;
    }
    pictures *p = kept->data ? kept->data : calloc(1, sizeof *p);
    size_t texels = 0;
    for (int l = 0; p && l < t->levels; l++) {
        p->start[l] = (int32_t)texels;
        size_t size = (size_t)(t->width >> l);
        texels += size * (size + 1) * (size_t)t->layers;
    }
    if (p && !p->texels) p->bytes = 8 * texels, p->texels = texels < (1u << 30) ? hd_room(p->bytes + 64) : NULL;
    if (!p || !p->texels) {
        free(kept->data ? NULL : p);
        hd_fail(w, "no memory for %zu texels of the scene's pictures", texels);
        return NULL;
    }
    p->size = t->width, p->layers = t->layers, p->levels = t->levels, p->from = t;
    for (int i = 0; i < 256; i++) {
        double v = i / 255.0;
        if (srgb) v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        p->roots[i] = (uint32_t)(1023 * sqrt(v) + 0.5);
    }
    hd_parallel(pool, pictures_block, p, (uint32_t)(p->levels * p->layers));
    kept->data = p, kept->drop = pictures_drop, kept->lo = kept->hi = 0;
    return p;
}

INLINE vf clamp01(vf x) { return v_min(v_max(x, v_set(0)), v_set(1.0f)); }
INLINE vf mixed(vf a, vf b, vf f) { return a + f * (b - a); }
INLINE vf dot3(const vf a[3], const vf b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
INLINE vf dot3s(const vf a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
INLINE vf smoothly(vf t) { return t * t * (3.0f - 2.0f * t); }

// log2_of is for normal numbers above 0. Its polynomial is the series of the inverse
// hyperbolic tangent.
INLINE vf log2_of(vf x) {
    vi bits = as_i(x), e = (bits - 0x3f3504f3) >> 23; // mantissas from sqrt(1/2) to sqrt(2)
    vf m = as_f(bits - (e << 23));
    vf s = (m - 1.0f) / (m + 1.0f), q = s * s;
    return i_float(e) + s * (2.88539008f + q * (0.961796694f + q * (0.577078016f + q * 0.412198583f)));
}

INLINE vf exp2_of(vf x) {
    x = v_min(v_max(x, v_set(-126.0f)), v_set(127.0f));
    vf k = v_floor(x + 0.5f), f = x - k;
    vf y = 1.0f + f * (0.693147181f + f * (0.240226507f
        + f * (0.0555041087f + f * (0.00961812911f + f * (0.00133335581f + f * 0.000154035304f)))));
    return y * as_f((v_trunc(k) + 127) << 23);
}

// power_of returns x to some power above 0, for x from 0 on.
INLINE vf power_of(vf x, float power) {
    return v_sel(v_lt(v_set(0), x), exp2_of(power * log2_of(v_max(x, v_set(1e-30f)))), v_set(0));
}

// reading is where a picture is read: a point in one level or two, each between four texels.
typedef struct {
    vi at[2];
    vf x[2], y[2], share; // the share of the second level
    vm more;              // has one
} reading;

INLINE void read_at(const pictures *of, const picture *p, vi level, vm nearest, const vf uv[2], vm on, reading *t, int k) {
    vi size = i_set(of->size) >> level, w = level_size(p->width, level), h = level_size(p->height, level);
    vi x = line_of(uv[0], w, p->sampling & 3, nearest, &t->x[k]), y = line_of(uv[1], h, p->sampling >> 2 & 3, nearest, &t->y[k]);
    x = i_sel(i_lt(x, i_set(0)), w - 1, x), y = i_sel(i_lt(y, i_set(0)), h - 1, y);
    vi at = i_gather(of->start, level) + (p->layer * size + y) * (size + 1) + x;
    t->at[k] = i_sel(on, at, i_set(0)) * 2;
}

// spot is where pictures are sampled: at uv, which moves by x and y from pixel to pixel.
typedef struct {
    vf uv[2], x[2], y[2];
} spot;

// reading_of finds where a picture is read: sampled of lib/scene.glsl.
INLINE void reading_of(const pictures *of, const picture *p, const spot *s, vm on, reading *t) {
    vi zero = i_set(0), most = i_most(p->width, p->height);
    vf x = i_float(p->width), y = i_float(p->height);
    vf across = s->x[0] * x * (s->x[0] * x) + s->x[1] * y * (s->x[1] * y), down = s->y[0] * x * (s->y[0] * x) + s->y[1] * y * (s->y[1] * y);
    vf lod = 0.5f * log2_of(v_max(v_max(across, down), v_set(1e-8f)));
    vm nearest = m_not(i_eq(p->sampling & i_sel(v_lt(v_set(0), lod), i_set(32), i_set(16)), zero));
    vf last = i_float((as_i(i_float(most)) >> 23) - 127); // the level of one texel
    lod = v_sel(i_eq(p->sampling & 128, zero), v_min(v_max(lod, v_set(0)), last), v_set(0));
    lod = v_sel(i_eq(p->sampling & 64, zero), lod, v_floor(lod + 0.5f));
    vf uv[2] = {wrapped(s->uv[0], p->sampling & 3), wrapped(s->uv[1], p->sampling >> 2 & 3)}, floor = v_floor(lod);
    vi level = v_trunc(floor);
    t->share = lod - floor, t->more = on & v_lt(v_set(0), t->share);
    read_at(of, p, level, nearest, uv, on, t, 0);
    if (m_any(t->more)) read_at(of, p, i_sel(t->more, level + 1, level), nearest, uv, t->more, t, 1);
}

// next_end goes from one end of a line of four lanes to the other, and on to the next line: 0, 3,
// 4, 7, ...
INLINE int next_end(int l) { return l + 3 - 2 * (l % 4 / 3); }

// fetch asks for the texels of a block's corners, and of the lines between: they come while
// other work is done.
INLINE void fetch(const pictures *p, const reading *t) {
    for (int k = 0; k < (m_any(t->more) ? 2 : 1); k++)
        for (int l = 0; l < LANES; l = next_end(l)) __builtin_prefetch(p->texels + t->at[k][l]);
}

INLINE void tap(const pictures *p, const reading *t, int k, vf out[3]) {
    vf quad[4], fx = t->x[k], fy = t->y[k];
    v_quads(p->texels, t->at[k], quad);
    vf weight[4] = {(1.0f - fx) * (1.0f - fy), (1.0f - fx) * fy, fx * (1.0f - fy), fx * fy};
    for (int i = 0; i < 3; i++) out[i] = v_set(0);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) {
            vf root = i_float(as_i(quad[j]) & 1023 << (10 * i)); // times a power of two, which is exact
            out[i] = out[i] + weight[j] * (root * root);
        }
    static const float scale[3] = {1.0f / (1023.0f * 1023.0f), 1.0f / (1023.0f * 1023.0f * 0x1p20f), 1.0f / (1023.0f * 1023.0f * 0x1p40f)};
    for (int i = 0; i < 3; i++) out[i] = out[i] * scale[i];
}

// sampled is the colour that is read, trilinearly.
INLINE void sampled(const pictures *p, const reading *t, vf out[3]) {
    tap(p, t, 0, out);
    if (!m_any(t->more)) return;
    vf next[3];
    tap(p, t, 1, next);
    for (int i = 0; i < 3; i++) out[i] = v_sel(t->more, mixed(out[i], next[i], t->share), out[i]);
}

INLINE vf tone_curve(vf x) {
    x = v_min(x, v_set(1e6f));
    return clamp01(x * (2.51f * x + 0.09f) / (x * (2.43f * x + 0.59f) + 0.14f));
}

// encode_srgb is the transfer function of sRGB from 0 to 1. Above its straight part it is the
// polynomial of the square root that is least far from it, 0.00015 at most: a 26th of a level.
INLINE vf encode_srgb(vf c) {
    vf s = v_sqrt(c);
    vf high = -0.0422319501f + s * (1.57527088f + s * (-1.89947649f
        + s * (3.89844153f + s * (-5.0031687f + s * (3.41868736f + s * -0.947671612f)))));
    return v_sel(v_le(c, v_set(0.0031308f)), 12.92f * c, high);
}
