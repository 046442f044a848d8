package lidar

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/shaders"
)

// Ray is one firing of one laser in the sensor's frame: metres, a unit direction,
// nanoseconds after the scan's start.
type Ray struct {
	Origin, Direction mgl64.Vec3
	TimeNs            int64
	Ring              uint16
	MinM, MaxM        float64
}

// Rays returns all rays of a scan of the given period in nanoseconds, in the
// order of sample.Point.Ray: for tests, tools and reference tracers.
func (d *Device) Rays(periodNs int64) []Ray {
	rays := make([]Ray, 0, d.rays())
	for column := range d.Columns {
		for i := range d.Lasers {
			l := &d.Lasers[i]
			azimuth := -mgl64.DegToRad(d.StartDeg + float64(column)*d.StepDeg + l.AzimuthOffsetDeg)
			sin, cos := math.Sincos(azimuth)
			up, along := math.Sincos(mgl64.DegToRad(l.ElevationDeg))
			lo, hi := d.bounds(l, column)
			rays = append(rays, Ray{
				Origin: mgl64.Vec3{0, 0, l.HeightM}, Direction: mgl64.Vec3{along * cos, along * sin, up},
				TimeNs: d.columnNs(column, periodNs) + d.laserNs(i, periodNs), Ring: l.Ring, MinM: lo, MaxM: hi,
			})
		}
	}
	return rays
}

// columnNs is when a column begins: the columns share the period evenly.
func (d *Device) columnNs(column int, periodNs int64) int64 {
	return int64(column) * periodNs / int64(d.Columns)
}

// laserNs is when a laser fires within its column; at rates at which the columns
// follow faster than the device's own firing cycle, within the column all the same.
func (d *Device) laserNs(laser int, periodNs int64) int64 {
	return min(d.Lasers[laser].TimeNs, max(periodNs/int64(d.Columns)-1, 0))
}

// bounds returns the range of a laser's firing in a column.
func (d *Device) bounds(l *Laser, column int) (lo, hi float64) {
	lo, hi = d.MinM, d.MaxM
	if l.MinM > 0 {
		lo = l.MinM
	}
	if column%2 == 1 {
		lo = max(lo, d.FarFieldMinM)
	}
	if l.MaxM > 0 {
		hi = min(hi, l.MaxM)
	}
	return lo, hi
}

// table writes the device as shaders/lidar_scan.comp reads it.
func (d *Device) table(periodNs int64) []byte {
	out := make([]byte, 0, 16*(shaders.LaserTexels*len(d.Lasers)+shaders.ColumnTexels*d.Columns))
	put := func(words ...uint32) {
		for _, w := range words {
			out = binary.LittleEndian.AppendUint32(out, w)
		}
	}
	bits := func(f float64) uint32 { return math.Float32bits(float32(f)) }
	for i := range d.Lasers {
		l := &d.Lasers[i]
		up, along := math.Sincos(mgl64.DegToRad(l.ElevationDeg))
		sin, cos := math.Sincos(-mgl64.DegToRad(l.AzimuthOffsetDeg))
		even, hi := d.bounds(l, 0)
		odd, _ := d.bounds(l, 1)
		put(bits(along), bits(up), bits(cos), bits(sin))
		put(bits(l.HeightM), uint32(d.laserNs(i, periodNs)), uint32(l.Ring), bits(hi))
		put(bits(even), bits(odd), 0, 0)
	}
	for column := range d.Columns {
		sin, cos := math.Sincos(-mgl64.DegToRad(d.StartDeg + float64(column)*d.StepDeg))
		put(bits(cos), bits(sin), uint32(d.columnNs(column, periodNs)), 0)
	}
	return out
}
