// Package nuscenes is the bridge named "nuscenes": it writes a run as a data set in the format of nuScenes, with all 13 tables,
// lidar sweeps, radar sweeps, pictures, labels of points and a mask of the ground.
//
// # What is where
//
// VERSION/ has the tables, samples/CHANNEL the files of key frames, sweeps/CHANNEL those between them, maps a mask for each scene,
// lidarseg/VERSION the labels of LIDAR_TOP's points. raybridge/journal.jsonl is the journal: see package dataset.
//
// # Frames and times
//
// Poses are those of nuScenes: quaternions w first, sizes width, length, height, LIDAR_TOP with x to the right and y ahead. A scene's
// map frame is moved by a whole number of 100 m so that all lies at x, y >= 0; the scene's description has the offset. Times are
// microseconds since 1970. A run that begins at 0 begins in the set at 1,700,000,000 s.
//
// # Rows of raybridge's own
//
// sensor has rolling, whether a lidar's scan takes time. The table image_annotations says for each object and picture how it
// stands there: bbox_corners, the projection of its box within the picture, bbox_visible, which bounds its visible pixels, or nothing,
// and pixels, occlusion and truncation. sample_annotation has visible, the share that all cameras together see.
//
// # Labels of points
//
// Those of actors are their category's, all others by the tag of what was hit.
package nuscenes

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/spatial"
)

// Format is the format of the bridge named "nuscenes".
var Format dataset.Format = format{}

type format struct{}

type options struct {
	dataset.Options
	Version string `option:"version" value:"NAME" doc:"name of the set's version, which is the folder of its tables" want:"letters, digits, dots, dashes and underscores"`
	Scenes  string `option:"scenes" value:"own|official" default:"own" doc:"names of scenes: own are scene-0001 and so on, official those of nuScenes's training split, which trainers have lists of"`
}

// Info describes the bridge.
func (format) Info() bridges.Info {
	return bridges.Info{
		Name: "nuscenes", Summary: "writes a data set in the format of nuScenes: pictures, lidar and radar sweeps, boxes, labels of points",
		Wants: []bridges.Want{dataset.Boxes},
	}
}

// Options returns the options at their defaults.
func (format) Options() (all any, common *dataset.Options) {
	o := &options{Options: dataset.DefaultOptions(), Version: "v1.0-trainval", Scenes: "own"}
	return o, &o.Options
}

// Folders has those of the data files.
func (format) Folders() []string { return []string{"samples", "sweeps", "lidarseg", "maps"} }

// lidarTop is the channel of the lidar that key frames are about.
const lidarTop = "LIDAR_TOP"

var (
	versionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	channelForm = regexp.MustCompile(`^[A-Z0-9_]+$`)
)

// directions are where nuScenes's cameras and radars look, by channel: degrees from ahead, to the left.
var directions = map[dataset.Modality]map[string]float64{
	dataset.Camera: {
		"CAM_FRONT": 0, "CAM_FRONT_LEFT": 55, "CAM_FRONT_RIGHT": -55, "CAM_BACK_LEFT": 108, "CAM_BACK_RIGHT": -108, "CAM_BACK": 180,
	},
	dataset.Radar: {"RADAR_FRONT": 0, "RADAR_FRONT_LEFT": 90, "RADAR_FRONT_RIGHT": -90, "RADAR_BACK_LEFT": 170, "RADAR_BACK_RIGHT": -170},
	dataset.Lidar: {lidarTop: 0},
}

// Channels gives sensors nuScenes's channels: those of the map, those that are named like a channel, and by their poses.
func (format) Channels(list []*dataset.Sensor, m *dataset.Map, all any) error {
	o := all.(*options)
	if !versionForm.MatchString(o.Version) || slices.Contains([]string{"samples", "sweeps", "maps", "lidarseg", "raybridge"}, o.Version) {
		return fmt.Errorf("version %q: want letters, digits, dots, dashes and underscores, and another name than the set's folders have", o.Version)
	}
	if err := m.Categories.CheckCategories(categoryNames[:]); err != nil {
		return err
	}
	for _, r := range m.Categories {
		if r.Attribute != "" && !slices.Contains(attributeNames, r.Attribute) {
			return fmt.Errorf("%w: attribute %q, want one of %s", dataset.ErrCategory, r.Attribute, strings.Join(attributeNames, ", "))
		}
	}
	for _, a := range m.Sensors {
		if a.Channel != "" && !channelForm.MatchString(a.Channel) {
			return fmt.Errorf("channel %q of %s: want capitals, digits and underscores", a.Channel, a.Name)
		}
	}
	if err := fits(list, m); err != nil {
		return err
	}
	owner := map[string]string{}
	var roof *dataset.Sensor
	for _, s := range list {
		s.Channel = channelOf(s, m)
		if s.Modality == dataset.Lidar && s.Channel == byPose {
			if s.Channel = ""; roof == nil || s.Mount.Position[2] > roof.Mount.Position[2] {
				roof = s
			}
			continue
		}
		if other, taken := owner[s.Channel]; taken && s.Channel != "" {
			return fmt.Errorf("%w: both %s and %s would be %s: say in map=FILE which is which, or leave one out there", dataset.ErrRig, other, s.Name, s.Channel)
		}
		owner[s.Channel] = s.Name
		if s.Channel != "" && s.Modality == dataset.Camera {
			if err := dataset.Pinhole(s); err != nil {
				return err
			}
		}
	}
	if roof != nil && owner[lidarTop] == "" {
		roof.Channel = lidarTop
	}
	return complete(list)
}

// fits refuses a map that gives a sensor another kind of sensor's channel.
func fits(list []*dataset.Sensor, m *dataset.Map) error {
	for _, s := range list {
		channel, _ := m.Channel(s.Name)
		for modality, known := range directions {
			if _, ok := known[channel]; ok && modality != s.Modality {
				return fmt.Errorf("%w: %s is a %s, and %s is a %s's", dataset.ErrRig, s.Name, s.Modality, channel, modality)
			}
		}
	}
	return nil
}

// complete refuses a rig without what each sample has.
func complete(list []*dataset.Sensor) error {
	has := func(is func(*dataset.Sensor) bool) bool { return slices.ContainsFunc(list, is) }
	switch {
	case !has(func(s *dataset.Sensor) bool { return s.Channel != "" && s.Modality == dataset.Camera }):
		return fmt.Errorf("%w: nuScenes needs a camera, and the rig has no sensor.camera.rgb", dataset.ErrRig)
	case !has(func(s *dataset.Sensor) bool { return s.Channel == lidarTop }):
		return fmt.Errorf("%w: nuScenes needs the lidar %s, and the rig has none", dataset.ErrRig, lidarTop)
	}
	return nil
}

// byPose says that a lidar's channel depends on the others.
const byPose = "?"

// channelOf returns a sensor's channel.
func channelOf(s *dataset.Sensor, m *dataset.Map) string {
	if channel, ok := m.Channel(s.Name); ok {
		return channel
	}
	known := directions[s.Modality]
	if _, ok := known[s.Name]; ok {
		return s.Name
	}
	if s.Modality == dataset.Lidar {
		return byPose
	}
	yaw := spatial.Yaw(s.Mount.Orientation) * 180 / math.Pi
	if s.Modality == dataset.Radar && math.Abs(yaw) > 135 { // both look back: their places tell them apart
		yaw = math.Copysign(170, s.Mount.Position[1])
	}
	best, least := "", math.Inf(1)
	for channel, at := range known {
		away := math.Abs(math.Remainder(yaw-at, 360))
		if away < least || away == least && channel < best {
			best, least = channel, away
		}
	}
	return best
}

// NewWriter begins to write.
func (format) NewWriter(set *dataset.Set, all any) dataset.Writer {
	return &writer{set: set, options: all.(*options)}
}
