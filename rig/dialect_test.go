package rig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// jsonf writes a document.
func jsonf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// svlLike is a registry of what the tests of frames and poses use, without attributes.
func svlLike() *sensors.Registry {
	var list []*sensors.Definition
	for _, id := range []string{"sensor.other.radar", "sensor.other.imu", "sensor.other.gnss"} {
		list = append(list, &sensors.Definition{
			ID: id, Rate: simtime.Hz(10), New: func(sensors.Spec) (sensors.Sensor, error) { return nothing{}, nil },
		})
	}
	return sensors.Must(sensors.NewRegistry(list...))
}

// foreign reads a list of another program's types, "NAME = WHAT IT BECOMES".
func foreign(t *testing.T, file string) (types [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, becomes, ok := strings.Cut(strings.TrimSpace(line), " = ")
		require.True(t, ok, line)
		types = append(types, [2]string{name, becomes})
	}
	return types
}

// TestEveryForeignType holds the tables, and the page that is written from them, to the lists
// of all types of SVL and CARLA. Each becomes what its list says, or is left out with a reason.
func TestEveryForeignType(t *testing.T) {
	page, err := os.ReadFile("../docs/rigs.md")
	require.NoError(t, err)
	for file, write := range map[string]func(name string) string{
		"svl_sensors.txt":      func(name string) string { return jsonf(`{"type": %q, "name": "s", "params": {"Topic": "/s"}}`, name) },
		"carla_blueprints.txt": func(name string) string { return vehicle(jsonf(`{"type": %q, "id": "s"}`, name)) },
	} {
		for _, row := range foreign(t, file) {
			name, becomes := row[0], row[1]
			r, err := rig.Parse("r.json", []byte(write(name)))
			require.NoError(t, err, name)
			_, err = pipeline.CheckRig(r, all.Registry())
			require.NoError(t, err, name)
			switch i := slices.IndexFunc(r.Sensors, func(c sensors.Config) bool { return c.Name == "s" }); {
			case becomes == "external" || becomes == "keys":
				assert.Equal(t, []string{becomes}, r.Drivers, name)
			case becomes != "-":
				require.GreaterOrEqual(t, i, 0, name)
				assert.Equal(t, becomes, r.Sensors[i].ID, name)
			default:
				assert.Less(t, i, 0, name)
			}
			if plain := strings.NewReplacer(" ", "", "Sensor", ""); !strings.Contains(string(page), name) {
				assert.Contains(t, plain.Replace(string(page)), plain.Replace(name), "docs/rigs.md")
			}
			if becomes == "-" && name != "Transform" {
				require.NotEmpty(t, r.Notices, name)
				assert.True(t, r.Notices[0].Lost, name)
				_, why, _ := strings.Cut(r.Notices[0].Text, `"s": `)
				assert.Contains(t, string(page), "ignored: "+why, "docs/rigs.md has the reason of %s", name)
			}
		}
	}
}

func seed(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// fuzz reads anything, strictly and not, and writes what was read: it must be read
// again as the same rig.
func fuzz(f *testing.F) {
	f.Helper()
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = rig.Parse("r.json", data)
		r, err := rig.Reader{Lenient: true}.Parse("r.json", data)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := r.WriteYAML(&first); err != nil {
			t.Fatal(err)
		}
		again, err := rig.Parse("r.yaml", first.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, first.String())
		}
		if len(again.Sensors) != len(r.Sensors) {
			t.Fatalf("%d sensors of %d in\n%s", len(again.Sensors), len(r.Sensors), first.String())
		}
		if err := again.WriteYAML(&second); err != nil {
			t.Fatal(err)
		}
		third, err := rig.Parse("r.yaml", second.Bytes())
		if err != nil || len(third.Sensors) != len(r.Sensors) {
			t.Fatalf("%v in\n%s", err, second.String())
		}
	})
}

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
	if p.Name == "states" {
		return []any{map[string]any{"min_velocity": 0.2, "max_velocity": 10, "throttle": 23, "gear": "reverse", "duration": 4}}
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

// TestEveryTypeBecomesOneOfOurs converts each foreign type, without and with all its
// parameters, for the registry of all sensors. Ids, attributes and outputs exist, and the
// values lie in their ranges.
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
			written := r.Sensors[0].Attributes
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
		r, err := rig.Reader{}.Read(file)
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
			assert.Equal(t, [6]string{a.Name, a.Frame, a.FrameID, a.ParentFrame, a.Topic, a.Rate.String()},
				[6]string{b.Name, b.Frame, b.FrameID, b.ParentFrame, b.Topic, b.Rate.String()}, file)
			assert.Equal(t, a.Topics, b.Topics, file)
			assert.Equal(t, a.Relative, b.Relative, file)
			assert.Equal(t, a.Mount, b.Mount, file)
			require.Equal(t, a.Definition, b.Definition, file)
			for _, name := range a.Definition.AttributeNames() {
				assert.Equal(t, a.Settings.Value(name), b.Settings.Value(name), "%s of %s in %s", name, a.Name, file)
			}
		}
	}
}

func TestConvertedRigsTellWhatWasLost(t *testing.T) {
	r, err := rig.Reader{}.Read("testdata/carla_objects.json")
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.WriteYAML(&text))
	for _, want := range []string{
		"# Converted from the sensors of a CARLA vehicle.",
		"# Without a counterpart here (lines of the original file):",
		`#   line 4: sensor.pseudo.opendrive_map "map": raybridge's scenes have no OpenDRIVE map`,
		"  # sensor.camera.rgb \"front\"\n  - id: sensor.camera.rgb\n    name: front\n    frame_id: ego_vehicle/front\n",
	} {
		assert.Contains(t, text.String(), want)
	}
	assert.NotContains(t, text.String(), "Accepted with changes")
}

// TestNumbersAndTextsSurvive: whatever a value is, it is read as it was written.
func TestNumbersAndTextsSurvive(t *testing.T) {
	for _, v := range []any{
		0.1, 1e-12, -3.5e20, 1.0, int64(-7), true, "plain", "with space", "yes", "1", "-1", "a: b", "#", "", "\"", "\u2028", "ü",
		"\t\x00", "\x7f", "\u0080", "\u0085", "\u009f", "\ufeff", "a\ufffe\uffff", "\U0001f4f7",
		[]float64{}, []float64{1, -0.25, 1e-10},
	} {
		made := rig.Rig{Sensors: []sensors.Config{{ID: "sensor.test", Name: "a", Attributes: map[string]any{"v": v}}}}
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
		got, err := a.Parse(r.Sensors[0].Attributes["v"])
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
			"INS IMU IMU_corrected CAN_Bus Vehicle_Odometry Signal Boxes_2D Boxes_3D Lane_Line", nil},
		"carla_stack.json": {"rgb lidar gnss imu tf", nil},
		"carla_hero.json":  {"chase events roof bumper fix imu bump lanes tf around odom speed", nil},
		"carla_objects.json": {"objects front imu semantic instance depth normals flow events lidar semantic_lidar radar gnss collision " +
			"lane_invasion obstacle tf ego_vehicle_objects odometry speedometer traffic_lights", nil},
	} {
		r, err := rig.Reader{}.Read(filepath.Join("testdata", file))
		require.NoError(t, err)
		list, err := r.Resolve(all.Registry())
		require.NoError(t, err, file)
		var names []string
		for i := range list {
			names = append(names, list[i].Name)
		}
		assert.Equal(t, want.sensors, strings.Join(names, " "), file)
		assert.Equal(t, want.commas, superfluousCommas(r), file)
	}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	assert.Len(t, files, 6, "all that lie there")
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
		r, err := rig.Reader{}.Read(file)
		require.NoError(t, err)
		_, err = r.Resolve(all.Registry())
		require.NoError(t, err, file)
		if len(superfluousCommas(r)) > 0 {
			commas++
		}
	}
	assert.Equal(t, 5, commas)
}

// fact is a parameter as the other program's sources and documentation have it.
type fact struct {
	name     string
	value    any
	min, max float64
}

func svlCameraFacts(quality int64, more ...fact) []fact {
	return append([]fact{
		{"Width", int64(1920), 1, 1920}, {"Height", int64(1080), 1, 1080}, {"Frequency", int64(15), 1, 100},
		{"JpegQuality", quality, 0, 100}, {"FieldOfView", 60.0, 1, 90}, {"MinDistance", 0.1, 0.01, 1000},
		{"MaxDistance", 2000.0, 0.01, 2000}, {"Distorted", false, 0, 0}, {"DistortionParameters", nil, 0, 0},
		{"Fisheye", false, 0, 0}, {"Xi", 0.0, 0, 0}, {"CameraInfoTopic", nil, 0, 0}, {"CubemapSize", int64(1024), 512, 2048},
		{"TargetFPS", 0.0, 0, 0}, {"TargetFPSTime", 5.0, 0, 0}, {"Postprocessing", nil, 0, 0},
	}, more...)
}

func svlLidarFacts(horizontal float64, more ...fact) []fact {
	return append([]fact{
		{"VerticalRayAngles", nil, -90, 90}, {"LaserCount", int64(32), 1, 128}, {"FieldOfView", 40.0, 1, 45},
		{"CenterAngle", 10.0, -45, 45}, {"MinDistance", 0.5, 0.01, 1000}, {"MaxDistance", 100.0, 0.01, 2000},
		{"RotationFrequency", 5.0, 1, 30}, {"MeasurementsPerRotation", int64(1500), 18, 6000}, {"Compensated", true, 0, 0},
		{"PointSize", 2.0, 1, 10}, {"PointColor", "#ff0000ff", 0, 0}, {"CubemapSize", int64(1024), 0, 0},
		{"ForwardAngle", 0.0, 0, 360}, {"HorizontalAngle", horizontal, 0, 360},
	}, more...)
}

// svlFacts are the parameters of SVL's sensors, without Topic and Frame, which all
// have.
func svlFacts() map[string][]fact {
	threads := fact{"Frequency", 12.5, 0, 0}
	truth := func(distance float64) []fact {
		return []fact{
			{"Frequency", 10.0, 0, 0}, {"Width", int64(1920), 0, 0}, {"Height", int64(1080), 0, 0}, {"FieldOfView", 60.0, 1, 90},
			{"MinDistance", 0.1, 0, 0}, {"MaxDistance", 2000.0, 0, 0}, {"DetectionRange", distance, 0, 0},
		}
	}
	stuck := []fact{{"StuckTravelThreshold", 0.1, 0, 0}, {"StuckTimeThreshold", 10.0, 0, 0}}
	return map[string][]fact{
		"Color Camera":        svlCameraFacts(75, fact{"DisplayIndex", int64(-1), 0, 0}),
		"Depth Camera":        svlCameraFacts(75),
		"Segmentation Camera": svlCameraFacts(100, fact{"InstanceSegmentationTags", nil, 0, 0}),
		"Lidar":               svlLidarFacts(360, fact{"AntialiasingThreshold", 0.1, 0, 0}, fact{"MessageType", "PointCloud2", 0, 0}),
		"Directional Lidar":   svlLidarFacts(180),
		"Lidar2D": {
			{"CenterAngle", 0.0, -45, 45}, {"MinDistance", 0.5, 0.01, 1000}, {"MaxDistance", 100.0, 0.01, 2000}, {"RotationFrequency", 5.0, 1, 30},
			{"MeasurementsPerRotation", int64(1500), 18, 6000}, {"ForwardAngle", 0.0, 0, 360}, {"HorizontalAngle", 360.0, 0, 360},
			{"PointSize", 2.0, 1, 10}, {"PointColor", "#ff0000ff", 0, 0}, {"CubemapSize", int64(1024), 0, 0},
		},
		"Velodyne Lidar": append([]fact{
			{"VelodyneLidarType", "VLP_16", 0, 0}, {"HostName", nil, 0, 0}, {"UDPPortData", int64(2368), 1, 65535}, {"UDPPortPosition", int64(8308), 0, 65535},
		}, velodyneFacts()...),
		"Radar": {{"Frequency", 13.4, 1, 100}},
		"Ultrasonic": {
			{"Width", int64(400), 0, 0}, {"Height", int64(160), 0, 0}, {"Frequency", int64(15), 1, 100}, {"JpegQuality", int64(75), 0, 0},
			{"FieldOfView", 40.0, 1, 90}, {"MinDistance", 0.3, 0, 0}, {"MaxDistance", 2.0, 0, 0},
		},
		"GPS Device":       {threads, {"IgnoreMapOrigin", false, 0, 0}},
		"GPS Odometry":     {threads, {"ChildFrame", nil, 0, 0}, {"IgnoreMapOrigin", false, 0, 0}},
		"GPS-INS Status":   {threads},
		"IMU":              {{"CorrectedTopic", nil, 0, 0}, {"CorrectedFrame", nil, 0, 0}},
		"CAN-Bus":          {{"Frequency", 10.0, 1, 100}},
		"Clock":            nil,
		"Vehicle Odometry": {{"Frequency", 10.0, 0, 0}},
		"Vehicle State":    nil,
		"Vehicle Control":  stuck, "LGSVL Control": stuck, "Apollo Control": stuck,
		"Signal":          {{"Frequency", 1.0, 0, 0}, {"MaxDistance", 100.0, 0, 0}},
		"2D Ground Truth": truth(100), "3D Ground Truth": {{"Frequency", 10.0, 0, 0}, {"MaxDistance", 100.0, 1, 1000}},
		"2D Ground Truth Visualizer": nil, "3D Ground Truth Visualizer": nil,
		"Keyboard Control": nil, "Wheel": nil, "Manual": nil, "Cruise": {{"CruiseSpeed", 0.0, 0, 200}},
		"Control Calibration": {{"states", nil, 0, 0}},
		"Transform":           nil, "Analysis": nil,
		"Comfort": {
			{"MaxAccelAllowed", 900.0, 0, 0}, {"MaxJerkAllowed", 600.0, 0, 0}, {"MaxBrakeAllowed", 0.0, 0, 0}, {"MaxSuddenSteerAllowed", 0.0, 0, 0},
			{"MaxAngularVelocityAllowed", 0.0, 0, 0}, {"MaxAngularAccelerationAllowed", 0.0, 0, 0}, {"RollTolerance", 0.0, 0, 0}, {"MinSlipVelocity", 0.0, 0, 0},
			{"SlipTolerance", 0.0, 0, 0}, {"EventRate", 3.0, 0, 0},
		},
		"Lane Line": append(truth(50), fact{"SampleDelta", 0.5, 0.1, 2}),
		"Video Recording": {
			{"Framerate", 15.0, 0, 0}, {"Bitrate", 3000.0, 0, 0}, {"MaxBitrate", 6000.0, 0, 0}, {"Quality", 22.0, 0, 0},
		},
		"Destination": {
			{"DestinationCheckRadius", 1.0, 1, 10}, {"DestinationCheckAngle", 10.0, 1, 360}, {"InitPoseTopic", nil, 0, 0}, {"InitPoseFrame", nil, 0, 0},
		},
		"Lane Following": {{"CruiseSpeed", 0.0, 0, 30}, {"SteeringSensitivity", 1.0, 0, 2}}, "Intel RealSense": nil,
	}
}

// velodyneFacts are those of the lidar's parameters that the plugin's base has; the
// ranges of a device stand in its firing table.
func velodyneFacts() []fact {
	list := svlLidarFacts(360)
	for i := range list {
		switch list[i].name {
		case "MinDistance", "MaxDistance":
			list[i].value = nil
		case "RotationFrequency":
			list[i].value = 10.0
		}
	}
	return list
}

// carlaFacts are the attributes of CARLA's sensors, without sensor_tick, role_name and
// ros_name, which all have. Except for the lens none has a range, and the blueprints check
// none.
func carlaFacts() map[string][]fact {
	plain := func(values map[string]any) (list []fact) {
		for name, v := range values {
			list = append(list, fact{name, v, 0, 0})
		}
		return list
	}
	camera := append(plain(map[string]any{
		"image_size_x": int64(800), "image_size_y": int64(600), "fov": 90.0, "lens_k": -1.0, "lens_kcube": 0.0,
	}), fact{"lens_circle_falloff", 5.0, 0, 10}, fact{"lens_circle_multiplier", 0.0, 0, 10},
		fact{"lens_x_size", 0.08, 0, 1}, fact{"lens_y_size", 0.08, 0, 1}, fact{"width", nil, 0, 0}, fact{"height", nil, 0, 0})
	effects := plain(map[string]any{
		"bloom_intensity": 0.675, "lens_flare_intensity": 0.1, "enable_postprocess_effects": true, "gamma": 2.2,
		"exposure_mode": "histogram", "exposure_compensation": 0.0, "exposure_min_bright": 10.0, "exposure_max_bright": 12.0,
		"exposure_speed_up": 3.0, "exposure_speed_down": 1.0, "calibration_constant": 16.0, "iso": 100.0, "fstop": 1.4,
		"min_fstop": 1.2, "shutter_speed": 200.0, "focal_distance": 1000.0, "blade_count": int64(5), "blur_amount": 1.0,
		"blur_radius": 0.0, "motion_blur_intensity": 0.45, "motion_blur_max_distortion": 0.35,
		"motion_blur_min_object_screen_size": 0.1, "slope": 0.88, "toe": 0.55, "shoulder": 0.26, "black_clip": 0.0,
		"white_clip": 0.04, "temp": 6500.0, "tint": 0.0, "chromatic_aberration_intensity": 0.0, "chromatic_aberration_offset": 0.0,
	})
	rays := map[string]any{
		"channels": int64(32), "range": 10.0, "points_per_second": int64(56000), "rotation_frequency": 10.0,
		"upper_fov": 10.0, "lower_fov": -30.0, "horizontal_fov": 360.0,
	}
	radio := plain(map[string]any{
		"noise_seed": int64(0), "transmit_power": 21.5, "receiver_sensitivity": -99.0, "frequency_ghz": 5.9, "combined_antenna_gain": 10.0,
		"scenario": nil, "path_loss_model": nil, "path_loss_exponent": 2.7, "d_ref": 1.0, "filter_distance": 500.0,
		"use_etsi_fading": true, "custom_fading_stddev": 0.0,
	})
	awareness := plain(map[string]any{
		"gen_cam_min": 0.1, "gen_cam_max": 1.0, "fixed_rate": false, "noise_vel_stddev_x": 0.0,
		"noise_accel_stddev_x": 0.0, "noise_accel_stddev_y": 0.0, "noise_accel_stddev_z": 0.0,
		"noise_yawrate_bias": 0.0, "noise_yawrate_stddev": 0.0, "noise_lat_bias": 0.0, "noise_lat_stddev": 0.0,
		"noise_lon_bias": 0.0, "noise_lon_stddev": 0.0, "noise_alt_bias": 0.0, "noise_alt_stddev": 0.0,
		"noise_head_bias": 0.0, "noise_head_stddev": 0.0,
	})
	return map[string][]fact{
		"sensor.camera.rgb":   slices.Concat(camera, effects),
		"sensor.camera.depth": camera, "sensor.camera.semantic_segmentation": camera,
		"sensor.camera.instance_segmentation": camera, "sensor.camera.normals": camera, "sensor.camera.optical_flow": camera,
		"sensor.camera.dvs": slices.Concat(camera, effects, plain(map[string]any{
			"positive_threshold": 0.3, "negative_threshold": 0.3, "sigma_positive_threshold": 0.0, "sigma_negative_threshold": 0.0,
			"refractory_period_ns": int64(0), "use_log": true, "log_eps": 0.001,
		})),
		"sensor.lidar.ray_cast": slices.Concat(plain(rays), plain(map[string]any{
			"atmosphere_attenuation_rate": 0.004, "dropoff_general_rate": 0.45, "dropoff_intensity_limit": 0.8,
			"dropoff_zero_intensity": 0.4, "noise_stddev": 0.0, "noise_seed": int64(0),
		})),
		"sensor.lidar.ray_cast_semantic": plain(rays),
		"sensor.other.radar": plain(map[string]any{
			"horizontal_fov": 30.0, "vertical_fov": 30.0, "range": 100.0, "points_per_second": int64(1500), "noise_seed": int64(0),
		}),
		"sensor.other.gnss": plain(map[string]any{
			"noise_lat_bias": 0.0, "noise_lat_stddev": 0.0, "noise_lon_bias": 0.0, "noise_lon_stddev": 0.0,
			"noise_alt_bias": 0.0, "noise_alt_stddev": 0.0, "noise_seed": int64(0),
		}),
		"sensor.other.imu": plain(map[string]any{
			"noise_accel_stddev_x": 0.0, "noise_accel_stddev_y": 0.0, "noise_accel_stddev_z": 0.0,
			"noise_gyro_bias_x": 0.0, "noise_gyro_bias_y": 0.0, "noise_gyro_bias_z": 0.0,
			"noise_gyro_stddev_x": 0.0, "noise_gyro_stddev_y": 0.0, "noise_gyro_stddev_z": 0.0, "noise_seed": int64(0),
		}),
		"sensor.other.collision": nil, "sensor.other.lane_invasion": nil,
		"sensor.other.obstacle": plain(map[string]any{"distance": 5.0, "hit_radius": 0.5, "only_dynamics": false, "debug_linetrace": false}),
		"sensor.pseudo.tf":      nil, "sensor.pseudo.odom": nil, "sensor.pseudo.speedometer": nil, "sensor.pseudo.objects": nil,
		"sensor.pseudo.traffic_lights": nil, "sensor.pseudo.actor_list": nil, "sensor.pseudo.markers": nil,
		"sensor.pseudo.opendrive_map": nil, "actor.pseudo.control": nil,
		"sensor.other.rss": nil, "sensor.other.v2x": slices.Concat(radio, awareness), "sensor.other.v2x_custom": radio,
		"sensor.lidar.hss_lidar": plain(map[string]any{
			"channels": int64(128), "range": 200.0, "horizontal_fov": 120.0, "horizontal_resolution": 0.1, "upper_fov": 12.9, "lower_fov": -12.5,
			"rotation_frequency": 10.0, "atmosphere_attenuation_rate": 0.004, "dropoff_general_rate": 0.45, "dropoff_intensity_limit": 0.8,
			"dropoff_zero_intensity": 0.4, "noise_stddev": 0.0, "noise_seed": int64(0),
		}),
		"sensor.other.safe_distance": plain(map[string]any{"safe_distance_front": 1.0, "safe_distance_back": 0.5, "safe_distance_lateral": 0.5}),
		"sensor.camera.rt_lens":      nil, "sensor.camera.ir": nil, "sensor.camera.rgb.wide_angle_lens": nil, "sensor.camera.depth.wide_angle_lens": nil,
		"sensor.camera.semantic_segmentation.wide_angle_lens": nil, "sensor.camera.instance_segmentation.wide_angle_lens": nil,
		"sensor.camera.normals.wide_angle_lens": nil, "sensor.camera.cosmos_visualization": nil,
	}
}

// TestTextsThatTheOthersAllow: where a text has only some values, they are the other
// program's.
func TestTextsThatTheOthersAllow(t *testing.T) {
	want := map[string][]string{
		"MessageType": {"PointCloud2", "LaserScan"}, "VelodyneLidarType": {"VLP_16", "VLP_32C", "VLS_128"},
		"InstanceSegmentationTags": {
			"Car", "Road", "Sidewalk", "Vegetation", "Obstacle", "TrafficLight", "Building", "Sign", "Shoulder", "Pedestrian", "Curb",
		},
		"exposure_mode": {"histogram", "manual"},
	}
	found := map[string][]string{}
	for _, dialect := range rig.Dialects() {
		for _, kind := range dialect.Types {
			for i := range kind.Parameters {
				if p := &kind.Parameters[i]; len(p.Options) > 0 {
					found[p.Name] = p.Options
				}
			}
		}
	}
	assert.Equal(t, want, found)
}

// TestTablesHaveTheOthersDefaultsAndRanges compares the tables with the facts, each
// parameter and each type, both ways.
func TestTablesHaveTheOthersDefaultsAndRanges(t *testing.T) {
	common := map[string][]fact{
		"SVL":   {{"Topic", nil, 0, 0}, {"Frame", nil, 0, 0}},
		"CARLA": {{"sensor_tick", 0.0, 0, 1000}, {"role_name", "front", 0, 0}, {"ros_name", "", 0, 0}},
	}
	facts := map[string]map[string][]fact{"SVL": svlFacts(), "CARLA": carlaFacts()}
	for _, dialect := range rig.Dialects() {
		known := facts[dialect.Name]
		assert.Len(t, dialect.Types, len(known), dialect.Name)
		for _, kind := range dialect.Types {
			list, ok := known[kind.Names[0]]
			require.True(t, ok, kind.Names[0])
			list = slices.Concat(list, common[dialect.Name])
			assert.Len(t, kind.Parameters, len(list), kind.Names[0])
			for i := range kind.Parameters {
				p := &kind.Parameters[i]
				at := slices.IndexFunc(list, func(f fact) bool { return f.name == p.Name })
				require.GreaterOrEqual(t, at, 0, "%s of %s", p.Name, kind.Names[0])
				assert.Equal(t, list[at], fact{p.Name, p.Default, p.Min, p.Max}, kind.Names[0])
			}
		}
	}
}
