package pipeline

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/rig"
)

// ending is the end of one sensor before its pipeline's.
type ending struct {
	once sync.Once
	done chan struct{} // closed when the sensor is gone
	err  error         // written before done is closed
}

func (e *ending) init() { e.done = make(chan struct{}) }

// Destroy ends the sensor, also while a run goes on: its listeners aren't called any
// more, it fires no more, what it has captured goes to its bridges or counts as closed,
// and what they were given is sent; then its objects on the GPU are given back, and its
// name and topics are free again. Its counts stay in the Summary. Destroy returns when
// all that has happened, or with the context's error when ctx ends before; it goes on
// then. Called within a listener's callback it doesn't wait, for it might wait for
// itself. Again it waits for the same end and returns the same.
//
// A sensor in whose frame others are mounted is not destroyed: the error wraps
// ErrMounted and names them. The end of the pipeline ends all sensors by itself.
func (s *Sensor) Destroy(ctx context.Context) error {
	if under, err := s.startEnding(); err != nil || !under || inCallback() {
		return err
	}
	select {
	case <-s.ending.done:
		return s.ending.err
	case <-ctx.Done():
		return fmt.Errorf("destroy sensor %s: %w", s.spec.Name, context.Cause(ctx))
	}
}

// startEnding begins the sensor's end, once, and reports whether it is under way or
// done; it is not where the pipeline was closed before.
func (s *Sensor) startEnding() (under bool, err error) {
	p := s.p
	p.change.Lock()
	defer p.change.Unlock()
	if s.users.isClosing() {
		return true, nil
	}
	if p.closed {
		return false, nil
	}
	if on := p.mountedOn(s); len(on) > 0 {
		return false, fmt.Errorf("destroy sensor %s: %w: %s", s.spec.Name, ErrMounted, strings.Join(on, ", "))
	}
	p.letEnd(s)
	return true, nil
}

// letEnd ends a sensor on a goroutine of its own, for who asks may be one of those
// that it waits for; Close waits for the goroutine. change must be held.
func (p *Pipeline) letEnd(s *Sensor) {
	s.ending.once.Do(func() {
		s.noteListening()
		s.heardBy.close()
		gone := s.users.close()
		p.endings.Go(func() {
			defer close(s.ending.done)
			<-gone
			s.ending.err = p.end(s)
		})
	})
}

// end ends a sensor that nobody works with.
func (p *Pipeline) end(s *Sensor) error {
	err := wrap("end sensor "+s.spec.Name, s.life.End())
	ctx, cancel := context.WithTimeout(context.Background(), deliveryLimit)
	defer cancel()
	s.carried.disconnect(ctx)
	p.change.Lock()
	defer p.change.Unlock()
	p.former = mergeRows(p.former, s.rows(0))
	p.formerInputs = mergeInputs(p.formerInputs, s.inputRows())
	_ = p.strike([]*Sensor{s}) // its life has ended
	return err
}

// mountedOn names the sensors whose parent frame is a sensor's and no other's; change
// must be held.
func (p *Pipeline) mountedOn(s *Sensor) []string {
	frame := s.spec.BodyFrame()
	if frame == rig.BaseFrame {
		return nil
	}
	var names []string
	for _, other := range p.members {
		switch {
		case other == s || other.users.isClosing():
		case other.spec.BodyFrame() == frame:
			return nil // the frame stays
		case other.spec.ParentFrame == frame:
			names = append(names, other.spec.Name)
		}
	}
	return names
}

// orphan ends the sensors of an actor that is there no more.
func (p *Pipeline) orphan(id uint32) {
	p.change.Lock()
	defer p.change.Unlock()
	for _, s := range p.members {
		if s.owner == id && !s.users.isClosing() && !p.closed {
			s.env.Log.Info("the actor that the sensor rode on is gone, and the sensor with it", "actor", id)
			p.letEnd(s)
		}
	}
}
