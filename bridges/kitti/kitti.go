// Package kitti is the bridge named "kitti": it writes KITTI's object set, with the odometry set's sequences and SemanticKITTI's
// labels of the same key frames beside it.
//
// # Files
//
//	training/image_2, image_3/%06d.png  pictures of the camera that looks ahead, and of one to its right
//	training/velodyne/%06d.bin          points: x, y, z, reflectance, float32 each
//	training/label_2/%06d.txt           objects that image_2 shows
//	training/calib/%06d.txt             calibration
//	ImageSets/*.txt                     numbers of frames
//	sequences/NN/                       a scene's calib.txt, times.txt, pictures, points and labels of points
//	poses/NN.txt                        image_2's camera in its first frame
//
// # Frames
//
// The rectified frame is image_2's optical frame: x right, y down, z forward. A label's box stands on the centre of its bottom
// face, and its heading (cos ry, 0, -sin ry) is horizontal. So labels are exact for a camera that is level, and off by the pitch of
// one that isn't.
//
// Reference: the development kits of KITTI's object and odometry benchmarks, and of SemanticKITTI.
package kitti

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/internal/fault"
)

// Channels, named as the folders of their files.
const (
	leftCamera  = "image_2"
	rightCamera = "image_3"
	lidar       = "velodyne"
)

// leastPixels is the default of min_pixels: of less nobody can tell what it is.
const leastPixels = 10

// dontCare is the category of regions that evaluations leave out.
const dontCare = "DontCare"

var categories = []string{"Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", dontCare}

// Format is the format of the bridge named "kitti".
var Format dataset.Format = format{}

type format struct{}

type options struct {
	dataset.Options
	Boxes string `option:"boxes" value:"amodal|visible" default:"amodal" doc:"2-D boxes: those of the whole object within the picture, or of its visible pixels"`
}

// Info describes the bridge.
func (format) Info() bridges.Info {
	return bridges.Info{
		Name:    "kitti",
		Summary: "writes KITTI's object and odometry sets, with SemanticKITTI's labels: a camera or two and a lidar",
		Wants:   []bridges.Want{dataset.Boxes},
	}
}

// Options returns the options at their defaults.
func (format) Options() (all any, common *dataset.Options) {
	o := &options{Options: dataset.DefaultOptions(), Boxes: "amodal"}
	o.MinPixels = leastPixels
	return o, &o.Options
}

// Categories are KITTI's. It has no class for buses and motorcycles.
func (format) Categories() dataset.Categories {
	return dataset.Categories{
		{Type: "vehicle.van*", Category: "Van"}, {Type: "vehicle.tram*", Category: "Tram"}, {Type: "vehicle.trailer*", Category: "Misc"},
		{Tag: "pedestrian", Category: "Pedestrian"}, {Tag: "rider", Category: "Cyclist"}, {Tag: "bicycle", Category: "Cyclist"},
		{Tag: "car", Category: "Car"}, {Tag: "truck", Category: "Truck"}, {Tag: "train", Category: "Tram"},
		{Tag: "bus", Category: "Misc"}, {Tag: "motorcycle", Category: "Misc"},
		// What no sensor has seen the tag of.
		{Type: "walker.*", Category: "Pedestrian"}, {Type: "vehicle.bicycle*", Category: "Cyclist"}, {Type: "vehicle.bus*", Category: "Misc"},
		{Type: "vehicle.motorcycle*", Category: "Misc"}, {Type: "vehicle.truck*", Category: "Truck"}, {Type: "vehicle.*", Category: "Car"},
	}
}

// Channels takes the camera that looks ahead and perhaps the one beside it, and the first lidar.
func (format) Channels(list []*dataset.Sensor, m *dataset.Map, _ any) error {
	if err := m.Categories.CheckCategories(categories); err != nil {
		return err
	}
	if err := assign(list, m); err != nil {
		return err
	}
	left, right := of(list, leftCamera), of(list, rightCamera)
	switch {
	case left == nil:
		return fmt.Errorf("%w: KITTI needs a camera, and the rig has none", dataset.ErrRig)
	case of(list, lidar) == nil:
		return fmt.Errorf("%w: KITTI needs a lidar, and the rig has none", dataset.ErrRig)
	case right != nil && !parallel(left, right):
		return fmt.Errorf("%w: %s is %s and %s is %s, but they don't look the same way: KITTI's pictures are rectified", dataset.ErrRig,
			left.Name, leftCamera, right.Name, rightCamera)
	}
	for _, s := range list {
		if s.Channel == "" || s.Modality != dataset.Camera {
			continue
		}
		if err := dataset.Pinhole(s); err != nil {
			return err
		}
	}
	return nil
}

// assign gives the sensors their channels, by the map if it names one, else by what they look at.
func assign(list []*dataset.Sensor, m *dataset.Map) error {
	if len(m.Sensors) > 0 {
		return assignByMap(list, m)
	}
	var ahead *dataset.Sensor
	for _, s := range list {
		switch {
		case s.Modality == dataset.Lidar && of(list, lidar) == nil:
			s.Channel = lidar
		case s.Modality == dataset.Camera && (ahead == nil || looksAhead(s) > looksAhead(ahead)):
			ahead = s
		}
	}
	if ahead == nil {
		return nil
	}
	ahead.Channel = leftCamera
	for _, s := range list {
		if s.Modality != dataset.Camera || s == ahead || !parallel(ahead, s) {
			continue
		}
		if left := ahead.Mount.Inverse().Apply(s.Mount.Position)[1]; left > 0 {
			s.Channel, ahead.Channel = leftCamera, rightCamera
			return nil
		} else if left < 0 {
			s.Channel = rightCamera
			return nil
		}
	}
	return nil
}

func assignByMap(list []*dataset.Sensor, m *dataset.Map) error {
	fits := map[string]dataset.Modality{leftCamera: dataset.Camera, rightCamera: dataset.Camera, lidar: dataset.Lidar}
	for _, s := range list {
		channel, _ := m.Channel(s.Name)
		switch other := of(list, channel); {
		case channel == "":
			continue
		case fits[channel] == "":
			return fmt.Errorf("%w: sensor %s has the channel %q: %s", dataset.ErrRig, s.Name, channel,
				fault.Hint(channel, []string{leftCamera, rightCamera, lidar}))
		case fits[channel] != s.Modality:
			return fmt.Errorf("%w: %s %s can't be %s, which is a %s's", dataset.ErrRig, s.Modality, s.Name, channel, fits[channel])
		case other != nil:
			return fmt.Errorf("%w: two sensors, %s and %s, have the channel %s", dataset.ErrRig, other.Name, s.Name, channel)
		}
		s.Channel = channel
	}
	return nil
}

// of returns the sensor of a channel, nil if there is none.
func of(list []*dataset.Sensor, channel string) *dataset.Sensor {
	if i := slices.IndexFunc(list, func(s *dataset.Sensor) bool { return s.Channel == channel }); i >= 0 && channel != "" {
		return list[i]
	}
	return nil
}

// looksAhead is the cosine between a sensor's axis and the vehicle's, in hundredths: of cameras that look about the same
// way the first one is taken.
func looksAhead(s *dataset.Sensor) int { return int(100 * s.Mount.Rotate(mgl64.Vec3{1, 0, 0})[0]) }

// parallel reports whether two cameras stand side by side and look the same way, and have pictures of one size.
func parallel(a, b *dataset.Sensor) bool {
	for _, name := range []string{"image_size_x", "image_size_y", "fov"} {
		va, _ := a.Attribute(name)
		if vb, _ := b.Attribute(name); va != vb {
			return false
		}
	}
	if turn := a.Mount.Orientation.Conjugate().Mul(b.Mount.Orientation); turn.V.Len() > 1e-6 {
		return false
	}
	beside := a.Mount.Inverse().Apply(b.Mount.Position)
	return max(math.Abs(beside[0]), math.Abs(beside[2])) < 1e-3
}

// Folders has those of the data files.
func (format) Folders() []string { return []string{"training", "sequences"} }

// NewWriter begins to write.
func (format) NewWriter(set *dataset.Set, all any) dataset.Writer {
	return &writer{set: set, options: all.(*options)}
}

// Rename gives a file its numbers in another set.
func (format) Rename(name string, scene, frame int) string {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 3 && parts[0] == "training":
		parts[2] = fmt.Sprintf("%06d%s", frame, path.Ext(name))
	case len(parts) > 2 && parts[0] == "sequences":
		parts[1] = fmt.Sprintf("%02d", scene)
	}
	return strings.Join(parts, "/")
}
