package motion

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// GPSOdometry describes sensor.other.gps_odometry, the odometry of a satellite receiver. It
// tells where on the earth it is, in WGS84 and UTM, and how it moves. It is SVL's GPS Odometry,
// 1 to 100 Hz, by default 12.5. It has no noise.
//
// Easting and northing are in the UTM zone of the scene's projection, else of its origin, also
// where the vehicle leaves it. Orientation and velocity are in that grid's axes, too. They differ
// from true east and north by the meridian's convergence, up to some degrees at a zone's edge.
// The message has it. Speeds are metres of the map, which in UTM are 0.9996 to 1.001 of those on
// the ground.
//
// With ignore_map_origin easting and northing are the map frame's x and y instead, and
// orientation and velocity are in its axes. Latitude, longitude and altitude stay what they are.
// Where there is no fix (see GNSS) they are NaN, easting and northing of UTM as well.
//
// Velocities are those of the antenna, a lever arm included.
type GPSOdometry struct {
	Child
	IgnoreMapOrigin bool `attribute:"ignore_map_origin" doc:"easting and northing from the map's origin instead of UTM's"`
}

// GPSOdometryDefinition describes sensor.other.gps_odometry.
var GPSOdometryDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.gps_odometry",
	Number: 42, Georeferenced: true,
	Doc:  "satellite odometry: position in WGS84 and UTM, orientation, velocities",
	Tags: []string{"gnss", "odometry", "motion"},
	Outputs: sensors.OneOutput[sample.GpsOdometry](sensors.OutputSpec{
		Name: "gps_odometry", Doc: "nav_msgs/Odometry: pose of easting, northing and altitude, twist of forward speed and yaw rate",
	}),
	Rate: simtime.MustRate("12.5"),
}, func(spec sensors.Spec, o GPSOdometry) (sensors.Sensor, error) {
	child := spec.ChildFrame(o.Child.Frame)
	return newInstrument[GPSOdometry](func(m *sample.GpsOdometry, r *reading) {
		pose := r.header.Pose
		velocity := r.state.Twist.Linear.Add(r.state.Twist.Angular.Cross(pose.Position.Sub(r.state.Pose.Position)))
		place, known := r.place.locate(pose.Position)
		m.Header, m.ChildFrameID = r.header, child
		m.Latitude, m.Longitude, m.Altitude = place.Latitude, place.Longitude, place.Altitude
		at, turn := pose.Position, mgl64.QuatIdent()
		switch {
		case o.IgnoreMapOrigin:
		case known:
			at, turn = r.place.UTM(at), r.place.ToUTM(at)
		default:
			at = mgl64.Vec3{math.NaN(), math.NaN()}
		}
		m.Easting, m.Northing = at[0], at[1]
		m.Convergence = spatial.Yaw(turn) - spatial.Yaw(r.place.ToENU(pose.Position))
		m.Orientation = turn.Mul(pose.Orientation)
		m.ForwardSpeed = pose.Rotate(mgl64.Vec3{1, 0, 0}).Dot(velocity)
		m.Velocity = turn.Rotate(velocity)
		m.AngularVelocity = pose.Orientation.Conjugate().Rotate(r.state.Twist.Angular)
		m.WheelAngle = r.controls.Steering
	})(spec, o)
})
