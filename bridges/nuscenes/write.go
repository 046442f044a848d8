package nuscenes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Rows of the journal. Times are simulation time in nanoseconds, poses in the run's map frame.
type (
	sceneRow struct {
		// Epoch is what is added to times, nanoseconds.
		Epoch    int64  `json:"epoch"`
		Vehicle  string `json:"vehicle"`
		Location string `json:"location"`
		// Weather is that of the run's configuration as users read it, "" if that is clear. A world's may win over it.
		Weather string      `json:"weather,omitempty"`
		Sensors []sensorRow `json:"sensors"`
	}
	sensorRow struct {
		Channel  string           `json:"channel"`
		Modality dataset.Modality `json:"modality"`
		Rolling  bool             `json:"rolling"`
		// Pose is that of the sensor's frame in nuScenes's axes, in base_link.
		Pose pose `json:"pose"`
	}
	frameRow struct {
		Stamp   simtime.Stamp `json:"stamp"`
		Data    []dataRow     `json:"data"`
		Objects []objectRow   `json:"objects"`
		// Ground has the cells of the ground that no key frame before had, a row of cells each: y, the first x, the last x.
		Ground [][3]int `json:"ground,omitempty"`
	}
	dataRow struct {
		Channel string        `json:"channel"`
		File    string        `json:"file"`
		Stamp   simtime.Stamp `json:"stamp"`
		Ego     pose          `json:"ego"`
		Width   int           `json:"width,omitempty"`
		Height  int           `json:"height,omitempty"`
		// Intrinsic is a camera's matrix, in a scene's first key frame.
		Intrinsic []float64 `json:"intrinsic,omitempty"`
		// Labels is the file of a lidar's labels.
		Labels string `json:"labels,omitempty"`
	}
	objectRow struct {
		ID        uint32     `json:"id"`
		Category  string     `json:"category"`
		Attribute string     `json:"attribute,omitempty"`
		Pose      pose       `json:"pose"`
		Size      mgl64.Vec3 `json:"size"` // width, length, height
		Lidar     int        `json:"lidar"`
		Radar     int        `json:"radar"`
		Visible   float64    `json:"visible"`
		Views     []viewRow  `json:"views,omitempty"`
	}
	// viewRow is an object in a camera's picture, within which some of its box lies.
	viewRow struct {
		Channel    string     `json:"channel"`
		Pixels     int        `json:"pixels"`
		Occlusion  float64    `json:"occlusion"`
		Truncation float64    `json:"truncation"`
		Amodal     [4]float64 `json:"amodal"`
		Tight      []float64  `json:"tight,omitempty"`
	}
)

// pose is a translation, metres, and a quaternion, w first.
type pose struct {
	At   mgl64.Vec3 `json:"at"`
	Turn [4]float64 `json:"turn"`
}

func poseOf(p spatial.Pose) pose {
	q := p.Orientation.Normalize()
	return pose{p.Position, [4]float64{q.W, q.V[0], q.V[1], q.V[2]}}
}

// Times of runs that begin at 0, or soon after, are counted from that time of UNIX.
const (
	epoch = simtime.Stamp(1_700_000_000 * time.Second)
	unix  = simtime.Stamp(500_000_000 * time.Second)
)

func epochOf(start simtime.Stamp) int64 {
	if start >= unix {
		return 0
	}
	return int64(epoch)
}

func micros(stamp simtime.Stamp, epoch int64) int64 { return (int64(stamp) + epoch) / 1000 }

// token is a row's: a hash of the run's id, the table and what tells the row from others of the table.
func token(run, table string, key ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", run, table, fmt.Sprintln(key...)))
	return hex.EncodeToString(sum[:16])
}

// logName is the name of a scene's log, which begins the names of its files.
func logName(run string, scene int) string {
	return "raybridge-" + token(run, "log")[:12] + "-" + strconv.Itoa(scene)
}

// writer writes the files of a recording.
type writer struct {
	set     *dataset.Set
	options *options
	ground  ground // of the present scene
	pool    sync.Pool
}

// buffers are what a job needs to make a file.
type buffers struct {
	jpeg picture.JPEGEncoder
	data []byte
}

func (w *writer) buffers() *buffers {
	if b, ok := w.pool.Get().(*buffers); ok {
		return b
	}
	return &buffers{}
}

// WriteScene returns the sensors' calibration.
func (w *writer) WriteScene(scene *dataset.Scene) (any, error) {
	w.ground = ground{}
	row := &sceneRow{Epoch: epochOf(scene.Start), Vehicle: w.set.Run.Rig, Location: w.set.Run.Scene}
	if text := w.set.Run.Weather; text != "" {
		var state weather.State
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return nil, fmt.Errorf("weather of the run: %w", err)
		}
		if state != (weather.State{}) {
			row.Weather = state.String()
		}
	}
	for _, s := range scene.Sensors {
		at := s.Mount
		switch s.Modality {
		case dataset.Lidar:
			at = at.Compose(lidarAxes)
		case dataset.Camera:
			at = at.Compose(spatial.OpticalInBody())
		}
		rolling, _ := s.Attribute("rolling")
		on, _ := rolling.(bool)
		row.Sensors = append(row.Sensors, sensorRow{Channel: s.Channel, Modality: s.Modality, Rolling: on, Pose: poseOf(at)})
	}
	return row, nil
}

// data is the row of a capture in a folder of samples or sweeps.
func (w *writer) data(folder string, scene *dataset.Scene, c *dataset.Capture, ending string) dataRow {
	return dataRow{
		Channel: c.Sensor.Channel, Stamp: c.Stamp, Ego: poseOf(c.Ego),
		File: fmt.Sprintf("%s/%s/%s__%s__%d%s", folder, c.Sensor.Channel, logName(scene.Run, scene.Number), c.Sensor.Channel, micros(c.Stamp, epochOf(scene.Start)), ending),
	}
}

// Folders and endings of data files.
const (
	samples, sweeps                         = "samples", "sweeps"
	pictureEnding, lidarEnding, radarEnding = ".jpg", ".pcd.bin", ".pcd"
)

// WriteFrame writes a key frame's files.
func (w *writer) WriteFrame(f *dataset.Frame) (any, error) {
	row := &frameRow{Stamp: f.Stamp, Objects: w.objects(f), Ground: w.ground.add(f)}
	for i := range f.Pictures {
		p := &f.Pictures[i]
		if err := p.Pinhole(); err != nil {
			return nil, err
		}
		d := w.data(samples, f.Scene, &p.Capture, pictureEnding)
		d.Width, d.Height = p.Image.Width, p.Image.Height
		if f.Number == 0 {
			d.Intrinsic = p.Info.K[:]
		}
		row.Data = append(row.Data, d)
		w.set.Go(func() error { return w.picture(w.set, d.File, p.Image) })
	}
	for i := range f.Clouds {
		c := &f.Clouds[i]
		d := w.data(samples, f.Scene, &c.Capture, lidarEnding)
		if c.Sensor.Channel == lidarTop {
			d.Labels = fmt.Sprintf("lidarseg/%s/%s_lidarseg.bin", w.options.Version, dataToken(f.Scene.Run, f.Scene.Number, &d))
		}
		row.Data = append(row.Data, d)
		w.set.Go(func() error { return w.cloud(w.set, &d, c.PointCloud, f.Objects, f.Others) })
	}
	for i := range f.Radars {
		r := &f.Radars[i]
		d := w.data(samples, f.Scene, &r.Capture, radarEnding)
		row.Data = append(row.Data, d)
		if err := w.radar(w.set, d.File, r); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// WriteSweep writes a sample between key frames.
func (w *writer) WriteSweep(s *dataset.Sweep) (any, error) {
	switch {
	case s.Picture != nil:
		d := w.data(sweeps, s.Scene, &s.Capture, pictureEnding)
		d.Width, d.Height = s.Picture.Image.Width, s.Picture.Image.Height
		return &d, w.picture(s.Set, d.File, s.Picture.Image)
	case s.Cloud != nil:
		d := w.data(sweeps, s.Scene, &s.Capture, lidarEnding)
		return &d, w.cloud(s.Set, &d, s.Cloud.PointCloud)
	default:
		d := w.data(sweeps, s.Scene, &s.Capture, radarEnding)
		return &d, w.radar(s.Set, d.File, s.Radar)
	}
}

// picture writes a JPEG.
func (w *writer) picture(set *dataset.Set, name string, m *sample.Image) (err error) {
	p := &picture.Packed{Pixels: m.Data, Width: m.Width, Height: m.Height, Stride: m.Step, Size: 3, Red: 0, Green: 1, Blue: 2}
	switch m.Encoding {
	case sample.EncodingRGB8:
	case sample.EncodingBGR8:
		p.Red, p.Blue = 2, 0
	case sample.EncodingBGRA8:
		p.Red, p.Blue, p.Size = 2, 0, 4
	default:
		return fmt.Errorf("%w: a picture of encoding %s: want rgb8, bgr8 or bgra8", bridges.ErrConvert, m.Encoding)
	}
	b := w.buffers()
	defer w.pool.Put(b)
	if b.data, err = b.jpeg.Append(b.data[:0], p, w.options.Quality); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	return set.WriteFile(name, b.data)
}

// objects are the rows of the frame's actors.
func (w *writer) objects(f *dataset.Frame) []objectRow {
	rows := make([]objectRow, 0, len(f.Objects))
	for i := range f.Objects {
		o := &f.Objects[i]
		row := objectRow{
			ID: o.ID, Category: o.Category, Attribute: attributeOf(o), Pose: poseOf(o.Pose), Size: mgl64.Vec3{o.Size[1], o.Size[0], o.Size[2]},
			Lidar: o.LidarPoints, Radar: o.RadarPoints, Visible: o.Visible,
		}
		for k := range o.Views {
			v := &o.Views[k]
			amodal := v.Framed
			if amodal.Empty() {
				continue
			}
			view := viewRow{
				Channel: f.Pictures[k].Sensor.Channel, Pixels: v.Pixels, Occlusion: v.Occlusion, Truncation: v.Truncation,
				Amodal: [4]float64{amodal.Left, amodal.Top, amodal.Right, amodal.Bottom},
			}
			if v.Pixels > 0 {
				view.Tight = []float64{v.Tight.Left, v.Tight.Top, v.Tight.Right, v.Tight.Bottom}
			}
			row.Views = append(row.Views, view)
		}
		rows = append(rows, row)
	}
	return slices.Clip(rows)
}
