//go:build cgo

package raybridge_test

import (
	"context"
	"image"
	"image/png"
	"log"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// The picture of a camera on a car in a town, as a file. This is the README's program.
func Example() {
	ctx := context.Background()
	sim, err := raybridge.Open(ctx, raybridge.Config{})
	check(err)
	front, err := sim.Add(camera.RGB{Width: 1280, Height: 720}, "front", raybridge.At(1.5, 0, 1.4))
	check(err)
	_, err = raybridge.Listen(front, func(m *sample.Image) {
		check(raybridge.WritePNG("front.png", m))
	})
	check(err)
	check(sim.Run(ctx, 100*time.Millisecond))
	check(sim.Close(ctx))
	// Output:
}

// root is the folder of the module. The tests run in an empty one, where the example writes
// its picture.
var root string

func TestMain(m *testing.M) { os.Exit(inAFolder(m)) }

func inAFolder(m *testing.M) int {
	var err error
	root, err = os.Getwd()
	check(err)
	folder, err := os.MkdirTemp("", "raybridge-")
	check(err)
	defer os.RemoveAll(folder)
	check(os.Chdir(folder))
	return m.Run()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func TestTheExampleWritesAPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gputest.Thread(t) // skips where there is no OpenGL
	t.Chdir(t.TempDir())
	Example()
	f, err := os.Open("front.png")
	require.NoError(t, err)
	defer f.Close()
	m, err := png.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(1280, 720), m.Bounds().Size())
	seen := map[any]bool{}
	for x := range 1280 {
		seen[m.At(x, 360)] = true
	}
	assert.Greater(t, len(seen), 20, "a street has many colours")
}
