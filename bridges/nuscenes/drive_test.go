package nuscenes_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/nuscenes"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// drive is a run whose messages a test makes. The ego drives north at 10 m/s from (-123.25, 2000). A camera fires 10 times a second,
// a lidar and two radars 20 times; the second radar sees nothing.
type drive struct {
	t      *testing.T
	bridge *bridges.Bridge
	dir    string

	snapshot    bridges.Publisher[*sample.Snapshot]
	image       bridges.Publisher[*sample.Image]
	info        bridges.Publisher[*sample.CameraInfo]
	boxes       bridges.Publisher[*sample.Detections2D]
	cloud       bridges.Publisher[*sample.PointCloud]
	front, back bridges.Publisher[*sample.Radar]
}

// Where the sensors are on the ego.
var (
	cameraAt     = spatial.FromRPY(mgl64.Vec3{1.5, 0, 1.6}, 0, 0, 0)
	lidarAt      = spatial.FromRPY(mgl64.Vec3{0.94, 0, 1.84}, 0, 0, 0)
	frontRadarAt = spatial.FromRPY(mgl64.Vec3{3.4, 0, 0.5}, 0, 0, 0)
	backRadarAt  = spatial.FromRPY(mgl64.Vec3{-0.56, 0.63, 0.53}, 0, 0, 175)
)

// source is a sensor of the ego.
func source(mount spatial.Pose, rate int64, attributes map[string]any) *bridges.Source {
	return &bridges.Source{Mount: mount, Rate: simtime.Hz(rate), Attribute: func(name string) (any, bool) { v, ok := attributes[name]; return v, ok }}
}

// weatherOf has the weathers of runs that have one.
var weatherOf = map[string]string{"wet": `{"rain":5,"snow":0,"wetness":0.25,"wind":{"x":0,"y":0},"cloud":1}`}

// begin opens a set of a run, which is told of the sensors before it connects.
func begin(t *testing.T, id, options string) *drive {
	t.Helper()
	registry, err := bridges.NewRegistry(dataset.NewFactory(nuscenes.Format))
	require.NoError(t, err)
	d := &drive{t: t, dir: filepath.Join(t.TempDir(), "set")}
	d.bridge, err = registry.Open("nuscenes:"+d.dir+options, bridges.Env{Run: bridges.Run{ID: id, Version: "1", Rig: "van", Scene: "street", Weather: weatherOf[id]}})
	require.NoError(t, err)
	camera := source(cameraAt, 10, map[string]any{"lens": "pinhole", "principal_point": "corner"})
	beside := *camera
	beside.Beside = "front"
	d.snapshot = add[*sample.Snapshot](d, bridges.Topic{Name: "/snapshot", SensorType: "sensor.other.snapshot", Source: &bridges.Source{}})
	d.image = add[*sample.Image](d, bridges.Topic{Name: "/image", Sensor: "front", SensorType: "sensor.camera.rgb", Source: camera})
	d.info = add[*sample.CameraInfo](d, bridges.Topic{Name: "/info", Sensor: "front", SensorType: "sensor.camera.rgb", Source: camera})
	d.boxes = add[*sample.Detections2D](d, bridges.Topic{Name: "/boxes", Sensor: "front.boxes", SensorType: "sensor.ground_truth.boxes_2d", Source: &beside})
	d.cloud = add[*sample.PointCloud](d, bridges.Topic{Name: "/cloud", Sensor: "roof", SensorType: "sensor.lidar.ray_cast", Source: source(lidarAt, 20, map[string]any{"rolling": false})})
	d.front = add[*sample.Radar](d, bridges.Topic{Name: "/radar", Sensor: "radar", SensorType: "sensor.other.radar", Source: source(frontRadarAt, 20, nil)})
	d.back = add[*sample.Radar](d, bridges.Topic{Name: "/back", Sensor: "back", SensorType: "sensor.other.radar", Source: source(backRadarAt, 20, nil)})
	return d
}

func add[M any](d *drive, topic bridges.Topic) bridges.Publisher[M] {
	d.t.Helper()
	publish, err := bridges.AddPublisher[M](d.bridge, topic)
	require.NoError(d.t, err)
	return publish
}

// record writes a whole set of two scenes with two key frames each, and returns its folder.
func record(t *testing.T, id, options string) string {
	t.Helper()
	d := begin(t, id, options+"&scene=1s")
	require.NoError(t, d.bridge.Connect(t.Context()))
	require.NoError(t, d.run(0, 2100*time.Millisecond))
	require.NoError(t, d.bridge.Close(context.Background()))
	require.Zero(t, d.bridge.Statistics().Drops.Total())
	return d.dir
}

// egoAt is the ego's pose, so many seconds after the run's beginning.
func egoAt(seconds float64) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{-123.25, 2000 + 10*seconds, 0}, 0, 0, 90)
}

// actors are all but the ego. The car's centre is half a metre ahead of its origin.
func actors(seconds float64) []sample.ActorState {
	stands := func(id uint32, typeID string, x, y float64, half mgl64.Vec3) sample.ActorState {
		return sample.ActorState{
			ID: id, TypeID: typeID, Kind: sample.KindVehicle, Pose: spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, 90),
			BoxCenter: mgl64.Vec3{0, 0, half[2]}, BoxHalf: half,
		}
	}
	car := stands(3, "vehicle.sedan", -120, 2020+5*seconds, mgl64.Vec3{2.25, 0.9, 0.75})
	car.BoxCenter[0], car.Twist.Linear = 0.5, mgl64.Vec3{0, 5, 0}
	walker := stands(5, "walker.short", -118, 2030, mgl64.Vec3{0.3, 0.3, 0.9})
	bicycle := stands(6, "vehicle.bicycle", -126, 2040, mgl64.Vec3{0.9, 0.3, 0.9})
	return []sample.ActorState{
		car, walker, bicycle, stands(8, "static.prop.trafficcone01", -123, 2030, mgl64.Vec3{0.2, 0.2, 0.4}),
		stands(9, "static.prop.bench", -125, 2030, mgl64.Vec3{1, 1, 1}), stands(11, "vehicle.truck", -123, 2060, mgl64.Vec3{5, 1.2, 1.6}),
		stands(12, "vehicle.tram", -100, 2060, mgl64.Vec3{9, 1.2, 1.6}), stands(13, "vehicle.sedan", 123, 2060, mgl64.Vec3{2, 1, 1}), // far away
	}
}

// points are what the lidar sees.
var points = []sample.Point{
	{X: 4, Y: 2, Z: -1, Intensity: 0.5, Ring: 7, Instance: 3, Tag: 14, Return: 1},
	{X: 5, Y: -1, Z: -1.84, Intensity: 2, Ring: 1, Tag: 1, Return: 1}, // road
	{X: 9, Y: 1, Z: 0, Instance: 6, Tag: 13, Ring: 2, Return: 1},      // the cyclist, whose category is the bicycle's
	{X: 0, Y: 20, Z: 0, Tag: 3, Ring: 3, Return: 1},                   // building
	{X: 0, Y: -9, Z: 1, Tag: 9, Ring: 4, Return: 1},                   // vegetation
	{X: 7, Y: 0, Z: 0, Instance: 9, Tag: 20, Ring: 5, Return: 1},      // the bench
	{X: 3, Y: 0, Z: -1.84, Tag: 2, Ring: 6, Return: 1},                // sidewalk
	{X: 8, Y: 2, Z: 0, Instance: 3, Tag: 14, Ring: 8, Return: 1},      // the car again
}

// run publishes all that is due from a time on to another, up to the first error.
func (d *drive) run(from, to time.Duration) error { return d.runAt(0, from, to) }

// runAt is run with stamps that count from a start.
func (d *drive) runAt(start simtime.Stamp, from, to time.Duration) error {
	ctx := d.t.Context()
	for now := from; now <= to; now += 50 * time.Millisecond {
		h := sample.Header{Stamp: start + simtime.Stamp(now), Pose: egoAt(now.Seconds())}
		at := func(mount spatial.Pose) sample.Header {
			of := h
			of.Pose = h.Pose.Compose(mount)
			return of
		}
		ego := sample.ActorState{TypeID: "vehicle.ego", Pose: h.Pose, Twist: spatial.Twist{Linear: mgl64.Vec3{0, 10, 0}}}
		if err := d.snapshot(ctx, &sample.Snapshot{Header: h, Actors: append([]sample.ActorState{ego}, actors(now.Seconds())...)}); err != nil {
			return err
		}
		if now%(100*time.Millisecond) == 0 {
			if err := d.look(at(cameraAt)); err != nil {
				return err
			}
		}
		if err := d.cloud(ctx, &sample.PointCloud{Header: at(lidarAt), Points: points, UnitIntensity: true}); err != nil {
			return err
		}
		if err := d.front(ctx, &sample.Radar{Header: at(frontRadarAt), Detections: []sample.RadarDetection{
			{Depth: 30, Velocity: -10}, // stands ahead of the ego
			{Depth: 20, Velocity: -2, Azimuth: math.Pi / 3, Instance: 3, Tag: 14},
		}}); err != nil {
			return err
		}
		if err := d.back(ctx, &sample.Radar{Header: at(backRadarAt)}); err != nil {
			return err
		}
	}
	return nil
}

// look publishes a red picture, 200 x 100, and what is in it.
func (d *drive) look(h sample.Header) error {
	ctx := d.t.Context()
	m := &sample.Image{Header: h, Width: 200, Height: 100, Step: 800, Encoding: sample.EncodingBGRA8, Data: make([]byte, 80000)}
	for i := 2; i < len(m.Data); i += 4 {
		m.Data[i] = 255
	}
	if err := d.image(ctx, m); err != nil {
		return err
	}
	if err := d.info(ctx, &sample.CameraInfo{Header: h, Width: 200, Height: 100, K: [9]float64{100, 0, 100, 0, 100, 50, 0, 0, 1}}); err != nil {
		return err
	}
	box := func(id uint32, occlusion float32) sample.Box2D {
		return sample.Box2D{ID: id, CenterX: 120, CenterY: 56, Width: 10, Height: 6, Pixels: 50, Occlusion: occlusion}
	}
	return d.boxes(ctx, &sample.Detections2D{Header: h, Boxes: []sample.Box2D{box(3, 0.125), box(5, 0.25), box(6, 0.5), box(11, 0.75)}})
}

// row is one of a table, as JSON has it.
type row map[string]any

func (r row) text(key string) string    { return r[key].(string) }
func (r row) number(key string) float64 { return r[key].(float64) }
func (r row) numbers(key string) (list []float64) {
	for _, v := range r[key].([]any) {
		list = append(list, v.(float64))
	}
	return list
}

// readTable reads a table of a set.
func readTable(t *testing.T, dir, name string) (rows []row) {
	t.Helper()
	return readFile(t, filepath.Join(dir, "v1.0-trainval", name+".json"))
}

func readFile(t *testing.T, path string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &rows))
	return rows
}

// byToken reads a table whose tokens must differ.
func byToken(t *testing.T, dir, name string) map[string]row {
	t.Helper()
	rows := map[string]row{}
	for _, r := range readTable(t, dir, name) {
		require.NotContains(t, rows, r.text("token"), name)
		rows[r.text("token")] = r
	}
	return rows
}

// where returns the rows of a table in which a field has a value.
func where(t *testing.T, dir, name, key string, value any) (list []row) {
	t.Helper()
	for _, r := range readTable(t, dir, name) {
		if r[key] == value {
			list = append(list, r)
		}
	}
	return list
}
