package rig_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
)

// document is a rig of one sensor of a foreign type with some parameters.
func document(t *testing.T, dialect string, kind *rig.ForeignType, params map[string]any) []byte {
	t.Helper()
	sensor := map[string]any{"type": kind.Names[0], "name": "it", "params": params}
	if dialect == "CARLA" {
		sensor = map[string]any{"type": kind.Names[0], "id": "it", "attributes": params}
	}
	var root any = sensor
	if dialect == "CARLA" {
		root = map[string]any{"objects": []any{map[string]any{"type": "vehicle.a", "id": "ego_vehicle", "sensors": []any{sensor}}}}
	}
	data, err := json.Marshal(root)
	require.NoError(t, err)
	return data
}

// other is a value that a parameter takes and that isn't its default.
func other(p *rig.Parameter) any {
	middle := func() float64 {
		if p.Min < p.Max {
			return p.Min + (p.Max-p.Min)/4
		}
		switch d := p.Default.(type) {
		case float64:
			return 0.95*d + 0.01
		case int64:
			return float64(d) + 1
		}
		return 1
	}
	if p.Name == "sensor_tick" {
		return 0.2 // a quarter of its range is minutes
	}
	switch p.Kind {
	case rig.KindNumber:
		return middle()
	case rig.KindInteger:
		return int64(middle())
	case rig.KindBool:
		return p.Default != true
	case rig.KindText:
		if n := len(p.Options); n > 0 {
			return p.Options[n-1]
		}
		return "/" + strings.ToLower(p.Name)
	case rig.KindNumbers:
		return []float64{1, 2, 3, 4}
	case rig.KindTexts:
		return p.Options[:2]
	default:
		return []any{1}
	}
}

// TestEveryTypeBecomesOneOfOurs converts each foreign type, without and with
// all its parameters, for the registry of all sensors: ids, attributes and outputs
// exist, and the values lie in their ranges.
func TestEveryTypeBecomesOneOfOurs(t *testing.T) {
	for _, dialect := range rig.Dialects() {
		for _, kind := range dialect.Types {
			if kind.ID == "" {
				assert.True(t, kind.Without != "" || kind.Driver != "", "%s says what becomes of it", kind.Names[0])
				continue
			}
			definition, err := all.Registry().Get(kind.ID)
			require.NoError(t, err, kind.Names[0])
			for i := range kind.Parameters {
				p := &kind.Parameters[i]
				assert.True(t, p.Attribute != "" || p.How != "" || p.Lost != "", "%s of %s says what becomes of it", p.Name, kind.Names[0])
				if p.Attribute != "" {
					assert.Contains(t, definition.AttributeNames(), p.Attribute, "%s of %s", p.Name, kind.Names[0])
				}
			}
			given := map[string]any{}
			for i := range kind.Parameters {
				given[kind.Parameters[i].Name] = other(&kind.Parameters[i])
			}
			for _, params := range []map[string]any{nil, given} {
				r, err := rig.Parse("r.json", document(t, dialect.Name, kind, params))
				require.NoError(t, err, kind.Names[0])
				_, err = pipeline.CheckRig(r, all.Registry())
				require.NoError(t, err, "%s with %v", kind.Names[0], params)
			}
		}
	}
}

// TestWhatIsLeftOutHasOurDefault: a parameter that isn't given is written as the
// other program's default, or left out where ours is the same.
func TestWhatIsLeftOutHasOurDefault(t *testing.T) {
	leftOut := 0
	for _, dialect := range rig.Dialects() {
		for _, kind := range dialect.Types {
			if kind.ID == "" {
				continue
			}
			definition, err := all.Registry().Get(kind.ID)
			require.NoError(t, err)
			r, err := rig.Parse("r.json", document(t, dialect.Name, kind, nil))
			require.NoError(t, err)
			if len(r.Sensors) == 0 {
				continue // the clock
			}
			written := attributes(&r.Sensors[0])
			for i := range kind.Parameters {
				p := &kind.Parameters[i]
				if _, ok := written[p.Attribute]; ok || p.Attribute == "" || p.Default == nil {
					continue
				}
				assert.Equal(t, p.Default, attribute(t, definition, p.Attribute).Default, "%s of %s", p.Name, kind.Names[0])
				leftOut++
			}
		}
	}
	assert.Greater(t, leftOut, 100)
}

func attribute(t *testing.T, d *sensors.Definition, name string) *sensors.Attribute {
	t.Helper()
	i := slices.IndexFunc(d.Attributes, func(a sensors.Attribute) bool { return a.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s of %s", name, d.ID)
	return &d.Attributes[i]
}

// rigFiles are our small foreign rigs, and those that lie beside the checkout.
func rigFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"testdata/*.json", "../../shared/assets/rigs/*/*.json"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.GreaterOrEqual(t, len(files), 3)
	return files
}

// TestConvertedRigsAreTheSame writes each rig as our YAML and reads that: sensors,
// frames, poses, topics, rates and settings are the same.
func TestConvertedRigsAreTheSame(t *testing.T) {
	for _, file := range rigFiles(t) {
		r, err := rig.Read(file)
		require.NoError(t, err)
		want, err := r.Resolve(all.Registry())
		require.NoError(t, err, file)
		require.NotEmpty(t, want, file)
		var text bytes.Buffer
		require.NoError(t, r.WriteYAML(&text))
		again, err := rig.Parse("r.yaml", text.Bytes())
		require.NoError(t, err, "%s:\n%s", file, &text)
		assert.Equal(t, r.Drivers, again.Drivers, file)
		got, err := again.Resolve(all.Registry())
		require.NoError(t, err, file)
		require.Len(t, got, len(want), file)
		for i := range want {
			a, b := &want[i], &got[i]
			assert.Equal(t, [6]string{a.Spec.Name, a.Spec.Frame, a.Spec.FrameID, a.Spec.ParentFrame, a.Topic, a.Rate},
				[6]string{b.Spec.Name, b.Spec.Frame, b.Spec.FrameID, b.Spec.ParentFrame, b.Topic, b.Rate}, file)
			assert.Equal(t, a.Topics, b.Topics, file)
			assert.Equal(t, a.Relative, b.Relative, file)
			assert.Equal(t, a.Spec.Mount, b.Spec.Mount, file)
			require.Equal(t, a.Spec.Definition, b.Spec.Definition, file)
			for _, name := range a.Spec.Definition.AttributeNames() {
				assert.Equal(t, a.Spec.Settings.Value(name), b.Spec.Settings.Value(name), "%s of %s in %s", name, a.Spec.Name, file)
			}
		}
	}
}

func TestConvertedRigsTellWhatWasLost(t *testing.T) {
	r, err := rig.Read("testdata/carla_objects.json")
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.WriteYAML(&text))
	for _, want := range []string{
		"# Converted from the objects of CARLA's ROS bridge.",
		"# What has no counterpart here (lines are those of the file it came from):",
		`#   line 4: sensor.pseudo.opendrive_map "map": raybridge's scenes have no OpenDRIVE map`,
		"  # sensor.camera.rgb \"front\"\n  - id: sensor.camera.rgb\n    name: front\n    frame_id: ego_vehicle/front\n",
	} {
		assert.Contains(t, text.String(), want)
	}
	assert.NotContains(t, text.String(), "put up with")
}

// TestNumbersAndTextsSurvive: whatever a value is, it is read as it was written.
func TestNumbersAndTextsSurvive(t *testing.T) {
	for _, v := range []any{
		0.1, 1e-12, -3.5e20, 1.0, int64(-7), true, "plain", "with space", "yes", "1", "-1", "a: b", "#", "", "\"", "\u2028", "ü",
		[]float64{}, []float64{1, -0.25, 1e-10},
	} {
		made := rig.Rig{Sensors: []rig.Entry{{ID: "sensor.test", Name: "a", Attributes: []rig.Attribute{{Name: "v", Value: v}}}}}
		var text bytes.Buffer
		require.NoError(t, made.WriteYAML(&text))
		r, err := rig.Parse("r.yaml", text.Bytes())
		require.NoError(t, err, text.String())
		kind := sensors.Float
		switch v.(type) {
		case int64:
			kind = sensors.Int
		case bool:
			kind = sensors.Bool
		case string:
			kind = sensors.String
		case []float64:
			kind = sensors.Floats
		}
		a := sensors.Attribute{Name: "v", Type: kind}
		got, err := a.Parse(r.Sensors[0].Attributes[0].Value)
		require.NoError(t, err, text.String())
		assert.Equal(t, v, got, text.String())
	}
}

// superfluousCommas returns the lines of the commas too many that a rig has.
func superfluousCommas(r *rig.Rig) (lines []int) {
	for _, n := range r.Notices {
		if strings.Contains(n.Text, "superfluous comma") {
			lines = append(lines, n.Line)
		}
	}
	return lines
}

// TestForeignRigs: our rigs in the forms of other simulators are known whole: their
// sensors in their order, and where they have commas too many.
func TestForeignRigs(t *testing.T) {
	for file, want := range map[string]struct {
		sensors string
		commas  []int
	}{
		"svl_lidar.json": {"Top_Lidar", []int{5, 9, 12}},
		"svl_roof.json":  {"CAN_Bus Left_Lidar Right_Lidar GPS IMU Rear_Camera", []int{2, 2, 8, 11, 26}},
		"svl_vehicle.json": {"Roof_Lidar Front_Lidar Scanner Front_Camera Depth Segmentation Instances Radar Ultrasonic GPS GPS_Odometry " +
			"INS IMU IMU_corrected CAN_Bus Vehicle_Odometry Signal Boxes_2D Boxes_3D", nil},
		"carla_hero.json": {"chase events roof bumper fix imu bump lanes tf around odom speed", nil},
		"carla_objects.json": {"objects front imu semantic instance depth normals flow events lidar semantic_lidar radar gnss collision " +
			"lane_invasion obstacle tf ego_vehicle_objects odometry speedometer traffic_lights", nil},
	} {
		r, err := rig.Read(filepath.Join("testdata", file))
		require.NoError(t, err)
		list, err := r.Resolve(all.Registry())
		require.NoError(t, err, file)
		var names []string
		for i := range list {
			names = append(names, list[i].Spec.Name)
		}
		assert.Equal(t, want.sensors, strings.Join(names, " "), file)
		assert.Equal(t, want.commas, superfluousCommas(r), file)
	}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	assert.Len(t, files, 5, "all that lie there")
}

// TestSharedRigs: every rig of others that lies beside the checkout is known, and five
// of them have commas too many.
func TestSharedRigs(t *testing.T) {
	files, err := filepath.Glob("../../shared/assets/rigs/*/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no ../shared/assets/rigs beside the checkout; TestForeignRigs has our own")
	}
	commas := 0
	for _, file := range files {
		r, err := rig.Read(file)
		require.NoError(t, err)
		_, err = r.Resolve(all.Registry())
		require.NoError(t, err, file)
		if len(superfluousCommas(r)) > 0 {
			commas++
		}
	}
	assert.Equal(t, 5, commas)
}
