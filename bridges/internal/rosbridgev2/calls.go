package rosbridgev2

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/guard"
)

// Service is a service that is offered.
type Service struct {
	// Name is the service's, Type the full name of its type, such as "std_srvs/srv/SetBool".
	Name, Type string
	// Answer reads the arguments, which are nil for none, and returns the values of the
	// response, in the form of the call. It runs on the service's goroutine, one call at a
	// time; ctx ends with the connection. An error is told to the caller.
	Answer func(ctx context.Context, form Form, args []byte) (values []byte, err error)
}

// ParseCall reads a call, and takes memory of its own for it. Calls in CBOR are refused:
// messages of topics alone are sent so, and the answer has the form and the id of the call.
// Errors wrap ErrFrame.
func ParseCall(data []byte, bson bool) (Frame, error) {
	f, err := Parse(slices.Clone(data), bson)
	if err == nil && f.Form == CBOR {
		return Frame{}, fmt.Errorf("%w: services aren't called in CBOR", ErrFrame)
	}
	return f, err
}

// Call is a call that waits for its answer.
type Call struct {
	Frame Frame
	// Respond sends the answer; it is called on the service's goroutine.
	Respond func(Response)
}

// Desk answers calls of services, each service on a goroutine of its own. Its methods may
// be called from any goroutine.
type Desk struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	queues map[string]chan Call // guarded by mu
	closed bool                 // guarded by mu
}

// NewDesk returns a desk without services.
func NewDesk() *Desk {
	d := &Desk{queues: map[string]chan Call{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Open begins to answer a service's calls.
func (d *Desk) Open(s Service) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.queues[s.Name] != nil {
		return
	}
	calls := make(chan Call, guard.ServiceCalls)
	d.queues[s.Name] = calls
	d.wg.Go(func() {
		for {
			select {
			case call := <-calls:
				call.answer(d.ctx, s)
			case <-d.ctx.Done():
				return
			}
		}
	})
}

// answer calls the handler and responds.
func (c *Call) answer(ctx context.Context, s Service) {
	values, err := s.Answer(ctx, c.Frame.Form, c.Frame.Values)
	r := Response{Service: s.Name, ID: c.Frame.ID, Values: values, Result: err == nil}
	if err != nil {
		r.Reason = err.Error()
	}
	c.Respond(r)
}

// Take gives a call to its service, without waiting. It returns an error, which wraps
// bridges.ErrService, for a service that there isn't and one that has too much to do; the
// caller then tells so. The frame is the desk's.
func (d *Desk) Take(call Call) error {
	d.mu.Lock()
	calls := d.queues[call.Frame.Service]
	d.mu.Unlock()
	if calls == nil {
		return fmt.Errorf("%w: there is no service %q", bridges.ErrService, call.Frame.Service)
	}
	select {
	case calls <- call:
		return nil
	default:
		return fmt.Errorf("%w: %d calls of %q wait already", bridges.ErrService, guard.ServiceCalls, call.Frame.Service)
	}
}

// Close ends the handlers' contexts and waits until they have returned, or ctx has ended.
func (d *Desk) Close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	done := make(chan struct{})
	go func() { // ends with the handlers
		d.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
