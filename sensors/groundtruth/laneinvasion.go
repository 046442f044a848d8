package groundtruth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ErrOwner says that a lane invasion sensor is attached to an actor that is not a vehicle.
var ErrOwner = errors.New("only vehicles cross lane marks")

// LaneInvasion describes sensor.other.lane_invasion, which tells when a vehicle crosses a
// lane mark.
//
// It is a derived sensor: a pure function of the world's snapshots and its lane marks. LaneWatch
// computes it wherever both arrive, in the program that receives them, for instance; this
// sensor has one in the pipeline.
type LaneInvasion struct{}

// LaneInvasionDefinition describes sensor.other.lane_invasion.
var LaneInvasionDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.lane_invasion",
	Number: 64,
	Doc:    "lane invasion: which lane marks the vehicle it is attached to has crossed",
	Tags:   []string{"other", "lane_invasion"},
	Outputs: sensors.OneOutput[sample.LaneInvasion](sensors.OutputSpec{
		Name: "lane_invasion", Doc: "the marks crossed since the frame before; nothing is sent while there are none",
		QoS: flow.ReliableQoS(100),
	}),
	EachFrame: true,
}, func(spec sensors.Spec, _ LaneInvasion) (sensors.Sensor, error) {
	return &laneInvasion{Reading: sensors.Reading[sample.LaneInvasion]{Spec: spec}}, nil
})

type laneInvasion struct {
	sensors.Reading[sample.LaneInvasion]
	owner sensors.Owner
	watch *LaneWatch
	frame uint64          // of the last Tick
	world sample.Snapshot // of the owner alone, reused
}

// SetOwner takes the vehicle; another actor is ErrOwner.
func (s *laneInvasion) SetOwner(owner sensors.Owner) error {
	if ActorKindOf(owner.TypeID) != sample.KindVehicle {
		return fmt.Errorf("%w: %s is attached to a %s", ErrOwner, s.Spec.Name, owner.TypeID)
	}
	s.owner = owner
	return nil
}

// Begin takes the marks and opens the output.
func (s *laneInvasion) Begin(ctx context.Context, env *sensors.Env) error {
	s.watch = NewLaneWatch(env.Owner, laneMarksOf(env.Scene))
	s.world.Actors = []sample.ActorState{{ID: env.Owner, BoxCenter: s.owner.Box.Center, BoxHalf: s.owner.Box.Half}}
	return s.Reading.Begin(ctx, env)
}

// Tick publishes the marks that were crossed since the last, unless nobody listened
// to a frame between.
func (s *laneInvasion) Tick(at sensors.Tick) error {
	if at.Frame != s.frame+1 {
		s.watch.Forget()
	}
	s.frame = at.Frame
	pose, there := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !there {
		s.watch.Forget()
		return nil
	}
	s.world.Header, s.world.DeltaNs = at.Header(spatial.FrameMap, pose), at.PeriodNs
	s.world.Actors[0].Pose = pose
	marks := s.watch.Next(&s.world)
	if len(marks) == 0 {
		return nil
	}
	s.Message.Header = at.Header(s.Spec.FrameID, pose.Compose(s.Spec.Mount))
	s.Message.Actor = s.Env.Owner
	s.Message.Marks = append(s.Message.Marks[:0], marks...)
	s.Publish(at)
	return nil
}

// LaneWatch follows one actor through the snapshots of one run and says which lane marks
// the corners of its box have crossed. Snapshots may come from several goroutines and
// out of order: one that isn't newer than the last counts for nothing. Where some are
// missing, the way across the gap is taken as straight; across a jump of the clock
// there is no way.
type LaneWatch struct {
	actor  uint32
	marks  []sample.LaneMark
	bounds []bounds // of marks

	mu      sync.Mutex
	seen    bool          // guarded by mu: there was a snapshot
	frame   uint64        // guarded by mu: of the last snapshot
	stamp   simtime.Stamp // guarded by mu: of the last snapshot
	placed  bool          // guarded by mu: the actor was in it
	corners [4][2]float64 // guarded by mu: there
}

// bounds is an axis-aligned rectangle.
type bounds struct{ low, high [2]float64 }

func emptyBounds() bounds {
	return bounds{[2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}}
}

func (b *bounds) add(x, y float64) {
	for i, p := range [2]float64{x, y} {
		b.low[i], b.high[i] = math.Min(b.low[i], p), math.Max(b.high[i], p)
	}
}

func (b *bounds) meets(c *bounds) bool {
	return b.low[0] <= c.high[0] && c.low[0] <= b.high[0] && b.low[1] <= c.high[1] && c.low[1] <= b.high[1]
}

// NewLaneWatch returns a watch of an actor. It keeps the marks, of which the height doesn't count.
func NewLaneWatch(actor uint32, marks []sample.LaneMark) *LaneWatch {
	w := &LaneWatch{actor: actor, marks: marks, bounds: make([]bounds, len(marks))}
	for i := range marks {
		w.bounds[i] = emptyBounds()
		for _, p := range marks[i].Points {
			w.bounds[i].add(p[0], p[1])
		}
	}
	return w
}

// standstill is the move, metres, below which a corner has crossed nothing: what
// rounding makes of a parked car.
const standstill = 1e-9

// Next takes a snapshot and returns the marks that were crossed since the one before, each
// once, in the marks' order. It returns nil where nothing was crossed, where the snapshot is
// older or the actor isn't in it, and for the first. The result is the caller's.
func (w *LaneWatch) Next(s *sample.Snapshot) []sample.CrossedMark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen && s.Frame <= w.frame {
		return nil
	}
	before, crossable := w.corners, w.placed && !w.jumped(s)
	w.seen, w.frame, w.stamp, w.placed = true, s.Frame, s.Stamp, false
	for i := range s.Actors {
		if a := &s.Actors[i]; a.ID == w.actor {
			w.placed, w.corners = true, groundCorners(a)
			break
		}
	}
	if !crossable || !w.placed {
		return nil
	}
	return w.between(&before, &w.corners)
}

// Forget makes the next snapshot count as the first: the way to it isn't looked at.
func (w *LaneWatch) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.placed = false
}

// jumped reports whether the clock has jumped between the last snapshot and this one. Then this
// one is earlier, or the frame after that one without being its successor in time. mu must be
// held.
func (w *LaneWatch) jumped(s *sample.Snapshot) bool {
	return s.Stamp < w.stamp || (s.Frame == w.frame+1 && s.Stamp-simtime.Stamp(s.DeltaNs) != w.stamp)
}

// between looks along the corners' ways.
func (w *LaneWatch) between(before, now *[4][2]float64) (crossed []sample.CrossedMark) {
	swept := emptyBounds()
	for i := range now {
		swept.add(before[i][0], before[i][1])
		swept.add(now[i][0], now[i][1])
	}
	for k := range w.marks {
		if m := &w.marks[k]; swept.meets(&w.bounds[k]) && crosses(before, now, m.Points) {
			crossed = append(crossed, sample.CrossedMark{ID: m.ID, Type: m.Type, Color: m.Color})
		}
	}
	return crossed
}

// groundCorners returns the corners of the bottom of an actor's box in the map's plane.
func groundCorners(a *sample.ActorState) (corners [4][2]float64) {
	for i := range corners {
		x, y := a.BoxHalf[0], a.BoxHalf[1]
		if i&1 != 0 {
			x = -x
		}
		if i&2 != 0 {
			y = -y
		}
		p := a.Pose.Apply(a.BoxCenter.Add(mgl64.Vec3{x, y, -a.BoxHalf[2]}))
		corners[i] = [2]float64{p[0], p[1]}
	}
	return corners
}

// crosses reports whether the way of a corner crosses a line.
func crosses(before, now *[4][2]float64, line []mgl64.Vec3) bool {
	for i := range now {
		from, to := before[i], now[i]
		if math.Hypot(to[0]-from[0], to[1]-from[1]) < standstill {
			continue
		}
		for k := 1; k < len(line); k++ {
			if segmentsCross(from, to, [2]float64(line[k-1][:2]), [2]float64(line[k][:2])) {
				return true
			}
		}
	}
	return false
}

// segmentsCross reports whether the way from a to b leads over the segment from c to
// d. The line itself belongs to its left side, so that a way that halts on it is
// counted once.
func segmentsCross(a, b, c, d [2]float64) bool {
	side := func(p, q, r [2]float64) float64 {
		return (q[0]-p[0])*(r[1]-p[1]) - (q[1]-p[1])*(r[0]-p[0])
	}
	if (side(c, d, a) >= 0) == (side(c, d, b) >= 0) {
		return false
	}
	one, other := side(a, b, c), side(a, b, d)
	return (one <= 0 && other >= 0) || (one >= 0 && other <= 0)
}
