package sumo_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// car is one of a town's vehicles or persons.
type car struct {
	id, class, rides                  string
	person                            bool
	x, y, z, angle, slope, speed, top float64
	signals                           int
	color                             [4]byte // red, green, blue and how opaque
	kind                              string
}

// tls is a traffic light, with the states of its links at each step; the last one lasts.
type tls struct {
	id     string
	states []string
}

// town is a SUMO that does what it is told to. It speaks TraCI as
// https://sumo.dlr.de/docs/TraCI has it.
type town struct {
	version  int
	step     float64
	traffic  func(step int) []car
	lights   []tls
	expected func(step int) int
	now      func(step int) float64
	// fault may change the answer to a message, given its last command. False hangs up after it.
	fault func(command byte, step int, answer []byte) ([]byte, bool)

	mu      sync.Mutex
	heard   [][]byte        // guarded by mu: commands without their lengths
	own     map[string]bool // guarded by mu: vehicles that were added
	watched []tls           // guarded by mu: of lights
	steps   int             // guarded by mu
	// guarded by mu: the traffic of the step by id and person, nil where nobody has asked
	listed map[car]car
}

func newTown(traffic func(step int) []car) *town {
	return &town{version: 20, step: 0.1, traffic: traffic, own: map[string]bool{},
		expected: func(int) int { return 1 }}
}

// standing is a town of cars that stand.
func standing(n int) *town {
	cars := make([]car, n)
	for i := range cars {
		cars[i] = car{id: fmt.Sprint("car", i), class: "passenger", x: float64(i), angle: 90, top: 50}
	}
	return newTown(func(int) []car { return cars })
}

// listen serves one client until the test ends.
func (w *town) listen(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = w.serve(conn)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			assert.Fail(t, "the connection is still open")
		}
	})
	return l.Addr().String()
}

func (w *town) serve(conn net.Conn) error {
	defer conn.Close()
	for {
		var head [4]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return err
		}
		var answer []byte
		var last byte
		for len(body) > 0 {
			head, n := 1, int(body[0])
			if n == 0 {
				head, n = 5, int(binary.BigEndian.Uint32(body[1:]))
			}
			last = body[head]
			answer = append(answer, w.obey(body[head:n])...)
			body = body[n:]
		}
		answer = append(be32(len(answer)+4), answer...)
		open := true
		if w.fault != nil {
			answer, open = w.fault(last, w.count(), answer)
		}
		if _, err := conn.Write(answer); err != nil {
			return err
		}
		if !open || last == 0x7F {
			return nil
		}
	}
}

func (w *town) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.steps
}

// commands returns what was heard of one kind.
func (w *town) commands(id byte) (all [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.heard {
		if c[0] == id {
			all = append(all, c)
		}
	}
	return all
}

func be32(n int) []byte         { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func beText(s string) []byte    { return append(be32(len(s)), s...) }
func beFloat(v float64) []byte  { return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)) }
func join(b ...[]byte) []byte   { return slices.Concat(b...) }
func status(id byte) []byte     { return []byte{7, id, 0, 0, 0, 0, 0} }
func double(v float64) []byte   { return append([]byte{0x0B}, beFloat(v)...) }
func typedText(s string) []byte { return append([]byte{0x0C}, beText(s)...) }

// framed puts the length before a command.
func framed(command []byte) []byte {
	if n := len(command) + 1; n < 256 {
		return append([]byte{byte(n)}, command...)
	}
	return join([]byte{0}, be32(len(command)+5), command)
}

func refusal(id byte, words string) []byte {
	return framed(join([]byte{id, 0xFF}, beText(words)))
}

// obey answers one command.
func (w *town) obey(c []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, slices.Clone(c))
	id := c[0]
	switch id {
	case 0x00:
		return join(status(id), framed(join([]byte{0}, be32(w.version), beText("SUMO of the test"))))
	case 0x02:
		w.steps, w.listed = w.steps+1, nil
		results := [][]byte{w.simulation(), w.around(0xA4), w.around(0xAE)}
		for _, l := range w.watched {
			results = append(results, w.light(l))
		}
		return join(status(id), be32(len(results)), join(results...))
	case 0xDB:
		return join(status(id), w.simulation())
	case 0xD2:
		name := string(c[21 : len(c)-2])
		for _, l := range w.lights {
			if l.id == name {
				w.watched = append(w.watched, l)
				return join(status(id), w.light(l))
			}
		}
		return refusal(id, "Traffic light '"+name+"' is not known")
	case 0x89:
		domain := c[1+16+4+int(binary.BigEndian.Uint32(c[17:]))]
		return join(status(id), w.around(domain))
	case 0xA2, 0xA4, 0xA5, 0xAE, 0xA9, 0xAB:
		return w.get(c)
	case 0xC4:
		name := string(c[6 : 6+binary.BigEndian.Uint32(c[2:])])
		here := w.own[name] || slices.ContainsFunc(w.cars(), func(a car) bool { return a.id == name && !a.person })
		switch {
		case c[1] == 0x85 && here:
			return refusal(id, "The vehicle '"+name+"' to add already exists.")
		case c[1] == 0x85:
			w.own[name] = true
		case !here:
			return refusal(id, "Vehicle '"+name+"' is not known")
		}
	}
	return status(id)
}

func (w *town) get(c []byte) []byte {
	id, variable, object := c[0], c[1], string(c[6:])
	var v []byte
	switch {
	case id == 0xA2:
		v = join([]byte{0x0E}, be32(len(w.lights)))
		for _, l := range w.lights {
			v = append(v, beText(l.id)...)
		}
	case id == 0xA9:
		v = join([]byte{0x0E}, be32(2), beText("J1"), beText("J2"))
	case id == 0xA5:
		v = append([]byte{0x11}, map[string][]byte{"painted": {1, 2, 3, 255}, "": {255, 255, 0, 255}}[object]...)
	case id == 0xAB:
		v = double(w.step)
	case variable == 0x44 && w.own[object]:
		v = double(5)
	default:
		if w.listed == nil {
			w.listed = map[car]car{}
			for _, a := range w.cars() {
				w.listed[car{id: a.id, person: a.person}] = a
			}
		}
		a, ok := w.listed[car{id: object, person: id == 0xAE}]
		if !ok {
			return refusal(id, "'"+object+"' is not known")
		}
		v = map[byte][]byte{0x44: double(4.5), 0x4D: double(1.75), 0xBC: double(1.5), 0x41: double(a.top), 0x49: typedText(a.class), 0x45: append([]byte{0x11}, a.color[:]...), 0x4F: typedText(a.kind)}[variable]
	}
	return join(status(id), framed(join([]byte{id + 0x10, variable}, beText(object), v)))
}

// light is what the subscription to one brings.
func (w *town) light(l tls) []byte {
	return framed(join([]byte{0xE2}, beText(l.id), []byte{1, 0x20, 0}, typedText(l.states[min(w.steps, len(l.states)-1)])))
}

func (w *town) cars() []car { return w.traffic(w.steps) }

func (w *town) simulation() []byte {
	now := 7 + float64(w.steps)*w.step
	if w.now != nil {
		now = w.now(w.steps)
	}
	expected := w.expected(w.steps) + len(w.own)
	return framed(join([]byte{0xEB}, beText(""), []byte{2, 0x66, 0}, double(now), []byte{0x7D, 0, 0x09}, be32(expected)))
}

func (w *town) around(domain byte) []byte {
	var all []byte
	n, variables := 0, byte(5)
	for _, a := range w.cars() {
		if a.person != (domain == 0xAE) {
			continue
		}
		n++
		all = append(all, join(beText(a.id), []byte{0x39, 0, 0x03}, beFloat(a.x), beFloat(a.y), beFloat(a.z),
			[]byte{0x43, 0}, double(a.angle), []byte{0x36, 0}, double(a.slope), []byte{0x40, 0}, double(a.speed))...)
		if a.person {
			all = append(all, join([]byte{0xC3, 0}, typedText(a.rides))...)
		} else {
			all = append(all, join([]byte{0x5B, 0, 0x09}, be32(a.signals))...)
		}
	}
	return framed(join([]byte{0x99}, beText("J1"), []byte{domain, variables}, be32(n), all))
}

// TestMain is SUMO's program where the test's program is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "sumo" {
		os.Exit(program(os.Getenv("RAYBRIDGE_TEST_PROGRAM")))
	}
	os.Exit(m.Run())
}

// program behaves as one of the words says.
func program(how string) int {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("Eclipse SUMO sumo Version " + how + "\n Build features: Linux-6.1 x86_64 GNU 12.2.0 Release\n Copyright (C) 2001-2022")
		return 0
	}
	fmt.Fprintln(os.Stderr, "Warning: it is late.")
	port := os.Args[slices.Index(os.Args, "--remote-port")+1]
	switch how {
	case "broken":
		fmt.Fprintln(os.Stderr, "Error: The net is broken\n In file 'x.net.xml'\nQuitting (on error).")
		return 1
	case "deaf":
		time.Sleep(time.Minute)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return 2
	}
	conn, err := l.Accept()
	if err != nil {
		return 2
	}
	w := standing(2)
	w.expected = func(step int) int { return max(0, 3-step) }
	if how == "dies" {
		w.fault = func(_ byte, step int, answer []byte) ([]byte, bool) {
			if step == 2 {
				fmt.Fprintln(os.Stderr, "Answered with error to command 0xa4: Vehicle 'ego' is not known.")
				fmt.Fprintln(os.Stderr, "Error: Vehicle 'car1' has no valid route.")
				os.Exit(3)
			}
			return answer, true
		}
	}
	_ = w.serve(conn)
	if how == "stuck" {
		time.Sleep(time.Minute)
	}
	return 0
}

// asSUMO makes the test's program the one that is found as SUMO's.
func asSUMO(t *testing.T, how string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "sumo")))
	t.Setenv("PATH", dir)
	t.Setenv("RAYBRIDGE_TEST_PROGRAM", how)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector's own second at a program's end
	found, err := exec.LookPath("sumo")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "sumo"), found)
}
