package sample

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Imu is one inertial measurement in the IMU's frame (REP-145). LinearAcceleration is the
// specific force, +9.80665 m/s² on the up axis at rest. AngularVelocity is in rad/s.
// Covariances are row-major; a zero matrix means unknown, a first element of -1 that the field
// is not reported.
type Imu struct {
	Header
	Orientation                  mgl64.Quat
	OrientationCovariance        [9]float64
	AngularVelocity              mgl64.Vec3
	AngularVelocityCovariance    [9]float64
	LinearAcceleration           mgl64.Vec3
	LinearAccelerationCovariance [9]float64
}

// GnssFix is one satellite fix: WGS84 latitude and longitude in degrees,
// altitude above the ellipsoid in metres; covariance in m², east, north, up,
// row-major. The integers are sensor_msgs/NavSatStatus' and NavSatFix's.
type GnssFix struct {
	Header
	Status                        int8
	Service                       uint16
	Latitude, Longitude, Altitude float64
	PositionCovariance            [9]float64
	PositionCovarianceType        uint8
}

// ExactVariance is the variance that is stated of what has no noise: that of a millimetre, a
// milliradian, and as much in a second. Filters weigh by variances and need one above 0.
const ExactVariance = 1e-6

// Odometry is a pose in Header.FrameID and a twist in ChildFrameID, with
// row-major covariances in the order x, y, z, rotation about x, y, z.
type Odometry struct {
	Header
	ChildFrameID    string
	BodyPose        spatial.Pose
	PoseCovariance  [36]float64
	Twist           spatial.Twist
	TwistCovariance [36]float64
}

// Transform places ChildFrameID in Header.FrameID.
type Transform struct {
	Header
	ChildFrameID string
	Relative     spatial.Pose
}

// Transforms is a set of frames sent together; Static ones hold for ever and
// go to /tf_static. Stamp is the newest of the set's stamps.
type Transforms struct {
	Stamp      simtime.Stamp
	Static     bool
	Transforms []Transform
}

// Captured returns the time of the set.
func (m *Transforms) Captured() simtime.Stamp { return m.Stamp }

// Destination is where a vehicle is to go. Header.FrameID is the map.
type Destination struct {
	Header
	// Goal is the place on the ground, in the map frame.
	Goal spatial.Pose
	// Distance is how far the vehicle is from there, metres; Reached, that it is there.
	Distance float64
	Reached  bool
}

// Comfort is how a ride feels (SVL's ComfortData).
type Comfort struct {
	Header
	// Velocity in m/s, Acceleration in m/s² and Jerk, its derivative, in m/s³ are the
	// vehicle's, in its own frame.
	Velocity, Acceleration, Jerk mgl64.Vec3
	// AngularVelocity in rad/s and AngularAcceleration in rad/s² are lengths.
	AngularVelocity, AngularAcceleration float64
	// Roll is about the vehicle's x axis, Slip the angle between that axis and the way
	// that the vehicle goes, both in radians.
	Roll, Slip float64
}
