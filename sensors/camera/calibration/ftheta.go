package calibration

import (
	"fmt"
	"strings"
)

// Names of the polynomials of a record. Those that say no direction have polynomial-type beside them.
var (
	toAngleNames  = []string{"pixeldist_to_angle_poly", "bw-poly", "bw_poly"}
	toPixelNames  = []string{"angle_to_pixeldist_poly", "fw-poly", "fw_poly"}
	polynomial    = "polynomial"
	directionKeys = []string{"polynomial-type", "polynomial_type", "reference_poly"}
)

// isFTheta tells a record of NVIDIA's by its polynomials.
func isFTheta(root *node) bool { return len(fThetaCameras(root)) > 0 }

// fThetaCameras returns the records of a file: one, or those of a rig's sensors.
func fThetaCameras(root *node) map[string]*node {
	cameras := map[string]*node{}
	add := func(name string, n *node) {
		if n == nil {
			return
		}
		for _, inner := range []string{"properties", "parameters", "camera_model_parameters"} {
			if f := n.fields[inner]; f != nil {
				n = f
			}
		}
		if f, _ := n.get(append(append([]string{polynomial}, toAngleNames...), toPixelNames...)...); f != nil {
			cameras[name] = n
		}
	}
	add("camera", root)
	list := root.fields["sensors"]
	if rig := root.fields["rig"]; rig != nil {
		list = rig.fields["sensors"]
	}
	if list != nil {
		for i, n := range list.items {
			add(n.fields["name"].textOr(fmt.Sprint(i)), n)
		}
	}
	return cameras
}

// readFTheta reads a record of DriveWorks' camera model ftheta, or of NCore's.
func readFTheta(root *node, choice string) (*Camera, error) {
	n, err := choose(root, fThetaCameras(root), choice)
	if err != nil {
		return nil, err
	}
	if model, _ := n.get("Model", "model"); model != nil && !strings.Contains(strings.ToLower(model.text()), "theta") {
		return nil, model.errorf("a model %q: of NVIDIA's there is ftheta", model.text())
	}
	c := &Camera{Lens: FTheta}
	if err := c.pictureSize(n); err != nil {
		return nil, err
	}
	if size, _ := n.get("resolution"); size != nil {
		list, err := size.exactly("resolution", 2)
		if err != nil {
			return nil, err
		}
		if err := c.size(size, list); err != nil {
			return nil, err
		}
	}
	if err := c.centre(n); err != nil {
		return nil, err
	}
	if err := c.linear(n); err != nil {
		return nil, err
	}
	if most, _ := n.get("max_angle", "max-angle"); most != nil {
		if c.MaxAngle, err = most.number(); err != nil {
			return nil, err
		}
	}
	return c, c.polynomials(n)
}

// named reads a number of each name's alternatives; those that aren't there are left.
func (n *node) named(to map[*float64][]string) (found int, err error) {
	for f, names := range to {
		if v, _ := n.get(names...); v != nil {
			if *f, err = v.number(); err != nil {
				return found, err
			}
			found++
		}
	}
	return found, nil
}

func (c *Camera) centre(n *node) error {
	if p, _ := n.get("principal_point"); p != nil {
		list, err := p.exactly("principal_point", 2)
		if err == nil {
			c.CX, c.CY = list[0], list[1]
		}
		return err
	}
	found, err := n.named(map[*float64][]string{&c.CX: {"cx", "u0"}, &c.CY: {"cy", "v0"}})
	if err == nil && found < 2 {
		err = n.errorf("it has no principal point: cx and cy, u0 and v0, or principal_point")
	}
	return err
}

func (c *Camera) linear(n *node) error {
	if p, _ := n.get("linear_cde"); p != nil {
		list, err := p.exactly("linear_cde", 3)
		if err == nil {
			c.Linear = [3]float64(list)
		}
		return err
	}
	_, err := n.named(map[*float64][]string{
		&c.Linear[0]: {"linear-c", "linear_c", "c"}, &c.Linear[1]: {"linear-d", "linear_d", "d"}, &c.Linear[2]: {"linear-e", "linear_e", "e"},
	})
	return err
}

// polynomials reads the one that the record is made of, of two directions the one that it names.
func (c *Camera) polynomials(n *node) error {
	direction, _ := n.get(directionKeys...)
	word := strings.ToLower(direction.textOr(""))
	toAngle, _ := n.get(toAngleNames...)
	toPixels, _ := n.get(toPixelNames...)
	p := n.fields[polynomial]
	switch {
	case p != nil && (word == "" || strings.HasPrefix(word, "pixel")):
		c.ToAngle = true
	case p != nil && strings.HasPrefix(word, "angle"):
	case p != nil:
		return direction.errorf("a polynomial of type %q, need pixeldistance-to-angle or angle-to-pixeldistance", word)
	case toAngle != nil && (toPixels == nil || !strings.HasPrefix(word, "angle")):
		p, c.ToAngle = toAngle, true
	default:
		p = toPixels
	}
	var err error
	if c.Polynomial, err = p.numbers(); err != nil {
		return err
	}
	for len(c.Polynomial) > 2 && c.Polynomial[len(c.Polynomial)-1] == 0 {
		c.Polynomial = c.Polynomial[:len(c.Polynomial)-1]
	}
	return nil
}
