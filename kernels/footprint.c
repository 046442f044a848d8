#include "footprint.h"

#include <math.h>
#include <stdlib.h>

static float linear_of(const hd_texture *t, int channel, uint8_t code) {
    double v = code / 255.0;
    if (t->format != HD_SRGB8A8 || channel == 3) return (float)v;
    return (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
}

static int32_t at_level(int32_t size, int level) { return size >> level > 1 ? size >> level : 1; }

static void drop(void *data) {
    footprint *f = data;
    hd_room_free(f->texels, 16 * (size_t)f->width * (size_t)f->height * (size_t)f->layers);
    free(f);
}

static const char keep;

const footprint *hd_footprint_of(hd_work *w, const hd_texture *t) {
    hd_derived *kept = hd_derive(t->memory, &keep);
    footprint *f = kept ? kept->data : NULL;
    if (f && kept->lo >= kept->hi) return f;
    if (t->format != HD_SRGB8A8 && t->format != HD_RGBA8) {
        hd_fail(w, "pictures have the format %d", t->format);
        return NULL;
    }
    int level = t->levels > HD_FOOTPRINT ? HD_FOOTPRINT : t->levels - 1;
    if (!f && kept && (f = calloc(1, sizeof *f))) {
        f->width = at_level(t->width, level), f->height = at_level(t->height, level), f->layers = t->layers;
        f->texels = hd_room(16 * (size_t)f->width * (size_t)f->height * (size_t)f->layers);
        kept->data = f, kept->drop = drop;
        if (!f->texels) drop(f), kept->data = f = NULL;
    }
    if (!f) {
        hd_fail(w, "out of memory for the pictures");
        return NULL;
    }
    float table[2][256];
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 2; k++) table[k][i] = linear_of(t, 3 * k, (uint8_t)i);
    size_t n = (size_t)f->width * (size_t)f->height * (size_t)f->layers;
    const uint8_t *from = t->memory->bytes + t->level[level];
    for (size_t i = 0; i < 4 * n; i++) f->texels[i] = table[i % 4 == 3][from[i]];
    kept->lo = kept->hi = 0;
    return f;
}

// add adds a level's bilinear colour by a share.
static void add(const hd_texture *t, const float at[3], int level, float share, float out[4]) {
    int32_t size[2] = {at_level(t->width, level), at_level(t->height, level)}, place[2][2];
    float part[2];
    for (int i = 0; i < 2; i++) {
        float x = (at[i] - floorf(at[i])) * (float)size[i] - 0.5f, low = floorf(x);
        int32_t k = low >= 0 && low < (float)size[i] ? (int32_t)low : size[i] - 1;
        place[i][0] = k, place[i][1] = (k + 1) % size[i];
        part[i] = x - low;
    }
    int32_t layer = at[2] > 0 && at[2] < (float)t->layers ? (int32_t)at[2] : 0;
    const uint8_t *texels = t->memory->bytes + t->level[level] + 4 * (size_t)size[0] * (size_t)size[1] * (size_t)layer;
    for (int k = 0; k < 4; k++) {
        const uint8_t *texel = texels + 4 * ((size_t)place[1][k / 2] * (size_t)size[0] + (size_t)place[0][k % 2]);
        float weight = share * (k % 2 ? part[0] : 1 - part[0]) * (k / 2 ? part[1] : 1 - part[1]);
        for (int c = 0; c < 4; c++) out[c] += weight * linear_of(t, c, texel[c]);
    }
}

void hd_sample(const hd_texture *t, const float at[3], float level, float out[4]) {
    float most = (float)(t->levels - 1);
    level = level > 0 ? level < most ? level : most : 0;
    int low = (int)level;
    for (int c = 0; c < 4; c++) out[c] = 0;
    add(t, at, low, 1 - (level - (float)low), out);
    if (level > (float)low) add(t, at, low + 1, level - (float)low, out);
}
