package rig

import (
	"slices"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// finishCARLARate is the rate of sensor_tick.
func finishCARLARate(c *conversion) error {
	switch tick := c.number("sensor_tick"); {
	case slices.Contains(eachFrame, c.entry.ID): // they have none
	case tick >= shortestTick:
		c.period(tick, "sensor_tick")
	default:
		c.rate(carlaFrameHz, "sensor_tick")
	}
	return nil
}

// mirroredTurns are the axes, of x, y and z, about which CARLA's angular rates have the
// other sign: mirroring y makes (-x, y, -z) of an axial vector.
var mirroredTurns = [...]int{0, 2}

// finishCARLAImu brings the biases of the angular rate into our axes.
func finishCARLAImu(c *conversion) error {
	for _, axis := range mirroredTurns {
		name := "noise_gyro_bias_" + string("xyz"[axis])
		if _, given := c.given[name]; given {
			c.set(name, 0-c.number(name), name)
		}
	}
	return finishCARLARate(c)
}

// shortestTick is a nanosecond: what is shorter is each frame.
const shortestTick = 1e-9

// eachFrame are the types that look at every frame and have no rate.
var eachFrame = []string{"sensor.other.collision", "sensor.other.lane_invasion"}

// finishCARLALidar is a scan for each turn, or less often where sensor_tick says so.
func finishCARLALidar(c *conversion) error {
	hz := c.number("rotation_frequency")
	if hz <= 0 {
		return c.errorf("rotation_frequency", "%w: %v Hz, need more than 0", yamldoc.ErrRange, hz)
	}
	c.rate(hz, "rotation_frequency")
	if tick := c.number("sensor_tick"); tick > 0 && 1/tick < hz {
		c.period(tick, "sensor_tick")
	}
	return nil
}
