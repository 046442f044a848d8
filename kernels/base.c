// What every CPU of the architecture has: SSE2 on x86-64, NEON on arm64.
#define ISA base
#include "body.h"
