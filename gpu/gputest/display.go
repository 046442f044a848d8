package gputest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Display gives a test a virtual screen of its own (Xvfb, with further arguments) and sets
// DISPLAY to it. Where there is no Xvfb the test skips and says so, or fails if
// REQUIRE_GL=1. The test must not be parallel: DISPLAY is the process's.
func Display(t testing.TB, args ...string) *Screen {
	t.Helper()
	number, end, err := startXvfb(t, args...)
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
func startXvfb(t testing.TB, args ...string) (number string, end func(), err error) {
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
	cmd := exec.Command(path, append([]string{"-displayfd", "3", "-screen", "0", "1920x1200x24", "-nolisten", "tcp", "-noreset"}, args...)...)
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

// Leave ends the test's own connection, so that the program is the server's only client.
// The screen's other methods but End can't be used then.
func (s *Screen) Leave() { s.x.conn.Close() }

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

// SetDPI has programs that start from now on take the screen for one of that many dots an
// inch, as desktops tell them.
func (s *Screen) SetDPI(dpi int) error {
	const resourceManager, kindString = 23, 31
	value := fmt.Sprintf("Xft.dpi:\t%d\n", dpi)
	return errors.Join(s.x.send(xChangeProperty, 0, append(words(s.x.root, resourceManager, kindString, 8), text(value)...)), s.x.sync())
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

// x11 is a client of an X server, just large enough to look at a window and to
// act as its user. Requests and replies are those of the X Window System
// Protocol, version 11 ("Protocol Encoding"), and of the XTEST extension 2.2.
type x11 struct {
	conn     net.Conn
	root     uint32
	ids      uint32 // the first that this client may give
	xtest    byte   // the extension's major opcode
	keycodes [2]byte
}

var le = binary.LittleEndian

// Requests by their opcode.
const (
	xCreateWindow        = 1
	xGetWindowAttributes = 3
	xDestroyWindow       = 4
	xMapWindow           = 8
	xConfigureWindow     = 12
	xGetGeometry         = 14
	xQueryTree           = 15
	xInternAtom          = 16
	xChangeProperty      = 18
	xSendEvent           = 25
	xSetInputFocus       = 42
	xGetInputFocus       = 43
	xGetImage            = 73
	xQueryExtension      = 98
	xGetKeyboardMapping  = 101
)

// dialX11 connects to a local display without authorisation.
func dialX11(number string) (*x11, error) {
	conn, err := net.Dial("unix", "/tmp/.X11-unix/X"+number)
	if err != nil {
		return nil, err
	}
	x := &x11{conn: conn}
	if err := x.setUp(); err != nil {
		conn.Close()
		return nil, err
	}
	return x, nil
}

func (x *x11) setUp() error {
	if _, err := x.conn.Write([]byte{'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(x.conn, head[:]); err != nil {
		return err
	}
	body := make([]byte, 4*int(le.Uint16(head[6:])))
	if _, err := io.ReadFull(x.conn, body); err != nil {
		return err
	}
	if head[0] != 1 {
		return fmt.Errorf("x server refused: %s", body)
	}
	x.ids = le.Uint32(body[4:])
	x.keycodes = [2]byte{body[26], body[27]}
	vendor, formats := int(le.Uint16(body[16:])), int(body[21])
	screen := 32 + (vendor+3)/4*4 + 8*formats
	x.root = le.Uint32(body[screen:])
	extension, err := x.ask(xQueryExtension, 0, text("XTEST"))
	if err != nil {
		return err
	}
	if extension[8] == 0 {
		return errors.New("x server has no XTEST extension")
	}
	x.xtest = extension[9]
	return nil
}

// text is a string as requests have it: length, then padded bytes.
func text(s string) []byte {
	b := le.AppendUint32(nil, uint32(len(s)))
	b = append(b, s...)
	return append(b, make([]byte, (4-len(s)%4)%4)...)
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = le.AppendUint32(b, v)
	}
	return b
}

func (x *x11) send(opcode, detail byte, body []byte) error {
	request := append([]byte{opcode, detail, 0, 0}, body...)
	le.PutUint16(request[2:], uint16(len(request)/4))
	_, err := x.conn.Write(request)
	return err
}

// ask sends a request and returns its reply, with the 32 bytes of its head.
// Errors of earlier requests, which have no reply, come out here.
func (x *x11) ask(opcode, detail byte, body []byte) ([]byte, error) {
	if err := x.send(opcode, detail, body); err != nil {
		return nil, err
	}
	for {
		reply := make([]byte, 32)
		if _, err := io.ReadFull(x.conn, reply); err != nil {
			return nil, err
		}
		switch reply[0] {
		case 0:
			return nil, fmt.Errorf("x server: error %d of request %d", reply[1], reply[10])
		case 1:
			more := make([]byte, 4*int(le.Uint32(reply[4:])))
			_, err := io.ReadFull(x.conn, more)
			return append(reply, more...), err
		}
	}
}

// sync waits until the server has handled all requests.
func (x *x11) sync() error {
	_, err := x.ask(xGetInputFocus, 0, nil)
	return err
}

// window finds the one visible window on the screen.
func (x *x11) window() (uint32, error) {
	const viewable = 2
	tree, err := x.ask(xQueryTree, 0, words(x.root))
	if err != nil {
		return 0, err
	}
	for i := range int(le.Uint16(tree[16:])) {
		id := le.Uint32(tree[32+4*i:])
		attributes, err := x.ask(xGetWindowAttributes, 0, words(id))
		if err != nil {
			return 0, err
		}
		if attributes[26] == viewable {
			return id, nil
		}
	}
	return 0, errors.New("no window is on the screen")
}

// fake makes the server believe in an input: XTEST's FakeInput.
func (x *x11) fake(event, detail byte, px, py int) error {
	body := []byte{event, detail, 0, 0}
	body = append(body, words(0, x.root, 0, 0)...)
	body = le.AppendUint16(body, uint16(px))
	body = le.AppendUint16(body, uint16(py))
	return x.send(x.xtest, 2, append(body, make([]byte, 8)...))
}

// keycode finds the key that types a keysym.
func (x *x11) keycode(keysym uint32) (byte, error) {
	first, count := x.keycodes[0], x.keycodes[1]-x.keycodes[0]+1
	table, err := x.ask(xGetKeyboardMapping, 0, []byte{first, count, 0, 0})
	if err != nil {
		return 0, err
	}
	perKey := int(table[1])
	for i := range int(count) {
		if le.Uint32(table[32+4*i*perKey:]) == keysym {
			return first + byte(i), nil
		}
	}
	return 0, fmt.Errorf("the keyboard has no key for keysym %#x", keysym)
}

func (x *x11) atom(name string) (uint32, error) {
	reply, err := x.ask(xInternAtom, 0, text(name))
	if err != nil {
		return 0, err
	}
	return le.Uint32(reply[8:]), nil
}
