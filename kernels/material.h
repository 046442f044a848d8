// Labels, materials and pictures of lib/scene.glsl for LANES hits. Triangles must be numbers of
// the table.
#ifndef MATERIAL_H
#define MATERIAL_H

#include "noise.h"
#include "scene.h"

// corners are the attributes of three vertices: of each the normal's code, the texture
// coordinates and a word (material, label, occlusion).
typedef struct {
    vf a[4], b[4], c[4];
} corners;

INLINE corners corners_of(const hd_tables *t, vi triangle) {
    corners k;
    v_rows(t->attributes, triangle * 3, k.a);
    v_rows(t->attributes, triangle * 3 + 1, k.b);
    v_rows(t->attributes, triangle * 3 + 2, k.c);
    return k;
}

// label_of returns instance id | tag << 16 | lamps << 24 of what was hit.
INLINE vi label_of(const hd_tables *t, vi triangle, vi mover) {
    vm still = i_lt(mover, i_set(0));
    vi label = i_gather(t->attributes + 7, triangle * 12);
    if (m_bits(still) == m_bits(m_all())) return label;
    return i_sel(still, label, i_gather(t->movers + 1, i_sel(still, i_set(0), mover) * 8));
}

INLINE vi label_instance(vi label) { return label & 0xffff; }
INLINE vi label_tag(vi label) { return label >> 16 & 0xff; }

// soaks_up is soaksUp of lib/scene.glsl.
INLINE vm soaks_up(vi label) {
    vi tag = label_tag(label);
    return i_eq(tag, i_set(9)) | i_eq(tag, i_set(10));
}

// material is a row of the table, as far as rays need it.
typedef struct {
    vf base[4], reflectance, metallic;
    vi flags, transforms, base_picture, metal_rough_picture; // as the shader's Material
} material;

INLINE material material_at(const hd_tables *t, vi i) {
    vf surface[4], places[4];
    material m;
    v_rows(t->materials, i * 4, m.base);
    v_rows(t->materials, i * 4 + 2, surface);
    v_rows(t->materials, i * 4 + 3, places);
    m.metallic = surface[0], m.reflectance = surface[2];
    m.flags = v_trunc(surface[3]);
    m.base_picture = v_trunc(places[0]), m.metal_rough_picture = v_trunc(places[1]), m.transforms = v_trunc(places[3]);
    return m;
}

// shine_at is material_at without colours and pictures.
INLINE material shine_at(const hd_tables *t, vi i) {
    vf surface[4];
    material m = {0};
    v_rows(t->materials, i * 4 + 2, surface);
    m.metallic = surface[0], m.reflectance = surface[2], m.flags = v_trunc(surface[3]);
    return m;
}

// painted is a material as a mover has it, -1 for the static world. A colour of the mover's takes the
// place of a paint's own.
INLINE void painted(const hd_tables *t, material *m, vi mover) {
    vm paint = m_not(i_eq(m->flags & 4096, i_set(0)) | i_lt(mover, i_set(0)));
    if (!m_any(paint)) return;
    vf own[4];
    v_rows(t->movers, i_sel(paint, mover * 2 + 1, i_set(0)), own);
    paint = paint & m_not(i_eq(as_i(own[3]), i_set(0)));
    for (int k = 0; k < 3; k++) m->base[k] = v_sel(paint, own[k], m->base[k]);
    m->reflectance = v_sel(paint, v_set(-1.0f), m->reflectance);
}

// texture_coordinates returns the interpolated texture coordinates.
INLINE void texture_coordinates(const corners *k, vf u, vf v, vf out[2]) {
    for (int i = 0; i < 2; i++) out[i] = k->a[1 + i] + u * (k->b[1 + i] - k->a[1 + i]) + v * (k->c[1 + i] - k->a[1 + i]);
}

// Pictures, as lib/scene.glsl samples them.

// picture is a record of one.
typedef struct {
    vi layer, width, height, sampling;
} picture;

INLINE vi i_least(vi a, vi b) { return i_sel(i_lt(a, b), a, b); }
INLINE vi i_most(vi a, vi b) { return i_sel(i_lt(a, b), b, a); }

// picture_of reads a row. What is not of the texture becomes the nearest that is.
INLINE picture picture_of(const hd_texture *t, const vf row[4]) {
    picture p;
    p.layer = i_most(i_least(v_trunc(row[0]), i_set(t->layers - 1)), i_set(0));
    p.width = i_most(i_least(v_trunc(row[1]), i_set(t->width)), i_set(1));
    p.height = i_most(i_least(v_trunc(row[2]), i_set(t->height)), i_set(1));
    p.sampling = v_trunc(row[3]);
    return p;
}

// picture_at reads record of the materials; where lanes are off, any.
INLINE picture picture_at(const hd_tables *t, const hd_texture *of, vi record, vm on) {
    vf row[4];
    v_rows(t->materials, i_sel(on & i_below(record, i_set((int32_t)t->material_rows)), record, i_set(0)), row);
    return picture_of(of, row);
}

// wrapped brings coordinates into 0 to 1.
INLINE vf wrapped(vf x, vi wrap) {
    vf y = x - v_floor(x);
    vm other = m_not(i_eq(wrap, i_set(0)));
    if (!m_any(other)) return y;
    vf mirrored = 1.0f - v_abs(x - 2.0f * v_floor(x * 0.5f) - 1.0f), clamped = v_min(v_max(x, v_set(0)), v_set(1.0f));
    return v_sel(other, v_sel(i_eq(wrap, i_set(1)), clamped, mirrored), y);
}

// line_of finds the first of the two of n texels that points of a line lie between, -1 for the
// last, and the share of the second.
INLINE vi line_of(vf x, vi n, vi wrap, vm nearest, vf *share) {
    vf size = i_float(n), at = x * size;
    at = v_sel(i_eq(wrap, i_set(0)), at, v_min(v_max(at, v_set(0.5f)), size - 0.5f)) - 0.5f;
    if (m_any(nearest)) at = v_sel(nearest, v_min(v_floor(x * size), size - 1.0f), at);
    vf low = v_floor(at);
    *share = at - low;
    return v_trunc(v_min(v_max(low, v_set(-1.0f)), size - 1.0f)); // of NaN and infinity any texel
}

// taps are the four texels around a point, as words of the texture's memory, and the shares of
// the second ones.
typedef struct {
    vi at[4];
    vf x, y;
} taps;

INLINE vi level_size(vi size, vi level) { return i_most(size >> level, i_set(1)); }

// level_start returns the word at which a level begins.
INLINE vi level_start(const hd_texture *of, vi level) {
    return (vi)((vu)i_gather(of->level, level * 2) >> 2) | i_gather(of->level, level * 2 + 1) << 30;
}

// taps_of takes a point from 0 to 1 in one level of a texture.
INLINE taps taps_of(const hd_texture *of, const picture *p, vi level, vm nearest, const vf uv[2]) {
    taps t;
    vi w = level_size(p->width, level), h = level_size(p->height, level), zero = i_set(0);
    vi x0 = line_of(uv[0], w, p->sampling & 3, nearest, &t.x), y0 = line_of(uv[1], h, p->sampling >> 2 & 3, nearest, &t.y);
    vi x1 = i_sel(i_lt(x0 + 1, w), x0 + 1, zero), y1 = i_sel(i_lt(y0 + 1, h), y0 + 1, zero);
    x0 = i_sel(i_lt(x0, zero), w - 1, x0), y0 = i_sel(i_lt(y0, zero), h - 1, y0);
    vi wide = level_size(i_set(of->width), level), row = p->layer * level_size(i_set(of->height), level), first = level_start(of, level);
    vi row0 = first + (row + y0) * wide, row1 = first + (row + y1) * wide;
    t.at[0] = row0 + x0, t.at[1] = row0 + x1, t.at[2] = row1 + x0, t.at[3] = row1 + x1;
    return t;
}

INLINE vf blend(const taps *t, vf a, vf b, vf c, vf d) {
    return (a * (1.0f - t->x) + b * t->x) * (1.0f - t->y) + (c * (1.0f - t->x) + d * t->x) * t->y;
}

// decoded returns the light of bytes in sRGB, by the shader's polynomial.
INLINE vf decoded(vf x) {
    vf high = 0.000924167456f + x * (0.0325732902f + x * (0.520607173f + x * (0.66372478f + x * (0.0856019408f * x - 0.303327113f))));
    return v_sel(v_le(x, v_set(0.04045f)), x * (1.0f / 12.92f), high);
}

// beam_color returns the colour of a picture that lidars' beams cover: of its record's level.
INLINE void beam_color(const hd_texture *of, const picture *p, const vf uv[2], int srgb, vf out[3]) {
    vf at[2] = {wrapped(uv[0], p->sampling & 3), wrapped(uv[1], p->sampling >> 2 & 3)};
    vi zero = i_set(0), level = i_most(i_least(p->sampling >> 8, i_set(of->levels - 1)), zero);
    vm nearest = m_not(i_eq(p->sampling & i_sel(i_eq(level, zero), i_set(16), i_set(32)), zero));
    level = i_sel(i_eq(p->sampling & 128, zero), level, zero);
    taps four = taps_of(of, p, level, nearest, at);
    vi texel[4];
    for (int j = 0; j < 4; j++) texel[j] = i_gather(of->memory->bytes, four.at[j]);
    for (int i = 0; i < 3; i++) {
        vf c[4];
        for (int j = 0; j < 4; j++) {
            c[j] = i_float(texel[j] >> (8 * i) & 255) * (1.0f / 255.0f);
            if (srgb) c[j] = decoded(c[j]);
        }
        out[i] = blend(&four, c[0], c[1], c[2], c[3]);
    }
}

// corner_color returns the linear colour of a vertex from its code.
INLINE void corner_color(vi code, vf out[3]) {
    vi rgb = (code & 0x7fffff) | (vi)((vu)code >> 31 << 23);
    vm plain = i_eq(code & 0x40000000, i_set(0));
    for (int i = 0; i < 3; i++) {
        vf root = i_float(rgb >> (8 * i) & 255) / 255.0f;
        out[i] = v_sel(plain, v_set(1.0f), root * root);
    }
}

// tint multiplies the colours of lanes by those of their triangles' vertices.
INLINE void tint(const hd_tables *t, vm colored, vi triangle, vf u, vf v, vf color[3]) {
    vf c[3][3];
    for (int i = 0; i < 3; i++) corner_color(as_i(v_gather(t->vertices + 4 * i + 3, triangle * 12)), c[i]);
    for (int i = 0; i < 3; i++) {
        vf mean = c[0][i] + u * (c[1][i] - c[0][i]) + v * (c[2][i] - c[0][i]);
        color[i] = v_sel(colored, color[i] * mean, color[i]);
    }
}

// surface_color returns the linear base colour of hits of material m on triangles, over a
// lidar's beam.
INLINE void surface_color(const hd_tables *t, const material *m, const corners *k, vi triangle, vf u, vf v, vf color[3]) {
    for (int i = 0; i < 3; i++) color[i] = m->base[i];
    vm textured = i_lt(i_set(-1), m->base_picture);
    if (m_any(textured)) {
        vf uv[2], of[3];
        texture_coordinates(k, u, v, uv);
        picture p = picture_at(t, t->color, m->base_picture, textured);
        beam_color(t->color, &p, uv, 1, of);
        for (int i = 0; i < 3; i++) color[i] = v_sel(textured, color[i] * of[i], color[i]);
    }
    vm colored = i_eq(m->flags & 8, i_set(8));
    if (m_any(colored)) tint(t, colored, triangle, u, v, color);
}

// material_of returns the row of a triangle's material, 16 numbers. Its cutoff, row[7], is 0 where
// nothing is cut out.
INLINE const float *material_of(const hd_tables *t, uint32_t triangle) {
    return t->materials + 16 * (size_t)t->attributes[12 * (size_t)triangle + 3];
}

// corner_alpha returns the alpha of a vertex from its code.
INLINE float corner_alpha(uint32_t code) { return code & 0x40000000u ? (float)(code >> 23 & 127) / 126.0f : 1; }

// alpha_of returns the alpha of the base colour of hits on one triangle.
INLINE vf alpha_of(const hd_tables *t, uint32_t triangle, vf u, vf v) {
    const float *m = material_of(t, triangle);
    vf alpha = v_set(m[3]);
    if (m[12] >= 0 && m[12] < (float)t->material_rows) {
        vf uv[2], row[4], a[4];
        float at[3][2];
        for (int i = 0; i < 3; i++) memcpy(at[i], t->attributes + 12 * (size_t)triangle + 4 * i + 1, sizeof at[i]);
        for (int j = 0; j < 4; j++) row[j] = v_set(t->materials[4 * (size_t)m[12] + (size_t)j]);
        picture p = picture_of(t->color, row);
        for (int j = 0; j < 2; j++)
            uv[j] = wrapped(at[0][j] + u * (at[1][j] - at[0][j]) + v * (at[2][j] - at[0][j]), p.sampling >> (2 * j) & 3);
        taps four = taps_of(t->color, &p, i_set(0), m_not(i_eq(p.sampling & 16, i_set(0))), uv);
        for (int j = 0; j < 4; j++) a[j] = i_float((vi)((vu)i_gather(t->color->memory->bytes, four.at[j]) >> 24)) * (1.0f / 255.0f);
        alpha = alpha * blend(&four, a[0], a[1], a[2], a[3]);
    }
    if ((int32_t)m[11] & 8) {
        float own[3];
        for (int i = 0; i < 3; i++) {
            uint32_t code;
            memcpy(&code, t->vertices + 12 * (size_t)triangle + 4 * i + 3, 4);
            own[i] = corner_alpha(code);
        }
        alpha = alpha * (own[0] + u * (own[1] - own[0]) + v * (own[2] - own[0]));
    }
    return alpha;
}

// absent is that of the shader. It changes the words that tell a hit from others.
INLINE vm absent(float cutoff, vf alpha, vu who[4]) {
    if (cutoff > 0) return v_lt(alpha, v_set(cutoff));
    pcg4d(who); // what is blended
    return v_le(alpha, uniform_of(who[0]));
}

// BLENDED_STOPS is the second word that tells a hit from others, where what is blended stops light.
enum { BLENDED_STOPS = 2 };

// cut_out tells whether rays pass hits on one triangle, which who names, because the surface is absent
// there: cutOut of the shader. It changes who.
INLINE vm cut_out(const hd_tables *t, vf u, vf v, vu who[4]) {
    uint32_t triangle = who[3][0];
    float cutoff = material_of(t, triangle)[7];
    if (cutoff == 0) return m_not(m_all());
    if (cutoff < 0 && who[1][0] == BLENDED_STOPS) return v_le(alpha_of(t, triangle, u, v), v_set(0));
    return absent(cutoff, alpha_of(t, triangle, u, v), who);
}

#endif
