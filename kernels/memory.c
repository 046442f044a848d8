// Mipmaps and copies. Of mipmaps, each level is the one before it at half the size, through a bilinear filter. Colours
// of sRGB are averaged as light.
#include "memory.h"

#include <math.h>
#include <string.h>

static float linear_of(int code) {
    double v = code / 255.0;
    return (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
}

typedef struct {
    const hd_texture *t;
    int32_t level, srgb;
    // Light of each code, and from which light on the code is the next.
    float light[256], next[255];
} halving;

static uint8_t code_of(const halving *h, float light) {
    int lo = 0, hi = 255;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (light < h->next[mid]) hi = mid;
        else lo = mid + 1;
    }
    return (uint8_t)lo;
}

// taps are the two places of a line that a pixel lies between, and the share of the second.
static void taps(int32_t i, int32_t from, int32_t to, int32_t at[2], float *share) {
    float x = ((float)i + 0.5f) * ((float)from / (float)to) - 0.5f, low = floorf(x);
    at[0] = low < 0 ? 0 : (int32_t)low;
    at[1] = (int32_t)low + 1 < from ? (int32_t)low + 1 : from - 1;
    *share = x - low;
}

static int32_t larger(int32_t v) { return v > 1 ? v : 1; }

// layer halves one layer.
static void layer(void *data, hd_worker *w, uint32_t index) {
    (void)w;
    const halving *h = data;
    int32_t level = h->level;
    int32_t fw = larger(h->t->width >> (level - 1)), fh = larger(h->t->height >> (level - 1));
    int32_t tw = larger(h->t->width >> level), th = larger(h->t->height >> level);
    const uint8_t *from = h->t->memory->bytes + h->t->level[level - 1] + 4 * (size_t)fw * (size_t)fh * index;
    uint8_t *to = h->t->memory->bytes + h->t->level[level] + 4 * (size_t)tw * (size_t)th * index;
    for (int32_t y = 0; y < th; y++) {
        int32_t row[2], column[2];
        float fy, fx;
        taps(y, fh, th, row, &fy);
        for (int32_t x = 0; x < tw; x++, to += 4) {
            taps(x, fw, tw, column, &fx);
            for (int c = 0; c < 4; c++) {
                float v[2];
                for (int k = 0; k < 2; k++) {
                    const uint8_t *line = from + 4 * (size_t)fw * (size_t)row[k] + c;
                    uint8_t a = line[4 * column[0]], b = line[4 * column[1]];
                    float p = h->srgb && c < 3 ? h->light[a] : (float)a, q = h->srgb && c < 3 ? h->light[b] : (float)b;
                    v[k] = p * (1.0f - fx) + q * fx;
                }
                float mean = v[0] * (1.0f - fy) + v[1] * fy;
                to[c] = h->srgb && c < 3 ? code_of(h, mean) : (uint8_t)(mean + 0.5f);
            }
        }
    }
}

int hd_mipmaps(hd_pool *pool, hd_work *w) {
    halving h = {.t = w->image[0].texture};
    h.srgb = h.t->format == HD_SRGB8A8;
    if (h.t->format != HD_RGBA8 && !h.srgb) return hd_fail(w, "mipmaps of format %d aren't made", h.t->format);
    for (int i = 0; i < 256; i++) h.light[i] = linear_of(i);
    for (int i = 0; i < 255; i++) {
        double v = (i + 0.5) / 255.0;
        h.next[i] = (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    for (h.level = 1; h.level < h.t->levels; h.level++) hd_parallel(pool, layer, &h, (uint32_t)h.t->layers);
    return 1;
}

enum { COPY_BLOCK = 1 << 18 };

static void copy_block(void *data, hd_worker *w, uint32_t i) {
    (void)w;
    const hd_work *of = data;
    size_t at = (size_t)i * COPY_BLOCK, left = of->storage[0].size - at;
    memcpy(of->storage[0].bytes + at, of->uniform[0].bytes + at, left < COPY_BLOCK ? left : COPY_BLOCK);
}

int hd_copy(hd_pool *pool, hd_work *w) {
    hd_parallel(pool, copy_block, w, (uint32_t)((w->storage[0].size + COPY_BLOCK - 1) / COPY_BLOCK));
    return 1;
}
