package viewer_test

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/window"
)

func key(k window.Key) window.Event { return window.Event{Kind: window.KeyDown, Key: k} }

func shifted(k window.Key) window.Event {
	return window.Event{Kind: window.KeyDown, Key: k, Mods: window.ModShift}
}

func mouse(kind window.EventKind, at image.Point, b window.Button) window.Event {
	return window.Event{Kind: kind, X: float64(at.X), Y: float64(at.Y), Button: b}
}

func TestKeysPauseAndStep(t *testing.T) {
	v, c := newViewer(t, viewer.Options{Step: 20 * time.Millisecond})
	v.Handle(key(' '))
	assert.True(t, c.paused)
	v.Handle(key('N'))
	v.Handle(key(window.KeyRight))
	v.Handle(window.Event{Kind: window.KeyRepeat, Key: 'N'})
	v.Handle(shifted('N'))
	assert.Equal(t, []int64{20e6, 20e6, 20e6, 200e6}, c.steps)
	v.Handle(window.Event{Kind: window.KeyRepeat, Key: ' '})
	assert.True(t, c.paused, "holding the key is one press")
	v.Handle(key(' '))
	assert.False(t, c.paused)
	v.Handle(key('N'))
	assert.True(t, c.paused, "a step of a running clock pauses it")
	assert.Len(t, c.steps, 4)
}

func TestKeysDoNothingBeforeTheRun(t *testing.T) {
	v, c := newViewer(t, viewer.Options{})
	c.now, c.paused = 0, true
	v.Handle(key(' '))
	v.Handle(key('N'))
	assert.True(t, c.paused, "the run starts the clock")
	assert.Empty(t, c.steps)
}

func TestKeysQuit(t *testing.T) {
	for _, k := range []window.Key{'Q', window.KeyEscape} {
		ended := 0
		v, _ := newViewer(t, viewer.Options{Quit: func() { ended++ }})
		v.Handle(key(k))
		assert.Equal(t, 1, ended)
		v.Handle(key('H'))
		v.Handle(key(window.KeyEscape))
		assert.Equal(t, 1, ended, "escape closes the help first")
		v.Handle(key(window.KeyEscape))
		assert.Equal(t, 2, ended)
	}
}

// panes has two cameras and a lidar, shown in a window.
func panes(t *testing.T, o viewer.Options) (*viewer.Viewer, *clock, image.Point) {
	t.Helper()
	v, c := newViewer(t, o)
	for _, name := range []string{"front", "rear"} {
		put, _ := v.AddCamera(viewer.Sensor{Name: name, Topic: "/" + name})
		put(tick(c), colours(640, 480))
	}
	v.AddCloud(viewer.Sensor{Name: "lidar", Topic: "/lidar", Mount: spatial.Identity()})(tick(c), scan(1600))
	c.paused = true
	size := image.Pt(1280, 840)
	v.Compose(size)
	return v, c, size
}

// enlarged names the camera that is shown in its own size.
func enlarged(v *viewer.Viewer, size image.Point) string {
	v.Compose(size)
	for _, name := range []string{"front", "rear"} {
		if _, unscaled := v.PictureBounds(name); unscaled {
			return name
		}
	}
	return ""
}

func TestKeysAndClicksEnlarge(t *testing.T) {
	v, _, size := panes(t, viewer.Options{})
	assert.Equal(t, "front", enlarged(v, size))
	v.Handle(key('C'))
	assert.Equal(t, "rear", enlarged(v, size))
	v.Handle(shifted(window.KeyTab))
	assert.Equal(t, "front", enlarged(v, size))
	for range 4 {
		v.Handle(key(window.KeyTab))
	}
	assert.Equal(t, "front", enlarged(v, size), "once around all panes")

	small, _ := v.PictureBounds("rear")
	at := small.Min.Add(small.Size().Div(2))
	v.Handle(mouse(window.MouseDown, at, window.ButtonLeft))
	v.Handle(mouse(window.MouseMove, at.Add(image.Pt(30, 0)), 0))
	v.Handle(mouse(window.MouseUp, at.Add(image.Pt(30, 0)), window.ButtonLeft))
	assert.Equal(t, "front", enlarged(v, size), "a drag is not a click")
	v.Handle(mouse(window.MouseDown, at, window.ButtonLeft))
	v.Handle(mouse(window.MouseMove, at.Add(image.Pt(2, 1)), 0))
	v.Handle(mouse(window.MouseUp, at.Add(image.Pt(2, 1)), window.ButtonLeft))
	assert.Equal(t, "rear", enlarged(v, size))
	v.Handle(mouse(window.MouseDown, image.Pt(-5, 3), window.ButtonLeft))
	v.Handle(mouse(window.MouseUp, image.Pt(-5, 3), window.ButtonLeft))
	assert.Equal(t, "rear", enlarged(v, size), "a click beside all panes")
}

func TestTheMouseMovesClouds(t *testing.T) {
	v, _, size := panes(t, viewer.Options{})
	camera, _ := v.PictureBounds("front")
	in3D := image.Pt(camera.Max.X+300, camera.Min.Y+200)
	fromAbove := image.Pt(size.X-200, size.Y-150)
	outside := image.Pt(camera.Min.X+5, camera.Min.Y+5)
	for name, at := range map[string]image.Point{"3-D": in3D, "from above": fromAbove} {
		for action, events := range map[string][]window.Event{
			"drag":  {mouse(window.MouseDown, at, 0), mouse(window.MouseMove, at.Add(image.Pt(60, 40)), 0), mouse(window.MouseUp, at.Add(image.Pt(60, 40)), 0)},
			"move":  {mouse(window.MouseDown, at, window.ButtonRight), mouse(window.MouseMove, at.Add(image.Pt(60, 40)), 0), mouse(window.MouseUp, at.Add(image.Pt(60, 40)), window.ButtonRight)},
			"wheel": {{Kind: window.Scroll, X: float64(at.X), Y: float64(at.Y), ScrollY: 2}},
		} {
			t.Run(name+" "+action, func(t *testing.T) {
				v.Handle(mouse(window.MouseMove, outside, 0))
				before := compose(v, size)
				for _, e := range events {
					v.Handle(e)
				}
				v.Handle(mouse(window.MouseMove, outside, 0))
				changed := differing(before, compose(v, size))
				assert.True(t, at.In(changed), "%v changed", changed)
				assert.False(t, changed.Overlaps(camera), "and nothing of the camera: %v", changed)
				v.Handle(key('R'))
				assert.True(t, differing(before, compose(v, size)).Empty(), "r goes back")
			})
		}
	}
}

func TestCloudsChangeColours(t *testing.T) {
	v, _, size := panes(t, viewer.Options{})
	first := compose(v, size)
	for range 2 {
		v.Handle(key('V'))
		assert.False(t, differing(first, compose(v, size)).Empty())
	}
	v.Handle(key('V'))
	assert.True(t, differing(first, compose(v, size)).Empty(), "three kinds of colours")
	v.Handle(shifted('V'))
	v.Handle(key('V'))
	assert.True(t, differing(first, compose(v, size)).Empty())
}

func TestHelpComesAndGoes(t *testing.T) {
	v, _, size := panes(t, viewer.Options{})
	before := compose(v, size)
	v.Handle(key('H'))
	assert.False(t, differing(before, compose(v, size)).Empty())
	v.Handle(key('H'))
	assert.True(t, differing(before, compose(v, size)).Empty())
}

// savedPicture waits for the one picture in a folder.
func savedPicture(t *testing.T, dir string) (name string, picture image.Image) {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found, _ = filepath.Glob(filepath.Join(dir, "*.png"))
		return len(found) > 0
	}, 20*time.Second, 5*time.Millisecond)
	f, err := os.Open(found[0])
	require.NoError(t, err)
	defer f.Close()
	picture, err = png.Decode(f)
	require.NoError(t, err)
	return filepath.Base(found[0]), picture
}

func TestKeysSavePictures(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for name, c := range map[string]struct {
		event window.Event
		file  string
		want  func(v *viewer.Viewer, window *image.RGBA) image.Image
	}{
		"camera": {key('S'), "front_0.000.png", func(v *viewer.Viewer, window *image.RGBA) image.Image {
			bounds, _ := v.PictureBounds("front")
			return window.SubImage(bounds)
		}},
		"window": {shifted('P'), "window_1.000.png", func(_ *viewer.Viewer, window *image.RGBA) image.Image { return window }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made")
			v, _, size := panes(t, viewer.Options{SaveDir: dir})
			want := c.want(v, compose(v, size))
			v.Handle(c.event)
			file, got := savedPicture(t, dir)
			assert.Equal(t, c.file, file)
			require.Equal(t, want.Bounds().Size(), got.Bounds().Size())
			for y := range got.Bounds().Dy() {
				for x := range got.Bounds().Dx() {
					r, g, b, _ := got.At(x, y).RGBA()
					wr, wg, wb, _ := want.At(want.Bounds().Min.X+x, want.Bounds().Min.Y+y).RGBA()
					require.Equal(t, [3]uint32{wr, wg, wb}, [3]uint32{r, g, b}, "(%d, %d)", x, y)
				}
			}
		})
	}
}

func TestNoPictureIsSavedBeforeTheFirst(t *testing.T) {
	dir := t.TempDir()
	v, _ := newViewer(t, viewer.Options{SaveDir: dir})
	v.AddCamera(viewer.Sensor{Name: "front"})
	before := compose(v, image.Pt(640, 480))
	v.Handle(key('S'))
	assert.False(t, differing(before, compose(v, image.Pt(640, 480))).Empty(), "it says so")
	v.Handle(shifted('S'))
	name, _ := savedPicture(t, dir)
	assert.Equal(t, "window_1.000.png", name)
}

func TestAPictureThatCantBeSavedIsSaidSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	v, _, size := panes(t, viewer.Options{SaveDir: file})
	before := compose(v, size)
	v.Handle(key('S'))
	assert.Eventually(t, func() bool { return !differing(before, compose(v, size)).Empty() }, 20*time.Second, 5*time.Millisecond)
}

func TestDrivingTakesItsKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	v, c, size := panes(t, viewer.Options{Drive: func(scene.Command) error { return nil }, SaveDir: dir})
	before := compose(v, size)
	v.Handle(key(window.KeyRight))
	v.Handle(key('S'))
	v.Handle(window.Event{Kind: window.KeyUp, Key: 'S'})
	assert.Empty(t, c.steps, "the right arrow steers")
	assert.True(t, differing(before, compose(v, size)).Empty())
	v.Handle(key('P'))
	name, _ := savedPicture(t, dir)
	assert.Equal(t, "front_0.000.png", name, "s brakes, p saves")
}
