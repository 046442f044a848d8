//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/window"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// windowedRun is what the windowed run's test runs: a small city, a camera and
// a lidar.
const windowedRun = `
scene: {city: true, triangles: 40000}
sensors:
  - {id: sensor.camera.rgb, name: front, image_size_x: 320, image_size_y: 240, pose: {x: 1.4, z: 1.55}}
  - {id: sensor.lidar.ray_cast, name: lidar, preset: VelodyneVLP16, columns: 180, pose: {x: 0.9, z: 1.9}}
`

// TestWindowedRun has a user pause, step, save pictures and close the window of
// a run that records.
func TestWindowedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	dir := t.TempDir()
	u := &windowUser{Screen: gputest.Display(t), dir: filepath.Join(dir, "out")}
	got, user := withUser(t, func(ctx context.Context) error { return errors.Join(u.use(ctx), u.CloseWindow()) },
		"--gpu", "software", "--config", write(t, dir, "run.yaml", windowedRun), "--bridge", "mcap:drive.mcap?compression=none", "--out", u.dir)
	require.NoError(t, user, got.err)
	endedInOrder(t, got, true)
	assert.Contains(t, got.out, "/front/image_raw")

	checkComplete(t, filepath.Join(u.dir, "drive.mcap"))
}

// withUser runs the program with a window, in real time, while use plays the user before it,
// for five minutes at most. It returns what the run left and the user's error.
func withUser(t *testing.T, use func(context.Context) error, args ...string) (got outcome, user error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := command(t, append([]string{"run", "--window", "--realtime"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Start())
	result := make(chan error, 1)
	go func() {
		err := use(ctx)
		if err != nil {
			_ = cmd.Process.Kill() // nobody will end it
		}
		result <- err
	}()
	got = finish(t, cmd, &out, &errOut)
	if got.code == exitNoOpenGL && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no OpenGL in a window: %s", got.err)
	}
	cancel() // a user whose run has failed waits no longer
	return got, <-result
}

// usualClass is the class of the device that a run takes when it is told none.
func usualClass(t *testing.T) string {
	t.Helper()
	open, err := (&deviceFlags{}).opener()
	require.NoError(t, err)
	thread, err := gpu.Start(open)
	require.NoError(t, err)
	info := thread.Info()
	require.NoError(t, thread.Close())
	return info.Class()
}

// classOf reads a run's summary.
func classOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var s pipeline.Summary
	require.NoError(t, json.Unmarshal(data, &s))
	return s.GPU.Class
}

func TestAWindowNeedsGLX(t *testing.T) {
	gputest.Display(t, "-extension", "GLX")
	o := call(t, "run", "--window")
	assert.Equal(t, exitNoOpenGL, o.code, o.err)
	assert.Contains(t, o.err, "GLX")
	assert.Contains(t, o.err, "--headless")
	assert.Len(t, strings.Split(strings.TrimSpace(o.err), "\n"), 1)
}

// TestARunWhoseDisplayEnds fails, since nobody closed the window, and completes its recording:
// libX11 would end the process.
func TestARunWhoseDisplayEnds(t *testing.T) {
	needsOpenGL(t)
	dir := t.TempDir()
	u := &windowUser{Screen: gputest.Display(t), dir: filepath.Join(dir, "out")}
	sees := func(ctx context.Context) error {
		defer u.End()
		return u.sees(ctx)
	}
	got, user := withUser(t, sees, "--config", write(t, dir, "run.yaml", windowedRun), "--bridge", "mcap:drive.mcap", "--out", u.dir)
	require.NoError(t, user, got.err)
	assert.Contains(t, lastLine(got.err), window.ErrDisplayGone.Error())
	assert.Equal(t, exitFailed, got.code)
	checkComplete(t, filepath.Join(u.dir, "drive.mcap"))
}

// checkComplete reads the end of a recording with messages.
func checkComplete(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	reader, err := mcap.NewReader(f)
	require.NoError(t, err)
	info, err := reader.Info()
	require.NoError(t, err, "the recording is not complete")
	assert.Positive(t, info.Statistics.MessageCount)
}

// windowUser sits before a window. It must be used by one goroutine.
type windowUser struct {
	*gputest.Screen
	dir string // where pictures are saved
}

// sees waits until the window shows a picture.
func (u *windowUser) sees(ctx context.Context) error {
	shown := func() error { _, err := u.Picture(); return err }
	if err := until(ctx, "a window", shown); err != nil {
		return err
	}
	if err := u.MoveMouse(100, 100); err != nil {
		return err
	}
	return until(ctx, "the first picture", func() error { _, err := u.save(); return err })
}

// use is the user's session, up to closing the window.
func (u *windowUser) use(ctx context.Context) error {
	if err := u.sees(ctx); err != nil {
		return err
	}
	if err := u.Type(' '); err != nil {
		return err
	}
	var paused string
	if err := until(ctx, "the saved picture on the screen", func() (err error) {
		if paused, err = u.save(); err != nil {
			return err
		}
		return u.onScreen(paused)
	}); err != nil {
		return err
	}
	// Farther than what was captured before the pause and is yet to arrive.
	return until(ctx, "steps", func() error {
		if err := u.Type('n'); err != nil {
			return err
		}
		stepped, err := u.save()
		if err == nil && stampOf(stepped) < stampOf(paused)+400 {
			err = fmt.Errorf("from %s to %s", paused, stepped)
		}
		return err
	})
}

// stampOf is the time in the name of a saved picture, milliseconds.
func stampOf(path string) int {
	var seconds, millis int
	_, _ = fmt.Sscanf(filepath.Base(path), "front_%d.%d.png", &seconds, &millis) // zero for other names
	return seconds*1000 + millis
}

// newest is the path of the latest picture saved, "" for none.
func (u *windowUser) newest() string {
	found, _ := filepath.Glob(filepath.Join(u.dir, "front_*.png")) // the pattern is good
	newest := ""
	for _, path := range found {
		if newest == "" || stampOf(path) > stampOf(newest) {
			newest = path
		}
	}
	return newest
}

// save presses the key and returns the newest picture. It waits a second for one to be written,
// as a user would: keys that are pressed faster than a busy program takes them are dropped.
func (u *windowUser) save() (path string, err error) {
	pressed := time.Now()
	if err := u.Type('p'); err != nil {
		return "", err
	}
	for time.Since(pressed) < time.Second {
		if path = u.newest(); path != "" {
			if file, err := os.Stat(path); err == nil && file.ModTime().After(pressed) {
				return path, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if path == "" {
		return "", errors.New("no picture was saved")
	}
	return path, nil
}

// onScreen reports whether the screen shows a saved picture, pixel for pixel.
func (u *windowUser) onScreen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	saved, err := png.Decode(f)
	if err != nil {
		return err
	}
	screen, err := u.Picture()
	if err != nil {
		return err
	}
	room := screen.Rect.Size().Sub(saved.Bounds().Size())
	for y := range room.Y + 1 {
		for x := range room.X + 1 {
			if sameAt(screen, image.Pt(x, y), saved) {
				return nil
			}
		}
	}
	return errors.New("the screen doesn't show the picture")
}

// sameAt compares a part of the screen with a picture.
func sameAt(screen *image.RGBA, at image.Point, picture image.Image) bool {
	size := picture.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			c := screen.RGBAAt(at.X+x, at.Y+y)
			r, g, b, _ := picture.At(x, y).RGBA()
			if uint32(c.R) != r>>8 || uint32(c.G) != g>>8 || uint32(c.B) != b>>8 {
				return false
			}
		}
	}
	return true
}

// until asks again and again until there is no error.
func until(ctx context.Context, what string, ask func() error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, err)
		case <-ticker.C:
		}
	}
}

// keysRig is an SVL vehicle that commands and keys may drive.
const keysRig = `[
	{"type": "Vehicle Control", "name": "commands"},
	{"type": "Keyboard Control", "name": "keys"},
	{"type": "Vehicle Odometry", "name": "odometry", "params": {"Topic": "/odometry", "Frequency": 20}}
]`

// TestKeysDriveARigsVehicle holds W in the window of a run whose rig has SVL's
// keyboard.
func TestKeysDriveARigsVehicle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	screen := gputest.Display(t)
	dir := t.TempDir()
	write(t, dir, "rig.json", keysRig)
	config := write(t, dir, "run.yaml", "scene: {city: true, triangles: 40000}\nrig: rig.json")
	holds := func(ctx context.Context) error {
		err := until(ctx, "a window", func() error { _, err := screen.Picture(); return err })
		return errors.Join(err, screen.MoveMouse(100, 100), screen.Hold('w'))
	}
	got, user := withUser(t, holds, "--config", config, "--duration", "2s", "--bridge", "logging:drive", "--out", dir, "--summary", filepath.Join(dir, "run.json"))
	require.NoError(t, user, got.err)
	require.Equal(t, exitDone, got.code, got.err)
	assert.Equal(t, usualClass(t), classOf(t, filepath.Join(dir, "run.json")), "a window asks for no other device")
	assert.NotContains(t, got.err, "it stands until they come", "the keys win")

	speeds := loggedSpeeds(t, filepath.Join(dir, "drive.txt.gz"))
	require.NotEmpty(t, speeds)
	assert.Less(t, speeds[0], 0.5, "it sets off")
	assert.Greater(t, speeds[len(speeds)-1], 0.5)
	assert.IsNonDecreasing(t, speeds)
}

// loggedSpeeds are those of /odometry.
func loggedSpeeds(t *testing.T, path string) (speeds []float64) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for odometry := false; lines.Scan(); odometry = strings.HasSuffix(lines.Text(), " /odometry") {
		if !odometry {
			continue
		}
		var message struct{ Speed float64 }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &message))
		speeds = append(speeds, message.Speed)
	}
	require.NoError(t, lines.Err())
	return speeds
}
