//go:build cgo && ros2dds

package cyclone

/*
#include "entities.h"
*/
import "C"

import "unsafe"

// Reader receives messages on one topic.
type Reader struct {
	handle  C.dds_entity_t
	deliver func(message []byte, from Sender)
	guid    GUID

	block  *C.struct_rb_sample     // the goroutine's that reads: the message at hand
	writer C.dds_instance_handle_t // and who wrote it
}

// Sender is the writer of a message that a reader has received.
type Sender struct {
	reader C.dds_entity_t
	writer C.dds_instance_handle_t
}

// Hearing says whether who sent a message has a reader.
type Hearing int

// The answers of Sender.Hears.
const (
	Gone   Hearing = -1 // the sender isn't there any more
	NotYet Hearing = 0  // its reader isn't matched yet
	Hears  Hearing = 1
)

// Hears says whether a client of a service, which sent a message to its reader, gets what
// w writes: whether the client's reader is matched. Clients are recognized by the
// "clientid" in their user data; one that has none hears. It may be called from any
// goroutine until the participant leaves.
func (s Sender) Hears(w *Writer) Hearing {
	return Hearing(C.rb_heard(s.reader, s.writer, w.handle))
}

// NewReader makes a reader on a topic by the names on the wire. Read calls deliver with
// each message, which is valid until deliver returns. events, which must not be in use,
// tells of its writers until the participant leaves.
func (p *Participant) NewReader(topic, typeName string, qos EndpointQoS, events *Events, deliver func(message []byte, from Sender)) (*Reader, error) {
	n := newNames(topic, typeName, qos)
	defer n.free()
	settings := qos.c(n)
	r := &Reader{deliver: deliver}
	if r.handle = C.rb_reader(p.handle, n.topic, n.typeName, &settings, p.pin(events)); r.handle < 0 {
		return nil, failed(r.handle, "create a reader of %s (%s)", topic, typeName)
	}
	var err error
	if r.guid, err = guidOf(r.handle); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.last++
	id := p.last
	p.readers[id] = r
	p.mu.Unlock()
	// A condition holds as long as there are messages, a status until the first is taken.
	condition := C.dds_create_readcondition(r.handle, C.DDS_ANY_STATE)
	if condition < 0 {
		return nil, failed(condition, "create a condition of the reader of %s", topic)
	}
	if rc := C.dds_waitset_attach(p.waitset, condition, id); rc < 0 {
		return nil, failed(rc, "attach the reader of %s", topic)
	}
	return r, nil
}

// GUID returns the reader's identity on the wire.
func (r *Reader) GUID() GUID { return r.guid }

// Read waits until readers have messages, and delivers some of each on the caller's
// goroutine. It returns false when Wake was called. One goroutine calls it.
func (p *Participant) Read() bool {
	p.mu.Lock()
	attached := len(p.readers) + 1 // with wake
	p.mu.Unlock()
	if len(p.triggered) < attached {
		p.triggered = make([]C.dds_attach_t, attached)
	}
	n := C.dds_waitset_wait(p.waitset, &p.triggered[0], C.size_t(len(p.triggered)), C.DDS_INFINITY)
	if n < 0 {
		return false
	}
	for _, id := range p.triggered[:min(int(n), len(p.triggered))] {
		if p.woken.Load() {
			return false
		}
		p.mu.Lock()
		r := p.readers[id]
		p.mu.Unlock()
		if r != nil {
			r.take()
		}
	}
	return !p.woken.Load()
}

// turn is how many messages of a reader are delivered before it is the others' turn. One whose
// writers are faster than its messages are delivered is never without any.
const turn = 32

// take delivers what the reader has, up to a turn.
func (r *Reader) take() {
	for range turn {
		if C.rb_take(r.handle, &r.block, &r.writer) <= 0 {
			return
		}
		r.deliver(unsafe.Slice((*byte)(unsafe.Pointer(r.block.data)), int(r.block.size)), Sender{r.handle, r.writer})
		C.rb_taken(r.block)
	}
}

// Wake ends Read, now or the next time.
func (p *Participant) Wake() {
	p.woken.Store(true)
	C.dds_set_guardcondition(p.wake, true)
}
