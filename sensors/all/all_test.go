package all_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/all"
)

// numbers are the types' numbers in wire formats. A line is added with a type; none is
// ever changed or used again, not even for a type that is gone.
var numbers = map[uint16]string{
	1:  "sensor.camera.rgb",
	2:  "sensor.camera.depth",
	3:  "sensor.camera.semantic_segmentation",
	4:  "sensor.camera.instance_segmentation",
	5:  "sensor.camera.normals",
	6:  "sensor.camera.optical_flow",
	7:  "sensor.camera.dvs",
	20: "sensor.lidar.ray_cast",
	21: "sensor.lidar.ray_cast_semantic",
	22: "sensor.lidar.laser_scan",
	30: "sensor.other.radar",
	31: "sensor.other.ultrasonic",
	40: "sensor.other.imu",
	41: "sensor.other.gnss",
	42: "sensor.other.gps_odometry",
	43: "sensor.other.ins_status",
	44: "sensor.other.odometry",
	45: "sensor.other.transform",
	46: "sensor.other.vehicle_odometry",
	47: "sensor.other.can_bus",
	48: "sensor.other.speedometer",
	49: "sensor.other.clock", 50: "sensor.other.control",
	51: "sensor.other.comfort",
	52: "sensor.other.vehicle_state",
	53: "sensor.other.cruise_control",
	54: "sensor.other.lane_following",
	55: "sensor.other.destination",
	56: "sensor.other.control_calibration",
	60: "sensor.other.snapshot",
	61: "sensor.other.lane_marks",
	62: "sensor.other.collision",
	63: "sensor.other.obstacle",
	64: "sensor.other.lane_invasion",
	65: "sensor.other.safe_distance",
	66: "sensor.other.signals",
	67: "sensor.other.lane_lines",
	70: "sensor.ground_truth.boxes_2d",
	71: "sensor.ground_truth.boxes_3d",
}

func TestNumbersAreForEver(t *testing.T) {
	got := map[uint16]string{}
	for _, id := range all.Registry().IDs() {
		d, err := all.Registry().Get(id)
		assert.NoError(t, err)
		got[d.Number] = id
	}
	assert.Equal(t, numbers, got, "a new type needs a line in numbers; no line changes or goes")
}

// TestAllPassTheConformanceSuite: a test of the type's package that calls sensortest.Run
// names its definition. Sensors without outputs publish nothing that the suite could compare.
func TestAllPassTheConformanceSuite(t *testing.T) {
	list, err := os.ReadFile("all.go")
	require.NoError(t, err)
	types := regexp.MustCompile(`(?m)^\t\t(\w+)\.(\w+Definition),$`).FindAllStringSubmatch(string(list), -1)
	require.Len(t, types, len(all.Definitions()))
	for i, d := range types {
		if len(all.Definitions()[i].Outputs) == 0 {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", d[1], "*_test.go"))
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "sensortest.Run(") && strings.Contains(string(text), "."+d[2])
		}), "%s.%s has no row in TestConformance of sensors/%[1]s", d[1], d[2])
	}
}

// changing are names of what can change while a sensor runs: ranges, noise and exposure.
var changing = regexp.MustCompile(`^range|_range$|^(max_)?distance$|noise|sigma|dropoff|exposure|^iso$|^fstop$|shutter_speed`)

// TestRangesNoiseAndExposureAreLive in every type that has them, except for a noise's seed.
func TestRangesNoiseAndExposureAreLive(t *testing.T) {
	found := 0
	for _, d := range all.Definitions() {
		for _, a := range d.Attributes {
			if changing.MatchString(a.Name) && a.Inert == "" && !a.Fixed && !strings.HasSuffix(a.Name, "_seed") {
				found++
				assert.True(t, a.Live, "%s of %s", a.Name, d.ID)
			}
		}
	}
	assert.Greater(t, found, 50)
}

// TestQueuesKeepDeepCopies: a copy of a message has all of it and shares no memory with it. It
// allocates nothing where there is memory of one before (laws D3 and D8).
func TestQueuesKeepDeepCopies(t *testing.T) {
	for _, d := range all.Definitions() {
		for _, out := range d.Outputs {
			src, dst := bridgetest.Filled(out.Type), out.New()
			out.Copy(dst, src)
			clearSlices(reflect.ValueOf(src).Elem())
			src = bridgetest.Filled(out.Type)
			assert.Equal(t, src, dst, "%s of %s", out.Name, d.ID)
			assert.Zero(t, testing.AllocsPerRun(10, func() { out.Copy(dst, src) }), "%s of %s", out.Name, d.ID)
		}
	}
}

// clearSlices sets the elements of a structure's slices to zero.
func clearSlices(v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Clear()
		}
	}
}
