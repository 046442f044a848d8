// Finds what rays hit: the static world first, then the movers whose swept
// boxes a ray enters, each where it is at the ray's own time.
//
// The hierarchies are searched nearest child first with a stack of references and
// distances ("while inner, then leaf"); both sides of a triangle count. The hit is
// computed again from the triangle's vertices relative to the ray, which keeps
// distances exact far from the frame's origin.

#include "lib/scene.glsl"
#include "lib/motion.glsl"

// Ray is a half-line in the world frame; direction is a unit vector.
struct Ray {
    vec3 origin;
    vec3 direction;
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

const uint REF_LEAF = 0x80000000u;
const uint REF_CUT = 0x10000000u;
const uint REF_NODE = 0x1fffffffu;
const uint REF_FIRST = 0x03ffffffu;
const uint MISS = 0xffffffffu;

// STACK_SIZE is scene.stackSize: no hierarchy needs more.
const int STACK_SIZE = 64;
const int MOVER_STACK_SIZE = 32;

// Search is the state of one ray's search in one frame.
struct Search {
    vec3 origin;
    vec3 direction;
    float tmin;
    float tmax; // the nearest hit so far
    int triangle; // of the nearest hit, -1 for none
};

// inverse returns 1/d without infinities, which would make NaN of a box's
// plane that the ray starts on.
vec3 safeInverse(vec3 d) {
    vec3 s = mix(vec3(1.0), vec3(-1.0), lessThan(d, vec3(0.0)));
    return s / max(abs(d), vec3(1e-20));
}

// sortPair leaves the smaller key in a.
#define sortPair(a, b) { uint low = min(a, b); b = max(a, b); a = low; }

// enterChildren returns for each child of the node at texel at the distance
// bits where the ray enters its box, the child's number in the lowest two bits, or
// MISS. side tells for each axis which of the two bounds comes first.
uvec4 enterChildren(samplerBuffer tree, int at, vec3 origin, vec3 inv, ivec3 side, float tmin, float tmax) {
    vec4 nx = (texelFetch(tree, at + side.x) - origin.x) * inv.x;
    vec4 fx = (texelFetch(tree, at + 1 - side.x) - origin.x) * inv.x;
    vec4 ny = (texelFetch(tree, at + 2 + side.y) - origin.y) * inv.y;
    vec4 fy = (texelFetch(tree, at + 3 - side.y) - origin.y) * inv.y;
    vec4 nz = (texelFetch(tree, at + 4 + side.z) - origin.z) * inv.z;
    vec4 fz = (texelFetch(tree, at + 5 - side.z) - origin.z) * inv.z;
    vec4 near = max(max(nx, ny), max(nz, vec4(tmin)));
    vec4 far = min(min(fx, fy), min(fz, vec4(tmax)));
    uvec4 keys = (floatBitsToUint(near) & 0xfffffffcu) | uvec4(0u, 1u, 2u, 3u);
    return mix(uvec4(MISS), keys, lessThanEqual(near, far * 1.0000005));
}

// search finds the nearest triangle below root that s.origin + t s.direction
// meets at tmin <= t < s.tmax; with any, the first one it comes upon.
void searchTree(inout Search s, uint root, bool any) {
    uint stackRef[STACK_SIZE];
    uint stackKey[STACK_SIZE];
    vec3 inv = safeInverse(s.direction);
    ivec3 side = mix(ivec3(0), ivec3(1), lessThan(inv, vec3(0.0)));
    int top = 0;
    uint ref = root;
    while (ref != 0u) {
        while (ref != 0u && (ref & REF_LEAF) == 0u) {
            int at = int(ref & REF_NODE) * 7;
            uvec4 k = enterChildren(nodes, at, s.origin, inv, side, s.tmin, s.tmax);
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
                ref = uintBitsToFloat(stackKey[top]) < s.tmax ? stackRef[top] : 0u;
            }
        }
        if (ref == 0u) break;
        int first = int(ref & REF_FIRST);
        int end = first + int((ref >> 26) & 3u) + 1;
        bool cut = (ref & REF_CUT) != 0u;
        for (int i = first; i < end; i++) {
            vec4 plane = texelFetch(triangles, 3 * i);
            vec4 rowU = texelFetch(triangles, 3 * i + 1);
            vec4 rowV = texelFetch(triangles, 3 * i + 2);
            float t = -(dot(plane.xyz, s.origin) + plane.w) / dot(plane.xyz, s.direction);
            vec3 p = s.origin + t * s.direction;
            float u = dot(rowU.xyz, p) + rowU.w;
            float v = dot(rowV.xyz, p) + rowV.w;
            if (t >= s.tmin && t < s.tmax && u >= 0.0 && v >= 0.0 && u + v <= 1.0) {
                if (!cut || !cutOut(i, vec2(u, v), 0.0)) {
                    s.tmax = t;
                    s.triangle = i;
                }
            }
        }
        ref = 0u;
        if (any && s.triangle >= 0) break;
        while (ref == 0u && top > 0) {
            top--;
            ref = uintBitsToFloat(stackKey[top]) < s.tmax ? stackRef[top] : 0u;
        }
    }
}

// MoverFrame turns world coordinates into a mover's frame: linear (p - position).
struct MoverFrame {
    mat3 linear;
    vec3 position;
};

// moverFrame returns a mover's frame at a moment.
MoverFrame moverFrame(int mover, Moment when, vec4 layout1) {
    int at = int(layout1.x) + mover * int(layout1.z);
    RigidPose pose = poseAt(at + 3, when);
    vec4 conjugate = vec4(-pose.rotation.xyz, pose.rotation.w);
    mat3 unturn = mat3(rotate(conjugate, vec3(1, 0, 0)), rotate(conjugate, vec3(0, 1, 0)), rotate(conjugate, vec3(0, 0, 1)));
    mat3 rows = mat3(texelFetch(motion, at).xyz, texelFetch(motion, at + 1).xyz, texelFetch(motion, at + 2).xyz);
    return MoverFrame(transpose(rows) * unturn, pose.position);
}

// MoverQueue walks the hierarchy over the movers' swept boxes.
struct MoverQueue {
    uint stack[MOVER_STACK_SIZE];
    int top;
};

// nextMover returns the next mover whose swept box the ray enters before tmax,
// or -1 when there is none left.
int nextMover(inout MoverQueue q, int firstNode, vec3 origin, vec3 inv, ivec3 side, float tmin, float tmax) {
    int mover = -1;
    while (mover < 0 && q.top > 0) {
        q.top--;
        uint ref = q.stack[q.top];
        if ((ref & REF_LEAF) != 0u) {
            mover = int(ref & REF_FIRST);
        } else {
            int at = firstNode + int(ref & REF_NODE) * 7;
            uvec4 k = enterChildren(motion, at, origin, inv, side, tmin, tmax);
            uvec4 refs = floatBitsToUint(texelFetch(motion, at + 6));
            q.stack[q.top] = refs.x; q.top += k.x != MISS ? 1 : 0;
            q.stack[q.top] = refs.y; q.top += k.y != MISS ? 1 : 0;
            q.stack[q.top] = refs.z; q.top += k.z != MISS ? 1 : 0;
            q.stack[q.top] = refs.w; q.top += k.w != MISS ? 1 : 0;
        }
    }
    return mover;
}

// searchScene searches the static world and then the movers. frame is that of
// the hit's triangle.
bool searchScene(Ray ray, float tmin, float tmax, float seconds, bool any, out Search best, out int mover, out MoverFrame frame) {
    Moment when = momentAt(seconds);
    vec4 layout0 = texelFetch(motion, 0), layout1 = texelFetch(motion, 1);
    vec3 inv = safeInverse(ray.direction);
    ivec3 side = mix(ivec3(0), ivec3(1), lessThan(inv, vec3(0.0)));
    MoverQueue queue;
    queue.stack[0] = floatBitsToUint(layout0.w);
    queue.top = queue.stack[0] != 0u ? 1 : 0;

    mover = -1;
    frame = MoverFrame(mat3(1.0), vec3(0.0));
    best = Search(ray.origin, ray.direction, tmin, tmax, -1);
    int current = -1;
    MoverFrame currentFrame = frame;
    uint root = floatBitsToUint(layout1.w);
    while (true) {
        Search s = Search(currentFrame.linear * (ray.origin - currentFrame.position), currentFrame.linear * ray.direction, tmin, best.tmax, -1);
        searchTree(s, root, any);
        if (s.triangle >= 0) {
            best = s;
            mover = current;
            frame = currentFrame;
            if (any) break;
        }
        current = nextMover(queue, int(layout1.y), ray.origin, inv, side, tmin, best.tmax);
        if (current < 0) break;
        root = texelFetch(movers, current).x;
        currentFrame = moverFrame(current, when, layout1);
    }
    return best.triangle >= 0;
}

// trace finds the nearest surface that a ray meets at tmin <= t < tmax metres,
// seconds after the window's start. Without one it returns false and leaves hit
// undefined.
bool trace(Ray ray, float tmin, float tmax, float seconds, out Hit hit) {
    Search s;
    int mover;
    MoverFrame frame;
    if (!searchScene(ray, tmin, tmax, seconds, false, s, mover, frame)) {
        hit = Hit(tmax, -1, -1, vec2(0.0), vec3(0.0));
        return false;
    }
    vec3 a = vertexPosition(3 * s.triangle), b = vertexPosition(3 * s.triangle + 1), c = vertexPosition(3 * s.triangle + 2);
    vec3 e1 = b - a, e2 = c - a, n = cross(e1, e2);
    float t = dot(n, a - s.origin) / dot(n, s.direction);
    vec3 p = t * s.direction - (a - s.origin);
    vec2 uv = vec2(dot(cross(p, e2), n), dot(cross(e1, p), n)) / dot(n, n);
    vec3 normal = normalize(n * frame.linear);
    if (dot(normal, ray.direction) > 0.0) normal = -normal;
    hit = Hit(t, s.triangle, mover, clamp(uv, 0.0, 1.0), normal);
    return true;
}

// occluded tells whether anything stands between tmin and tmax.
bool occluded(Ray ray, float tmin, float tmax, float seconds) {
    Search s;
    int mover;
    MoverFrame frame;
    return searchScene(ray, tmin, tmax, seconds, true, s, mover, frame);
}
