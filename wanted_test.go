package raybridge_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

func TestStreamsGetTheSnapshot(t *testing.T) {
	t.Parallel()
	with := opened(t, `bridges: [{type: stream, connection: "127.0.0.1:0"}]`, raybridge.Config{})
	assert.NotEmpty(t, with.SensorsOf("sensor.other.snapshot"))
	without := opened(t, "", raybridge.Config{})
	assert.Empty(t, without.SensorsOf("sensor.other.snapshot"))
}

// TestWanted: a sensor that several bridges want is added once, and none that the rig has.
func TestWanted(t *testing.T) {
	t.Parallel()
	two := `bridges: [{type: stream, connection: "127.0.0.1:0"}, {type: carla, connection: "127.0.0.1:0"}]`
	s := opened(t, two, raybridge.Config{})
	if all := s.SensorsOf("sensor.other.snapshot"); assert.Len(t, all, 1) {
		assert.Equal(t, []string{"/snapshot"}, all[0].Topics())
	}
	s = opened(t, two+"\nsensors: [{id: sensor.other.snapshot, name: own, topic: /own}]", raybridge.Config{})
	if all := s.SensorsOf("sensor.other.snapshot"); assert.Len(t, all, 1) {
		assert.Equal(t, "own", all[0].Name())
	}
}

// TestOthersGetTheSnapshotThatTheRigNames: a recording beside a stream has what it would have
// without the stream.
func TestOthersGetTheSnapshotThatTheRigNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "sensors: [{id: sensor.other.snapshot, name: all, topic: /snapshot}]": true} {
		out := t.TempDir()
		s := opened(t, text+"\nbridges: [{type: mcap, connection: a.mcap}, {type: stream, connection: \"127.0.0.1:0\"}]", raybridge.Config{OutDir: out})
		require.NoError(t, s.Step(t.Context(), 1))
		require.NoError(t, s.Close(t.Context()))
		r, err := mcap.Open(filepath.Join(out, "a.mcap"))
		require.NoError(t, err)
		defer r.Close()
		assert.Equal(t, want, slices.ContainsFunc(r.Topics(), func(t mcap.Topic) bool { return t.Name == "/snapshot" }), text)
	}
}

// asking is a bridge that wants sensors beside others.
type asking struct{ bridges.Factory }

func (f asking) Info() bridges.Info {
	info := f.Factory.Info()
	info.Name = "asking"
	info.Wants = []bridges.Want{
		{Sensor: "sensor.ground_truth.boxes_2d", Name: "boxes", Beside: "sensor.camera.rgb", Attributes: map[string]any{"detection_range": 250}},
		{Sensor: "sensor.camera.instance_segmentation", Name: "ids", Beside: "sensor.camera.rgb", Attributes: map[string]any{"encoding": "32SC1"}},
	}
	return info
}

func (f asking) Register(p *bridges.Plugin) error { return f.Factory.Register(p) }

// mounted has a camera on a camera's frame, and a sensor of a type that a bridge wants.
const mounted = `
sensors:
  - {id: sensor.camera.rgb, name: front, frame: mast, rate: 20, image_size_x: 64, image_size_y: 48, fov: 70, near_clip: 0.2, topic: /cam/front, compressed: jpeg, pose: {x: 1, z: 2, yaw: 10}}
  - {id: sensor.camera.rgb, name: rear, parent: mast, frame_id: eye, image_size_x: 32, image_size_y: 24, pose: {x: -3, yaw: 180}}
  - {id: sensor.ground_truth.boxes_2d, name: own, image_size_x: 40, image_size_y: 30}
`

// TestWantedBeside: a sensor beside another stands where it does, sees what it does and fires when it does. It is there
// for the bridge that wants it alone, so that a recording has the bytes that it has without that bridge.
func TestWantedBeside(t *testing.T) {
	t.Parallel()
	own := asking{logging.Factory{}}
	record := func(bridge string) []byte {
		out := t.TempDir()
		s := opened(t, mounted+"bridges: [{type: mcap, connection: a.mcap}"+bridge+"]", raybridge.Config{OutDir: out, Bridges: []bridges.Factory{own}})
		if bridge != "" {
			front, err := s.Sensor("front")
			require.NoError(t, err)
			boxes, err := s.Sensor("front.boxes")
			require.NoError(t, err)
			assert.Equal(t, front.Mount(), boxes.Mount())
			assert.Equal(t, front.Rate(), boxes.Rate())
			assert.Equal(t, []string{"/cam/front/boxes/boxes_2d"}, boxes.Topics())
			assert.Len(t, s.SensorsOf("sensor.ground_truth.boxes_2d"), 3)
			assert.Len(t, s.SensorsOf("sensor.camera.instance_segmentation"), 2)
		}
		require.NoError(t, s.Step(t.Context(), 30))
		require.NoError(t, s.Close(t.Context()))
		data, err := os.ReadFile(filepath.Join(out, "a.mcap"))
		require.NoError(t, err)
		return data
	}
	assert.Equal(t, record(""), record(`, {type: asking, connection: all}`))
}

// TestWantedComesAndGoesWithTheOther: a sensor that is added during a run has those beside it that bridges want, a reset takes
// them away, and one that ends takes its own along.
func TestWantedComesAndGoesWithTheOther(t *testing.T) {
	t.Parallel()
	own := asking{logging.Factory{}}
	s := opened(t, mounted+"bridges: [{type: asking, connection: all}]", raybridge.Config{OutDir: t.TempDir(), Bridges: []bridges.Factory{own}})
	names := func() (list []string) {
		for _, other := range s.Sensors() {
			list = append(list, other.Name())
		}
		return list
	}
	require.NoError(t, s.Step(t.Context(), 10))
	before := names()
	_, err := s.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "left", Rate: simtime.Hz(10)})
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 10))
	assert.Subset(t, names(), []string{"left", "left.boxes", "left.ids"})
	rear, err := s.Sensor("rear")
	require.NoError(t, err)
	require.NoError(t, rear.Destroy())
	require.NoError(t, rear.Wait(t.Context()))
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(names(), func(n string) bool { return strings.HasPrefix(n, "rear") })
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, s.Step(t.Context(), 10))
	_, err = s.Reset(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, before, names())
	require.NoError(t, s.Step(t.Context(), 30))
}
