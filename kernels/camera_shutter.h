// When points of a picture are seen that isn't of one instant: lib/shutter.glsl.

// shutter is the uniform block.
typedef struct {
    float lines[4], points[16];
} shutter;

// seconds_of returns when points are seen.
INLINE vf seconds_of(const shutter *s, vi x, vi y) {
    float across = s->lines[3];
    vf pixel[2] = {v_floor((i_float(x) + 0.5f) / across), v_floor((i_float(y) + 0.5f) / across)};
    vi part = v_trunc((i_float(y) - pixel[1] * across) * across + (i_float(x) - pixel[0] * across));
    return s->lines[0] * pixel[0] + s->lines[1] * pixel[1] + s->lines[2] + v_gather(s->points, part);
}

// movers_of returns how many movers a motion table has.
static int32_t movers_of(const float *motion) {
    float room = motion[5] - motion[4];
    return motion[6] >= 1 && room >= 0 && room < 1e9f ? (int32_t)(room / motion[6]) : 0;
}

// shutter_of reads a work's block; NULL after hd_fail.
static const shutter *shutter_of(hd_work *w) {
    const shutter *s = hd_block(w, 2, sizeof *s);
    if (!s || (s->lines[3] >= 1 && s->lines[3] <= 4 && s->lines[3] == floorf(s->lines[3]))) return s;
    hd_fail(w, "a shutter has %g points across a pixel", s->lines[3]);
    return NULL;
}
