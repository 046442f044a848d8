package mcap

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/foxglove/mcap/go/mcap"
)

// Damage is a part of a file that can't be read.
type Damage struct {
	Path string
	// Offset is where in the file it begins, Bytes its length.
	Offset, Bytes int64
	// FromNs and ToNs are the log times that it covers, nanoseconds.
	FromNs, ToNs int64
	// Lost is how many messages were in it, of all topics; -1 if that isn't known.
	Lost int64
	// Err says what is wrong; it wraps ErrDamaged.
	Err error
}

// damagedAt is where damage begins.
type damagedAt struct {
	file   int
	offset int64
}

// Damaged returns the parts of the files that Next has left out up to now, each once.
func (r *Reader) Damaged() []Damage { return append([]Damage(nil), r.damaged...) }

// readOn is read for selections that aren't strict, too: damage is noted, not returned.
func (r *Reader) readOn(p part) (messages []queued, held int64, err error) {
	messages, held, err = r.read(p)
	if err == nil {
		return messages, held, nil
	}
	if r.selection.Strict || !errors.Is(err, ErrDamaged) {
		r.memory.Give(held)
		return nil, 0, err
	}
	path := r.files[p.file].path
	place := damagedAt{p.file, p.offset}
	if r.known[place] {
		return messages, held, nil
	}
	r.known[place] = true
	handle, openErr := r.handle(p.file)
	if openErr != nil {
		r.memory.Give(held)
		return nil, 0, openErr
	}
	r.damaged = append(r.damaged, Damage{
		Path: path, Offset: p.offset, Bytes: p.length, FromNs: nanoseconds(p.start), ToNs: nanoseconds(p.end),
		Lost: indexed(handle, p.offset+p.length), Err: err,
	})
	return messages, held, nil
}

// indexed counts the messages that the Message Index records from an offset on, which follow
// their chunk, list; it is -1 if there are none (MCAP specification, "Message Index").
func indexed(file *os.File, offset int64) int64 {
	const fields, entry = 6, 16 // channel and size of the list; time and offset
	lost := int64(-1)
	for {
		var head [recordHeader + fields]byte
		if n, err := file.ReadAt(head[:], offset); n < len(head) || err != nil && !errors.Is(err, io.EOF) {
			return lost
		}
		length, list := binary.LittleEndian.Uint64(head[1:]), binary.LittleEndian.Uint32(head[recordHeader+2:])
		if mcap.OpCode(head[0]) != mcap.OpMessageIndex || length != fields+uint64(list) || list%entry != 0 {
			return lost
		}
		lost = max(lost, 0) + int64(list/entry)
		offset += recordHeader + int64(length)
	}
}
