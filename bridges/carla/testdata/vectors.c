/* Writes frames as CARLA 0.9.15's server sends them, from packed structs: the reference
 * that carla_test.go holds the encoders against. It shares nothing with them.
 *
 *   cc -o /tmp/vectors testdata/vectors.c && /tmp/vectors testdata/wire
 *
 * Values are in Unreal Engine's axes; carla_test.go has the same in REP-103's. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma pack(push, 1)
struct header {
    uint64_t sensor_type;
    uint64_t frame;
    double timestamp;
    struct { float x, y, z, pitch, yaw, roll; } transform;
};
struct image_header { uint32_t width, height; float fov; };
struct dvs_event { uint16_t x, y; int64_t t; uint8_t polarity; };
struct lidar_point { float x, y, z, intensity; };
struct semantic_point { float x, y, z, cosine; uint32_t object, tag; };
struct radar_detection { float velocity, azimuth, altitude, depth; };
struct episode {
    uint64_t id;
    double platform;
    float delta;
    int32_t origin[3];
    int32_t state;
};
struct vehicle {
    float throttle, steer, brake;
    uint8_t hand_brake, reverse, manual_shift;
    int32_t gear;
    float speed_limit;
    uint8_t light_state, has_light;
    uint32_t light_id;
    uint8_t failure;
};
struct traffic_light {
    char sign_id[32];
    float green, yellow, red, elapsed;
    uint32_t pole;
    uint8_t frozen, state;
};
struct walker { float direction[3], speed; uint8_t jump; };
struct actor {
    uint32_t id;
    uint8_t state;
    struct { float x, y, z, pitch, yaw, roll; } transform;
    float velocity[3], angular_velocity[3], acceleration[3];
    union { struct vehicle vehicle; struct traffic_light light; struct walker walker; } is;
};
struct token { uint32_t stream; uint16_t port; uint8_t protocol, kind; uint8_t address[16]; };
#pragma pack(pop)

static_assert(sizeof(struct header) == 48, "header");
static_assert(sizeof(struct dvs_event) == 13, "event");
static_assert(sizeof(struct episode) == 36, "episode");
static_assert(sizeof(struct vehicle) == 30, "vehicle");
static_assert(sizeof(struct traffic_light) == 54, "light");
static_assert(sizeof(struct walker) == 17, "walker");
static_assert(sizeof(struct actor) == 119, "actor");
static_assert(sizeof(struct token) == 24, "token");

static const char *folder;

/* frame writes one frame to a file: length, header, body. */
static void frame(const char *name, uint64_t type, const void *body, uint32_t size) {
    struct header h = {type, 1234567890123ull, 12.5, {1.5f, -2.25f, 0.75f, -10, -30, 20}};
    uint32_t length = sizeof h + size;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.bin", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) { perror(path); exit(1); }
    fwrite(&length, sizeof length, 1, f);
    fwrite(&h, sizeof h, 1, f);
    fwrite(body, size, 1, f);
    if (fclose(f)) { perror(path); exit(1); }
}

static void images(void) {
    struct { struct image_header h; uint8_t bgra[2][3][4]; } color = {{3, 2, 90}, {
        {{30, 20, 10, 255}, {60, 50, 40, 255}, {90, 80, 70, 255}},
        {{120, 110, 100, 255}, {150, 140, 130, 255}, {180, 170, 160, 255}}}};
    frame("rgb", 13, &color, sizeof color);
    /* Depths of 0, 1000 m and 250 m of 2^24-1 steps: the last is 4194303.75, 0x400000. */
    struct { struct image_header h; uint8_t bgra[3][4]; } depth = {{3, 1, 60}, {
        {0, 0, 0, 255}, {255, 255, 255, 255}, {0x40, 0, 0, 255}}};
    frame("depth", 1, &depth, sizeof depth);
    struct { struct image_header h; uint8_t bgra[3][4]; } tags = {{3, 1, 60}, {
        {0, 0, 1, 255}, {0, 0, 14, 255}, {0, 0, 11, 255}}};
    frame("semantic", 14, &tags, sizeof tags);
    struct { struct image_header h; uint8_t bgra[2][4]; } ids = {{2, 1, 60}, {{0x12, 0x34, 0, 255}, {0, 7, 0, 255}}};
    frame("instance", 15, &ids, sizeof ids);
    /* Of what faces up, ahead (x) and to the left (-y), and of the sky. */
    struct { struct image_header h; uint8_t bgra[4][4]; } normals = {{4, 1, 60}, {
        {255, 128, 128, 255}, {128, 128, 255, 255}, {128, 0, 128, 255}, {0, 0, 0, 255}}};
    frame("normals", 2, &normals, sizeof normals);
    struct { struct image_header h; float xy[2][2]; } flow = {{2, 1, 60}, {{0.5f, -0.25f}, {0, 2}}};
    frame("flow", 8, &flow, sizeof flow);
    struct { struct image_header h; struct dvs_event e[2]; } dvs = {{400, 70, 90}, {
        {399, 69, 1000000001, 1}, {0, 3, -5, 0}}};
    frame("dvs", 3, &dvs, sizeof dvs);
}

static void clouds(void) {
    struct { float angle; uint32_t channels, count[2]; struct lidar_point p[3]; } lidar = {0, 2, {2, 1}, {
        {1, -2, 3, 0.5f}, {7, -8, 9, 0.25f}, {4, 5, 6, 1}}};
    frame("lidar", 11, &lidar, sizeof lidar);
    struct { float angle; uint32_t channels, count[2]; struct semantic_point p[3]; } semantic = {1.25f, 2, {2, 1}, {
        {1, -2, 3, 0.5f, 70000, 14}, {7, -8, 9, 0.25f, 3, 7}, {4, 5, 6, 1, 0, 1}}};
    frame("semantic_lidar", 10, &semantic, sizeof semantic);
    struct radar_detection radar[2] = {{-3.5f, 0.125f, -0.0625f, 42}, {2, -0.25f, 0.5f, 7.5f}};
    frame("radar", 9, radar, sizeof radar);
}

static void world(void) {
    struct { struct episode e; struct actor a[3]; } w;
    memset(&w, 0, sizeof w);
    w.e.id = 1;
    w.e.platform = 12.5;
    w.e.delta = 0.0625f;
    struct actor *ego = &w.a[0], *man = &w.a[1], *light = &w.a[2];
    ego->id = 65536;
    ego->state = 1;
    ego->transform.x = 1; ego->transform.y = -2; ego->transform.z = 3;
    ego->transform.yaw = -90;
    ego->velocity[0] = 4; ego->velocity[1] = -5; ego->velocity[2] = 6;
    ego->angular_velocity[2] = -180;
    ego->acceleration[1] = -0.5f;
    ego->is.vehicle = (struct vehicle){0.25f, -0.5f, 0.75f, 0, 1, 0, -1, 0, 2, 0, 0, 0};
    man->id = 12;
    man->state = 1;
    man->velocity[0] = 3; man->velocity[1] = -4;
    man->is.walker = (struct walker){{0.6f, -0.8f, 0}, 5, 0};
    light->id = 13;
    light->state = 1;
    light->is.light = (struct traffic_light){"", 10, 3, 12, 1.5f, 0, 0, 2};
    frame("world", 16, &w, sizeof w);
}

/* MessagePack by hand: 0x9n an array of n, 0xca float32, 0xcb float64 (big endian). */
static size_t put(uint8_t *at, const char *hex) {
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ') continue;
        unsigned byte;
        sscanf(hex, "%2x", &byte);
        at[n++] = byte;
        hex++;
    }
    return n;
}

static void packed(const char *name, uint64_t type, const char *hex) {
    uint8_t body[1024];
    frame(name, type, body, put(body, hex));
}

static void events(void) {
    /* 48.5, -122.25, 100.125 */
    packed("gnss", 4, "93 cb 4048400000000000 cb c05e900000000000 cb 4059080000000000");
    /* (1, -2, 3), (-4, 5, -6), compass pi/2 = 0x3fc90fdb */
    packed("imu", 5, "93 93 ca 3f800000 ca c0000000 ca 40400000"
                     "   93 ca c0800000 ca 40a00000 ca c0c00000 ca 3fc90fdb");
    /* Actors 65536 "vehicle.ego" and 300 "static.wall", impulse (8, -16, 0). */
    packed("collision", 0, "93"
        " 96 ce 00010000 00 93 00 ab 76656869636c652e65676f 90"
        " 93 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000"
        " c400 c400"
        " 96 cd 012c 00 93 00 ab 7374617469632e77616c6c 90"
        " 93 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000"
        " c400 c400"
        " 93 ca 41000000 ca c1800000 ca 00000000");
}

static void obstacle(void) {
    /* Actors 7 "vehicle.van" and 65536 "vehicle.ego", distance 4.5. */
    packed("obstacle", 7, "93"
        " 96 07 00 93 00 ab 76656869636c652e76616e 90"
        " 93 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000"
        " c400 c400"
        " 96 ce 00010000 00 93 00 ab 76656869636c652e65676f 90"
        " 93 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000 93 ca00000000 ca00000000 ca00000000"
        " c400 c400"
        " ca 40900000");
}

static void tokens(void) {
    struct token t[3] = {
        {2, 2001, 1, 1, {127, 0, 0, 1}},
        {3, 7000, 1, 2, {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}},
        {1, 2001, 1, 0, {0}},
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/tokens.bin", folder);
    FILE *f = fopen(path, "wb");
    if (!f) { perror(path); exit(1); }
    fwrite(t, sizeof t, 1, f);
    if (fclose(f)) { perror(path); exit(1); }
}

int main(int argc, char **argv) {
    if (argc != 2) { fprintf(stderr, "usage: vectors FOLDER\n"); return 2; }
    folder = argv[1];
    images();
    clouds();
    world();
    events();
    obstacle();
    tokens();
    return 0;
}
