package kitti

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"strconv"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// frameRow is a key frame's row in the journal.
type frameRow struct {
	Stamp simtime.Stamp `json:"stamp"`
	// Camera is the pose of the rectified frame in the map frame.
	Camera spatial.Pose `json:"camera"`
}

// writer writes key frames.
type writer struct {
	set     *dataset.Set
	options *options
	actors  numbering
}

// sceneRow is a sequence's row in the journal. All that its tables need is in the rows of its frames.
type sceneRow struct {
	// Weather is that of the run's configuration, as bridges.Run has it. A world's may win over it.
	Weather json.RawMessage `json:"weather,omitempty"`
}

// WriteScene begins another sequence.
func (w *writer) WriteScene(*dataset.Scene) (any, error) {
	w.actors = numbering{}
	return sceneRow{json.RawMessage(w.set.Run.Weather)}, nil
}

// shot is what a key frame has of the sensors that KITTI knows.
type shot struct {
	left, right *dataset.Picture // right is nil without a second camera
	view        int              // of left among an object's
	cloud       *dataset.Cloud
}

func shotOf(frame *dataset.Frame) (s shot) {
	for i := range frame.Pictures {
		switch p := &frame.Pictures[i]; p.Sensor.Channel {
		case leftCamera:
			s.left, s.view = p, i
		case rightCamera:
			s.right = p
		}
	}
	for i := range frame.Clouds {
		if c := &frame.Clouds[i]; c.Sensor.Channel == lidar {
			s.cloud = c
		}
	}
	return s
}

func mountingOf(p *dataset.Picture) *mounting {
	if p == nil {
		return nil
	}
	m := &mounting{projection: p.Info.P, mount: p.Sensor.Mount}
	if origin, _ := p.Sensor.Attribute("principal_point"); origin == "corner" { // KITTI counts from the first pixel's centre
		m.projection[2] -= 0.5
		m.projection[6] -= 0.5
	}
	return m
}

// cameraOf is the pose of the rectified frame in the map frame. KITTI has one for all of a frame, that of the cloud's time, so that the
// calibration leads from the points to the labels. A picture may be of another time.
func cameraOf(frame *dataset.Frame, left *dataset.Picture) spatial.Pose {
	return frame.Ego.Pose.Compose(mountingOf(left).optical())
}

// WriteFrame writes the files of both sets: a sequence has those of the object set.
func (w *writer) WriteFrame(frame *dataset.Frame) (any, error) {
	s := shotOf(frame)
	for _, p := range []*dataset.Picture{s.left, s.right} {
		if p == nil {
			continue
		}
		if err := p.Pinhole(); err != nil {
			return nil, err
		}
	}
	camera := cameraOf(frame, s.left)
	calibration := calibrate(mountingOf(s.left), mountingOf(s.right), s.cloud.Sensor.Mount)
	if frame.Number == 0 {
		if err := w.set.WriteFile(sequenceFile(frame, "calib.txt"), calibration.odometry()); err != nil {
			return nil, err
		}
	}
	for name, data := range map[string][]byte{
		objectFile(frame, "calib", "txt"):   calibration.object(),
		objectFile(frame, "label_2", "txt"): w.labels(frame, &s, camera.Inverse()),
		frameFile(frame, "labels", "label"): w.actors.appendLabels(nil, s.cloud.PointCloud, frame.Objects, frame.Others),
		objectFile(frame, lidar, "bin"):     appendPoints(nil, s.cloud.PointCloud),
	} {
		if err := w.set.WriteFile(name, data); err != nil {
			return nil, err
		}
	}
	if err := w.set.Link(frameFile(frame, lidar, "bin"), objectFile(frame, lidar, "bin")); err != nil {
		return nil, err
	}
	w.picture(frame, s.left, leftCamera)
	if s.right != nil {
		w.picture(frame, s.right, rightCamera)
	}
	return frameRow{frame.Stamp, camera}, nil
}

// objectFile is a file of the object set, sequenceFile one of a sequence, and frameFile one of a frame in a sequence.
func objectFile(frame *dataset.Frame, folder, ending string) string {
	return fmt.Sprintf("training/%s/%06d.%s", folder, frame.Index, ending)
}

func sequenceFile(frame *dataset.Frame, name string) string {
	return fmt.Sprintf("sequences/%02d/%s", frame.Scene.Index, name)
}

func frameFile(frame *dataset.Frame, folder, ending string) string {
	return sequenceFile(frame, fmt.Sprintf("%s/%06d.%s", folder, frame.Number, ending))
}

// picture has a picture written on another goroutine: PNG takes longer than all else.
func (w *writer) picture(frame *dataset.Frame, p *dataset.Picture, folder string) {
	w.set.Go(func() error {
		var data bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		if err := encoder.Encode(&data, opaque(p.Image)); err != nil {
			return fmt.Errorf("encode picture of %s: %w", p.Sensor.Name, err)
		}
		if err := w.set.WriteFile(objectFile(frame, folder, "png"), data.Bytes()); err != nil {
			return err
		}
		return w.set.Link(frameFile(frame, folder, "png"), objectFile(frame, folder, "png"))
	})
}

// opaque copies the colours of an image.
func opaque(m *sample.Image) *image.NRGBA {
	size, red, blue := 3, 0, 2
	switch m.Encoding {
	case sample.EncodingBGR8:
		red, blue = 2, 0
	case sample.EncodingBGRA8:
		size, red, blue = 4, 2, 0
	}
	out := image.NewNRGBA(image.Rect(0, 0, m.Width, m.Height))
	for y := range m.Height {
		from, to := m.Data[y*m.Step:], out.Pix[y*out.Stride:(y+1)*out.Stride]
		for x := 0; 4*x < len(to); x++ {
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = from[size*x+red], from[size*x+1], from[size*x+blue], 255
		}
	}
	return out
}

// labels returns the lines of the left picture's objects, by rising id, and a DontCare for
// whatever else the picture shows.
func (w *writer) labels(frame *dataset.Frame, s *shot, toCamera spatial.Pose) (lines []byte) {
	labelled := map[uint32]bool{}
	for i := range frame.Objects {
		o := &frame.Objects[i]
		v := &o.Views[s.view]
		box := w.box(v, s.left.Info)
		if v.Pixels == 0 || v.Pixels < w.options.MinPixels || box.bottom-box.top < w.options.MinHeight || box.empty() || o.Category == dontCare {
			continue
		}
		l := label{
			category: o.Category, truncated: v.Truncation, occluded: occluded(v.Occlusion), box: box,
			place: placeOf(toCamera.Compose(o.Pose), o.Size),
		}
		lines = l.append(lines)
		labelled[o.ID] = true
	}
	for i := range s.left.Boxes {
		b := &s.left.Boxes[i]
		if labelled[b.ID] {
			continue
		}
		x, y, w, h := float64(b.CenterX), float64(b.CenterY), float64(b.Width)/2, float64(b.Height)/2
		box := visible(dataset.Rectangle{Left: x - w, Top: y - h, Right: x + w, Bottom: y + h})
		if !box.empty() {
			lines = box.appendDontCare(lines)
		}
	}
	return lines
}

// box returns an object's 2-D box.
func (w *writer) box(v *dataset.View, info *sample.CameraInfo) rectangle {
	if w.options.Boxes == "visible" || v.Framed.Empty() {
		return visible(v.Tight)
	}
	// KITTI counts from the first pixel's centre.
	b := v.Framed
	return rectangle{
		max(b.Left-0.5, 0), max(b.Top-0.5, 0), min(b.Right-0.5, float64(info.Width-1)), min(b.Bottom-0.5, float64(info.Height-1)),
	}
}

// visible returns the first and the last column and row of a box of whole pixels.
func visible(b dataset.Rectangle) rectangle {
	return rectangle{b.Left, b.Top, b.Right - 1, b.Bottom - 1}
}

// Tables writes the lists of frames, and the times and poses of sequences.
func (format) Tables(set *dataset.Set, journal *dataset.Journal, _ any) error {
	lists := map[string][]byte{"train": nil, "val": nil, "trainval": nil, "test": nil}
	for _, split := range journal.Head.Splits {
		if split.Name != "train" && split.Name != "val" {
			return fmt.Errorf("%w: %q: KITTI's labelled frames are in train and val alone", dataset.ErrShares, split.Name)
		}
	}
	frames, sequence := 0, sequenceTable{number: -1}
	for row, err := range journal.Rows() {
		if err != nil {
			return err
		}
		if row.Scene != nil {
			if err := sequence.write(set); err != nil {
				return err
			}
			sequence = sequenceTable{number: sequence.number + 1, split: cmp.Or(journal.Head.SplitOf(row.Scene), "train")}
			continue
		}
		if err := sequence.add(row.Frame); err != nil {
			return err
		}
		line := fmt.Appendf(nil, "%06d\n", frames)
		for _, list := range []string{sequence.split, "trainval"} {
			lists[list] = append(lists[list], line...)
		}
		frames++
	}
	if err := sequence.write(set); err != nil {
		return err
	}
	for name, list := range lists {
		if err := replace(set, "ImageSets/"+name+".txt", list); err != nil {
			return err
		}
	}
	return nil
}

// sequenceTable gathers what a sequence has beside its frames' files.
type sequenceTable struct {
	number       int // -1 before the first
	split        string
	start        simtime.Stamp
	first        spatial.Pose // of the camera
	times, poses []byte
}

// add adds a key frame: its time since the first one, and the camera's pose in the first one's frame.
func (t *sequenceTable) add(frame *dataset.FrameRow) error {
	var row frameRow
	if err := json.Unmarshal(frame.Data, &row); err != nil {
		return fmt.Errorf("%w: row of key frame %d of sequence %d: %w", dataset.ErrNoSet, frame.Number, t.number, err)
	}
	pose := spatial.Identity()
	if t.times == nil {
		t.start, t.first = row.Stamp, row.Camera
	} else {
		pose = t.first.Inverse().Compose(row.Camera)
	}
	t.times = append(strconv.AppendFloat(t.times, float64(row.Stamp-t.start)/1e9, 'e', 9, 64), '\n')
	t.poses = appendPose(t.poses, pose)
	return nil
}

func (t *sequenceTable) write(set *dataset.Set) error {
	if t.times == nil {
		return nil
	}
	if err := replace(set, fmt.Sprintf("sequences/%02d/times.txt", t.number), t.times); err != nil {
		return err
	}
	return replace(set, fmt.Sprintf("poses/%02d.txt", t.number), t.poses)
}

func replace(set *dataset.Set, name string, data []byte) error {
	return set.Replace(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
