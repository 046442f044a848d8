package kitti

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// TestPointsAndLabels reads both files of a cloud back: they have one entry for each return, in the cloud's order.
func TestPointsAndLabels(t *testing.T) {
	miss := float32(math.NaN())
	cloud := &sample.PointCloud{Points: []sample.Point{
		{X: 1, Y: 2, Z: 3, Intensity: 51, Tag: uint8(scene.TagRoads), Instance: 4},
		{X: miss, Y: miss, Z: miss},
		{X: -1, Y: 0.5, Z: 0, Intensity: 255, Tag: uint8(scene.TagCar), Instance: 90_000},
		{X: 5, Y: 6, Z: 7, Tag: uint8(scene.TagPedestrian), Instance: 70_000},
		{X: 5, Y: 6, Z: 8, Tag: uint8(scene.TagCar), Instance: 90_000},
		{X: 5, Y: 6, Z: 9, Tag: 200},
	}}
	var points [5][4]float32
	require.NoError(t, binary.Read(bytes.NewReader(appendPoints(nil, cloud)), binary.LittleEndian, &points))
	assert.Equal(t, [5][4]float32{{1, 2, 3, 0.2}, {-1, 0.5, 0, 1}, {5, 6, 7, 0}, {5, 6, 8, 0}, {5, 6, 9, 0}}, points)
	cloud.UnitIntensity = true
	cloud.Points[0].Intensity = 0.75
	require.NoError(t, binary.Read(bytes.NewReader(appendPoints(nil, cloud)), binary.LittleEndian, &points))
	assert.Equal(t, [4]float32{1, 2, 3, 0.75}, points[0])

	numbers := numbering{}
	objects := []dataset.Object{
		{ID: 70_000, Tag: uint8(scene.TagPedestrian)},
		{ID: 90_000, Tag: uint8(scene.TagCar), Twist: spatial.Twist{Linear: mgl64.Vec3{0, -3, 0}}},
	}
	var labels [5]uint32
	require.NoError(t, binary.Read(bytes.NewReader(numbers.appendLabels(nil, cloud, objects[:1], objects[1:])), binary.LittleEndian, &labels))
	assert.Equal(t, [5]uint32{40, 1<<16 | 252, 2<<16 | 30, 1<<16 | 252, 0}, labels)
}

// TestClassesOfTags names what the format's list has for each tag.
func TestClassesOfTags(t *testing.T) {
	for tag, want := range map[scene.Tag]class{
		scene.TagUnlabeled: {}, scene.TagSky: {}, scene.TagRoads: {40, 40}, scene.TagSidewalks: {48, 48}, scene.TagBuilding: {50, 50},
		scene.TagFence: {51, 51}, scene.TagPole: {80, 80}, scene.TagTrafficSign: {81, 81}, scene.TagVegetation: {70, 70},
		scene.TagTerrain: {72, 72}, scene.TagPedestrian: {30, 254}, scene.TagRider: {31, 253}, scene.TagCar: {10, 252},
		scene.TagTruck: {18, 258}, scene.TagBus: {13, 257}, scene.TagTrain: {16, 256}, scene.TagMotorcycle: {15, 255},
		scene.TagBicycle: {11, 253}, scene.TagRoadLine: {60, 60},
	} {
		assert.Equal(t, want, classOfTag(uint8(tag)), tag)
	}
	assert.Equal(t, class{31, 253}, classOf(&dataset.Object{TypeID: "vehicle.bicycle.tandem", Tag: uint8(scene.TagBicycle)}), "with its rider")
	assert.Equal(t, class{32, 255}, classOf(&dataset.Object{TypeID: "vehicle.motorcycle", Tag: uint8(scene.TagRider)}))
	assert.Equal(t, class{11, 253}, classOf(&dataset.Object{TypeID: "static.bicycle", Tag: uint8(scene.TagBicycle)}))
	assert.Equal(t, class{}, classOfTag(255))
}

// TestNumbersEnd gives 65,535 actors a number, and no more.
func TestNumbersEnd(t *testing.T) {
	numbers := numbering{}
	for actor := range uint32(math.MaxUint16) {
		numbers.of(actor)
	}
	assert.Equal(t, uint16(1), numbers.of(0))
	assert.Equal(t, uint16(math.MaxUint16), numbers.of(math.MaxUint16-1))
	assert.Zero(t, numbers.of(math.MaxUint16))
}
