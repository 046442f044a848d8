package coco

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// A document is one file of annotations. Detection and panoptic files share their form up to the annotations.
type document struct {
	Info        json.RawMessage `json:"info"`
	Images      []imageRow      `json:"images"`
	Annotations []annotation    `json:"annotations"`
	Categories  []category      `json:"categories"`

	file string // from the root
	name string // the part of its name behind "instances_" or "panoptic_": that of the pictures' folder
}

type imageRow struct {
	ID       integer `json:"id"`
	Width    integer `json:"width"`
	Height   integer `json:"height"`
	FileName string  `json:"file_name"`
	// Weather isn't COCO's. Sets of simulators have it as an object of numbers, and others in words.
	Weather json.RawMessage `json:"weather"`
}

// An annotation is an object of a picture, or in a panoptic file all segments of one.
type annotation struct {
	ID           integer       `json:"id"`
	ImageID      integer       `json:"image_id"`
	CategoryID   integer       `json:"category_id"`
	Area         number        `json:"area"`
	Box          numbers       `json:"bbox"`
	IsCrowd      integer       `json:"iscrowd"`
	Segmentation *segmentation `json:"segmentation"`
	FileName     string        `json:"file_name"`
	Segments     []annotation  `json:"segments_info"`

	// These aren't COCO's: sets of simulators have them beside.
	Amodal     numbers `json:"amodal_bbox"` // of the whole object, hidden or not, not clipped
	Occlusion  number  `json:"occlusion"`   // the hidden share
	Truncation number  `json:"truncation"`  // the share outside the picture
	Visibility number  `json:"visibility"`  // the share that all cameras together see
	Distance   number  `json:"distance"`    // metres
}

type category struct {
	ID      integer  `json:"id"`
	Name    string   `json:"name"`
	IsThing *integer `json:"isthing"`
	Color   numbers  `json:"color"`
}

// integer is a JSON value that must be an integer. Any other value is kept as text, so that one bad value is a finding and the rest of the file is read.
type integer struct {
	value int64
	text  string // what is there instead of an integer
	given bool
}

func (i *integer) UnmarshalJSON(text []byte) (err error) {
	i.given = true
	if i.value, err = strconv.ParseInt(string(text), 10, 64); err != nil {
		i.text = string(text)
	}
	return nil
}

// wrong says why the value isn't an integer, "" if it is one.
func (i integer) wrong() string {
	switch {
	case !i.given:
		return "is missing"
	case i.text != "":
		return "is " + short(i.text) + ", not an integer"
	}
	return ""
}

// String is the value as it stands in the file.
func (i integer) String() string {
	if i.text != "" {
		return short(i.text)
	}
	return strconv.FormatInt(i.value, 10)
}

// short cuts a text that is printed.
func short(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}

// number is a JSON value that must be a finite number; ok is false for others.
type number struct {
	value float64
	ok    bool
}

func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseFloat(string(text), 64)
	n.value, n.ok = value, err == nil && !math.IsInf(value, 0) && !math.IsNaN(value)
	return nil
}

// numbers is a JSON value that must be a list of finite numbers; nil for others.
type numbers []float64

func (n *numbers) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[]float64)(n)) != nil {
		*n = nil
	}
	return nil
}

// segmentation is a mask as runs or as polygons.
type segmentation struct {
	size     [2]int64 // height, width
	runs     runs
	polygons [][]float64
	err      error
}

// UnmarshalJSON keeps the error of a bad mask, so that the rest of the file is read.
func (s *segmentation) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		s.polygons, s.err = parsePolygons(text)
	} else {
		s.err = s.parseMask(text)
	}
	return nil
}

func parsePolygons(text []byte) (polygons [][]float64, err error) {
	if err := json.Unmarshal(text, &polygons); err != nil {
		return nil, err
	}
	for _, p := range polygons {
		if len(p) < 6 || len(p)%2 != 0 {
			return nil, fmt.Errorf("has a polygon of %d numbers: three points and more are wanted", len(p))
		}
	}
	return polygons, nil
}

// parseMask reads runs as a string or as a list.
func (s *segmentation) parseMask(text []byte) (err error) {
	var object struct {
		Size   [2]int64        `json:"size"`
		Counts json.RawMessage `json:"counts"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	s.size = object.Size
	var compressed string
	if json.Unmarshal(object.Counts, &compressed) == nil {
		s.runs, err = parseRuns(compressed)
		return err
	}
	if err := json.Unmarshal(object.Counts, (*[]int)(&s.runs)); err != nil {
		return err
	}
	for _, n := range s.runs {
		if n < 0 || n > maxPixels {
			return fmt.Errorf("%w: a run has the length %d", errRLE, n)
		}
	}
	return nil
}

// folder is where COCO has its files of annotations.
const folder = "annotations"

// readDocument reads a file of annotations. The error is one of the file system or of JSON.
func readDocument(root fs.FS, file string) (*document, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	d := &document{file: file}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	_, d.name, _ = strings.Cut(strings.TrimSuffix(path.Base(file), ".json"), "_")
	return d, nil
}

// isPanoptic reports whether the annotations are those of whole pictures, with segments.
func (d *document) isPanoptic() bool {
	for _, a := range d.Annotations {
		return a.Segments != nil
	}
	return strings.HasPrefix(path.Base(d.file), "panoptic")
}

// find returns the path of a picture in one of the folders, the first of them where it is in none.
func find(root fs.FS, name string, folders []string) (file string, found bool) {
	for _, dir := range folders {
		if file := path.Join(dir, name); fs.ValidPath(file) {
			if info, err := fs.Stat(root, file); err == nil && info.Mode().IsRegular() {
				return file, true
			}
		}
	}
	return path.Join(folders[0], name), false
}

// picture returns the path of an image, in the folder of the document's name, as COCO's are, or in images.
func (d *document) picture(root fs.FS, i *imageRow) (file string, found bool) {
	return find(root, i.FileName, []string{d.name, "images", "images/" + d.name, "."})
}

// segments returns the path of a panoptic annotation's PNG.
func (d *document) segments(root fs.FS, a *annotation) (file string, found bool) {
	base := "panoptic_" + d.name
	return find(root, a.FileName, []string{folder + "/" + base, base, "panoptic", "panoptic/" + d.name, "."})
}
