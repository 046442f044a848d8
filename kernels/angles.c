#include "angles.h"

#include <stdlib.h>

// angle_of is the angle of a point, within a unit of float32's last place: the C library's
// differ from each other. It is Cephes' atan of double precision, with one reduction.
static float angle_of(float y, float x) {
    const double quarter = 0.78539816339744830962;
    double a = x < 0 ? -(double)x : x, b = y < 0 ? -(double)y : y, most = a > b ? a : b, least = a > b ? b : a;
    if (most == 0) return 0;
    double t = least / most, angle = 0;
    if (t > 0.66) angle = quarter, t = (t - 1) / (t + 1);
    double z = t * t;
    double p = (((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z - 1.228866684490136173410e2) * z - 6.485021904942025371773e1;
    double q = ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z + 4.328810604912902668951e2) * z + 4.853903996359136964868e2) * z + 1.945506571482613964425e2;
    angle += t * (z * p / q) + t;
    if (b > a) angle = 2 * quarter - angle;
    if (x < 0) angle = 4 * quarter - angle;
    return (float)(y < 0 ? -angle : angle);
}

enum { SPARE = 16 }; // columns: LANES at most

static void drop(void *data) {
    free(((angles *)data)->elevation);
    free(data);
}

static const char keep;

const angles *hd_angles_of(hd_work *w, hd_memory *m, uint32_t lasers, uint32_t columns) {
    hd_derived *kept = hd_derive(m, &keep);
    angles *a = kept ? kept->data : NULL;
    if (a && kept->lo >= kept->hi && a->lasers == lasers && a->columns == columns) return a;
    if (a) drop(a);
    a = calloc(1, sizeof *a);
    if (a) a->elevation = calloc(2 * (size_t)lasers + columns + SPARE, sizeof(float));
    if (!kept || !a || !a->elevation) {
        free(a);
        if (kept) kept->data = NULL;
        hd_fail(w, "out of memory for the angles of %u lasers", lasers);
        return NULL;
    }
    kept->data = a, kept->drop = drop, kept->lo = kept->hi = 0;
    a->lasers = lasers, a->columns = columns;
    a->offset = a->elevation + lasers, a->azimuth = a->offset + lasers;
    const float *table = (const float *)(const void *)m->bytes, *turns = table + 12 * (size_t)lasers;
    for (uint32_t l = 0; l < lasers; l++) {
        a->elevation[l] = angle_of(table[12 * l + 1], table[12 * l]);
        a->offset[l] = angle_of(table[12 * l + 3], table[12 * l + 2]);
    }
    for (uint32_t i = 0; i < columns; i++) a->azimuth[i] = angle_of(turns[4 * i + 1], turns[4 * i]);
    return a;
}
