package motion_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

func TestTransformStaticFramesComeOnce(t *testing.T) {
	h := sensortest.New(t, motion.TransformDefinition, sensortest.Options{})
	h.Env.Frames = func() []sample.Transform {
		return []sample.Transform{{Header: sample.Header{FrameID: "base_link"}, ChildFrameID: "lidar", Relative: spatial.Identity()}}
	}
	h.Fire(1e8)
	h.Fire(2e8)
	require.Len(t, h.Messages["tf_static"], 1)
	static := sensortest.Last[*sample.Transforms](h, "tf_static")
	require.Len(t, static.Transforms, 2)
	assert.True(t, static.Static)
	assert.Equal(t, "map", static.Transforms[0].FrameID)
	assert.Equal(t, "odom", static.Transforms[0].ChildFrameID)
	assert.Equal(t, "lidar", static.Transforms[1].ChildFrameID)

	h.Env.Frames = func() []sample.Transform { return nil } // it was destroyed
	h.Fire(3e8)
	h.Fire(4e8)
	require.Len(t, h.Messages["tf_static"], 2)
	assert.Len(t, sensortest.Last[*sample.Transforms](h, "tf_static").Transforms, 1)
	h.Messages["tf"] = h.Messages["tf"][:2]

	require.Len(t, h.Messages["tf"], 2)
	tf := sensortest.Last[*sample.Transforms](h, "tf")
	require.Len(t, tf.Transforms, 1)
	assert.Equal(t, "odom", tf.Transforms[0].FrameID)
	assert.Equal(t, "base_link", tf.Transforms[0].ChildFrameID)
	assert.EqualValues(t, 2e8, tf.Transforms[0].Stamp)
}

func TestTransformRidesOnItsOwner(t *testing.T) {
	bus := spatial.FromRPY(mgl64.Vec3{5, 6, 0}, 0, 0, 90)
	world := &scene.Scene{Ego: spatial.Identity(), Actors: []*scene.Actor{{ID: 7, Name: "bus", TypeID: "vehicle.bus", Pose: bus}}}
	h := sensortest.New(t, motion.TransformDefinition, sensortest.Options{Scene: world, Owner: 7, Attributes: map[string]any{"base_frame": "bus"}})
	h.Fire(1e8)
	tf := sensortest.Last[*sample.Transforms](h, "tf").Transforms[0]
	assert.Equal(t, "bus", tf.ChildFrameID)
	assert.Equal(t, bus, tf.Relative)
}

// TestTransformFramesHangOnTheVehicle: under whatever name it has, they are one tree.
func TestTransformFramesHangOnTheVehicle(t *testing.T) {
	h := sensortest.New(t, motion.TransformDefinition, sensortest.Options{Attributes: map[string]any{"base_frame": "rear_axle"}})
	h.Env.Frames = func() []sample.Transform {
		return []sample.Transform{
			{Header: sample.Header{FrameID: "base_link"}, ChildFrameID: "mast"},
			{Header: sample.Header{FrameID: "mast"}, ChildFrameID: "eye"},
		}
	}
	h.Fire(1e8)
	static := sensortest.Last[*sample.Transforms](h, "tf_static")
	require.Len(t, static.Transforms, 3)
	assert.Equal(t, "rear_axle", static.Transforms[1].FrameID)
	assert.Equal(t, "mast", static.Transforms[2].FrameID)
	assert.Equal(t, "rear_axle", sensortest.Last[*sample.Transforms](h, "tf").Transforms[0].ChildFrameID)
}
