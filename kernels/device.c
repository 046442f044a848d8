// Memory, instruction sets and threads of the host device.
#define _GNU_SOURCE
#include "device.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { ALIGN = 64, SPARE = 64, LARGE = 2 << 20 };

// whole is a size in whole lines or large pages. 0 for one that has none.
static size_t whole(size_t bytes) {
    size_t unit = bytes < LARGE ? ALIGN : LARGE;
    return bytes > SIZE_MAX / 2 ? 0 : (bytes + unit) / unit * unit;
}

void *hd_room(size_t bytes) {
    size_t size = whole(bytes);
    if (!size) return NULL;
    if (size < LARGE) {
        void *p = aligned_alloc(ALIGN, size);
        if (p) memset(p, 0, size);
        return p;
    }
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, size, MADV_HUGEPAGE); // a wish
    return p;
}

void hd_room_free(void *p, size_t bytes) {
    if (!p) return;
    if (whole(bytes) < LARGE) free(p);
    else munmap(p, whole(bytes));
}

hd_memory *hd_memory_new(size_t bytes) {
    hd_memory *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->size = bytes;
    if (bytes > SIZE_MAX / 4 || !(m->bytes = hd_room(bytes + SPARE))) {
        free(m);
        return NULL;
    }
    return m;
}

void hd_memory_free(hd_memory *m) {
    for (hd_derived *d = m->derived, *next; d; d = next) {
        next = d->next;
        if (d->data && d->drop) d->drop(d->data);
        free(d);
    }
    hd_room_free(m->bytes, m->size + SPARE);
    free(m);
}

hd_derived *hd_derive(hd_memory *m, const void *key) {
    for (hd_derived *d = m->derived; d; d = d->next)
        if (d->key == key) return d;
    hd_derived *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->key = key, d->hi = m->size, d->next = m->derived;
    m->derived = d;
    return d;
}

void hd_touch(hd_memory *m, size_t lo, size_t hi) {
    for (hd_derived *d = m->derived; d; d = d->next) {
        if (d->lo >= d->hi) d->lo = lo, d->hi = hi;
        if (lo < d->lo) d->lo = lo;
        if (hi > d->hi) d->hi = hi;
    }
}

int hd_fail(hd_work *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
    return 0;
}

const void *hd_block(hd_work *w, int slot, size_t bytes) {
    if (w->uniform[slot].size >= bytes) return w->uniform[slot].bytes;
    hd_fail(w, "uniform block %d has %zu bytes, the kernel reads %zu", slot, w->uniform[slot].size, bytes);
    return NULL;
}

void hd_program_end(hd_program *p) {
    if (p->state && p->kernel->end) p->kernel->end(p->state);
    p->state = NULL;
}

// Instruction sets.

extern const hd_kernel hd_kernels_base[];
#ifdef __x86_64__
extern const hd_kernel hd_kernels_avx2[], hd_kernels_avx512[];
static const hd_isa avx512 = {"avx512", hd_kernels_avx512}, avx2 = {"avx2", hd_kernels_avx2}, base = {"sse2", hd_kernels_base};
#elif defined __aarch64__
static const hd_isa base = {"neon", hd_kernels_base};
#else
static const hd_isa base = {"base", hd_kernels_base};
#endif

const hd_isa *hd_isa_at(int i) {
    const hd_isa *list[4] = {NULL};
    int n = 0;
#ifdef __x86_64__
    // These look at what the operating system saves, too.
    __builtin_cpu_init();
    int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        list[n++] = &avx512;
    if (wide) list[n++] = &avx2;
#endif
    list[n++] = &base;
    return i < n ? list[i] : NULL;
}

const hd_kernel *hd_find(const hd_isa *isa, const char *entry) {
    for (const hd_kernel *k = isa->kernels; k->entry; k++)
        if (!strcmp(k->entry, entry)) return k;
    return NULL;
}

// Threads.

struct hd_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;  // the first thread, for a work, and all, to end
    pthread_cond_t spread; // the others, for blocks, and all, to end
    pthread_cond_t done;  // who waits for a work, and the first thread for the others
    hd_work *work;        // to be done; NULL when it is
    int ok;               // what its kernel returned
    void (*block)(void *, hd_worker *, uint32_t);
    void *data;
    uint32_t blocks, round;
    atomic_uint next;
    int32_t threads, started, busy, quit;
    struct member {
        hd_pool *pool;
        pthread_t id;
        hd_worker worker;
    } members[];
};

void *hd_scratch(hd_worker *w, size_t bytes) {
    if (bytes > w->scratch_bytes) {
        hd_room_free(w->scratch, w->scratch_bytes);
        w->scratch = hd_room(bytes);
        w->scratch_bytes = w->scratch ? bytes : 0;
    }
    return w->scratch;
}

hd_worker *hd_first(hd_pool *p) { return &p->members[0].worker; }
int32_t hd_threads(const hd_pool *p) { return p->threads; }

static void drain(hd_pool *p, hd_worker *w) {
    uint32_t i;
    while ((i = atomic_fetch_add(&p->next, 1)) < p->blocks) p->block(p->data, w, i);
}

void hd_parallel(hd_pool *p, void (*block)(void *, hd_worker *, uint32_t), void *data, uint32_t blocks) {
    if (p->threads == 1 || blocks < 2) {
        for (uint32_t i = 0; i < blocks; i++) block(data, hd_first(p), i);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->block = block, p->data = data, p->blocks = blocks, p->busy = p->threads - 1;
    atomic_store(&p->next, 0);
    p->round++;
    pthread_cond_broadcast(&p->spread);
    pthread_mutex_unlock(&p->lock);
    drain(p, hd_first(p));
    pthread_mutex_lock(&p->lock);
    while (p->busy) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

// clear_target fills a target's attachments with their bits.
static void clear_target(const hd_target *t, uint32_t (*bits)[4]) {
    for (int32_t i = 0; i <= t->colors; i++) {
        hd_texture *of = i < t->colors ? t->color[i] : t->depth;
        if (!of) continue;
        float far = t->reversed ? 0.0f : 1.0f;
        const void *pixel = i < t->colors ? (const void *)bits[i] : &far;
        static const size_t sizes[] = {0, 1, 4, 4, 8, 8, 16, 4, 8, 16, 4};
        size_t size = sizes[of->format], bytes = size * (size_t)of->width * (size_t)of->height;
        uint8_t *to = of->memory->bytes + of->level[0] + bytes * (size_t)t->layer;
        if (!bytes) continue;
        memcpy(to, pixel, size);
        for (size_t n = size; n < bytes; n *= 2) memcpy(to + n, to, n < bytes - n ? n : bytes - n);
        hd_touch(of->memory, (size_t)(to - of->memory->bytes), (size_t)(to - of->memory->bytes) + bytes);
    }
}

static int perform(hd_pool *p, hd_work *w) {
    w->error[0] = 0;
    if (!w->program) {
        clear_target(&w->target, w->clear);
        return 1;
    }
    int ok = w->program->kernel->run(p, w);
    for (int i = 0; i < HD_STORAGES; i++)
        if (w->storage[i].bytes) {
            size_t at = (size_t)(w->storage[i].bytes - w->storage[i].memory->bytes);
            hd_touch(w->storage[i].memory, at, at + w->storage[i].size);
        }
    for (int i = 0; i < HD_IMAGES; i++)
        if (w->image[i].texture && w->image[i].written) hd_touch(w->image[i].texture->memory, 0, w->image[i].texture->memory->size);
    for (int32_t i = 0; i < w->target.colors; i++) hd_touch(w->target.color[i]->memory, 0, w->target.color[i]->memory->size);
    if (w->target.depth) hd_touch(w->target.depth->memory, 0, w->target.depth->memory->size);
    return ok;
}

// NICE is the threads' nice value, unless the process has a greater one. SLICE_NS is how long they
// compute in one go where nobody waits. From Linux 6.12 on, a thread whose slice is shorter
// needn't wait for its end. Threads have 3 ms where nothing else was asked for.
enum { NICE = 5, SLICE_NS = 50 * 1000 * 1000, KEEP_POLICY = 8 };

// give_way lets frame loops come first. A thread that may not change its priority keeps it, and so
// does one of a real-time policy.
static void give_way(void) {
    id_t self = (id_t)syscall(SYS_gettid);
    if (getpriority(PRIO_PROCESS, self) < NICE) setpriority(PRIO_PROCESS, self, NICE);
#ifdef SYS_sched_setattr
    struct { // sched_setattr(2)
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } set = {.size = 48, .flags = KEEP_POLICY, .nice = getpriority(PRIO_PROCESS, self), .runtime = SLICE_NS};
    syscall(SYS_sched_setattr, 0, &set, 0);
#endif
}

// settle gives the calling thread what all of the pool have. Denormal numbers, which no sensor
// measures, would cost a hundred times the others.
static void settle(void) {
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040); // flush results, and take operands for 0
#elif defined __aarch64__
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (uint64_t)1 << 24));
#endif
    give_way();
}

static void *first(void *data) {
    struct member *m = data;
    hd_pool *p = m->pool;
    settle();
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->work && !p->quit) pthread_cond_wait(&p->wake, &p->lock);
        if (p->quit) break;
        hd_work *w = p->work;
        pthread_mutex_unlock(&p->lock);
        int ok = perform(p, w);
        pthread_mutex_lock(&p->lock);
        p->ok = ok;
        p->work = NULL;
        pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void *other(void *data) {
    struct member *m = data;
    hd_pool *p = m->pool;
    uint32_t seen = 0;
    settle();
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->round == seen && !p->quit) pthread_cond_wait(&p->spread, &p->lock);
        if (p->quit) break;
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        drain(p, &m->worker);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0) pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

hd_pool *hd_pool_new(int32_t threads) {
    if (threads < 1) return NULL;
    hd_pool *p = calloc(1, sizeof *p + (size_t)threads * sizeof p->members[0]);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->spread, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = threads;
    sigset_t all, before; // signals are for Go's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; p->started < threads; p->started++) {
        struct member *m = &p->members[p->started];
        m->pool = p, m->worker.number = p->started;
        if (pthread_create(&m->id, NULL, p->started ? other : first, m)) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->started == threads) return p;
    hd_pool_free(p);
    return NULL;
}

int hd_run(hd_pool *p, hd_work *w) {
    pthread_mutex_lock(&p->lock);
    p->work = w;
    pthread_cond_signal(&p->wake);
    while (p->work) pthread_cond_wait(&p->done, &p->lock);
    int ok = p->ok;
    pthread_mutex_unlock(&p->lock);
    return ok;
}

void hd_pool_free(hd_pool *p) {
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->wake);
    pthread_cond_broadcast(&p->spread);
    pthread_mutex_unlock(&p->lock);
    for (int32_t i = 0; i < p->started; i++) {
        pthread_join(p->members[i].id, NULL);
        hd_room_free(p->members[i].worker.scratch, p->members[i].worker.scratch_bytes);
    }
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->spread);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

enum { COPY_BLOCK = 1 << 18 };

static void copy_block(void *data, hd_worker *w, uint32_t i) {
    (void)w;
    const hd_work *of = data;
    size_t at = (size_t)i * COPY_BLOCK, left = of->storage[0].size - at;
    memcpy(of->storage[0].bytes + at, of->uniform[0].bytes + at, left < COPY_BLOCK ? left : COPY_BLOCK);
}

int hd_copy(hd_pool *pool, hd_work *w) {
    hd_parallel(pool, copy_block, w, (uint32_t)((w->storage[0].size + COPY_BLOCK - 1) / COPY_BLOCK));
    return 1;
}
