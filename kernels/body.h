// The kernels of one instruction set. avx512.c, avx2.c and base.c include this once each, with
// ISA the name of the table. All that is compiled for the instruction set is static.
#include "device.h"
#include "mipmaps.h"
#include "scene.h"
#include "simd.h"

#include <float.h>
#include <stdlib.h>

#include "camera_raster.h"
#include "camera_picture.h"
#include "camera_lens.h"
#include "camera_shade.h"

#define TABLE_(isa) hd_kernels_##isa
#define TABLE(isa) TABLE_(isa)

const hd_kernel TABLE(ISA)[] = {
    {.entry = "texture.mipmaps", .run = hd_mipmaps},
    CAMERA_KERNELS,
    {.entry = NULL},
};
