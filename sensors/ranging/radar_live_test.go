//go:build cgo

package ranging_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// target returns a scene of one box, 4 x 4 x 4 m, whose middle is ahead of the radar
// and moves.
func target(distance float64, velocity mgl64.Vec3, yawRate float64) *scene.Scene {
	b := scenetest.NewBuilder("target")
	start := spatial.Identity()
	start.Position = mgl64.Vec3{distance + 2, 0, 0}
	b.Put("target", scenetest.Box(4, 4, 4), scenetest.Matte("target", 1, 1, 1), scene.Placement{
		TypeID: "vehicle.target", Tag: scene.TagCar,
		Motion: scenetest.Linear{Start: start, Velocity: velocity, YawRate: yawRate},
	})
	return b.Scene
}

func sweep(t *testing.T, o sensortest.Options) (*sample.Radar, *sample.RadarObjects) {
	t.Helper()
	o.GL = gputest.Thread(t)
	if o.Attributes == nil {
		o.Attributes = map[string]any{}
	}
	o.Attributes["points_per_second"] = 20_000
	h := sensortest.New(t, ranging.RadarDefinition, o)
	h.Fire(100_000_000)
	return sensortest.Last[*sample.Radar](h, "detections"), sensortest.Last[*sample.RadarObjects](h, "objects")
}

// TestRadarRadialSpeed holds the speed along the ray against the velocities' difference, in
// float64: receding is positive.
func TestRadarRadialSpeed(t *testing.T) {
	for name, c := range map[string]struct {
		target, ego mgl64.Vec3
	}{
		"receding":          {target: mgl64.Vec3{5, 0, 0}},
		"approaching":       {target: mgl64.Vec3{-7, 0, 0}},
		"crossing":          {target: mgl64.Vec3{0, 4, 0}},
		"the radar follows": {target: mgl64.Vec3{5, 0, 0}, ego: mgl64.Vec3{5, 0, 0}},
		"the radar comes":   {ego: mgl64.Vec3{10, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			m, objects := sweep(t, sensortest.Options{
				Scene: target(30, c.target, 0), Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: c.ego},
			})
			require.Greater(t, len(m.Detections), 20)
			relative := c.target.Sub(c.ego)
			for _, d := range m.Detections {
				direction := mgl64.Vec3{
					math.Cos(float64(d.Altitude)) * math.Cos(float64(d.Azimuth)),
					math.Cos(float64(d.Altitude)) * math.Sin(float64(d.Azimuth)), math.Sin(float64(d.Altitude)),
				}
				assert.InDelta(t, relative.Dot(direction), d.Velocity, 1e-4)
				assert.InDelta(t, 30+0.1*relative[0], direction[0]*float64(d.Depth), 1e-3, "its face")
				assert.Equal(t, uint8(scene.TagCar), d.Tag)
			}
			require.Len(t, objects.Objects, 1)
			o := objects.Objects[0]
			assert.InDeltaSlice(t, relative[:], o.Velocity[:], 1e-6)
			assert.InDelta(t, 32+0.1*relative[0], o.Position[0], 1e-6)
			assert.Equal(t, mgl64.Vec3{4, 4, 4}, o.Size)
			assert.Equal(t, c.target.Len() > 1, o.Moving)
			assert.True(t, o.New)
		})
	}
}

// TestRadarTurningTarget: a point of a turning body has the speed of the turn.
func TestRadarTurningTarget(t *testing.T) {
	const rate = 0.8
	m, _ := sweep(t, sensortest.Options{Scene: target(20, mgl64.Vec3{}, rate)})
	require.NotEmpty(t, m.Detections)
	for _, d := range m.Detections {
		direction := mgl64.Vec3{
			math.Cos(float64(d.Altitude)) * math.Cos(float64(d.Azimuth)),
			math.Cos(float64(d.Altitude)) * math.Sin(float64(d.Azimuth)), math.Sin(float64(d.Altitude)),
		}
		arm := direction.Mul(float64(d.Depth)).Sub(mgl64.Vec3{22, 0, 0})
		assert.InDelta(t, mgl64.Vec3{0, 0, rate}.Cross(arm).Dot(direction), d.Velocity, 1e-3)
	}
}

// TestRadarOnAnotherActor: the rays leave the car that carries the radar, and speeds are
// relative to that car, not to the ego.
func TestRadarOnAnotherActor(t *testing.T) {
	s := target(30, mgl64.Vec3{}, 0)
	b := scenetest.Builder{Scene: s}
	start := spatial.Identity()
	start.Position = mgl64.Vec3{1, 0, 0}
	carrier := b.Put("carrier", scenetest.Box(4, 4, 4), scenetest.Matte("carrier", 1, 1, 1), scene.Placement{
		TypeID: "vehicle.carrier", Tag: scene.TagCar, Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{3, 0, 0}},
	})
	m, objects := sweep(t, sensortest.Options{Scene: s, Owner: carrier.ID})
	require.Greater(t, len(m.Detections), 20)
	for _, d := range m.Detections {
		ahead := math.Cos(float64(d.Altitude)) * math.Cos(float64(d.Azimuth))
		assert.InDelta(t, 30-1.3, float64(d.Depth)*ahead, 1e-3)
		assert.InDelta(t, -3*ahead, d.Velocity, 1e-4)
	}
	require.Len(t, objects.Objects, 1)
	assert.NotEqual(t, carrier.ID, objects.Objects[0].ID)
}

// TestRadarOfWhoWasSpawned: the speeds and the object are those of one that was there from the
// start. The one that takes its slot is another object.
func TestRadarOfWhoWasSpawned(t *testing.T) {
	s := target(30, mgl64.Vec3{-7, 2, 0}, 0)
	want, wantObjects := sweep(t, sensortest.Options{Scene: s})
	spawn := scenetest.Hold(s, "*")
	h := sensortest.New(t, ranging.RadarDefinition, sensortest.Options{
		Scene: s, GL: gputest.Thread(t), Attributes: map[string]any{"points_per_second": 20_000},
	})
	first := spawn(h.Env.History)[0]
	h.Fire(100_000_000)
	assert.Equal(t, want.Detections, sensortest.Last[*sample.Radar](h, "detections").Detections)
	assert.Equal(t, wantObjects.Objects, sensortest.Last[*sample.RadarObjects](h, "objects").Objects)
	require.NoError(t, h.Env.History.Remove(first.ID))
	h.Fire(200_000_000)
	assert.Empty(t, sensortest.Last[*sample.Radar](h, "detections").Detections)
	for range 1 << 16 { // his label is no longer his id
		a, err := h.Env.History.Spawn("*", nil)
		require.NoError(t, err)
		require.NoError(t, h.Env.History.Remove(a.ID))
	}
	second := spawn(h.Env.History)[0]
	h.Fire(300_000_000)
	objects := sensortest.Last[*sample.RadarObjects](h, "objects").Objects
	require.Len(t, objects, 1)
	assert.Equal(t, second.ID, objects[0].ID)
	assert.NotEqual(t, first.ID, objects[0].ID)
	assert.True(t, objects[0].New)
	assert.InDelta(t, 32-7*0.3, objects[0].Position[0], 1e-6)
	assert.InDeltaSlice(t, []float64{-7, 2, 0}, objects[0].Velocity[:], 1e-6)
}

// TestRadarTooManyRays are refused, with what can be done.
func TestRadarTooManyRays(t *testing.T) {
	s := ranging.RadarDefinition.NewSettings()
	require.NoError(t, s.Set("points_per_second", 10_000_000))
	_, err := ranging.RadarDefinition.New(sensors.Spec{Definition: ranging.RadarDefinition, Settings: s, Rate: simtime.Hz(1)})
	require.ErrorIs(t, err, sensors.ErrValue)
	require.ErrorContains(t, err, "makes 10000000 rays a sweep, at most 1048576 are possible")
	_, err = ranging.RadarDefinition.New(sensors.Spec{Definition: ranging.RadarDefinition, Settings: s, Rate: simtime.Hz(20)})
	require.NoError(t, err)
}

// TestRadarConeIsDrawnAsCARLADraws: radii are uniform in the ellipse, and a sweep has the
// rays that fit into its period.
func TestRadarConeIsDrawnAsCARLADraws(t *testing.T) {
	b := scenetest.NewBuilder("wall")
	b.Put("wall", scenetest.Box(1, 400, 400), scenetest.Matte("wall", 1, 1, 1), scenetest.At(50.5, 0, 0, scene.TagWall))
	m, objects := sweep(t, sensortest.Options{Scene: b.Scene, Attributes: map[string]any{"horizontal_fov": 60.0, "vertical_fov": 20.0}})
	assert.Empty(t, objects.Objects, "a wall is not a road user")
	require.Len(t, m.Detections, 2000, "20,000 rays a second for 0.1 s")
	width, height := math.Tan(math.Pi/6), math.Tan(math.Pi/18)
	inner, sum := 0, 0.0
	for _, d := range m.Detections {
		y := math.Tan(float64(d.Azimuth)) / width
		z := math.Tan(float64(d.Altitude)) / math.Cos(float64(d.Azimuth)) / height
		r := math.Hypot(y, z)
		require.LessOrEqual(t, r, 1+1e-4)
		sum += y
		if r < 0.5 {
			inner++
		}
	}
	// Binomial with p = 1/2: six standard deviations of 22 are 134.
	assert.InDelta(t, 1000, inner, 134)
	assert.InDelta(t, 0, sum/2000, 0.06)
}

func TestRadarSeeds(t *testing.T) {
	at := func(seed int) []sample.RadarDetection {
		m, _ := sweep(t, sensortest.Options{Scene: target(30, mgl64.Vec3{}, 0), Seed: 5, Attributes: map[string]any{"noise_seed": seed}})
		return m.Detections
	}
	assert.Equal(t, at(0), at(0))
	assert.Equal(t, at(5), at(0), "0 is the sensor's own seed")
	assert.NotEqual(t, at(6), at(0))
}

// TestRadarInRain: 25 mm/h take 11.4 dB/km at 76.5 GHz (ITU-R P.838-3, 3.7 at 24.125 GHz) one way. An echo from R stays where
// that there and back and the fourth power of R leave as much as the range has without rain. Fog and snow take nothing.
func TestRadarInRain(t *testing.T) {
	for _, c := range []struct {
		weather   weather.State
		frequency float64
		perKm     float64 // dB
	}{
		{weather.State{}, 76.5, 0},
		{weather.State{Visibility: 50, Snow: 10}, 76.5, 0},
		{weather.State{Rain: 25}, 76.5, 11.38},
		{weather.State{Rain: 25}, 24.125, 3.71},
		{weather.State{Rain: 100}, 79, 30.9},
	} {
		farthest := 0.0
		const dry = 200.0
		for r := dry; r > 0 && farthest == 0; r -= 0.5 {
			if left := 40*math.Log10(dry/r) - 2*c.perKm*r/1000; left >= 0 {
				farthest = r
			}
		}
		for offset, want := range map[float64]bool{-1: true, 1: false} {
			b := scenetest.NewBuilder("wall")
			b.Put("wall", scenetest.Box(1, 20, 20), scenetest.Matte("wall", 1, 1, 1), scenetest.At(farthest+offset+0.5, 0, 0, scene.TagWall))
			m, _ := sweep(t, sensortest.Options{Scene: b.Scene, Weather: c.weather, Attributes: map[string]any{
				"range": dry, "horizontal_fov": 3.0, "vertical_fov": 3.0, "frequency": c.frequency,
			}})
			assert.Equal(t, want, len(m.Detections) > 0, "%+v at %v GHz, %v m", c.weather, c.frequency, farthest+offset)
		}
	}
}

// TestRadarDefaults are CARLA's.
func TestRadarDefaults(t *testing.T) {
	o := sensors.DefaultsOf[ranging.Radar]()
	assert.Equal(t, []float64{30, 30, 100}, []float64{o.HorizontalFOV, o.VerticalFOV, o.Range})
	assert.Equal(t, []int64{1500, 0}, []int64{o.PointsPerSecond, int64(o.NoiseSeed)})
}
