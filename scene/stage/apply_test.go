package stage_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// TestTheWayFollowsACircle holds the way between frames to a circle, which it is to leave by
// less than a millimetre at 0.1 s.
func TestTheWayFollowsACircle(t *testing.T) {
	const radius, speed = 20.0, 10.0
	on := func(seconds float64) world.State {
		a := speed / radius * seconds
		s := at(radius*math.Sin(a), radius*(1-math.Cos(a)), a*180/math.Pi)
		s.Velocity, s.VelocityKnown = mgl64.Vec3{speed * math.Cos(a), speed * math.Sin(a), 0}, true
		return s
	}
	p := plaza(t, 1)
	ids, _ := p.step(t, world.Frame{
		Until: 100_000_000, Spawn: []world.Spawn{{Model: "vehicle.sedan", Reference: world.BoxCentre, State: on(0)}},
	})
	for k := 2; k < 12; k++ {
		p.step(t, world.Frame{
			Until:  simtime.Stamp(k * 100_000_000),
			Actors: []world.Actor{{Ref: world.Ref{Handle: ids[0]}, State: on(float64(k-1) / 10)}},
		})
		if k == 2 {
			continue
		}
		for ms := 10; ms <= 100; ms += 10 {
			state, _ := p.history.State(ids[0], simtime.Stamp(k*100_000_000-100_000_000+ms*1_000_000))
			want := on(float64(k-2)/10 + float64(ms)/1000)
			assert.InDelta(t, 0, state.Pose.Position.Sub(want.Pose.Position).Len(), 1e-3)
			assert.InDelta(t, 0, state.Twist.Linear.Sub(want.Velocity).Len(), 0.02)
			assert.InDelta(t, speed*speed/radius, state.Acceleration.Len(), 0.1)
		}
	}
}

// TestWhoJumpsIsNowhereBetween compares the places right before and at the step's end.
func TestWhoJumpsIsNowhereBetween(t *testing.T) {
	p := plaza(t, 1)
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(1, 0, 0))}})
	far := at(90, 0, 0)
	far.Jump = true
	p.step(t, world.Frame{Until: 2 * tick, Actors: []world.Actor{moved("a", far)}})
	for stamp, x := range map[simtime.Stamp]float64{tick: 1, 19_999_999: 1, 2 * tick: 90} {
		pose, there := p.history.Pose(ids[0], stamp)
		assert.True(t, there)
		assert.InDelta(t, x, pose.Position[0], 1e-9, "at %d", stamp)
	}
	state, _ := p.history.State(ids[0], 2*tick)
	assert.Zero(t, state.Twist.Linear.Len())
}

// TestLightsStayOn: a frame's lights are on until another frame says otherwise.
func TestLightsStayOn(t *testing.T) {
	for _, light := range []world.Lights{world.LightHead, world.LightBrake, world.LightLeft, world.LightRight, world.LightReverse} {
		p := plaza(t, 1)
		s := at(1, 0, 0)
		s.Lights = light
		ids, _ := p.step(t, world.Frame{
			Until: tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}, Actors: []world.Actor{moved("a", s)},
		})
		p.step(t, world.Frame{Until: 2 * tick})
		for _, stamp := range []simtime.Stamp{tick, 2 * tick} {
			state, _ := p.history.State(ids[0], stamp)
			assert.Equal(t, light, state.Lights)
		}
	}
}

// TestActorsLeaveAtTheEnd of a step that says so, as they went until then. Others come there.
func TestActorsLeaveAtTheEnd(t *testing.T) {
	p := plaza(t, 2)
	ids, _ := p.step(t, world.Frame{Until: 100_000_000, Spawn: []world.Spawn{sedan("a", going(0, 0, 0, 10))}, Actors: []world.Actor{moved("a", going(1, 0, 0, 10))}})
	late, _ := p.step(t, world.Frame{Until: 200_000_000, AtEnd: true, Complete: true, Spawn: []world.Spawn{sedan("b", at(5, 0, 0))}})
	for stamp, want := range map[simtime.Stamp][2]bool{100_000_000: {true, false}, 190_000_000: {true, false}, 200_000_000: {false, true}} {
		assert.Equal(t, want, [2]bool{p.history.Present(ids[0], stamp), p.history.Present(late[0], stamp)}, "at %d", stamp)
	}
	pose, _ := p.history.Pose(ids[0], 150_000_000)
	assert.InDelta(t, 1.5, pose.Position[0], 1e-9)
}

// TestActorsStandOnTheGround if their source knows no heights, until it tells one.
func TestActorsStandOnTheGround(t *testing.T) {
	p := plaza(t, 1)
	car := sedan("a", at(0, 0, 0))
	car.State.Pose.Position[2], car.OnGround = 30, true
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{car}})
	pose, _ := p.history.Pose(ids[0], tick)
	assert.InDelta(t, 0, pose.Position[2], 1e-6, "the floor is there")
	known := at(0, 0, 0)
	known.Pose.Position[2], known.HeightKnown = 2, true
	p.step(t, world.Frame{Until: 2 * tick, Actors: []world.Actor{moved("a", known)}})
	pose, _ = p.history.Pose(ids[0], 2*tick)
	assert.InDelta(t, 2, pose.Position[2], 1, "its origin is near its underside")
	assert.Greater(t, pose.Position[2], 1.0)
}
