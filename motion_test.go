package raybridge_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// TestForceOfAToldEgo: what the IMU feels adds up to what odometry says. That holds at any rate and length
// of step, with an integrator's velocities and by poses alone. A body that pulls away at 2 m/s² feels that
// and no more.
func TestForceOfAToldEgo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate  int
		steps []int // milliseconds, again and again
		poses bool
	}{
		"fast IMU":        {1000, []int{100}, false},
		"equal rates":     {10, []int{100}, false},
		"slow IMU":        {10, []int{20}, false},
		"300 Hz":          {300, []int{100}, false},
		"uneven steps":    {100, []int{20, 100, 50, 10, 70}, false},
		"poses, fast IMU": {1000, []int{100}, true},
		"poses, slow IMU": {10, []int{20}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, fmt.Sprintf(`
sensors:
  - {id: sensor.other.imu, name: imu, rate: %d}
  - {id: sensor.other.odometry, name: odom, rate: 100}`, c.rate), raybridge.Config{})
			sum, most, least, period := 0.0, 0.0, 0.0, 1/float64(c.rate)
			listen(t, s, "imu", func(m *sample.Imu) {
				f := m.LinearAcceleration[0]
				most, least = max(most, f), min(least, f)
				if m.Stamp > 0 {
					sum += f * period
				}
			})
			speed := 0.0
			listen(t, s, "odom", func(m *sample.Odometry) { speed = m.Twist.Linear[0] })
			x, v, now := 0.0, 0.0, 0
			for k := 0; now < 5000; k++ {
				gap := c.steps[k%len(c.steps)]
				dt := float64(gap) * 1e-3
				now += gap
				v += 2 * dt
				x += v * dt
				ego := world.State{Pose: spatial.FromRPY(mgl64.Vec3{x, 0, 0}, 0, 0, 0), Velocity: mgl64.Vec3{v, 0, 0}, VelocityKnown: !c.poses}
				_, err := s.StepTo(t.Context(), &world.Frame{Until: simtime.Stamp(now) * 1e6, Ego: &ego})
				require.NoError(t, err)
			}
			assert.InEpsilon(t, v, speed, 0.01, "m/s by odometry")
			assert.InEpsilon(t, speed, sum, 0.01, "m/s by the IMU")
			assert.InDelta(t, 2, most, 1e-6, "m/s²")
			assert.InDelta(t, 0, least, 1e-6, "m/s²")
		})
	}
}

// TestForceAheadOfTheAxle: an IMU 2 m ahead of the axle feels how the body turns ever faster, though
// only velocities are told, or poses alone.
func TestForceAheadOfTheAxle(t *testing.T) {
	t.Parallel()
	const radius, faster, ahead = 15.0, 1.5, 2.0
	for _, poses := range []bool{false, true} {
		s := opened(t, `sensors: [{id: sensor.other.imu, name: imu, rate: 100, pose: {x: 2, z: 1}}]`, raybridge.Config{})
		listen(t, s, "imu", func(m *sample.Imu) {
			at := float64(m.Stamp) * 1e-9
			if poses {
				at -= 0.01 // half a step late
			}
			if at < 0.1 {
				return
			}
			v := faster * at
			omega := v / radius
			assert.InDelta(t, faster-omega*omega*ahead, m.LinearAcceleration[0], 0.03, "ahead at %v s, poses %v", at, poses)
			assert.InDelta(t, v*v/radius+faster/radius*ahead, m.LinearAcceleration[1], 0.05, "to the left at %v s, poses %v", at, poses)
			assert.InDelta(t, omega, m.AngularVelocity[2], 0.005)
		})
		for k := 1; k <= 200; k++ {
			at := float64(k) * 0.02
			v, yaw := faster*at, faster*at*at/2/radius
			ego := world.State{
				Pose:     spatial.FromRPY(mgl64.Vec3{radius * math.Sin(yaw), radius * (1 - math.Cos(yaw)), 0}, 0, 0, mgl64.RadToDeg(yaw)),
				Velocity: mgl64.Vec3{v * math.Cos(yaw), v * math.Sin(yaw), 0}, VelocityKnown: !poses,
			}
			_, err := s.StepTo(t.Context(), &world.Frame{Until: simtime.Stamp(k) * 20e6, Ego: &ego})
			require.NoError(t, err)
		}
	}
}

// TestForceOfToldActors: an actor that pulls away at 2 m/s² by Euler's integrator has that in snapshots, and
// the speed that it adds up to.
func TestForceOfToldActors(t *testing.T) {
	t.Parallel()
	for _, poses := range []bool{false, true} {
		s := opened(t, `sensors: [{id: sensor.other.snapshot, name: world}]`, raybridge.Config{Scene: scenetest.Plaza(1)})
		sum, speed := 0.0, 0.0
		listen(t, s, "world", func(m *sample.Snapshot) {
			for _, a := range m.Actors {
				if a.TypeID != "vehicle.sedan" {
					continue
				}
				if m.Stamp > 100e6 { // it stands up to there
					assert.InDelta(t, 2, a.Acceleration[0], 1e-6, "m/s² at %d ns, poses %v", m.Stamp, poses)
				}
				sum += a.Acceleration[0] * float64(m.DeltaNs) * 1e-9
				speed = a.Twist.Linear[0]
			}
		})
		x, v := 10.0, 0.0
		at := func() world.State {
			return world.State{Pose: spatial.FromRPY(mgl64.Vec3{x, 3, 0}, 0, 0, 0), Velocity: mgl64.Vec3{v, 0, 0}, VelocityKnown: !poses}
		}
		first := world.Frame{Until: 100e6, Spawn: []world.Spawn{{Name: "car", Model: "vehicle.sedan", State: at()}}, Actors: []world.Actor{{Ref: world.Ref{Name: "car"}, State: at()}}}
		_, err := s.StepTo(t.Context(), &first)
		require.NoError(t, err)
		for k := simtime.Stamp(2); k <= 30; k++ {
			v += 0.2
			x += v * 0.1
			_, err := s.StepTo(t.Context(), &world.Frame{Until: k * 100e6, Actors: []world.Actor{{Ref: world.Ref{Name: "car"}, State: at()}}})
			require.NoError(t, err)
		}
		assert.InDelta(t, v, speed, 1e-6)
		assert.InEpsilon(t, speed, sum, 0.01)
	}
}

// listen hears a sensor's messages, of which there have to be some.
func listen[M any](t *testing.T, s *raybridge.Sim, name string, f func(*M)) {
	t.Helper()
	sensor, err := s.Sensor(name)
	require.NoError(t, err)
	heard := false
	listener, err := raybridge.Listen(sensor, func(m *M) {
		heard = true
		f(m)
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		listener.Stop()
		assert.True(t, heard, "%s says something", name)
	})
}
