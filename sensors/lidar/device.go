package lidar

import (
	_ "embed" // the firing tables
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
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

// parseDevices reads firing tables with the columns model, firing_index, ring,
// elevation, azimuth offset, vertical offset in mm, time offset in ms, minimum and
// maximum range (empty for the model's).
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
	found := list[name]
	if found == nil {
		found = svlDevices[name]
	}
	if found == nil {
		return Device{}, false
	}
	return *found, true
}

// UniformDevice returns a device of 100 m range whose lasers are spread evenly from
// the upper to the lower elevation in degrees, both included, over a horizontal
// field of view centred ahead: a whole turn begins behind, as CARLA's do.
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

// evenColumns returns a device without a name and ranges: a laser for each
// elevation, ring by ring, and columns from one edge of a horizontal field of view
// centred ahead to one step short of the other.
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

// narrow bounds the ranges of all lasers, which keep bounds of their own that are
// narrower; it may widen those that the device has in common.
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
		return fmt.Errorf("%w: a scan of %d lasers and %d columns has %d rays, and %d at most are possible",
			sensors.ErrValue, len(d.Lasers), d.Columns, d.rays(), maxRays)
	}
	return nil
}

// maxRays keeps a scan within the 128 MiB that every OpenGL allows a buffer to have.
const maxRays = 128 << 20 / pointBytes
