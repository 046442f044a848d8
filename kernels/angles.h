// The angles of a lidar's lasers and columns, from the cosines and sines of its table.
#ifndef ANGLES_H
#define ANGLES_H

#include "device.h"
#include "simd.h"

// angles are radians: of each laser its elevation and what it adds to the azimuth, of each
// column its azimuth. There are LANES more columns behind the last.
typedef struct {
    float *elevation, *offset, *azimuth;
    uint32_t lasers, columns;
} angles;

// hd_angles_of returns those of a table, which are kept with it; NULL after hd_fail.
const angles *hd_angles_of(hd_work *, hd_memory *, uint32_t lasers, uint32_t columns);

// azimuth_of returns the azimuths of LANES columns from first on of a laser, from -pi to pi.
INLINE vf azimuth_of(const angles *a, uint32_t laser, int first) {
    vf angle = v_load(a->azimuth + first) + a->offset[laser];
    vf full = v_sel(v_lt(v_set(3.14159274f), angle), v_set(6.28318531f), v_set(0));
    return angle - v_sel(v_lt(angle, v_set(-3.14159274f)), v_set(-6.28318531f), full);
}

#endif
