// lib/noise.glsl, and the functions of real numbers that kernels need. They are polynomials in
// float32, so that every machine has the same.
#ifndef NOISE_H
#define NOISE_H

#include "simd.h"

// pcg4d mixes four words (Jarzynski and Olano, JCGT 9(3), 2020).
INLINE void pcg4d(vu v[4]) {
    for (int i = 0; i < 4; i++) v[i] = v[i] * 1664525u + 1013904223u;
    for (int round = 0; round < 2; round++) {
        v[0] += v[1] * v[3], v[1] += v[2] * v[0], v[2] += v[0] * v[1], v[3] += v[1] * v[2];
        if (round == 0)
            for (int i = 0; i < 4; i++) v[i] ^= v[i] >> 16;
    }
}

// uniform_of returns a word as a number from 0 to below 1, in steps of 2^-24.
INLINE vf uniform_of(vu bits) { return i_float((vi)(bits >> 8)) * (1.0f / 16777216.0f); }

// log_of is the natural logarithm of a normal number above 0, within 2 units of the last place
// (Moshier, Cephes, logf).
INLINE vf log_of(vf x) {
    vi bits = as_i(x);
    vi e = (bits >> 23) - 126;
    vf m = as_f((bits & 0x007fffff) | 0x3f000000); // 0.5 to 1
    vm low = v_lt(m, v_set(0.707106781186547524f));
    e = i_sel(low, e - 1, e);
    m = v_sel(low, m + m, m) - 1.0f;
    vf z = m * m, y = v_set(7.0376836292e-2f);
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    vf k = i_float(e);
    y = y * m * z + k * -2.12194440e-4f - 0.5f * z;
    return m + y + k * 0.693359375f;
}

// exp_of is e to the x, within 2 units of the last place from the smallest normal number up to
// e^88 (Moshier, Cephes, expf).
INLINE vf exp_of(vf x) {
    x = v_min(v_max(x, v_set(-87.0f)), v_set(88.0f));
    vf k = v_floor(x * 1.44269504f + 0.5f);
    x = x - k * 0.693359375f + k * 2.12194440e-4f;
    vf y = v_set(1.9875691500e-4f);
    y = y * x + 1.3981999507e-3f;
    y = y * x + 8.3334519073e-3f;
    y = y * x + 4.1665795894e-2f;
    y = y * x + 1.6666665459e-1f;
    y = y * x + 5.0000001201e-1f;
    y = y * x * x + x + 1.0f;
    return y * as_f((v_trunc(k) + 127) << 23);
}

// cos_turns is the cosine of an angle in turns, from 0 to 1 (Moshier, Cephes, sinf and cosf).
INLINE vf cos_turns(vf x) {
    vf quarter = v_floor(x * 4.0f + 0.5f);
    vf a = (x - quarter * 0.25f) * 6.28318530717958647f, z = a * a;
    vf c = v_set(2.443315711809948e-5f);
    c = c * z - 1.388731625493765e-3f;
    c = c * z + 4.166664568298827e-2f;
    c = c * z * z - 0.5f * z + 1.0f;
    vf s = v_set(-1.9515295891e-4f);
    s = s * z + 8.3321608736e-3f;
    s = s * z - 1.6666654611e-1f;
    s = s * z * a + a;
    vi q = v_trunc(quarter) & 3;
    vf v = v_sel(i_eq(q & 1, i_set(1)), s, c);
    return v_sel(i_eq(q, i_set(1)) | i_eq(q, i_set(2)), -v, v);
}

// sin_turns is the sine of an angle in turns, from 0 to below 1.
INLINE vf sin_turns(vf x) { return cos_turns(v_sel(v_lt(x, v_set(0.25f)), x + 0.75f, x - 0.25f)); }

// radius_of turns a word into how far from 0 a point is whose two coordinates are distributed normally, with deviation 1.
INLINE vf radius_of(vu a) { return v_sqrt(-2.0f * log_of((i_float((vi)(a >> 8)) + 1.0f) * (1.0f / 16777216.0f))); }

// gaussian_of turns two words into a normally distributed number, mean 0 and deviation 1 (Box
// and Muller, 1958).
INLINE vf gaussian_of(vu a, vu b) { return radius_of(a) * cos_turns(uniform_of(b)); }

#endif
