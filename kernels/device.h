// The host device as its kernels see it: memory, textures, programs, works and threads.
//
// A kernel computes what a shader of the catalogue computes, from the same bindings. It is
// compiled once for each instruction set. The device runs one work at a time, in the order of
// the commands. The kernel's run is called on the first of the device's threads. It spreads its
// blocks over all of them by hd_parallel.
//
// Bits must not depend on the instruction set, the number of threads or the order of blocks.
// So nothing here is contracted to a fused multiply-add: -std=c11 forbids it to GCC, and the
// pragma in simd.h to Clang.
#ifndef DEVICE_H
#define DEVICE_H

#include <stddef.h>
#include <stdint.h>

enum { HD_UNIFORMS = 4, HD_STORAGES = 8, HD_SAMPLERS = 16, HD_IMAGES = 4, HD_COLORS = 4, HD_LEVELS = 16, HD_CONSTANTS = 32 };

// Enumerations of package gpu, by its numbers.
enum { HD_NONE, HD_R8, HD_RGBA8, HD_R32F, HD_RG32F, HD_RGBA16F, HD_RGBA32F, HD_R32UI, HD_RG32UI, HD_RGBA32UI, HD_DEPTH32F };
enum { HD_2D, HD_2D_ARRAY, HD_TEXEL_BUFFER };
enum { HD_NEAREST, HD_LINEAR, HD_TRILINEAR };
enum { HD_REPEAT, HD_CLAMP, HD_MIRROR };

// hd_derived is what a kernel has made from a memory's contents and keeps with them: a wider
// hierarchy, a lidar's firings, texels in another order. key is the address of something of the
// kernel's own. Bytes lo to hi, lo < hi, were written since the kernel set them to 0.
typedef struct hd_derived {
    const void *key;
    void *data;
    void (*drop)(void *data); // called once, with data that isn't NULL
    size_t lo, hi;
    struct hd_derived *next;
} hd_derived;

// hd_memory is the contents of a buffer or of a texture. They begin at a multiple of 64 bytes,
// are 0 at first, and have 64 bytes behind their end that may be read.
typedef struct hd_memory {
    uint8_t *bytes;
    size_t size;
    hd_derived *derived;
} hd_memory;

// hd_derive returns what a kernel keeps with a memory under a key: a fresh one, all of whose
// bytes count as written, at the first call. NULL for no memory. On the first thread alone.
hd_derived *hd_derive(hd_memory *, const void *key);

// hd_touch says that bytes were written.
void hd_touch(hd_memory *, size_t lo, size_t hi);

// hd_texture is a texture, or the view of a buffer: then width counts texels. Level l begins at
// level[l], layer after layer, row after row, without gaps.
typedef struct hd_texture {
    int32_t kind, format, width, height, layers, levels, filter, wrap, compare;
    hd_memory *memory;
    size_t level[HD_LEVELS];
} hd_texture;

// hd_room returns memory of 64-byte alignment in large pages where the system has some; it is
// 0. NULL for no memory. hd_room_free takes the size that it was made with.
void *hd_room(size_t bytes);
void hd_room_free(void *, size_t bytes);

typedef struct hd_pool hd_pool;
typedef struct hd_work hd_work;

// hd_worker is one of the device's threads, for a kernel's block.
typedef struct hd_worker {
    int32_t number; // from 0
    void *scratch;
    size_t scratch_bytes;
} hd_worker;

// hd_scratch returns memory of the thread's own, at 64 bytes, for the rest of a block. The next
// call takes it back. What it holds is undefined. NULL for no memory.
void *hd_scratch(hd_worker *, size_t bytes);

// hd_parallel calls block(data, worker, i) for each i below blocks, in any order, on all threads,
// and returns when all have returned. On the first thread alone, from a kernel's run.
void hd_parallel(hd_pool *, void (*block)(void *data, hd_worker *, uint32_t i), void *data, uint32_t blocks);

// hd_first is the worker of the thread that calls a kernel's run.
hd_worker *hd_first(hd_pool *);
int32_t hd_threads(const hd_pool *);

// hd_kernel is one entry of the catalogue for one instruction set.
typedef struct hd_kernel {
    const char *entry;                    // "lidar.scan"
    const char *constants[HD_CONSTANTS];  // names of its constants, in the order of hd_program's
    // run does the work. It returns 0 after hd_fail.
    int (*run)(hd_pool *, hd_work *);
    // What is kept with a program from one work to the next ends with it (optional).
    void (*end)(void *state);
    // How draws and this kernel meet: see hd_work.draws.
    uint32_t flags;
} hd_kernel;

enum {
    HD_DEFERRED = 1, // a draw that waits for a work that takes it
    HD_TAKES = 2,    // a dispatch that takes the draws that wait for it
};

typedef struct hd_program {
    const hd_kernel *kernel;
    int32_t constants[HD_CONSTANTS];
    void *state; // the kernel's own, NULL at first
} hd_program;

// hd_range is a part of a buffer. bytes is NULL where nothing is bound.
typedef struct {
    uint8_t *bytes;
    size_t size;
    hd_memory *memory; // that bytes is in
} hd_range;

typedef struct {
    int32_t first, count, instances, index; // as gpu.DrawCall
} hd_call;

typedef struct {
    hd_texture *color[HD_COLORS], *depth; // depth may be NULL
    int32_t colors, layer, reversed, width, height;
} hd_target;

// hd_work is a dispatch, a draw, or a clear of a target (program is NULL then).
struct hd_work {
    const hd_program *program;
    hd_program *own; // program, for its state
    hd_range uniform[HD_UNIFORMS], storage[HD_STORAGES];
    hd_texture *sampler[HD_SAMPLERS];
    struct { hd_texture *texture; int32_t level, written; } image[HD_IMAGES];
    uint32_t groups[3];

    // Of a draw and a clear.
    hd_target target;
    hd_call *calls;
    uint32_t call_count;
    int32_t viewport[4], cull_back;
    float bias[2]; // slope factor and constant units
    // Of a clear, of each colour and of depth, where there is one.
    uint32_t clear[HD_COLORS][4]; // bits

    // Of a dispatch whose kernel has HD_TAKES: the clears and draws that were issued before it,
    // wait (HD_DEFERRED), and have a target among its samplers. The kernel does them, in their
    // order, and leaves in the targets what it says itself. Other kernels find them done.
    hd_work **draws;
    uint32_t draw_count;

    char error[200];
};

// hd_fail writes why a work can't be done, for a kernel to return.
int hd_fail(hd_work *, const char *format, ...) __attribute__((format(printf, 2, 3)));

// hd_block returns the uniform block of a slot; NULL after hd_fail where it has fewer bytes.
const void *hd_block(hd_work *, int slot, size_t bytes);

// hd_isa is an instruction set and its kernels; the last kernel has no entry.
typedef struct {
    const char *name;
    const hd_kernel *kernels;
} hd_isa;

// hd_isa_at returns the instruction sets that this build and this CPU have, the widest first;
// NULL after the last.
const hd_isa *hd_isa_at(int i);

// hd_find returns the kernel of an entry, NULL for none.
const hd_kernel *hd_find(const hd_isa *, const char *entry);

// A pool is the device's threads. They flush denormal numbers, have a lower priority and long slices. NULL
// for no memory or no thread.
hd_pool *hd_pool_new(int32_t threads);
void hd_pool_free(hd_pool *);

// hd_run does a work on the pool and returns when it is done; 0 with error set where it failed.
// It is called by one thread at a time, that isn't the pool's.
int hd_run(hd_pool *, hd_work *);

hd_memory *hd_memory_new(size_t bytes);
void hd_memory_free(hd_memory *);

// hd_program_end ends what a program keeps; the caller frees it.
void hd_program_end(hd_program *);

// hd_copy is the kernel "memory.copy": it copies uniform block 0 to storage block 0.
int hd_copy(hd_pool *, hd_work *);

#endif
