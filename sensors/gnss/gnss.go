// Package gnss is the satellite receiver: WGS84 fixes of the sensor's antenna.
package gnss

import (
	"context"
	"math/rand/v2"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// The integers of sensor_msgs/NavSatStatus and NavSatFix that are used here.
const (
	statusFix       = 0
	serviceGPS      = 1
	covarianceKnown = 2 // COVARIANCE_TYPE_DIAGONAL_KNOWN
)

// Definition describes sensor.other.gnss.
var Definition = &sensors.Definition{
	ID:     "sensor.other.gnss",
	Number: 41,
	Doc:    "satellite receiver: latitude, longitude and altitude on WGS84",
	Tags:   []string{"gnss", "motion"},
	Attributes: []sensors.Attribute{
		{Name: "noise_horizontal_stddev", Type: sensors.Float, Unit: "m", Min: 0, Max: 1000, Default: 0.0, Doc: "white noise east and north"},
		{Name: "noise_vertical_stddev", Type: sensors.Float, Unit: "m", Min: 0, Max: 1000, Default: 0.0, Doc: "white noise up"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.GnssFix](sensors.OutputSpec{
			Name: "fix", Suffix: "/fix", Doc: "sensor_msgs/NavSatFix",
			QoS: sensors.QoS{Reliable: true, Depth: 10},
		}),
	},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &gnss{
			spec:       spec,
			horizontal: spec.Settings.Float("noise_horizontal_stddev"),
			vertical:   spec.Settings.Float("noise_vertical_stddev"),
		}, nil
	},
}

type gnss struct {
	spec                 sensors.Spec
	horizontal, vertical float64
	env                  *sensors.Env
	frame                tangentPlane
	out                  *sensors.Output[*sample.GnssFix]
	bits                 rand.PCG
	message              sample.GnssFix // reused: outputs copy what they keep
}

// Begin opens the output.
func (s *gnss) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.frame = newTangentPlane(env.Origin.Latitude, env.Origin.Longitude, env.Origin.Altitude)
	s.out, err = sensors.OutputOf[*sample.GnssFix](env, "fix")
	return err
}

// Tick publishes the fix at the due instant.
func (s *gnss) Tick(at sensors.Tick) error {
	pose := s.env.Pose(s.spec.Mount, at.TimeNs)
	p := pose.Position
	s.bits.Seed(s.env.Seed, at.Seq) // a fix's noise depends on nothing before it
	noise := rand.New(&s.bits)
	p[0] += s.horizontal * noise.NormFloat64()
	p[1] += s.horizontal * noise.NormFloat64()
	p[2] += s.vertical * noise.NormFloat64()

	m := &s.message
	m.Header = at.Header(s.spec.FrameID, pose)
	m.Status, m.Service = statusFix, serviceGPS
	m.Latitude, m.Longitude, m.Altitude = s.frame.geodetic(p)
	h, v := s.horizontal*s.horizontal, s.vertical*s.vertical
	m.PositionCovariance = [9]float64{h, 0, 0, 0, h, 0, 0, 0, v}
	m.PositionCovarianceType = covarianceKnown
	s.out.TryQueue(at, m)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *gnss) End() error { return nil }
