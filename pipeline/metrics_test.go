package pipeline_test

import (
	"math"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// egoFront is how far the front of scene.DefaultEgoBox is ahead of its origin, m. It is 1.9 m wide.
const egoFront = 3.8

// boxes is a scene with boxes of 4 m by 2 m by 1.5 m on the ground, or above.
func boxes(list ...scene.Placement) *scene.Scene {
	b := scenetest.NewBuilder("boxes")
	b.Put("road", scenetest.Plane(400, 2), scenetest.Matte("road", 1, 1, 1), scenetest.At(0, 0, 0, scene.TagRoads))
	for _, p := range list {
		b.Put("box", scenetest.Box(4, 2, 1.5), scenetest.Matte("box", 1, 0, 0), p)
	}
	return b.Scene
}

// car is a box of a type, turned by degrees.
func car(typeID string, x, y, z, yaw float64) scene.Placement {
	return scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{x, y, z}, 0, 0, yaw), Tag: scene.TagCar, TypeID: typeID}
}

// driven is a car that moves.
func driven(p scene.Placement, velocity mgl64.Vec3) scene.Placement {
	p.Motion = scenetest.Linear{Start: p.Pose, Velocity: velocity}
	return p
}

// straight is an ego that drives along x from the origin.
func straight(speed float64) scene.Motion {
	return scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{speed, 0, 0}}
}

// metricsAfter are those of a run of so many seconds.
func metricsAfter(t *testing.T, s *scene.Scene, ego scene.Motion, seconds float64) map[string]float64 {
	t.Helper()
	p := newScriptedIn(t, s, &script{}, pipeline.Config{Ego: ego})
	require.NoError(t, p.Run(t.Context(), time.Duration(seconds*1e9)))
	return p.Summary().Metrics
}

// TestTimeToCollision in closed form: the gap and the closing speed after two seconds at 10 m/s, which are the least.
func TestTimeToCollision(t *testing.T) {
	const front = 20 + egoFront
	diagonal := math.Sqrt2
	for name, c := range map[string]struct {
		other scene.Placement
		want  float64 // none for NaN
	}{
		"stands":                 {car("vehicle.car", 50, 0, .75, 0), (50 - 2 - front) / 10},
		"comes":                  {driven(car("vehicle.car", 80, 0, .75, 180), mgl64.Vec3{-5, 0, 0}), (80 - 10 - 2 - front) / 15},
		"is slower":              {driven(car("vehicle.car", 20, 0, .75, 0), mgl64.Vec3{6, 0, 0}), (20 + 12 - 2 - front) / 4},
		"is as fast":             {driven(car("vehicle.car", 20, 0, .75, 0), mgl64.Vec3{10, 0, 0}), math.NaN()},
		"is faster":              {driven(car("vehicle.car", 20, 0, .75, 0), mgl64.Vec3{12, 0, 0}), math.NaN()},
		"crosses, and is ahead":  {driven(car("vehicle.car", 50, -4, .75, 90), mgl64.Vec3{0, 2, 0}), (50 - 1 - front) / 10},
		"is beside":              {car("vehicle.car", 50, 1.96, .75, 0), math.NaN()},
		"reaches in by a little": {car("vehicle.car", 50, 1.94, .75, 0), (50 - 2 - front) / 10},
		"is turned":              {car("vehicle.car", 50, 0, .75, 45), (50 - 3/diagonal - front) / 10},
		"is turned, corner out":  {car("vehicle.car", 50, 2, .75, 45), (50 - 3/diagonal + (2 - 1/diagonal - .95) - front) / 10},
		"is above":               {car("vehicle.car", 50, 0, 2.3, 0), math.NaN()},
		"is behind":              {car("vehicle.car", -50, 0, .75, 0), math.NaN()},
		"was overtaken":          {driven(car("vehicle.car", -8, 0, .75, 0), mgl64.Vec3{1, 0, 0}), math.NaN()},
		"is part of the scene":   {car("static.house", 50, 0, .75, 0), math.NaN()},
		"is a thing that moves":  {driven(car("static.prop", 50, 0, .75, 0), mgl64.Vec3{0, 0, 0}), (50 - 2 - front) / 10},
		"is hit":                 {car("walker.a", 20, 0, .75, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, some := metricsAfter(t, boxes(c.other), straight(10), 2)["min_ttc"]
			require.Equal(t, !math.IsNaN(c.want), some, "%v", got)
			if some {
				assert.InDelta(t, c.want, got, 1e-6)
			}
		})
	}
}

// circle is a motion around the origin, to the left.
type circle struct{ radius, speed float64 }

func (c circle) PoseAt(stamp simtime.Stamp) spatial.Pose {
	turn := c.speed / c.radius * float64(stamp) * 1e-9
	pose := spatial.FromRPY(mgl64.Vec3{}, 0, 0, turn*180/math.Pi)
	pose.Position = pose.Rotate(mgl64.Vec3{0, -c.radius, 0})
	return pose
}

// TestDistance in closed form. The way is measured from step to step: on a circle by its chords, which are shorter than
// the arcs by a part in 24 of the square of a step's turn.
func TestDistance(t *testing.T) {
	chords := 2 * 10 * math.Sin(5*.01/(2*10)) * 300
	assert.InDelta(t, chords, metricsAfter(t, boxes(), circle{10, 5}, 3)["ego.distance"], 1e-9)
	assert.InDelta(t, 15, chords, 15*math.Pow(.005, 2)/24*1.001)
	assert.InDelta(t, 30, metricsAfter(t, boxes(), straight(10), 3)["ego.distance"], 1e-9)
	assert.Zero(t, metricsAfter(t, boxes(), nil, 3)["ego.distance"])
}

// TestMetricsDontDependOnSensors: at other instants nothing is measured.
func TestMetricsDontDependOnSensors(t *testing.T) {
	s := boxes(car("vehicle.car", 50, 0, .75, 0))
	want := metricsAfter(t, s, straight(10), 2)
	p := newScriptedIn(t, s, &script{}, pipeline.Config{Ego: straight(10), ClockRate: simtime.Hz(7)})
	hear(t, addScripted(t, p, plainID, "odd", "33.3"), func(sensors.Tick, *sample.Imu) {})
	require.NoError(t, p.Run(t.Context(), 2*time.Second))
	assert.Equal(t, want, p.Summary().Metrics)
}

// swing is a motion along x that turns back.
type swing struct{ reach, seconds float64 }

func (w swing) PoseAt(stamp simtime.Stamp) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{w.reach * (1 - math.Cos(2*math.Pi*float64(stamp)*1e-9/w.seconds)) / 2, 0, 0}, 0, 0, 0)
}

// TestCollisions counts begins of contact: by actor, and again after an end.
func TestCollisions(t *testing.T) {
	for name, c := range map[string]struct {
		ego  scene.Motion
		list []scene.Placement
		want float64
	}{
		"none":                 {straight(10), []scene.Placement{car("vehicle.car", 50, 0, .75, 0)}, 0},
		"one, for a while":     {straight(10), []scene.Placement{car("vehicle.car", 20, 0, .75, 0)}, 1},
		"one that is passed":   {straight(20), []scene.Placement{car("vehicle.car", 20, 0, .75, 0)}, 1},
		"two at once":          {straight(10), []scene.Placement{car("vehicle.a", 20, 1, .75, 0), car("static.b", 20, -1.01, .75, 0)}, 2},
		"two in turn":          {straight(10), []scene.Placement{car("vehicle.a", 10, 0, .75, 0), car("vehicle.b", 19, 0, .75, 0)}, 2},
		"one, three times":     {swing{10, 1}, []scene.Placement{car("vehicle.car", 12, 0, .75, 0)}, 3},
		"one that comes":       {nil, []scene.Placement{driven(car("vehicle.car", 20, 0, .75, 0), mgl64.Vec3{-10, 0, 0})}, 1},
		"one that stays there": {nil, []scene.Placement{car("vehicle.car", 0, 0, .75, 0)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, metricsAfter(t, boxes(c.list...), c.ego, 3)["collisions"])
		})
	}
}

// TestMetricsOfAReset begin again, and are those of the first time.
func TestMetricsOfAReset(t *testing.T) {
	p := newScriptedIn(t, boxes(car("vehicle.car", 20, 0, .75, 0)), &script{with: []*sensors.Definition{cloudDefinition()}}, pipeline.Config{Ego: straight(10)})
	hearClouds(t, p)
	require.NoError(t, p.Run(t.Context(), 2*time.Second))
	want := p.Summary().Metrics
	require.Len(t, want, 4)
	resetTo(t, p, 7)
	assert.Equal(t, map[string]float64{"ego.distance": 0, "collisions": 0}, p.Summary().Metrics)
	require.NoError(t, p.Run(t.Context(), 2*time.Second))
	assert.Equal(t, want, p.Summary().Metrics)
}

// TestJumpsAreNoDistance: neither of the clock nor of a world's vehicle.
func TestJumpsAreNoDistance(t *testing.T) {
	p := newScriptedIn(t, boxes(), &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.SS2, Ego: straight(10)})
	stamps := stampsOf(t, p)
	end := inBackground(t, p)
	goTo := func(to int64) float64 {
		require.NoError(t, p.Clock().Set(to/1e9, uint32(to%1e9)))
		stamps(simtime.Stamp(to))
		return p.Summary().Metrics["ego.distance"]
	}
	goTo(100 * ms)
	way := goTo(200 * ms)
	assert.InDelta(t, way, goTo(50_000*ms), 1e-9)
	assert.InDelta(t, way+1, goTo(50_100*ms), 1e-9)
	end()

	p = stepped(t, 1, &script{})
	for k, x := range []float64{1000, 1001, 1002, 5000, 5001} {
		ego := at(x, 0, 0)
		ego.Jump = x == 1000 || x == 5000
		_, err := p.StepTo(t.Context(), &world.Frame{Until: simtime.Stamp(k+1) * 100e6, Ego: &ego})
		require.NoError(t, err)
	}
	assert.InDelta(t, 3, p.Summary().Metrics["ego.distance"], 1e-9)
}

// TestMetricsOfSpawnedActors: who comes later is met, too.
func TestMetricsOfSpawnedActors(t *testing.T) {
	p := stepped(t, 1, &script{})
	for k := range 10 {
		x := float64(k) + 1
		ego := at(x, 0, 0)
		f := &world.Frame{Until: simtime.Stamp(k+1) * 100e6, Ego: &ego}
		if k == 4 {
			f.Spawn = []world.Spawn{{Name: "a", Model: p.Geometry().Scene.Models[0].TypeID, State: at(12, 0, 0)}}
		}
		_, err := p.StepTo(t.Context(), f)
		require.NoError(t, err)
	}
	got := p.Summary().Metrics
	assert.Equal(t, 1.0, got["collisions"])
	assert.Zero(t, got["min_ttc"])
}

// cloudDefinition is a sensor whose n-th cloud has n points.
func cloudDefinition() *sensors.Definition {
	return &sensors.Definition{
		ID: "sensor.test.cloud", Doc: "clouds", Rate: simtime.Hz(10),
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.PointCloud](sensors.OutputSpec{Name: "points"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			return &clouds{sensors.Reading[sample.PointCloud]{Spec: spec}}, nil
		},
	}
}

type clouds struct {
	sensors.Reading[sample.PointCloud]
}

func (s *clouds) Tick(at sensors.Tick) error {
	s.Message = sample.PointCloud{Header: at.Header("", spatial.Identity()), Points: make([]sample.Point, at.Seq+1)}
	s.Publish(at)
	return nil
}

// hearClouds adds a sensor of clouds with two listeners, who count as one.
func hearClouds(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	s, err := p.AddSensor(sensors.Config{ID: "sensor.test.cloud", Name: "lidar"})
	require.NoError(t, err)
	for range 2 {
		_, err = pipeline.Listen(s, "points", func(sensors.Tick, *sample.PointCloud) {})
		require.NoError(t, err)
	}
}

// TestPointsMean in closed form: clouds of 1 to n points have (n + 1) / 2 in the mean. A sensor without clouds, and
// one that nobody hears, have none.
func TestPointsMean(t *testing.T) {
	p := newScriptedIn(t, boxes(), &script{with: []*sensors.Definition{cloudDefinition()}}, pipeline.Config{})
	hearClouds(t, p)
	hear(t, addScripted(t, p, plainID, "imu", "10"), func(sensors.Tick, *sample.Imu) {})
	_, err := p.AddSensor(sensors.Config{ID: "sensor.test.cloud", Name: "unheard"})
	require.NoError(t, err)
	require.NoError(t, p.Run(t.Context(), 2*time.Second))
	assert.Equal(t, map[string]float64{"ego.distance": 0, "collisions": 0, "sensors.lidar.points_mean": 10.5}, p.Summary().Metrics)
}

// TestMetricsOfARealtimeRun: they are there, and what the run came to.
func TestMetricsOfARealtimeRun(t *testing.T) {
	p := newScriptedIn(t, boxes(), &script{}, pipeline.Config{Mode: pipeline.Realtime, Ego: straight(10)})
	require.NoError(t, p.Run(t.Context(), 50*time.Millisecond))
	assert.InDelta(t, .5, p.Summary().Metrics["ego.distance"], 1e-9)
}

func TestMetricNames(t *testing.T) {
	t.Parallel()
	names, err := pipeline.MetricNames(&rig.Rig{Sensors: []sensors.Config{
		{ID: "sensor.lidar.ray_cast", Name: "roof"}, {ID: "sensor.camera.rgb", Name: "eye"},
	}}, sensorsall.Registry())
	require.NoError(t, err)
	assert.Equal(t, []string{"collisions", "ego.distance", "min_ttc", "sensors.roof.points_mean"}, names)
	_, err = pipeline.MetricNames(&rig.Rig{Sensors: []sensors.Config{{ID: "sensor.nose", Name: "nose"}}}, sensorsall.Registry())
	assert.ErrorIs(t, err, sensors.ErrUnknownSensor)
}
