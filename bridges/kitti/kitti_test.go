package kitti

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/spatial"
)

// sensor makes a sensor whose attributes are in the map, on top of those of a pinhole.
func sensor(name string, modality dataset.Modality, y, yaw float64, attributes map[string]any) *dataset.Sensor {
	return &dataset.Sensor{
		Name: name, Modality: modality, Mount: spatial.FromRPY(mgl64.Vec3{1.5, y, 1.6}, 0, 0, yaw),
		Attribute: func(name string) (any, bool) {
			if v, ok := attributes[name]; ok {
				return v, true
			}
			v, ok := map[string]any{"lens": "pinhole", "image_size_x": 1242, "image_size_y": 375, "fov": 83.}[name]
			return v, ok && modality == dataset.Camera
		},
	}
}

func TestChannels(t *testing.T) {
	const camera, lidarType, radar = dataset.Camera, dataset.Lidar, dataset.Radar
	top := sensor("top", lidarType, 0, 0, nil)
	for name, tt := range map[string]struct {
		rig  []*dataset.Sensor
		m    dataset.Map
		want map[string]string // by sensor
		err  string
	}{
		"one camera": {
			rig:  []*dataset.Sensor{sensor("back", camera, 0, 180, nil), sensor("front", camera, 0, 2, nil), top, sensor("second", lidarType, 0, 0, nil), sensor("r", radar, 0, 0, nil)},
			want: map[string]string{"front": "image_2", "top": "velodyne"},
		},
		"stereo, the left one first": {
			rig:  []*dataset.Sensor{sensor("left", camera, 0.27, 0, nil), sensor("right", camera, -0.27, 0, nil), top},
			want: map[string]string{"left": "image_2", "right": "image_3", "top": "velodyne"},
		},
		"stereo, the right one first": {
			rig:  []*dataset.Sensor{sensor("right", camera, -0.27, 0, nil), sensor("left", camera, 0.27, 0, nil), top},
			want: map[string]string{"left": "image_2", "right": "image_3", "top": "velodyne"},
		},
		"no stereo with another lens": {
			rig:  []*dataset.Sensor{sensor("wide", camera, 0.27, 0, nil), sensor("tele", camera, -0.27, 0, map[string]any{"fov": 20.}), top},
			want: map[string]string{"wide": "image_2", "top": "velodyne"},
		},
		"map": {
			rig:  []*dataset.Sensor{sensor("front", camera, 0, 0, nil), sensor("back", camera, 0, 180, nil), top},
			m:    dataset.Map{Sensors: []dataset.Assignment{{Name: "back", Channel: "image_2"}, {Name: "top", Channel: "velodyne"}}},
			want: map[string]string{"back": "image_2", "top": "velodyne"},
		},
		"no camera": {rig: []*dataset.Sensor{top}, err: "KITTI needs a camera"},
		"no lidar":  {rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil)}, err: "KITTI needs a lidar"},
		"distorted": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, map[string]any{"lens": "plumb_bob"}), top},
			err: "camera front has the lens plumb_bob",
		},
		"a distorted one that isn't written": {
			rig:  []*dataset.Sensor{sensor("front", camera, 0, 0, nil), sensor("side", camera, 0, 90, map[string]any{"lens": "svl_fisheye"}), top},
			want: map[string]string{"front": "image_2", "top": "velodyne"},
		},
		"unknown category": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil), top},
			m:   dataset.Map{Categories: dataset.Categories{{Tag: "bus", Category: "Bus"}}}, err: `unknown category "Bus"`,
		},
		"unknown channel": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil), top},
			m:   dataset.Map{Sensors: []dataset.Assignment{{Name: "front", Channel: "image2"}}}, err: "did you mean image_2",
		},
		"a lidar as a camera": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil), top},
			m:   dataset.Map{Sensors: []dataset.Assignment{{Name: "top", Channel: "image_2"}}}, err: "lidar top can't be image_2, which is a camera's",
		},
		"twice": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil), sensor("back", camera, 0, 180, nil), top},
			m:   dataset.Map{Sensors: []dataset.Assignment{{Name: "front", Channel: "image_2"}, {Name: "back", Channel: "image_2"}}},
			err: "two sensors, front and back, have the channel image_2",
		},
		"not rectified": {
			rig: []*dataset.Sensor{sensor("front", camera, 0, 0, nil), sensor("side", camera, -0.5, -3, nil), top},
			m: dataset.Map{Sensors: []dataset.Assignment{
				{Name: "front", Channel: "image_2"}, {Name: "side", Channel: "image_3"}, {Name: "top", Channel: "velodyne"},
			}},
			err: "front is image_2 and side is image_3, but they don't look the same way",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := format{}.Options()
			for _, s := range tt.rig {
				s.Channel = ""
			}
			err := format{}.Channels(tt.rig, &tt.m, all)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
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

func TestRename(t *testing.T) {
	for name, want := range map[string]string{
		"training/image_2/000007.png":      "training/image_2/000123.png",
		"training/velodyne/000007.bin":     "training/velodyne/000123.bin",
		"sequences/00/calib.txt":           "sequences/04/calib.txt",
		"sequences/00/labels/000002.label": "sequences/04/labels/000002.label",
	} {
		assert.Equal(t, want, format{}.Rename(name, 4, 123))
	}
}

// TestCategoriesOfActors gives actors of the city their categories.
func TestCategoriesOfActors(t *testing.T) {
	rules := format{}.Categories()
	require.NoError(t, rules.CheckCategories(categories))
	for _, tt := range []struct {
		typeID string
		tag    uint8
		want   string
	}{
		{"vehicle.sedan", 14, "Car"}, {"vehicle.van", 14, "Van"}, {"vehicle.truck", 15, "Truck"}, {"vehicle.bus", 16, "Misc"},
		{"vehicle.tram", 17, "Tram"}, {"vehicle.bicycle", 19, "Cyclist"}, {"vehicle.motorcycle", 18, "Misc"}, {"walker.tall", 12, "Pedestrian"},
		{"static.building", 3, ""},
	} {
		rule, _ := rules.Of(tt.typeID, tt.tag)
		assert.Equal(t, tt.want, rule.Category, tt.typeID)
	}
}
