// Package ranging has the sensors that measure how far away something is. Radar and
// Ultrasonic cast rays on the GPU (sensors/compute), and what is thinner than their rays'
// distance may slip through. Obstacle sweeps a ball and SafeDistance compares boxes: these two
// are exact.
//
// SafeDistance is the worked example of docs/adding-a-sensor.md. One file shows all that
// a new sensor needs: a message of its own, its bytes on the wire, and the sensor.
// Nothing in it is known anywhere else in raybridge; one line in sensors/all puts it
// into the program.
package ranging

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

// Radar describes sensor.other.radar: the range, the direction and the radial speed of
// what random rays in a cone hit, and the actors among it. Names and defaults of the
// attributes are CARLA's.
//
// It follows CARLA's sensor.other.radar: no cross sections, no multipath, no tracks. A ray aims
// at a point of an ellipse on the plane at the range's end, whose radius and angle are uniform.
// So the middle of the cone is seen most densely. Rain shortens its range, see rained.
type Radar struct {
	HorizontalFOV   float64 `attribute:"horizontal_fov" unit:"deg" default:"30" min:"0.1" max:"170" usual:"5 150" doc:"width of the cone"`
	VerticalFOV     float64 `attribute:"vertical_fov" unit:"deg" default:"30" min:"0.1" max:"170" usual:"1 90" doc:"height of the cone"`
	Range           float64 `attribute:"range" live:"true" unit:"m" default:"100" min:"0.1" max:"2000" usual:"1 500" doc:"longest range along the axis"`
	PointsPerSecond int64   `attribute:"points_per_second" default:"1500" min:"1" max:"10000000" usual:"100 1000000" doc:"rays a second, those that hit nothing too"`
	NoiseSeed       uint64  `attribute:"noise_seed" max:"2147483647" doc:"seed of the rays' directions; 0 is the run's"`
	Frequency       float64 `attribute:"frequency" unit:"GHz" default:"76.5" min:"1" max:"1000" usual:"24 79" doc:"carrier, by which rain shortens the range (ITU-R P.838-3). 76.5 is the middle of the band of automotive radars"`
}

// RadarDefinition describes sensor.other.radar.
var RadarDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.radar",
	Looks:  true,
	Number: 30,
	Doc:    "radar: range, direction and radial speed (receding is positive) of what rays in a cone hit",
	Tags:   []string{"other", "radar", "gpu"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Radar](sensors.OutputSpec{
			Name: "detections", Suffix: "/points", Doc: "the rays that hit something, in the sensor's frame", QoS: flow.SensorDataQoS,
		}),
		sensors.Declare[sample.RadarObjects](sensors.OutputSpec{
			Name: "objects", Suffix: "/objects", Doc: "the vehicles and walkers among them", QoS: flow.SensorDataQoS,
		}),
	},
	Rate:    simtime.Hz(20),
	Weather: sensors.Felt{Rain: "shorter range"},
}, newRadar)

// skin is how near a surface is that a sensor lies on and doesn't see, as the road at a vehicle's
// origin, metres.
const skin = 1e-3

// maxRays bounds a sweep's memory.
const maxRays = 1 << 20

type radar struct {
	*compute.Sensor[compute.Hit]
	width, height float64 // of the ellipse at the range's end, half, metres
	reach         float64
	frequency     float64 // GHz
	perSecond     int64
	seed          uint64 // in place of the sensor's own, 0 for that

	*sweeps
}

// sweeps is what a radar publishes and what it remembers of the sweep before. It is Process's.
type sweeps struct {
	detections *sensors.Output[*sample.Radar]
	objects    *sensors.Output[*sample.RadarObjects]
	aimed      []compute.Ray
	sweep      sample.Radar
	seen       sample.RadarObjects
	found      []uint32 // actors of the sweep, rising
	before     []uint32 // actors of the sweep before, rising
}

func newRadar(spec sensors.Spec, o Radar) (sensors.Sensor, error) {
	r := &radar{reach: o.Range, frequency: o.Frequency, perSecond: o.PointsPerSecond, seed: o.NoiseSeed, sweeps: &sweeps{}}
	r.width = r.reach * math.Tan(mgl64.DegToRad(o.HorizontalFOV)/2)
	r.height = r.reach * math.Tan(mgl64.DegToRad(o.VerticalFOV)/2)
	n := math.Ceil(float64(r.perSecond) / spec.Rate.Float64())
	if n > maxRays {
		return nil, fmt.Errorf("%w: points_per_second %d at %v Hz makes %.0f rays a sweep, at most %d are possible: raise the rate or ask for fewer",
			sensors.ErrValue, r.perSecond, spec.Rate, n, maxRays)
	}
	r.Sensor = compute.New(spec, compute.Rays(int(n), func(at sensors.Tick, rays []compute.Ray) bool {
		r.aim(at, rays)
		r.rained(at, rays)
		return true
	}, r.publish))
	return r, nil
}

// FieldOfView is the cone.
func (r *radar) FieldOfView() sensors.FieldOfView {
	whole := func(half float64) float64 { return 2 * mgl64.RadToDeg(math.Atan2(half, r.reach)) }
	return sensors.FieldOfView{Horizontal: whole(r.width), Vertical: whole(r.height), Range: r.reach}
}

// Begin opens the outputs and the GPU's part.
func (r *radar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if r.detections, err = sensors.OutputOf[*sample.Radar](env, "detections"); err != nil {
		return err
	}
	if r.objects, err = sensors.OutputOf[*sample.RadarObjects](env, "objects"); err != nil {
		return err
	}
	if r.seed == 0 {
		r.seed = env.Seed
	}
	return r.Sensor.Begin(ctx, env)
}

// Tune takes over the range, and as many rays a sweep as the rate leaves. They keep their
// directions. GL thread.
func (r *radar) Tune(fresh sensors.Sensor) error {
	f := fresh.(*radar)
	f.seed, f.sweeps = r.seed, r.sweeps
	r.TakeOver(f.Sensor)
	return nil
}

// aim draws the rays of one sweep: as many as fit into its period, and a pure function
// of the seed and the sweep's number.
func (r *radar) aim(at sensors.Tick, rays []compute.Ray) {
	var bits rand.PCG
	bits.Seed(r.seed, at.Seq)
	n := min(int(r.perSecond*at.PeriodNs/1_000_000_000), len(rays))
	clear(rays[n:])
	for i := range rays[:n] {
		radius, angle := uniform(&bits), 2*math.Pi*uniform(&bits)
		sin, cos := math.Sincos(angle)
		end := mgl64.Vec3{r.reach, r.width * radius * cos, r.height * radius * sin}
		rays[i] = compute.Ray{Direction: end.Normalize(), Min: skin, Max: end.Len()}
	}
}

// rained shortens the rays of one sweep by what rain takes from an echo on its way there and back. Echoes weaken with the
// fourth power of the range, so that one from R stays while exp(-2 extinction R) (range / R)^4 is 1 or more.
func (r *radar) rained(at sensors.Tick, rays []compute.Ray) {
	extinction := r.Env().Weather(at.Due).RadarExtinction(r.frequency)
	if extinction == 0 {
		return
	}
	for i := range rays {
		rays[i].Max = weather.Reach(rays[i].Max, extinction, 4)
	}
}

// uniform returns the next number in [0, 1).
func uniform(bits *rand.PCG) float64 { return float64(bits.Uint64()>>11) * 0x1p-53 }

// publish makes detections of the hits. Its speeds are those of the instant that the
// sweep shows.
func (r *radar) publish(at sensors.Tick, header sample.Header, hits []compute.Hit) {
	r.aimed = slices.Grow(r.aimed[:0], len(hits))[:len(hits)]
	r.aim(at, r.aimed)
	mine := r.body(r.Env().Owner, at.Due)
	velocity := mine.at(header.Pose.Position)
	toSensor := header.Pose.Orientation.Conjugate()
	r.sweep.Header, r.sweep.Detections = header, r.sweep.Detections[:0]
	r.found = r.found[:0]
	for i, hit := range hits {
		if !hit.Seen() {
			continue
		}
		d := r.aimed[i].Direction
		direction := header.Pose.Rotate(d)
		point := header.Pose.Position.Add(direction.Mul(float64(hit.Range)))
		id := r.Env().History.Labelled(hit.Instance, at.Due)
		theirs := r.body(id, at.Due)
		r.sweep.Detections = append(r.sweep.Detections, sample.RadarDetection{
			Velocity: float32(theirs.at(point).Sub(velocity).Dot(direction)),
			Azimuth:  float32(math.Atan2(d[1], d[0])), Altitude: float32(math.Asin(d[2])), Depth: hit.Range,
			Instance: hit.Instance, Tag: uint8(hit.Tag),
		})
		if scene.Tag(hit.Tag).RoadUser() {
			r.found = append(r.found, id)
		}
	}
	slices.Sort(r.found)
	r.found = slices.Compact(r.found)
	r.detections.TryQueue(at, &r.sweep)
	r.listObjects(header, toSensor, velocity)
	r.objects.TryQueue(at, &r.seen)
}

// movingSpeed is from where on an object counts as moving, m/s (SVL's).
const movingSpeed = 1.0

// listObjects fills in the actors that were found; toSensor turns vectors of the map
// frame, velocity is the sensor's.
func (r *radar) listObjects(header sample.Header, toSensor mgl64.Quat, velocity mgl64.Vec3) {
	r.seen.Header, r.seen.Objects = header, r.seen.Objects[:0]
	for _, id := range r.found {
		b := r.body(id, header.Stamp)
		box, _ := r.Env().History.BoxAt(id, header.Stamp)
		center := b.state.Pose.Apply(box.Center)
		_, known := slices.BinarySearch(r.before, id)
		r.seen.Objects = append(r.seen.Objects, sample.RadarObject{
			ID: id, Position: toSensor.Rotate(center.Sub(header.Pose.Position)), Velocity: toSensor.Rotate(b.at(center).Sub(velocity)),
			Size: box.Half.Mul(2), Moving: b.state.Twist.Linear.Len() > movingSpeed, New: !known,
		})
	}
	r.before, r.found = r.found, r.before
}

// body is a rigid body at one instant.
type body struct{ state scene.State }

func (r *radar) body(id uint32, stamp simtime.Stamp) body {
	state, _ := r.Env().History.State(id, stamp)
	return body{state}
}

// at returns the velocity of the body's point at p, map frame.
func (b body) at(p mgl64.Vec3) mgl64.Vec3 {
	return b.state.Twist.Linear.Add(b.state.Twist.Angular.Cross(p.Sub(b.state.Pose.Position)))
}
