package apollo

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// standardGravity is what an IMU at rest reports upwards, m/s² (CGPM 1901).
const standardGravity = 9.80665

// setAttitude sets what a pose says of the orientation of the axes forward, left, up in
// the world.
func setAttitude(p *apollopb.Pose, orientation mgl64.Quat) {
	q := spatial.RFUAxes.OutAttitude(orientation)
	o := part(&p.Orientation)
	set(&o.Qx, q.V[0])
	set(&o.Qy, q.V[1])
	set(&o.Qz, q.V[2])
	set(&o.Qw, q.W)
	set(&p.Heading, spatial.Yaw(orientation))
	setPoint(&p.EulerAngles, eulerZXY(q))
}

// eulerZXY returns the angles about x, y and z that make q. They are applied about z, then the
// new x, then the new y. They are pitch, roll and yaw of a vehicle whose y axis is forward.
func eulerZXY(q mgl64.Quat) mgl64.Vec3 {
	w, x, y, z := q.W, q.V[0], q.V[1], q.V[2]
	return mgl64.Vec3{
		math.Asin(max(-1, min(1, 2*(w*x+y*z)))),
		math.Atan2(2*(w*y-x*z), 1-2*(x*x+y*y)),
		math.Atan2(2*(w*z-x*y), 1-2*(x*x+z*z)),
	}
}

func setENU(field **apollopb.PointENU, v mgl64.Vec3) {
	p := part(field)
	set(&p.X, v[0])
	set(&p.Y, v[1])
	set(&p.Z, v[2])
}

// setRates sets the angular velocity, given in the axes forward, left, up.
func setRates(p *apollopb.Pose, orientation mgl64.Quat, rates mgl64.Vec3) {
	setPoint(&p.AngularVelocity, orientation.Rotate(rates))
	setPoint(&p.AngularVelocityVrf, spatial.RFUAxes.Out(rates))
}

// gps has the easting, northing and altitude of the sample.
func gps(dst *apollopb.Gps, src *sample.GpsOdometry, _ spatial.MapFrame) error {
	p := part(&dst.Localization)
	setENU(&p.Position, mgl64.Vec3{src.Easting, src.Northing, src.Altitude})
	setAttitude(p, src.Orientation)
	setPoint(&p.LinearVelocity, src.Velocity)
	setRates(p, src.Orientation, src.AngularVelocity)
	_, err := setHeader(&dst.Header, &src.Header)
	return err
}

// correctedImu has what an inertial navigation system makes of a measurement, in the fields and
// axes of Apollo's own driver. It is without gravity, right, forward, up, also in
// linear_acceleration and angular_velocity. An IMU that reports no orientation is taken to be
// where its header says.
func correctedImu(dst *apollopb.CorrectedImu, src *sample.Imu, at spatial.MapFrame) error {
	orientation := src.Orientation
	if src.OrientationCovariance[0] < 0 {
		orientation = at.ToENU(src.Pose.Position).Mul(src.Pose.Orientation)
	}
	gravity := orientation.Conjugate().Rotate(mgl64.Vec3{0, 0, standardGravity})
	acceleration, rates := spatial.RFUAxes.Out(src.LinearAcceleration.Sub(gravity)), spatial.RFUAxes.Out(src.AngularVelocity)
	p := part(&dst.Imu)
	setAttitude(p, orientation)
	setPoint(&p.LinearAcceleration, acceleration)
	setPoint(&p.LinearAccelerationVrf, acceleration)
	setPoint(&p.AngularVelocity, rates)
	setPoint(&p.AngularVelocityVrf, rates)
	_, err := setHeader(&dst.Header, &src.Header)
	return err
}

// localizationEstimate has the pose in UTM, its axes too, and the deviations of its position.
func localizationEstimate(dst *apollopb.LocalizationEstimate, src *sample.Odometry, at spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "localization")
	if err := reached(at, src.BodyPose.Position); err != nil {
		return err
	}
	p := part(&dst.Pose)
	orientation := at.ToUTM(src.BodyPose.Position).Mul(src.BodyPose.Orientation)
	setENU(&p.Position, at.UTM(src.BodyPose.Position))
	setAttitude(p, orientation)
	setPoint(&p.LinearVelocity, orientation.Rotate(src.Twist.Linear))
	setRates(p, orientation, src.Twist.Angular)
	c := &src.PoseCovariance
	setPoint(&part(&dst.Uncertainty).PositionStdDev, mgl64.Vec3{root(c[0]), root(c[7]), root(c[14])})
	set(&dst.MeasurementTime, h.GetTimestampSec())
	return nil
}

// root returns the deviation of a variance; a negative one, of what isn't known, gives 0.
func root(variance float64) float64 { return math.Sqrt(max(0, variance)) }

// mapped is an instance of a bridge that knows where the map frame lies. It is asked before each
// message, on any goroutine. Where that isn't known, the map frame's coordinates stand for UTM's.
type mapped interface{ Map() spatial.MapFrame }

// reached returns why a point of the map has no coordinates in UTM, or nil.
func reached(at spatial.MapFrame, p mgl64.Vec3) error {
	if !at.Known() {
		return nil
	}
	return at.Covers(p)
}
