package city_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

// scan is what one turn of a VLP-16 sees: 16 rings from -15 to 15 degrees,
// 1800 azimuths, 1.9 m above the ego's base_link.
type scan struct {
	rays      int
	ranges    []float64 // of those that hit within 100 m, ascending
	instances map[uint32]bool
	tags      map[scene.Tag]bool
}

func scanFromEgo(s *scene.Scene) scan {
	const reach = 100
	tracer := scenetest.NewTracer(frozen(s), nil)
	sensor := s.Ego.Compose(spatial.FromRPY(mgl64.Vec3{0, 0, 1.9}, 0, 0, 0))
	out := scan{instances: map[uint32]bool{}, tags: map[scene.Tag]bool{}}
	for ring := range 16 {
		elevation := mgl64.DegToRad(float64(2*ring - 15))
		for column := range 1800 {
			azimuth := 2 * math.Pi * float64(column) / 1800
			d := mgl64.Vec3{math.Cos(elevation) * math.Cos(azimuth), math.Cos(elevation) * math.Sin(azimuth), math.Sin(elevation)}
			out.rays++
			if hit, ok := tracer.Trace(sensor.Position, sensor.Rotate(d), 0, reach, 0); ok {
				out.ranges = append(out.ranges, hit.T)
				out.instances[hit.Actor.ID] = true
				out.tags[hit.Tag()] = true
			}
		}
	}
	slices.Sort(out.ranges)
	return out
}

// frozen returns the scene as it stands at time 0, nothing moving: the tracer
// finds hits on standing actors faster.
func frozen(s *scene.Scene) *scene.Scene {
	out := *s
	out.Actors = nil
	for _, a := range s.Actors {
		still := *a
		if a.Motion != nil {
			still.Pose, still.Motion = a.Motion.PoseAt(0), nil
		}
		still.Parts = slices.Clone(a.Parts)
		for i := range still.Parts {
			if p := &still.Parts[i]; p.Joints != nil {
				p.Local, p.Joints = p.Joints(0), nil
			}
		}
		out.Actors = append(out.Actors, &still)
	}
	return &out
}

func TestSceneIsHonest(t *testing.T) {
	for seed := range uint64(2) {
		got := scanFromEgo(town(t, city.Options{Seed: seed}))
		share, median := float64(len(got.ranges))/float64(got.rays), got.ranges[len(got.ranges)/2]
		t.Logf("seed %d: %.1f %% of rays hit, %d instances, %d tags, median %.1f m", seed, 100*share, len(got.instances), len(got.tags), median)
		assert.GreaterOrEqual(t, share, 0.6)
		assert.GreaterOrEqual(t, len(got.instances), 150)
		assert.GreaterOrEqual(t, len(got.tags), 8)
		assert.InDelta(t, 24, median, 16)
	}
}

func TestMostTrianglesAreThings(t *testing.T) {
	stats := town(t, city.Options{}).Stats()
	things := 0
	for _, tag := range stats.Tags {
		switch tag.Tag {
		case scene.TagBuilding, scene.TagVegetation, scene.TagPole, scene.TagCar, scene.TagTruck, scene.TagBus,
			scene.TagMotorcycle, scene.TagBicycle:
			things += tag.Triangles
		}
	}
	assert.GreaterOrEqual(t, float64(things)/float64(stats.Triangles), 0.6)
}

func TestMoversByDefault(t *testing.T) {
	cars, walkers := 0, 0
	for _, a := range town(t, city.Options{}).Actors {
		if a.Motion == nil {
			continue
		}
		assert.Greater(t, a.Motion.PoseAt(2e9).Position.Sub(a.Motion.PoseAt(0).Position).Len(), 1.0, a.Name)
		if a.Parts[0].Tag == scene.TagPedestrian {
			walkers++
		} else {
			cars++
		}
	}
	assert.Equal(t, 20, cars)
	assert.Equal(t, 20, walkers)
}
