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
	"github.com/raybridge/raybridge/simtime"
)

// Ultrasonic describes sensor.other.ultrasonic, an ultrasonic range finder: the distance
// of the nearest thing in a cone. It is SVL's, which looks along as many rays as a
// picture of its size has pixels.
type Ultrasonic struct {
	Columns     int     `attribute:"image_size_x" unit:"px" default:"400" min:"1" max:"1920" doc:"rays side by side"`
	Rows        int     `attribute:"image_size_y" unit:"px" default:"160" min:"1" max:"1080" doc:"rays above one another"`
	VerticalFOV float64 `attribute:"vertical_fov" unit:"deg" default:"40" min:"1" max:"90" usual:"5 90" doc:"vertical field of view; the horizontal one follows from the rays' grid, whose cells are square"`
	RangeMin    float64 `attribute:"range_min" live:"true" unit:"m" default:"0.3" min:"0.01" max:"1000" usual:"0.01 1" doc:"shortest distance; nearer hits read -Inf (REP-117)"`
	Range       float64 `attribute:"range" live:"true" unit:"m" default:"2" min:"0.01" max:"2000" usual:"0.1 20" doc:"longest distance; if nothing is in it, it reads +Inf (REP-117)"`
}

// UltrasonicDefinition describes sensor.other.ultrasonic.
var UltrasonicDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.ultrasonic",
	Looks:  true,
	Number: 31,
	Doc:    "ultrasonic range finder: the distance of the nearest thing ahead",
	Tags:   []string{"other", "ultrasonic", "gpu"},
	Outputs: sensors.OneOutput[sample.Range](sensors.OutputSpec{
		Name: "range", Suffix: "/range", Doc: "sensor_msgs/Range in the sensor's frame", QoS: flow.SensorDataQoS,
	}),
	Rate:    simtime.Hz(15),
	Weather: sensors.Felt{None: "what air takes from sound depends on its temperature and humidity, which a weather doesn't have, and drops are far smaller than its waves"},
}, newUltrasonic)

type ultrasonic struct {
	*compute.Sensor[compute.Hit]
	columns, rows int
	focal         float64 // in cells of the grid
	low, high     float64 // ranges, metres

	out     *sensors.Output[*sample.Range]
	message sample.Range // reused: outputs copy what they keep
}

func newUltrasonic(spec sensors.Spec, o Ultrasonic) (sensors.Sensor, error) {
	u := &ultrasonic{columns: o.Columns, rows: o.Rows, low: o.RangeMin, high: o.Range}
	if u.low >= u.high {
		return nil, fmt.Errorf("%w: range_min %v m is not below range %v m", sensors.ErrValue, u.low, u.high)
	}
	u.focal = float64(u.rows) / (2 * math.Tan(mgl64.DegToRad(o.VerticalFOV)/2))
	u.message.RadiationType = sample.RadiationUltrasound
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
		rays[i] = compute.Ray{Direction: mgl64.Vec3{u.focal, -right, -down}.Normalize(), Min: skin, Max: u.high}
	}
}

// FieldOfView is that of the rays' grid.
func (u *ultrasonic) FieldOfView() sensors.FieldOfView {
	whole := func(cells int) float64 { return 2 * mgl64.RadToDeg(math.Atan2(float64(cells)/2, u.focal)) }
	return sensors.FieldOfView{Horizontal: whole(u.columns), Vertical: whole(u.rows), Range: u.high}
}

// Begin opens the output and the GPU's part.
func (u *ultrasonic) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if u.out, err = sensors.OutputOf[*sample.Range](env, "range"); err != nil {
		return err
	}
	return u.Sensor.Begin(ctx, env)
}

// Tune takes over the ranges. GL thread.
func (u *ultrasonic) Tune(fresh sensors.Sensor) error {
	f := fresh.(*ultrasonic)
	f.out = u.out
	u.TakeOver(f.Sensor)
	return nil
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
