// Lenses, as lib/lens.glsl has them.

enum { LENS_PINHOLE, LENS_PLUMB_BOB, LENS_SVL, LENS_SVL_FISHEYE, LENS_TABLE };

// lens is the uniform block.
typedef struct {
    float pixels[4]; // 1/fx, 1/fy, cx, cy
    float radial[4], shape[4];
} lens;

// optics is a lens as its kind reads it.
typedef struct {
    const lens *lens;
    int kind;
    const float *table; // of LENS_TABLE: two numbers an entry
    int32_t width, height;
} optics;

// optics_of takes the lens of a work; 0 after hd_fail.
static int optics_of(hd_work *w, int kind, optics *o) {
    *o = (optics){.lens = hd_block(w, 1, sizeof *o->lens), .kind = kind};
    if (!o->lens || kind != LENS_TABLE) return o->lens != NULL;
    const hd_texture *t = w->sampler[SLOT_LENS_TABLE];
    if (!t || t->format != HD_RG32F || t->width < 4 || t->height < 4) return hd_fail(w, "a lens lacks its table");
    o->table = (const float *)(const void *)(t->memory->bytes + t->level[0]), o->width = t->width, o->height = t->height;
    return 1;
}

// pixel_rays is what pixels see along.
typedef struct {
    vf direction[3], right[3], down[3];
    vm seeing;
} pixel_rays;

// slopes is a symmetric matrix of derivatives.
typedef struct {
    vf xx, xy, yy;
} slopes;

INLINE vf dot2(const vf a[2], const vf b[2]) { return a[0] * b[0] + a[1] * b[1]; }

INLINE void polynomial(const lens *l, int kind, const vf p[2], vf q[2], slopes *m) {
    const float *r = l->radial;
    vf s = dot2(p, p);
    vf g = 1.0f + s * (r[0] + s * (r[1] + s * (r[2] + s * r[3])));
    vf change = 2.0f * (r[0] + s * (2.0f * r[1] + s * (3.0f * r[2] + s * (4.0f * r[3]))));
    m->xx = g + change * p[0] * p[0], m->xy = change * p[0] * p[1], m->yy = g + change * p[1] * p[1];
    q[0] = p[0] * g, q[1] = p[1] * g;
    if (kind != LENS_PLUMB_BOB) return;
    float t0 = l->shape[0], t1 = l->shape[1];
    vf across = 2.0f * (t0 * p[0] + t1 * p[1]);
    m->xx = m->xx + (2.0f * t0 * p[1] + 6.0f * t1 * p[0]), m->xy = m->xy + across, m->yy = m->yy + (2.0f * t1 * p[0] + 6.0f * t0 * p[1]);
    q[0] = q[0] + 2.0f * p[0] * p[1] * t0 + t1 * (s + 2.0f * p[0] * p[0]);
    q[1] = q[1] + 2.0f * p[0] * p[1] * t1 + t0 * (s + 2.0f * p[1] * p[1]);
}

INLINE void hold(const lens *l, vf p[2]) {
    vf f = v_min(l->shape[3] / v_sqrt(v_max(dot2(p, p), v_set(1e-30f))), v_set(1.0f));
    p[0] = p[0] * f, p[1] = p[1] * f;
}

INLINE vm holds_for(const lens *l, const vf p[2]) { return v_le(dot2(p, p), v_set(l->shape[3] * l->shape[3])); }

INLINE slopes inverse_of(slopes m) {
    vf scale = 1.0f / (m.xx * m.yy - m.xy * m.xy);
    return (slopes){m.yy * scale, -m.xy * scale, m.xx * scale};
}

// solve finds the points that the polynomial turns into q, by Newton's method.
INLINE vm solve(const lens *l, int kind, const vf q[2], vf p[2], slopes *m) {
    vf at[2];
    p[0] = q[0], p[1] = q[1];
    hold(l, p);
    vm going = m_all();
    for (int i = 0; i < 20 && m_any(going); i++) {
        polynomial(l, kind, p, at, m);
        slopes back = inverse_of(*m);
        vf miss[2] = {q[0] - at[0], q[1] - at[1]};
        vf next[2] = {p[0] + (back.xx * miss[0] + back.xy * miss[1]), p[1] + (back.xy * miss[0] + back.yy * miss[1])};
        hold(l, next);
        vf step[2] = {next[0] - p[0], next[1] - p[1]};
        for (int k = 0; k < 2; k++) p[k] = v_sel(going, next[k], p[k]);
        going = going & v_lt(v_set(3e-7f), v_sqrt(dot2(step, step)));
    }
    polynomial(l, kind, p, at, m);
    vf off[2] = {at[0] - q[0], at[1] - q[1]};
    return v_lt(v_sqrt(dot2(off, off)), 1e-5f * (1.0f + v_sqrt(dot2(q, q)))) & v_lt(v_set(0), m->xx * m->yy - m->xy * m->xy);
}

// A table's entries, and what is made of them.

// missing tells that there is no entry.
INLINE vm missing(const vf entry[2]) { return m_not(v_lt(v_abs(entry[0]), v_set(1e30f))); }

// entry_at returns what the table has of pixels, nothing beside it.
INLINE void entry_at(const optics *o, vi x, vi y, vf entry[2]) {
    vm inside = i_below(x, i_set(o->width)) & i_below(y, i_set(o->height));
    vi at = i_sel(inside, (y * o->width + x) * 2, i_set(0));
    for (int k = 0; k < 2; k++) entry[k] = v_sel(inside, v_gather(o->table + k, at), v_set(NAN));
}

INLINE void change_of(vf before[2], const vf here[2], vf after[2], vf change[2]) {
    vm no_before = missing(before), no_after = missing(after);
    vf share = v_sel(no_before | no_after, v_set(1.0f), v_set(0.5f));
    for (int k = 0; k < 2; k++) change[k] = (v_sel(no_after, here[k], after[k]) - v_sel(no_before, here[k], before[k])) * share;
}

INLINE void cubic(vf t, vf w[4]) {
    vf a = t - 1.0f, b = t - 2.0f, c = t - 3.0f;
    w[0] = a * b * c * (-1.0f / 6.0f), w[1] = t * b * c * 0.5f, w[2] = t * a * c * -0.5f, w[3] = t * a * b * (1.0f / 6.0f);
}

INLINE vi first_of(vf at, int size) {
    vi first = v_trunc(v_floor(at)) - 1;
    first = i_sel(i_lt(first, i_set(0)), i_set(0), first);
    return i_sel(i_lt(i_set(size - 4), first), i_set(size - 4), first);
}

// between returns the entries at places between pixels.
INLINE void between(const optics *o, vf x, vf y, vf sum[2]) {
    vi left = first_of(x, o->width), top = first_of(y, o->height);
    vf across[4], along[4];
    cubic(x - i_float(left), across), cubic(y - i_float(top), along);
    sum[0] = sum[1] = v_set(0);
    for (int j = 0; j < 4; j++) {
        vf row[2] = {v_set(0), v_set(0)};
        for (int i = 0; i < 4; i++) {
            vf entry[2];
            entry_at(o, left + i, top + j, entry);
            for (int k = 0; k < 2; k++) row[k] = row[k] + across[i] * entry[k];
        }
        for (int k = 0; k < 2; k++) sum[k] = sum[k] + along[j] * row[k];
    }
}

// direction_of returns where entries p lead, and how that changes with them by x and y.
INLINE void direction_of(const lens *l, const vf p[2], const vf x[2], const vf y[2], pixel_rays *r) {
    vf over = v_set(1.0f), change = v_set(0), across = v_set(0), along = v_set(0);
    r->direction[2] = over;
    if (l->shape[0] != 0) {
        vf s = dot2(p, p), h = 0.25f * s;
        vf c = 1.0f + h * (-1.0f / 2.0f + h * (1.0f / 24.0f + h * (-1.0f / 720.0f + h * (1.0f / 40320.0f + h * (-1.0f / 3628800.0f + h * (1.0f / 479001600.0f))))));
        vf d = 1.0f + h * (-1.0f / 6.0f + h * (1.0f / 120.0f + h * (-1.0f / 5040.0f + h * (1.0f / 362880.0f + h * (-1.0f / 39916800.0f + h * (1.0f / 6227020800.0f))))));
        over = d * c, r->direction[2] = 1.0f - 2.0f * h * d * d;
        vm small = v_lt(s, v_set(0.05f));
        change = v_sel(small, -1.0f / 3.0f + s * (1.0f / 30.0f), (r->direction[2] - over) / v_sel(small, v_set(1.0f), s));
        across = dot2(p, x), along = dot2(p, y);
    }
    for (int k = 0; k < 2; k++) {
        r->direction[k] = over * p[k];
        r->right[k] = over * x[k] + change * across * p[k], r->down[k] = over * y[k] + change * along * p[k];
    }
    r->right[2] = -over * across, r->down[2] = -over * along;
}

// inner finds where the table has the pixels of a packet, of which each four lie side by side; 0 where one lies at
// the table's edge or beyond.
INLINE int inner(const optics *o, vi column, vi row, const float *where[QUADS]) {
    for (int k = 0; k < QUADS; k++) {
        int x = column[4 * k], y = row[4 * k];
        if (x < 1 || y < 1 || x + 4 >= o->width || y + 1 >= o->height) return 0;
        where[k] = o->table + 2 * ((size_t)y * (size_t)o->width + (size_t)x);
        if (y + 8 < o->height) __builtin_prefetch(where[k] + 16 * o->width); // the packet there comes soon
    }
    return 1;
}

// rays_near returns what places of the table, in its pixels, see along; whole where all are a packet's pixels.
INLINE void rays_near(const optics *o, vf x, vf y, int whole, pixel_rays *r) {
    vi last_x = i_set(o->width - 1), last_y = i_set(o->height - 1), zero = i_set(0);
    vf beyond = v_set(1e6f); // what no whole number holds is undefined
    x = v_min(v_max(x, -beyond), beyond), y = v_min(v_max(y, -beyond), beyond);
    vi column = v_trunc(v_floor(x + 0.5f)), row = v_trunc(v_floor(y + 0.5f));
    column = i_sel(i_lt(column, zero), zero, column), column = i_sel(i_lt(last_x, column), last_x, column);
    row = i_sel(i_lt(row, zero), zero, row), row = i_sel(i_lt(last_y, row), last_y, row);
    vf here[2], left[2], beside[2], above[2], below[2], right[2], down[2], p[2];
    const float *where[QUADS];
    if (whole && inner(o, column, row, where)) { // several times as fast as gathers
        ptrdiff_t line = 2 * (ptrdiff_t)o->width;
        v_pairs(where, 0, here);
        v_pairs(where, -2, left), v_pairs(where, 2, beside), v_pairs(where, -line, above), v_pairs(where, line, below);
    } else {
        entry_at(o, column, row, here);
        entry_at(o, column - 1, row, left), entry_at(o, column + 1, row, beside);
        entry_at(o, column, row - 1, above), entry_at(o, column, row + 1, below);
    }
    change_of(left, here, beside, right), change_of(above, here, below, down);
    r->seeing = m_not(missing(here));
    p[0] = here[0], p[1] = here[1];
    if (!whole) {
        vf dx = x - i_float(column), dy = y - i_float(row), fine[2];
        between(o, x, y, fine);
        vm straight = missing(fine) | v_lt(v_set(0.75f), v_abs(dx)) | v_lt(v_set(0.75f), v_abs(dy));
        for (int k = 0; k < 2; k++) p[k] = v_sel(straight, here[k] + dx * right[k] + dy * down[k], fine[k]);
    }
    for (int k = 0; k < 2; k++) {
        p[k] = v_sel(r->seeing, p[k], v_set(0));
        right[k] = v_sel(r->seeing, right[k], v_set(0)), down[k] = v_sel(r->seeing, down[k], v_set(0));
    }
    direction_of(o->lens, p, right, down, r);
}

INLINE void shown_as(const lens *l, const vf point[3], vf d[3]) {
    vf size = l->shape[0] == 0 ? point[2] : v_sqrt(dot3(point, point));
    for (int k = 0; k < 3; k++) d[k] = point[k] / size;
}

// pixels_before tells where on the picture points appeared that were at then, and are now what pixels at see.
INLINE vm pixels_before(const optics *o, const vf at[2], const vf now[3], const vf then[3], vf before[2]) {
    vf way[3], from[3], move[2] = {v_set(0), v_set(0)};
    vm seen = o->lens->shape[0] == 0 ? v_lt(v_set(0), then[2]) : m_all();
    shown_as(o->lens, then, way), shown_as(o->lens, now, from);
    pixel_rays start, r;
    rays_near(o, at[0], at[1], 1, &start);
    before[0] = at[0], before[1] = at[1];
    for (int i = 0; i < 5; i++) { // the last looks whether it got there
        rays_near(o, before[0], before[1], 0, &r);
        vf miss[3];
        for (int k = 0; k < 3; k++) miss[k] = way[k] - from[k] - (r.direction[k] - start.direction[k]);
        vf xx = dot3(r.right, r.right), xy = dot3(r.right, r.down), yy = dot3(r.down, r.down);
        vf x = dot3(r.right, miss), y = dot3(r.down, miss), scale = 1.0f / (xx * yy - xy * xy);
        move[0] = scale * (yy * x - xy * y), move[1] = scale * (xx * y - xy * x);
        seen = seen & r.seeing;
        for (int k = 0; k < 2 && i < 4; k++) before[k] = before[k] + move[k];
    }
    return seen & v_lt(dot2(move, move), v_set(1e-2f));
}

// rays_of returns what pixels see along.
INLINE void rays_of(const optics *o, vf x, vf y, pixel_rays *r) {
    const lens *l = o->lens;
    int kind = o->kind;
    if (kind == LENS_TABLE) {
        float scale = l->shape[1];
        rays_near(o, (x + 0.5f) * scale - 0.5f, (y + 0.5f) * scale - 0.5f, scale == 1.0f, r);
        for (int k = 0; k < 3; k++) r->right[k] = r->right[k] * scale, r->down[k] = r->down[k] * scale;
        return;
    }
    vf q[2] = {(x - l->pixels[2]) * l->pixels[0], (y - l->pixels[3]) * l->pixels[1]}, p[2] = {q[0], q[1]};
    vf zero = v_set(0), one = v_set(1.0f);
    slopes m = {one, zero, one};
    r->seeing = m_all();
    if (kind == LENS_PLUMB_BOB) {
        r->seeing = solve(l, kind, q, p, &m);
        m = inverse_of(m);
    } else if (kind != LENS_PINHOLE) {
        r->seeing = holds_for(l, q);
        polynomial(l, kind, q, p, &m);
    }
    vf right[2] = {m.xx * l->pixels[0], m.xy * l->pixels[0]}, down[2] = {m.xy * l->pixels[1], m.yy * l->pixels[1]};
    if (kind != LENS_SVL_FISHEYE) {
        r->direction[0] = p[0], r->direction[1] = p[1], r->direction[2] = one;
        r->right[0] = right[0], r->right[1] = right[1], r->right[2] = zero;
        r->down[0] = down[0], r->down[1] = down[1], r->down[2] = zero;
        return;
    }
    float xi = l->shape[2];
    vf far = dot2(p, p) + 1.0f, under = 1.0f + (1.0f - xi * xi) * (far - 1.0f), root = v_sqrt(v_max(under, v_set(1e-12f)));
    vf lambda = (xi + root) / far, change = 2.0f * (0.5f * (1.0f - xi * xi) / root - lambda) / far;
    vf across = change * dot2(p, right), along = change * dot2(p, down);
    for (int k = 0; k < 2; k++) {
        r->direction[k] = lambda * p[k];
        r->right[k] = lambda * right[k] + across * p[k], r->down[k] = lambda * down[k] + along * p[k];
    }
    r->direction[2] = lambda - xi, r->right[2] = across, r->down[2] = along;
    r->seeing = r->seeing & v_ge(under, zero);
}

// pixels_of tells where on the picture points appear.
INLINE vm pixels_of(const optics *o, const vf point[3], vf at[2]) {
    const lens *l = o->lens;
    int kind = o->kind;
    float xi = l->shape[2];
    vf far = v_sqrt(dot3(point, point)), depth = point[2] + xi * far, one = v_set(1.0f);
    vm seen = v_lt(v_set(0), depth);
    if (xi > 1.0f) seen = seen & v_lt(-far, xi * point[2]);
    vf over = v_sel(seen, depth, one), p[2] = {point[0] / over, point[1] / over}, q[2] = {p[0], p[1]};
    slopes m;
    if (kind == LENS_PLUMB_BOB) {
        seen = seen & holds_for(l, p);
        polynomial(l, kind, p, q, &m);
    } else if (kind != LENS_PINHOLE) seen = solve(l, kind, p, q, &m) & seen;
    for (int k = 0; k < 2; k++) at[k] = q[k] / l->pixels[k] + l->pixels[2 + k];
    return seen;
}
