package stream

import (
	"fmt"
	"io"
	"reflect"

	"github.com/raybridge/raybridge/simtime"
)

// Writer writes the samples of a recording as a server sends them, for a program that only reads, such as at a
// pipe's end. It writes a greeting, a description of each stream, messages and a goodbye. Recordings
// don't have sequences, frames' numbers and sensors' poses, so their envelopes say that none are given. Each message
// is copied once, and waits for the reader. One goroutine uses it.
type Writer struct {
	to     io.Writer
	lastID uint16
	out    []byte // what is being written; its memory is used again
}

// NewWriter writes the greeting.
func NewWriter(to io.Writer) (*Writer, error) {
	w := &Writer{to: to}
	hello := welcome{maxFrame: MaxSize, beatMs: 1000}
	return w, w.write(hello.append(nil))
}

// Track is one stream of a Writer.
type Track struct {
	writer   *Writer
	id       uint16
	encoding *Encoding
	sequence uint32
}

// Add writes the description of a stream of samples of a type. Errors are EncodingOf's, of which nothing is written,
// and the writer's.
func (w *Writer) Add(info Info, samples reflect.Type) (*Track, error) {
	encoding, err := EncodingOf(samples)
	if err != nil {
		return nil, err
	}
	if w.lastID == maxStreams {
		return nil, fmt.Errorf("add stream %q: %w: there are %d", info.Name, ErrTooLarge, maxStreams)
	}
	w.lastID++
	info.Schema = encoding.Schema
	t := &Track{writer: w, id: w.lastID, encoding: encoding}
	return t, w.write(appendControl(w.out[:0], controlStream, appendInfo(nil, t.id, &info)))
}

// Write writes a sample of the stream's type, that was handed over at a simulation time. Errors that wrap ErrTooLarge
// are of the sample, and nothing of it is written.
func (t *Track) Write(publishNs int64, msg simtime.Stamped) error {
	w := t.writer
	b, err := t.encoding.Append(append(w.out[:0], make([]byte, frameSize)...), publishNs, msg, MaxSize)
	if err != nil {
		return err
	}
	le.PutUint16(b[frameSize+offFlags:], 0)
	n := uint32(len(b) - frameSize)
	(&frame{length: n, stream: t.id, sequence: t.sequence, plain: n}).put(b)
	t.sequence++
	return w.write(b)
}

// Close writes the goodbye. Without it the reader knows that something is missing.
func (w *Writer) Close() error {
	payload := appendString(le.AppendUint16(nil, uint16(StatusClosing)), "this was all")
	return w.write(appendControl(w.out[:0], controlBye, payload))
}

func (w *Writer) write(b []byte) error {
	w.out = b
	_, err := w.to.Write(b)
	return err
}
