//go:build cgo

package viewer_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/window"
)

// newCity makes a pipeline of a city with a camera and a lidar, both at 10 Hz.
func newCity(t *testing.T, open gpu.Opener) (*pipeline.Pipeline, error) {
	t.Helper()
	s, err := city.Generate(city.Options{Seed: 3, Triangles: 40_000})
	if err != nil {
		return nil, err
	}
	p, err := pipeline.New(t.Context(), pipeline.Config{Scene: s, Open: open, Sensors: all.Registry(), Seed: 3})
	if err != nil {
		return nil, err
	}
	for _, c := range []sensors.Config{
		{ID: "sensor.camera.rgb", Name: "front", Pose: sensors.Pose{X: 1.4, Z: 1.55}, Attributes: map[string]any{"image_size_x": 640, "image_size_y": 480}},
		{ID: "sensor.lidar.ray_cast", Name: "lidar", Pose: sensors.Pose{X: 0.9, Z: 1.9}, Attributes: map[string]any{"preset": "VelodyneVLP16"}},
		{ID: "sensor.other.imu", Name: "imu"},
	} {
		if _, err := p.AddSensor(c); err != nil {
			return nil, errors.Join(err, p.Close(context.Background()))
		}
	}
	return p, nil
}

// steps is how far the pictures compared have gone: two frames of the camera.
const steps = 20

// headlessFrame is the camera's newest image after the steps, without a window.
func headlessFrame(t *testing.T) *sample.Image {
	t.Helper()
	p, err := newCity(t, eglctx.Open(eglctx.Options{Device: os.Getenv("GL_DEVICE")}))
	skipWithout(t, err)
	var frame sample.Image
	_, err = pipeline.Listen(p.Sensors()[0], "image", func(_ sensors.Tick, m *sample.Image) { sample.Copy(&frame, m) })
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), steps))
	require.NoError(t, p.Close(t.Context()))
	require.EqualValues(t, simtime.Stamp(200_000_000), frame.Stamp)
	return &frame
}

// skipWithout skips the test where an error says that OpenGL is missing.
func skipWithout(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
}

// telling is a window that tells when it has shown a picture.
type telling struct {
	*window.Window
	told chan struct{}
}

func (w telling) Show(picture *image.RGBA) error {
	if err := w.Window.Show(picture); err != nil {
		return err
	}
	select {
	case w.told <- struct{}{}:
	default:
	}
	return nil
}

func TestCameraPaneIsTheHeadlessFrame(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	screen := gputest.Display(t)
	want := headlessFrame(t)
	w, err := window.Open(window.Options{Width: 1280, Height: 840})
	require.NoError(t, err)
	defer w.Close()
	p, err := newCity(t, eglctx.Open(eglctx.Options{Device: os.Getenv("GL_DEVICE")}))
	require.NoError(t, err)
	shown, pane, err := photograph(t, p, w, screen)
	require.NoError(t, errors.Join(err, p.Close(context.Background())))

	require.Equal(t, image.Pt(want.Width, want.Height), pane.Size(), "the picture is not shown in its own size")
	sum, contrast := 0, map[byte]bool{}
	for y := range want.Height {
		for x := range want.Width {
			c := shown.RGBAAt(pane.Min.X+x, pane.Min.Y+y)
			for k, v := range []byte{c.R, c.G, c.B} {
				expected := want.Data[y*want.Step+3*x+k]
				sum += max(int(v), int(expected)) - min(int(v), int(expected))
				contrast[expected] = true
			}
		}
	}
	mean := float64(sum) / float64(len(want.Data))
	t.Logf("mean difference %.3f levels", mean)
	assert.Less(t, mean, 2.0)
	assert.Greater(t, len(contrast), 100, "the frame shows nothing that could differ")
}

// photograph steps a pipeline, shows it in the window and returns the screen
// and where the camera's picture should be on it.
func photograph(t *testing.T, p *pipeline.Pipeline, w *window.Window, screen *gputest.Screen) (*image.RGBA, image.Rectangle, error) {
	v, err := viewer.New(viewer.Options{Title: "city", Clock: p.Clock()})
	if err != nil {
		return nil, image.Rectangle{}, err
	}
	if err := errors.Join(v.Watch(p), p.Step(t.Context(), steps)); err != nil {
		return nil, image.Rectangle{}, err
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tells := telling{w, make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- v.Show(ctx, nil, tells) }()
	select {
	case <-tells.told:
	case err := <-ended:
		return nil, image.Rectangle{}, fmt.Errorf("show ended before a picture: %w", err)
	}
	shown, err := screen.Picture()
	stop()
	err = errors.Join(err, <-ended)
	pane, _ := v.PictureBounds("front")
	return shown, pane, err
}
