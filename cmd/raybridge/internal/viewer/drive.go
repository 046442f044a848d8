package viewer

import (
	"math"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/window"
)

// How the keys drive: gently, as with a pedal.
const (
	speedUp       = 3.0  // m/s² while forwards is held
	brake         = 7.0  // m/s² against the movement
	rollOut       = 1.0  // m/s² with no key
	topSpeed      = 20.0 // m/s
	reverseSpeed  = 4.0  // m/s
	steerRate     = 0.9  // rad/s towards the key's side, and back
	topSteering   = 0.55 // rad
	sideways      = 4.0  // m/s² that steering may ask for
	driveWheel    = 2.8  // metres between the axles, a Driven's default
	longestUpdate = 0.2  // seconds that one update may cover
)

// driver turns held keys into commands.
type driver struct {
	steer           func(scene.Command) error // nil: nobody drives by keys
	held            [4]int                    // keys down for each direction
	down            map[window.Key]bool
	speed, steering float64
	beforeNs        int64
}

// Directions of driver.held.
const (
	ahead = iota
	back
	left
	right
)

var directions = map[window.Key]int{
	'W': ahead, window.KeyUpArrow: ahead, 'S': back, window.KeyDownArrow: back,
	'A': left, window.KeyLeft: left, 'D': right, window.KeyRight: right,
}

// press reports whether the key drives.
func (d *driver) press(key window.Key) bool {
	direction, ok := directions[key]
	if d.steer == nil || !ok {
		return false
	}
	if d.down == nil {
		d.down = map[window.Key]bool{}
	}
	if !d.down[key] {
		d.down[key] = true
		d.held[direction]++
	}
	return true
}

func (d *driver) release(key window.Key) {
	if d.down[key] {
		delete(d.down, key)
		d.held[directions[key]]--
	}
}

// update sends the command for a simulation time. It must be called several
// times within scene.DefaultCommandTimeout, or the vehicle stops.
func (d *driver) update(nowNs int64) error {
	if d.steer == nil || nowNs <= d.beforeNs {
		return nil
	}
	seconds := min(longestUpdate, float64(nowNs-d.beforeNs)*1e-9)
	d.beforeNs = nowNs
	d.speed = d.pedals(seconds)
	most := topSteering
	if v := math.Abs(d.speed); v > 1 {
		most = min(most, math.Atan(sideways*driveWheel/(v*v)))
	}
	want := most * float64(sign(d.held[left])-sign(d.held[right]))
	d.steering = approach(d.steering, want, steerRate*seconds)
	d.steering = max(-most, min(most, d.steering))
	return d.steer(scene.Command{BySpeed: true, Speed: d.speed, Steering: d.steering})
}

// pedals returns the speed to be had after some seconds.
func (d *driver) pedals(seconds float64) float64 {
	switch {
	case d.held[ahead] > 0 && d.held[back] == 0 && d.speed < 0, d.held[back] > 0 && d.speed > 0:
		return approach(d.speed, 0, brake*seconds)
	case d.held[ahead] > 0 && d.held[back] == 0:
		return approach(d.speed, topSpeed, speedUp*seconds)
	case d.held[back] > 0 && d.held[ahead] == 0:
		return approach(d.speed, -reverseSpeed, speedUp*seconds)
	default:
		return approach(d.speed, 0, rollOut*seconds)
	}
}

// approach moves from x towards a goal by at most step.
func approach(x, goal, step float64) float64 {
	return x + max(-step, min(step, goal-x))
}

func sign(n int) int { return min(n, 1) }
