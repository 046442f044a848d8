package city

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// egoSpeed is the ego's speed in m/s. Its corners, of 13.8 m radius, then ask for 4 m/s² to the
// side, what a brisk driver does.
const egoSpeed = 7.5

// peopleVariants is how many different people there are.
const peopleVariants = 14

func pedestrianID(variant int) string { return fmt.Sprintf("walker.pedestrian.%04d", variant+1) }

// egoStart is how far the ego's start lies before the middle of the park
// block's north side, metres.
const egoStart = 27.0

// way is a closed way around a block, clockwise: the outline of a rectangle
// with rounded corners, starting in the middle of its north side.
type way struct {
	outline rect
	radius  float64
	z       float64
	reverse bool // counter-clockwise
}

// laneWay is the middle of the lane around a block.
func (b *block) laneWay() way {
	const outwards = kerbLine - laneCentre
	return way{outline: b.kerbs.inset(-outwards), radius: kerbRadius + outwards}
}

// walkWay leads along the pavement around a block, inwards metres from the kerb.
func (b *block) walkWay(inwards float64) way {
	return way{outline: b.kerbs.inset(inwards), radius: kerbRadius - inwards, z: kerbHeight}
}

// length returns the way's length in metres.
func (w way) length() float64 {
	return 2*(w.outline.width()+w.outline.height()) - (8-2*math.Pi)*w.radius
}

// loop returns the motion along the way, start metres from its start at time 0.
func (w way) loop(speed, start float64) (*scene.WaypointLoop, error) {
	c := w.outline.corners()
	points := []mgl64.Vec3{at3(lerp2(c[2], c[3], 0.5), w.z), at3(c[2], w.z), at3(c[1], w.z), at3(c[0], w.z), at3(c[3], w.z)}
	if w.reverse {
		slices.Reverse(points[1:])
	}
	l, err := scene.NewWaypointLoopWith(points, speed, scene.LoopOptions{CornerRadius: w.radius, Start: start})
	if err != nil {
		return nil, fmt.Errorf("lay a loop around a block: %w", err)
	}
	return l, nil
}

// points returns the way as a closed polyline.
func (w way) points() []vec2 { return w.outline.rounded(w.radius, 12) }

// offsetNear returns how far along the way's straight sides the point nearest
// to p lies, to a metre.
func (w way) offsetNear(p vec2) (float64, error) {
	l, err := w.loop(1, 0)
	if err != nil {
		return 0, err
	}
	best, at := math.Inf(1), 0.0
	for s := range int(w.length()) {
		q := l.PoseAt(simtime.Stamp(s) * 1e9).Position
		if d := (vec2{q[0], q[1]}).Sub(p).Len(); d < best {
			best, at = d, float64(s)
		}
	}
	return at, nil
}

// blocksByDistance returns the park's block and then the others, near ones first.
func (t *town) blocksByDistance() []*block {
	out := make([]*block, len(t.blocks))
	for i := range t.blocks {
		out[i] = &t.blocks[i]
	}
	m := t.size / 2
	far := func(b *block) int {
		return (b.column-m)*(b.column-m) + (b.row-m)*(b.row-m)
	}
	slices.SortStableFunc(out, func(a, b *block) int { return far(a) - far(b) })
	return out
}

// share deals n things out to the park block (twice each turn) and the eight
// around it.
func share(n int) [9]int {
	var out [9]int
	order := [10]int{0, 1, 2, 3, 4, 0, 5, 6, 7, 8}
	for i := range n {
		out[order[i%len(order)]]++
	}
	return out
}

// addTraffic places n cars on the loops around the blocks. On each loop all go
// at one speed, evenly spaced; the ego has its place among those around the park.
func (t *town) addTraffic(n int) error {
	blocks := t.blocksByDistance()
	for k, count := range share(n) {
		b := blocks[k]
		rng := stream(t.seed, "traffic", t.index(b))
		speed, places, offset := math.Round(between(rng, 6.5, 8)*4)/4, count, between(rng, 0, 60)
		if k == 0 {
			speed, places, offset = egoSpeed, count+1, -egoStart
		}
		if b.column == t.size/2 && b.row > t.size/2 {
			offset = b.oncoming(t.start)
		}
		way := b.laneWay()
		pitch := way.length() / float64(max(places, 1))
		for i := range count {
			at := offset + pitch*(float64(i)+float64(places-count)+between(rng, -0.15, 0.15))
			m, paint := drawVehicle(rng)
			if k%3 == 2 && i == 1 {
				m, paint = pick(rng, busModel, lorryModel, vanModel), pick(rng, carRed, carBlue, carWhite, carOrange)
			}
			loop, err := way.loop(speed, at)
			if err != nil {
				return err
			}
			t.add(object{typeID: vehicles[m].typeID, motion: loop,
				details: t.vehicleDetails(m, paint, [3]float64{0, 0.8, 6})}, b.nearestTo(t.start))
		}
	}
	return nil
}

// spawnGap is how far apart places to spawn at are, and how far from who is there at first, metres.
const spawnGap = 12.0

// spawnPoints returns places in the lanes around the blocks of a scene that has its actors, the nearest to the ego
// first. None are in a crossing.
func (t *town) spawnPoints(s *scene.Scene) ([]spatial.Pose, error) {
	there := []mgl64.Vec3{s.Ego.Position}
	for _, a := range s.Actors {
		if a.Motion != nil {
			there = append(there, a.Motion.PoseAt(0).Position)
		}
	}
	var list []spatial.Pose
	for i := range t.blocks {
		w := t.blocks[i].laneWay()
		lane, err := w.loop(1, 0)
		if err != nil {
			return nil, err
		}
		for at := 0.0; at < w.length()-spawnGap; at += spawnGap {
			p := lane.PoseAt(simtime.Stamp(at * 1e9))
			forward := p.Orientation.Rotate(mgl64.Vec3{1, 0, 0})
			turns := math.Abs(forward[0]*forward[1]) > 1e-6
			if !turns && !slices.ContainsFunc(there, func(q mgl64.Vec3) bool { return q.Sub(p.Position).Len() < spawnGap }) {
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b spatial.Pose) int {
		return cmp.Compare(a.Position.Sub(s.Ego.Position).Len(), b.Position.Sub(s.Ego.Position).Len())
	})
	return list, nil
}

// oncoming returns where on the loop around the block north of the park a car meets the ego.
// That is far enough ahead to leave the first picture clear.
func (b *block) oncoming(start vec2) float64 {
	w := b.laneWay()
	// The lane's south side runs west from its south-east corner.
	toSouth := w.length()/2 - w.outline.width()/2
	return toSouth + w.outline.x1 - (start[0] + 34)
}

// nearestTo returns the point of a block nearest to p.
func (b *block) nearestTo(p vec2) vec2 {
	return vec2{max(b.kerbs.x0, min(p[0], b.kerbs.x1)), max(b.kerbs.y0, min(p[1], b.kerbs.y1))}
}

// Two lanes of walkers, metres from the kerb: who goes clockwise keeps near it.
const (
	walkOuter = 2.4
	walkInner = 3.2
)

// addWalkers places n people on the pavements around the blocks, gathered near
// where the ego starts. All in one lane go at one speed.
func (t *town) addWalkers(n int) error {
	blocks := t.blocksByDistance()
	for k, count := range share(n) {
		b := blocks[k]
		rng := stream(t.seed, "walkers", t.index(b))
		for lane := range 2 {
			w := b.walkWay([2]float64{walkOuter, walkInner}[lane])
			w.reverse = lane == 1
			speed := math.Round(between(rng, 1.1, 1.5)*20) / 20
			middle, err := w.offsetNear(t.start.Add(vec2{22, 0}))
			if err != nil {
				return err
			}
			here := (count + 1 - lane) / 2
			for i := range here {
				at := middle + 13*(float64(i)-float64(here-1)/2) + between(rng, -4, 4)
				if err := t.addWalker(w, speed, at, rng); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stride is how far a walker comes in a double step, metres.
const stride = 1.35

// addWalker places somebody who walks along w.
func (t *town) addWalker(w way, speed, at float64, rng *rand.Rand) error {
	loop, err := w.loop(speed, at)
	if err != nil {
		return err
	}
	variant := rng.IntN(peopleVariants)
	g := gait{strideHz: speed / stride, swing: usualSwing, phase: between(rng, 0, 2*math.Pi)}
	details := levels([]float64{0, 1.1, 6}, func(level int) *model {
		return drawOutfit(stream(t.seed, "outfit", variant)).walker(g, level)
	})
	t.add(object{typeID: pedestrianID(variant), motion: loop, details: details}, vec2{loop.PoseAt(0).Position[0], loop.PoseAt(0).Position[1]})
	return nil
}

// The phases of a crossing's lights, nanoseconds. Opposite arms show the same; while
// one pair of arms has green, yellow and the pause after it, the other has red.
const (
	greenNs  = 12_000_000_000
	yellowNs = 3_000_000_000
	allRedNs = 1_000_000_000
	turnNs   = greenNs + yellowNs + allRedNs // of one pair of arms
)

// signalHeads are where a traffic light has its two heads for vehicles, in its frame:
// on the pole, and on an arm over the lane.
var signalHeads = [...]vec{{0.12, 0, 2.6}, {0.1, -4.1, 5.05}}

// A head's housing, in the head's frame; the lamps look along +x.
var (
	housingMin = vec{0, -0.17, 0}
	housingMax = vec{0.16, 0.17, 1.06}
)

// light is a traffic light that was placed; its actor has a model if it was bought.
type light struct {
	object   *object
	first    bool  // its arms have green first
	offsetNs int64 // when the crossing's cycle begins
}

// signalOffset draws when a crossing's cycle begins. It is before time 0. At time 0 the first
// arms have had green for some seconds and keep it for one at least.
func (t *town) signalOffset(i, j int) int64 {
	return -stream(t.seed, "phase", t.gridIndex(i, j)).Int64N(greenNs - allRedNs)
}

// signals returns the lights of the actors that are there, one a head.
func (t *town) signals() []scene.TrafficLight {
	var out []scene.TrafficLight
	for _, l := range t.lights {
		if l.object.model == nil {
			continue
		}
		offset := l.offsetNs
		if !l.first {
			offset += turnNs
		}
		for _, head := range signalHeads {
			center := spatial.Pose{Position: head.Add(housingMin.Add(housingMax).Mul(0.5)), Orientation: mgl64.QuatIdent()}
			out = append(out, scene.TrafficLight{
				ID: uint32(len(out) + 1), Actor: l.object.id, Name: l.object.name,
				Pose: l.object.pose.Compose(center), Size: housingMax.Sub(housingMin),
				Green: greenNs, Yellow: yellowNs, Red: 2*turnNs - greenNs - yellowNs, OffsetNs: offset,
			})
		}
	}
	return out
}

// addTrafficControl places lights or signs at the crossing of streets i and j.
func (t *town) addTrafficControl(i, j int) {
	at := vec2{t.xs[i], t.ys[j]}
	rng := stream(t.seed, "control", t.gridIndex(i, j))
	lights := t.besidePark(i, j) || chance(rng, 0.4)
	// The ego arrives at the park's corners from these sides: it has green.
	eastWest := (i+j)%2 == 0
	for arm := range 4 {
		// Traffic on an arm comes in along -d and keeps to its right.
		d, r := armAxes(arm)
		if !t.hasArm(i, j, arm) {
			continue
		}
		yaw := float64(arm) * math.Pi / 2
		place := func(out float64) vec {
			return at3(at.Add(d.Mul(out)).Add(r.Mul(furnitureLine)), kerbHeight)
		}
		if lights {
			o := t.put(lightProp, place(stopLine-0.6), yaw)
			t.lights = append(t.lights, light{object: o, first: (arm%2 == 0) == eastWest, offsetNs: t.signalOffset(i, j)})
			continue
		}
		sign := signProp(prioritySign)
		if (arm%2 == 0) != eastWest {
			sign = signProp(pick(rng, stopSign, yieldSign))
		}
		t.put(sign, place(stopLine), yaw)
		t.put(signProp(crossingSign), place(crosswalkNear-0.3), yaw)
	}
}

// armAxes returns the direction from a crossing along an arm, and to the left of that.
func armAxes(arm int) (along, left vec2) {
	sn, co := math.Sincos(float64(arm) * math.Pi / 2)
	return vec2{math.Round(co), math.Round(sn)}, vec2{-math.Round(sn), math.Round(co)}
}

// besidePark reports the four crossings at the park's corners.
func (t *town) besidePark(i, j int) bool {
	m := t.size / 2
	return (i == m || i == m+1) && (j == m || j == m+1)
}

// hasArm reports whether a street leaves crossing (i, j) towards arm: 0 east,
// 1 north, 2 west, 3 south.
func (t *town) hasArm(i, j, arm int) bool {
	switch arm {
	case 0:
		return i < t.size
	case 1:
		return j < t.size
	case 2:
		return i > 0
	}
	return j > 0
}
