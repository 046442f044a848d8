// The mipmap level of a picture that a lidar's beam covers, as linear colours.
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

#include "device.h"

enum { HD_FOOTPRINT = 4 }; // the level: FOOTPRINT of lidar_scan.comp

typedef struct {
    float *texels; // rows of 4, layer after layer
    int32_t width, height, layers;
} footprint;

// hd_footprint_of returns a texture's, which is kept with it; NULL after hd_fail.
const footprint *hd_footprint_of(hd_work *, const hd_texture *);

// hd_sample returns a repeated picture's colour at a level, which needn't be whole: linear, with
// trilinear filter.
void hd_sample(const hd_texture *, const float at[3], float level, float out[4]);

#endif
