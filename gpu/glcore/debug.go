//go:build cgo

package glcore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

// enableDebugOutput turns on KHR_debug without a callback: messages wait in
// the context's log until DebugErrors fetches them at the end of an entry, so
// no driver thread ever calls into Go. Chatter is turned off at its source.
func enableDebugOutput() {
	gl.Enable(gl.DEBUG_OUTPUT)
	gl.Enable(gl.DEBUG_OUTPUT_SYNCHRONOUS)
	gl.DebugMessageControl(gl.DONT_CARE, gl.DONT_CARE, gl.DONT_CARE, 0, nil, false)
	for _, kind := range []uint32{
		gl.DEBUG_TYPE_ERROR, gl.DEBUG_TYPE_UNDEFINED_BEHAVIOR,
		gl.DEBUG_TYPE_PERFORMANCE, gl.DEBUG_TYPE_DEPRECATED_BEHAVIOR, gl.DEBUG_TYPE_PORTABILITY,
	} {
		gl.DebugMessageControl(gl.DONT_CARE, kind, gl.DONT_CARE, 0, nil, true)
	}
}

// messages sorts debug output: errors are handed on, each one; of everything
// else a text is kept once with its count. NVIDIA's 131186 ("moved from VIDEO
// memory to HOST memory") comes each frame.
type messages struct {
	errs  []error
	notes map[uint32]*note
}

type note struct {
	text  string
	count int
}

// maxNotes bounds the kinds of notes kept.
const maxNotes = 64

func (m *messages) add(kind, id uint32, text string) {
	if kind == gl.DEBUG_TYPE_ERROR || kind == gl.DEBUG_TYPE_UNDEFINED_BEHAVIOR {
		m.errs = append(m.errs, fmt.Errorf("opengl: %s", text))
		return
	}
	if n := m.notes[id]; n != nil {
		n.count++
		return
	}
	if m.notes == nil {
		m.notes = make(map[uint32]*note)
	}
	if len(m.notes) < maxNotes {
		m.notes[id] = &note{text, 1}
	}
}

func (m *messages) takeErrors() []error {
	errs := m.errs
	m.errs = nil
	return errs
}

func (m *messages) list() []string {
	list := make([]string, 0, len(m.notes))
	for id, n := range m.notes {
		list = append(list, fmt.Sprintf("%s (message %d, %d times)", n.text, id, n.count))
	}
	slices.Sort(list)
	return list
}

// DebugErrors implements gpu.Driver: the log's errors in a debug context, the
// error flags in others.
func (d *Driver) DebugErrors() []error {
	for d.debug && d.fetchMessage() {
	}
	d.keepErrors()
	return d.messages.takeErrors()
}

// keepErrors clears the error flags for what follows. In a debug context each
// but a loss is in the log too; in others they are kept for DebugErrors.
func (d *Driver) keepErrors() {
	if err := drainErrors(); err != nil && (!d.debug || errors.Is(err, gpu.ErrContextLost)) {
		d.messages.errs = append(d.messages.errs, err)
	}
}

// fetchMessage moves the log's oldest message; false if there is none.
func (d *Driver) fetchMessage() bool {
	var length int32
	if gl.GetIntegerv(gl.DEBUG_NEXT_LOGGED_MESSAGE_LENGTH, &length); length <= 0 {
		return false
	}
	var source, kind, id, severity uint32
	var written int32
	text := make([]byte, length)
	if gl.GetDebugMessageLog(1, length, &source, &kind, &id, &severity, &written, &text[0]) == 0 {
		return false
	}
	d.messages.add(kind, id, string(text[:max(written-1, 0)]))
	return true
}

// DebugNotes returns what debug output said besides errors, each text once
// with its count.
func (d *Driver) DebugNotes() []string { return d.messages.list() }
