// The scene's tables for kernels, with hierarchies of eight children made from those of four.
#ifndef SCENE_H
#define SCENE_H

#include "device.h"

enum { RAYS = 128 }; // of a packet: those that are traced together

// References to what is below a child, by scene.Ref's bits.
enum { HD_LEAF = 1u << 31, HD_VALID = 1u << 30, HD_CUT = 1u << 28, HD_NODE = (1u << 29) - 1, HD_TRIANGLE = (1u << 26) - 1 };

// hd_node is a node of up to eight children: their boxes and references, the first count of
// them. Inner references name nodes of the same list.
typedef struct {
    float lo[3][8], hi[3][8]; // x, y, z
    uint32_t ref[8];
    uint32_t count, pad[7];
} __attribute__((aligned(64))) hd_node;

// hd_tables are the tables of shaders/lib/scene.glsl, but for nodes.
typedef struct {
    const float *planes, *vertices, *materials; // rows of 4 floats
    const uint32_t *attributes, *movers;        // rows of 4 words
    uint32_t triangles, mover_count, material_count, material_rows;
    hd_texture *color, *data; // pictures
} hd_tables;

// hd_scene is what rays are traced in.
typedef struct {
    hd_tables t;
    const hd_node *nodes;       // static world and movers' meshes
    uint32_t root;              // of the static world, 0 for none
    const uint32_t *mover_root; // of each mover
    const float *motion;        // the table of shaders/lib/motion.glsl
    const hd_node *top;         // the hierarchy over the movers, whose leaves are movers' numbers
    uint32_t top_root;          // 0 for no mover
} hd_scene;

// Slots of the scene's tables, as in shaders/catalogue.go.
enum {
    HD_SLOT_NODES, HD_SLOT_TRIANGLES, HD_SLOT_VERTICES, HD_SLOT_ATTRIBUTES, HD_SLOT_MATERIALS,
    HD_SLOT_COLOR_TEXTURES, HD_SLOT_DATA_TEXTURES, HD_SLOT_MOVERS, HD_SLOT_MOTION, HD_SLOT_SENSOR
};

// hd_tables_of finds the tables that a work has bound; 0 after hd_fail.
int hd_tables_of(hd_work *, hd_tables *);

// hd_scene_of finds the tables and makes the hierarchies, as far as they aren't made; 0 after
// hd_fail. Like all below, on the first thread alone, and valid until the work ends.
int hd_scene_of(hd_work *, hd_scene *);

// hd_subtree makes the hierarchy below a reference of the nodes' table. It returns the
// reference of the same in *nodes; 0 for none, and after hd_fail with *nodes NULL.
uint32_t hd_subtree(hd_work *, uint32_t root, const hd_node **nodes);

// hd_table returns the texels of a view that is bound to a sampler's slot, and how many there
// are; NULL after hd_fail where none is, or texels have another size.
const void *hd_table(hd_work *, int slot, size_t texel, uint32_t *count);

#endif
