package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// maxStep bounds the frames of clients that may step, bytes.
const maxStep = 4 << 20

// Stepper is what clients of a Port may step. It is used by one goroutine at a time.
type Stepper interface {
	// Now returns the simulation time at which the next step begins.
	Now() simtime.Stamp
	// StepTo moves the world to the frame's end, as pipeline.StepTo does. An error that wraps
	// world.ErrUnfinished comes with a result, too.
	StepTo(ctx context.Context, f *world.Frame) (world.StepResult, error)
	// Reset takes the run back to its beginning, as pipeline.Reset does.
	Reset(ctx context.Context, seed uint64) (world.StepResult, error)
}

// Port is a bridge that listens nowhere. It serves the connections that somebody else has
// accepted, such as an HTTP server that was asked for an upgrade. They may step the run, and
// receive all its topics. A Port makes one instance in its life. Its methods may be called from
// any goroutine.
type Port struct {
	Factory
	address  net.Addr
	memory   *memory.Budget
	instance atomic.Pointer[instance]
	stepper  atomic.Pointer[Stepper]
	owner    atomic.Pointer[session] // the connection that steps
	hastened atomic.Bool             // the run ends
}

// PortName is the type of the bridge that a Port is.
const PortName = "api"

// NewPort returns a port whose connections are accepted at an address. The memory that clients share with it
// is taken from a budget while they are connected; nil is without a limit.
func NewPort(address net.Addr, budget *memory.Budget) *Port {
	return &Port{address: address, memory: budget}
}

// Info describes the bridge.
func (p *Port) Info() bridges.Info {
	return bridges.Info{
		Name: PortName, Type: PortName, Kind: bridges.KindNetwork, Summary: "serves every topic to clients of the API, which may step the run",
		Connection: "", Patience: patienceOfSteps,
	}
}

// NewInstance returns the bridge's only instance.
func (p *Port) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env, p.limit)
	i.port = p
	if !p.instance.CompareAndSwap(nil, i) {
		return nil, fmt.Errorf("bridge %s: there is one already", PortName)
	}
	return i, nil
}

// Drive lets connections step from now on.
func (p *Port) Drive(s Stepper) { p.stepper.Store(&s) }

// Owned reports whether a connection steps the run. Until it is closed nobody else may.
func (p *Port) Owned() bool { return p.owner.Load() != nil }

// Serve makes a client of a connection, and closes it when it is over. The client speaks first,
// as docs/stream-protocol.md has it.
func (p *Port) Serve(conn net.Conn) {
	if i := p.instance.Load(); i != nil {
		if server, ok := i.Serving(); ok {
			server.core.Admit(conn)
			return
		}
	}
	_ = conn.Close() // the run ends
}

// Hasten says that the run ends. From now on nobody waits for longer than a second for a client
// that takes nothing, the one who steps too.
func (p *Port) Hasten() {
	p.hastened.Store(true)
	if i := p.instance.Load(); i != nil {
		if server, ok := i.Serving(); ok {
			server.core.Hasten(time.Second)
		}
	}
}

// patienceOfSteps is how long a message waits for the client that steps. One that takes nothing at
// all is disconnected before.
const patienceOfSteps = time.Minute

// config is how the port's server treats its clients.
func (p *Port) config() ServerConfig {
	return ServerConfig{Queue: flow.QueueConfig{BlockLimit: patienceOfSteps}}
}

// drive is what a session keeps that steps.
type drive struct {
	payload flow.Buffer
	request stepRequest
	writer  stepWriter
	out     []byte
	counts  []transport.StreamCounts
}

// steps are the steps of a server's clients that are not answered yet.
type steps struct {
	mu       sync.Mutex
	ended    bool // guarded by mu: no more begin
	underWay sync.WaitGroup
}

// begin counts a step, unless the server closes.
func (s *steps) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.underWay.Add(1)
	}
	return !s.ended
}

// end lets no more steps begin, and waits for those under way, or ctx's end.
func (s *steps) end(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.underWay.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// step reads a Step and answers it. Meanwhile nothing else of the client is read.
func (s *session) step(ctx context.Context, r io.Reader, h frame) error {
	d := &s.drive
	if err := readInto(r, &d.payload, int(h.length)); err != nil {
		return err
	}
	result, failure := world.StepResult{}, world.ErrEnded
	if s.server.steps.begin() {
		defer s.server.steps.underWay.Done()
		result, failure = s.move(ctx)
	}
	if s.server.port.owner.Load() != s {
		d.out = d.writer.result(d.out[:0], &result, failure)
		return s.client.Post(appendControl(nil, controlStepResult, d.out))
	}
	// It comes behind all that the step has brought.
	m := s.server.results.NewMessage()
	f := m.Frame(formPlain, frameSize)
	f.Reset(frameSize)
	b := d.writer.result(f.Bytes(), &result, failure)
	n := uint32(len(b) - frameSize)
	(&frame{length: n, control: controlStepResult, plain: n}).put(b)
	f.Adopt(b)
	begun := time.Now()
	_ = s.server.results.Send(ctx, m) // a client that has gone needs no answer
	d.counts = s.client.Counts(d.counts)
	for i := range d.counts {
		if d.counts[i].Stream != s.server.results || d.counts[i].Dropped == 0 {
			continue
		}
		if s.client.Finished() || s.server.port.hastened.Load() {
			return net.ErrClosed // for a reason that the connection knows, or with the run
		}
		// The client would wait for it for ever.
		return fmt.Errorf("%w: its queue had no room for the answer of a step for %v", ErrUnresponsive, time.Since(begun).Round(100*time.Millisecond))
	}
	return nil
}

// move does a step that was read.
func (s *session) move(ctx context.Context) (none world.StepResult, err error) {
	port, d := s.server.port, &s.drive
	if err := d.request.read(d.payload.Bytes()); err != nil {
		return none, err
	}
	stepper := port.stepper.Load()
	if stepper == nil {
		return none, fmt.Errorf("%w: the run has not begun", world.ErrMode)
	}
	first := port.owner.CompareAndSwap(nil, s)
	if !first && port.owner.Load() != s {
		return none, fmt.Errorf("%w: another connection steps this run until it closes", world.ErrBusy)
	}
	if first { // the step's data waits for the client, and none of it is dropped
		s.client.SetPolicy(flow.Block)
		s.server.results.Subscribe(s.client, formPlain)
	}
	result, err := d.request.make(ctx, *stepper)
	if err != nil && first && !errors.Is(err, world.ErrUnfinished) {
		s.disown()
	}
	return result, err
}

// make makes the step that was read.
func (s *stepRequest) make(ctx context.Context, by Stepper) (world.StepResult, error) {
	switch {
	case s.resets:
		return by.Reset(ctx, s.seed)
	case s.duration != 0:
		s.frame.Until = by.Now() + s.duration
	}
	return by.StepTo(ctx, &s.frame)
}

// disown lets others step.
func (s *session) disown() {
	port := s.server.port
	if port == nil || !port.owner.CompareAndSwap(s, nil) {
		return
	}
	s.server.results.Unsubscribe(s.client)
	s.client.SetPolicy(flow.DropOldest)
}

// newResults makes the stream by which the one who steps is answered. It has no id.
func (s *Server) newResults() *transport.Stream {
	return s.core.NewStream(transport.StreamConfig{Name: "results"})
}
