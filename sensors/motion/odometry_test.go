package motion_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// northward goes along the map's y and looks that way.
type northward struct{}

func (northward) PoseAt(stamp simtime.Stamp) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{3, 2 * float64(stamp) / 1e9, 0}, 0, 0, 90)
}

func TestOdometryTwistIsInTheChildFrame(t *testing.T) {
	h := sensortest.New(t, motion.OdometryDefinition, sensortest.Options{Ego: northward{}})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Odometry](h, "odometry")
	assert.InDeltaSlice(t, []float64{3, 4, 0}, m.BodyPose.Position[:], 1e-9)
	assert.InDeltaSlice(t, []float64{2, 0, 0}, m.Twist.Linear[:], 1e-6)
	assert.Equal(t, spatial.FrameOdom, m.FrameID)
	assert.Equal(t, "base_link", m.ChildFrameID)
}

// TestOdometryMountedSensor: the frame that moves is then the sensor's own, and a lever arm
// turns with the vehicle.
func TestOdometryMountedSensor(t *testing.T) {
	h := sensortest.New(t, motion.OdometryDefinition, sensortest.Options{
		Ego: turning{}, Mount: spatial.FromRPY(mgl64.Vec3{2, 0, 1}, 0, 0, 90),
	})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Odometry](h, "odometry")
	assert.Equal(t, "under_test", m.ChildFrameID)
	// Half a radian a second, two metres ahead of the axle: 1 m/s to the left, which is
	// ahead for a sensor that looks left.
	assert.InDeltaSlice(t, []float64{1, 0, 0}, m.Twist.Linear[:], 1e-6)
	assert.InDeltaSlice(t, []float64{0, 0, 0.5}, m.Twist.Angular[:], 1e-6)
}

// turning turns on the spot.
type turning struct{}

func (turning) PoseAt(stamp simtime.Stamp) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{}, 0, 0, mgl64.RadToDeg(0.5*float64(stamp)/1e9))
}

func TestOdometryRidesOnItsOwner(t *testing.T) {
	world := &scene.Scene{Ego: spatial.Identity(), Actors: []*scene.Actor{
		{ID: 7, Name: "bus", TypeID: "vehicle.bus", Motion: northward{}},
	}}
	h := sensortest.New(t, motion.OdometryDefinition, sensortest.Options{Scene: world, Owner: 7, Attributes: map[string]any{"child_frame": "bus"}})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Odometry](h, "odometry")
	assert.InDeltaSlice(t, []float64{3, 4, 0}, m.BodyPose.Position[:], 1e-9)
	assert.InDeltaSlice(t, []float64{2, 0, 0}, m.Twist.Linear[:], 1e-6)
	assert.Equal(t, "bus", m.ChildFrameID)
}

// TestOdometryStatesItsVariances: filters divide by them. Data without noise have small ones, and
// nothing is correlated.
func TestOdometryStatesItsVariances(t *testing.T) {
	h := sensortest.New(t, motion.OdometryDefinition, sensortest.Options{Ego: northward{}})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Odometry](h, "odometry")
	for i := range 36 {
		want := 0.0
		if i%7 == 0 {
			want = 1e-6 // a millimetre, a milliradian, and so much a second
		}
		assert.InDelta(t, want, m.PoseCovariance[i], 0, "pose, element %d", i)
		assert.InDelta(t, want, m.TwistCovariance[i], 0, "twist, element %d", i)
	}
}
