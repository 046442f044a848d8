package nuscenes_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/nuscenes"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// sensor makes a sensor 1 m ahead of the axle.
func sensor(name string, modality dataset.Modality, y, z, yaw float64) *dataset.Sensor {
	return &dataset.Sensor{
		Name: name, Modality: modality, Mount: spatial.FromRPY(mgl64.Vec3{1, y, z}, 0, 0, yaw),
		Attribute: func(string) (any, bool) { return nil, false },
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	const camera, lidar, radar = dataset.Camera, dataset.Lidar, dataset.Radar
	front, top := sensor("front", camera, 0, 1.6, 0), sensor("top", lidar, 0, 1.9, 0)
	bent := sensor("bent", camera, 0, 1.6, 0)
	bent.Attribute = func(name string) (any, bool) { return "plumb_bob", name == "lens" }
	assign := func(pairs ...string) (m dataset.Map) {
		for i := 0; i < len(pairs); i += 2 {
			m.Sensors = append(m.Sensors, dataset.Assignment{Name: pairs[i], Channel: pairs[i+1]})
		}
		return m
	}
	for name, tt := range map[string]struct {
		rig  []*dataset.Sensor
		m    dataset.Map
		want map[string]string // by sensor
		err  string
	}{
		"by where they look": {
			rig: []*dataset.Sensor{
				front, sensor("a", camera, 0, 1, 60), sensor("b", camera, 0, 1, -50), sensor("c", camera, 0, 1, 115), sensor("d", camera, 0, 1, -100),
				sensor("e", camera, 0, 1, -175), top,
				sensor("f", radar, 0, 1, 5), sensor("g", radar, 1, 1, 80), sensor("h", radar, -1, 1, -95), sensor("i", radar, 0.6, 1, 180), sensor("j", radar, -0.6, 1, 180),
			},
			want: map[string]string{
				"front": "CAM_FRONT", "a": "CAM_FRONT_LEFT", "b": "CAM_FRONT_RIGHT", "c": "CAM_BACK_LEFT", "d": "CAM_BACK_RIGHT", "e": "CAM_BACK", "top": "LIDAR_TOP",
				"f": "RADAR_FRONT", "g": "RADAR_FRONT_LEFT", "h": "RADAR_FRONT_RIGHT", "i": "RADAR_BACK_LEFT", "j": "RADAR_BACK_RIGHT",
			},
		},
		"by their names": {
			rig:  []*dataset.Sensor{sensor("CAM_BACK", camera, 0, 1, 0), front, top},
			want: map[string]string{"CAM_BACK": "CAM_BACK", "front": "CAM_FRONT", "top": "LIDAR_TOP"},
		},
		"the highest lidar": {
			rig:  []*dataset.Sensor{front, sensor("low", lidar, 0, 0.5, 0), top, sensor("middle", lidar, 0, 1, 0)},
			want: map[string]string{"front": "CAM_FRONT", "top": "LIDAR_TOP"},
		},
		"map": {
			rig: []*dataset.Sensor{front, sensor("second", camera, 0, 1, 0), top, sensor("low", lidar, 0, 0.5, 0), sensor("out", radar, 0, 0, 0)},
			m:   assign("second", "CAM_BACK", "low", "LIDAR_TOP", "top", "LIDAR_HIGH", "out", ""),
			want: map[string]string{
				"front": "CAM_FRONT", "second": "CAM_BACK", "low": "LIDAR_TOP", "top": "LIDAR_HIGH",
			},
		},
		"two cameras for one channel": {rig: []*dataset.Sensor{front, sensor("second", camera, 0, 1, 10), top}, err: "both front and second would be CAM_FRONT"},
		"two lidars for one channel": {
			rig: []*dataset.Sensor{front, sensor("low", lidar, 0, 0.5, 0), top}, m: assign("low", "LIDAR_TOP", "top", "LIDAR_TOP"),
			err: "both low and top would be LIDAR_TOP",
		},
		"a lidar for a camera's channel": {
			rig: []*dataset.Sensor{front, sensor("low", lidar, 0, 0.5, 0), top}, m: assign("low", "CAM_BACK"), err: "low is a lidar, and CAM_BACK is a camera's",
		},
		"a camera for the lidar's channel": {
			rig: []*dataset.Sensor{front, sensor("second", camera, 0, 1, 0)}, m: assign("second", "LIDAR_TOP"), err: "second is a camera, and LIDAR_TOP is a lidar's",
		},
		"no camera":                        {rig: []*dataset.Sensor{top}, err: "needs a camera"},
		"a camera that is left out":        {rig: []*dataset.Sensor{front, top}, m: assign("front", ""), err: "needs a camera"},
		"no lidar":                         {rig: []*dataset.Sensor{front}, err: "needs the lidar LIDAR_TOP"},
		"distorted":                        {rig: []*dataset.Sensor{bent, top}, err: "camera bent has the lens plumb_bob"},
		"a distorted one that is left out": {rig: []*dataset.Sensor{front, bent, top}, m: assign("bent", ""), want: map[string]string{"front": "CAM_FRONT", "top": "LIDAR_TOP"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range tt.rig {
				s.Channel = ""
			}
			all, _ := nuscenes.Format.Options()
			err := nuscenes.Format.Channels(tt.rig, &tt.m, all)
			if tt.err != "" {
				require.ErrorIs(t, err, dataset.ErrRig)
				assert.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			got := map[string]string{}
			for _, s := range tt.rig {
				if s.Channel != "" {
					got[s.Name] = s.Channel
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestMapsAndOptionsThatAreWrong are told of before a run begins.
func TestMapsAndOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	registry, err := bridges.NewRegistry(dataset.NewFactory(nuscenes.Format))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "map.yaml")
	for text, want := range map[string]string{
		"categories: [{type: vehicle.*, category: vehicle.cra}]":                            "did you mean vehicle.car",
		"categories: [{type: vehicle.*, category: vehicle.car, attribute: vehicle.flying}]": `attribute "vehicle.flying"`,
		"sensors: [{name: front, channel: cam_front}]":                                      "want capitals",
		"categories: [{tag: plane, category: vehicle.car}]":                                 "plane",
		"sensors: [{name: front, channel: CAM_FRONT, modality: camera}]":                    "modality",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		err := registry.Check("nuscenes:set?map="+file, bridges.Env{})
		require.ErrorIs(t, err, bridges.ErrConnectionString)
		assert.ErrorContains(t, err, want)
	}
	for _, connection := range []string{"", "?keyframes=2", "set?version=a/b", "set?version=samples", "set?scenes=mine", "set?keyframes=0", "set?scene=0s", "set?quality=101"} {
		assert.ErrorIs(t, registry.Check("nuscenes:"+connection, bridges.Env{}), bridges.ErrConnectionString, connection)
	}
}

// TestNamesOfScenes: official ones are those that trainers have lists of.
func TestNamesOfScenes(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][]string{"v1.0-trainval": {"scene-0001", "scene-0002"}, "v1.0-mini": {"scene-0061", "scene-0553"}} {
		var names []string
		for _, s := range readFile(t, filepath.Join(record(t, "a", "?scenes=official&version="+version), version, "scene.json")) {
			names = append(names, s.text("name"))
		}
		assert.Equal(t, want, names)
	}
}

// TestFoldersThatArentFree: a set isn't written over what is there, nor into a set of another format.
func TestFoldersThatArentFree(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text, options string
		want                error
	}{
		"other files":           {"notes.txt", "", "", dataset.ErrOccupied},
		"files, to append to":   {"notes.txt", "", "?append=true", dataset.ErrOccupied},
		"another format":        {dataset.JournalFile, `{"format":"coco","version":"1","options":{}}` + "\n", "", dataset.ErrOccupied},
		"another, to append to": {dataset.JournalFile, `{"format":"coco","version":"1","options":{}}` + "\n", "?append=true", dataset.ErrOtherSet},
	} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, "a", tt.options)
			path := filepath.Join(d.dir, filepath.FromSlash(tt.file))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o666))
			assert.ErrorIs(t, d.bridge.Connect(t.Context()), tt.want)
			assert.Len(t, filesOf(t, d.dir), 1)
		})
	}
}

// TestRigsThatDontFit are refused as the run begins, and no folder is made.
func TestRigsThatDontFit(t *testing.T) {
	t.Parallel()
	d := begin(t, "a", "")
	second := source(cameraAt, 10, map[string]any{"lens": "pinhole"})
	add[*sample.Image](d, bridges.Topic{Name: "/second", Sensor: "second", SensorType: "sensor.camera.rgb", Source: second})
	err := d.bridge.Connect(t.Context())
	require.ErrorIs(t, err, dataset.ErrRig)
	assert.ErrorContains(t, err, "both front and second would be CAM_FRONT")
	assert.NoDirExists(t, d.dir)
}

// TestAppend: another run's scenes follow in a set, and one without append=true is refused.
func TestAppend(t *testing.T) {
	t.Parallel()
	dir := record(t, "a", "?")
	alone := byToken(t, dir, "sample")
	for _, options := range []string{"", "?append=true"} {
		d := begin(t, "b", options)
		require.NoError(t, os.Rename(dir, d.dir))
		dir = d.dir
		err := d.bridge.Connect(t.Context())
		if options == "" {
			require.ErrorIs(t, err, dataset.ErrOccupied)
			assert.ErrorContains(t, err, "append=true")
			continue
		}
		require.ErrorIs(t, err, dataset.ErrOtherSet, "scene=20s, and not 1s as before")
	}
	d := begin(t, "b", "?scene=1s&append=true")
	require.NoError(t, os.Rename(dir, d.dir))
	require.NoError(t, d.bridge.Connect(t.Context()))
	require.NoError(t, d.run(0, 600*time.Millisecond))
	require.NoError(t, d.bridge.Close(t.Context()))
	together := byToken(t, d.dir, "sample")
	assert.Len(t, together, len(alone)+1)
	for token := range alone {
		assert.Contains(t, together, token)
	}
	assert.Equal(t, "scene-0003", readTable(t, d.dir, "scene")[2].text("name"))
}
