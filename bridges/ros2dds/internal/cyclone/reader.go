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
	deliver func(message []byte)
	guid    GUID
}

// NewReader makes a reader on a topic by the names on the wire. Read calls deliver with
// each message, which is valid until deliver returns. events, which must not be in use,
// tells of its writers until the participant leaves.
func (p *Participant) NewReader(topic, typeName string, qos QoS, events *Events, deliver func(message []byte)) (*Reader, error) {
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
	if rc := C.dds_waitset_attach(p.waitset, r.handle, id); rc < 0 {
		return nil, failed(rc, "attach the reader of %s", topic)
	}
	return r, nil
}

// GUID returns the reader's identity on the wire.
func (r *Reader) GUID() GUID { return r.guid }

// triggered is how many readers one Read serves.
const triggered = 16

// Read waits until readers have messages, and delivers them on the caller's goroutine.
// It returns false when Wake was called. One goroutine calls it.
func (p *Participant) Read() bool {
	var ids [triggered]C.dds_attach_t
	n := C.dds_waitset_wait(p.waitset, &ids[0], triggered, C.DDS_INFINITY)
	if n < 0 {
		return false
	}
	for _, id := range ids[:min(int(n), triggered)] {
		if id == 0 {
			return false
		}
		p.mu.Lock()
		r := p.readers[id]
		p.mu.Unlock()
		r.take()
	}
	return true
}

// take delivers what the reader has.
func (r *Reader) take() {
	for {
		var block *C.struct_rb_sample
		if C.rb_take(r.handle, &block) <= 0 {
			return
		}
		r.deliver(unsafe.Slice((*byte)(unsafe.Pointer(block.data)), int(block.size)))
		C.rb_taken(block)
	}
}

// Wake ends Read, now or the next time.
func (p *Participant) Wake() { C.dds_set_guardcondition(p.wake, true) }
