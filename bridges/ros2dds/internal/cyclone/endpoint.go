//go:build cgo && ros2dds

package cyclone

/*
#include <stdlib.h>
#include "entities.h"
*/
import "C"

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"
)

// EndpointQoS is the quality of service of a writer or reader.
type EndpointQoS struct {
	Reliable, TransientLocal, KeepAll bool
	// Depth is the length of a history that isn't KeepAll, messages, from 1 on.
	Depth int
	// Deadline is the longest time between two messages, 0 for none.
	Deadline time.Duration
	// MaxBlocking is how long Write waits for room in a KeepAll history.
	MaxBlocking time.Duration
	// UserData is what the endpoint says of itself.
	UserData string
}

// Events are what the library's threads tell of one writer or reader. Its methods may be
// called from any goroutine, also when the endpoint is gone.
type Events struct {
	counts struct { // as struct rb_events
		matched      atomic.Int32
		incompatible [C.RB_POLICIES]atomic.Int32
	}
	pinner runtime.Pinner
}

// Matched returns how many readers a writer has, or writers a reader.
func (e *Events) Matched() int { return int(e.counts.matched.Load()) }

// Incompatible goes through the policies that have kept readers or writers away, with how
// often. It counts once for each time that one was discovered, also by former endpoints.
func (e *Events) Incompatible() iter.Seq2[PolicyID, int] {
	return func(yield func(PolicyID, int) bool) {
		for id := range e.counts.incompatible {
			if n := e.counts.incompatible[id].Load(); n > 0 && !yield(PolicyID(id), int(n)) {
				return
			}
		}
	}
}

// release lets the garbage collector have e again, with the counts of a gone endpoint.
func (e *Events) release() {
	e.counts.matched.Store(0)
	e.pinner.Unpin()
}

// pin makes e known to the library until the participant leaves.
func (p *Participant) pin(e *Events) *C.struct_rb_events {
	e.pinner.Pin(&e.counts)
	p.mu.Lock()
	p.pinned = append(p.pinned, e)
	p.mu.Unlock()
	return (*C.struct_rb_events)(unsafe.Pointer(&e.counts))
}

// PolicyID is one of the policies by which a writer and a reader may not match.
type PolicyID uint8 // a dds_qos_policy_id_t

// Policies that raybridge's endpoints set.
const (
	Durability  PolicyID = C.DDS_DURABILITY_QOS_POLICY_ID
	Deadline    PolicyID = C.DDS_DEADLINE_QOS_POLICY_ID
	Reliability PolicyID = C.DDS_RELIABILITY_QOS_POLICY_ID
)

var policyNames = map[PolicyID]string{
	Durability: "durability", Deadline: "deadline", Reliability: "reliability",
	C.DDS_PRESENTATION_QOS_POLICY_ID: "presentation", C.DDS_LATENCYBUDGET_QOS_POLICY_ID: "latency_budget",
	C.DDS_OWNERSHIP_QOS_POLICY_ID: "ownership", C.DDS_LIVELINESS_QOS_POLICY_ID: "liveliness",
	C.DDS_PARTITION_QOS_POLICY_ID: "partition", C.DDS_DESTINATIONORDER_QOS_POLICY_ID: "destination_order",
	C.DDS_TYPE_CONSISTENCY_ENFORCEMENT_QOS_POLICY_ID: "type_consistency_enforcement",
	C.DDS_DATA_REPRESENTATION_QOS_POLICY_ID:          "data_representation",
}

// String returns the policy's name as ROS 2 and DDS have it, in snake_case.
func (p PolicyID) String() string {
	if name, ok := policyNames[p]; ok {
		return name
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// names are a topic's strings for the library; free frees them.
type names struct{ topic, typeName, userData *C.char }

func (n names) free() {
	for _, s := range []*C.char{n.topic, n.typeName, n.userData} {
		C.free(unsafe.Pointer(s))
	}
}

func (q EndpointQoS) c(n names) C.struct_rb_qos {
	flag := func(b bool) C.int32_t {
		if b {
			return 1
		}
		return 0
	}
	return C.struct_rb_qos{
		reliable: flag(q.Reliable), transient_local: flag(q.TransientLocal), keep_all: flag(q.KeepAll), depth: C.int32_t(max(q.Depth, 1)),
		deadline: C.int64_t(q.Deadline), max_blocking: C.int64_t(q.MaxBlocking), user_data: n.userData,
	}
}

func newNames(topic, typeName string, qos EndpointQoS) names {
	return names{C.CString(topic), C.CString(typeName), C.CString(qos.UserData)}
}

// Writer sends messages on one topic.
type Writer struct {
	handle  C.dds_entity_t
	sertype *C.struct_ddsi_sertype
	pool    *C.struct_rb_pool
	guid    GUID
}

// NewWriter makes a writer on a topic by the names on the wire. events, which must not
// be in use, tells of its readers until the participant leaves.
func (p *Participant) NewWriter(topic, typeName string, qos EndpointQoS, events *Events) (*Writer, error) {
	n := newNames(topic, typeName, qos)
	defer n.free()
	w := &Writer{pool: C.rb_pool_new()}
	settings := qos.c(n)
	if w.handle = C.rb_writer(p.handle, n.topic, n.typeName, &settings, p.pin(events), &w.sertype); w.handle < 0 {
		C.rb_pool_unref(w.pool)
		return nil, failed(w.handle, "create a writer of %s (%s)", topic, typeName)
	}
	var err error
	if w.guid, err = guidOf(w.handle); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// GUID returns the writer's identity on the wire.
func (w *Writer) GUID() GUID { return w.guid }

// Delete deletes the writer before its participant does, and tells the others. Nothing is written
// any more; Close follows. events is the one that it was made with, and free when it returns.
func (w *Writer) Delete(p *Participant, events *Events) {
	topic := C.dds_get_topic(w.handle)
	C.dds_delete(w.handle) // its listeners aren't called any more when it returns
	C.dds_delete(topic)
	p.mu.Lock()
	p.pinned = slices.DeleteFunc(p.pinned, func(other *Events) bool { return other == events })
	p.mu.Unlock()
	events.release()
}

// Close lets go of the writer's memory. The writer itself is deleted with its
// participant, before or after, or was by Delete.
func (w *Writer) Close() { C.rb_pool_unref(w.pool) }

// Sample is a block of memory for one message. It is passed by value; one holder
// releases it or writes it.
type Sample struct {
	block *C.struct_rb_sample
	size  int
}

// Sample lends a block with room for capacity bytes.
func (w *Writer) Sample(capacity int) Sample {
	block := C.rb_sample_new(w.pool, C.size_t(capacity))
	if block == nil {
		panic("cyclone: out of memory") // as Go does
	}
	return Sample{block: block}
}

// Bytes returns the block, which is all room: an append to Bytes()[:0] fills it. It is
// valid until the sample is written or released.
func (s *Sample) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s.block.data)), int(s.block.capacity))
}

// Set makes message, an append to Bytes()[:0], the sample's content. If the append has
// moved it to memory of Go's, it is copied to a block that is large enough.
func (w *Writer) Set(s *Sample, message []byte) {
	if unsafe.SliceData(message) != (*byte)(unsafe.Pointer(s.block.data)) {
		if len(message) > int(s.block.capacity) {
			s.Release()
			*s = w.Sample(len(message))
		}
		copy(s.Bytes(), message)
	}
	s.size = len(message)
}

// Len returns the size of the content.
func (s *Sample) Len() int { return s.size }

// Release gives back a sample that wasn't written.
func (s *Sample) Release() {
	C.rb_sample_unref(s.block)
	s.block = nil
}

// Write sends a sample, which is the library's from then on, also on an error. It waits
// only if the history is KeepAll and full of what readers haven't acknowledged: at most
// MaxBlocking, and then returns ErrTimeout.
func (w *Writer) Write(s Sample) error {
	switch rc := C.rb_write(w.handle, w.sertype, s.block, C.uint32_t(s.size)); {
	case rc == C.DDS_RETCODE_TIMEOUT:
		return ErrTimeout
	case rc < 0:
		return failed(rc, "write a sample")
	}
	return nil
}

// Acknowledged waits until all reliable readers have everything that was written, at
// most so long, and reports whether they have.
func (w *Writer) Acknowledged(limit time.Duration) bool {
	return C.dds_wait_for_acks(w.handle, C.dds_duration_t(limit)) == C.DDS_RETCODE_OK
}
