package gputest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

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
