package calibration

import (
	"strings"
)

// isKalibr tells a camchain by its cameras.
func isKalibr(root *node) bool { return len(kalibrCameras(root)) > 0 }

func kalibrCameras(root *node) map[string]*node {
	cameras := map[string]*node{}
	for name, n := range root.fields {
		if _, ok := n.fields["camera_model"]; ok && strings.HasPrefix(name, "cam") {
			cameras[name] = n
		}
	}
	return cameras
}

// kalibrModels are the pairs of camera_model and distortion_model with the lens of each, how many
// intrinsics come before the focal lengths, and how many numbers the distortion has.
var kalibrModels = map[[2]string]struct {
	lens       string
	own, count int
}{
	{"pinhole", "none"}:        {Pinhole, 0, 0},
	{"pinhole", "radtan"}:      {PlumbBob, 0, 4},
	{"pinhole", "equidistant"}: {Equidistant, 0, 4},
	{"pinhole", "equi"}:        {Equidistant, 0, 4},
	{"omni", "none"}:           {Mei, 1, 0},
	{"omni", "radtan"}:         {Mei, 1, 4},
	{"ds", "none"}:             {DoubleSphere, 2, 0},
}

// readKalibr reads one camera of a camchain.
func readKalibr(root *node, choice string) (*Camera, error) {
	n, err := choose(root, kalibrCameras(root), choice)
	if err != nil {
		return nil, err
	}
	model, distortion := n.fields["camera_model"].text(), n.fields["distortion_model"].textOr("none")
	if distortion == "" {
		distortion = "none"
	}
	m, known := kalibrModels[[2]string{model, distortion}]
	if !known {
		return nil, n.errorf("camera_model %s with distortion_model %s: there are pinhole with radtan, equidistant or none, omni with radtan or none, and ds with none", model, distortion)
	}
	c := &Camera{Lens: m.lens}
	intrinsics, _ := n.get("intrinsics")
	if intrinsics == nil {
		return nil, n.errorf("it has no intrinsics")
	}
	list, err := intrinsics.exactly("intrinsics", 4+m.own)
	if err != nil {
		return nil, err
	}
	if m.own > 0 {
		c.Xi = list[0]
	}
	if m.own > 1 {
		c.Alpha = list[1]
	}
	if err := c.focal(intrinsics, list[m.own:]); err != nil {
		return nil, err
	}
	if d, _ := n.get("distortion_coeffs"); m.count > 0 {
		if d == nil {
			return nil, n.errorf("it has no distortion_coeffs")
		}
		if c.D, err = d.exactly("distortion_coeffs", m.count); err != nil {
			return nil, err
		}
	}
	if size, _ := n.get("resolution"); size != nil {
		list, err := size.exactly("resolution", 2)
		if err != nil {
			return nil, err
		}
		return c, c.size(size, list)
	}
	return c, nil
}
