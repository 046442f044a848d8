package scene_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// circle goes round on a slope, to the left for a positive radius, backwards for a
// negative speed, with its speed growing.
type circle struct{ radius, speed, growth float64 }

func (c circle) PoseAt(tNs int64) spatial.Pose {
	s := float64(tNs) * 1e-9
	angle := (c.speed*s + c.growth*s*s/2) / c.radius
	flat := spatial.Pose{
		Position:    mgl64.Vec3{c.radius * math.Sin(angle), c.radius * (1 - math.Cos(angle)), 0},
		Orientation: mgl64.QuatRotate(angle, mgl64.Vec3{0, 0, 1}),
	}
	return spatial.FromRPY(mgl64.Vec3{50, 20, 3}, 8, -5, 33).Compose(flat)
}

func TestControlsOnACircle(t *testing.T) {
	v := scene.Vehicle{Wheelbase: 2.5, MaxAcceleration: 3, MaxDeceleration: 6}
	for _, c := range []struct {
		motion                    circle
		steering, throttle, brake float64
		gear                      int8
	}{
		{circle{20, 8, 0}, math.Atan(2.5 / 20), 0, 0, 1},
		{circle{-15, 8, 0}, -math.Atan(2.5 / 15), 0, 0, 1},
		{circle{20, -4, 0}, math.Atan(2.5 / 20), 0, 0, -1},
		{circle{20, 8, 1.5}, math.Atan(2.5 / 20), 0.5, 0, 1},
		{circle{20, 8, -3}, math.Atan(2.5 / 20), 0, 0.5, 1},
		{circle{20, -8, -1.5}, math.Atan(2.5 / 20), 0.5, 0, -1},
		{circle{20, -8, 3}, math.Atan(2.5 / 20), 0, 0.5, -1},
		{circle{20, 8, -60}, math.Atan(2.5 / 20), 0, 1, 1},
		{circle{2, 8, 0}, 0.6, 0, 0, 1}, // tighter than the wheels turn
		{circle{1e9, 0, 0}, 0, 0, 0, 0},
	} {
		got := v.ControlsOf(scene.StateOf(c.motion, 0))
		assert.InDelta(t, c.motion.speed, got.Speed, 1e-4, "%+v", c.motion)
		assert.InDelta(t, c.motion.growth, got.Acceleration, 1e-4)
		assert.InDelta(t, c.steering, got.Steering, 1e-6, "%+v", c.motion)
		assert.InDelta(t, got.Steering/0.6, got.SteeringShare, 1e-9)
		assert.InDelta(t, c.throttle, got.Throttle, 1e-4, "%+v", c.motion)
		assert.InDelta(t, c.brake, got.Brake, 1e-4, "%+v", c.motion)
		assert.Equal(t, c.gear, got.Gear, "%+v", c.motion)
		assert.Equal(t, c.gear < 0, got.Reverse)
	}
	start := scene.State{Pose: spatial.Identity(), Acceleration: mgl64.Vec3{-2, 0, 0}}
	got := scene.Vehicle{}.ControlsOf(start)
	assert.Equal(t, scene.Controls{Acceleration: -2, Throttle: 0.5, Gear: -1, Reverse: true}, got, "it sets off backwards")
}

// A Driven says what it was told, also where its motion says nothing: at a standstill.
func TestControlsOfADriven(t *testing.T) {
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{MaxAcceleration: 4, MaxDeceleration: 8})
	require.NoError(t, err)
	h := scene.NewHistory(scene.New("empty"), car, 0)
	at := int64(0)
	h.Record(at)
	drive := func(c scene.Command, ticks int) scene.Controls {
		require.NoError(t, car.SetCommand(c))
		for range ticks {
			at += 10e6
			h.Record(at)
		}
		got, ok := h.Controls(scene.EgoID, scene.Vehicle{Wheelbase: 99}, at)
		require.True(t, ok)
		return got
	}
	got := drive(scene.Command{Steering: 0.3}, 1)
	assert.Equal(t, [4]float64{0, 0.3, 0, 0}, [4]float64{got.Speed, got.Steering, got.Throttle, got.Brake})
	assert.Zero(t, got.Gear)
	got = drive(scene.Command{Steering: 9, Acceleration: 2}, 20)
	assert.InDelta(t, 0.4, got.Speed, 1e-9)
	assert.InDeltaSlice(t, []float64{0.6, 0.5, 0}, []float64{got.Steering, got.Throttle, got.Brake}, 1e-9)
	got = drive(scene.Command{Acceleration: -4}, 5)
	assert.InDeltaSlice(t, []float64{0, 0, 0.5}, []float64{got.Steering, got.Throttle, got.Brake}, 1e-9)
	got = drive(scene.Command{BySpeed: true, Speed: -2}, 30)
	assert.True(t, got.Reverse)
	assert.InDelta(t, 1, got.Throttle, 1e-9)

	// Derived from its state, it is the same.
	vehicle := scene.Vehicle{MaxAcceleration: 4, MaxDeceleration: 8}
	drive(scene.Command{Steering: -0.2, BySpeed: true, Speed: 5}, 40)
	own, state := car.Controls(at), car.StateAt(at)
	derived := vehicle.ControlsOf(state)
	assert.InDelta(t, own.Steering, derived.Steering, 1e-9)
	assert.InDelta(t, own.Throttle, derived.Throttle, 1e-9)
	_, ok := h.Controls(42, vehicle, at)
	assert.False(t, ok)
}
