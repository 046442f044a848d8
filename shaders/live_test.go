//go:build cgo

package shaders_test

import (
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/shaders"
)

func TestMain(m *testing.M) { gputest.Main(m) }

func TestEveryEntryCompiles(t *testing.T) {
	thread := gputest.Thread(t)
	for _, e := range shaders.All() {
		t.Run(e.Name, func(t *testing.T) { compiles(t, thread, e) })
	}
}

// compiles makes a program of an entry with these constants.
func compiles(t *testing.T, thread *gpu.Thread, e *shaders.Entry, defines ...shaders.Define) {
	t.Helper()
	source, err := shaders.Source(e, defines...)
	if err != nil {
		t.Fatal(err)
	}
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		p, err := c.NewProgram(gpu.ProgramDesc(source))
		if err == nil {
			p.Close()
		}
		return err
	})
}

// TestCameraVariantsCompile compiles what the cameras make of the constants.
func TestCameraVariantsCompile(t *testing.T) {
	thread := gputest.Thread(t)
	compiles(t, thread, &shaders.CameraIDs, shaders.Flag("CUT", true))
	compiles(t, thread, &shaders.CameraShadow, shaders.Flag("CUT", true))
	names := []string{
		"COLOR", "WIDE_COLOR", "LUMINANCE", "DEPTH", "DEPTH_CODES", "DEPTH_GREYS", "TAGS", "TAG_COLORS", "WIDE_TAG_COLORS", "WIDE_TAGS",
		"INSTANCES", "WIDE_INSTANCES", "INSTANCE_CODES", "INSTANCE_COLORS", "NORMALS", "FLOW",
	}
	for lens := range 5 {
		if lens > 0 {
			compiles(t, thread, &shaders.CameraTrace, shaders.Int("LENS", lens))
		}
		compiles(t, thread, &shaders.CameraShade, shaders.Int("LENS", lens), shaders.Flag("GRADED", lens%2 == 1), shaders.Flag("TRACED", lens > 1), shaders.Flag("WEATHER", lens%2 == 0))
		compiles(t, thread, &shaders.CameraSun, shaders.Int("LENS", lens))
	}
	for i := range names {
		defines := []shaders.Define{shaders.Flag("SURFACE_TEXTURES", false), shaders.Flag("EMISSION_TEXTURES", false)}
		for k, name := range names {
			defines = append(defines, shaders.Flag(name, k == i))
		}
		compiles(t, thread, &shaders.CameraShade, defines...)
		if name := names[i]; name == "COLOR" || name == "LUMINANCE" {
			compiles(t, thread, &shaders.CameraShade, append(defines, shaders.Int("GRID", 2))...)
		}
	}
}
