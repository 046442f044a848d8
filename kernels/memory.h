// Kernels that are one for all instruction sets.
#ifndef MEMORY_H
#define MEMORY_H

#include "device.h"

// hd_mipmaps is "texture.mipmaps": it fills the levels above 0 of the texture of image 0.
int hd_mipmaps(hd_pool *, hd_work *);

// hd_copy is "memory.copy": it copies uniform block 0 to storage block 0.
int hd_copy(hd_pool *, hd_work *);

#endif
