package motion_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ride goes along x with a jerk from the given speed, turning and rolling evenly. Its axis is
// a little to the left of its way: it slips.
type ride struct{ speed, jerk, turn, roll, slip float64 } // turn, roll and slip in degrees, turn and roll a second

func (r ride) StateAt(stamp simtime.Stamp) scene.State {
	t := float64(stamp) / 1e9
	s := scene.State{Pose: spatial.FromRPY(mgl64.Vec3{r.speed*t + r.jerk*t*t*t/6, 0, 0}, r.roll*t, 0, r.slip+r.turn*t)}
	s.Twist.Linear, s.Acceleration = mgl64.Vec3{r.speed + r.jerk*t*t/2, 0, 0}, mgl64.Vec3{r.jerk * t, 0, 0}
	s.Twist.Angular, s.AngularAcceleration = mgl64.Vec3{0, 0, mgl64.DegToRad(r.turn) * t}, mgl64.Vec3{0, 0, mgl64.DegToRad(r.turn)}
	return s
}

func (r ride) PoseAt(stamp simtime.Stamp) spatial.Pose { return r.StateAt(stamp).Pose }

// roughRide has figures that grow from firing to firing; the base suite publishes at the last
// one only, so that each limit changes how often.
func roughRide() sensortest.Suite {
	return sensortest.Suite{
		Options: sensortest.Options{
			Ego:        ride{speed: 10, jerk: -3, turn: 20, roll: 10, slip: 3},
			Attributes: map[string]any{"max_acceleration": 0.8, "event_interval": 0.0},
		},
		Changed: map[string]any{
			"max_acceleration": 0.1, "max_jerk": 1.0, "max_braking": 0.01, "max_steering_rate": 0.5, "max_angular_velocity": 1.0,
			"max_angular_acceleration": 1.0, "max_roll": 0.5, "max_slip": 1.0, "every": true,
		},
		Unchanging: map[string]string{
			"min_slip_speed": "no limit of the slip is set", "event_interval": "there is one message",
		},
	}
}

// TestComfortFigures holds them against the derivatives that the ride is made of.
func TestComfortFigures(t *testing.T) {
	h := sensortest.New(t, motion.ComfortDefinition, sensortest.Options{
		Ego: ride{speed: 10, jerk: -3, turn: 20, roll: 10, slip: 4}, Attributes: map[string]any{"every": true},
	})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Comfort](h, "comfort")
	degrees := mgl64.RadToDeg
	assert.InDelta(t, 8.5, m.Velocity.Len(), 1e-9)
	assert.InDelta(t, 3, m.Acceleration.Len(), 1e-9)
	assert.InDelta(t, 3, m.Jerk.Len(), 1e-6)
	assert.InDelta(t, 20, degrees(m.AngularVelocity), 1e-9)
	assert.InDelta(t, 20, degrees(m.AngularAcceleration), 1e-9)
	assert.InDelta(t, 10, degrees(m.Roll), 1e-9)
	assert.InDelta(t, 24, degrees(m.Slip), 1e-9, "the axis has turned by 20 degrees more")
	assert.Negative(t, m.Acceleration[0], "in the vehicle's frame it brakes")
}

// TestComfortTellsBeyondLimits: within the limits nothing is sent, 0 sets none, and slip
// counts above its speed.
func TestComfortTellsBeyondLimits(t *testing.T) {
	for name, c := range map[string]struct {
		ride       ride
		attributes map[string]any
		want       bool
	}{
		"SVL's limits":        {ride{speed: 10, jerk: 20, turn: 50, roll: 20, slip: 30}, nil, false},
		"no limit":            {ride{speed: 10, jerk: 20}, map[string]any{"max_acceleration": 0.0, "max_jerk": 0.0}, false},
		"braking":             {ride{speed: 10, jerk: -4}, map[string]any{"max_braking": 1.0}, true},
		"speeding up":         {ride{speed: 10, jerk: 4}, map[string]any{"max_braking": 1.0}, false},
		"roll to the left":    {ride{speed: 1, roll: -20}, map[string]any{"max_roll": 5.0}, true},
		"slip":                {ride{speed: 10, slip: 9}, map[string]any{"max_slip": 8.0}, true},
		"slip at no speed":    {ride{speed: 10, slip: 9}, map[string]any{"max_slip": 8.0, "min_slip_speed": 11.0}, false},
		"jerk":                {ride{speed: 10, jerk: 3}, map[string]any{"max_jerk": 2.9}, true},
		"jerk within":         {ride{speed: 10, jerk: 3}, map[string]any{"max_jerk": 3.1}, false},
		"rate of steering":    {ride{speed: 10, turn: 60}, map[string]any{"max_steering_rate": 1.0}, true},
		"steering held still": {ride{speed: 10}, map[string]any{"max_steering_rate": 0.001}, false},
	} {
		h := sensortest.New(t, motion.ComfortDefinition, sensortest.Options{Ego: c.ride, Attributes: c.attributes})
		h.Fire(1e9)
		assert.Equal(t, c.want, len(h.Messages["comfort"]) > 0, name)
	}
}

// TestComfortKeepsItsInterval: beyond a limit all the time it tells every so many seconds.
func TestComfortKeepsItsInterval(t *testing.T) {
	h := sensortest.New(t, motion.ComfortDefinition, sensortest.Options{
		Ego: ride{speed: 10, jerk: 5}, Attributes: map[string]any{"max_jerk": 1.0, "event_interval": 0.5},
	})
	for k := int64(1); k <= 20; k++ {
		h.Fire(simtime.Stamp(k * 100_000_000))
	}
	var at []float64
	for _, m := range h.Messages["comfort"] {
		at = append(at, math.Round(float64(m.(*sample.Comfort).Stamp)/1e8)/10)
	}
	require.Equal(t, []float64{0.1, 0.6, 1.1, 1.6}, at)

	told := len(h.Messages["comfort"])
	require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: 1_500_000_000, PeriodNs: 100_000_000}))
	assert.Len(t, h.Messages["comfort"], told+1, "the clock was set back")
}
