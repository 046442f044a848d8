package logging

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/raybridge/raybridge/internal/fault"
)

// ErrDamaged is of a log that isn't as the bridge writes it.
var ErrDamaged = errors.New("log is damaged")

// MaxLine is the longest line that a Reader takes, bytes: a picture of 8000 x 6000 with
// three floats a pixel has less.
const MaxLine = 1 << 30

// maxHeads is how many first lines a Reader remembers.
const maxHeads = 1024

// Entry is one message of a log.
type Entry struct {
	// Type is the name of the data type ("ImuData"), Topic where it was published.
	Type, Topic string
	// JSON is the message, one JSON object of UTF-8 unless its type is one of your own. It
	// is good until the Reader's next call.
	JSON []byte
}

// Reader reads the messages of a log in the order in which they were logged. One goroutine
// uses it at a time. In steady state it allocates nothing.
type Reader struct {
	file   io.Closer // what Close closes, or nil
	source *source
	lines  *bufio.Reader // nil for a log without a byte
	limit  int           // MaxLine
	heads  map[string]Entry
	head   []byte
	json   []byte
	read   int64 // messages
	err    error // what ended the log
}

// source is where a log is read from.
type source struct {
	io.Reader
	err error // what it has failed with
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Open opens the log of a path, NAME.txt.gz, which is closed by Close. Its errors wrap
// fs.ErrNotExist or NewReader's.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", fault.File(err))
	}
	r, err := NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	r.file = file
	return r, nil
}

// NewReader returns a reader of a log, which stays the caller's. A log without a byte has
// no message: so ends one whose process was killed early. Its errors wrap ErrDamaged, for
// what isn't gzip, or are the source's.
func NewReader(log io.Reader) (*Reader, error) {
	r := &Reader{source: &source{Reader: log}, heads: map[string]Entry{}, limit: MaxLine}
	unpacked, err := gzip.NewReader(r.source)
	switch {
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.err = cutOff(0)
	case err != nil:
		return nil, fmt.Errorf("open log: %w", r.damage(err))
	default:
		r.lines = bufio.NewReader(unpacked)
	}
	return r, nil
}

// Next returns the next message, or io.EOF after the last one. The log of a process that
// was killed may end anywhere: then the messages before come, and at last an error that
// wraps io.ErrUnexpectedEOF. Of a damaged log, too, the messages before the damage come,
// and then an error that wraps ErrDamaged. Every later call returns the same error.
func (r *Reader) Next() (Entry, error) {
	if r.err != nil {
		return Entry{}, r.err
	}
	e, err := r.next()
	if err != nil {
		r.err = err
		return Entry{}, err
	}
	r.read++
	return e, nil
}

func (r *Reader) next() (Entry, error) {
	var err error
	if r.head, err = r.line(r.head[:0]); err != nil {
		if errors.Is(err, io.EOF) && len(r.head) == 0 {
			return Entry{}, io.EOF
		}
		return Entry{}, r.fault(err)
	}
	if r.json, err = r.line(r.json[:0]); err != nil {
		return Entry{}, r.fault(err)
	}
	e, ok := r.heads[string(r.head)]
	if !ok {
		kind, topic, found := bytes.Cut(r.head, []byte(" "))
		if !found || len(kind) == 0 || len(topic) == 0 {
			return Entry{}, r.fault(errors.New("its first line is not a type and topic"))
		}
		e = Entry{Type: string(kind), Topic: string(topic)}
		if len(r.heads) < maxHeads {
			r.heads[string(r.head)] = e
		}
	}
	if !json.Valid(r.json) {
		return Entry{}, r.fault(errors.New("its second line is not JSON"))
	}
	e.JSON = r.json
	return e, nil
}

// line appends a line without its end to dst.
func (r *Reader) line(dst []byte) ([]byte, error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(dst)+len(part) > r.limit {
			return dst, fmt.Errorf("a line has more than %d bytes", r.limit)
		}
		dst = append(dst, part...)
		if err == nil {
			return dst[:len(dst)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

// fault says where the log has ended.
func (r *Reader) fault(err error) error {
	if r.source.err == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return cutOff(r.read)
	}
	return fmt.Errorf("read log: message %d: %w", r.read+1, r.damage(err))
}

func cutOff(read int64) error {
	return fmt.Errorf("read log: it ends early, after %s: %w", fault.Count(read, "message"), io.ErrUnexpectedEOF)
}

// damage tells a damaged log from a source that has failed.
func (r *Reader) damage(err error) error {
	if r.source.err != nil {
		return r.source.err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Close closes what Open opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Float is a number of a log, for the fields of what an Entry's JSON is decoded into. The log
// has names for NaN and the infinities, which JSON doesn't have.
type Float float64

// UnmarshalJSON takes a number, or "NaN", "Infinity" or "-Infinity".
func (f *Float) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*f = Float(math.NaN())
	case `"Infinity"`:
		*f = Float(math.Inf(1))
	case `"-Infinity"`:
		*f = Float(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(f))
	}
	return nil
}
