// The step of lidar_echoes.comp that makes the points of beams with a width: main of it, with what the centres of all
// beams meet at hand. An invocation has a firing. docs/lidars.md has the rules.

// PASSES is how many surfaces a sub-ray passes at most. It goes on BEHIND metres behind each.
const int PASSES = 2;
const float BEHIND = 1e-3;

// A smooth surface that is blended is a pane: two faces of glass. GLASS is its index of refraction.
const float SMOOTH = 0.25;
const float GLASS = 1.5;

// RIM is how many rays at a beam's rim tell whether it meets an edge, and EDGE the share of the range by which
// something is off a plane.
const int RIM = 4;
const float EDGE = 0.02;

const uint NEIGHBOURS = 8u;
const uint OPEN_SIDE = 0xfffffffeu; // no firing is near on that side

// Which echoes are points: beam.w.
const uint MODE_STRONGEST = 0u;
const uint MODE_LAST = 1u;
const uint MODE_FIRST = 2u;
const uint MODE_DUAL = 3u;
const uint MODE_TRIPLE = 4u;

// Bits of a point's returns, beside RETURN_STRONGEST.
const uint RETURN_LAST = 2u;
const uint RETURN_FIRST = 4u;
const uint RETURN_ONLY = 8u;
const uint RETURN_SECOND = 16u;

// MOST is how many surfaces the sub-rays of a beam meet at most, and the weather's echoes besides.
const int MOST = 37 * (PASSES + 1) + 9;

// ofSlot marks a part of the weather by its slot, in place of a cosine, which is above SOLID. slotOf is what it was.
const float SOLID = -0.5;
float ofSlot(uint slot) { return -1.0 - float(slot); }
uint slotOf(float cosine) { return uint(-1.0 - min(cosine, -1.0)); }

// Part is the light that a sub-ray brings back from a surface, or from the weather.
struct Part {
    float range, energy;
    uint what;
    float cosine;
};

// The parts of the firing's beam, in the order of their ranges.
Part parts[MOST];
int partCount = 0;

void add(Part part) {
    int at = partCount++;
    while (at > 0 && parts[at - 1].range > part.range) {
        parts[at] = parts[at - 1];
        at--;
    }
    parts[at] = part;
}

// subRay returns the direction of sub-ray i of a firing, in the sensor's frame. Sub-rays -RIM to -1 are at the rim.
vec3 subRay(Firing f, int i) {
    vec2 angle = uintBitsToFloat(texelFetch(scan, int(beam.y) + (i < 0 ? int(beam.x) - 1 - i : i)).xy);
    vec2 turn = turnOf(f.azimuth), rise = turnOf(f.elevation);
    vec3 direction = vec3(rise.x * turn, rise.y) + angle.x * vec3(-turn.y, turn.x, 0.0) + angle.y * vec3(-rise.y * turn, rise.x);
    return direction / sqrt(1.0 + dot(angle, angle));
}

// onSide tells whether ray i at the rim is on one of some sides.
bool onSide(uint sides, int i) { return (sides >> uint(-1 - i) & 1u) == 1u; }

// passedShare returns which share of the light a surface returns, and which comes back through it from behind.
vec2 passedShare(Hit hit, float cosine) {
    vec2 share = vec2(1.0, 0.0);
    int index = triangleMaterial(hit.triangle);
    for (bool blended = texelFetch(materials, 4 * index + 1).a < 0.0; blended; blended = false) {
        Material m = materialAt(index);
        float alpha = clamp(surfaceColor(m, hit.triangle, hit.barycentric, pointAt(textureCoordinates(hit.triangle, hit.barycentric))).a, 0.0, 1.0);
        float inside = sqrt(1.0 - (1.0 - cosine * cosine) / (GLASS * GLASS));
        float s = (cosine - GLASS * inside) / (cosine + GLASS * inside), p = (GLASS * cosine - inside) / (GLASS * cosine + inside);
        float face = 0.5 * (s * s + p * p), pane = (1.0 - face) / (1.0 + face);
        share = vec2(alpha, (1.0 - alpha) * (m.roughness <= SMOOTH ? pane * pane : 1.0));
    }
    return share;
}

// differs tells whether what a ray from origin meets is on another instance than what a beam's centre meets, or off
// its plane: at, below 0 in range for nothing.
bool differs(Center center, vec3 normal, vec3 origin, vec4 at, int instance) {
    bool off = abs(dot(normal, at.xyz - center.point.xyz)) > EDGE * abs(dot(normal, at.xyz - origin));
    bool both = at.w >= 0.0 && center.point.w >= 0.0;
    return both ? instance != center.surface.z || off : at.w >= 0.0 || center.point.w >= 0.0;
}

// edgeSides tells on which sides of beam i an edge may be, a bit for each ray at the rim: where the centre of a neighbour meets something
// else, or no neighbour could tell. A neighbour between two sides tells of both.
uint edgeSides(int i, Center center, vec3 normal, vec3 origin) {
    uint sides = 0u;
    for (uint k = 0u; k < NEIGHBOURS; k++) {
        uint at = texelFetch(scan, int(2u * shape.x + 2u * uint(i) + k / 4u))[k % 4u];
        bool edge = at == OPEN_SIDE;
        for (bool there = at < shape.x; there; there = false) {
            Center other = centers[at];
            edge = other.point.w != NOT_FIRED && differs(center, normal, origin, other.point, other.surface.z);
        }
        sides |= edge ? 1u << (k / 2u) | 1u << ((k + 1u) / 2u % uint(RIM)) : 0u;
    }
    return sides;
}

// onePlane tells whether two parts, the nearer first, are of one plane of one instance: as far from it is the sensor, and no farther
// from one another are they than the beam is long on it.
bool onePlane(Part a, Part b) {
    float height = a.range * a.cosine, step = (b.range - a.range) * a.cosine;
    bool surfaces = min(a.cosine, b.cosine) > 0.0 && labelInstance(a.what) == labelInstance(b.what);
    return surfaces && abs(b.range * b.cosine - height) <= EDGE * height && step * step <= merging.y * (1.0 - a.cosine * a.cosine) * b.range * b.range;
}

// Seen is an echo that was detected, of strength s.
struct Seen {
    uint returns; // 0 for none
    float s, range, intensity;
    uint what;
    float cosine;
};

const Seen NONE = Seen(0u, 0.0, 0.0, 0.0, 0u, 0.0);

// Chosen are the echoes of a firing that may be points.
struct Chosen {
    uint count; // of all that were seen
    Seen strongest, second, first, last;
    uint strongestAt, secondAt, lastAt; // which of all they are
};

// choose merges the parts to echoes and detects these.
Chosen choose(Firing f) {
    Chosen c = Chosen(0u, NONE, NONE, NONE, NONE, 0u, 0u, 0u);
    float s = 0.0, moment = 0.0;
    Part most = Part(0.0, 0.0, 0u, 0.0);
    uint echo = 0u;
    bool solid = false;
    for (int i = 0; i < partCount; i++) {
        Part part = parts[i];
        solid = solid || part.cosine > SOLID;
        s += part.energy;
        moment += part.energy * part.range;
        if (part.energy > most.energy) most = part;
        bool ends = i + 1 == partCount || (parts[i + 1].range - part.range > merging.x && !onePlane(part, parts[i + 1]));
        for (; ends; ends = false) {
            Echo e = received(f, solid ? echo : MIST_ECHO + slotOf(most.cosine), true, s, moment / s, !solid && slotOf(most.cosine) != FOG_SLOT);
            if (most.cosine < SOLID) most.cosine = 0.0;
            for (bool seen = e.seen; seen; seen = false) {
                Seen here = Seen(1u, s, e.range, e.intensity, most.what, most.cosine);
                if (s > c.strongest.s) {
                    c.second = c.strongest;
                    c.secondAt = c.strongestAt;
                    c.strongest = here;
                    c.strongestAt = c.count;
                } else if (s > c.second.s) {
                    c.second = here;
                    c.secondAt = c.count;
                }
                if (c.count == 0u) c.first = here;
                c.last = here;
                c.lastAt = c.count;
                c.count++;
            }
            s = 0.0;
            moment = 0.0;
            most = Part(0.0, 0.0, 0u, 0.0);
            echo += solid ? 1u : 0u;
            solid = false;
        }
    }
    return c;
}

// writeReturn writes record k of a firing's n.
void writeReturn(Firing f, Ray ray, uint n, uint k, Seen e, bool near) {
    uint record = n * f.number + k;
    if (e.returns != 0u) setPoint(f, record, vec4(pointOf(f, ray, e.range), e.intensity), e.range, e.returns, e.what, e.cosine);
    else setPoint(f, record, vec4(0.0), missOf(near), 0u, 0u, 0.0);
}

// rolesOf returns what the echo that came as number at of all is.
uint rolesOf(Chosen c, uint at) {
    return (at == c.strongestAt ? RETURN_STRONGEST : 0u) | (at == c.lastAt ? RETURN_LAST : 0u) | (at == 0u ? RETURN_FIRST : 0u) |
        (c.count == 1u ? RETURN_ONLY : 0u) | (c.count > 1u && at == c.secondAt ? RETURN_SECOND : 0u);
}

// writeReturns writes a firing's points: the strongest first, those without an echo last.
void writeReturns(Firing f, Ray ray, Chosen c, bool near) {
    uint mode = beam.w;
    if (mode <= MODE_FIRST) {
        Seen e = mode == MODE_LAST ? c.last : mode == MODE_FIRST ? c.first : c.strongest;
        e.returns = c.count == 0u ? 0u : mode == MODE_LAST ? RETURN_LAST : mode == MODE_FIRST ? RETURN_FIRST : RETURN_STRONGEST;
        writeReturn(f, ray, 1u, 0u, e, near);
        return;
    }
    uint n = mode - 1u;
    c.strongest.returns = c.count == 0u ? 0u : rolesOf(c, c.strongestAt);
    c.last.returns = c.lastAt == c.strongestAt ? 0u : rolesOf(c, c.lastAt);
    c.first.returns = c.strongestAt == 0u || c.lastAt == 0u ? 0u : rolesOf(c, 0u);
    c.second.returns = c.count < 2u ? 0u : rolesOf(c, c.secondAt);
    Seen other = c.last;
    if (mode == MODE_DUAL && c.last.returns == 0u) other = c.second;
    if (mode == MODE_TRIPLE && c.last.returns == 0u) other = c.first;
    Seen third = c.last.returns == 0u ? NONE : c.first;
    writeReturn(f, ray, n, 0u, c.strongest, near);
    writeReturn(f, ray, n, 1u, other, near);
    if (mode == MODE_TRIPLE) writeReturn(f, ray, n, 2u, third, near);
}

void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= int(shape.x)) return;
    Firing f = firingAt(i);
    Center center = centers[i];
    Rays rays = noRays();
    setRay(rays, 0, rayAt(f, directionOf(f)), 0.0, firedRange(f), secondsOf(f));
    Hits hits = Hits(Reals(center.point.w), Ints(center.surface.x), Ints(center.surface.y));
    Hit hit;
    bool found = hitAt(rays, hits, 0, hit);
    Ray ray = rayOf(rays, 0);
    vec3 normal = hit.normal; // as differs takes it, where something is there
    float cosine = min(-dot(normal, ray.direction), 1.0);
    uint what = label(hit.triangle, hit.mover);
    int all = int(beam.x), next = all;
    lookThrough(f, found ? center.point.w : BEYOND);
    for (int k = 0; k < veilCount; k++) add(Part(veil[k].range, veil[k].s, 0u, ofSlot(veil[k].slot)));
    bool wide = firedRange(f) > 0.0 && (beam.z != 0u || (found && passedShare(hit, cosine).y > 0.0));
    uint sides = 0u;
    for (bool narrow = !wide && center.point.w != NOT_FIRED; narrow; narrow = false) sides = edgeSides(i, center, normal, ray.origin);
    next = wide ? 0 : sides != 0u ? -RIM : all;
    while (next < all) {
        int count = min((next < 0 ? 0 : all) - next, TOGETHER);
        rays = noRays();
        Reals left = Reals(veilLeft / float(all));
        for (int k = 0; k < count; k++) {
            bool fired = next >= 0 || onSide(sides, next + k);
            setRay(rays, k, rayAt(f, subRay(f, next + k)), 0.0, fired ? firedRange(f) : -1.0, secondsOf(f));
        }
        bool more = true;
        for (int pass = 0; more; pass++) {
            hits = traceRays(rays);
            more = false;
            for (int k = 0; k < count; k++) {
                Hit other;
                bool met = hitAt(rays, hits, k, other);
                Ray own = rayOf(rays, k);
                vec4 at = vec4(own.origin + other.t * own.direction, met ? other.t : -1.0);
                uint which = label(other.triangle, other.mover);
                if (next < 0) {
                    wide = wide || (onSide(sides, next + k) && differs(center, normal, own.origin, at, int(labelInstance(which))));
                    continue;
                }
                OF(rays.tmax, k) = -1.0;
                for (; met; met = false) {
                    float angle = min(-dot(other.normal, own.direction), 1.0);
                    vec2 share = passedShare(other, angle);
                    float energy = other.t < f.tmin ? 0.0 : OF(left, k) * share.x * signalOf(other, angle, which);
                    if (energy > 0.0) add(Part(other.t, energy, which, angle));
                    if (share.y > 0.0 && pass < PASSES) {
                        OF(left, k) *= share.y;
                        OF(rays.tmin, k) = other.t + BEHIND;
                        OF(rays.tmax, k) = firedRange(f);
                        more = true;
                    }
                }
            }
        }
        next += count;
        if (next == 0 && !wide) next = all;
    }
    bool near = found && center.point.w < f.tmin;
    float energy = !wide && found && !near ? veilLeft * signalOf(hit, cosine, what) : 0.0;
    if (energy > 0.0) add(Part(center.point.w, energy, what, cosine));
    centers[i].surface.w = wide ? 2 : sides != 0u ? 1 : 0;
    Chosen c = choose(f);
    if (c.count == 0u) {
        Echo alarm = alarmOf(f);
        for (; alarm.seen; alarm.seen = false) {
            c.count = 1u;
            c.strongest = Seen(1u, 0.0, alarm.range, alarm.intensity, 0u, 0.0);
            c.first = c.strongest;
            c.last = c.strongest;
        }
    }
    writeReturns(f, ray, c, near);
}
