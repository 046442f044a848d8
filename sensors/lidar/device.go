package lidar

import (
	_ "embed" // the firing tables
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

// Uniform is the preset whose lasers are spread evenly between two elevations.
const Uniform = "uniform"

// Laser is one emitter of a device.
type Laser struct {
	Ring uint16
	// ElevationDeg is up-positive, AzimuthOffsetDeg clockwise-positive seen from above.
	ElevationDeg, AzimuthOffsetDeg float64
	// HeightM is the emitter's height over the sensor's origin.
	HeightM float64
	// TimeNs is when it fires after its column begins, at the device's own rate.
	TimeNs int64
	// Turned: it fires as far behind its column's direction as the device turns until then. Else all
	// lasers of a column without offsets have one azimuth.
	Turned bool
	// MinM and MaxM bound its range; 0 means the device's.
	MinM, MaxM float64
}

// Device is a model of lidar.
type Device struct {
	Name   string
	Lasers []Laser
	// Columns fire one after the other, StepDeg apart, clockwise from
	// StartDeg (clockwise from straight ahead); a negative step turns the other way.
	Columns           int
	StartDeg, StepDeg float64
	// MinM and MaxM bound the range of lasers that have no bounds of their own.
	MinM, MaxM float64
	// FarFieldMinM is the shortest range in odd columns, counted from 0, of lasers whose own
	// is shorter; 0 means that columns don't differ.
	FarFieldMinM float64
}

// models has, for each table, what the table doesn't say: columns, azimuth
// window and range. HesaiAT128E2X's near-field lasers fire for the near field in every
// second column alone, as in AWSIM: a near field of half the resolution.
var models = map[string]Device{
	"VelodyneVLP16":            {Columns: 1800, StepDeg: 0.2, MaxM: 100},
	"VelodyneVLP32C":           {Columns: 1800, StepDeg: 0.2, MaxM: 200},
	"VelodyneVLS128":           {Columns: 1800, StepDeg: 0.2, MaxM: 300},
	"HesaiPandarQT":            {Columns: 600, StepDeg: 0.6, MaxM: 20},
	"HesaiPandar40P":           {Columns: 1800, StepDeg: 0.2, MaxM: 200},
	"OusterOS1_64":             {Columns: 1024, StepDeg: 360.0 / 1024, MaxM: 120},
	"HesaiAT128E2X":            {Columns: 600, StartDeg: -60, StepDeg: 0.2, MaxM: 200, FarFieldMinM: 7.2},
	"HesaiPandarXT32":          {Columns: 2000, StepDeg: 0.18, MinM: 0.05, MaxM: 120},
	"HesaiQT128C2X":            {Columns: 450, StepDeg: 0.8, MinM: 0.05, MaxM: 20},
	"HesaiPandar128E4X":        {Columns: 1800, StepDeg: 0.2, MaxM: 200},
	"HesaiPandar128E4XHighRes": {Columns: 1800, StepDeg: 0.2, MaxM: 200},
}

//go:embed firing_tables.csv
var firingTables string

// devices reads the tables once. They are part of the program: a fault in them
// is found by the tests.
var devices = sync.OnceValues(func() (map[string]*Device, error) { return parseDevices(firingTables) })

// parseDevices reads firing tables. The columns are model, firing_index, ring, elevation,
// azimuth offset, vertical offset in mm, time offset in ms, minimum and maximum range (empty
// for the model's).
func parseDevices(table string) (map[string]*Device, error) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read firing tables: %w", err)
	}
	list := map[string]*Device{}
	for i, row := range rows[1:] {
		d := list[row[0]]
		if d == nil {
			model, ok := models[row[0]]
			if !ok {
				return nil, fmt.Errorf("read firing tables: row %d: unknown model %s", i+2, row[0])
			}
			model.Name = row[0]
			d = &model
			list[row[0]] = d
		}
		laser, err := parseLaser(row)
		if err != nil {
			return nil, fmt.Errorf("read firing tables: row %d: %w", i+2, err)
		}
		d.Lasers = append(d.Lasers, laser)
	}
	return list, nil
}

func parseLaser(row []string) (Laser, error) {
	var v [7]float64
	for i, text := range row[2:] {
		if text == "" {
			continue
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return Laser{}, fmt.Errorf("column %d: %w", i+3, err)
		}
		v[i] = f
	}
	return Laser{
		Ring: uint16(v[0]), ElevationDeg: v[1], AzimuthOffsetDeg: v[2], HeightM: v[3] / 1000,
		TimeNs: int64(v[4]*1e6 + 0.5), MinM: v[5], MaxM: v[6],
	}, nil
}

// Presets returns the names of all devices, sorted, and Uniform.
func Presets() []string {
	list, err := devices()
	if err != nil {
		panic(err) // the embedded tables are tested
	}
	names := []string{Uniform}
	for _, devices := range []map[string]*Device{list, svlDevices} {
		names = slices.AppendSeq(names, maps.Keys(devices))
	}
	for name := range realDevices {
		names = append(names, name+realSuffix)
	}
	slices.Sort(names)
	return names
}

// Preset returns a device by name; ok is false for an unknown one and for Uniform,
// which has no table.
func Preset(name string) (d Device, ok bool) {
	list, err := devices()
	if err != nil {
		return Device{}, false
	}
	model, real := strings.CutSuffix(name, realSuffix)
	found := list[model]
	if found == nil && !real {
		found = svlDevices[name]
	}
	if found == nil {
		return Device{}, false
	}
	d = *found
	d.Name = name
	if real {
		d.fireAsMade(model)
	}
	return d, true
}

// velodyneSlots say when the lasers of Velodyne's devices fire by their manuals: lasers of one slot together, slots
// so many nanoseconds apart. The published tables of two of them differ: by up to 35 µs in a VLP-32C, and by 7 µs
// in a VLS-128.
var velodyneSlots = map[string]struct {
	ns   int64
	slot func(laser int) int
}{
	"VelodyneVLP16":  {2304, func(laser int) int { return laser }},
	"VelodyneVLP32C": {2304, func(laser int) int { return laser / 2 }},
	"VelodyneVLS128": {2665, func(laser int) int { return laser/8 + laser/64 }}, // after eight one is left out
}

// fireAsMade gives the lasers of a model the times and the turning of the device, where its manual tells.
func (d *Device) fireAsMade(model string) {
	manual, told := velodyneSlots[model]
	if !told {
		return
	}
	d.Lasers = slices.Clone(d.Lasers)
	for i := range d.Lasers {
		d.Lasers[i].TimeNs, d.Lasers[i].Turned = int64(manual.slot(i))*manual.ns, true
	}
}

// UniformDevice returns a device of 100 m range whose lasers are spread evenly from the upper
// to the lower elevation in degrees, both included. They span a horizontal field of view
// centred ahead: a whole turn begins behind, as CARLA's do.
func UniformDevice(lasers, columns int, upperDeg, lowerDeg, horizontalDeg float64) Device {
	list := make([]float64, lasers)
	for i := range list {
		list[i] = upperDeg
		if lasers > 1 {
			list[i] -= float64(i) * (upperDeg - lowerDeg) / float64(lasers-1)
		}
	}
	d := evenColumns(list, columns, horizontalDeg)
	d.Name, d.MaxM = Uniform, 100
	return d
}

// evenColumns returns a device without a name and ranges. It has a laser for each elevation,
// ring by ring. Its columns go from one edge of a horizontal field of view centred ahead to one
// step short of the other.
func evenColumns(elevationsDeg []float64, columns int, horizontalDeg float64) Device {
	d := Device{Columns: columns, StartDeg: -horizontalDeg / 2, StepDeg: horizontalDeg / float64(columns)}
	for i, elevation := range elevationsDeg {
		d.Lasers = append(d.Lasers, Laser{Ring: uint16(i), ElevationDeg: elevation})
	}
	return d
}

// rays is the number of rays of a scan.
func (d *Device) rays() int { return d.Columns * len(d.Lasers) }

// endRad is where a scan ends, which is where its next column would be: clockwise
// from ahead, over -pi up to pi.
func (d *Device) endRad() float64 {
	end := math.Remainder(d.StartDeg+float64(d.Columns)*d.StepDeg, 360)
	if end <= -180 {
		end += 360
	}
	return mgl64.DegToRad(end)
}

// narrow bounds the ranges of all lasers, which keep bounds of their own that are narrower. It
// may widen those that the device has in common.
func (d *Device) narrow(minM, maxM float64) {
	d.MinM, d.MaxM = minM, maxM
	d.Lasers = slices.Clone(d.Lasers)
	for i := range d.Lasers {
		l := &d.Lasers[i]
		if l.MinM > 0 {
			l.MinM = max(l.MinM, minM)
		}
		l.MaxM = min(l.MaxM, maxM)
	}
}

// check returns an error for ranges that are empty and scans that are too large.
func (d *Device) check() error {
	if d.MinM >= d.MaxM {
		return fmt.Errorf("%w: range_min %v is not below range %v", sensors.ErrValue, d.MinM, d.MaxM)
	}
	for i := range d.Lasers {
		if lo, hi := d.bounds(&d.Lasers[i], 0); lo >= hi {
			return fmt.Errorf("%w: laser %d of %s is left without a range, %v to %v m: change range_min or range",
				sensors.ErrValue, i, d.Name, lo, hi)
		}
	}
	if d.rays() > maxRays {
		return fmt.Errorf("%w: a scan of %d lasers and %d columns has %d rays, %s, and %d at most are possible, %s",
			sensors.ErrValue, len(d.Lasers), d.Columns, d.rays(), sizeOf(d.rays()), maxRays, sizeOf(maxRays))
	}
	return nil
}

// sizeOf says how much memory so many points of a scan take.
func sizeOf(points int) string {
	return memory.Size(int64(points) * int64(unsafe.Sizeof(sample.Point{})))
}

// maxRays keeps a scan within the 128 MiB that every OpenGL allows a buffer to have.
const maxRays = 128 << 20 / int(unsafe.Sizeof(sample.Point{}))

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
			azimuth := -mgl64.DegToRad(d.StartDeg + float64(column)*d.StepDeg + d.offsetDeg(i, periodNs))
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

// laserNs is when a laser fires within its column. At rates at which the columns follow faster
// than the device's own firing cycle, it is within the column all the same.
func (d *Device) laserNs(laser int, periodNs int64) int64 {
	return min(d.Lasers[laser].TimeNs, max(periodNs/int64(d.Columns)-1, 0))
}

// offsetDeg is a laser's azimuth from its column's, clockwise.
func (d *Device) offsetDeg(laser int, periodNs int64) float64 {
	l := &d.Lasers[laser]
	if !l.Turned {
		return l.AzimuthOffsetDeg
	}
	return l.AzimuthOffsetDeg + d.StepDeg*float64(d.Columns)*float64(d.laserNs(laser, periodNs))/float64(periodNs)
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

// texels is the length of the table.
func (d *Device) texels() int {
	return shaders.LaserTexels*len(d.Lasers) + shaders.ColumnTexels*d.Columns
}

// table writes the device as shaders/lidar_scan.comp reads it, with the ranges that the air leaves.
func (d *Device) table(periodNs int64, now air) []byte {
	out := make([]byte, 0, 16*d.texels())
	put := func(words ...uint32) {
		for _, w := range words {
			out = binary.LittleEndian.AppendUint32(out, w)
		}
	}
	bits := func(f float64) uint32 { return math.Float32bits(float32(f)) }
	for i := range d.Lasers {
		l := &d.Lasers[i]
		up, along := math.Sincos(mgl64.DegToRad(l.ElevationDeg))
		sin, cos := math.Sincos(-mgl64.DegToRad(d.offsetDeg(i, periodNs)))
		even, hi := d.bounds(l, 0)
		odd, _ := d.bounds(l, 1)
		put(bits(along), bits(up), bits(cos), bits(sin))
		put(bits(l.HeightM), uint32(d.laserNs(i, periodNs)), uint32(l.Ring), bits(now.reach(hi)))
		put(bits(even), bits(odd), 0, 0)
	}
	for column := range d.Columns {
		sin, cos := math.Sincos(-mgl64.DegToRad(d.StartDeg + float64(column)*d.StepDeg))
		put(bits(cos), bits(sin), uint32(d.columnNs(column, periodNs)), 0)
	}
	return out
}

// SVLElevations returns the elevations, in degrees, up positive, from the lowest to the
// highest, of SVL Simulator's lidar. The lidar has a number of lasers, a vertical field of view
// and the angle of its centre below the horizon. SVL divides the field by the number of lasers,
// so that the topmost is one step short of the upper edge. A single laser looks along the
// centre.
func SVLElevations(laserCount int, fieldOfView, centerAngle float64) []float64 {
	if laserCount == 1 {
		return []float64{-centerAngle}
	}
	list := make([]float64, laserCount)
	for i := range list {
		list[i] = float64(i)*fieldOfView/float64(laserCount) - centerAngle - fieldOfView/2
	}
	return list
}

// SVLColumns returns how many firings SVL's lidars make over a horizontal field of
// view in degrees, given those of a whole rotation.
func SVLColumns(measurementsPerRotation int, horizontalAngle float64) int {
	return int(float64(measurementsPerRotation) * horizontalAngle / 360)
}

// svlDevices are the lidars that SVL Simulator offers as templates, and those whose
// parameters its documentation lists, by their names there. They turn a whole
// circle that begins behind.
var svlDevices = map[string]*Device{
	"Lidar16":            svlDevice("Lidar16", SVLElevations(16, 30, 0), 1000, 100),
	"Lidar16b":           svlDevice("Lidar16b", SVLElevations(16, 20, 0), 1500, 100),
	"Lidar32":            svlDevice("Lidar32", SVLElevations(32, 41.33, 10), 1500, 100),
	"Lidar32-NonUniform": svlDevice("Lidar32-NonUniform", svlVLP32C, 1500, 100),
	"Lidar64":            svlDevice("Lidar64", SVLElevations(64, 26.9, 11.45), 2000, 120),
	"Lidar128":           svlDevice("Lidar128", SVLElevations(128, 40, 5), 3272, 300),
	"VLP-16":             svlDevice("VLP-16", SVLElevations(16, 30, 0), 1800, 100),
	"VLP-32C":            svlDevice("VLP-32C", svlVLP32C, 1800, 100),
	"VLS-128":            svlDevice("VLS-128", svlVLS128, 1800, 100),
}

func svlDevice(name string, elevationsDeg []float64, columns int, maxM float64) *Device {
	d := evenColumns(elevationsDeg, columns, 360)
	d.Name, d.MinM, d.MaxM = name, 0.5, maxM
	return &d
}

// svlVLP32C and svlVLS128 are elevations in the order of the lasers, degrees.
var svlVLP32C = []float64{
	-25, -1, -1.667, -15.639, -11.31, 0, -0.667, -8.843, -7.254, 0.333, -0.333, -6.148,
	-5.333, 1.333, 0.667, -4, -4.667, 1.667, 1, -3.667, -3.333, 3.333, 2.333, -2.667,
	-3, 7, 4.667, -2.333, -2, 15, 10.333, -1.333,
}

var svlVLS128 = []float64{
	-11.742, -1.99, 3.4, -5.29, -0.78, 4.61, -4.08, 1.31, -6.5, -1.11, 4.28, -4.41,
	0.1, 6.48, -3.2, 2.19, -3.86, 1.53, -9.244, -1.77, 2.74, -5.95, -0.56, 4.83,
	-2.98, 2.41, -6.28, -0.89, 3.62, -5.07, 0.32, 7.58, -0.34, 5.18, -3.64, 1.75,
	-25, -2.43, 2.96, -5.73, 0.54, 9.7, -2.76, 2.63, -7.65, -1.55, 3.84, -4.85,
	3.188, -5.51, -0.12, 5.73, -4.3, 1.09, -16.042, -2.21, 4.06, -4.63, 0.76, 15,
	-3.42, 1.97, -6.85, -1.33, -5.62, -0.23, 5.43, -3.53, 0.98, -19.582, -2.32, 3.07,
	-4.74, 0.65, 11.75, -2.65, 1.86, -7.15, -1.44, 3.95, -2.1, 3.29, -5.4, -0.01,
	4.5, -4.19, 1.2, -13.565, -1.22, 4.17, -4.52, 0.87, 6.08, -3.31, 2.08, -6.65,
	1.42, -10.346, -1.88, 3.51, -6.06, -0.67, 4.72, -3.97, 2.3, -6.39, -1, 4.39,
	-5.18, 0.21, 6.98, -3.09, 4.98, -3.75, 1.64, -8.352, -2.54, 2.85, -5.84, -0.45,
	8.43, -2.87, 2.52, -6.17, -1.66, 3.73, -4.96, 0.43,
}
