package lidar

import (
	_ "embed" // the firing tables
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	// StartDeg (clockwise from straight ahead).
	Columns           int
	StartDeg, StepDeg float64
	// MinM and MaxM bound the range of lasers that have no bounds of their own.
	MinM, MaxM float64
}

// models has, for each table, what the table doesn't say: columns, azimuth
// window and range.
var models = map[string]Device{
	"VelodyneVLP16":            {Columns: 1800, StepDeg: 0.2, MaxM: 100},
	"VelodyneVLP32C":           {Columns: 1800, StepDeg: 0.2, MaxM: 200},
	"VelodyneVLS128":           {Columns: 1800, StepDeg: 0.2, MaxM: 300},
	"HesaiPandarQT":            {Columns: 600, StepDeg: 0.6, MaxM: 20},
	"HesaiPandar40P":           {Columns: 1800, StepDeg: 0.2, MaxM: 200},
	"OusterOS1_64":             {Columns: 1024, StepDeg: 360.0 / 1024, MaxM: 120},
	"HesaiAT128E2X":            {Columns: 600, StartDeg: -60, StepDeg: 0.2, MaxM: 200},
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
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Preset returns a device by name; ok is false for an unknown one and for Uniform,
// which has no table.
func Preset(name string) (d Device, ok bool) {
	list, err := devices()
	if err != nil || list[name] == nil {
		return Device{}, false
	}
	return *list[name], true
}

// UniformDevice returns a device whose lasers are spread evenly from the upper to
// the lower elevation in degrees, over a horizontal field of view centred ahead.
func UniformDevice(lasers, columns int, upperDeg, lowerDeg, horizontalDeg float64) Device {
	d := Device{Name: Uniform, Columns: columns, StartDeg: -horizontalDeg / 2, StepDeg: horizontalDeg / float64(columns), MaxM: 100}
	if horizontalDeg >= 360 {
		d.StartDeg = 0
	}
	for i := range lasers {
		elevation := upperDeg
		if lasers > 1 {
			elevation += (lowerDeg - upperDeg) * float64(i) / float64(lasers-1)
		}
		d.Lasers = append(d.Lasers, Laser{Ring: uint16(i), ElevationDeg: elevation})
	}
	return d
}
