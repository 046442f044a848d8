package stream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// stepper is a world of one sensor that has data every nanosecond.
type stepper struct {
	mu      sync.Mutex
	now     simtime.Stamp
	frames  []world.Frame
	publish func(stamp simtime.Stamp)
}

func (s *stepper) Now() simtime.Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stepper) StepTo(_ context.Context, f *world.Frame) (world.StepResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Until <= s.now {
		return world.StepResult{}, fmt.Errorf("step to %d ns: %w", f.Until, world.ErrTime)
	}
	s.frames = append(s.frames, *f)
	for s.now < f.Until {
		s.now++
		if s.publish != nil {
			s.publish(s.now)
		}
	}
	return world.StepResult{Stamp: s.now, Frame: uint64(len(s.frames))}, nil
}

// Reset takes the time back to 0; the frame number is the seed's.
func (s *stepper) Reset(_ context.Context, seed uint64) (world.StepResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seed == 0 {
		return world.StepResult{}, fmt.Errorf("reset: %w", world.ErrMode)
	}
	s.now = 0
	return world.StepResult{Frame: seed}, nil
}

// siteMemory is what clients of a site may share, bytes.
const siteMemory = 64 << 20

// site is a port behind a listener that answers an upgrade.
type site struct {
	memory  *memory.Budget // siteMemory
	port    *stream.Port
	bridge  *bridges.Bridge
	stepper *stepper
	address string
}

// newSite serves on a network's address. The stream /speed has a message for each nanosecond.
func newSite(t testing.TB, network, address string) *site {
	t.Helper()
	noGoroutines(t)
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	s := &site{memory: memory.New(siteMemory), stepper: &stepper{}, address: "http://" + listener.Addr().String()}
	s.port = stream.NewPort(listener.Addr(), s.memory)
	if network == "unix" {
		s.address = "unix:" + address
	}
	registry, err := bridges.NewRegistry(s.port)
	require.NoError(t, err)
	b, err := registry.Open(stream.PortName+":", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	s.bridge = b
	publish, err := bridges.AddPublisher[*sample.Speed](b, bridges.Topic{Name: "/speed"})
	require.NoError(t, err)
	s.stepper.publish = func(stamp simtime.Stamp) {
		if err := publish(context.Background(), speed(int(stamp))); b.Listening("/speed") {
			assert.NoError(t, err)
		}
	}
	s.port.Drive(s.stepper)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil && request.Header.Get("Upgrade") == stream.Upgrade && request.URL.Path == stream.UpgradePath {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n")
				s.port.Serve(conn)
				continue
			}
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		accepting.Wait()
		assert.NoError(t, b.Close(context.Background()))
	})
	return s
}

func (s *site) dial(t testing.TB) *stream.Client {
	t.Helper()
	c, err := stream.Dial(t.Context(), s.address, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// The answer to a step comes behind the step's data, more of it than a queue holds.
func TestStepOverTheWire(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "api")} {
		t.Run(network, func(t *testing.T) {
			s := newSite(t, network, address)
			c := s.dial(t)
			var mu sync.Mutex
			received := 0
			require.NoError(t, c.Listen(t.Context(), "/speed", func(d *stream.Data) {
				mu.Lock()
				defer mu.Unlock()
				if received++; received > 1000 {
					return
				}
				assert.Equal(t, simtime.Stamp(received), d.Stamp())
				assert.Zero(t, d.Missed)
			}))
			frame := placesFrame()
			frame.Until = 1000
			r, err := c.Step(t.Context(), frame)
			require.NoError(t, err)
			assert.Equal(t, simtime.Stamp(1000), r.Stamp)
			assert.Eventually(t, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return received == 1000
			}, limit, time.Millisecond, "nothing is dropped")
			assert.Equal(t, frame.Actors, s.stepper.frames[0].Actors)
			assert.True(t, s.port.Owned())

			_, err = c.Step(t.Context(), &world.Frame{Until: 5})
			assert.ErrorIs(t, err, world.ErrTime)
			assert.True(t, s.port.Owned(), "an error of the owner changes nothing")

			r, err = c.Reset(t.Context(), math.MaxUint64)
			require.NoError(t, err)
			assert.Equal(t, uint64(math.MaxUint64), r.Frame)
			_, err = c.Reset(t.Context(), 0)
			assert.ErrorIs(t, err, world.ErrMode)
			r, err = c.Step(t.Context(), &world.Frame{Until: 5})
			require.NoError(t, err)
			assert.Equal(t, simtime.Stamp(5), r.Stamp, "from the beginning")
		})
	}
}

// One connection steps; another is told so at once, until the first is closed.
func TestOneOwner(t *testing.T) {
	s := newSite(t, "tcp", "127.0.0.1:0")
	first, second := s.dial(t), s.dial(t)
	_, err := second.Step(t.Context(), &world.Frame{Until: 0})
	require.ErrorIs(t, err, world.ErrTime)
	assert.False(t, s.port.Owned(), "who has not stepped owns nothing")
	_, err = first.Step(t.Context(), &world.Frame{Until: 1})
	require.NoError(t, err)
	_, err = second.Step(t.Context(), &world.Frame{Until: 2})
	require.ErrorIs(t, err, world.ErrBusy)
	assert.ErrorContains(t, err, "another connection steps this run until it closes")
	first.Close()
	require.Eventually(t, func() bool { return !s.port.Owned() }, limit, time.Millisecond)
	r, err := second.Step(t.Context(), &world.Frame{Until: 2})
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(2), r.Stamp)
}

// raw speaks to a port in bytes.
func (s *site) raw(t *testing.T) (net.Conn, func() (control byte, payload []byte)) {
	t.Helper()
	conn, err := net.Dial("tcp", s.address[len("http://"):])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, "GET /v1/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: raybridge-stream\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil) //nolint:bodyclose // the connection goes on
	require.NoError(t, err)
	require.Equal(t, 101, answer.StatusCode)
	_, err = io.WriteString(conn, helloNone)
	require.NoError(t, err)
	head := make([]byte, 16)
	_, err = io.ReadFull(r, head)
	require.NoError(t, err)
	_, err = r.Discard(int(head[12]) | int(head[13])<<8)
	require.NoError(t, err)
	return conn, func() (byte, []byte) {
		_, err := io.ReadFull(r, head)
		require.NoError(t, err)
		payload := make([]byte, int(head[0])|int(head[1])<<8)
		_, err = io.ReadFull(r, payload)
		require.NoError(t, err)
		return head[7], payload
	}
}

// What can't be read is answered, and the connection stays. A frame above the limit ends it.
func TestBadSteps(t *testing.T) {
	s := newSite(t, "tcp", "127.0.0.1:0")
	conn, next := s.raw(t)
	_, err := conn.Write(framed(0, 0, 8, 3, []byte("abc")))
	require.NoError(t, err)
	result := func() (world.StepResult, error) {
		for {
			if control, payload := next(); control == 9 {
				return stream.ReadStepResult(payload)
			}
		}
	}
	_, err = result()
	require.ErrorIs(t, err, stream.ErrMalformed)
	step := []byte("\x11\x05\x00\x00\x00\x00\x00\x00\x00") // a duration of 5 ns
	for want := range 2 {
		_, err = conn.Write(framed(0, 0, 8, len(step), step))
		require.NoError(t, err)
		r, err := result()
		require.NoError(t, err)
		assert.Equal(t, simtime.Stamp(5*(want+1)), r.Stamp, "from the present time on")
	}
	_, err = conn.Write(framed(0, 0, 8, 4<<20+1, nil))
	require.NoError(t, err)
	for {
		if control, payload := next(); control == 5 {
			assert.Equal(t, byte(stream.StatusTooLarge), payload[0])
			break
		}
	}
	require.Eventually(t, func() bool { return !s.port.Owned() }, limit, time.Millisecond, "the owner has gone")
}

// A stream bridge's own port takes no steps: there the control is unknown.
func TestNoStepsOnABridgesPort(t *testing.T) {
	status, reason := answer(t, serve(t, stream.ServerConfig{}), helloNone+string(framed(0, 0, 8, 0, nil)))
	assert.Equal(t, uint16(stream.StatusMalformed), status)
	assert.Contains(t, reason, "control 8")
}

// What isn't an API says so.
func TestNoAPI(t *testing.T) {
	plain := serve(t, stream.ServerConfig{})
	_, err := stream.Dial(t.Context(), "http://"+plain.Addr().String(), stream.Options{})
	assert.ErrorIs(t, err, stream.ErrNoAPI)
	_, err = stream.Dial(t.Context(), "unix:"+filepath.Join(t.TempDir(), "none"), stream.Options{})
	assert.ErrorContains(t, err, "no such file")
}

// A refusal comes with the server's reason, and the token goes along.
func TestRefusalsOfAnAPI(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "give the token", http.StatusUnauthorized)
			return
		}
		http.Error(w, "there is no run", http.StatusNotFound)
	}))
	t.Cleanup(api.Close)
	for token, want := range map[string]string{
		"": "it answers 401 Unauthorized give the token", "wrong": "it answers 401 Unauthorized give the token",
		"secret": "it answers 404 Not Found there is no run",
	} {
		_, err := stream.Dial(t.Context(), api.URL, stream.Options{Token: token})
		assert.ErrorIs(t, err, stream.ErrNoAPI)
		assert.ErrorContains(t, err, want)
	}
}

// A client that was closed steps nothing.
func TestStepOfAClosedClient(t *testing.T) {
	c := newSite(t, "tcp", "127.0.0.1:0").dial(t)
	c.Close()
	_, err := c.Step(t.Context(), &world.Frame{Until: 1_500_000_000})
	assert.ErrorIs(t, err, stream.ErrClientClosed)
	assert.ErrorContains(t, err, "step to 1.5 s: ")
	_, err = c.Step(t.Context(), &world.Frame{To: "front"})
	assert.ErrorContains(t, err, "step to the next firing of front: ")
	_, err = c.Reset(t.Context(), 1)
	assert.ErrorIs(t, err, stream.ErrClientClosed)
	assert.ErrorContains(t, err, "reset: ")
}

// Nor does one whose server isn't there yet.
func TestStepWithoutAConnection(t *testing.T) {
	c, err := stream.Dial(t.Context(), "unix:"+filepath.Join(t.TempDir(), "none"), stream.Options{Wait: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Step(t.Context(), &world.Frame{Until: 1})
	assert.ErrorContains(t, err, "the client is not connected")
}

// pipedSite is a port on connections in memory, in a bubble of its own time. A step publishes
// messages of a megabyte, one each nanosecond.
type pipedSite struct {
	port   *stream.Port
	bridge *bridges.Bridge
}

func newPipedSite(t *testing.T) *pipedSite {
	t.Helper()
	s := &pipedSite{port: stream.NewPort(&net.TCPAddr{}, nil)}
	registry, err := bridges.NewRegistry(s.port)
	require.NoError(t, err)
	s.bridge, err = registry.Open(stream.PortName+":", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, s.bridge.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*sample.Image](s.bridge, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	image := &sample.Image{Width: 1024, Height: 1024, Step: 1024, Encoding: "mono8", Data: make([]byte, 1<<20)}
	s.port.Drive(&stepper{publish: func(stamp simtime.Stamp) {
		image.Stamp = stamp
		_ = publish(context.Background(), image) // a client that has gone receives nothing
	}})
	return s
}

// step connects a client that wants all, and begins a step of so many messages.
func (s *pipedSite) step(t *testing.T, messages byte) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	s.port.Serve(theirs)
	_, err := io.WriteString(ours, helloAll)
	require.NoError(t, err)
	head := make([]byte, 16)
	_, err = io.ReadFull(ours, head)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, ours, int64(head[12])|int64(head[13])<<8)
	require.NoError(t, err)
	_, err = ours.Write(framed(0, 0, 8, 9, []byte{0x11, messages, 0, 0, 0, 0, 0, 0, 0}))
	require.NoError(t, err)
	synctest.Wait()
	require.True(t, s.port.Owned())
	return ours
}

// A client that steps and reads nothing is let go after ten seconds, and it is told why.
func TestAnOwnerThatEndsMidStep(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(net.Conn)
		within time.Duration
		failed string // "" for a client that has not failed
	}{
		"reads nothing": {func(net.Conn) {}, 10 * time.Second, "it took nothing for 10s"},
		"reads a part": {func(conn net.Conn) {
			time.Sleep(time.Second)
			_, _ = io.CopyN(io.Discard, conn, 1<<19)
		}, 11 * time.Second, "it took nothing for 10s"},
		"has gone": {func(conn net.Conn) { _ = conn.Close() }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPipedSite(t)
				conn := s.step(t, 200)
				begun := time.Now()
				c.do(conn)
				for s.port.Owned() && time.Since(begun) < time.Hour {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				assert.InDelta(t, c.within.Seconds(), time.Since(begun).Seconds(), 1.1, "it is looked at each second")
				told := s.bridge.Diagnosis()
				if c.failed == "" {
					assert.Zero(t, told.Failures)
				} else {
					assert.ErrorContains(t, told.LastError, c.failed)
					assert.NotContains(t, told.LastError.Error(), "firewall", "the network is not at fault")
				}
				require.NoError(t, s.bridge.Close(t.Context()))
			})
		})
	}
}

// The end of a run waits a second for a client that steps and reads nothing. It has two more for
// the write that is under way.
func TestARunEndsBesideASilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipedSite(t)
		s.step(t, 200)
		time.Sleep(time.Second)
		begun := time.Now()
		s.port.Hasten()
		require.NoError(t, s.bridge.Close(t.Context()))
		assert.Less(t, time.Since(begun), 4*time.Second)
		assert.Zero(t, s.bridge.Diagnosis().Failures, "the run was at fault")
	})
}

// TestAPatientClientOutlastsAStoppedServer: a server that is stopped for a minute, without its client, says nothing
// meanwhile. A client that was told to wait for it has its answer then; another takes it for gone.
func TestAPatientClientOutlastsAStoppedServer(t *testing.T) {
	for name, patience := range map[string]time.Duration{"usual": 0, "patient": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPipedSite(t)
				var stopped atomic.Bool
				dial := func(context.Context, string) (net.Conn, error) {
					ours, inner := net.Pipe()
					outer, theirs := net.Pipe()
					s.port.Serve(theirs)
					go func() { _, _ = io.Copy(outer, inner) }()
					go func() {
						defer inner.Close()
						for b := make([]byte, 1<<16); ; {
							n, err := outer.Read(b)
							if err != nil {
								return
							}
							if !stopped.Load() {
								_, _ = inner.Write(b[:n])
							}
						}
					}()
					return ours, nil
				}
				lost := make(chan error, 1)
				c, err := stream.Dial(t.Context(), "pipe", stream.Options{Patience: patience, Dial: dial, MinBackoff: time.Hour, Events: func(e stream.Event) {
					if e.Kind == stream.EventDisconnected {
						lost <- e.Err
					}
				}})
				require.NoError(t, err)
				stopped.Store(true)
				time.Sleep(time.Minute)
				stopped.Store(false)
				if patience == 0 {
					assert.ErrorContains(t, <-lost, "the server was silent for 5s")
				} else {
					_, err := c.Step(t.Context(), &world.Frame{Until: 5})
					assert.NoError(t, err)
					assert.Empty(t, lost)
				}
				end(c)
				require.NoError(t, s.bridge.Close(t.Context()))
			})
		})
	}
}
