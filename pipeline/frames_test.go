package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// framed is a sensor with a frame below its own, as a camera is.
type framed struct {
	plain
	spec sensors.Spec
}

func (f *framed) Frames() []sample.Transform {
	return []sample.Transform{{
		Header: sample.Header{FrameID: f.spec.BodyFrame()}, ChildFrameID: f.spec.OpticalFrame(), Relative: spatial.OpticalInBody(),
	}}
}

// fixedFrames runs a rig and returns /tf_static as child and parent, in order.
func fixedFrames(t *testing.T, list ...sensors.Config) []string {
	t.Helper()
	do := &script{}
	plainDefinition, err := do.registry().Get(plainID)
	require.NoError(t, err)
	eye := *plainDefinition
	eye.ID = "sensor.test.framed"
	eye.New = func(spec sensors.Spec) (sensors.Sensor, error) {
		return &framed{plain{script: do, name: spec.Name}, spec}, nil
	}
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open,
		Sensors: sensors.Must(sensors.NewRegistry(plainDefinition, &eye, motion.TransformDefinition)), ClockRate: simtime.Hz(100),
	})
	require.NoError(t, err)
	for _, c := range list {
		_, err := p.AddSensor(c)
		require.NoError(t, err)
	}
	require.NoError(t, p.AddTransforms())
	var frames []string
	sensors := p.Sensors()
	_, err = pipeline.Listen(sensors[len(sensors)-1], "tf_static", func(_ tick, m *sample.Transforms) {
		for _, f := range m.Transforms {
			frames = append(frames, f.ChildFrameID+" in "+f.FrameID)
		}
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	return frames
}

type tick = sensors.Tick

func TestFixedFramesAreATree(t *testing.T) {
	up := sensors.Pose{Z: 1}
	for name, c := range map[string]struct {
		list []sensors.Config
		want []string
	}{
		"cameras share a frame": {
			[]sensors.Config{
				{ID: "sensor.test.framed", Name: "front", Pose: up},
				{ID: "sensor.test.framed", Name: "front_depth", Frame: "front", Pose: up},
			},
			[]string{"odom in map", "front in base_link", "front_optical in front"},
		},
		"a camera shares another's body": {
			[]sensors.Config{
				{ID: plainID, Name: "imu", Frame: "head", Pose: up},
				{ID: "sensor.test.framed", Name: "eye", Frame: "head", Pose: up},
			},
			[]string{"odom in map", "head in base_link", "head_optical in head"},
		},
		"a frame in a frame": {
			[]sensors.Config{
				{ID: plainID, Name: "mast"},
				{ID: "sensor.test.framed", Name: "eye", Parent: "mast"},
			},
			[]string{"odom in map", "mast in base_link", "eye in mast", "eye_optical in eye"},
		},
		"messages that name other frames": {
			[]sensors.Config{
				{ID: plainID, Name: "lidar", FrameID: "base_link", Pose: up},
				{ID: "sensor.test.framed", Name: "eye", FrameID: "camera", Pose: up},
				{ID: "sensor.test.framed", Name: "other", FrameID: "camera"},
				{ID: "sensor.test.framed", Name: "third", FrameID: "mast"},
				{ID: plainID, Name: "mast"},
			},
			[]string{
				"odom in map", "lidar in base_link", "eye in base_link", "other in base_link", "third in base_link", "mast in base_link",
				"camera in eye",
			},
		},
		"named like a frame of REP-105": {
			[]sensors.Config{{ID: plainID, Name: "odom"}, {ID: plainID, Name: "a"}},
			[]string{"odom in map", "a in base_link"},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, fixedFrames(t, c.list...)) })
	}
}

func TestFixedFramesComeAfterTheirParents(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte(`sensors:
  - {id: sensor.test.plain, name: eye, parent: mast, topic: /eye}
  - {id: sensor.test.plain, name: mast, topic: /mast}
`))
	require.NoError(t, err)
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err = p.AddRig(r)
	require.NoError(t, err)
	require.NoError(t, p.AddTransforms())
	var frames []string
	_, err = pipeline.Listen(p.Sensors()[2], "tf_static", func(_ tick, m *sample.Transforms) {
		for _, f := range m.Transforms {
			frames = append(frames, f.ChildFrameID)
		}
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.Equal(t, []string{"odom", "mast", "eye"}, frames)
}
