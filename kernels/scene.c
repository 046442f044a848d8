// Hierarchies of eight children. They are made when a kernel first asks for them, and kept with
// the buffer that they are made from. Where only boxes of it change they are brought up to date.
#include "scene.h"

#include <float.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS = 28 }; // of a node of four children: 7 texels
enum { UNKNOWN = ~0u, ABSENT = ~1u, INSIDE = ~2u };

// child is a box and what is in it, and its place among the children of four's nodes.
typedef struct {
    float lo[3], hi[3];
    uint32_t ref, at;
} child;

// tree is a list of nodes that grows.
typedef struct {
    hd_node *nodes;
    uint32_t count, capacity;
    // Of the scene's nodes, for each child of four's nodes: where its box went, as 8 x node +
    // child, or that it is UNKNOWN, ABSENT or INSIDE another node; and its reference then.
    uint32_t *place, *ref;
    uint32_t *roots;  // for each of four's nodes the node that was made of it, 0 for none
    uint32_t sources; // four's nodes
    uint64_t number;  // no two trees have one
} tree;

static int grow(tree *t) {
    uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
    hd_node *nodes = hd_room(capacity * sizeof *nodes);
    if (!nodes) return 0;
    if (t->count) memcpy(nodes, t->nodes, t->count * sizeof *nodes);
    hd_room_free(t->nodes, t->capacity * sizeof *nodes);
    t->nodes = nodes, t->capacity = capacity;
    return 1;
}

static uint32_t new_node(tree *t) {
    if (t->count == t->capacity && !grow(t)) return UNKNOWN;
    hd_node *n = &t->nodes[t->count];
    memset(n, 0, sizeof *n);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 8; i++) n->lo[a][i] = FLT_MAX, n->hi[a][i] = -FLT_MAX;
    return t->count++;
}

static float half_area(const child *c) {
    float x = c->hi[0] - c->lo[0], y = c->hi[1] - c->lo[1], z = c->hi[2] - c->lo[2];
    return x * y + y * z + z * x;
}

// children lists those of a node of four; -1 for a reference that leads nowhere.
static int children(const tree *t, const float *four, uint32_t ref, child out[4]) {
    uint32_t at = ref & HD_NODE;
    if (at >= t->sources) return -1;
    const float *node = four + FLOATS * (size_t)at;
    int n = 0;
    for (uint32_t i = 0; i < 4; i++) {
        child c = {.at = 4 * at + i};
        for (int a = 0; a < 3; a++) c.lo[a] = node[8 * a + (int)i], c.hi[a] = node[8 * a + 4 + (int)i];
        memcpy(&c.ref, &node[24 + i], 4);
        if (!(c.lo[0] <= c.hi[0]) || !c.ref) c.ref = 0;
        if (t->place) t->ref[c.at] = c.ref, t->place[c.at] = c.ref ? INSIDE : ABSENT;
        if (c.ref) out[n++] = c;
    }
    return n;
}

enum { DEEPEST = 60, ROUNDS = 16 }; // see STACK of trace.h

// collapse makes the subtree of an inner reference at a depth. Its largest inner children are
// replaced by their own while there is room for eight. UNKNOWN for no memory or a broken
// hierarchy.
static uint32_t collapse(tree *t, const float *four, uint32_t ref, int depth) {
    if (!ref || ref & HD_LEAF) return ref;
    child list[8];
    int n = children(t, four, ref, list);
    if (n < 0 || depth > DEEPEST || t->count > t->sources) return UNKNOWN; // the latter: it has a circle
    for (int round = 0; round < ROUNDS; round++) { // a circle has no end
        int best = -1;
        child inside[4];
        float area = -1;
        int more = 0;
        for (int i = 0; i < n; i++) {
            if (list[i].ref & HD_LEAF || half_area(&list[i]) <= area) continue;
            child some[4];
            int k = children(t, four, list[i].ref, some);
            if (k < 0) return UNKNOWN;
            if (n - 1 + k > 8) continue;
            best = i, more = k, area = half_area(&list[i]);
            memcpy(inside, some, sizeof some);
        }
        if (best < 0) break;
        if (more == 0) { // an inner node without children
            list[best] = list[--n];
            continue;
        }
        list[best] = inside[0];
        for (int i = 1; i < more; i++) list[n++] = inside[i];
    }
    uint32_t at = new_node(t);
    if (at == UNKNOWN) return UNKNOWN;
    for (int i = 0; i < n; i++) {
        uint32_t below = collapse(t, four, list[i].ref, depth + 1);
        if (below == UNKNOWN) return UNKNOWN;
        hd_node *node = &t->nodes[at]; // may have moved
        for (int a = 0; a < 3; a++) node->lo[a][i] = list[i].lo[a], node->hi[a][i] = list[i].hi[a];
        node->ref[i] = below;
        node->count = (uint32_t)i + 1;
        if (t->place) t->place[list[i].at] = 8 * at + (uint32_t)i;
    }
    return HD_VALID | at;
}

static void drop_tree(void *data) {
    tree *t = data;
    hd_room_free(t->nodes, t->capacity * sizeof *t->nodes);
    free(t->place), free(t->ref), free(t->roots);
    free(t);
}

// refit brings boxes up to date; 0 where more has changed than boxes.
static int refit(tree *t, const float *four, size_t lo, size_t hi) {
    size_t end = (hi + FLOATS * 4 - 1) / (FLOATS * 4);
    for (size_t node = lo / (FLOATS * 4); node < end && node < t->sources; node++) {
        const float *from = four + FLOATS * node;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t place = t->place[4 * node + i], ref;
            if (place == UNKNOWN) continue;
            memcpy(&ref, &from[24 + i], 4);
            int absent = !(from[i] <= from[4 + i]) || !ref;
            if (absent != (place == ABSENT) || (!absent && ref != t->ref[4 * node + i])) return 0;
            if (place == ABSENT || place == INSIDE) continue;
            hd_node *to = &t->nodes[place / 8];
            for (int a = 0; a < 3; a++) to->lo[a][place % 8] = from[8 * a + (int)i], to->hi[a][place % 8] = from[8 * a + 4 + (int)i];
        }
    }
    return 1;
}

static const char keep_tree, keep_roots, keep_top;

// tree_of returns the tree of the nodes' table; NULL after hd_fail.
static tree *tree_of(hd_work *w, const float **four) {
    uint32_t texels;
    *four = hd_table(w, HD_SLOT_NODES, 16, &texels);
    if (!*four) return NULL;
    hd_derived *kept = hd_derive(w->sampler[HD_SLOT_NODES]->memory, &keep_tree);
    tree *t = kept ? kept->data : NULL;
    if (t && kept->lo < kept->hi && !refit(t, *four, kept->lo, kept->hi)) {
        drop_tree(t);
        kept->data = t = NULL;
    }
    if (kept) kept->lo = kept->hi = 0;
    if (!t && kept && (t = calloc(1, sizeof *t))) {
        static atomic_uint_fast64_t trees;
        t->number = atomic_fetch_add(&trees, 1) + 1;
        t->sources = texels / 7;
        size_t children = 4 * ((size_t)t->sources + 1);
        t->place = malloc(children * sizeof *t->place), t->ref = calloc(children, sizeof *t->ref);
        t->roots = calloc((size_t)t->sources + 1, sizeof *t->roots);
        kept->data = t, kept->drop = drop_tree;
        if (t->place) memset(t->place, 0xff, children * sizeof *t->place);
        if (!t->place || !t->ref || !t->roots) drop_tree(t), kept->data = t = NULL;
    }
    if (!t) hd_fail(w, "out of memory for the hierarchy of %u nodes", texels / 7);
    return t;
}

// below returns what a reference of four's nodes became; UNKNOWN after hd_fail.
static uint32_t below(hd_work *w, tree *t, const float *four, uint32_t ref) {
    if (!ref || ref & HD_LEAF) return ref;
    uint32_t at = ref & HD_NODE;
    if (at < t->sources && t->roots[at]) return t->roots[at];
    uint32_t made = at < t->sources ? collapse(t, four, ref, 0) : UNKNOWN;
    if (made == UNKNOWN) {
        hd_fail(w, "the hierarchy below node %u can't be made: it is broken, or the system is out of memory", at);
        return UNKNOWN;
    }
    return t->roots[at] = made;
}

uint32_t hd_subtree(hd_work *w, uint32_t root, const hd_node **nodes) {
    const float *four;
    tree *t = tree_of(w, &four);
    uint32_t ref = t ? below(w, t, four, root) : UNKNOWN;
    *nodes = ref == UNKNOWN ? NULL : t->nodes;
    return ref == UNKNOWN ? 0 : ref;
}

const void *hd_table(hd_work *w, int slot, size_t texel, uint32_t *count) {
    static const size_t sizes[] = {0, 1, 4, 4, 8, 8, 16, 4, 8, 16, 4};
    const hd_texture *t = w->sampler[slot];
    if (!t || t->kind != HD_TEXEL_BUFFER || sizes[t->format] != texel) {
        hd_fail(w, "sampler %d has no table of texels of %zu bytes", slot, texel);
        return NULL;
    }
    *count = (uint32_t)t->width;
    return t->memory->bytes;
}

int hd_tables_of(hd_work *w, hd_tables *out) {
    uint32_t planes = 0, vertices = 0, attributes = 0;
    *out = (hd_tables){0};
    out->planes = hd_table(w, HD_SLOT_TRIANGLES, 16, &planes);
    out->vertices = hd_table(w, HD_SLOT_VERTICES, 16, &vertices);
    out->attributes = hd_table(w, HD_SLOT_ATTRIBUTES, 16, &attributes);
    out->materials = hd_table(w, HD_SLOT_MATERIALS, 16, &out->material_rows);
    out->movers = hd_table(w, HD_SLOT_MOVERS, 16, &out->mover_count);
    out->material_count = out->material_rows / 4, out->mover_count /= 2;
    out->color = w->sampler[HD_SLOT_COLOR_TEXTURES], out->data = w->sampler[HD_SLOT_DATA_TEXTURES];
    if (!out->planes || !out->vertices || !out->attributes || !out->materials || !out->movers) return 0;
    if (!out->color || !out->data || out->color->kind != HD_2D_ARRAY || out->data->kind != HD_2D_ARRAY)
        return hd_fail(w, "the scene's pictures aren't bound");
    for (int i = 0; i < 2; i++) {
        const hd_texture *t = i ? out->data : out->color;
        if (t->format != HD_RGBA8) return hd_fail(w, "pictures have the format %d", t->format);
        if (t->memory->size / 4 > INT32_MAX)
            return hd_fail(w, "the scene's pictures have %zu pixels: make them smaller or fewer", t->memory->size / 4);
    }
    if (planes != vertices || planes != attributes)
        return hd_fail(w, "the scene's tables have %u, %u and %u rows", planes, vertices, attributes);
    out->triangles = planes / 3;
    return 1;
}

// rooted is the list of the movers' roots.
typedef struct {
    uint32_t *root;
    uint32_t count; // of those that are made
    uint64_t of;    // the tree's number
} rooted;

static void drop_roots(void *data) {
    free(((rooted *)data)->root);
    free(data);
}

// roots_of returns the roots of the first movers. Behind the movers their table has other things.
static const uint32_t *roots_of(hd_work *w, const hd_tables *tables, tree *t, const float *four, uint32_t movers) {
    hd_derived *kept = hd_derive(w->sampler[HD_SLOT_MOVERS]->memory, &keep_roots);
    rooted *r = kept ? kept->data : NULL;
    if (!r && kept && (r = calloc(1, sizeof *r))) {
        kept->data = r, kept->drop = drop_roots;
        r->root = calloc((size_t)tables->mover_count + 1, sizeof *r->root);
    }
    if (!r || !r->root) {
        hd_fail(w, "out of memory for %u movers", tables->mover_count);
        return NULL;
    }
    if (kept->lo >= kept->hi && r->of == t->number && r->count >= movers) return r->root;
    for (uint32_t i = 0; i < movers; i++)
        if ((r->root[i] = below(w, t, four, tables->movers[8 * (size_t)i])) == UNKNOWN) return NULL;
    kept->lo = kept->hi = 0, r->of = t->number, r->count = movers;
    return r->root;
}

// top_of returns the hierarchy over the movers of one capture.
static const hd_node *top_of(hd_work *w, const float *motion, uint32_t texels, uint32_t *root) {
    hd_derived *kept = hd_derive(w->sampler[HD_SLOT_MOTION]->memory, &keep_top);
    tree *t = kept ? kept->data : NULL;
    if (!t && kept && (t = calloc(1, sizeof *t))) {
        kept->data = t, kept->drop = drop_tree;
        t->roots = calloc(1, sizeof *t->roots);
    }
    if (!t || !t->roots) {
        hd_fail(w, "out of memory for the movers' hierarchy");
        return NULL;
    }
    uint32_t first = (uint32_t)motion[5];
    if (kept->lo < kept->hi) {
        memcpy(root, &motion[3], 4);
        t->count = 0;
        t->sources = first < texels ? (texels - first) / 7 : 0;
        t->roots[0] = collapse(t, motion + 4 * (size_t)first, *root, 0);
        kept->lo = kept->hi = 0;
    }
    if ((*root = t->roots[0]) == UNKNOWN) {
        hd_fail(w, "the movers' hierarchy can't be made: it is broken, or the system is out of memory");
        return NULL;
    }
    if (!t->nodes && !grow(t)) {
        hd_fail(w, "out of memory for the movers' hierarchy");
        return NULL;
    }
    return t->nodes;
}

int hd_scene_of(hd_work *w, hd_scene *out) {
    const float *four;
    uint32_t texels, root;
    if (!hd_tables_of(w, &out->t) || !(out->motion = hd_table(w, HD_SLOT_MOTION, 16, &texels))) return 0;
    if (texels < 2) return hd_fail(w, "the motion table has %u texels", texels);
    tree *t = tree_of(w, &four);
    if (!t) return 0;
    memcpy(&root, &out->motion[7], 4);
    if ((out->root = below(w, t, four, root)) == UNKNOWN) return 0;
    float room = out->motion[5] - out->motion[4];
    uint32_t movers = out->motion[6] >= 1 && room >= 0 && room < 1e9f ? (uint32_t)(room / out->motion[6]) : 0;
    if (movers > out->t.mover_count) return hd_fail(w, "%u movers move, and the table has %u", movers, out->t.mover_count);
    if (!(out->mover_root = roots_of(w, &out->t, t, four, movers))) return 0;
    if (!(out->top = top_of(w, out->motion, texels, &out->top_root))) return 0;
    out->nodes = t->nodes; // when all are made, since they move
    return 1;
}
