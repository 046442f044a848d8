// The file says which instructions it may use, and no flag: cgo has one set of flags for all
// files of a package.
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif
#define SIMD_AVX2
#define ISA avx2
#include "body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
