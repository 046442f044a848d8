// The kernel "texture.mipmaps", one for all instruction sets: it fills the levels above 0 of
// the texture of image 0.
#ifndef MIPMAPS_H
#define MIPMAPS_H

#include "device.h"

int hd_mipmaps(hd_pool *, hd_work *);

#endif
