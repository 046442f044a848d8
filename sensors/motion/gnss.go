package motion

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// The integers of sensor_msgs/NavSatStatus and NavSatFix that are used here.
const (
	statusNoFix     = -1
	statusFix       = 0
	serviceGPS      = 1
	covarianceKnown = 2 // COVARIANCE_TYPE_DIAGONAL_KNOWN
)

// GNSS describes sensor.other.gnss, the satellite receiver: WGS84 fixes of the sensor's
// antenna.
//
// # Noise
//
// The metric deviations displace the antenna in the tangent plane. The noise and biases by
// CARLA's names are added to the fix itself. They are degrees for latitude and longitude, as
// CARLA has them, metres for the altitude. Both may be set. The reported covariance is the sum
// of their variances, in metres; a bias is not part of it, since a receiver doesn't know its
// own.
//
// # The map
//
// The map frame is the plane that touches WGS84 at scene.origin. With scene.projection it is the
// grid of a zone of UTM, and z the height above the ellipsoid. There is no geoid: where a map
// has heights above the sea, the altitude is those. In Central Europe that is some 45 m too low.
// CARLA maps its world by a spherical Mercator projection.
//
// Beyond the map's reach there is no fix: the status is -1 and the position NaN. The reach is
// 100 km around a plane's origin, or the zone. A rig that begins there is refused.
type GNSS struct {
	HorizontalStddev float64 `attribute:"noise_horizontal_stddev" live:"true" unit:"m" max:"1000" usual:"0 50" doc:"white noise east and north"`
	VerticalStddev   float64 `attribute:"noise_vertical_stddev" live:"true" unit:"m" max:"1000" usual:"0 100" doc:"white noise up"`
	LatBias          float64 `attribute:"noise_lat_bias" live:"true" unit:"°" min:"-90" max:"90" usual:"-0.01 0.01" doc:"added to the latitude"`
	LatStddev        float64 `attribute:"noise_lat_stddev" live:"true" unit:"°" max:"90" usual:"0 0.001" doc:"white noise of the latitude"`
	LonBias          float64 `attribute:"noise_lon_bias" live:"true" unit:"°" min:"-180" max:"180" usual:"-0.01 0.01" doc:"added to the longitude"`
	LonStddev        float64 `attribute:"noise_lon_stddev" live:"true" unit:"°" max:"180" usual:"0 0.001" doc:"white noise of the longitude"`
	AltBias          float64 `attribute:"noise_alt_bias" live:"true" unit:"m" min:"-10000" max:"10000" usual:"-100 100" doc:"added to the altitude"`
	AltStddev        float64 `attribute:"noise_alt_stddev" live:"true" unit:"m" max:"10000" usual:"0 100" doc:"white noise of the altitude"`
	Noise
	IgnoreMapOrigin bool `attribute:"ignore_map_origin" inert:"a fix is latitude and longitude, which have no map's origin" doc:"SVL's choice of plane coordinates"`
}

// GNSSDefinition describes sensor.other.gnss.
var GNSSDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.gnss",
	Number: 41, Georeferenced: true,
	Doc:  "satellite receiver: latitude, longitude and altitude on WGS84",
	Tags: []string{"gnss", "motion"},
	Outputs: sensors.OneOutput[sample.GnssFix](sensors.OutputSpec{
		Name: "fix", Suffix: "/fix", Doc: "sensor_msgs/NavSatFix",
	}),
	Rate:    simtime.Hz(10),
	Weather: sensors.Felt{None: "rain of 100 mm/h takes less than 0.005 dB/km from L1"},
}, func(spec sensors.Spec, o GNSS) (sensors.Sensor, error) {
	return &gnss{
		Reading:   sensors.Reading[sample.GnssFix]{Spec: spec},
		metric:    mgl64.Vec3{o.HorizontalStddev, o.HorizontalStddev, o.VerticalStddev},
		bias:      mgl64.Vec3{o.LatBias, o.LonBias, o.AltBias},
		deviation: mgl64.Vec3{o.LatStddev, o.LonStddev, o.AltStddev},
		noise:     o.Noise,
	}, nil
})

type gnss struct {
	sensors.Reading[sample.GnssFix]
	// metric deviations are east, north, up; bias and deviation are of latitude and
	// longitude in degrees, and of the altitude in metres.
	metric, bias, deviation mgl64.Vec3
	noise                   Noise
	seed                    uint64
	place                   receiver
	bits                    rand.PCG
}

// Begin seeds the noise and opens the output.
func (s *gnss) Begin(ctx context.Context, env *sensors.Env) error {
	s.seed = s.noise.of(env)
	s.place = receiver{MapFrame: env.Map, log: env.Log}
	return s.Reading.Begin(ctx, env)
}

// Tune takes over the noise.
func (s *gnss) Tune(fresh sensors.Sensor) error {
	f := fresh.(*gnss)
	s.metric, s.bias, s.deviation = f.metric, f.bias, f.deviation
	return nil
}

// Tick publishes the fix at the due instant, if the owner is there then.
func (s *gnss) Tick(at sensors.Tick) error {
	owner, ok := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !ok {
		return nil
	}
	pose := owner.Compose(s.Spec.Mount)
	s.bits.Seed(s.seed, at.Seq) // a fix's noise depends on nothing before it
	noise := rand.New(&s.bits)
	antenna := pose.Position
	for i := range antenna {
		antenna[i] += s.metric[i] * noise.NormFloat64()
	}
	error3 := s.bias
	for i := range error3 {
		error3[i] += s.deviation[i] * noise.NormFloat64()
	}
	fix, known := s.place.locate(antenna)

	m := &s.Message
	m.Header = at.Header(s.Spec.FrameID, pose)
	if m.Status, m.Service = statusFix, serviceGPS; !known {
		m.Status = statusNoFix
	}
	m.Latitude = max(-90, min(90, fix.Latitude+error3[0]))
	m.Longitude = fix.Longitude + error3[1]
	if math.Abs(m.Longitude) > 180 {
		m.Longitude = math.Remainder(m.Longitude, 360)
	}
	m.Altitude = fix.Altitude + error3[2]
	m.PositionCovariance = s.covariance(fix)
	m.PositionCovarianceType = covarianceKnown
	s.Publish(at)
	return nil
}

// covariance returns the noise's variances east, north and up, m², at a place.
func (s *gnss) covariance(p spatial.Geodetic) [9]float64 {
	meridian, primeVertical := spatial.RadiiOfCurvature(p.Latitude)
	north := mgl64.DegToRad(s.deviation[0]) * (meridian + p.Altitude)
	east := mgl64.DegToRad(s.deviation[1]) * (primeVertical + p.Altitude) * math.Cos(mgl64.DegToRad(p.Latitude))
	return [9]float64{
		0: s.metric[0]*s.metric[0] + east*east,
		4: s.metric[1]*s.metric[1] + north*north,
		8: s.metric[2]*s.metric[2] + s.deviation[2]*s.deviation[2],
	}
}
