package velodyne

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
)

// device is a model of lidar whose packets the bridge makes.
type device struct {
	name, preset string // preset is the lidar's that has its lasers
	product      byte   // the packet's last
	unitM        float64
	cycle        time.Duration // between two firings of a laser
	// slot is from one firing of a column to the next, and slots tells which a laser has.
	slot  time.Duration
	slots func(laser int) int
	// aligned is what the packets' clock is ahead of the first firing. Decoders take it off again.
	aligned time.Duration
	// elevations and azimuths of the lasers by their ids, degrees; azimuths are offsets from the
	// block's, clockwise.
	elevations, azimuths []float64
}

// columns is how many firings of all lasers a packet has, with so many returns of each.
func (d *device) columns(returns int) int { return blocks / returns * blockRecords / len(d.elevations) }

// fires is when a laser fires after its column begins.
func (d *device) fires(laser int) time.Duration { return time.Duration(d.slots(laser)) * d.slot }

// devices are those that there are, by the number of their lasers.
var devices = map[int]*device{
	16: {
		name: "VLP-16", preset: "VelodyneVLP16", product: 0x22, unitM: 0.002,
		cycle: 55_296 * time.Nanosecond, slot: 2304 * time.Nanosecond, slots: func(laser int) int { return laser },
		elevations: []float64{-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15},
		azimuths:   make([]float64, 16),
	},
	32: {
		name: "VLP-32C", preset: "VelodyneVLP32C", product: 0x28, unitM: 0.004,
		cycle: 55_296 * time.Nanosecond, slot: 2304 * time.Nanosecond, slots: func(laser int) int { return laser / 2 },
		elevations: []float64{
			-25, -1, -1.667, -15.639, -11.31, 0, -0.667, -8.843, -7.254, 0.333, -0.333, -6.148, -5.333, 1.333, 0.667, -4,
			-4.667, 1.667, 1, -3.667, -3.333, 3.333, 2.333, -2.667, -3, 7, 4.667, -2.333, -2, 15, 10.333, -1.333,
		},
		azimuths: []float64{
			1.4, -4.2, 1.4, -1.4, 1.4, -1.4, 4.2, -1.4, 1.4, -4.2, 1.4, -1.4, 4.2, -1.4, 4.2, -1.4,
			1.4, -4.2, 1.4, -4.2, 4.2, -1.4, 1.4, -1.4, 1.4, -1.4, 1.4, -4.2, 4.2, -1.4, 1.4, -1.4,
		},
	},
	128: {
		name: "VLS-128", preset: "VelodyneVLS128", product: 0xA1, unitM: 0.004,
		cycle: 53_300 * time.Nanosecond, slot: 2665 * time.Nanosecond, slots: func(laser int) int { return laser/8 + laser/64 }, // after eight one is left out
		aligned: 8700 * time.Nanosecond, // with the fourth group of lasers
		elevations: []float64{
			-11.742, -1.99, 3.4, -5.29, -0.78, 4.61, -4.08, 1.31, -6.5, -1.11, 4.28, -4.41, 0.1, 6.48, -3.2, 2.19,
			-3.86, 1.53, -9.244, -1.77, 2.74, -5.95, -0.56, 4.83, -2.98, 2.41, -6.28, -0.89, 3.62, -5.07, 0.32, 7.58,
			-0.34, 5.18, -3.64, 1.75, -25, -2.43, 2.96, -5.73, 0.54, 9.7, -2.76, 2.63, -7.65, -1.55, 3.84, -4.85,
			3.18, -5.51, -0.12, 5.73, -4.3, 1.09, -16.042, -2.21, 4.06, -4.63, 0.76, 15, -3.42, 1.97, -6.85, -1.33,
			-5.62, -0.23, 5.43, -3.53, 0.98, -19.582, -2.32, 3.07, -4.74, 0.65, 11.75, -2.65, 1.86, -7.15, -1.44, 3.95,
			-2.1, 3.29, -5.4, -0.01, 4.5, -4.19, 1.2, -13.565, -1.22, 4.17, -4.52, 0.87, 6.08, -3.31, 2.08, -6.65,
			1.42, -10.346, -1.88, 3.51, -6.06, -0.67, 4.72, -3.97, 2.3, -6.39, -1, 4.39, -5.18, 0.21, 6.98, -3.09,
			4.98, -3.75, 1.64, -8.352, -2.54, 2.85, -5.84, -0.45, 8.43, -2.87, 2.52, -6.17, -1.66, 3.73, -4.96, 0.43,
		},
		azimuths: slices.Repeat([]float64{6.354, 4.548, 2.732, 0.911, -0.911, -2.732, -4.548, -6.354}, 16),
	},
}

// deviceOf returns the device with so many lasers.
func deviceOf(rings int) (*device, error) {
	if d := devices[rings]; d != nil {
		return d, nil
	}
	var presets []string
	for _, n := range []int{16, 32, 128} {
		presets = append(presets, devices[n].preset)
	}
	return nil, fmt.Errorf("%w: a scan of %d rings isn't a VLP-16's, VLP-32C's or VLS-128's: give the lidar one of the presets %s",
		bridges.ErrConvert, rings, strings.Join(presets, ", "))
}

// closeDegrees is what directions may differ by.
const closeDegrees = 0.02

// checkLaser returns an error unless a laser points where the device's does. The azimuths are those
// from the block's, as it is and as it has to be; all are degrees.
func (d *device) checkLaser(laser int, azimuth, want, elevation float64) error {
	if math.Abs(elevation-d.elevations[laser]) < closeDegrees && math.Abs(math.Remainder(azimuth-want, 360)) < closeDegrees {
		return nil
	}
	return fmt.Errorf("%w: laser %d points %.3f degrees up and %.3f to the right, and a %s's %g and %.3g: give the lidar preset: %s",
		bridges.ErrConvert, laser, elevation, math.Remainder(azimuth, 360), d.name, d.elevations[laser], want, d.preset)
}

// offset is a laser's azimuth from the block's, degrees clockwise, of a lidar that turns on between two firings of a column, or of
// one that doesn't.
func (d *device) offset(laser int, turning bool, period time.Duration) float64 {
	if !turning {
		return d.azimuths[laser]
	}
	return d.azimuths[laser] + 360*float64(d.fires(laser))/float64(period)
}

// drift is how late the last column of a packet is, in which columns are a period's share apart, beside the device's.
func (d *device) drift(columns int, period time.Duration) time.Duration {
	return (period/time.Duration(columns) - d.cycle) * time.Duration(d.columns(1)-1)
}

// Limits of the device's speed, and of what its firing times may differ by within a packet: of columns always, and of lasers without a
// word in the log.
const (
	slowest, fastest = 300, 1200 // turns a minute
	mostDrift        = 7 * time.Microsecond
)

// checkTurn returns an error unless the device can make a turn of so many columns in a period.
func (d *device) checkTurn(columns int, period time.Duration) error {
	turns, right := float64(time.Minute)/float64(period), int(math.Round(period.Seconds()*18000))
	if turns < slowest*0.999 || turns > fastest*1.001 {
		return fmt.Errorf("%w: the lidar turns %.4g times a minute, and a %s %d to %d times: give it a rate from 5 to 20 Hz, with columns: 18000 divided by it",
			bridges.ErrConvert, turns, d.name, slowest, fastest)
	}
	if d.drift(columns, period).Abs() > mostDrift {
		return fmt.Errorf("%w: %d columns in %v are one every %v, and a %s has one every %v: set columns: %d at this rate",
			bridges.ErrConvert, columns, period, period/time.Duration(columns), d.name, d.cycle, right)
	}
	return nil
}
