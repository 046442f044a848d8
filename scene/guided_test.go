package scene_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ms is a millisecond of simulated time.
const ms = simtime.Stamp(1_000_000)

// lead tells a body of waypoints, one step after the other, as frames of a world do. It returns
// the state at each millisecond, from the first waypoint's time on.
func lead(told []scene.Waypoint) (states []scene.State) {
	g := &scene.Guided{}
	g.Lead(told[0], told[0])
	states = append(states, g.StateAt(told[0].Stamp))
	for k := 1; k < len(told); k++ {
		g.Lead(g.At(told[k-1].Stamp), told[k])
		for at := told[k-1].Stamp + ms; at <= told[k].Stamp; at += ms {
			states = append(states, g.StateAt(at))
		}
	}
	return states
}

// log makes waypoints of a body that looks along +x, at times in milliseconds, by an integrator of
// its acceleration.
func log(times []simtime.Stamp, acceleration func(seconds float64) float64, integrate func(x, v *float64, a, dt float64)) []scene.Waypoint {
	x, v := 3.0, 0.0
	told := []scene.Waypoint{known(times[0]*ms, x, v)}
	for k := 1; k < len(times); k++ {
		integrate(&x, &v, acceleration(float64(times[k-1])*1e-3), float64(times[k]-times[k-1])*1e-3)
		told = append(told, known(times[k]*ms, x, v))
	}
	return told
}

func known(at simtime.Stamp, x, v float64) scene.Waypoint {
	return scene.Waypoint{
		Stamp: at, Pose: spatial.FromRPY(mgl64.Vec3{x, 0, 0}, 0, 0, 0), Velocity: mgl64.Vec3{v, 0, 0}, VelocityKnown: true,
	}
}

func symplectic(x, v *float64, a, dt float64) { *v += a * dt; *x += *v * dt }
func explicit(x, v *float64, a, dt float64)   { *x += *v * dt; *v += a * dt }
func exact(x, v *float64, a, dt float64)      { *x += *v*dt + a*dt*dt/2; *v += a * dt }

// each returns count times so many milliseconds apart, from 0 on.
func each(gap simtime.Stamp, count int) (times []simtime.Stamp) {
	for k := range count {
		times = append(times, gap*simtime.Stamp(k))
	}
	return times
}

// drive accelerates for 4 s, then keeps its speed for 2 s, brakes, and stands.
func drive(seconds float64) float64 {
	switch {
	case seconds < 4-1e-9:
		return 2
	case seconds < 6-1e-9:
		return 0
	case seconds < 8-1e-9:
		return -4
	}
	return 0
}

// TestForceIsTheToldVelocitysChange: within each step the acceleration is the change of the told
// velocity over the time, whatever made the poses. All of it adds up to the speed.
func TestForceIsTheToldVelocitysChange(t *testing.T) {
	uneven := []simtime.Stamp{0}
	for k := 0; uneven[len(uneven)-1] < 9000; k++ {
		uneven = append(uneven, uneven[len(uneven)-1]+[]simtime.Stamp{20, 100, 50, 10, 70}[k%5])
	}
	rounded := log(each(100, 91), func(s float64) float64 { return 0.9685 * drive(s) }, exact)
	for k := range rounded {
		for _, of := range []*float64{&rounded[k].Pose.Position[0], &rounded[k].Velocity[0]} {
			*of = math.Round(*of*100) / 100
		}
	}
	for name, told := range map[string][]scene.Waypoint{
		"symplectic Euler, 10 Hz":  log(each(100, 91), drive, symplectic),
		"symplectic Euler, 100 Hz": log(each(10, 901), drive, symplectic),
		"symplectic Euler, 1 Hz":   log(each(1000, 10), drive, symplectic),
		"explicit Euler, 10 Hz":    log(each(100, 91), drive, explicit),
		"exact, 10 Hz":             log(each(100, 91), drive, exact),
		"rounded to a centimetre":  rounded,
		"steps of varying length":  log(uneven, drive, symplectic),
	} {
		t.Run(name, func(t *testing.T) {
			states := lead(told)
			sum := mgl64.Vec3{}
			for k := 1; k < len(told); k++ {
				a, b := told[k-1], told[k]
				want := b.Velocity.Sub(a.Velocity).Mul(1e9 / float64(b.Stamp-a.Stamp))
				for at := a.Stamp + ms; at <= b.Stamp; at += ms {
					s := states[at/ms]
					require.InDelta(t, want[0], s.Acceleration[0], 1e-9, "m/s² at %d", at)
					sum = sum.Add(s.Acceleration.Mul(1e-3))
					require.InDelta(t, sum[0], s.Twist.Linear[0], 1e-9, "m/s at %d", at)
				}
				assertVec(t, b.Pose.Position, states[b.Stamp/ms].Pose.Position, 1e-9, "the told pose")
			}
		})
	}
}

// TestTheWayBetweenPoses: the body never goes back, and has the told velocity's change as its own.
func TestTheWayBetweenPoses(t *testing.T) {
	for name, step := range map[string]func(x, v *float64, a, dt float64){"symplectic": symplectic, "explicit": explicit, "exact": exact} {
		t.Run(name, func(t *testing.T) {
			told := log(each(100, 91), drive, step)
			states := lead(told)
			speed := func(k int) float64 { return (states[k].Pose.Position[0] - states[k-1].Pose.Position[0]) / 1e-3 }
			for k := 1; k < len(states); k++ {
				require.GreaterOrEqual(t, speed(k), -1e-9, "it never goes back, at %d ms", k)
				require.InDelta(t, states[k].Twist.Linear[0], speed(k), 0.401, "within a step's change of speed, at %d ms", k)
				if k > 1 && k < 3900 && k%100 > 1 && k > 200 {
					require.InDelta(t, 2, (speed(k)-speed(k-1))/1e-3, 1e-4, "m/s² at %d ms", k)
				}
			}
		})
	}
	// With the exact integrator's poses it is the true way.
	for k, s := range lead(log(each(100, 31), drive, exact)) {
		require.InDelta(t, 3+float64(k)*float64(k)*1e-6, s.Pose.Position[0], 1e-9)
	}
	// Velocities that the poses deny don't lead beyond these.
	stops := []scene.Waypoint{known(0, 0, 10), known(100*ms, 0.1, 0), known(200*ms, 0.1, 10), known(300*ms, 0.1, 0)}
	for k, s := range lead(stops) {
		require.True(t, s.Pose.Position[0] >= 0 && s.Pose.Position[0] <= 0.1+1e-12, "%v m at %d ms", s.Pose.Position[0], k)
	}
}

// TestPosesAloneGiveForce: velocity and acceleration of poses alone are theirs, half a step late.
func TestPosesAloneGiveForce(t *testing.T) {
	const omega, amplitude, gap = 1.5, 4.0, 20
	var told []scene.Waypoint
	for _, at := range each(gap, 501) {
		x := amplitude * math.Sin(omega*float64(at)*1e-3)
		told = append(told, scene.Waypoint{Stamp: at * ms, Pose: spatial.FromRPY(mgl64.Vec3{0, x, 0}, 0, 0, 0)})
	}
	states := lead(told)
	sum := states[1].Twist.Linear // no velocity is known before the first step
	for k, s := range states {
		if k < 1 {
			continue
		}
		sum = sum.Add(s.Acceleration.Mul(1e-3))
		require.InDelta(t, s.Twist.Linear[1], sum[1], 0.01*amplitude*omega, "force adds up to the speed at %d ms", k)
		late := float64(k)*1e-3 - gap*1e-3/2
		if k < gap { // its first velocity is that of its first step
			continue
		}
		require.InDelta(t, amplitude*omega*math.Cos(omega*late), s.Twist.Linear[1], 0.01*amplitude*omega, "m/s at %d ms", k)
		if k > 2*gap {
			require.InDelta(t, -amplitude*omega*omega*math.Sin(omega*late), s.Acceleration[1], 0.02*amplitude*omega*omega, "m/s² at %d ms", k)
		}
	}
	// One that pulls away, from where it stands, has the force from the first step on.
	x := []float64{0, 0, 0, 0.01, 0.04, 0.09, 0.16, 0.25, 0.25, 0.25}
	told = told[:0]
	for k, x := range x {
		told = append(told, scene.Waypoint{Stamp: simtime.Stamp(k) * 100 * ms, Pose: spatial.FromRPY(mgl64.Vec3{x, 0, 0}, 0, 0, 0)})
	}
	states = lead(told)
	for k, want := range []float64{0, 0, 1, 2, 2, 2, 2, -9, 0} {
		require.InDelta(t, want, states[100*k+50].Acceleration[0], 1e-9, "step %d", k+1)
	}
	require.Zero(t, states[900].Twist.Linear.Len(), "it stands")
}

// TestUnevenStepsAreNoForce: poses alone of a body that pulls away evenly, at uneven times.
func TestUnevenStepsAreNoForce(t *testing.T) {
	for name, gaps := range map[string][]simtime.Stamp{
		"two by turns": {20, 80}, "three": {50, 20, 30}, "nearly even": {100, 97, 103, 99, 104, 100, 95},
		"one was longer": append([]simtime.Stamp{100}, slices.Repeat([]simtime.Stamp{25}, 15)...),
	} {
		t.Run(name, func(t *testing.T) {
			times := []simtime.Stamp{0}
			for k := 0; times[k] < 6000; k++ {
				times = append(times, times[k]+gaps[k%len(gaps)])
			}
			told := log(times, func(float64) float64 { return 2 }, exact)
			for k := range told {
				told[k].VelocityKnown = false
			}
			sum, states := 0.0, lead(told)
			for k := 1; k < len(states); k++ {
				s := &states[k]
				sum += s.Acceleration[0] * 1e-3
				require.InDelta(t, s.Twist.Linear[0]-states[1].Twist.Linear[0], sum, 0.03, "m/s at %d ms", k)
				if k > 1000 {
					require.LessOrEqual(t, s.Acceleration[0], 2.15, "m/s² at %d ms", k)
					require.GreaterOrEqual(t, s.Acceleration[0], 1.6, "m/s² at %d ms", k)
					require.InDelta(t, 2*float64(k)*1e-3, s.Twist.Linear[0], 0.17, "m/s at %d ms", k)
				}
			}
		})
	}
}

// circled is a waypoint of a body on a circle to the left, which looks where it goes. It starts at a
// speed and grows faster.
func circled(at simtime.Stamp, radius, speed, faster float64) scene.Waypoint {
	s := float64(at) * 1e-9
	way, now := speed*s+faster*s*s/2, speed+faster*s
	yaw := way / radius
	return scene.Waypoint{
		Stamp: at, Pose: spatial.FromRPY(mgl64.Vec3{radius * math.Sin(yaw), radius * (1 - math.Cos(yaw)), 0}, 0, 0, mgl64.RadToDeg(yaw)),
		Velocity: mgl64.Vec3{now * math.Cos(yaw), now * math.Sin(yaw), 0},
	}
}

// TestForceOnACircle: in the body's frame the acceleration is v²/r to the left, and along the body
// what it grows faster by, with velocities and without.
func TestForceOnACircle(t *testing.T) {
	const radius, speed = 20.0, 8.0
	for name, c := range map[string]struct {
		known  bool
		faster float64
		gap    simtime.Stamp
	}{
		"velocities":               {true, 0, 100},
		"velocities, every second": {true, 0, 1000},
		"velocities, growing":      {true, 1, 100},
		"poses":                    {false, 0, 100},
		"poses, every half second": {false, 0, 500},
		"poses, growing":           {false, 1, 20},
	} {
		t.Run(name, func(t *testing.T) {
			var told []scene.Waypoint
			for _, at := range each(c.gap, int(6000/c.gap)) {
				w := circled(at*ms, radius, speed, c.faster)
				w.VelocityKnown = c.known
				told = append(told, w)
			}
			for k, s := range lead(told) {
				if k <= 2*int(c.gap) {
					continue
				}
				late := 0.0
				if !c.known {
					late = float64(c.gap) * 1e-3 / 2
				}
				v := speed + c.faster*(float64(k)*1e-3-late)
				back := s.Pose.Orientation.Conjugate()
				got, velocity := back.Rotate(s.Acceleration), back.Rotate(s.Twist.Linear)
				require.InDelta(t, c.faster, got[0], 0.06, "m/s² ahead, at %d ms", k)
				require.InEpsilon(t, v*v/radius, got[1], 0.02, "m/s² to the left, at %d ms", k)
				require.InEpsilon(t, v, velocity[0], 0.01, "m/s ahead, at %d ms", k)
				require.InDelta(t, 0, velocity[1], 0.06, "m/s to the left, at %d ms", k)
				require.InEpsilon(t, v/radius, s.Twist.Angular[2], 0.01, "rad/s at %d ms", k)
				require.InDelta(t, c.faster/radius, s.AngularAcceleration[2], 0.002, "rad/s² at %d ms", k)
			}
		})
	}
}

// TestWhatTurnsOnItsWayKeepsIt: a body that flies on while it turns about any axis has no force.
func TestWhatTurnsOnItsWayKeepsIt(t *testing.T) {
	axis := mgl64.Vec3{1, -2, 3}.Normalize()
	for _, known := range []bool{true, false} {
		var told []scene.Waypoint
		for _, at := range each(50, 41) {
			s := float64(at) * 1e-3
			told = append(told, scene.Waypoint{
				Stamp: at * ms, VelocityKnown: known, Velocity: mgl64.Vec3{9, 2, -1},
				Pose: spatial.Pose{Position: mgl64.Vec3{9, 2, -1}.Mul(s), Orientation: mgl64.QuatRotate(0.4*s+0.3*s*s/2, axis)},
			})
		}
		for k, s := range lead(told) {
			if k <= 100 {
				continue
			}
			assertVec(t, mgl64.Vec3{}, s.Acceleration, 1e-6, "m/s² at %d ms, velocities %v", k, known)
			assertVec(t, mgl64.Vec3{9, 2, -1}, s.Twist.Linear, 1e-6)
			assertVec(t, axis.Mul(0.4+0.3*(float64(k)*1e-3-0.025)), s.Twist.Angular, 0.01, "rad/s at %d ms", k)
			assertVec(t, axis.Mul(0.3), s.AngularAcceleration, 1e-6, "rad/s² at %d ms", k)
		}
	}
}

// TestAJumpIsNoVelocity: neither the jump nor the step behind it has a force that nobody told.
func TestAJumpIsNoVelocity(t *testing.T) {
	for _, known := range []bool{true, false} {
		g := &scene.Guided{}
		at := func(stamp simtime.Stamp, x float64) scene.Waypoint {
			w := circled(0, 1, 10, 0)
			w.Stamp, w.VelocityKnown, w.Pose.Position = stamp, known, mgl64.Vec3{x, 0, 0}
			return w
		}
		g.Lead(at(0, 0), at(100*ms, 1))
		far := at(200*ms, 500)
		g.Lead(far, far)
		for _, stamp := range []simtime.Stamp{110 * ms, 200 * ms} {
			s := g.StateAt(stamp)
			assert.Zero(t, s.Acceleration)
			assert.Equal(t, far.Pose, s.Pose)
			assert.LessOrEqual(t, s.Twist.Linear.Len(), 10.)
		}
		g.Lead(g.At(200*ms), at(300*ms, 501))
		s := g.StateAt(250 * ms)
		assertVec(t, mgl64.Vec3{10, 0, 0}, s.Twist.Linear, 1e-9)
		assertVec(t, mgl64.Vec3{}, s.Acceleration, 1e-9)
		// Nobody tells it any more: it comes to rest within the step.
		g.Stand(300*ms, 400*ms)
		s = g.StateAt(350 * ms)
		assertVec(t, mgl64.Vec3{501, 0, 0}, s.Pose.Position, 1e-9)
		assertVec(t, mgl64.Vec3{5, 0, 0}, s.Twist.Linear, 1e-9)
		assertVec(t, mgl64.Vec3{-100, 0, 0}, s.Acceleration, 1e-9)
		assert.Zero(t, g.StateAt(400*ms).Twist.Linear.Len())
		// Behind the last step it stands.
		assert.Zero(t, g.StateAt(450*ms).Acceleration)
		g.Lead(g.At(400*ms), at(500*ms, 502))
		assert.Zero(t, g.StateAt(500*ms+1).Twist.Linear.Len())
	}
}

// TestABrokenStepContinues: a step that ends early continues where it is, as fast as it is.
func TestABrokenStepContinues(t *testing.T) {
	g := &scene.Guided{}
	g.Lead(known(0, 0, 0), known(100*ms, 0.1, 2))
	half := g.At(50 * ms)
	assert.InDelta(t, 1, half.Velocity[0], 1e-9)
	g.Lead(half, known(150*ms, 0.225, 3))
	for _, stamp := range []simtime.Stamp{51 * ms, 100 * ms, 150 * ms} {
		assert.InDelta(t, 20, g.StateAt(stamp).Acceleration[0], 1e-9)
	}
}
