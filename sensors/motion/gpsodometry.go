package motion

import (
	"context"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// GPSOdometry describes sensor.other.gps_odometry, the odometry of a satellite receiver:
// where on the earth it is, in WGS84 and UTM, and how it moves (SVL's GPS Odometry, 1 to
// 100 Hz, by default 12.5). It has no noise.
//
// Easting and northing are in the UTM zone of the scene's origin, also where the vehicle
// leaves it. With ignore_map_origin they are metres east and north of the map's
// origin instead: the map frame's x and y; latitude, longitude and altitude stay what
// they are.
//
// Velocities are those of the antenna, a lever arm included.
var GPSOdometry = &sensors.Definition{
	ID:     "sensor.other.gps_odometry",
	Number: 42,
	Doc:    "satellite odometry: position in WGS84 and UTM, orientation, velocities",
	Tags:   []string{"gnss", "odometry", "motion"},
	Attributes: []sensors.Attribute{
		{Name: "child_frame", Type: sensors.String, Default: "", Doc: "name of the frame whose motion is published; empty is the parent frame for a sensor at its owner's origin, else the sensor's own"},
		{Name: "ignore_map_origin", Type: sensors.Bool, Default: false, Doc: "easting and northing from the map's origin instead of UTM's"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.GpsOdometry](sensors.OutputSpec{
			Name: "gps_odometry", Suffix: "", Doc: "nav_msgs/Odometry: pose of easting, northing and altitude, twist of forward speed and yaw rate",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "12.5",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &gpsOdometry{Reading: sensors.Reading[sample.GpsOdometry]{Spec: spec}, child: spec.ChildFrame(spec.Settings.String("child_frame")), relative: spec.Settings.Bool("ignore_map_origin")}, nil
	},
}

type gpsOdometry struct {
	sensors.Reading[sample.GpsOdometry]
	child    string
	relative bool // to the map's origin
	plane    spatial.TangentPlane
	zone     spatial.UTMZone
}

// Begin lays the map on the earth and opens the output.
func (s *gpsOdometry) Begin(ctx context.Context, env *sensors.Env) error {
	origin := spatial.Geodetic(env.Origin)
	s.plane, s.zone = spatial.NewTangentPlane(origin), spatial.UTMZoneOf(origin)
	return s.Reading.Begin(ctx, env)
}

// Tick publishes the state at the due instant, if the owner is there then.
func (s *gpsOdometry) Tick(at sensors.Tick) error {
	state, ok := s.Env.History.State(s.Env.Owner, at.TimeNs)
	if !ok {
		return nil
	}
	controls, _ := s.Env.History.Controls(s.Env.Owner, scene.Vehicle{}, at.TimeNs)
	pose := state.Pose.Compose(s.Spec.Mount)
	velocity := state.Twist.Linear.Add(state.Twist.Angular.Cross(pose.Position.Sub(state.Pose.Position)))
	place := s.plane.Geodetic(pose.Position)

	m := &s.Message
	m.Header = at.Header(s.Spec.FrameID, pose)
	m.ChildFrameID = s.child
	m.Latitude, m.Longitude, m.Altitude = place.Latitude, place.Longitude, place.Altitude
	if m.Easting, m.Northing = s.zone.Project(place); s.relative {
		m.Easting, m.Northing = pose.Position[0], pose.Position[1]
	}
	m.Orientation = pose.Orientation
	m.ForwardSpeed = pose.Rotate(mgl64.Vec3{1, 0, 0}).Dot(velocity)
	m.Velocity = velocity
	m.AngularVelocity = pose.Orientation.Conjugate().Rotate(state.Twist.Angular)
	m.WheelAngle = controls.Steering
	s.Publish(at)
	return nil
}
