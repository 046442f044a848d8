package ranging

import (
	"context"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Ultrasonic describes sensor.other.ultrasonic, an ultrasonic range finder: the distance
// of the nearest thing in a cone. It is SVL's, which looks along as many rays as a
// picture of its size has pixels.
var Ultrasonic = &sensors.Definition{
	ID:     "sensor.other.ultrasonic",
	Number: 31,
	Doc:    "ultrasonic range finder: the distance of the nearest thing ahead",
	Tags:   []string{"other", "ultrasonic", "gpu"},
	Attributes: []sensors.Attribute{
		{Name: "image_size_x", Type: sensors.Int, Unit: "px", Min: 1, Max: 1920, Default: int64(400), Doc: "rays side by side"},
		{Name: "image_size_y", Type: sensors.Int, Unit: "px", Min: 1, Max: 1080, Default: int64(160), Doc: "rays above one another"},
		{Name: "vertical_fov", Type: sensors.Float, Unit: "deg", Min: 1, Max: 90, UsualMin: 5, UsualMax: 90, Default: 40.0, Doc: "vertical field of view; the horizontal one follows from the rays' grid, whose cells are square"},
		{Name: "range_min", Type: sensors.Float, Unit: "m", Min: 0.01, Max: 1000, UsualMin: 0.01, UsualMax: 1, Default: 0.3, Doc: "shortest distance; what is nearer reads -Inf (REP-117)"},
		{Name: "range", Type: sensors.Float, Unit: "m", Min: 0.01, Max: 2000, UsualMin: 0.1, UsualMax: 20, Default: 2.0, Doc: "longest distance; if nothing is in it, it reads +Inf (REP-117)"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Range](sensors.OutputSpec{
			Name: "range", Suffix: "/range", Doc: "sensor_msgs/Range in the sensor's frame", QoS: flow.SensorDataQoS,
		}),
	},
	DefaultRate: "15",
	New:         newUltrasonic,
}

type ultrasonic struct {
	*compute.Sensor[compute.Hit]
	columns, rows int
	focal         float64 // in cells of the grid
	low, high     float64 // ranges, metres

	out     *sensors.Output[*sample.Range]
	message sample.Range // reused: outputs copy what they keep
}

func newUltrasonic(spec sensors.Spec) (sensors.Sensor, error) {
	set := spec.Settings
	u := &ultrasonic{
		columns: set.Int("image_size_x"), rows: set.Int("image_size_y"),
		low: set.Float("range_min"), high: set.Float("range"),
	}
	if u.low >= u.high {
		return nil, fmt.Errorf("%w: range_min %v m is not below range %v m", sensors.ErrValue, u.low, u.high)
	}
	u.focal = float64(u.rows) / (2 * math.Tan(mgl64.DegToRad(set.Float("vertical_fov"))/2))
	u.message.Radiation = sample.RadiationUltrasound
	u.message.FieldOfView = float32(2 * math.Atan(float64(max(u.columns, u.rows))/(2*u.focal)))
	u.message.MinRange, u.message.MaxRange = float32(u.low), float32(u.high)
	u.Sensor = compute.New(spec, compute.FixedRays(u.columns*u.rows, u.aim, u.publish))
	return u, nil
}

// aim points a ray through the middle of each cell of the grid.
func (u *ultrasonic) aim(rays []compute.Ray) {
	for i := range rays {
		right := float64(i%u.columns) + 0.5 - float64(u.columns)/2
		down := float64(i/u.columns) + 0.5 - float64(u.rows)/2
		rays[i] = compute.Ray{Direction: mgl64.Vec3{u.focal, -right, -down}.Normalize(), Max: u.high}
	}
}

// Begin opens the output and the GPU's part.
func (u *ultrasonic) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if u.out, err = sensors.OutputOf[*sample.Range](env, "range"); err != nil {
		return err
	}
	return u.Sensor.Begin(ctx, env)
}

// publish sends the distance of the nearest hit, with the instant at which the rays
// were cast as its stamp.
func (u *ultrasonic) publish(at sensors.Tick, header sample.Header, hits []compute.Hit) {
	nearest := float32(math.Inf(1))
	for i := range hits {
		nearest = min(nearest, hits[i].Range)
	}
	if nearest < u.message.MinRange {
		nearest = float32(math.Inf(-1))
	}
	u.message.Header, u.message.Range = header, nearest
	u.out.TryQueue(at, &u.message)
}
