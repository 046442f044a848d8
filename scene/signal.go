package scene

import (
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// signalLamps are those that are on in a state.
var signalLamps = [...]world.Lights{world.SignalRed: world.LightRed, world.SignalYellow: world.LightYellow, world.SignalGreen: world.LightGreen, world.SignalOff: 0}

// TypeTrafficLight is the type id of actors that are traffic lights.
const TypeTrafficLight = "traffic.traffic_light"

// TrafficLight is one traffic light: where its lamps are and what they show when. Those of one
// actor show the same.
type TrafficLight struct {
	// ID is unique among the scene's lights, from 1; Actor is the actor whose part
	// the lamps are, 0 for none.
	ID, Actor uint32
	// Name is what others call the light; lights of one actor may share it. (optional)
	Name string
	// Pose is the centre of the lamps in the map frame, x pointing to the traffic that they are
	// for. Size is the full extents along its axes, metres.
	Pose spatial.Pose
	Size mgl64.Vec3
	// Green, Yellow and Red are how long each is shown, in this order, nanoseconds;
	// the cycle begins with green at OffsetNs. All zero: off. That is before anybody sets the
	// light, see History.SetSignal.
	Green, Yellow, Red, OffsetNs int64
}

// StateAt returns what the light shows by itself at a simulation time, and for how long it has
// shown it, nanoseconds. It is a pure function.
func (l *TrafficLight) StateAt(stamp simtime.Stamp) (state world.SignalState, elapsedNs int64) {
	cycle := l.Green + l.Yellow + l.Red
	if cycle <= 0 {
		return world.SignalOff, 0
	}
	into := (int64(stamp) - l.OffsetNs) % cycle
	if into < 0 {
		into += cycle
	}
	switch {
	case into < l.Green:
		return world.SignalGreen, into
	case into < l.Green+l.Yellow:
		return world.SignalYellow, into - l.Green
	default:
		return world.SignalRed, into - l.Green - l.Yellow
	}
}

// SignalNames returns the names by which traffic lights are set, one for each actor.
func (s *Scene) SignalNames() (names []string) {
	l := newLights(s)
	for i := range s.Signals {
		if name := s.Signals[i].Name; name != "" && l.first[i] == i && l.byName[name] == i {
			names = append(names, name)
		}
	}
	return names
}

// addLight makes a traffic light of an actor that has lamps of one. It looks where its lamps
// look. Where they look to all sides that is along the actor's x axis.
func (s *Scene) addLight(a *Actor, name string) bool {
	var faces mgl64.Vec3 // the sum of the normals by area
	points := s.lampsOf(a)
	for i := 0; i < len(points); i += 3 {
		faces = faces.Add(points[i+1].Sub(points[i]).Cross(points[i+2].Sub(points[i])))
	}
	if len(points) == 0 {
		return false
	}
	look := spatial.Identity()
	if faces.Len() > 1e-9 {
		pitch, yaw := math.Atan2(-faces[2], math.Hypot(faces[0], faces[1])), math.Atan2(faces[1], faces[0])
		look = spatial.FromRPY(mgl64.Vec3{}, 0, mgl64.RadToDeg(pitch), mgl64.RadToDeg(yaw))
	}
	box := noBounds()
	for _, x := range points {
		box.add(look.Inverse().Apply(x))
	}
	look.Position = look.Apply(box.low.Add(box.high).Mul(0.5))
	for i := range s.Signals {
		if s.Signals[i].Name == name {
			name = a.Name // which no other actor has
		}
	}
	light := TrafficLight{ID: 1, Actor: a.ID, Name: name, Pose: a.Pose.Compose(look), Size: box.high.Sub(box.low)}
	if n := len(s.Signals); n > 0 {
		light.ID = s.Signals[n-1].ID + 1
	}
	s.Signals = append(s.Signals, light)
	return true
}

// lampsOf returns the corners of the triangles, three each, that are lamps of a traffic light. They
// are in the actor's frame, at time 0.
func (s *Scene) lampsOf(a *Actor) (points []mgl64.Vec3) {
	for i := range a.Parts {
		mesh, at := &s.Meshes[a.Parts[i].Mesh], a.Parts[i].At(0)
		for _, g := range mesh.Groups {
			if s.Materials[g.Material].Lamps&(world.LightRed|world.LightYellow|world.LightGreen) == 0 {
				continue
			}
			for _, k := range mesh.Indices[g.First : g.First+g.Count] {
				v := mesh.Positions[k]
				points = append(points, mgl64.TransformCoordinate(wide(v), at))
			}
		}
	}
	return points
}

// lights is what a History knows of its scene's traffic lights. What one shows is kept at the
// first light of its actor.
type lights struct {
	first  []int // by light
	byID   map[uint32]int
	byName map[string]int
	shown  [][]shown // guarded by the history's mu, by light: oldest first
}

// shown is what a light was set to, from a tick on.
type shown struct {
	from  simtime.Stamp // unseen before there is a tick
	since simtime.Stamp // it has shown the state
	state world.SignalState
}

// unseen is later than any tick.
const unseen simtime.Stamp = math.MaxInt64

func newLights(s *Scene) lights {
	l := lights{byID: map[uint32]int{}, byName: map[string]int{}, shown: make([][]shown, len(s.Signals))}
	actors := map[uint32]int{}
	for i := range s.Signals {
		light, first := &s.Signals[i], i
		if known, ok := actors[light.Actor]; ok && light.Actor != 0 {
			first = known
		}
		actors[light.Actor], l.byID[light.ID], l.first = first, first, append(l.first, first)
		if _, taken := l.byName[light.Name]; !taken && light.Name != "" {
			l.byName[light.Name] = first
		}
	}
	return l
}

// Light returns the place among the scene's Signals of a light of an id, or of a name where id is
// 0. It is that of the first light of its actor. Any goroutine may ask.
func (h *History) Light(id uint32, name string) (light int, ok bool) {
	if id != 0 {
		light, ok = h.lights.byID[id]
	} else {
		light, ok = h.lights.byName[name]
	}
	return light, ok
}

// SetSignal has a light of the scene's Signals show a state from the next tick on, until it is set
// again. So do the others of its actor. Cameras see its lamps, where it has an actor. Frame loop only.
func (h *History) SetSignal(light int, state world.SignalState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := &h.lights.shown[h.lights.first[light]]
	if n := len(*list); n > 0 && (*list)[n-1].from == unseen {
		*list = (*list)[:n-1]
	}
	*list = append(*list, shown{from: unseen, state: state})
}

// Signal returns what a light of the scene's Signals showed at a time, and for how long it had,
// nanoseconds. That is what it was set to, or else what it shows by itself. Any goroutine may ask.
func (h *History) Signal(light int, stamp simtime.Stamp) (state world.SignalState, elapsedNs int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.signalLocked(light, stamp)
}

func (h *History) signalLocked(light int, stamp simtime.Stamp) (state world.SignalState, elapsedNs int64) {
	list := h.lights.shown[h.lights.first[light]]
	for k := len(list) - 1; k >= 0; k-- {
		if s := &list[k]; s.from <= stamp {
			return s.state, int64(stamp - s.since)
		}
	}
	return h.scene.Signals[light].StateAt(stamp)
}

// recordSignalsLocked has lights show what they were set to since the tick before. Where the ticks
// begin again, what they showed holds from there. Mu must be held.
func (h *History) recordSignalsLocked(stamp simtime.Stamp, again bool) {
	oldest := h.timeLocked(0)
	for light, list := range h.lights.shown {
		for k := range list {
			s := &list[k]
			switch {
			case s.from == unseen && k > 0 && list[k-1].state == s.state:
				list = list[:k] // nothing has changed
			case s.from == unseen:
				before, elapsed := h.signalLocked(light, stamp)
				if s.from, s.since = stamp, stamp; before == s.state {
					s.since -= simtime.Stamp(elapsed)
				}
			case again:
				s.from, s.since = stamp, stamp
			}
		}
		for len(list) > 1 && list[1].from <= oldest {
			list = slices.Delete(list, 0, 1)
		}
		h.lights.shown[light] = list
	}
}
