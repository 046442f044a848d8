// Labels, materials and pictures of lib/scene.glsl for LANES hits. Triangles must be numbers of
// the table.
#ifndef MATERIAL_H
#define MATERIAL_H

#include "footprint.h"
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

// material is a row of the table, as far as rays need it.
typedef struct {
    vf base[4], reflectance, metallic;
    vi flags, wraps, transforms; // as the shader's Material
    vf base_layer, metal_rough_layer;
} material;

INLINE material material_at(const hd_tables *t, vi i) {
    vf surface[4], layers[4];
    material m;
    v_rows(t->materials, i * 4, m.base);
    v_rows(t->materials, i * 4 + 2, surface);
    v_rows(t->materials, i * 4 + 3, layers);
    m.metallic = surface[0], m.reflectance = surface[2];
    m.flags = v_trunc(surface[3]);
    vi places = v_trunc(layers[3]);
    m.wraps = places & 63, m.transforms = (places >> 6) * 4;
    m.base_layer = layers[0], m.metal_rough_layer = layers[1];
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

// wrap_of applies a texture's wrap (0 repeat, 1 clamp, 2 mirror) to a coordinate.
INLINE vf wrap_of(vf x, vi wrap, float size) {
    vm other = m_not(i_eq(wrap, i_set(0)));
    if (!m_any(other)) return x;
    vf mirror = 1.0f - v_abs(x - 2.0f * v_floor(x * 0.5f) - 1.0f);
    vf y = v_sel(i_eq(wrap, i_set(2)), mirror, x);
    y = v_min(v_max(y, v_set(0.5f / size)), v_set(1.0f - 0.5f / size));
    return v_sel(other, y, x);
}

// taps are the four texels of a repeated picture around a point, as numbers in its level, and
// the shares of the second ones.
typedef struct {
    vi at[4];
    vf x, y;
} taps;

// taps_of takes a picture's layer, and coordinates in units of the picture.
INLINE taps taps_of(int width, int height, vi layer, vf u, vf v) {
    taps t;
    vf x = (u - v_floor(u)) * (float)width - 0.5f, y = (v - v_floor(v)) * (float)height - 0.5f;
    vf fx = v_floor(x), fy = v_floor(y);
    t.x = x - fx, t.y = y - fy;
    // Clamped against NaN and infinity, which leave any texel.
    vi x0 = v_trunc(v_min(v_max(fx, v_set(-1.0f)), v_set((float)(width - 1))));
    vi y0 = v_trunc(v_min(v_max(fy, v_set(-1.0f)), v_set((float)(height - 1))));
    vi x1 = i_sel(i_eq(x0, i_set(width - 1)), i_set(0), x0 + 1), y1 = i_sel(i_eq(y0, i_set(height - 1)), i_set(0), y0 + 1);
    x0 = i_sel(i_lt(x0, i_set(0)), i_set(width - 1), x0), y0 = i_sel(i_lt(y0, i_set(0)), i_set(height - 1), y0);
    vi row0 = (layer * height + y0) * width, row1 = (layer * height + y1) * width;
    t.at[0] = row0 + x0, t.at[1] = row0 + x1, t.at[2] = row1 + x0, t.at[3] = row1 + x1;
    return t;
}

INLINE vf blend(const taps *t, vf a, vf b, vf c, vf d) {
    return (a * (1.0f - t->x) + b * t->x) * (1.0f - t->y) + (c * (1.0f - t->x) + d * t->x) * t->y;
}

// layer_of returns a layer's number; 0 for none, which the caller leaves out.
INLINE vi layer_of(const hd_texture *t, vf layer) { return v_trunc(v_min(v_max(layer, v_set(0)), v_set((float)(t->layers - 1)))); }

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

// surface_color returns the linear base colour of hits of material m on triangles,
// over a beam's footprint, which covers many texels.
INLINE void surface_color(const hd_tables *t, const footprint *f, const material *m, const corners *k, vi triangle, vf u, vf v, vf color[3]) {
    for (int i = 0; i < 3; i++) color[i] = m->base[i];
    vm textured = v_ge(m->base_layer, v_set(0));
    if (m_any(textured)) {
        vf uv[2], p[4][4];
        texture_coordinates(k, u, v, uv);
        for (int i = 0; i < 2; i++) uv[i] = wrap_of(uv[i], m->wraps & 3, (float)t->color->width);
        taps at = taps_of(f->width, f->height, layer_of(t->color, m->base_layer), uv[0], uv[1]);
        for (int i = 0; i < 4; i++) v_rows(f->texels, at.at[i], p[i]);
        for (int i = 0; i < 3; i++) color[i] = v_sel(textured, color[i] * blend(&at, p[0][i], p[1][i], p[2][i], p[3][i]), color[i]);
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
    if (m[12] >= 0) {
        const hd_texture *p = t->color;
        float at[3][2], last = (float)(p->layers - 1);
        for (int i = 0; i < 3; i++) memcpy(at[i], t->attributes + 12 * (size_t)triangle + 4 * i + 1, sizeof at[i]);
        vf uv[2], a[4];
        for (int j = 0; j < 2; j++) {
            uv[j] = at[0][j] + u * (at[1][j] - at[0][j]) + v * (at[2][j] - at[0][j]);
            uv[j] = wrap_of(uv[j], i_set((int32_t)m[15] & 3), (float)p->width);
        }
        taps four = taps_of(p->width, p->height, i_set((int32_t)(m[12] < last ? m[12] : last)), uv[0], uv[1]);
        for (int j = 0; j < 4; j++) a[j] = i_float((vi)((vu)i_gather(p->memory->bytes + p->level[0], four.at[j]) >> 24)) * (1.0f / 255.0f);
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

// cut_out tells whether rays pass hits on one triangle because the surface is absent there: cutOut
// of the shader. who has the bits of the rays.
INLINE vm cut_out(const hd_tables *t, uint32_t triangle, int mover, vf u, vf v, const vi who[3]) {
    float cutoff = material_of(t, triangle)[7];
    if (cutoff == 0) return m_not(m_all());
    vu words[4] = {(vu)who[0], (vu)who[1], (vu)who[2], (vu)i_set((int32_t)(triangle + 0x9e3779b9u * (uint32_t)mover))};
    return absent(cutoff, alpha_of(t, triangle, u, v), words);
}

#endif
