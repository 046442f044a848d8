package groundtruth

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

func build(t *testing.T, s *scene.Scene) *scene.Geometry {
	t.Helper()
	g, err := scene.Build(t.Context(), s, scene.BuildOptions{})
	require.NoError(t, err)
	return g
}

func TestPointsAreSpreadEvenly(t *testing.T) {
	size := mgl64.Vec3{1, 2, 4}
	b := scenetest.NewBuilder("box")
	motion := scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{1, 0, 0}}
	b.Put("car", scenetest.Box(size[0], size[1], size[2]), scenetest.Matte("grey", 0.5, 0.5, 0.5),
		scene.Placement{TypeID: "vehicle.sedan", Motion: motion, Tag: scene.TagCar})
	list := findTargets(build(t, b.Scene)).list
	require.Len(t, list, 1)
	require.Len(t, list[0].points, samplePoints)
	faces := map[mgl64.Vec3][]mgl64.Vec3{}
	for _, p := range list[0].points {
		assert.Equal(t, 1, p.frame)
		n := mgl64.Vec3{math.Round(p.normal[0]), math.Round(p.normal[1]), math.Round(p.normal[2])}
		for axis := range 3 {
			assert.InDelta(t, n[axis], p.normal[axis], 1e-9)
			if n[axis] != 0 {
				assert.InDelta(t, n[axis]*size[axis]/2, p.at[axis], 1e-6, "on the surface, and the normal points out")
			}
		}
		faces[n] = append(faces[n], p.at)
	}
	require.Len(t, faces, 6)
	for n, points := range faces {
		area := size[0] * size[1] * size[2] / math.Abs(size.Dot(n))
		assert.InDelta(t, samplePoints*area/28, len(points), 1.5, "a share by area")
		for axis := range 3 {
			if n[axis] != 0 {
				continue
			}
			// The share below any line across the face is that of its area.
			for edge := -0.5; edge <= 0.5; edge += 0.05 {
				below := 0
				for _, p := range points {
					if p[axis] < edge*size[axis] {
						below++
					}
				}
				assert.InDelta(t, edge+0.5, float64(below)/float64(len(points)), 2.5/float64(len(points)), "face %v", n)
			}
		}
	}
}

func TestTheLargestSurfaceGivesTheTag(t *testing.T) {
	b := scenetest.NewBuilder("tags")
	put := func(typeID string, size float64, tag scene.Tag) *scene.Actor {
		return b.Put(typeID, scenetest.Box(size, size, size), scenetest.Matte("grey", 1, 1, 1), scene.Placement{TypeID: typeID, Tag: tag})
	}
	put("static.tree", 1, scene.TagVegetation)
	rider := put("prop.rider", 1, scene.TagRider)
	rider.Parts = append(rider.Parts, scene.Part{Mesh: rider.Parts[0].Mesh, Local: mgl64.Scale3D(2, 2, 2), Tag: scene.TagBicycle})
	lamp := put("prop.lamp", 2, scene.TagPole)
	lamp.Parts = append(lamp.Parts, scene.Part{Mesh: rider.Parts[0].Mesh, Local: mgl64.Ident4(), Tag: scene.TagCar})
	put("vehicle.bus", 1, scene.TagOther)
	found := findTargets(build(t, b.Scene))
	require.Len(t, found.list, 2, "a pole with a sticker is not a car")
	assert.Equal(t, []uint32{0, 0, 1, 0, 2}, found.places)
	assert.Equal(t, "Bicycle", found.list[0].label)
	assert.Equal(t, scene.TagBicycle, found.list[0].tag)
	assert.Equal(t, "SchoolBus", found.list[1].label)
	assert.Equal(t, scene.TagOther, found.list[1].tag)
}

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		typeID string
		tag    scene.Tag
		label  string
		ok     bool
	}{
		{"vehicle.sedan", scene.TagCar, "Sedan", true},
		{"vehicle.bus", scene.TagBus, "SchoolBus", true},
		{"vehicle.bicycle", scene.TagBicycle, "Bicycle", true},
		{"walker.pedestrian.0003", scene.TagPedestrian, "Pedestrian", true},
		{"vehicle.lincoln.mkz", scene.TagCar, "Sedan", true},
		{"vehicle.spaceship", scene.TagUnlabeled, "Sedan", true},
		{"vehicle.carlamotors.firetruck", scene.TagTruck, "BoxTruck", true},
		{"prop.person", scene.TagPedestrian, "Pedestrian", true},
		{"static.prop", scene.TagBuilding, "", false},
	} {
		label, ok := Label(c.typeID, c.tag)
		assert.Equal(t, c.ok, ok, c.typeID)
		assert.Equal(t, c.label, map[bool]string{true: label}[ok], c.typeID)
	}
}
