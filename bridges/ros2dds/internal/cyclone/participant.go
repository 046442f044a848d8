//go:build cgo && ros2dds

package cyclone

/*
#cgo LDFLAGS: -lddsc
#include <stdlib.h>
#include "entities.h"
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Config says how a participant joins a domain.
type Config struct {
	// Domain is the domain's id, from 0 to 232.
	Domain uint32
	// UserData is what the participant says of itself.
	UserData string
	// Defaults are settings of the library, XML or file names separated by commas. What
	// the environment's CYCLONEDDS_URI says has precedence. They hold for all
	// participants of the process in the domain; those of the first one count.
	Defaults string
}

// domains are those that this process has joined with settings of its own. The library
// holds one domain of an id for a process.
var domains struct {
	sync.Mutex
	open map[uint32]*domain // guarded by Mutex
}

type domain struct {
	handle       C.dds_entity_t
	participants int
}

// Participant is a member of a domain, with its writers and readers.
type Participant struct {
	domain  uint32
	handle  C.dds_entity_t
	waitset C.dds_entity_t
	wake    C.dds_entity_t

	woken     atomic.Bool
	triggered []C.dds_attach_t // the reading goroutine's

	mu      sync.Mutex
	readers map[C.dds_attach_t]*Reader // guarded by mu
	last    C.dds_attach_t             // guarded by mu
	pinned  []*Events                  // guarded by mu
}

// Join makes a participant.
func Join(config Config) (*Participant, error) {
	if err := enter(config); err != nil {
		return nil, err
	}
	data := C.CString(config.UserData)
	defer C.free(unsafe.Pointer(data))
	p := &Participant{domain: config.Domain, readers: map[C.dds_attach_t]*Reader{}}
	why := newReason()
	defer why.free()
	p.handle = C.rb_participant(C.uint32_t(config.Domain), data, why.text, reasonSize)
	if p.handle < 0 {
		err := why.failed(config.Domain, p.handle)
		leave(config.Domain)
		return nil, err
	}
	p.waitset = C.dds_create_waitset(p.handle)
	p.wake = C.dds_create_guardcondition(p.handle)
	for _, handle := range []C.dds_entity_t{p.waitset, p.wake, C.dds_waitset_attach(p.waitset, p.wake, 0)} {
		if handle < 0 {
			err := failed(handle, "create a waitset")
			p.Leave()
			return nil, err
		}
	}
	return p, nil
}

// enter opens the domain with the settings, unless it is open.
func enter(config Config) error {
	domains.Lock()
	defer domains.Unlock()
	if d, ok := domains.open[config.Domain]; ok {
		d.participants++
		return nil
	}
	settings := config.Defaults
	if uri := os.Getenv("CYCLONEDDS_URI"); uri != "" {
		settings += "," + uri // what comes later holds
	}
	xml := C.CString(settings)
	defer C.free(unsafe.Pointer(xml))
	why := newReason()
	defer why.free()
	handle := C.rb_domain(C.uint32_t(config.Domain), xml, why.text, reasonSize)
	if handle < 0 {
		return why.failed(config.Domain, handle)
	}
	if domains.open == nil {
		domains.open = map[uint32]*domain{}
	}
	domains.open[config.Domain] = &domain{handle: handle, participants: 1}
	return nil
}

// leave closes the domain with its last participant.
func leave(id uint32) {
	domains.Lock()
	defer domains.Unlock()
	d := domains.open[id]
	if d.participants--; d.participants == 0 {
		C.dds_delete(d.handle)
		delete(domains.open, id)
	}
}

// Leave deletes the participant with all its writers and readers, and tells the others.
// Nothing of it may be in use any more, and nobody be in Read. It is called once.
func (p *Participant) Leave() {
	C.dds_delete(p.handle) // listeners aren't called any more when it returns
	p.mu.Lock()
	for _, e := range p.pinned {
		e.release()
	}
	p.pinned = nil
	p.mu.Unlock()
	leave(p.domain)
}

// GUID returns the participant's identity on the wire (DDSI-RTPS 2.3, section 8.2.4.1).
func (p *Participant) GUID() (GUID, error) { return guidOf(p.handle) }

// GUID identifies a participant, writer or reader: prefix and entity id.
type GUID [16]byte

func guidOf(handle C.dds_entity_t) (GUID, error) {
	var guid C.dds_guid_t
	if rc := C.dds_get_guid(handle, &guid); rc < 0 {
		return GUID{}, failed(rc, "ask for a guid")
	}
	return *(*GUID)(unsafe.Pointer(&guid.v)), nil
}

// reason is room for what the library says of a failure.
type reason struct{ text *C.char }

const reasonSize = 1024

func newReason() reason { return reason{(*C.char)(C.calloc(1, reasonSize))} }

func (r reason) free() { C.free(unsafe.Pointer(r.text)) }

// failed makes an error of what the library said, or else of its return code. Settings
// that can't be read are told from others by the words alone: the code is the same.
func (r reason) failed(domain uint32, rc C.dds_entity_t) error {
	text := C.GoString(r.text)
	if text == "" {
		text = C.GoString(C.dds_strretcode(-rc))
	}
	if strings.HasPrefix(text, "config: ") || strings.HasPrefix(text, "can't open configuration file") {
		return fmt.Errorf("%w (CYCLONEDDS_URI is %q): %s", ErrSettings, os.Getenv("CYCLONEDDS_URI"), text)
	}
	return fmt.Errorf("%w %d: %s", ErrDomain, domain, text)
}

// failed makes an error of a negative return code.
func failed(rc C.int32_t, doing string, args ...any) error {
	return fmt.Errorf("%s: %s", fmt.Sprintf(doing, args...), C.GoString(C.dds_strretcode(-rc)))
}
