// The kernels of one instruction set. avx512.c, avx2.c and base.c include this once each, with
// ISA the name of the table. All that is compiled for the instruction set is static.
#include "lidar.h"
#include "sensors.h"
#include "beams.h"

#include <float.h>
#include <stdlib.h>

#include "camera_raster.h"
#include "camera_picture.h"
#include "camera_lens.h"
#include "camera_shutter.h"
#include "camera_shade.h"
#include "camera_trace.h"

#define TABLE_(isa) hd_kernels_##isa
#define TABLE(isa) TABLE_(isa)

const hd_kernel TABLE(ISA)[] = {
    {.entry = "memory.copy", .run = hd_copy},
    {.entry = "scene.trace", .constants = TRACE_CONSTANTS, .run = scene_trace},
    {.entry = "lidar.scan", .constants = LIDAR_CONSTANTS, .run = lidar_scan},
    {.entry = "lidar.echoes", .constants = ECHOES_CONSTANTS, .run = lidar_echoes},
    {.entry = "sensor.rays", .run = sensor_rays},
    {.entry = "groundtruth.sights", .run = groundtruth_sights},
    CAMERA_KERNELS,
    {.entry = "camera.trace", .constants = CAMERA_TRACE_CONSTANTS, .run = camera_trace},
    {.entry = "camera.sun", .constants = CAMERA_TRACE_CONSTANTS, .run = camera_sun},
    {.entry = NULL},
};
