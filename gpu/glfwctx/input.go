//go:build cgo && !nowindow

package glfwctx

import "github.com/go-gl/glfw/v3.3/glfw"

// listen sets the callbacks that GLFW runs on Main's thread, within pump.
func (w *Window) listen() {
	w.win.SetCloseCallback(func(*glfw.Window) { w.once.Do(func() { close(w.closed) }) })
	w.win.SetFramebufferSizeCallback(func(_ *glfw.Window, width, height int) {
		w.setSize(width, height)
		w.inbox.put(Event{Kind: Resize, Width: width, Height: height})
	})
	w.win.SetKeyCallback(func(_ *glfw.Window, key glfw.Key, _ int, action glfw.Action, mods glfw.ModifierKey) {
		if key != glfw.KeyUnknown {
			w.inbox.put(Event{Kind: keyKinds[action], Key: Key(key), Mods: modsOf(mods)})
		}
	})
	w.win.SetMouseButtonCallback(func(_ *glfw.Window, b glfw.MouseButton, action glfw.Action, mods glfw.ModifierKey) {
		x, y := w.cursor(w.win.GetCursorPos())
		w.inbox.put(Event{Kind: buttonKinds[action], Button: Button(b), Mods: modsOf(mods), X: x, Y: y})
	})
	w.win.SetCursorPosCallback(func(_ *glfw.Window, x, y float64) {
		x, y = w.cursor(x, y)
		w.inbox.put(Event{Kind: MouseMove, X: x, Y: y})
	})
	w.win.SetScrollCallback(func(_ *glfw.Window, dx, dy float64) {
		x, y := w.cursor(w.win.GetCursorPos())
		w.inbox.put(Event{Kind: Scroll, X: x, Y: y, ScrollX: dx, ScrollY: dy})
	})
}

var (
	keyKinds    = map[glfw.Action]EventKind{glfw.Press: KeyDown, glfw.Repeat: KeyRepeat, glfw.Release: KeyUp}
	buttonKinds = map[glfw.Action]EventKind{glfw.Press: MouseDown, glfw.Release: MouseUp}
)

func modsOf(m glfw.ModifierKey) Mods {
	var out Mods
	for key, mod := range map[glfw.ModifierKey]Mods{
		glfw.ModShift: ModShift, glfw.ModControl: ModControl, glfw.ModAlt: ModAlt, glfw.ModSuper: ModSuper,
	} {
		if m&key != 0 {
			out |= mod
		}
	}
	return out
}

// cursor turns screen coordinates into pixels, which differ on dense screens.
func (w *Window) cursor(x, y float64) (px, py float64) {
	width, height := w.win.GetSize()
	fw, fh := w.Size()
	if width == 0 || height == 0 {
		return x, y
	}
	return x * float64(fw) / float64(width), y * float64(fh) / float64(height)
}
