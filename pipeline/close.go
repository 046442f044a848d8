package pipeline

import (
	"context"
	"errors"
	"fmt"
)

// Close ends the sensors, sends what is queued for as long as ctx allows,
// completes the recordings and ends the GL thread. It is called once, after Run
// or Step has returned, and what was adding sensors has; calling it again returns nil.
func (p *Pipeline) Close(ctx context.Context) error {
	p.change.Lock()
	closed := p.closed
	p.closed = true
	p.change.Unlock()
	if closed {
		return nil
	}
	p.rosClock.unwatch()
	p.noteListening()
	errs := []error{p.awaitEndings(ctx)}
	list := p.live()
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, wrap("end sensor "+list[i].spec.Name, list[i].life.End()))
	}
	errs = append(errs, p.shared.Close())
	p.dispatcher.ReleaseAll()
	errs = append(errs, wrap("send what was queued", p.dispatcher.Drain(ctx)))
	errs = append(errs, wrap("close the dispatcher", p.dispatcher.Close(ctx)))
	for _, b := range p.bridges {
		errs = append(errs, b.bridge.Close(ctx))
	}
	errs = append(errs, p.closeGPU())
	return errors.Join(errs...)
}

// awaitEndings waits for the sensors that were ending when the pipeline did.
func (p *Pipeline) awaitEndings(ctx context.Context) error {
	p.dispatcher.ReleaseAll() // they wait for what they published to be sent
	ended := make(chan struct{})
	go func() {
		p.endings.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end sensors: %w", context.Cause(ctx))
	}
}

func (p *Pipeline) closeGPU() error {
	if p.resident != nil {
		p.resident.Close()
	}
	return wrap("close the gl thread", p.gl.Close())
}
