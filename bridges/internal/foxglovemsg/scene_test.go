package foxglovemsg_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

func box(id uint32) sample.Box3D {
	return sample.Box3D{
		ID: id, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1,
		Pose: spatial.Pose{Position: mgl64.Vec3{float64(id), 2, 1}, Orientation: mgl64.QuatIdent()}, Size: mgl64.Vec3{4, 2, 1.5}, Occlusion: 0.25,
	}
}

func TestBoxesInAScene(t *testing.T) {
	got := encoded(t, &sample.Detections3D{Header: header, Boxes: []sample.Box3D{box(7), box(4_294_967_295)}}).(*pb.SceneUpdate)
	require.Len(t, got.Deletions, 1)
	equal(t, &pb.SceneEntityDeletion{Timestamp: stamp, Type: pb.SceneEntityDeletion_ALL}, got.Deletions[0])
	require.Len(t, got.Entities, 2)
	e := got.Entities[0]
	assert.Equal(t, "7", e.Id)
	assert.Equal(t, "4294967295", got.Entities[1].Id)
	assert.Equal(t, "front", e.FrameId)
	equal(t, stamp, e.Timestamp)
	equal(t, &durationpb.Duration{}, e.Lifetime)
	require.Len(t, e.Cubes, 1)
	equal(t, &pb.Vector3{X: 4, Y: 2, Z: 1.5}, e.Cubes[0].Size)
	equal(t, &pb.Pose{Position: &pb.Vector3{X: 7, Y: 2, Z: 1}, Orientation: &pb.Quaternion{W: 1}}, e.Cubes[0].Pose)
	require.Len(t, e.Texts, 1)
	assert.Equal(t, "Sedan", e.Texts[0].Text)
	assert.Greater(t, e.Texts[0].Pose.Position.Z, 1+1.5/2, "above the box")
	equal(t, &pb.KeyValuePair{Key: "type", Value: "vehicle.sedan"}, e.Metadata[0])
	equal(t, &pb.KeyValuePair{Key: "occlusion", Value: "0.25"}, e.Metadata[1])
}

func TestABoxWithoutALabelShowsItsType(t *testing.T) {
	unlabelled := box(7)
	unlabelled.Label = ""
	got := encoded(t, &sample.Detections3D{Header: header, Boxes: []sample.Box3D{unlabelled}}).(*pb.SceneUpdate)
	assert.Equal(t, "vehicle.sedan", got.Entities[0].Texts[0].Text)
}

// The same memory holds a larger update, a smaller one and an empty one, of which
// nothing is left over.
func TestScenesForgetWhatWasBefore(t *testing.T) {
	convert, _ := foxglovemsg.NewConverter(&sample.Detections3D{})
	for _, n := range []int{3, 1, 0, 2} {
		src := &sample.Detections3D{Header: header}
		for i := range n {
			src.Boxes = append(src.Boxes, box(uint32(i+1)))
		}
		m, err := convert(src)
		require.NoError(t, err)
		data, err := m.Append(nil)
		require.NoError(t, err)
		var got pb.SceneUpdate
		require.NoError(t, proto.Unmarshal(data, &got))
		equal(t, encoded(t, src), &got)
		assert.Len(t, got.Entities, n)
	}
}

func TestTrafficLightsShowTheirColour(t *testing.T) {
	got := encoded(t, &sample.Signals{Header: header, Signals: []sample.Signal{
		{ID: 1, Label: "red", State: world.SignalRed, Pose: spatial.Identity()}, {ID: 2, Label: "green", State: world.SignalGreen, Pose: spatial.Identity()},
	}}).(*pb.SceneUpdate)
	red, green := got.Entities[0].Cubes[0].Color, got.Entities[1].Cubes[0].Color
	assert.Greater(t, red.R, red.G)
	assert.Greater(t, green.G, green.R)
}

func TestBoxesOnAPicture(t *testing.T) {
	got := encoded(t, &sample.Detections2D{Header: header, Width: 640, Height: 480, Boxes: []sample.Box2D{
		{ID: 9, Label: "Pedestrian", CenterX: 100, CenterY: 50, Width: 20, Height: 40, Occlusion: 0.5, Truncation: 0.1},
	}}).(*pb.ImageAnnotations)
	equal(t, stamp, got.Timestamp)
	require.Len(t, got.Points, 1)
	assert.Equal(t, pb.PointsAnnotation_LINE_LOOP, got.Points[0].Type)
	var corners [][2]float64
	for _, p := range got.Points[0].Points {
		corners = append(corners, [2]float64{p.X, p.Y})
	}
	assert.Equal(t, [][2]float64{{90, 30}, {110, 30}, {110, 70}, {90, 70}}, corners)
	require.Len(t, got.Points[0].Metadata, 3)
	for i, want := range []*pb.KeyValuePair{{Key: "id", Value: "9"}, {Key: "occlusion", Value: "0.5"}, {Key: "truncation", Value: "0.1"}} {
		equal(t, want, got.Points[0].Metadata[i])
	}
	require.Len(t, got.Texts, 1)
	assert.Equal(t, "Pedestrian", got.Texts[0].Text)
	equal(t, &pb.Point2{X: 90, Y: 30}, got.Texts[0].Position)
}

// In steady state nothing is allocated for a message.
func TestNothingIsAllocated(t *testing.T) {
	for name, src := range map[string]any{
		"PointCloud":      cloud(""),
		"Image":           &sample.Image{Header: header, Width: 640, Height: 480, Step: 1920, Encoding: "rgb8", Data: make([]byte, 1920*480)},
		"CompressedImage": &sample.CompressedImage{Header: header, Format: "jpeg", Data: make([]byte, 1000)},
		"CameraInfo":      &sample.CameraInfo{Header: header, D: make([]float64, 5)},
		"Transforms":      &sample.Transforms{Transforms: make([]sample.Transform, 5)},
		"LaserScan":       &sample.LaserScan{Header: header, Ranges: make([]float32, 720)},
		"GnssFix":         &sample.GnssFix{Header: header},
		"Odometry":        &sample.Odometry{Header: header},
		"Detections3D":    &sample.Detections3D{Header: header, Boxes: []sample.Box3D{box(1), box(2)}},
		"Detections2D":    &sample.Detections2D{Header: header, Boxes: make([]sample.Box2D, 3)},
	} {
		convert, _ := foxglovemsg.NewConverter(src)
		buf := make([]byte, 0, 2<<20)
		var fault error
		allocs := testing.AllocsPerRun(20, func() {
			m, err := convert(src)
			if err == nil {
				_ = m.Size()
				_, err = m.Append(buf)
			}
			if err != nil {
				fault = err
			}
		})
		require.NoError(t, fault, name)
		assert.Zero(t, allocs, name)
	}
}

// contrast is that of two colours in sRGB, as WCAG 2.1 defines it.
func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 {
		sum := 0.05
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			if c[i] <= 0.03928 {
				sum += weight * c[i] / 12.92
			} else {
				sum += weight * math.Pow((c[i]+0.055)/1.055, 2.4)
			}
		}
		return sum
	}
	bright, dark := luminance(a), luminance(b)
	return max(bright, dark) / min(bright, dark)
}

// TestLabelsAreLegible: on black and on white as WCAG asks for text, and on the grounds that
// viewers have; each is of its thing's colour.
func TestLabelsAreLegible(t *testing.T) {
	black, white := [3]float64{}, [3]float64{1, 1, 1}
	dark, light := [3]float64{0.07, 0.07, 0.09}, [3]float64{0.925, 0.925, 0.925}
	var entities []*pb.SceneEntity
	for tag := range uint8(30) {
		b := box(uint32(tag))
		b.Tag = tag
		entities = append(entities, encoded(t, &sample.Detections3D{Header: header, Boxes: []sample.Box3D{b}}).(*pb.SceneUpdate).Entities...)
	}
	for state := world.SignalState(0); state <= world.SignalGreen+1; state++ {
		signals := &sample.Signals{Header: header, Signals: []sample.Signal{{Label: "light", State: state, Pose: spatial.Identity()}}}
		entities = append(entities, encoded(t, signals).(*pb.SceneUpdate).Entities...)
	}
	for _, e := range entities {
		c, cube := e.Texts[0].Color, e.Cubes[0].Color
		text := [3]float64{c.R, c.G, c.B}
		assert.Equal(t, 1.0, c.A)
		assert.GreaterOrEqual(t, contrast(text, black), 4.5, "%v", c)
		assert.GreaterOrEqual(t, contrast(text, white), 4.5, "%v", c)
		assert.GreaterOrEqual(t, contrast(text, dark), 3.5, "%v", c)
		assert.GreaterOrEqual(t, contrast(text, light), 3.5, "%v", c)
		assert.Equal(t, cube.R > cube.B, c.R > c.B, "its hue")
		assert.Equal(t, cube.G > cube.R, c.G > c.R, "its hue")
	}
}
