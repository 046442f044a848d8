// Lenses, as lib/lens.glsl has them.

enum { LENS_PINHOLE, LENS_PLUMB_BOB, LENS_SVL, LENS_SVL_FISHEYE };

// lens is the uniform block.
typedef struct {
    float pixels[4]; // 1/fx, 1/fy, cx, cy
    float radial[4], shape[4];
} lens;

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

// rays_of returns what pixels see along.
INLINE void rays_of(const lens *l, int kind, vf x, vf y, pixel_rays *r) {
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
INLINE vm pixels_of(const lens *l, int kind, const vf point[3], vf at[2]) {
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
