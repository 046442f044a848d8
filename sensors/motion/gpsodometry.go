package motion

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// GPSOdometry describes sensor.other.gps_odometry, the odometry of a satellite receiver. It
// tells where on the earth it is, in WGS84 and UTM, and how it moves. It is SVL's GPS Odometry,
// 1 to 100 Hz, by default 12.5. It has no noise.
//
// Easting and northing are in the UTM zone of the scene's origin, also where the vehicle leaves
// it. With ignore_map_origin they are metres east and north of the map's origin instead: the
// map frame's x and y. Latitude, longitude and altitude stay what they are.
//
// Velocities are those of the antenna, a lever arm included.
type GPSOdometry struct {
	Child
	IgnoreMapOrigin bool `attribute:"ignore_map_origin" doc:"easting and northing from the map's origin instead of UTM's"`
}

// GPSOdometryDefinition describes sensor.other.gps_odometry.
var GPSOdometryDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.gps_odometry",
	Number: 42,
	Doc:    "satellite odometry: position in WGS84 and UTM, orientation, velocities",
	Tags:   []string{"gnss", "odometry", "motion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.GpsOdometry](sensors.OutputSpec{
			Name: "gps_odometry", Suffix: "", Doc: "nav_msgs/Odometry: pose of easting, northing and altitude, twist of forward speed and yaw rate",
			QoS: flow.DefaultQoS,
		}),
	},
	Rate: simtime.MustRate("12.5"),
}, func(spec sensors.Spec, o GPSOdometry) (sensors.Sensor, error) {
	child := spec.ChildFrame(o.Child.Frame)
	return newInstrument[GPSOdometry](func(m *sample.GpsOdometry, r *reading) {
		pose := r.header.Pose
		velocity := r.state.Twist.Linear.Add(r.state.Twist.Angular.Cross(pose.Position.Sub(r.state.Pose.Position)))
		place := r.plane.Geodetic(pose.Position)
		m.Header, m.ChildFrameID = r.header, child
		m.Latitude, m.Longitude, m.Altitude = place.Latitude, place.Longitude, place.Altitude
		if m.Easting, m.Northing = r.zone.Project(place); o.IgnoreMapOrigin {
			m.Easting, m.Northing = pose.Position[0], pose.Position[1]
		}
		m.Orientation = pose.Orientation
		m.ForwardSpeed = pose.Rotate(mgl64.Vec3{1, 0, 0}).Dot(velocity)
		m.Velocity = velocity
		m.AngularVelocity = pose.Orientation.Conjugate().Rotate(r.state.Twist.Angular)
		m.WheelAngle = r.controls.Steering
	})(spec, o)
})
