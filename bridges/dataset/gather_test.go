package dataset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// plain is a format that takes all sensors and keeps what it is given.
type plain struct {
	frames *[]dataset.Frame
	sweeps bool
}

type plainOptions struct{ dataset.Options }

func (plain) Info() bridges.Info { return bridges.Info{Name: "plain", Summary: "for tests"} }
func (plain) Options() (any, *dataset.Options) {
	o := &plainOptions{dataset.DefaultOptions()}
	return o, &o.Options
}
func (plain) Folders() []string { return []string{"data"} }
func (plain) Categories() dataset.Categories {
	return dataset.Categories{{Type: "vehicle.*", Category: "car"}}
}

func (plain) Channels(list []*dataset.Sensor, m *dataset.Map, _ any) error {
	for _, s := range list {
		if s.Channel = s.Name; s.Name == "out" {
			s.Channel = ""
		}
	}
	return m.Categories.CheckCategories([]string{"car"})
}

func (p plain) NewWriter(set *dataset.Set, _ any) dataset.Writer {
	if p.sweeps {
		return &sweepWriter{plainWriter{p, set}}
	}
	return &plainWriter{p, set}
}

func (plain) Tables(set *dataset.Set, journal *dataset.Journal, _ any) error {
	return set.Replace("table.txt", func(w io.Writer) error {
		for row, err := range journal.Rows() {
			if err != nil {
				return err
			}
			if row.Frame != nil {
				fmt.Fprintf(w, "%d %s %d\n", row.Frame.Number, row.Frame.Data, len(row.Frame.Sweeps))
			}
		}
		return nil
	})
}

type plainWriter struct {
	plain
	set *dataset.Set
}

func (w *plainWriter) WriteScene(s *dataset.Scene) (any, error) { return len(s.Sensors), nil }
func (w *plainWriter) WriteFrame(f *dataset.Frame) (any, error) {
	kept := *f // beyond the call: the core uses clouds again
	kept.Clouds = slices.Clone(f.Clouds)
	for i := range kept.Clouds {
		kept.Clouds[i].PointCloud = new(sample.PointCloud)
		sample.Copy(kept.Clouds[i].PointCloud, f.Clouds[i].PointCloud)
	}
	*w.frames = append(*w.frames, kept)
	for _, p := range f.Pictures {
		data := append([]byte(nil), p.Image.Data...)
		w.set.Go(func() error {
			return w.set.WriteFile(fmt.Sprintf("data/%d/%s_%d", f.Scene.Number, p.Sensor.Name, p.Stamp), data)
		})
	}
	return int64(f.Stamp), nil
}

type sweepWriter struct{ plainWriter }

func (w *sweepWriter) WriteSweep(s *dataset.Sweep) (any, error) {
	return int64(s.Stamp), s.Set.WriteFile(fmt.Sprintf("data/%d/%s_%d", s.Scene.Number, s.Sensor.Name, s.Stamp), []byte("sweep"))
}

// run is a run whose messages a test makes: the ego turns about z, a rolling lidar's scan comes a period after its stamp.
type run struct {
	t      *testing.T
	bridge *bridges.Bridge
	dir    string

	snapshot bridges.Publisher[*sample.Snapshot]
	image    bridges.Publisher[*sample.Image]
	info     bridges.Publisher[*sample.CameraInfo]
	boxes    bridges.Publisher[*sample.Detections2D]
	cloud    bridges.Publisher[*sample.PointCloud]
}

const (
	turning    = 0.5 // rad/s
	cameraRate = 10
	lidarRate  = 20
)

// heading is the ego's pose at a time.
func heading(at simtime.Stamp) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{}, 0, 0, turning*180/math.Pi*float64(at)/1e9)
}

// car is where the only other actor stands.
var car = mgl64.Vec3{20, 3, 0}

func attributes(values map[string]any) func(string) (any, bool) {
	return func(name string) (any, bool) { v, ok := values[name]; return v, ok }
}

// begin opens a set, which is told of the sensors before it connects.
func begin(t *testing.T, format dataset.Format, dir, options string) *run {
	t.Helper()
	registry, err := bridges.NewRegistry(dataset.NewFactory(format))
	require.NoError(t, err)
	r := &run{t: t, dir: filepath.Join(dir, "set")}
	r.bridge, err = registry.Open("plain:set"+options, bridges.Env{OutDir: dir, Run: bridges.Run{ID: "r", Version: "1"}})
	require.NoError(t, err)
	camera := bridges.Source{Mount: spatial.Identity(), Rate: simtime.Hz(cameraRate), Attribute: attributes(map[string]any{"lens": "pinhole", "principal_point": "corner"})}
	beside := camera
	beside.Beside = "front"
	lidar := bridges.Source{Mount: spatial.Identity(), Rate: simtime.Hz(lidarRate), Attribute: attributes(map[string]any{"rolling": true, "compensated": true})}
	topic := func(name, sensor, kind string, source *bridges.Source) bridges.Topic {
		return bridges.Topic{Name: name, Sensor: sensor, SensorType: kind, Source: source}
	}
	r.snapshot = add[*sample.Snapshot](r, topic("/snapshot", "snapshot", "sensor.other.snapshot", &bridges.Source{}))
	r.image = add[*sample.Image](r, topic("/image", "front", "sensor.camera.rgb", &camera))
	r.info = add[*sample.CameraInfo](r, topic("/info", "front", "sensor.camera.rgb", &camera))
	r.boxes = add[*sample.Detections2D](r, topic("/boxes", "front.boxes", "sensor.ground_truth.boxes_2d", &beside))
	r.cloud = add[*sample.PointCloud](r, topic("/cloud", "top", "sensor.lidar.ray_cast", &lidar))
	return r
}

func add[M any](r *run, topic bridges.Topic) bridges.Publisher[M] {
	r.t.Helper()
	publish, err := bridges.AddPublisher[M](r.bridge, topic)
	require.NoError(r.t, err)
	return publish
}

func (r *run) connect() { require.NoError(r.t, r.bridge.Connect(r.t.Context())) }
func (r *run) close()   { require.NoError(r.t, r.bridge.Close(context.Background())) }

// drive publishes all that is due from a time on to another. without says what is left out, by topic.
func (r *run) drive(from, to time.Duration, without func(topic string, at simtime.Stamp) bool) {
	r.t.Helper()
	require.NoError(r.t, r.try(from, to, without))
}

// try is drive up to the first error.
func (r *run) try(from, to time.Duration, without func(topic string, at simtime.Stamp) bool) (first error) {
	send := func(topic string, at simtime.Stamp, publish func() error) {
		if first == nil && (without == nil || !without(topic, at)) {
			first = publish()
		}
	}
	period := simtime.Stamp(time.Second) / lidarRate
	for at := simtime.Stamp(from); at <= simtime.Stamp(to); at += period {
		h := sample.Header{Stamp: at, Pose: heading(at)}
		send("/snapshot", at, func() error {
			s := &sample.Snapshot{Header: h, Actors: []sample.ActorState{
				{TypeID: "vehicle.ego", Pose: heading(at)},
				{ID: 7, TypeID: "vehicle.sedan", Kind: sample.KindVehicle, Pose: spatial.Pose{Position: car, Orientation: mgl64.QuatIdent()}, BoxHalf: mgl64.Vec3{2, 1, 0.8}},
				{ID: 9, TypeID: "static.prop", Pose: spatial.Identity()},
			}}
			return r.snapshot(r.t.Context(), s)
		})
		if int64(at)%(int64(time.Second)/cameraRate) == 0 && at > 0 {
			// The car is where the camera sees it now, as its pixel says.
			seen := heading(at).Inverse().Apply(car)
			u := float32(100 - 100*seen[1]/seen[0])
			send("/image", at, func() error {
				return r.image(r.t.Context(), &sample.Image{Header: h, Width: 200, Height: 100, Step: 600, Encoding: sample.EncodingRGB8, Data: make([]byte, 60000)})
			})
			send("/info", at, func() error {
				return r.info(r.t.Context(), &sample.CameraInfo{Header: h, Width: 200, Height: 100, K: [9]float64{100, 0, 100, 0, 100, 50, 0, 0, 1}})
			})
			send("/boxes", at, func() error {
				return r.boxes(r.t.Context(), &sample.Detections2D{Header: h, Boxes: []sample.Box2D{{ID: 7, CenterX: u, CenterY: 50, Width: 8, Height: 6, Pixels: 48, Occlusion: 0.25, Truncation: 0.5}}})
			})
		}
		if first := at - period; first >= 0 { // the scan began a period ago
			send("/cloud", first, func() error {
				p := heading(first).Inverse().Apply(car)
				return r.cloud(r.t.Context(), &sample.PointCloud{Header: sample.Header{Stamp: first, Pose: heading(first)}, Points: []sample.Point{
					{X: float32(p[0]), Y: float32(p[1]), Instance: 7, Tag: 14, Return: 1}, {X: 5, Return: 1, Tag: 1},
				}})
			})
		}
	}
	return first
}

// TestFramesBelongTogether: the pictures, clouds and boxes of a key frame are of one instant. A scan or a picture of the period
// before would put the car elsewhere: the ego turns by 1.4 degrees in the shortest period, which is 2.5 pixels.
func TestFramesBelongTogether(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames}, t.TempDir(), "")
	r.connect()
	r.drive(0, 2200*time.Millisecond, nil)
	require.Len(t, frames, 4)
	for i, f := range frames {
		assert.Equal(t, simtime.Stamp(i+1)*simtime.Stamp(time.Second)/2, f.Stamp)
		assert.Equal(t, i, f.Number)
		assert.InDelta(t, 0, f.Ego.Pose.Orientation.Sub(heading(f.Stamp).Orientation).Len(), 1e-9)
		require.Len(t, f.Objects, 1, "a prop has no category")
		o := f.Objects[0]
		assert.Equal(t, "car", o.Category)
		assert.Equal(t, 1, o.LidarPoints)
		assert.InDelta(t, 0.375, o.Visible, 1e-6, "half of it is in the picture, of which a quarter is hidden")
		require.Len(t, f.Pictures, 1)
		p := f.Pictures[0]
		assert.Equal(t, f.Stamp, p.Stamp)
		// The point, by lidar and camera, lands on the box that the picture has.
		point := mgl64.Vec3{float64(f.Clouds[0].Points[0].X), float64(f.Clouds[0].Points[0].Y), float64(f.Clouds[0].Points[0].Z)}
		inCamera := p.Ego.Inverse().Apply(f.Clouds[0].Ego.Apply(point))
		assert.InDelta(t, 100-100*inCamera[1]/inCamera[0], (o.Views[0].Tight.Left+o.Views[0].Tight.Right)/2, 0.01)
		assert.InDelta(t, 0, f.Clouds[0].Ego.Apply(point).Sub(car).Len(), 1e-3)
		assert.True(t, o.Views[0].Amodal.Left < o.Views[0].Tight.Left && o.Views[0].Amodal.Right > o.Views[0].Tight.Right)
	}
	r.close()
	assert.Zero(t, r.bridge.Statistics().Drops.Total())
}

// TestAmodalBounds: a box straight ahead, whose near face is 18 m away.
func TestAmodalBounds(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames}, t.TempDir(), "")
	r.connect()
	r.drive(0, 600*time.Millisecond, nil)
	require.Len(t, frames, 1)
	box, ego := frames[0].Objects[0], frames[0].Ego.Pose.Inverse()
	left, right := math.Inf(1), math.Inf(-1)
	for _, c := range (spatial.OrientedBox{Pose: box.Pose, Half: box.Size.Mul(0.5)}).Corners() {
		p := ego.Apply(c)
		u := 100 - 100*p[1]/p[0]
		left, right = min(left, u), max(right, u)
	}
	assert.InDelta(t, left, box.Views[0].Amodal.Left, 1e-9)
	assert.InDelta(t, right, box.Views[0].Amodal.Right, 1e-9)
	r.close()
}

// TestLostSamples: a key frame that misses a sample is lost and counted, and those around it aren't.
func TestLostSamples(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"/image", "/info", "/boxes", "/cloud"} {
		var frames []dataset.Frame
		r := begin(t, plain{frames: &frames}, t.TempDir(), "")
		r.connect()
		r.drive(0, 2200*time.Millisecond, func(of string, at simtime.Stamp) bool {
			return of == topic && at > simtime.Stamp(900*time.Millisecond) && at < simtime.Stamp(1100*time.Millisecond)
		})
		r.close()
		require.Len(t, frames, 3, topic)
		assert.Equal(t, simtime.Stamp(1500*time.Millisecond), frames[1].Stamp, topic)
		assert.Positive(t, r.bridge.Statistics().Drops[flow.CauseConvertFailed], topic)
	}
}

// TestWaitingIsBounded: a sensor that brings nothing any more doesn't fill the memory.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames}, t.TempDir(), "?keyframes=10")
	r.connect()
	r.drive(0, 6*time.Second, func(topic string, at simtime.Stamp) bool { return topic == "/cloud" && at > simtime.Stamp(time.Second) })
	assert.Len(t, frames, 10)
	assert.Positive(t, r.bridge.Statistics().Drops[flow.CauseQueueFull])
	r.close()
}

// TestScenes: a scene begins when time goes back, when the sensors change and when one is long enough.
func TestScenes(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames}, t.TempDir(), "?scene=1s")
	r.connect()
	r.drive(0, 2200*time.Millisecond, nil) // 0.5 1.0 | 1.5 2.0
	r.drive(0, 700*time.Millisecond, nil)  // | 0.5
	radar := bridges.Source{Mount: spatial.Identity(), Rate: simtime.Hz(20), Attribute: attributes(nil)}
	add[*sample.Radar](r, bridges.Topic{Name: "/radar", Sensor: "radar", SensorType: "sensor.other.radar", Source: &radar})
	r.bridge.Withdraw("/radar")
	r.drive(750*time.Millisecond, 1600*time.Millisecond, nil) // | 1.0 1.5
	r.close()
	var got []string
	for _, f := range frames {
		got = append(got, fmt.Sprintf("%d/%d %d", f.Scene.Number, f.Number, int64(f.Stamp)/1e6))
	}
	assert.Equal(t, []string{"0/0 500", "0/1 1000", "1/0 1500", "1/1 2000", "2/0 500", "3/0 1000", "3/1 1500"}, got)
}

// TestFoldersOfSets: a folder with files is refused, and a set is written on only when it is asked for, with the same options.
func TestFoldersOfSets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var frames []dataset.Frame
	once := func(options string) error {
		r := begin(t, plain{frames: &frames}, dir, options)
		if err := r.bridge.Connect(t.Context()); err != nil {
			return err
		}
		r.drive(0, 1200*time.Millisecond, nil)
		r.close()
		return nil
	}
	require.NoError(t, once(""))
	assert.ErrorIs(t, once(""), dataset.ErrOccupied)
	assert.ErrorIs(t, once("?append=true&min_pixels=3"), dataset.ErrOtherSet)
	require.NoError(t, once("?append=true"))
	require.Len(t, frames, 4)
	assert.Equal(t, 1, frames[3].Scene.Number, "runs of one id have scenes of other numbers")
	assert.Equal(t, 3, frames[3].Index)
	table, err := os.ReadFile(filepath.Join(dir, "set", "table.txt"))
	require.NoError(t, err)
	assert.Equal(t, "0 500000000 0\n1 1000000000 0\n0 500000000 0\n1 1000000000 0\n", string(table))

	dir = t.TempDir() // of a run that ended before its first key frame
	r := begin(t, plain{frames: new([]dataset.Frame)}, dir, "")
	require.NoError(t, r.bridge.Connect(t.Context()))
	r.close()
	require.FileExists(t, filepath.Join(dir, "set", filepath.FromSlash(dataset.JournalFile)))
	require.NoError(t, once(""))
	assert.ErrorIs(t, once(""), dataset.ErrOccupied)

	dir = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "set"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "set", "notes.txt"), nil, 0o666))
	assert.ErrorIs(t, once(""), dataset.ErrOccupied)
}

// TestRecover: what a killed run leaves becomes what a run of as many key frames writes, whatever of the last row is there.
func TestRecover(t *testing.T) {
	t.Parallel()
	write := func(until time.Duration, end bool) string {
		var frames []dataset.Frame
		r := begin(t, plain{frames: &frames, sweeps: true}, t.TempDir(), "?scene=1s")
		r.connect()
		r.drive(0, until, nil)
		if end {
			r.close()
		}
		return r.dir
	}
	for _, c := range []struct {
		tail          string
		killed, clean time.Duration
	}{
		{"", 1700 * time.Millisecond, 1600 * time.Millisecond},
		{`{"frame":{"number":3,"fi`, 1700 * time.Millisecond, 1600 * time.Millisecond},
		{`{"scene":{"run":"r","number":2,"data":1}}` + "\n", 2300 * time.Millisecond, 2150 * time.Millisecond},
		{"", 400 * time.Millisecond, 450 * time.Millisecond},
	} {
		killed := t.TempDir() // as the run leaves it now: it goes on here
		require.NoError(t, os.CopyFS(killed, os.DirFS(write(c.killed, false))))
		f, err := os.OpenFile(filepath.Join(killed, filepath.FromSlash(dataset.JournalFile)), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(c.tail)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		frames, err := dataset.Recover(killed, []dataset.Format{plain{}})
		require.NoError(t, err)
		assert.Equal(t, int(c.clean/(500*time.Millisecond)), frames)
		want := filesOf(t, write(c.clean, true))
		assert.Equal(t, want, filesOf(t, killed))
		_, err = dataset.Recover(killed, []dataset.Format{plain{}})
		require.NoError(t, err)
		assert.Equal(t, want, filesOf(t, killed), "a set that is complete stays")
	}
	_, err := dataset.Recover(t.TempDir(), nil)
	assert.ErrorIs(t, err, dataset.ErrNoSet)
}

// filesOf reads a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path[len(dir):]] = string(data)
		return err
	}))
	return files
}

// TestSweeps: what lies between key frames belongs to the one behind it, and what comes behind the last one isn't part of the set.
func TestSweeps(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames, sweeps: true}, t.TempDir(), "")
	r.connect()
	r.drive(0, 1300*time.Millisecond, nil)
	r.close()
	journal, err := dataset.OpenJournal(r.dir)
	require.NoError(t, err)
	var got [][]int64
	for row, err := range journal.Rows() {
		require.NoError(t, err)
		if row.Frame != nil {
			var stamps []int64
			for _, s := range row.Frame.Sweeps {
				var stamp int64
				require.NoError(t, json.Unmarshal(s, &stamp))
				stamps = append(stamps, stamp/1e6)
			}
			got = append(got, stamps)
		}
	}
	assert.Equal(t, [][]int64{
		{100, 200, 300, 400, 0, 50, 100, 150, 200, 250, 300, 350, 400, 450}, {600, 700, 800, 900, 550, 600, 650, 700, 750, 800, 850, 900, 950},
	}, got)
	assert.NoFileExists(t, filepath.Join(r.dir, "data", "0", "front_1100000000"))
}

// TestRigsThatDontFit names what is wrong, before the run begins.
func TestRigsThatDontFit(t *testing.T) {
	t.Parallel()
	for want, source := range map[string]bridges.Source{
		"compensated: true": {Rate: simtime.Hz(20), Attribute: attributes(map[string]any{"rolling": true, "compensated": false})},
		"keyframes=":        {Rate: simtime.Hz(1), Attribute: attributes(map[string]any{"rolling": false})},
	} {
		var frames []dataset.Frame
		r := begin(t, plain{frames: &frames}, t.TempDir(), "")
		add[*sample.PointCloud](r, bridges.Topic{Name: "/second", Sensor: "second", SensorType: "sensor.lidar.ray_cast", Source: &source})
		err := r.bridge.Connect(t.Context())
		require.ErrorIs(t, err, dataset.ErrRig)
		assert.ErrorContains(t, err, want)
		assert.NoDirExists(t, r.dir)
	}
}

func TestUnknownCategory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "map.yaml")
	require.NoError(t, os.WriteFile(file, []byte("categories: [{type: vehicle.*, category: spaceship}]"), 0o666))
	registry, err := bridges.NewRegistry(dataset.NewFactory(plain{}))
	require.NoError(t, err)
	err = registry.Check("plain:set?map="+file, bridges.Env{})
	require.ErrorIs(t, err, bridges.ErrConnectionString)
	assert.ErrorIs(t, err, dataset.ErrCategory)
	assert.ErrorContains(t, err, "spaceship")
}

// TestFullDisk: a set whose disk is full is whole up to its last key frame.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var frames []dataset.Frame
	r := begin(t, plain{frames: &frames}, t.TempDir(), "")
	r.connect()
	r.drive(0, 1200*time.Millisecond, nil)
	// A folder that can't be written stands for the disk: the file of the third key frame can't be made.
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "data", "0", "front_1500000000"), 0o777))
	failed := r.try(1250*time.Millisecond, 1700*time.Millisecond, nil)
	require.ErrorIs(t, failed, flow.ErrWriteFailed)
	assert.ErrorIs(t, r.bridge.Close(context.Background()), flow.ErrWriteFailed)
	table, err := os.ReadFile(filepath.Join(r.dir, "table.txt"))
	require.NoError(t, err)
	assert.Equal(t, "0 500000000 0\n1 1000000000 0\n", string(table))
}
