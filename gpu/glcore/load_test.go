//go:build cgo

package glcore

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
)

// loadsAlone runs a test again in a process of its own, whose table of functions is empty.
// It reports whether this is that process.
func loadsAlone(t *testing.T) bool {
	t.Helper()
	const variable = "RAYBRIDGE_TEST_LOADS"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return false
}

// A driver without one of the functions is told by its name, and another may be tried.
func TestLoadNamesTheFunctionThatIsMissing(t *testing.T) {
	if !loadsAlone(t) {
		return
	}
	var code byte
	without := func(missing string) Loader {
		return func(name string) unsafe.Pointer {
			assert.True(t, strings.HasPrefix(name, "gl") && name != "gl", name)
			if name == missing {
				return nil
			}
			return unsafe.Pointer(&code) // never called
		}
	}
	err := Load(without("glNamedBufferStorage"))
	assert.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "load function glNamedBufferStorage")
	assert.NoError(t, Load(without("")))
}

// However many contexts are opened at once, one fills the table: the functions of the others
// may be running.
func TestLoadFillsTheTableOnce(t *testing.T) {
	if !loadsAlone(t) {
		return
	}
	var code byte
	var mu sync.Mutex
	asked := map[string]int{}
	var openers sync.WaitGroup
	for range 8 {
		openers.Go(func() {
			assert.NoError(t, Load(func(name string) unsafe.Pointer {
				mu.Lock()
				defer mu.Unlock()
				asked[name]++
				return unsafe.Pointer(&code)
			}))
		})
	}
	openers.Wait()
	assert.Equal(t, 1, asked["glGetError"])
}

// A system without libglvnd may have one library for windows and another for the rest.
func TestLoadRefusesAnotherLibrary(t *testing.T) {
	if !loadsAlone(t) {
		return
	}
	var one, other byte
	assert.NoError(t, Load(func(string) unsafe.Pointer { return unsafe.Pointer(&one) }))
	assert.NoError(t, Load(func(string) unsafe.Pointer { return unsafe.Pointer(&one) }))
	err := Load(func(string) unsafe.Pointer { return unsafe.Pointer(&other) })
	assert.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "OpenGL from two libraries")
}

// InitAlone fills the table by go-gl's own loader, which is forwarded. GL thread.
func InitAlone() error {
	if err := gl.Init(); err != nil {
		return errors.Join(errors.New("go-gl's own loader finds no"), err)
	}
	return nil
}

// Names counts OpenGL's own objects that have a name. GL thread.
func Names() (n int) {
	for i := range uint32(1000) {
		for _, there := range []bool{gl.IsBuffer(i), gl.IsTexture(i), gl.IsFramebuffer(i), gl.IsProgram(i), gl.IsQuery(i)} {
			if there {
				n++
			}
		}
	}
	return n
}
