package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream/wire"
	"github.com/raybridge/raybridge/spatial"
)

// probe is the header of all messages that testdata/vectors.c writes.
var probe = sample.Header{
	StampNs: 1_500_000_000, Seq: 7, Frame: 42, FrameID: "probe",
	Pose: spatial.Pose{Position: mgl64.Vec3{1.5, -2.25, 0.75}, Orientation: quat(0.5, -0.5, 0.25, 0.125)},
}

func quat(x, y, z, w float64) mgl64.Quat { return mgl64.Quat{V: mgl64.Vec3{x, y, z}, W: w} }

// fromC is what vectors.c writes, as samples, by file.
var fromC = map[string]struct {
	typeID wire.TypeID
	sample any
}{
	"Image": {wire.NewTypeID(1, 0), &sample.Image{
		Header: probe, Width: 2, Height: 2, Step: 8, Encoding: "rgb8", FovDeg: 90.5,
		Data: []byte{10, 20, 30, 40, 50, 60, 0, 0, 70, 80, 90, 100, 110, 120},
	}},
	"PointCloud": {wire.NewTypeID(20, 1), &sample.PointCloud{
		Header: probe, HorizontalAngle: 1.25, Rings: 16, Columns: 1800, Organized: true, Layout: "carla_",
		Points: []sample.Point{
			{X: 1, Y: -2, Z: 3, Intensity: 50.5, Distance: 3.75, Azimuth: -1.125, Elevation: 0.5, Return: 1, Tag: 14, Instance: 70000, CosIncidence: 0.875},
			{X: 4, Y: 5, Z: -6, Intensity: 255, Distance: 8.5, Azimuth: 0.875, Elevation: -0.25, TimeNs: 55296, Ring: 15, Return: 2, Tag: 7, Instance: 3, CosIncidence: 0.5, Ray: 1},
			{X: -7, Y: 8, Z: 9, Distance: 14, Azimuth: 2.5, Elevation: 0.75, TimeNs: 99999999, Ring: 65535, Tag: 255, Instance: math.MaxUint32, CosIncidence: 1, Ray: 28799},
		},
	}},
	"Imu": {wire.NewTypeID(40, 0), &sample.Imu{
		Header: probe, Orientation: quat(0.5, -0.5, 0.5, -0.5), OrientationCovariance: [9]float64{1, 2, 3, 4, 5, 6, 7, 8, 9},
		AngularVelocity: mgl64.Vec3{0.25, -0.125, 1e-9}, AngularVelocityCovariance: [9]float64{-1},
		LinearAcceleration: mgl64.Vec3{-9.75, 1.5, 9.80665}, LinearAccelerationCovariance: [9]float64{10, 11, 12, 13, 14, 15, 16, 17, 18},
	}},
	"Snapshot": {wire.NewTypeID(60, 0), &sample.Snapshot{
		Header: probe, DeltaNs: 10_000_000,
		Actors: []sample.ActorState{
			{
				TypeID: "vehicle.ego", Kind: sample.KindVehicle, Reverse: true,
				Pose:         spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: quat(0, 0, 0.5, 0.75)},
				Twist:        spatial.Twist{Linear: mgl64.Vec3{4, 5, 6}, Angular: mgl64.Vec3{7, 8, 9}},
				Acceleration: mgl64.Vec3{-1, -2, -3}, BoxCenter: mgl64.Vec3{0.5, 0, 0.75}, BoxHalf: mgl64.Vec3{2.25, 1, 0.75},
				Throttle: 0.25, Braking: 0.5, Steering: -0.75, Gear: -1,
			},
			{ID: 12, TypeID: "walker.pedestrian.0001", Kind: sample.KindWalker, Pose: spatial.Pose{Position: mgl64.Vec3{-1, -2, -3}, Orientation: quat(0, 0, 0, 1)}},
			{ID: math.MaxUint32, TypeID: "信", Kind: sample.KindTrafficLight, Signal: sample.SignalGreen, SignalElapsed: 1.5, Red: 12, Yellow: 3, Green: 10},
		},
	}},
}

// Messages that a C program wrote from the document are read, and written, to the byte.
func TestMessagesOfACProgram(t *testing.T) {
	for name, c := range fromC {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "c", name+".bin"))
			require.NoError(t, err)
			m, err := wire.Open(b)
			require.NoError(t, err)
			assert.Equal(t, c.typeID, m.Type())
			assert.EqualValues(t, 2_000_000_001, m.PublishNs())
			checkDecodes(t, c.sample, b)
			mine, err := wire.Append(nil, wire.Envelope{Type: c.typeID, PublishNs: 2_000_000_001}, c.sample)
			require.NoError(t, err)
			assert.Equal(t, hex.Dump(b), hex.Dump(mine))
		})
	}
}

// TestVectorsOfTheCProgramAreFresh makes them anew where there is a C compiler.
func TestVectorsOfTheCProgramAreFresh(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || !wire.Native() {
		t.Skip("needs a C compiler on a little-endian machine:", err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "vectors")
	out, err := exec.CommandContext(t.Context(), cc, "-o", program, filepath.Join("testdata", "vectors.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	files, err := filepath.Glob(filepath.Join("testdata", "c", "*.bin"))
	require.NoError(t, err)
	require.Len(t, files, len(fromC)+1, "and the frame")
	for _, file := range files {
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		fresh, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		require.NoError(t, err)
		assert.Equal(t, hex.Dump(fresh), hex.Dump(have), file)
	}
}

// TestDocumentDescribesEveryMessage has a Python program, which knows the tables of the
// document and nothing else, read the vectors of every kind.
func TestDocumentDescribesEveryMessage(t *testing.T) {
	needs64(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs Python 3:", err)
	}
	args := []string{filepath.Join("testdata", "read.py"), filepath.Join("..", "..", "..", "docs", "stream-protocol.md")}
	all := filled()
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		args = append(args, filepath.Join(vectors, name+".bin"))
	}
	out, err := exec.CommandContext(t.Context(), python, args...).Output()
	var failed *exec.ExitError
	if err != nil {
		_ = assert.ErrorAs(t, err, &failed) && assert.Fail(t, string(failed.Stderr))
		t.FailNow()
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(names))
	for i, name := range names {
		decoder := json.NewDecoder(strings.NewReader(lines[i]))
		decoder.UseNumber() // integers of 64 bits
		var got map[string]any
		require.NoError(t, decoder.Decode(&got))
		compare(t, name, reflect.ValueOf(all[name]).Elem(), got)
		if h, ok := all[name].(interface{ SampleHeader() *sample.Header }); ok {
			head := got["header"].(map[string]any)
			compare(t, name+".header", reflect.ValueOf(h.SampleHeader()).Elem(), head)
		}
	}
}

// compare holds what Python read, numbers and lists by field, against a Go value.
func compare(t *testing.T, where string, want reflect.Value, got any) {
	t.Helper()
	switch want.Kind() {
	case reflect.Struct:
		fields, ok := got.(map[string]any)
		require.True(t, ok, "%s: %v", where, got)
		for i := range want.NumField() {
			f := want.Type().Field(i)
			value, ok := fields[f.Name]
			switch {
			case ok:
				compare(t, where+"."+f.Name, want.Field(i), value)
			case f.Anonymous: // a header's fields stand among the record's own
				if f.Type == reflect.TypeFor[sample.Header]() && fields["header"] == nil {
					compare(t, where, want.Field(i), got)
				}
			case f.Name == "StampNs": // the message's capture time
				compare(t, where+"."+f.Name, want.Field(i), fields["header"].(map[string]any)["StampNs"])
			default:
				assert.Fail(t, "the document lacks a field", "%s.%s", where, f.Name)
			}
		}
	case reflect.Slice, reflect.Array:
		list, _ := got.([]any)
		if assert.Len(t, list, want.Len(), where) {
			for i := range list {
				compare(t, where, want.Index(i), list[i])
			}
		}
	case reflect.String:
		assert.Equal(t, want.String(), got, where)
	case reflect.Bool:
		assert.Equal(t, want.Bool(), got, where)
	case reflect.Float32, reflect.Float64:
		f, err := got.(json.Number).Float64()
		require.NoError(t, err)
		assert.Equal(t, want.Float(), f, where)
	default:
		number := got.(json.Number).String()
		if want.CanInt() {
			assert.Equal(t, strconv.FormatInt(want.Int(), 10), number, where)
			return
		}
		assert.Equal(t, strconv.FormatUint(want.Uint(), 10), number, where)
	}
}
