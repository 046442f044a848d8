//go:build cgo

package camera_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func TestCamerasOfOneViewShareAPass(t *testing.T) {
	view := size(48, 32)
	aside := spatial.FromRPY(mgl64.Vec3{0, 1, 1}, 0, 0, 90)
	r := newRig(t, scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGB, forward(1), view},
		mounted{camera.Depth, forward(1), view},
		mounted{camera.Semantic, forward(1), view},
		mounted{camera.Instance, forward(1), view},
		mounted{camera.Normals, forward(1), view},
		mounted{camera.Depth, aside, view},
		mounted{camera.RGB, forward(1), size(48, 32, "exposure_compensation", -1.0)},
		mounted{camera.Depth, forward(1), size(48, 32, "fov", 60)},
	)
	assert.Equal(t, camera.Stats{}, camera.StatsOf(r.shared))
	r.fire(0)
	// Three views; the second colour camera of one has a dispatch of its own.
	assert.Equal(t, camera.Stats{Visibility: 3, Shades: 4, StaticShadows: 1}, camera.StatsOf(r.shared))
	r.fire(second)
	assert.Equal(t, camera.Stats{Visibility: 6, Shades: 8, StaticShadows: 1}, camera.StatsOf(r.shared))
	for i := range r.cameras {
		assert.Len(t, r.messages[i][camera.OutputImage], 2)
	}
	assert.NotEqual(t, r.picture(0).Data, r.picture(6).Data)
	assert.Empty(t, r.drops)
}

func TestACameraWithoutListenersComputesNothing(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGB, forward(1), size(48, 32)}, mounted{camera.Depth, forward(1), size(48, 32)})
	r.deaf[0], r.deaf[1] = true, true
	r.fire(0)
	assert.Zero(t, camera.StatsOf(r.shared).Visibility)
	r.deaf[1] = false
	r.fire(second)
	assert.EqualValues(t, 1, camera.StatsOf(r.shared).Visibility)
	assert.Empty(t, r.messages[0][camera.OutputImage])
	assert.Len(t, r.messages[1][camera.OutputImage], 1)
}

func TestCameraInfoHasTheImagesHeader(t *testing.T) {
	mount := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 10, 20)
	s := scenetest.MovingWall(20, 1)
	ego := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{-3, 1, 0}, 0, 0, 15), Velocity: mgl64.Vec3{1, 0, 0}}
	r := newRig(t, s, ego, mounted{camera.RGB, mount, size(48, 32, "fov", 75, "principal_point", "corner")})
	r.fire(0)
	r.fire(second)
	image, info := r.picture(0), last[*sample.CameraInfo](r, 0, camera.OutputInfo)
	assert.Equal(t, image.Header, info.Header)
	assert.Equal(t, second, image.StampNs)
	assert.EqualValues(t, 1, image.Seq)
	assert.Equal(t, "camera_optical", image.FrameID)
	pose := ego.PoseAt(second).Compose(mount)
	assert.InDeltaSlice(t, pose.Position[:], image.Pose.Position[:], 1e-9, "the header's pose is the sensor's in the map frame")
	var want sample.CameraInfo
	lens(t, 48, 32, 75).Info(camera.CornerOrigin, &want)
	want.Header = info.Header
	assert.Equal(t, &want, info)
}

func TestCalibrationAloneNeedsNoPicture(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 1), nil, mounted{camera.Depth, forward(1), size(48, 32)})
	r.only = camera.OutputInfo
	r.fire(0)
	assert.Zero(t, camera.StatsOf(r.shared).Visibility)
	assert.Len(t, r.messages[0][camera.OutputInfo], 1)
	assert.Empty(t, r.messages[0][camera.OutputImage])
}
