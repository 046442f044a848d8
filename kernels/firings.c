#include "firings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// angle_of is the angle of a point, within a unit of float32's last place: the C library's
// differ from each other. It is Cephes' atan of double precision, with one reduction.
static float angle_of(float y, float x) {
    const double quarter = 0.78539816339744830962;
    double a = x < 0 ? -(double)x : x, b = y < 0 ? -(double)y : y, most = a > b ? a : b, least = a > b ? b : a;
    if (!(most > 0 && least <= most && most < INFINITY)) return 0; // of NaN, too
    double t = least / most, angle = 0;
    if (t > 0.66) angle = quarter, t = (t - 1) / (t + 1);
    double z = t * t;
    double p = (((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z
        - 1.228866684490136173410e2) * z - 6.485021904942025371773e1;
    double q = ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z + 4.328810604912902668951e2) * z
        + 4.853903996359136964868e2) * z + 1.945506571482613964425e2;
    angle += t * (z * p / q) + t;
    if (b > a) angle = 2 * quarter - angle;
    if (x < 0) angle = 4 * quarter - angle;
    return (float)(y < 0 ? -angle : angle);
}

#define TURN 6.28318531f

static void drop(void *data) {
    firings *f = data;
    free(f->laser), free(f->column);
    free(f);
}

static int by_elevation(const void *a, const void *b) {
    const hd_laser *x = a, *y = b;
    if (x->elevation != y->elevation) return x->elevation < y->elevation ? -1 : 1;
    return x->number - y->number;
}

// arrange sorts the lasers and says when each fires.
static void arrange(firings *f) {
    float step = f->columns > 1 ? f->column[1].azimuth - f->column[0].azimuth : TURN;
    if (step > TURN / 2) step -= TURN;
    if (step < -TURN / 2) step += TURN;
    int32_t most = (int32_t)f->columns, least = most, last = -most;
    for (uint32_t l = 0; l < f->lasers; l++) {
        float ahead = roundf(f->laser[l].azimuth / step); // NaN or infinite where columns don't turn
        f->laser[l].ahead = fabsf(ahead) <= (float)most / 2 ? (int32_t)ahead : 0;
        if (f->laser[l].ahead < least) least = f->laser[l].ahead;
        if (f->laser[l].ahead > last) last = f->laser[l].ahead;
    }
    for (uint32_t l = 0; l < f->lasers; l++) f->laser[l].ahead -= least;
    f->round = fabsf(fabsf(step) * (float)f->columns - TURN) < fabsf(step) / 2 ? most : 0;
    f->steps = f->columns + (f->round ? 0 : (uint32_t)(last - least));
    qsort(f->laser, f->lasers, sizeof *f->laser, by_elevation);
    float height = f->laser[f->lasers - 1].elevation - f->laser[0].elevation, rows = (float)(f->lasers - 1);
    // As wide as high: wide x step = RAYS / wide x height / rows. But no higher than lasers need.
    for (f->wide = 4; f->wide < RAYS; f->wide *= 2)
        if (RAYS / f->wide < 2 * f->lasers && (float)(2 * f->wide * f->wide) * fabsf(step) * rows > RAYS * height) break;
}

static const char keep;

const firings *hd_firings_of(hd_work *w, hd_memory *m, uint32_t lasers, uint32_t columns) {
    hd_derived *kept = hd_derive(m, &keep);
    firings *f = kept ? kept->data : NULL;
    if (f && kept->lo >= kept->hi && f->lasers == lasers && f->columns == columns) return f;
    if (f) drop(f), kept->data = NULL;
    f = calloc(1, sizeof *f);
    if (f) f->laser = calloc(lasers, sizeof *f->laser), f->column = calloc(columns, sizeof *f->column);
    if (!kept || !f || !f->laser || !f->column) {
        if (f) drop(f);
        hd_fail(w, "out of memory for %u lasers and %u columns", lasers, columns);
        return NULL;
    }
    kept->data = f, kept->drop = drop, kept->lo = kept->hi = 0;
    f->lasers = lasers, f->columns = columns;
    const float *row = (const float *)(const void *)m->bytes;
    for (uint32_t l = 0; l < lasers; l++, row += 12) {
        hd_laser *to = &f->laser[l];
        *to = (hd_laser){.cosine = row[0], .sine = row[1], .turn = {row[2], row[3]},
            .height = row[4], .farthest = row[7], .shortest = {row[8], row[9]}};
        memcpy(&to->ns, &row[5], 4), memcpy(&to->ring, &row[6], 4);
        to->elevation = angle_of(row[1], row[0]), to->azimuth = angle_of(row[3], row[2]);
        to->number = (int32_t)l;
    }
    for (uint32_t i = 0; i < columns; i++, row += 4) {
        memcpy(&f->column[i], row, 16);
        f->column[i].azimuth = angle_of(row[1], row[0]);
    }
    arrange(f);
    return f;
}
