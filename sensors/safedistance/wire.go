package safedistance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// schemaVersion rises with each change of the layout below.
const schemaVersion = 1

// idBytes is the size of an actor's id on the wire: the body is a list of uint32.
const idBytes = 4

// ErrBody says that a message's body is no event's.
var ErrBody = errors.New("not a safe distance event")

// AppendBinary is the serializer: it appends the body of an event's message, the ids of
// the actors as little-endian uint32. It never fails.
func (m *Event) AppendBinary(b []byte) ([]byte, error) {
	for _, id := range m.Actors {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b, nil
}

// SchemaVersion returns the layout's version.
func (m *Event) SchemaVersion() uint16 { return schemaVersion }

// View is the data object: an event that reads straight from the bytes of a received
// message, without a copy. It is valid as long as those are.
type View struct {
	wire.Message
	ids []byte
}

// Open views a received message as an event. Errors wrap ErrBody.
func Open(m wire.Message) (View, error) {
	body := m.Body()
	switch {
	case m.Type().Number() != Definition.Number || m.SchemaVersion() != schemaVersion:
		return View{}, fmt.Errorf("%w: type number %d, version %d", ErrBody, m.Type().Number(), m.SchemaVersion())
	case len(body)%idBytes != 0:
		return View{}, fmt.Errorf("%w: %d bytes are no list of ids", ErrBody, len(body))
	}
	return View{m, body}, nil
}

// Len returns the number of actors.
func (v View) Len() int { return len(v.ids) / idBytes }

// At returns the id of the i-th actor.
func (v View) At(i int) uint32 { return binary.LittleEndian.Uint32(v.ids[i*idBytes:]) }

// All returns the ids of the actors.
func (v View) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range v.Len() {
			if !yield(v.At(i)) {
				return
			}
		}
	}
}
