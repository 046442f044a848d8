// Package calibration reads what people have of their real cameras: ROS's camera_info YAML, OpenCV's
// FileStorage (YAML, JSON, XML), Kalibr's camchain, NVIDIA's f-theta record, and tables of rays in
// numpy's NPY. It knows their forms; package camera makes lenses of what they say.
//
// Pixels are counted as OpenCV does: the centre of the top-left one is (0, 0).
package calibration

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// ErrCalibration says that a file isn't a calibration that can be used.
var ErrCalibration = errors.New("calibration can't be used")

// Names of the lens models, as the attribute lens of cameras has them.
const (
	Pinhole      = "pinhole"
	PlumbBob     = "plumb_bob"
	Rational     = "rational"
	ThinPrism    = "thin_prism"
	Equidistant  = "equidistant"
	Mei          = "mei"
	FTheta       = "f_theta"
	DoubleSphere = "double_sphere"
)

// Camera is what a file says of one camera. What it doesn't say is zero.
type Camera struct {
	Lens                 string // one of the models
	Width, Height        int    // pixels; 0 where the file has none
	FX, FY, CX, CY, Skew float64
	D                    []float64 // in OpenCV's order
	Xi, Alpha            float64   // of mei and double_sphere
	Polynomial           []float64 // of f_theta, which has no focal lengths
	ToAngle              bool      // it leads from pixels to radians
	Linear               [3]float64
	MaxAngle             float64 // radians from the axis, 0 for none
	Info                 *Info   // nil where the file has none
}

// Info is what ROS's and OpenCV's files have that CameraInfo has, too.
type Info struct {
	Model string // distortion_model
	K     [9]float64
	D     []float64
	R     *[9]float64  // nil where the file has none
	P     *[12]float64 // likewise
}

// Parse reads a calibration; file names it in errors. Of several cameras it takes the one that is chosen by
// its name: cam0 of Kalibr's, M1's number 1, a sensor of a rig of NVIDIA's. Errors wrap ErrCalibration, or say
// where the text isn't YAML, JSON or XML.
func Parse(file string, text []byte, choice string) (*Camera, error) {
	root, err := read(file, text)
	if err != nil {
		return nil, err
	}
	reads := readMatrices
	switch {
	case isKalibr(root):
		reads = readKalibr
	case isFTheta(root):
		reads = readFTheta
	}
	c, err := reads(root, choice)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// read turns a text in any of the languages into a tree.
func read(file string, text []byte) (*node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if begins := bytes.TrimLeft(text, " \t\r\n"); len(begins) > 0 && begins[0] == '<' {
		return readXML(file, text)
	}
	// OpenCV's YAML says its version and types in ways that no other reader takes. Places stay.
	if bytes.HasPrefix(text, []byte("%YAML")) {
		text = append([]byte("#"), text[1:]...)
	}
	text = bytes.ReplaceAll(text, []byte("!!opencv-matrix"), []byte("               "))
	if json := bytes.TrimLeft(text, " \t\r\n"); len(json) > 0 && json[0] == '{' {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" "))
	}
	n, err := doc.ParseYAML(file, text)
	if err != nil {
		return nil, err
	}
	return treeOf(n)
}

// node is a value of a document, with its place.
type node struct {
	place  func(format string, args ...any) error
	fields map[string]*node // of a mapping
	items  []*node          // of a list
	value  any              // of a scalar: a number, a text, or nil
}

// treeOf copies a document.
func treeOf(n doc.Node) (*node, error) {
	t := &node{place: n.Errorf}
	if n.Null() {
		return t, nil
	}
	if entries, err := n.Entries(); err == nil {
		t.fields = map[string]*node{}
		for _, e := range entries {
			if t.fields[e.Key], err = treeOf(e.Value); err != nil {
				return nil, err
			}
		}
		return t, nil
	}
	if items, err := n.Items(); err == nil {
		for _, item := range items {
			child, err := treeOf(item)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, child)
		}
		return t, nil
	}
	var err error
	t.value, err = n.Value()
	return t, err
}

// errorf makes an error that wraps ErrCalibration at the node's place.
func (n *node) errorf(format string, args ...any) error {
	return n.place("%w: %s", ErrCalibration, fmt.Sprintf(format, args...))
}

// get returns the first of a mapping's fields that is there, and its name; nil for none.
func (n *node) get(names ...string) (*node, string) {
	for _, name := range names {
		if f := n.fields[name]; f != nil {
			return f, name
		}
	}
	return nil, ""
}

// text returns a scalar as text; "" for none.
func (n *node) text() string {
	if n == nil || n.value == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(n.value))
}

// number returns a scalar that is a finite number, or the text of one.
func (n *node) number() (f float64, err error) {
	switch v := n.value.(type) {
	case float64:
		f = v
	case uint64:
		f = float64(v)
	case int64:
		f = float64(v)
	default:
		if f, err = strconv.ParseFloat(n.text(), 64); err != nil {
			return 0, n.errorf("%q, need a number", n.text())
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, n.errorf("%v, need a finite number", f)
	}
	return f, nil
}

// numbers returns the numbers of a list, a matrix (its data), or a text with spaces between.
func (n *node) numbers() (list []float64, err error) {
	if data, _ := n.get("data"); data != nil {
		return data.numbers()
	}
	items := n.items
	if items == nil && n.value != nil {
		for word := range strings.FieldsFuncSeq(n.text(), func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }) {
			items = append(items, &node{place: n.place, value: word})
		}
	}
	for _, item := range items {
		if len(item.items) > 0 { // a row
			row, err := item.numbers()
			if err != nil {
				return nil, err
			}
			list = append(list, row...)
			continue
		}
		f, err := item.number()
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// exactly returns as many numbers as there have to be.
func (n *node) exactly(name string, count int) ([]float64, error) {
	list, err := n.numbers()
	if err == nil && len(list) != count {
		err = n.errorf("%s has %d numbers, need %d", name, len(list), count)
	}
	return list, err
}

// maxSide is the largest side of a picture that a camera has.
const maxSide = 16384

// size reads the picture's size from two numbers.
func (c *Camera) size(n *node, list []float64) error {
	for _, f := range list {
		if f != math.Trunc(f) || f < 1 || f > maxSide {
			return n.errorf("a picture of %vx%v pixels, each side is a whole number from 1 to %d", list[0], list[1], maxSide)
		}
	}
	c.Width, c.Height = int(list[0]), int(list[1])
	return nil
}

// focal reads fx, fy, cx and cy.
func (c *Camera) focal(n *node, list []float64) error {
	if !(list[0] > 0 && list[1] > 0) {
		return n.errorf("focal lengths of %v and %v pixels, need more than 0", list[0], list[1])
	}
	c.FX, c.FY, c.CX, c.CY = list[0], list[1], list[2], list[3]
	return nil
}

// choose returns the camera of a name; without one there has to be one only.
func choose(n *node, cameras map[string]*node, choice string) (*node, error) {
	names := slices.Sorted(maps.Keys(cameras))
	switch {
	case choice != "" && cameras[choice] != nil:
		return cameras[choice], nil
	case choice != "":
		return nil, n.errorf("it has no camera %q, %s", choice, fault.Hint(choice, names))
	case len(names) != 1:
		return nil, n.errorf("it has %d cameras: choose one with camera: %s", len(names), strings.Join(names, ", "))
	}
	return cameras[names[0]], nil
}
