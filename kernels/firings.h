// The lasers and columns of a lidar in the order in which packets take them.
//
// Rays of a packet should lie side by side. The lasers of a table often don't, since a device fires
// distant ones together. So lasers are sorted by their elevation. A laser that is turned aside
// takes part with the column in which it points where the others point.
#ifndef FIRINGS_H
#define FIRINGS_H

#include "scene.h"

// hd_laser is a row of the lidar's table, and what follows from it. Kernels read four numbers at
// a time.
typedef struct {
    float cosine, sine, turn[2]; // of the elevation; of the azimuth that it adds to a column's
    float height;
    int32_t ns;
    float farthest;
    int32_t ahead;                         // steps: with step s it fires in column s - ahead
    float shortest[2], elevation, azimuth; // in even columns and in odd ones; radians
    int32_t number, ring, pad[2];          // number is its place in the table
} hd_laser;

// hd_column is a row of the table.
typedef struct {
    float turn[2]; // cosine and sine of the azimuth
    int32_t ns;
    float azimuth; // radians
} hd_column;

// firings are all of them. A packet is wide steps of RAYS / wide lasers, about as wide as
// high.
typedef struct {
    hd_laser *laser;
    hd_column *column;
    uint32_t lasers, columns;
    uint32_t steps; // until each laser has fired in each column
    uint32_t wide;  // a power of two from 4 to RAYS
    int32_t round;  // columns of a whole turn, where the last is followed by the first; else 0
} firings;

// hd_firings_of returns those of a table, which are kept with it; NULL after hd_fail.
const firings *hd_firings_of(hd_work *, hd_memory *, uint32_t lasers, uint32_t columns);

#endif
