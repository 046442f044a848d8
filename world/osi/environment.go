package osi

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// rains are the middles of the classes of precipitation in mm/h, by their numbers from PRECIPITATION_NONE on. That
// without an end has its beginning. OSI doesn't tell rain from snow.
var rains = [...]float64{0, 0.3, 1.2, 5, 21.05, 91.5, 149}

// visibilities are the middles of the classes of fog in metres, by their numbers from FOG_EXCELLENT_VISIBILITY on, for which
// nothing limits it.
var visibilities = [...]float64{0, 25_000, 7000, 3000, 1500, 600, 125, 25}

// Values below firstClass say that the condition is unknown, or another one.
const firstClass = 2

// oktas is how many eighths of the sky clouds hide at most. Beyond is the class of a sky that isn't seen.
const oktas = 8

// class returns the place of a number among some classes, false for one that tells nothing.
func class(number uint64, classes int) (place int, ok bool) {
	if number < firstClass || number >= firstClass+uint64(classes) {
		return 0, false
	}
	return int(number - firstClass), true
}

// environment reads EnvironmentalConditions. Conditions that are left out are as in clear weather. It returns nil if none of
// them tells the weather.
func (c *cursor) environment() *weather.State {
	var setting weather.Setting
	told := false
	in := over(c.Message())
	for in.Next() {
		switch in.Field {
		case 6:
			if place, ok := class(in.Varint(), len(rains)); ok {
				setting.Rain, told = &rains[place], true
			}
		case 7:
			if place, ok := class(in.Varint(), len(visibilities)); ok {
				told = true
				if place > 0 {
					setting.Visibility = &visibilities[place]
				}
			}
		case 10:
			if cloud, ok := in.clouds(); ok {
				setting.Cloud, told = &cloud, true
			}
		case 11:
			setting.Wind, told = in.wind(), true
		}
	}
	if in.Err != nil || !told {
		c.Within("environmental conditions", in.Err)
		return nil
	}
	state, err := world.WeatherOf(&setting)
	c.Within("environmental conditions", err)
	return state
}

// clouds reads a CloudLayer.
func (c *cursor) clouds() (share float64, ok bool) {
	in := over(c.Message())
	for in.Next() {
		if in.Field == 1 {
			var place int
			place, ok = class(in.Varint(), oktas+2)
			share = float64(min(place, oktas)) / oktas
		}
	}
	c.Within("clouds", in.Err)
	return share, ok
}

// wind reads a Wind, which is told by the direction that it comes from: radians counter-clockwise from the north.
func (c *cursor) wind() *weather.Wind {
	var from, speed float64
	in := over(c.Message())
	for in.Next() {
		switch in.Field {
		case 1:
			from = in.Double()
		case 2:
			speed = in.Double()
		}
	}
	if math.IsNaN(from) || math.IsInf(from, 0) {
		in.Fail(fmt.Errorf("%w: direction %v", world.ErrValue, from))
	}
	c.Within("wind", in.Err)
	return &weather.Wind{X: speed * math.Sin(from), Y: -speed * math.Cos(from)}
}
