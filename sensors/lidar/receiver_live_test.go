//go:build cgo

package lidar_test

import (
	"image"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// hall is a closed room, so that every ray hits.
func hall() *scene.Scene {
	b := scenetest.NewBuilder("hall")
	b.Put("hall", scenetest.Box(120, 80, 30), scenetest.Matte("tinted", 0.2, 0.5, 0.8), scenetest.At(1, 2, 3, scene.TagBuilding))
	return b.Scene
}

// exact is a scan of the hall that loses nothing: 60,000 rays.
func exact(more map[string]any) sensortest.Options {
	o := sensortest.Options{Scene: hall(), Mount: mast, Seed: 7, Attributes: map[string]any{
		"preset": "uniform", "channels": 50, "columns": 1200, "range": 200, "organized": true, "rolling": false,
		"dropoff_general_rate": 0, "dropoff_zero_intensity": 0,
	}}
	maps.Copy(o.Attributes, more)
	return o
}

// assertShare holds a count of n draws beside its probability, six deviations wide.
func assertShare(t *testing.T, p float64, count, n int, what string) {
	t.Helper()
	assert.InDelta(t, p*float64(n), count, 6*math.Sqrt(p*(1-p)*float64(n))+1e-9, what)
}

func TestUnfiredRaysHaveTheirShare(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, rate := range []float64{0, 0.45, 0.9, 1} {
		m := scan(t, exact(map[string]any{"dropoff_general_rate": rate}), scanPeriod)
		lost, byRing, neighbours := 0, make([]int, 50), 0
		for i := range m.Points {
			if m.Points[i].Return != sample.ReturnUnknown {
				continue
			}
			require.True(t, math.IsNaN(float64(m.Points[i].X)))
			lost++
			byRing[m.Points[i].Ring]++
			if i > 0 && m.Points[i-1].Return == sample.ReturnUnknown {
				neighbours++
			}
		}
		assertShare(t, rate, lost, 60_000, "of all")
		assertShare(t, rate*rate, neighbours, 59_999, "of neighbours, both: draws are independent")
		for ring, n := range byRing {
			assertShare(t, rate, n, 1200, "of ring "+string(rune('0'+ring)))
		}
	}
}

// CARLA keeps a return whose transmission I = exp(-a d) is above the limit, another
// with probability alpha I + beta.
func TestReturnsAreLostByTheirIntensity(t *testing.T) {
	for _, c := range []struct{ attenuation, limit, zero float64 }{
		{0.03, 0.8, 0.4}, {0.1, 0.5, 0.9}, {0.03, 1, 1}, {0.5, 0, 0.4}, {0, 0.8, 0.4}, {1, 0.8, 0.4},
	} {
		attributes := map[string]any{
			"atmosphere_attenuation_rate": c.attenuation, "dropoff_intensity_limit": c.limit, "dropoff_zero_intensity": c.zero,
		}
		whole := scan(t, exact(map[string]any{"atmosphere_attenuation_rate": c.attenuation}), scanPeriod)
		m := scan(t, exact(attributes), scanPeriod)
		s := settings(t, lidar.RayCastDefinition, attributes)
		// The expected count and its variance, ray by ray, in ten classes of probability.
		var kept [11]int
		var mean, variance [11]float64
		for i := range m.Points {
			transmission := math.Exp(-c.attenuation * float64(whole.Points[i].Distance))
			p := 1.0
			if transmission <= c.limit {
				p = 1 - c.zero
				if c.limit > 0 {
					p += c.zero / c.limit * transmission
				}
			}
			require.InDelta(t, p, lidar.KeptShare(s, transmission), 1e-12)
			class := int(10 * p)
			mean[class] += p
			variance[class] += p * (1 - p)
			if m.Points[i].Return != sample.ReturnUnknown {
				kept[class]++
			}
		}
		for class := range kept {
			assert.InDelta(t, mean[class], kept[class], 6*math.Sqrt(variance[class])+1e-6, "%+v, class %d", c, class)
		}
	}
}

// Noise moves points along their rays, and leaves the intensity alone.
func TestNoiseHasItsDeviation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const sigma = 0.05
	clean := scan(t, exact(map[string]any{"intensity": "carla"}), scanPeriod)
	noisy := scan(t, exact(map[string]any{"intensity": "carla", "noise_stddev": sigma}), scanPeriod)
	var sum, square, cube, n float64
	for i := range noisy.Points {
		p, q := &noisy.Points[i], &clean.Points[i]
		e := float64(p.Distance - q.Distance)
		sum, square, cube, n = sum+e, square+e*e, cube+e*e*e, n+1
		require.Equal(t, q.Intensity, p.Intensity)
		ray := mgl64.Vec3{float64(q.X), float64(q.Y), float64(q.Z)}
		moved := mgl64.Vec3{float64(p.X), float64(p.Y), float64(p.Z)}
		require.InDelta(t, float64(p.Distance), moved.Len(), 1e-4)
		require.InDelta(t, 0, moved.Cross(ray).Len()/ray.Len(), 1e-4, "off its ray")
	}
	assert.InDelta(t, 0, sum/n, 5*sigma/math.Sqrt(n))
	assert.InDelta(t, sigma, math.Sqrt(square/n), 5*sigma/math.Sqrt(2*n))
	assert.InDelta(t, 0, cube/n, 5*math.Sqrt(15/n)*sigma*sigma*sigma, "symmetric")
}

func TestSeeds(t *testing.T) {
	draw := func(runSeed uint64, noiseSeed int) []sample.Point {
		o := exact(map[string]any{"dropoff_general_rate": 0.5, "noise_stddev": 0.1, "noise_seed": noiseSeed, "organized": false})
		o.Seed = runSeed
		return scan(t, o, scanPeriod).Points
	}
	assert.Equal(t, draw(7, 0), draw(7, 0))
	assert.NotEqual(t, draw(7, 0), draw(8, 0))
	assert.NotEqual(t, draw(7, 0), draw(7, 3))
	assert.Equal(t, draw(7, 3), draw(8, 3), "a noise_seed replaces the run's")
	h := sensortest.New(t, lidar.RayCastDefinition, vlp16(t, exact(map[string]any{"dropoff_general_rate": 0.5, "organized": false})))
	h.Fire(scanPeriod)
	h.Fire(2 * scanPeriod)
	both := h.Messages["points"]
	assert.NotEqual(t, both[0].(*sample.PointCloud).Points, both[1].(*sample.PointCloud).Points, "each scan has draws of its own")
}

func TestIntensityScales(t *testing.T) {
	const attenuation = 0.01
	for scale, want := range map[string]func(p *sample.Point) float64{
		"carla": func(p *sample.Point) float64 { return math.Exp(-attenuation * float64(p.Distance)) },
		"svl":   func(*sample.Point) float64 { return (0.2 + 0.5 + 0.8) / 3 },
		"surface": func(p *sample.Point) float64 {
			luminance := 0.2126*0.2 + 0.7152*0.5 + 0.0722*0.8
			return 100 * luminance * float64(p.CosIncidence) * math.Exp(-attenuation*float64(p.Distance))
		},
	} {
		m := scan(t, exact(map[string]any{"intensity": scale, "atmosphere_attenuation_rate": attenuation}), scanPeriod)
		assert.Equal(t, scale != "surface", m.UnitIntensity)
		for i := range m.Points {
			require.InEpsilon(t, want(&m.Points[i]), m.Points[i].Intensity, 1e-4, "%s ray %d", scale, i)
		}
	}
}

// A retroreflector sends back 101 to 255, whatever the angle, others 100 at most. Both have
// the reflectance that their material states, or else the luminance of its colour.
func TestRetroreflectorsShineAtAnyAngle(t *testing.T) {
	const attenuation, luminance = 0.01, 0.2126*0.2 + 0.7152*0.5 + 0.0722*0.8
	for _, c := range []struct {
		retro             bool
		stated, effective float64
	}{{true, -1, luminance}, {true, 0.9, 0.9}, {true, 0, 0}, {true, 3, 1}, {false, -1, luminance}, {false, 0.9, 0.9}} {
		b := scenetest.NewBuilder("hall")
		material := scenetest.Matte("sign", 0.2, 0.5, 0.8)
		material.Retro, material.Reflectance = c.retro, float32(c.stated)
		b.Put("hall", scenetest.Box(120, 80, 30), material, scenetest.At(1, 2, 3, scene.TagTrafficSign))
		o := exact(map[string]any{"atmosphere_attenuation_rate": attenuation})
		o.Scene = b.Scene
		slanting := 0
		for i, p := range scan(t, o, scanPeriod).Points {
			transmission := math.Exp(-attenuation * float64(p.Distance))
			want := 100 * c.effective * float64(p.CosIncidence) * transmission
			if c.retro {
				want = 101 + 154*c.effective*transmission
			}
			require.InDelta(t, want, p.Intensity, 1e-4*(1+want), "%+v, ray %d", c, i)
			if p.CosIncidence < 0.5 {
				slanting++
			}
		}
		assert.Positive(t, slanting)
	}
}

// SVL takes the metallic value where the material has a picture of it.
func TestSVLIntensityOfMetal(t *testing.T) {
	b := scenetest.NewBuilder("hall")
	metal := scene.Texture{Name: "metal", Image: image.NewNRGBA(image.Rect(0, 0, 4, 4))}
	for i := range 16 {
		copy(metal.Image.Pix[4*i:], []byte{0, 255, 51, 255}) // metallic 0.2
	}
	material := scenetest.Matte("painted", 0.9, 0.9, 0.9)
	material.Metallic, material.MetalRoughTexture = 1, 0
	mesh := scenetest.Box(20, 20, 20)
	mesh.Groups = []scene.Group{{Count: len(mesh.Indices)}}
	_, err := b.Scene.Add(&scene.Asset{
		Name: "hall", Materials: []scene.Material{material}, Meshes: []scene.Mesh{mesh}, Textures: []scene.Texture{metal},
		Nodes: []scene.Node{{Name: "hall", Parent: -1, Local: scene.IdentityTRS()}},
	}, scenetest.At(0, 0, 0, scene.TagBuilding))
	require.NoError(t, err)
	o := exact(map[string]any{"intensity": "svl"})
	o.Scene = b.Scene
	for _, p := range scan(t, o, scanPeriod).Points {
		require.InDelta(t, 0.2, p.Intensity, 1e-3)
	}
}

// A surface within the minimum range hides what is behind it (REP-117: -Inf).
func TestTooNearIsMinusInfinity(t *testing.T) {
	m := scan(t, exact(map[string]any{"range_min": 42.5, "range": 60}), scanPeriod)
	whole := scan(t, exact(nil), scanPeriod)
	near, far, returns := 0, 0, 0
	for i := range m.Points {
		d := float64(whole.Points[i].Distance)
		got := float64(m.Points[i].Distance)
		switch {
		case d < 42.5:
			near++
			require.True(t, math.IsInf(got, -1), "%v reads %v", d, got)
			require.EqualValues(t, sample.ReturnUnknown, m.Points[i].Return)
		case d >= 60:
			far++
			require.True(t, math.IsInf(got, 1), "%v reads %v", d, got)
		default:
			returns++
			require.Equal(t, d, got)
		}
	}
	assert.Positive(t, near*far*returns)
}

// Compensated points of a scan while driving lie on the walls as seen from the pose
// at the stamp.
func TestCompensatedScan(t *testing.T) {
	o := sensortest.Options{
		Scene: hall(), Mount: mast, Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{15, 3, 0}, YawRate: 0.8},
		Attributes: map[string]any{"organized": true},
	}
	for _, compensated := range []bool{false, true} {
		o.Attributes["compensated"] = compensated
		h := sensortest.New(t, lidar.RayCastDefinition, vlp16(t, o))
		h.Fire(2 * scanPeriod)
		m := sensortest.Last[*sample.PointCloud](h, "points")
		tracer := scenetest.NewTracer(o.Scene, h.Env.History.Pose)
		d, _ := lidar.Preset("VelodyneVLP16")
		moved := 0.0
		for i, r := range d.Rays(scanPeriod) {
			at := m.Stamp + simtime.Stamp(r.TimeNs)
			pose := h.Env.Pose(o.Mount, at)
			hit, ok := tracer.Trace(pose.Apply(r.Origin), pose.Rotate(r.Direction), 0, 100, at)
			if !ok || m.Points[i].Return == sample.ReturnUnknown {
				continue
			}
			point := pose.Apply(r.Origin).Add(pose.Rotate(r.Direction).Mul(hit.T))
			local := h.Env.Pose(o.Mount, at).Inverse().Apply(point)
			start := m.Pose.Inverse().Apply(point)
			moved = max(moved, start.Sub(local).Len())
			want := local
			if compensated {
				want = start
			}
			for k, got := range [3]float32{m.Points[i].X, m.Points[i].Y, m.Points[i].Z} {
				require.InDelta(t, want[k], got, 4e-3, "ray %d axis %d", i, k)
			}
		}
		assert.Greater(t, moved, 1.0, "the two frames differ by metres")
	}
}

// The cosine is that of the plane's formula, object and tag those of the scene.
func TestSemanticPlaneIsExact(t *testing.T) {
	s := ground()
	m := scanOf(t, lidar.RayCastSemanticDefinition, sensortest.Options{Scene: s, Mount: mast}, scanPeriod)
	d, _ := lidar.Preset("VelodyneVLP16")
	rays := d.Rays(scanPeriod)
	assert.Equal(t, sample.LayoutCARLASemantic, m.Layout)
	require.Greater(t, len(m.Points), 10_000)
	for i := range m.Points {
		p := &m.Points[i]
		require.InDelta(t, -rays[p.Ray].Direction[2], p.CosIncidence, 1e-6)
		require.EqualValues(t, s.Actors[0].ID, p.Instance)
		require.EqualValues(t, scene.TagRoads, p.Tag)
		require.Zero(t, p.Intensity)
	}
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(30, 20, 8), scenetest.Matte("white", 0.7, 0.8, 0.9), scenetest.At(1, 2, 3, scene.TagBuilding))
	shape := map[string]any{
		"preset": "VelodyneVLP32C", "channels": 16, "columns": 90, "upper_fov": 20, "lower_fov": -20, "horizontal_fov": 90,
		"points_per_second": 28_000, "rotation_frequency": 20, "elevations": []float64{-10, 0, 5}, "forward_angle": 30,
		"range": 10, "range_min": 12, "rolling": false, "compensated": true, "layout": "xyzi", "organized": true,
	}
	receiver := map[string]any{
		"atmosphere_attenuation_rate": 0.05, "noise_stddev": 0.1, "noise_seed": 5, "intensity": "svl",
		"dropoff_general_rate": 0.2, "dropoff_intensity_limit": 0.1, "dropoff_zero_intensity": 0.9,
		"return_codes": "nebula",
	}
	maps.Copy(receiver, shape)
	for d, changed := range map[*sensors.Definition]map[string]any{lidar.RayCastDefinition: receiver, lidar.RayCastSemanticDefinition: shape} {
		t.Run(d.ID, func(t *testing.T) {
			o := vlp16(t, sensortest.Options{Scene: b.Scene, Mount: mast})
			o.Attributes = map[string]any{"preset": "uniform", "range": 50}
			if d == lidar.RayCastDefinition {
				o.Attributes["atmosphere_attenuation_rate"] = 0.1 // so that the walls are dim enough to be lost
			}
			unfelt := map[string]string{"wetness": "only by range_corrected: TestRadiometryConforms"}
			if d == lidar.RayCastSemanticDefinition { // without an intensity
				unfelt["rain"], unfelt["snow"] = "the walls are near", "the walls are near"
			}
			const elsewhere = "TestAFiringTableGivesWhatItsDeviceGives"
			sensortest.Run(t, d, sensortest.Suite{
				Options: o, Changed: changed, Unfelt: unfelt, Unchanging: withRadiometry(map[string]string{"firing_table": elsewhere, "firing_period": elsewhere}),
			})
		})
	}
	t.Run(lidar.LaserScanID, func(t *testing.T) {
		o := vlp16(t, sensortest.Options{Scene: b.Scene, Mount: mast})
		o.Attributes = map[string]any{"noise_stddev": 0.01}
		sensortest.Run(t, lidar.LaserScanDefinition, sensortest.Suite{Options: o, Changed: map[string]any{
			"center_angle": 5, "range_min": 11, "range": 12, "measurements_per_rotation": 360, "forward_angle": 45, "horizontal_fov": 90,
			"rolling": false, "intensity": "svl", "atmosphere_attenuation_rate": 0.1, "noise_stddev": 0.1, "noise_seed": 5,
		}})
	})
}

// Colours of vertices dim what a surface sends back, as they dim what a camera sees.
func TestVertexColorsDimTheReturn(t *testing.T) {
	b := scenetest.NewBuilder("hall")
	hall := scenetest.Box(120, 80, 30)
	hall.Colors = slices.Repeat([]mgl32.Vec4{{0.25, 0.5, 1, 1}}, len(hall.Positions))
	b.Put("hall", hall, scenetest.Matte("paint", 0.8, 0.6, 0.4), scenetest.At(1, 2, 3, scene.TagBuilding))
	for scale, want := range map[string]func(p *sample.Point) float64{
		"svl": func(*sample.Point) float64 { return (0.2 + 0.3 + 0.4) / 3 },
		"surface": func(p *sample.Point) float64 {
			return 100 * (0.2126*0.2 + 0.7152*0.3 + 0.0722*0.4) * float64(p.CosIncidence)
		},
	} {
		o := exact(map[string]any{"intensity": scale, "atmosphere_attenuation_rate": 0.0})
		o.Scene = b.Scene
		points := scan(t, o, scanPeriod).Points
		require.NotEmpty(t, points)
		for i := range points {
			require.InEpsilon(t, want(&points[i]), points[i].Intensity, 5e-3, "%s, ray %d", scale, i)
		}
	}
}

// An actor's paint sends back what its own colour does, whatever reflectance its material has.
func TestPaintReturnsByItsColour(t *testing.T) {
	for scale, want := range map[string][2]float64{ // without paint and with
		"svl":     {0.25, (1 + 0.2159 + 0) / 3}, // sRGB 128 is 0.2159 in linear light
		"surface": {90, 100 * (0.2126 + 0.7152*0.2159)},
	} {
		b := scenetest.NewBuilder("paint")
		b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -20, scene.TagRoads))
		body := scenetest.Matte("body", 0.25, 0.25, 0.25)
		body.Paint, body.Reflectance = true, 0.9
		room := b.Put("room", scenetest.Box(10, 10, 10), body, scene.Placement{TypeID: "room", Tag: scene.TagWall, Reserved: true})
		b.Scene.Slots = 2
		h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t),
			Attributes: map[string]any{"noise_stddev": 0.0, "intensity": scale, "atmosphere_attenuation_rate": 0.0}})
		for i, paint := range []*[3]uint8{nil, {255, 128, 0}} {
			a, err := h.Env.History.SpawnActor(room, scene.Actor{Paint: paint}, scene.Standing(spatial.Identity()))
			require.NoError(t, err)
			h.Fire(simtime.Stamp(i*2+1) * scanPeriod)
			h.Fire(simtime.Stamp(i*2+2) * scanPeriod)
			points := sensortest.Last[*sample.PointCloud](h, "points").Points
			require.NotEmpty(t, points)
			for k := range points {
				p := &points[k]
				require.Equal(t, a.ID, p.Instance)
				cosine := 1.0
				if scale == "surface" {
					cosine = float64(p.CosIncidence)
				}
				require.InEpsilon(t, want[i]*cosine, p.Intensity, 1e-3, "%s, ray %d", scale, k)
			}
			require.NoError(t, h.Env.History.Remove(a.ID))
		}
	}
}
