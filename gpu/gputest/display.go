package gputest

import (
	"bufio"
	"errors"
	"image"
	"image/color"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Display gives a test a virtual screen of its own (Xvfb) and sets DISPLAY to
// it. Where there is no Xvfb the test skips and says so, or fails if
// REQUIRE_GL=1. The test must not be parallel: DISPLAY is the process's.
func Display(t testing.TB) *Screen {
	t.Helper()
	number, end, err := startXvfb(t)
	if err != nil {
		if os.Getenv("REQUIRE_GL") == "1" {
			t.Fatalf("no virtual screen, REQUIRE_GL=1: %v", err)
		}
		t.Skipf("no virtual screen: %v", err)
	}
	client, err := dialX11(number)
	if err != nil {
		t.Fatalf("connect to the virtual screen: %v", err)
	}
	t.Cleanup(func() { client.conn.Close() })
	t.Setenv("DISPLAY", ":"+number)
	return &Screen{client, end}
}

// startXvfb runs Xvfb until end is called or the test ends. It picks a free display number
// itself and writes it to a pipe once it takes connections.
func startXvfb(t testing.TB) (number string, end func(), err error) {
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		return "", nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer read.Close()
	// File 3 of the child is ExtraFiles[0].
	cmd := exec.Command(path, "-displayfd", "3", "-screen", "0", "1920x1200x24", "-nolisten", "tcp", "-noreset")
	cmd.ExtraFiles = []*os.File{write}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return "", nil, err
	}
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(end)
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		return "", nil, errors.New("the X server Xvfb ended before it was ready")
	}
	return strings.TrimSpace(line), end, nil
}

// Screen is a virtual screen with the one window of the program under test,
// and its user's hands. Places are pixels from the screen's top-left corner,
// where, without a window manager, the window lies too.
type Screen struct {
	x   *x11
	end func()
}

// End ends the screen's server, as a crash does.
func (s *Screen) End() { s.end() }

// X11's event codes, as XTEST takes them.
const (
	xKeyPress = 2 + iota
	xKeyRelease
	xButtonPress
	xButtonRelease
	xMotion
	xClientMessage = 33
)

// MoveMouse moves the cursor.
func (s *Screen) MoveMouse(x, y int) error {
	return errors.Join(s.x.fake(xMotion, 0, x, y), s.x.sync())
}

// Click presses and releases a mouse button: 1 left, 2 middle, 3 right, 4 and 5
// the wheel away from and towards the user.
func (s *Screen) Click(button int) error {
	return errors.Join(
		s.x.fake(xButtonPress, byte(button), 0, 0), s.x.fake(xButtonRelease, byte(button), 0, 0), s.x.sync())
}

// Type presses and releases the key of a small letter, a digit, a blank or
// escape ('\x1b'). Without a window manager it goes to the window under the
// cursor.
func (s *Screen) Type(key rune) error {
	code, err := s.code(key)
	if err != nil {
		return err
	}
	return errors.Join(s.x.fake(xKeyPress, code, 0, 0), s.x.fake(xKeyRelease, code, 0, 0), s.x.sync())
}

// Hold presses a key that Type knows, and doesn't release it.
func (s *Screen) Hold(key rune) error {
	code, err := s.code(key)
	if err != nil {
		return err
	}
	return errors.Join(s.x.fake(xKeyPress, code, 0, 0), s.x.sync())
}

// code is the number of a key.
func (s *Screen) code(key rune) (byte, error) {
	const keysymEscape = 0xFF1B
	keysym := uint32(key) // Latin-1 characters are their own keysyms
	if key == '\x1b' {
		keysym = keysymEscape
	}
	return s.x.keycode(keysym)
}

// CloseWindow asks the window to close, as its close button does (ICCCM 4.2.8.1).
func (s *Screen) CloseWindow() error {
	window, err := s.x.window()
	if err != nil {
		return err
	}
	protocols, err := s.x.atom("WM_PROTOCOLS")
	if err != nil {
		return err
	}
	deleteWindow, err := s.x.atom("WM_DELETE_WINDOW")
	if err != nil {
		return err
	}
	event := append([]byte{xClientMessage, 32, 0, 0}, words(window, protocols, deleteWindow, 0, 0, 0, 0)...)
	return errors.Join(s.x.send(xSendEvent, 0, append(words(window, 0), event...)), s.x.sync())
}

// Resize changes the window's size, as a window manager does.
func (s *Screen) Resize(width, height int) error {
	window, err := s.x.window()
	if err != nil {
		return err
	}
	const widthAndHeight = 4 | 8
	return errors.Join(s.x.send(xConfigureWindow, 0, words(window, widthAndHeight, uint32(width), uint32(height))), s.x.sync())
}

// Cover lays another window over the screen for a moment.
func (s *Screen) Cover(x, y, width, height int) error {
	const overrideRedirect = 1 << 9 // no window manager's business
	place := words(s.x.ids, s.x.root, uint32(x)|uint32(y)<<16, uint32(width)|uint32(height)<<16, 0, 0, overrideRedirect, 1)
	return errors.Join(
		s.x.send(xCreateWindow, 0, place), s.x.send(xMapWindow, 0, words(s.x.ids)), s.x.sync(),
		s.x.send(xDestroyWindow, 0, words(s.x.ids)), s.x.sync())
}

// Focus gives the keyboard to the window, Unfocus takes it away.
func (s *Screen) Focus() error {
	window, err := s.x.window()
	if err != nil {
		return err
	}
	return s.focus(window)
}

// Unfocus gives the keyboard to nobody.
func (s *Screen) Unfocus() error { return s.focus(0) }

func (s *Screen) focus(window uint32) error {
	const revertToNone, now = 0, 0
	return errors.Join(s.x.send(xSetInputFocus, revertToNone, words(window, now)), s.x.sync())
}

// Picture is what the screen shows of the window.
func (s *Screen) Picture() (*image.RGBA, error) {
	window, err := s.x.window()
	if err != nil {
		return nil, err
	}
	geometry, err := s.x.ask(xGetGeometry, 0, words(window))
	if err != nil {
		return nil, err
	}
	width, height := int(le.Uint16(geometry[16:])), int(le.Uint16(geometry[18:]))
	const zPixmap, allPlanes = 2, 0xFFFFFFFF
	size := uint32(width) | uint32(height)<<16
	reply, err := s.x.ask(xGetImage, zPixmap, words(window, 0, size, allPlanes))
	if err != nil {
		return nil, err
	}
	pixels := reply[32:]
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		blue, green, red := pixels[4*i], pixels[4*i+1], pixels[4*i+2]
		picture.SetRGBA(i%width, i/width, color.RGBA{red, green, blue, 255})
	}
	return picture, nil
}
