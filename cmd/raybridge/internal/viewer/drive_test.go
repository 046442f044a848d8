package viewer

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/window"
)

// road is a driver with its last command and the time.
type road struct {
	driver
	last scene.Command
	now  int64
}

func newRoad() *road {
	r := &road{}
	r.steer = func(c scene.Command) error { r.last = c; return nil }
	return r
}

// roll continues for some seconds in ticks of 20 ms.
func (r *road) roll(t *testing.T, seconds float64) {
	t.Helper()
	for range int(seconds * 50) {
		r.now += 20_000_000
		require.NoError(t, r.update(r.now))
	}
}

func TestHeldKeysDrive(t *testing.T) {
	r := newRoad()
	assert.True(t, r.press('W'))
	r.roll(t, 2)
	assert.True(t, r.last.BySpeed)
	assert.InDelta(t, 2*speedUp, r.last.Speed, 1e-9)
	assert.Zero(t, r.last.Steering)
	r.roll(t, 20)
	assert.InDelta(t, topSpeed, r.last.Speed, 1e-9)
	r.release('W')
	r.roll(t, 1)
	assert.InDelta(t, topSpeed-rollOut, r.last.Speed, 1e-9, "rolls out")
	r.press(window.KeyDownArrow)
	r.roll(t, 1)
	assert.InDelta(t, topSpeed-rollOut-brake, r.last.Speed, 1e-9, "brakes")
	r.roll(t, 10)
	assert.InDelta(t, -reverseSpeed, r.last.Speed, 1e-9, "reverses")
	r.release(window.KeyDownArrow)
	r.roll(t, 10)
	assert.Zero(t, r.last.Speed, "stands")
}

func TestSteeringIsGentleAtSpeed(t *testing.T) {
	r := newRoad()
	r.press('A')
	r.roll(t, 2)
	assert.InDelta(t, topSteering, r.last.Steering, 1e-9, "to the left")
	r.press(window.KeyRight)
	r.roll(t, 2)
	assert.Zero(t, r.last.Steering, "both sides")
	r.release('A')
	r.roll(t, 2)
	assert.InDelta(t, -topSteering, r.last.Steering, 1e-9)
	r.press('W')
	for range 200 {
		r.roll(t, 0.02)
		across := r.last.Speed * r.last.Speed * math.Tan(math.Abs(r.last.Steering)) / driveWheel
		assert.LessOrEqual(t, across, sideways+1e-6, "at %v m/s", r.last.Speed)
	}
	r.release(window.KeyRight)
	r.roll(t, 2)
	assert.Zero(t, r.last.Steering)
}

func TestOneDirectionWithTwoKeys(t *testing.T) {
	r := newRoad()
	r.press('W')
	r.press('W') // a repeat
	r.press(window.KeyUpArrow)
	r.release('W')
	r.roll(t, 1)
	assert.Positive(t, r.last.Speed)
	r.release(window.KeyUpArrow)
	r.release(window.KeyUpArrow)
	r.roll(t, 30)
	assert.Zero(t, r.last.Speed)
}

func TestDrivingWaitsForTime(t *testing.T) {
	sent := 0
	d := driver{steer: func(scene.Command) error { sent++; return errors.New("refused") }}
	assert.NoError(t, d.update(0))
	assert.Error(t, d.update(10_000_000))
	assert.NoError(t, d.update(10_000_000), "paused")
	assert.Equal(t, 1, sent)
	assert.False(t, d.press('X'))
	var nobody driver
	assert.False(t, nobody.press('W'))
	assert.NoError(t, nobody.update(5))
}
