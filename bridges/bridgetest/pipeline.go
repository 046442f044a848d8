package bridgetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// The topics of the scripted sensors, and the clock's.
const (
	ImageTopic      = "/camera/image"
	InfoTopic       = "/camera/camera_info"
	PointsTopic     = "/lidar/points"
	ImuTopic        = "/imu"
	OdometryTopic   = "/odom"
	FixTopic        = "/fix"
	TransformsTopic = "/tf"
	ClockTopic      = "/clock"
)

// DataTopics are those of the scripted sensors: one instant has a message on each.
var DataTopics = []string{ImageTopic, InfoTopic, PointsTopic, ImuTopic, OdometryTopic, FixTopic, TransformsTopic}

// Frames are the frame_id of each topic's messages.
var Frames = map[string]string{
	ImageTopic: "camera_optical", InfoTopic: "camera_optical", PointsTopic: "lidar", ImuTopic: "imu_link", OdometryTopic: "odom",
	FixTopic: "gnss", TransformsTopic: "odom",
}

// scripted is a sensor that publishes what compose returns whenever it fires.
type scripted[M any] struct {
	compose func(at sensors.Tick) M
	out     *sensors.Output[M]
}

func (s *scripted[M]) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.out, err = sensors.OutputOf[M](env, "out")
	return err
}

func (s *scripted[M]) Tick(at sensors.Tick) error {
	s.out.TryQueue(at, s.compose(at))
	return nil
}

func (s *scripted[M]) End() error { return nil }

// Captures makes a sensor that embeds it a Capturer whose captures are back at the next poll,
// without a GPU. Its methods may be called from any goroutine.
type Captures struct {
	// Publish is called in Process for each capture that is back.
	Publish func(at sensors.Tick)

	mu            sync.Mutex
	flying, ready []sensors.Tick // guarded by mu
}

// Tick does nothing.
func (s *Captures) Tick(sensors.Tick) error { return nil }

// Capture begins a capture.
func (s *Captures) Capture(_ *gpu.Ctx, at sensors.Tick) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying = append(s.flying, at)
	return true, nil
}

// Poll brings all captures back.
func (s *Captures) Poll(*gpu.Ctx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.flying = append(s.ready, s.flying...), nil
}

// Process publishes what is back.
func (s *Captures) Process(through simtime.Stamp) int {
	s.mu.Lock()
	n := 0
	for n < len(s.ready) && s.ready[n].Due <= through {
		n++
	}
	due := slices.Clone(s.ready[:n])
	s.mu.Unlock()
	for _, at := range due {
		s.Publish(at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = s.ready[n:]
	return n
}

// Pending returns how many captures aren't published yet.
func (s *Captures) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.flying) + len(s.ready)
}

// camera publishes a picture and its calibration when the picture is back from the GPU.
type camera struct {
	Captures
	image *sensors.Output[*sample.Image]
	info  *sensors.Output[*sample.CameraInfo]
}

func (s *camera) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.Publish = s.publish
	if s.image, err = sensors.OutputOf[*sample.Image](env, "out"); err != nil {
		return err
	}
	s.info, err = sensors.OutputOf[*sample.CameraInfo](env, "info")
	return err
}

func (s *camera) End() error { return nil }

func (s *camera) publish(at sensors.Tick) {
	s.image.TryQueue(at, picture(at))
	s.info.TryQueue(at, &sample.CameraInfo{
		Header: headerAt(at, InfoTopic), Width: width, Height: height, DistortionModel: "plumb_bob", D: make([]float64, 5),
		K: [9]float64{50, 0, 31.5, 0, 50, 23.5, 0, 0, 1}, R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1},
		P: [12]float64{50, 0, 31.5, 0, 0, 50, 23.5, 0, 0, 0, 1, 0},
	})
}

func headerAt(at sensors.Tick, topic string) sample.Header {
	return at.Header(Frames[topic], spatial.Identity())
}

const width, height = 64, 48

// Pixels returns the bytes of every picture, rgb8, 64 x 48: all values, each row another.
func Pixels() []byte {
	data := make([]byte, 3*width*height)
	state := uint32(1)
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return data
}

func picture(at sensors.Tick) *sample.Image {
	return &sample.Image{
		Header: headerAt(at, ImageTopic), Width: width, Height: height, Step: 3 * width, Encoding: sample.EncodingRGB8, FovDeg: 60, Data: Pixels(),
	}
}

func cloud(at sensors.Tick) *sample.PointCloud {
	m := &sample.PointCloud{Header: headerAt(at, PointsTopic), Rings: 4, Columns: 16}
	for i := range 64 {
		m.Points = append(m.Points, sample.Point{
			X: float32(i), Y: 1, Z: 2, Intensity: float32(i), Distance: float32(i), Ring: uint16(i % 4), TimeNs: uint32(i) * 1000, Ray: uint32(i),
		})
	}
	return m
}

func transforms(at sensors.Tick) *sample.Transforms {
	return &sample.Transforms{Stamp: at.Due, Transforms: []sample.Transform{
		{Header: headerAt(at, TransformsTopic), ChildFrameID: "base_link", Relative: spatial.Identity()},
	}}
}

// define describes a scripted sensor under an id of raybridge's, since some bridges
// look at that. Without a rate it fires at each frame, whose time is not a multiple of
// anything.
func define[E any, M sensors.Message[E]](id string, rate simtime.Rate, compose func(at sensors.Tick) M) *sensors.Definition {
	return &sensors.Definition{
		ID: id, Doc: "scripted", Rate: rate, EachFrame: rate.IsZero(),
		Outputs: []sensors.OutputSpec{sensors.Declare[E, M](sensors.OutputSpec{Name: "out"})},
		New:     func(sensors.Spec) (sensors.Sensor, error) { return &scripted[M]{compose: compose}, nil },
	}
}

// definitions returns the scripted sensors and their topics by output.
func definitions(rate simtime.Rate) (list []*sensors.Definition, topics []map[string]string) {
	lens := define("sensor.camera.rgb", rate, picture)
	lens.Outputs = append(lens.Outputs, sensors.Declare[sample.CameraInfo](sensors.OutputSpec{Name: "info"}))
	lens.New = func(sensors.Spec) (sensors.Sensor, error) { return &camera{}, nil }
	list = []*sensors.Definition{
		lens,
		define("sensor.lidar.ray_cast", rate, cloud),
		define("sensor.other.imu", rate, func(at sensors.Tick) *sample.Imu {
			return &sample.Imu{Header: headerAt(at, ImuTopic), Orientation: mgl64.QuatIdent(), LinearAcceleration: mgl64.Vec3{0, 0, 9.80665}}
		}),
		define("sensor.other.odometry", rate, func(at sensors.Tick) *sample.Odometry {
			return &sample.Odometry{Header: headerAt(at, OdometryTopic), ChildFrameID: "base_link", BodyPose: spatial.Identity()}
		}),
		define("sensor.other.gnss", rate, func(at sensors.Tick) *sample.GnssFix {
			return &sample.GnssFix{Header: headerAt(at, FixTopic), Latitude: 49.01, Longitude: 8.43, Altitude: 116.5}
		}),
		define("sensor.other.transform", rate, transforms),
	}
	topics = []map[string]string{
		{"out": ImageTopic, "info": InfoTopic}, {"out": PointsTopic}, {"out": ImuTopic}, {"out": OdometryTopic}, {"out": FixTopic}, {"out": TransformsTopic},
	}
	return list, topics
}

// NewPipeline makes a pipeline with the scripted sensors, on a GPU that is Go memory. It is
// closed with the test. Sensors with the zero rate fire at each instant at which anything
// happens, whose time is not a multiple of anything. c's Bridges are those to choose from; its
// Scene, Open and Sensors are the function's to set.
func NewPipeline(t *testing.T, rate simtime.Rate, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	fake := gputest.NewFake()
	fake.StopLog()
	list, topics := definitions(rate)
	c.Scene, c.Open = scenetest.MovingWall(30, 5), fake.Open
	c.Sensors = sensors.Must(sensors.NewRegistry(append(list[:len(list):len(list)], motion.ControlDefinition)...))
	if c.ClockRate.IsZero() {
		c.ClockRate = simtime.Hz(100)
	}
	p, err := pipeline.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	for i, d := range list {
		_, err := p.AddSensor(sensors.Config{ID: d.ID, Name: "sensor" + strconv.Itoa(i), Topics: topics[i]})
		require.NoError(t, err, d.ID)
	}
	return p
}
