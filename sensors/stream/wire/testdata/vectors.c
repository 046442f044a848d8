/* Writes messages of the stream protocol from packed structs that were typed from
 * docs/stream-protocol.md: the reference that independent_test.go holds the serializers and
 * data objects against. It shares nothing with them.
 *
 *   cc -o /tmp/vectors testdata/vectors.c && /tmp/vectors testdata/c
 *
 * It writes the numbers as they lie in memory: run it on a little-endian machine. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma pack(push, 1)
struct vec3 { double x, y, z; };
struct quat { double x, y, z, w; };
struct pose { struct vec3 position; struct quat orientation; };
struct twist { struct vec3 linear, angular; };

struct header {
    char magic[4];
    uint32_t type;
    uint16_t kind, version, flags, frame_id_bytes;
    uint64_t sequence, frame;
    int64_t capture, publish;
    struct pose pose;
    uint64_t body_bytes;
    char frame_id[8]; /* of 5 bytes, padded */
};

struct image {
    uint32_t width, height, step, encoding_bytes;
    double fov;
    uint32_t data_bytes, unused;
    char encoding[8];
    uint8_t data[16]; /* 14 bytes, padded */
};

struct point {
    float x, y, z, intensity, distance, azimuth, elevation;
    uint32_t time;
    uint16_t ring;
    uint8_t kind_of_return, tag;
    uint32_t instance;
    float cosine;
    uint32_t ray;
};
struct cloud {
    double horizontal_angle;
    uint32_t rings, columns;
    uint8_t organized, unit_intensity, unused[2];
    uint32_t layout_bytes, points, unused_too;
    char layout[8];
    struct point p[3];
};

struct imu {
    struct quat orientation;
    double orientation_covariance[9];
    struct vec3 angular_velocity;
    double angular_velocity_covariance[9];
    struct vec3 linear_acceleration;
    double linear_acceleration_covariance[9];
};

struct actor {
    uint32_t id;
    uint8_t kind, reverse, signal, unused;
    uint32_t type_at, type_bytes;
    struct pose pose;
    struct twist twist;
    struct vec3 acceleration, box_center, box_half;
    float throttle, braking, steering;
    int32_t gear;
    float elapsed, red, yellow, green;
};
struct snapshot {
    int64_t delta;
    uint32_t actors, text_bytes;
    struct actor a[3];
    char text[40]; /* 36 bytes, padded */
};

struct frame {
    uint32_t length;
    uint16_t stream;
    uint8_t flags, control;
    uint32_t number, plain_length;
};
#pragma pack(pop)

static_assert(sizeof(struct header) == 112 + 8, "header");
static_assert(offsetof(struct image, encoding) == 32, "image");
static_assert(sizeof(struct point) == 48, "point");
static_assert(offsetof(struct cloud, layout) == 32, "cloud");
static_assert(sizeof(struct imu) == 296, "imu");
static_assert(offsetof(struct snapshot, a) == 16, "snapshot");
static_assert(sizeof(struct actor) == 224, "actor");
static_assert(sizeof(struct frame) == 16, "frame");

static const char *folder;

static FILE *create(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.bin", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) { perror(path); exit(1); }
    return f;
}

static void message(FILE *f, uint32_t type, uint16_t kind, const void *body, uint64_t size) {
    struct header h = {{'R', 'B', 'M', 'S'}, type, kind, 1, 1, 5, 7, 42, 1500000000, 2000000001,
        {{1.5, -2.25, 0.75}, {0.5, -0.5, 0.25, 0.125}}, size, "probe"};
    assert(size % 8 == 0);
    fwrite(&h, sizeof h, 1, f);
    fwrite(body, size, 1, f);
    if (fclose(f)) { perror(folder); exit(1); }
}

/* Of 2 x 2 pixels of 3 bytes in rows of 8: the last row ends with its last pixel. */
static const struct image picture = {2, 2, 8, 4, 90.5, 14, 0, "rgb8",
    {10, 20, 30, 40, 50, 60, 0, 0, 70, 80, 90, 100, 110, 120}};

static void cloud(void) {
    struct cloud c = {1.25, 16, 1800, 1, 0, {0}, 6, 3, 0, "carla_", {
        {1, -2, 3, 50.5f, 3.75f, -1.125f, 0.5f, 0, 0, 1, 14, 70000, 0.875f, 0},
        {4, 5, -6, 255, 8.5f, 0.875f, -0.25f, 55296, 15, 2, 7, 3, 0.5f, 1},
        {-7, 8, 9, 0, 14, 2.5f, 0.75f, 99999999, 65535, 0, 255, 4294967295u, 1, 28799}}};
    message(create("PointCloud"), 20 * 256 + 1, 5, &c, sizeof c);
}

static void imu(void) {
    struct imu m = {{0.5, -0.5, 0.5, -0.5}, {1, 2, 3, 4, 5, 6, 7, 8, 9},
        {0.25, -0.125, 1e-9}, {-1, 0, 0, 0, 0, 0, 0, 0, 0},
        {-9.75, 1.5, 9.80665}, {10, 11, 12, 13, 14, 15, 16, 17, 18}};
    message(create("Imu"), 40 * 256, 10, &m, sizeof m);
}

static void snapshot(void) {
    struct snapshot s;
    memset(&s, 0, sizeof s);
    s.delta = 10000000;
    s.actors = 3;
    s.text_bytes = 36;
    memcpy(s.text, "vehicle.egowalker.pedestrian.0001", 33);
    memcpy(s.text + 33, "\xe4\xbf\xa1", 3); /* one letter of three bytes */
    struct actor *ego = &s.a[0], *man = &s.a[1], *light = &s.a[2];
    ego->kind = 1;
    ego->reverse = 1;
    ego->type_at = 0; ego->type_bytes = 11;
    ego->pose = (struct pose){{1, 2, 3}, {0, 0, 0.5, 0.75}};
    ego->twist = (struct twist){{4, 5, 6}, {7, 8, 9}};
    ego->acceleration = (struct vec3){-1, -2, -3};
    ego->box_center = (struct vec3){0.5, 0, 0.75};
    ego->box_half = (struct vec3){2.25, 1, 0.75};
    ego->throttle = 0.25f; ego->braking = 0.5f; ego->steering = -0.75f;
    ego->gear = -1;
    man->id = 12;
    man->kind = 2;
    man->type_at = 11; man->type_bytes = 22;
    man->pose = (struct pose){{-1, -2, -3}, {0, 0, 0, 1}};
    light->id = 4294967295u;
    light->kind = 3;
    light->signal = 2;
    light->type_at = 33; light->type_bytes = 3;
    light->elapsed = 1.5f; light->red = 12; light->yellow = 3; light->green = 10;
    message(create("Snapshot"), 60 * 256, 26, &s, sizeof s);
}

/* frame writes what a server sends: the first message of its stream 1. */
static void frame(void) {
    struct frame f = {sizeof(struct header) + sizeof picture, 1, 0, 0, 0, sizeof(struct header) + sizeof picture};
    FILE *file = create("frame");
    fwrite(&f, sizeof f, 1, file);
    message(file, 256, 2, &picture, sizeof picture);
}

int main(int argc, char **argv) {
    if (argc != 2) { fprintf(stderr, "usage: vectors FOLDER\n"); return 2; }
    folder = argv[1];
    message(create("Image"), 256, 2, &picture, sizeof picture);
    cloud();
    imu();
    snapshot();
    frame();
    return 0;
}
