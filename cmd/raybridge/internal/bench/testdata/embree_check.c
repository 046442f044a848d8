// Holds Embree beside a dump of `raybridge bench lidar --dump DIR`: traces the
// dumped rays against the dumped triangles, compares the ranges, and measures
// rays per second on all cores, by the clock and by CPU time. `make bench WHAT=embree` builds and runs it.
// Embree's ranges stand beside the dump's, in embree.f32.
//
//   apt-get install gcc libembree-dev
//   gcc -O3 -march=native -fopenmp -o embree_check embree_check.c -lembree3 -lm
//   ./embree_check DIR                   the dump's first lidar
//   ./embree_check DIR _VelodyneVLS128 [RUNS [SECONDS]]   another one
#include <embree3/rtcore.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 100, PACKET = 16, OWNERS = 1 << 16 };
static int runs = 5;
static double run_seconds = 1.0;

static double cpu_seconds(void) { // of all threads
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    size_t count;
    const float *rays, *limits; // 6 and 2 a ray
    float *found;               // ranges, +Inf for no hit
} Work;

typedef struct {
    size_t count;
    const float *corners;   // 9 a triangle
    const unsigned *owners; // see read_owners
    size_t owned[OWNERS];   // triangles of each owner
} Triangles;

// read_file returns a file of the dump, NULL where there is none.
static void *read_file(const char *dir, const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *data = malloc(*size + 16);
    if (!data || fread(data, 1, *size, f) != *size) { perror(path); exit(1); }
    fclose(f);
    return data;
}

static float *read_floats(const char *dir, const char *name, const char *suffix, size_t *count) {
    char file[256];
    snprintf(file, sizeof file, "%s%s.f32", name, suffix);
    float *data = read_file(dir, file, count);
    if (!data) { fprintf(stderr, "%s has no %s\n", dir, file); exit(1); }
    *count /= sizeof(float);
    return data;
}

static void write_floats(const char *dir, const char *name, const char *suffix, const float *data, size_t count) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s.f32", dir, name, suffix);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, sizeof(float), count, f) != count || fclose(f)) { perror(path); exit(1); }
}

// read_owners returns the id of the actor that moves each triangle, 0 for one that stands. In a
// dump without triangle_movers.u8 all stand.
static unsigned *read_owners(const char *dir, size_t triangles) {
    size_t flags = triangles, size = triangles * sizeof(unsigned);
    unsigned char *moves = read_file(dir, "triangle_movers.u8", &flags);
    unsigned *owners = moves ? read_file(dir, "triangle_instances.u32", &size) : calloc(triangles + 1, sizeof(unsigned));
    if (!owners || flags != triangles || size != triangles * sizeof(unsigned)) { fprintf(stderr, "the files of triangles don't fit together\n"); exit(1); }
    for (size_t i = 0; moves && i < triangles; i++) owners[i] = moves[i] ? owners[i] % OWNERS : 0;
    free(moves);
    return owners;
}

static RTCScene new_scene(RTCDevice device) {
    RTCScene scene = rtcNewScene(device);
    rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
    return scene;
}

static void attach(RTCScene scene, RTCGeometry g) {
    rtcCommitGeometry(g);
    rtcAttachGeometry(scene, g);
    rtcReleaseGeometry(g);
}

// scene_of returns a scene of an owner's triangles alone.
static RTCScene scene_of(RTCDevice device, const Triangles *t, unsigned owner) {
    size_t corners = 3 * t->owned[owner];
    RTCGeometry g = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertices = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, corners);
    unsigned *indices = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, corners / 3);
    for (size_t i = 0; i < corners; i++) indices[i] = (unsigned)i;
    for (size_t i = 0; i < t->count; i++) {
        if (t->owners[i] != owner) continue;
        memcpy(vertices, t->corners + 9 * i, 9 * sizeof(float));
        vertices += 9;
    }
    RTCScene scene = new_scene(device);
    attach(scene, g);
    rtcCommitScene(scene);
    return scene;
}

// build returns a scene of instances, of what stands and of each actor that moves. Where nothing
// moves one scene has all.
static RTCScene build(RTCDevice device, const Triangles *t) {
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (t->owned[0] == t->count) return scene_of(device, t, 0);
    RTCScene top = new_scene(device);
    for (unsigned owner = 0; owner < OWNERS; owner++) {
        if (!t->owned[owner]) continue;
        RTCScene scene = scene_of(device, t, owner);
        RTCGeometry instance = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_INSTANCE);
        rtcSetGeometryInstancedScene(instance, scene);
        rtcSetGeometryTransform(instance, 0, RTC_FORMAT_FLOAT3X4_ROW_MAJOR, identity);
        rtcReleaseScene(scene);
        attach(top, instance);
    }
    rtcCommitScene(top);
    return top;
}

static void single(RTCScene scene, const Work *w) {
#pragma omp parallel for schedule(dynamic, 256)
    for (size_t i = 0; i < w->count; i++) {
        const float *r = w->rays + 6 * i;
        struct RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        struct RTCRayHit h = {
            .ray = {.org_x = r[0], .org_y = r[1], .org_z = r[2], .dir_x = r[3], .dir_y = r[4], .dir_z = r[5],
                    .tnear = w->limits[2 * i], .tfar = w->limits[2 * i + 1], .mask = 0xffffffffu},
            .hit = {.geomID = RTC_INVALID_GEOMETRY_ID}};
        rtcIntersect1(scene, &context, &h);
        w->found[i] = h.hit.geomID == RTC_INVALID_GEOMETRY_ID ? INFINITY : h.ray.tfar;
    }
}

static void packets(RTCScene scene, const Work *w) {
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t first = 0; first < w->count; first += PACKET) {
        struct RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
        struct RTCRayHit16 h;
        int valid[PACKET] __attribute__((aligned(64)));
        for (size_t k = 0; k < PACKET; k++) {
            size_t i = first + k < w->count ? first + k : w->count - 1;
            const float *r = w->rays + 6 * i;
            valid[k] = first + k < w->count ? -1 : 0;
            h.ray.org_x[k] = r[0]; h.ray.org_y[k] = r[1]; h.ray.org_z[k] = r[2];
            h.ray.dir_x[k] = r[3]; h.ray.dir_y[k] = r[4]; h.ray.dir_z[k] = r[5];
            h.ray.tnear[k] = w->limits[2 * i]; h.ray.tfar[k] = w->limits[2 * i + 1];
            h.ray.time[k] = 0; h.ray.mask[k] = 0xffffffffu; h.ray.id[k] = 0; h.ray.flags[k] = 0;
            h.hit.geomID[k] = RTC_INVALID_GEOMETRY_ID;
            h.hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
        }
        rtcIntersect16(valid, scene, &context, &h);
        for (size_t k = 0; k < PACKET && first + k < w->count; k++)
            w->found[first + k] = h.hit.geomID[k] == RTC_INVALID_GEOMETRY_ID ? INFINITY : h.ray.tfar[k];
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*trace)(RTCScene, const Work *), RTCScene scene, const Work *w) {
    trace(scene, w);
    double rates[MOST_RUNS];
    for (int r = 0; r < runs; r++) {
        double begun = omp_get_wtime(), cpu = cpu_seconds(), took = 0;
        size_t scans = 0;
        while (took < run_seconds) {
            trace(scene, w);
            scans++;
            took = omp_get_wtime() - begun;
        }
        double rays = (double)scans * (double)w->count;
        rates[r] = rays / took / 1e6;
        printf("figure %s.rays_per_cpu_s %.0f\n", name, rays / (cpu_seconds() - cpu));
    }
    qsort(rates, (size_t)runs, sizeof rates[0], ascending);
    printf("%-24s %7.2f M rays/s (median of %d; %.2f to %.2f), %d threads\n", name,
           rates[runs / 2], runs, rates[0], rates[runs - 1], omp_get_max_threads());
}

typedef struct { double percent, mean_um; } Agreement;

// compare returns how many percent of the ranges agree, and by how much these differ.
static Agreement compare(const char *name, const float *ours, const Work *w) {
    size_t equal = 0, hits = 0, one = 0, far = 0;
    double sum = 0, worst = 0;
    for (size_t i = 0; i < w->count; i++) {
        int a = isfinite(ours[i]), b = isfinite(w->found[i]);
        if (a != b) { one++; continue; }
        if (!a) { equal++; continue; }
        hits++;
        double off = fabs((double)ours[i] - (double)w->found[i]);
        if (off > 1e-3 + 1e-5 * (double)w->found[i]) { far++; continue; }
        equal++;
        sum += off;
        if (off > worst) worst = off;
    }
    size_t near = hits - far;
    Agreement a = {100.0 * (double)equal / (double)w->count, 1e6 * sum / (double)(near ? near : 1)};
    printf("%-24s %zu rays, %zu hits: %.4f %% agree (mean %.1f um, most %.1f um off); %zu hit on one side only, %zu at another range\n",
           name, w->count, hits, a.percent, a.mean_um, 1e6 * worst, one, far);
    return a;
}

int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: %s DIR [SUFFIX [RUNS [SECONDS]]]\n", argv[0]); return 2; }
    const char *dir = argv[1], *suffix = argc > 2 ? argv[2] : "";
    if (argc > 3) runs = atoi(argv[3]);
    if (argc > 4) run_seconds = atof(argv[4]);
    if (runs < 1 || runs > MOST_RUNS) { fprintf(stderr, "1 to %d runs\n", MOST_RUNS); return 2; }
    size_t corners, rays, limits, ranges, holes;
    static Triangles t;
    t.corners = read_floats(dir, "triangles", "", &corners);
    t.count = corners / 9;
    t.owners = read_owners(dir, t.count);
    for (size_t i = 0; i < t.count; i++) t.owned[t.owners[i]]++;
    Work w = {.rays = read_floats(dir, "rays", suffix, &rays), .limits = read_floats(dir, "limits", suffix, &limits)};
    float *ours = read_floats(dir, "ranges", suffix, &ranges);
    w.count = ranges;
    if (corners % 9 || rays != 6 * ranges || limits != 2 * ranges) { fprintf(stderr, "the files don't fit together\n"); return 1; }
    w.found = malloc(ranges * sizeof(float));
    RTCDevice device = rtcNewDevice(NULL);
    if (!device) { fprintf(stderr, "Embree has no device for this processor\n"); return 1; }
    double begun = omp_get_wtime();
    RTCScene scene = build(device, &t);
    printf("%zu triangles, %zu of them move, built in %.3f s\n", t.count, t.count - t.owned[0], omp_get_wtime() - begun);
    single(scene, &w);
    write_floats(dir, "embree", suffix, w.found, w.count);
    Agreement one = compare("rtcIntersect1", ours, &w);
    packets(scene, &w);
    Agreement sixteen = compare("rtcIntersect16", ours, &w);
    if (read_file(dir, "triangle_cutouts.u8", &holes)) printf("Embree sees no holes: ranges behind one don't agree\n");
    else printf("figure embree.agree_percent %.4f\nfigure embree.difference_um %.3f\n",
                fmin(one.percent, sixteen.percent), fmax(one.mean_um, sixteen.mean_um));
    measure("rtcIntersect1", single, scene, &w);
    measure("rtcIntersect16", packets, scene, &w);
    rtcReleaseScene(scene);
    rtcReleaseDevice(device);
    return 0;
}
