// Finds what rays hit. The static world comes first, then the movers whose swept boxes a ray
// enters, each where it is at the ray's own time.
//
// TOGETHER rays, four of them, are traced by an invocation: they share the walk through the
// hierarchies. Each is tested against every box and triangle by itself, so that what a ray hits
// depends on its company only where a surface reaches out of its box by rounding. The walk is
// worth sharing where rays lie side by side: a lidar's neighbouring firings of one laser. The
// nearest child is visited first; a stack holds the others with their distances ("while inner,
// then leaf"). Both sides of a triangle count.
//
// With ALONE an invocation traces one ray, and TOGETHER is 1. A GPU's invocations share their
// walk in hardware: its neighbours run in step, four times as many hide what reading the tables
// takes, and each needs a quarter of the registers. Software OpenGL has none of this, and walks
// for each invocation by itself.
//
// Nothing here is precise. A compiler that contracts a * b + c to one rounding, in each program in its
// own way, moves a hit by a rounding, and at an edge, or between surfaces at one place, decides which
// is hit. What has to agree within a program is computed once. Whether a ray meets a triangle, meet
// says; refine, which stopped and hitAt call, says where. Which of a pane's rays pass, their numbers
// decide, and not their directions, whose last bits differ from driver to driver. A mover's frame is
// computed by enterMover and again by hitAt, for the triangle that was met. Boxes are tested by differences and products, which can't be contracted.
// Triangles are enlarged by more than roundings, so that no gap opens between neighbours.
//
// Usage:
//	Rays rays = noRays();
//	for (int k = 0; k < TOGETHER; k++) setRay(rays, k, Ray(origin, direction), tmin, tmax, seconds);
//	Hits hits = traceRays(rays);
//	for (int k = 0; k < TOGETHER; k++) {
//	    Hit hit;
//	    if (hitAt(rays, hits, k, hit)) ...
//	}
// or, for one ray, trace and occluded.

#include "lib/scene.glsl"
#include "lib/motion.glsl"

// Reals, Ints and Bools have a component for each ray; OF is that of ray k.
#ifndef ALONE
#define ALONE 0
#endif
#if ALONE
#define TOGETHER 1
#define Reals float
#define Ints int
#define Bools bool
#define OF(v, k) v
bool below(float a, float b) { return a < b; }
bool below(int a, int b) { return a < b; }
bool same(float a, float b) { return a == b; }
bool upTo(float a, float b) { return a <= b; }
bool some(bool v) { return v; }
float least(float v) { return v; }
float greatest(float v) { return v; }
#else
#define TOGETHER 4
#define Reals vec4
#define Ints ivec4
#define Bools bvec4
#define OF(v, k) v[k]
bvec4 below(vec4 a, vec4 b) { return lessThan(a, b); }
bvec4 below(ivec4 a, ivec4 b) { return lessThan(a, b); }
bvec4 same(vec4 a, vec4 b) { return equal(a, b); }
bvec4 upTo(vec4 a, vec4 b) { return lessThanEqual(a, b); }
bool some(bvec4 v) { return any(v); }
float least(vec4 v) { return min(min(v.x, v.y), min(v.z, v.w)); }
float greatest(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }
#endif

// Ray is a half-line in the world frame; direction is a unit vector.
struct Ray {
    vec3 origin;
    vec3 direction;
};

// Rays are those of an invocation. A surface counts at tmin <= t < tmax metres, at
// seconds after the window's start. number tells a ray from the others of its dispatch.
struct Rays {
    Reals ox, oy, oz;
    Reals dx, dy, dz;
    Reals tmin, tmax;
    Reals seconds;
    Ints number;
};

// Hits are what rays hit: triangle and mover are -1 for none, the mover also for
// the static world. t is good to float32 in the frame of the triangle; hitAt makes
// it exact.
struct Hits {
    Reals t;
    Ints triangle;
    Ints mover;
};

// Hit is the nearest surface point: t in metres along the ray; the geometric
// unit normal in the world frame, on the ray's side.
struct Hit {
    float t;
    int triangle;
    int mover;
    vec2 barycentric;
    vec3 normal;
};

// noRays returns rays that hit nothing.
Rays noRays() {
    Reals zero = Reals(0.0);
    return Rays(zero, zero, zero, zero, zero, Reals(1.0), zero, Reals(-1.0), zero, Ints(0));
}

// setRay sets ray k. Its number follows from the place of the ray among the rays of the dispatch, column and row,
// and is the same whether an invocation traces one ray or several.
void setRay(inout Rays r, int k, Ray ray, float tmin, float tmax, float seconds) {
    OF(r.ox, k) = ray.origin.x; OF(r.oy, k) = ray.origin.y; OF(r.oz, k) = ray.origin.z;
    OF(r.dx, k) = ray.direction.x; OF(r.dy, k) = ray.direction.y; OF(r.dz, k) = ray.direction.z;
    OF(r.tmin, k) = tmin; OF(r.tmax, k) = tmax; OF(r.seconds, k) = seconds;
    int column = TOGETHER_X * int(gl_GlobalInvocationID.x) + k % TOGETHER_X, row = TOGETHER_Y * int(gl_GlobalInvocationID.y) + k / TOGETHER_X;
    OF(r.number, k) = column + (row << 16);
}

Ray rayOf(Rays r, int k) {
    return Ray(vec3(OF(r.ox, k), OF(r.oy, k), OF(r.oz, k)), vec3(OF(r.dx, k), OF(r.dy, k), OF(r.dz, k)));
}

const uint REF_LEAF = 0x80000000u;
const uint REF_CUT = 0x10000000u;
const uint REF_NODE = 0x1fffffffu;
const uint REF_FIRST = 0x03ffffffu;

// A key is the bits of a distance with a child's number in the lowest two.
const uint MISS = 0xffffffffu;
const float FAR = 1e30;

// No hierarchy needs a higher stack: see scene.stackSize.
const int STACK_SIZE = 64;
const int MOVER_STACK_SIZE = 32;

// Search is the state of the rays' search in one frame.
struct Search {
    Reals ox, oy, oz;
    Reals dx, dy, dz;
    Reals ix, iy, iz; // 1 / direction, finite
    Reals tmin;
    Reals tmax; // the nearest hit so far
    Ints triangle; // of the nearest hit; before one in this frame, that below which a number wins a tie
};

// finiteInverse returns 1/d without infinities, which would make NaN of a box's
// plane that the ray starts on.
Reals finiteInverse(Reals d) {
    return mix(Reals(1.0), Reals(-1.0), below(d, Reals(0.0))) / max(abs(d), Reals(1e-20));
}

void setInverse(inout Search s) {
    s.ix = finiteInverse(s.dx);
    s.iy = finiteInverse(s.dy);
    s.iz = finiteInverse(s.dz);
}

// enterBox returns the key of where the first of the rays enters a child's box,
// MISS where none does. The factor covers the rounding of three slabs (Ize,
// Robust BVH Ray Traversal, JCGT 2013).
uint enterBox(Search s, float x0, float x1, float y0, float y1, float z0, float z1, uint child) {
    Reals ax = (x0 - s.ox) * s.ix, bx = (x1 - s.ox) * s.ix;
    Reals ay = (y0 - s.oy) * s.iy, by = (y1 - s.oy) * s.iy;
    Reals az = (z0 - s.oz) * s.iz, bz = (z1 - s.oz) * s.iz;
    Reals enter = max(max(min(ax, bx), min(ay, by)), max(min(az, bz), s.tmin));
    Reals leave = min(min(max(ax, bx), max(ay, by)), min(max(az, bz), s.tmax));
    float t = least(mix(Reals(FAR), enter, upTo(enter, leave * 1.0000005)));
    return x0 <= x1 && t < FAR ? (floatBitsToUint(t) & 0xfffffffcu) | child : MISS;
}

// enterChildren returns the keys of the children of the node at texel at.
uvec4 enterChildren(samplerBuffer tree, int at, Search s) {
    vec4 x0 = texelFetch(tree, at), x1 = texelFetch(tree, at + 1);
    vec4 y0 = texelFetch(tree, at + 2), y1 = texelFetch(tree, at + 3);
    vec4 z0 = texelFetch(tree, at + 4), z1 = texelFetch(tree, at + 5);
    return uvec4(
        enterBox(s, x0.x, x1.x, y0.x, y1.x, z0.x, z1.x, 0u), enterBox(s, x0.y, x1.y, y0.y, y1.y, z0.y, z1.y, 1u),
        enterBox(s, x0.z, x1.z, y0.z, y1.z, z0.z, z1.z, 2u), enterBox(s, x0.w, x1.w, y0.w, y1.w, z0.w, z1.w, 3u));
}

// sortPair leaves the smaller key in a.
#define sortPair(a, b) { uint low = min(a, b); b = max(a, b); a = low; }

// meet returns which of the rays meet a triangle nearer than what they hit so far, and where. Of
// two at equal range the one with the lower number is nearer, in whichever order they are met.
Bools meet(Search s, int triangle, out Reals t) {
    vec4 n = texelFetch(triangles, 3 * triangle);
    vec4 u = texelFetch(triangles, 3 * triangle + 1);
    vec4 v = texelFetch(triangles, 3 * triangle + 2);
    t = -(n.x * s.ox + n.y * s.oy + n.z * s.oz + n.w) / (n.x * s.dx + n.y * s.dy + n.z * s.dz);
    Reals x = s.ox + t * s.dx, y = s.oy + t * s.dy, z = s.oz + t * s.dz;
    Reals a = u.x * x + u.y * y + u.z * z + u.w;
    Reals b = v.x * x + v.y * y + v.z * z + v.w;
    Reals inside = min(min(a, b), min(1.0 - a - b, t - s.tmin));
    // A ray in the plane has NaN or infinity here: both fail a comparison.
    Reals at = mix(Reals(FAR), t, upTo(Reals(0.0), inside));
    return mix(below(at, s.tmax), below(Ints(triangle), s.triangle), same(at, s.tmax));
}

// refine computes a hit of a ray in its triangle's frame again from the vertices relative to
// the ray. That keeps distances exact far from the frame's origin; the normal stays in that
// frame.
Hit refine(Ray ray, int triangle, int mover) {
    vec3 a = vertexPosition(3 * triangle), b = vertexPosition(3 * triangle + 1), c = vertexPosition(3 * triangle + 2);
    vec3 e1 = b - a, e2 = c - a, n = cross(e1, e2), to = a - ray.origin;
    float t = dot(n, to) / dot(n, ray.direction);
    vec3 p = t * ray.direction - to;
    vec2 uv = vec2(dot(cross(p, e2), n), dot(cross(e1, p), n)) / dot(n, n);
    return Hit(t, triangle, mover, clamp(uv, 0.0, 1.0), n);
}

// take records a triangle as the hit of the rays in met, at the distances t. With anyHit they end there.
void take(inout Search s, int triangle, Reals t, Bools met, bool anyHit) {
    s.tmax = mix(s.tmax, anyHit ? Reals(-1.0) : t, met);
    s.triangle = mix(s.triangle, Ints(triangle), met);
}

// stopped returns which of the rays that meet a triangle it stops. The others pass where its
// material is cut out by its alpha, and where it is blended and isn't there for them: a ray to a lamp,
// with anyHit, decides apart from the ray that sees what the lamp shines on.
Bools stopped(Search s, Ints number, int triangle, int mover, bool anyHit, Bools met) {
    for (int k = 0; k < TOGETHER; k++) {
        if (!OF(met, k)) continue;
        Ray own = Ray(vec3(OF(s.ox, k), OF(s.oy, k), OF(s.oz, k)), vec3(OF(s.dx, k), OF(s.dy, k), OF(s.dz, k)));
        vec2 at = refine(own, triangle, mover).barycentric;
        OF(met, k) = !cutOut(triangle, at, uvec4(OF(number, k), anyHit ? 1u : 0u, mover, triangle));
    }
    return met;
}

// behind tells whether a child is entered behind what every ray hit: its key has the distance except
// the two lowest bits. The factor is enterBox's.
bool behind(uint key, float reach) { return uintBitsToFloat(key & 0xfffffffcu) > reach * 1.0000005; }

// searchTree finds the nearest triangles below root, which are a mover's or, where that is -1, the
// static world's. With anyHit, a ray ends at the first.
//
// A triangle that may be cut out is looked up when it is met, so that a ray goes on through a hole
// from that very point. The walk is interrupted for this: with the lookup in its innermost loop, scans
// of a city without any such triangle took llvmpipe 40 % longer.
void searchTree(inout Search s, Ints number, uint root, int mover, bool anyHit) {
    uint stackRef[STACK_SIZE];
    uint stackKey[STACK_SIZE];
    int top = 0;
    uint ref = root;
    float reach = greatest(s.tmax);
    while (ref != 0u) {
        int doubtful = -1; // the triangle that is to be looked up
        Bools met;
        Reals t;
        while (ref != 0u && doubtful < 0) {
            while (ref != 0u && (ref & REF_LEAF) == 0u) {
                int at = int(ref & REF_NODE) * 7;
                uvec4 k = enterChildren(nodes, at, s);
                uvec4 refs = floatBitsToUint(texelFetch(nodes, at + 6));
                sortPair(k.x, k.y); sortPair(k.z, k.w);
                sortPair(k.x, k.z); sortPair(k.y, k.w);
                sortPair(k.y, k.z);
                stackRef[top] = refs[k.w & 3u]; stackKey[top] = k.w; top += k.w != MISS ? 1 : 0;
                stackRef[top] = refs[k.z & 3u]; stackKey[top] = k.z; top += k.z != MISS ? 1 : 0;
                stackRef[top] = refs[k.y & 3u]; stackKey[top] = k.y; top += k.y != MISS ? 1 : 0;
                ref = k.x != MISS ? refs[k.x & 3u] : 0u;
                while (ref == 0u && top > 0) {
                    top--;
                    ref = behind(stackKey[top], reach) ? 0u : stackRef[top];
                }
            }
            if (ref == 0u) break;
            int i = int(ref & REF_FIRST);
            int end = i + int((ref >> 26) & 3u) + 1;
            bool cut = (ref & REF_CUT) != 0u;
            for (; i < end && doubtful < 0; i++) {
                met = meet(s, i, t);
                doubtful = cut && some(met) ? i : -1;
                take(s, i, t, mix(met, Bools(false), Bools(cut)), anyHit);
            }
            reach = greatest(s.tmax);
            ref = i < end ? REF_LEAF | REF_CUT | uint(end - i - 1) << 26 | uint(i) : 0u; // the rest of the leaf
            while (ref == 0u && top > 0) {
                top--;
                ref = behind(stackKey[top], reach) ? 0u : stackRef[top];
            }
        }
        // A loop, not an if: llvmpipe executes an if's body under a mask, but skips a loop that nobody enters.
        for (bool look = doubtful >= 0; look; look = false) {
            take(s, doubtful, t, stopped(s, number, doubtful, mover, anyHit, met), anyHit);
            reach = greatest(s.tmax);
        }
    }
}

// enterMover takes the rays into a mover's frame, each at its own time. Those at
// whose time it isn't there find nothing before FAR.
void enterMover(inout Search s, Rays r, int record) {
    for (int k = 0; k < TOGETHER; k++) {
        MoverFrame f = moverFrame(record, momentAt(OF(r.seconds, k)));
        Ray ray = rayOf(r, k);
        vec3 o = f.linear * (ray.origin - f.position), d = f.linear * ray.direction;
        OF(s.ox, k) = o.x; OF(s.oy, k) = o.y; OF(s.oz, k) = o.z;
        OF(s.dx, k) = d.x; OF(s.dy, k) = d.y; OF(s.dz, k) = d.z;
    }
    float from = texelFetch(motion, record).w, until = texelFetch(motion, record + 1).w;
    Bools before = below(r.seconds, Reals(from)), after = upTo(Reals(until), r.seconds);
    s.tmin = mix(mix(r.tmin, Reals(FAR), before), Reals(FAR), after);
    setInverse(s);
}

// traceAny finds the nearest surface of each ray, with anyHit any surface: where one is hit tells
// nothing then. It searches the static world and then the movers. Rays with a tmax below 0 are
// left out.
Hits traceAny(Rays r, bool anyHit) {
    vec4 layout0 = texelFetch(motion, 0), layout1 = texelFetch(motion, 1);
    Hits hits = Hits(r.tmax, Ints(-1), Ints(-1));
    Reals zero = Reals(0.0);
    Search world = Search(r.ox, r.oy, r.oz, r.dx, r.dy, r.dz, zero, zero, zero, r.tmin, r.tmax, Ints(-1));
    setInverse(world);
    uint stack[MOVER_STACK_SIZE];
    stack[0] = floatBitsToUint(layout0.w);
    int top = stack[0] != 0u ? 1 : 0;
    int mover = -1;
    uint root = floatBitsToUint(layout1.w);
    Search s = world;
    while (true) {
        // Movers of one mesh share its triangles: of those the lower mover is nearer, so that the same
        // number wins for it, too.
        Ints limit = hits.triangle + mix(Ints(0), Ints(1), below(Ints(mover), hits.mover));
        s.triangle = limit;
        searchTree(s, r.number, root, mover, anyHit);
        Bools found = mix(below(s.tmax, hits.t), below(s.triangle, limit), same(s.tmax, hits.t));
        hits = Hits(s.tmax, mix(hits.triangle, s.triangle, found), mix(hits.mover, Ints(mover), found));
        world.tmax = s.tmax;
        mover = -1;
        while (mover < 0 && top > 0) {
            top--;
            uint ref = stack[top];
            mover = (ref & REF_LEAF) != 0u ? int(ref & REF_FIRST) : -1;
            for (bool inner = mover < 0; inner; inner = false) {
                int at = int(layout1.y) + int(ref & REF_NODE) * 7;
                uvec4 k = enterChildren(motion, at, world);
                uvec4 refs = floatBitsToUint(texelFetch(motion, at + 6));
                stack[top] = refs.x; top += k.x != MISS ? 1 : 0;
                stack[top] = refs.y; top += k.y != MISS ? 1 : 0;
                stack[top] = refs.z; top += k.z != MISS ? 1 : 0;
                stack[top] = refs.w; top += k.w != MISS ? 1 : 0;
            }
        }
        if (mover < 0) break;
        root = moverAt(mover).x;
        enterMover(s, r, moverRecord(layout1, mover));
    }
    return hits;
}

// hitAt returns ray k's hit, false without one.
bool hitAt(Rays r, Hits h, int k, out Hit hit) {
    int triangle = OF(h.triangle, k), mover = OF(h.mover, k);
    Ray ray = rayOf(r, k);
    mat3 linear = mat3(1.0);
    for (bool moved = mover >= 0; moved; moved = false) {
        MoverFrame f = moverFrame(moverRecord(texelFetch(motion, 1), mover), momentAt(OF(r.seconds, k)));
        linear = f.linear;
        ray = Ray(linear * (ray.origin - f.position), linear * ray.direction);
    }
    hit = refine(ray, max(triangle, 0), mover);
    hit.normal = normalize(hit.normal * linear);
    if (dot(hit.normal, rayOf(r, k).direction) > 0.0) hit.normal = -hit.normal;
    return triangle >= 0;
}

// traceRays finds the nearest surface of each ray.
Hits traceRays(Rays r) { return traceAny(r, false); }

// trace finds one ray's nearest surface. Without one it returns false and leaves
// hit undefined.
bool trace(Ray ray, float tmin, float tmax, float seconds, out Hit hit) {
    Rays r = noRays();
    setRay(r, 0, ray, tmin, tmax, seconds);
    return hitAt(r, traceRays(r), 0, hit);
}

// occluded tells whether anything stands between tmin and tmax.
bool occluded(Ray ray, float tmin, float tmax, float seconds) {
    Rays r = noRays();
    setRay(r, 0, ray, tmin, tmax, seconds);
    return OF(traceAny(r, true).triangle, 0) >= 0;
}
