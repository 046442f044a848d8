package coco

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"sync"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// sceneRow is a scene's row in the journal.
type sceneRow struct {
	Categories []category `json:"categories,omitempty"` // those of the map
	// Weather is that of the run's configuration, as bridges.Run has it. A world's may win over it.
	Weather json.RawMessage `json:"weather,omitempty"`
}

// frameRow is a key frame's.
type frameRow struct {
	Stamp    simtime.Stamp `json:"stamp"`
	Pictures []pictureRow  `json:"pictures"`
}

// pictureRow is what the tables say of a picture.
type pictureRow struct {
	// Name is the file's without its ending, and the panoptic picture's.
	Name          string       `json:"name"`
	Camera        string       `json:"camera"`
	Width, Height int          // pixels
	Annotations   []annotation `json:"annotations"`
	Segments      []segment    `json:"segments,omitempty"`
}

// An annotation is an object in a picture: COCO's fields, except its id and the picture's, which Tables give, and what is known beside.
type annotation struct {
	Category     int             `json:"category_id"`
	Box          [4]float64      `json:"bbox"`
	Area         int             `json:"area"`
	Crowd        int             `json:"iscrowd"`
	Segmentation json.RawMessage `json:"segmentation"`
	// Actor is the object's id, the same in all pictures of a scene.
	Actor  uint32 `json:"instance_id"`
	TypeID string `json:"type_id"`
	// Amodal is the bbox of the whole object, hidden or not, and not clipped to the picture. A picture whose lens distorts has none.
	Amodal [4]float64 `json:"amodal_bbox,omitzero"`
	// Occlusion is the hidden share of what the picture would show, and Truncation the share outside the picture.
	Occlusion  float64 `json:"occlusion"`
	Truncation float64 `json:"truncation"`
	// Visible is the share that all cameras together see.
	Visible  float64 `json:"visibility"`
	Distance float64 `json:"distance"` // of the centre from the camera, metres
}

// writer writes key frames.
type writer struct {
	set     *dataset.Set
	options *options
	stuff   map[uint8]int
	ids     map[string]int // of categories that are things

	// tools has what encoding a picture needs, to be used again.
	tools sync.Pool
}

// tools are one job's.
type tools struct {
	tracer tracer
	jpeg   picture.JPEGEncoder
	data   []byte
}

func newWriter(set *dataset.Set, o *options) *writer {
	w := &writer{set: set, options: o, stuff: stuffByTag(), ids: map[string]int{}}
	w.tools.New = func() any { return new(tools) }
	for _, c := range table(o.own) {
		if c.IsThing == 1 {
			w.ids[c.Name] = c.ID
		}
	}
	return w
}

// WriteScene has nothing to write.
func (w *writer) WriteScene(*dataset.Scene) (any, error) {
	return sceneRow{w.options.own, json.RawMessage(w.set.Run.Weather)}, nil
}

// WriteFrame writes the pictures of all cameras.
func (w *writer) WriteFrame(frame *dataset.Frame) (any, error) {
	row := &frameRow{Stamp: frame.Stamp, Pictures: make([]pictureRow, len(frame.Pictures))}
	for i := range frame.Pictures {
		w.set.Go(func() error { return w.picture(frame, i, &row.Pictures[i]) })
	}
	return row, nil
}

// picture writes the files of a picture and fills its row.
func (w *writer) picture(frame *dataset.Frame, view int, row *pictureRow) error {
	p := &frame.Pictures[view]
	t := w.tools.Get().(*tools)
	defer w.tools.Put(t)
	*row = pictureRow{
		Name:   fmt.Sprintf("%.12s-%04d-%06d-%s", frame.Scene.Run, frame.Scene.Number, frame.Number, p.Sensor.Channel),
		Camera: p.Sensor.Name, Width: p.Image.Width, Height: p.Image.Height, Annotations: []annotation{},
	}
	masks := t.tracer.masks(p.Instances.Data, p.Instances.Step, p.Instances.Width, p.Instances.Height)
	shown := map[uint32]int{}
	for i := range frame.Objects {
		o := &frame.Objects[i]
		m := masks[o.ID]
		if m == nil || m.area < w.options.MinPixels || float64(m.bottom-m.top) < w.options.MinHeight {
			continue
		}
		a, err := w.annotate(o, &o.Views[view], m)
		if err != nil {
			return err
		}
		a.Distance = hundredths(o.Pose.Position.Sub(p.Ego.Compose(p.Sensor.Mount).Position).Len())
		row.Annotations = append(row.Annotations, a)
		shown[o.ID] = a.Category
	}
	var err error
	if t.data, err = t.jpeg.Append(t.data[:0], packed(p.Image), w.options.Quality); err != nil {
		return fmt.Errorf("encode picture of %s: %w", p.Sensor.Name, err)
	}
	if err := w.set.WriteFile("images/"+row.Name+".jpg", t.data); err != nil {
		return err
	}
	if w.options.Panoptic == "on" {
		return w.panoptic(p, shown, row)
	}
	return nil
}

// panoptic writes the panoptic picture: what is annotated are its things.
func (w *writer) panoptic(p *dataset.Picture, things map[uint32]int, row *pictureRow) error {
	part := partition{things: things, stuff: w.stuff}
	out, segments := part.part(plane{p.Instances.Data, p.Instances.Step}, plane{p.Semantics.Data, p.Semantics.Step}, row.Width, row.Height)
	row.Segments = segments
	var data bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&data, out); err != nil {
		return fmt.Errorf("encode panoptic picture of %s: %w", p.Sensor.Name, err)
	}
	return w.set.WriteFile("panoptic/"+row.Name+".png", data.Bytes())
}

// annotate describes an object in a picture.
func (w *writer) annotate(o *dataset.Object, v *dataset.View, m *mask) (a annotation, err error) {
	var segmentation any = map[string]any{"size": [2]int{m.height, m.width}, "counts": m.counts()}
	if w.options.Masks == "polygons" {
		segmentation = m.polygons()
	}
	a = annotation{
		Category: w.ids[o.Category], Box: m.box(), Area: m.area, Actor: o.ID, TypeID: o.TypeID,
		Amodal: [4]float64{
			hundredths(v.Amodal.Left), hundredths(v.Amodal.Top), hundredths(v.Amodal.Right - v.Amodal.Left), hundredths(v.Amodal.Bottom - v.Amodal.Top),
		},
		Occlusion: hundredths(v.Occlusion), Truncation: hundredths(v.Truncation), Visible: hundredths(o.Visible),
	}
	a.Segmentation, err = json.Marshal(segmentation)
	return a, err
}

// hundredths rounds to two decimals.
func hundredths(v float64) float64 { return math.Round(v*100)/100 + 0 }

// packed tells the JPEG encoder where the colours are.
func packed(m *sample.Image) *picture.Packed {
	p := &picture.Packed{Pixels: m.Data, Width: m.Width, Height: m.Height, Stride: m.Step, Size: 3, Green: 1, Blue: 2}
	switch m.Encoding {
	case sample.EncodingBGR8:
		p.Red, p.Blue = 2, 0
	case sample.EncodingBGRA8:
		p.Size, p.Red, p.Blue = 4, 2, 0
	}
	return p
}
