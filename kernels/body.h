// The kernels of one instruction set. avx512.c, avx2.c and base.c include this once each, with
// ISA the name of the table. All that is compiled for the instruction set is static.
#include "lidar.h"
#include "mipmaps.h"
#include "sensors.h"

#define TABLE_(isa) hd_kernels_##isa
#define TABLE(isa) TABLE_(isa)

// A camera's kernels would be of HD_DEFERRED or HD_TAKES.
const hd_kernel TABLE(ISA)[] = {
    {.entry = "texture.mipmaps", .run = hd_mipmaps},
    {.entry = "scene.trace", .constants = TRACE_CONSTANTS, .run = scene_trace},
    {.entry = "lidar.scan", .constants = LIDAR_CONSTANTS, .run = lidar_scan},
    {.entry = "sensor.rays", .run = sensor_rays},
    {.entry = "groundtruth.sights", .run = groundtruth_sights},
    {.entry = NULL},
};
