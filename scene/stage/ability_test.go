package stage_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// going is a state with a velocity along its heading.
func going(x, y, yaw, speed float64) world.State {
	s := at(x, y, yaw)
	s.Velocity, s.VelocityKnown = s.Pose.Rotate(mgl64.Vec3{speed, 0, 0}), true
	return s
}

// TestJumps: what such an actor can do is a way, and what it can't is a jump. Half-way through the step
// it tells of the one that it is at its end's place already.
func TestJumps(t *testing.T) {
	for _, c := range []struct {
		name          string
		model         string
		top           float64
		before, after world.State
		step          simtime.Stamp // ms
		jumps         bool
	}{
		{"at its top speed", "vehicle.tram", 20, going(0, 0, 0, 20), going(2, 0, 0, 20), 100, false},
		{"by rounding over it", "vehicle.tram", 20, going(0, 0, 0, 20), going(2.004, 0, 0, 20), 100, false},
		{"a teleport", "vehicle.sedan", 50, going(0, 0, 0, 10), going(30, 0, 0, 10), 100, true},
		{"a teleport backwards", "vehicle.sedan", 50, going(0, 0, 0, 10), going(-30, 0, 0, 10), 100, true},
		{"a lane in 0.1 s", "vehicle.sedan", 50, going(0, 0, 0, 14), going(1.4, 3.2, 0, 14), 100, true},
		{"a lane in 1 s", "vehicle.sedan", 50, going(0, 0, 0, 14), going(14, 3.2, 0, 14), 1000, false},
		{"a bend", "vehicle.bus", 25, going(0, 0, 0, 10), going(10/(math.Pi/2), 10/(math.Pi/2), 90, 10), 1000, false},
		{"rounded to 10 cm", "vehicle.sedan", 0, at(0, 0, 0), at(0.2, 0.1, 0), 10, false},
		{"a run", "walker.pedestrian.0001", 0, at(0, 0, 0), at(0, 0.8, 0), 100, false},
		{"a walker's leap", "walker.pedestrian.0001", 0, at(0, 0, 0), at(0, 3, 0), 100, true},
		{"a fast runner's leap", "walker.pedestrian.0001", 40, at(0, 0, 0), at(0, 3, 0), 100, false},
		{"a box that flies", "box", 0, at(0, 0, 0), at(0, 30, 0), 100, false},
		{"up a slope", "vehicle.sedan", 0, going(0, 0, 0, 20), func() world.State {
			s := going(2, 0, 0, 20)
			s.Pose.Position[2] = 0.5
			return s
		}(), 100, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plaza(t, 2)
			end := c.step * 1_000_000
			ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{{Name: "a", Model: c.model, TopSpeed: c.top, State: c.before}}})
			id := ids[0]
			p.step(t, world.Frame{Until: tick + end, Actors: []world.Actor{moved("a", c.after)}})
			half, _ := p.history.State(id, tick+end/2)
			last, _ := p.history.State(id, tick+end)
			assert.Equal(t, c.jumps, half.Pose.Position.Sub(last.Pose.Position).Len() < 1e-9, "%v, then %v", half.Pose.Position, last.Pose.Position)
			if c.before.VelocityKnown {
				assert.InDelta(t, c.after.Velocity.Len(), last.Twist.Linear.Len(), 1e-9, "a jump has no velocity of its own")
			}
		})
	}
}

// TestWhoGoesSidewaysGoesOn: a file may tell of who always goes across its heading.
func TestWhoGoesSidewaysGoesOn(t *testing.T) {
	p := plaza(t, 2)
	f := world.Frame{Until: 100_000_000, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}}
	for k := range 4 {
		f.Actors = []world.Actor{moved("a", at(0, float64(k+1), 0))}
		p.step(t, f)
		half, _ := p.history.State(p.history.Coming(nil)[0].ID, p.now-50_000_000)
		assert.InDelta(t, float64(k)+0.5, half.Pose.Position[1], 1e-6)
		f.Until, f.Spawn = f.Until+100_000_000, nil
	}
}

// TestTheEgoJumpsToo: a lane that is changed within 0.1 s doesn't accelerate.
func TestTheEgoJumpsToo(t *testing.T) {
	p := plaza(t, 1)
	for k, y := range []float64{0, 0, 3.2, 3.2} {
		there := going(1.4*float64(k), y, 0, 14)
		p.step(t, world.Frame{Until: simtime.Stamp(k+1) * 100_000_000, Ego: &there})
		assert.InDelta(t, 14, p.Ego(p.now).Velocity.Len(), 1e-9)
		for _, share := range []simtime.Stamp{50_000_000, 100_000_000} {
			state, _ := p.history.State(scene.EgoID, p.now-100_000_000+share)
			assert.Less(t, math.Abs(state.Twist.Linear[1]), 1e-6, "step %d", k)
			assert.Less(t, math.Abs(state.Acceleration[1]), 1e-6, "step %d", k)
		}
	}
}

// TestVelocitiesAreOfTheReference: an actor goes round the origin at 1 rad/s. Its middle has the speed of its
// own radius, by whichever point it is told.
func TestVelocitiesAreOfTheReference(t *testing.T) {
	const radius, length = 10.0, 4.0
	for _, reference := range []world.Reference{world.GroundCentre, world.RearAxle, world.FrontBumper} {
		for _, told := range []bool{false, true} {
			p := plaza(t, 1)
			state := func(turn float64) world.State {
				s := at(radius*math.Sin(turn), -radius*math.Cos(turn), mgl64.RadToDeg(turn))
				s.Pose.Position = s.Pose.Apply(reference.InBox(mgl64.Vec3{length, 2, 1.5})) // of a middle on the circle
				spin := mgl64.Vec3{0, 0, 1}
				s.Velocity, s.VelocityKnown = spin.Cross(s.Pose.Position), true
				if told {
					s.AngularVelocity, s.AngularVelocityKnown = spin, true
				}
				return s
			}
			f := world.Frame{Until: 50_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", Size: mgl64.Vec3{length, 2, 1.5}, Reference: reference, State: state(0)}}}
			for k := 1; k <= 4; k++ {
				f.Actors = []world.Actor{moved("a", state(0.05*float64(k)))}
				p.step(t, f)
				s, _ := p.history.State(p.history.Coming(nil)[0].ID, f.Until)
				want := mgl64.Vec3{0, 0, 1}.Cross(s.Pose.Position)
				assert.InDelta(t, 0, s.Twist.Linear.Sub(want).Len(), 1e-9, "%v, told %v", reference, told)
				f.Until, f.Spawn = f.Until+50_000_000, nil
			}
		}
	}
}
