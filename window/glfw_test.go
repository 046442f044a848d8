//go:build cgo && linux && !nowindow

package window

import (
	"testing"

	"github.com/go-gl/glfw/v3.3/glfw"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestKeys(t *testing.T) {
	for ours, place := range map[Key]glfw.Key{
		KeyEscape: glfw.KeyEscape, KeyEnter: glfw.KeyEnter, KeyTab: glfw.KeyTab, KeyBackspace: glfw.KeyBackspace,
		KeyRight: glfw.KeyRight, KeyLeft: glfw.KeyLeft, KeyDownArrow: glfw.KeyDown, KeyUpArrow: glfw.KeyUp, KeyF11: glfw.KeyF11,
	} {
		assert.Equal(t, ours, keyOf(place, ""))
	}
	for name, c := range map[string]struct {
		place glfw.Key
		types string
		want  Key
	}{
		"american":              {glfw.KeyQ, "q", 'Q'},
		"french":                {glfw.KeyA, "q", 'Q'},
		"a digit":               {glfw.Key1, "1", '1'},
		"another script":        {glfw.KeyQ, "й", 'Q'},
		"a blank, without name": {glfw.KeySpace, "", ' '},
		"of the keypad":         {glfw.KeyKPEnter, "", KeyEnter},
		"none that GLFW knows":  {glfw.KeyUnknown, "", -1},
	} {
		assert.Equal(t, c.want, keyOf(c.place, c.types), name)
	}
	assert.Equal(t, ModShift|ModAlt, modsOf(glfw.ModShift|glfw.ModAlt))
	assert.Equal(t, ModControl|ModSuper, modsOf(glfw.ModControl|glfw.ModSuper|glfw.ModCapsLock))
	for ours, theirs := range map[Button]glfw.MouseButton{
		ButtonLeft: glfw.MouseButtonLeft, ButtonRight: glfw.MouseButtonRight, ButtonMiddle: glfw.MouseButtonMiddle,
	} {
		assert.Equal(t, int(theirs), int(ours))
	}
}

// OnMainThread tells whether a window's calls run on the process's main thread.
func (w *Window) OnMainThread() (on bool) {
	_ = w.do(func() error { // false remains
		on = unix.Gettid() == unix.Getpid()
		return nil
	})
	return on
}
