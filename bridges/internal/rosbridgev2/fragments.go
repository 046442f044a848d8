package rosbridgev2

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/raybridge/raybridge/internal/guard"
)

// maxFragmented bounds what is held of fragmented messages without a Holder, bytes.
const maxFragmented = 64 << 20

// Holder bounds what is kept for a peer; a transport.WebSocket is one.
type Holder interface {
	Hold(n int) error
	Release(n int)
}

// Fragments puts fragmented frames together (protocol, section 3.1.1). It holds at most
// guard.FragmentedMessages frames. One more takes the place of all others. It is for one goroutine. The zero value is ready.
type Fragments struct {
	// Holder bounds what is held; without one 64 MiB do.
	Holder Holder

	parts map[string]*parts
	bytes int
}

type parts struct {
	list    []string
	missing int
	bytes   int
}

// partBytes is what a fragment takes besides its text.
const partBytes = 16

// Add takes a fragment and returns the whole frame when this was the last that was
// missing, else nil. Errors wrap ErrFrame.
func (f *Fragments) Add(frame *Frame) ([]byte, error) {
	id := string(frame.ID)
	if id == "" || frame.Total < 1 || frame.Total > guard.Fragments || frame.Num < 0 || frame.Num >= frame.Total || frame.Data == "" {
		return nil, f.unfit(frame, errors.New("bad num, total or id, or no data"))
	}
	p := f.parts[id]
	if p == nil {
		if len(f.parts) >= guard.FragmentedMessages {
			f.forgetAll()
		}
		if f.parts == nil {
			f.parts = map[string]*parts{}
		}
		p = &parts{missing: frame.Total}
		if err := f.hold(p, len(id)+partBytes*frame.Total); err != nil {
			return nil, f.unfit(frame, err)
		}
		p.list = make([]string, frame.Total)
		f.parts[id] = p
	}
	var err error
	switch {
	case len(p.list) != frame.Total:
		err = errors.New("it is of another frame")
	case p.list[frame.Num] != "":
		err = errors.New("it is there already")
	default:
		err = f.hold(p, len(frame.Data))
	}
	if err != nil {
		f.forget(id)
		return nil, f.unfit(frame, err)
	}
	p.list[frame.Num] = frame.Data
	if p.missing--; p.missing > 0 {
		return nil, nil
	}
	whole := join(p.list)
	f.forget(id)
	return whole, nil
}

// unfit is the error of a fragment that isn't taken.
func (f *Fragments) unfit(frame *Frame, err error) error {
	return fmt.Errorf("%w: fragment %d of %d, id %.100q: %w", ErrFrame, frame.Num, frame.Total, frame.ID, err)
}

// join returns all parts, one after the other.
func join(list []string) []byte {
	size := 0
	for _, part := range list {
		size += len(part)
	}
	whole := make([]byte, 0, size)
	for _, part := range list {
		whole = append(whole, part...)
	}
	return whole
}

// hold counts n bytes more for a frame.
func (f *Fragments) hold(p *parts, n int) error {
	if f.Holder != nil {
		if err := f.Holder.Hold(n); err != nil {
			return err
		}
	} else if f.bytes+n > maxFragmented {
		return fmt.Errorf("more than %d MiB of frames that aren't complete", maxFragmented>>20)
	}
	p.bytes += n
	f.bytes += n
	return nil
}

// forget drops what is held of a frame.
func (f *Fragments) forget(id string) {
	p := f.parts[id]
	f.bytes -= p.bytes
	if f.Holder != nil {
		f.Holder.Release(p.bytes)
	}
	delete(f.parts, id)
}

// forgetAll drops what is held of all frames.
func (f *Fragments) forgetAll() {
	for id := range f.parts {
		f.forget(id)
	}
}

// splitter makes fragments of frames in JSON that are larger than the server takes. It is
// for one goroutine.
type splitter struct {
	limit int    // of a frame, bytes
	name  string // which no other client's fragments have: a server keeps all of them together
	count int
	buf   []byte
}

func newSplitter(limit int) *splitter {
	return &splitter{limit: limit, name: "raybridge-" + rand.Text()}
}

// split writes the fragments of a frame, in their order: some servers join them in that in
// which they come. Each is at most as large as the limit, and text by itself.
func (s *splitter) split(frame []byte, write func(fragment []byte) error) error {
	s.count++
	id := s.name + "-" + strconv.Itoa(s.count)
	const most = `{"op":"fragment","id":"","num":,"total":,"data":""}` + "9999999999" + "9999999999"
	room := s.limit - len(most) - len(id)
	total := 0
	for rest := frame; len(rest) > 0; total++ {
		rest = rest[textWithin(rest, room):]
	}
	for num := range total {
		n := textWithin(frame, room)
		s.buf = fmt.Appendf(s.buf[:0], `{"op":"fragment","id":"%s","num":%d,"total":%d,"data":"`, id, num, total)
		s.buf = append(appendEscaped(s.buf, frame[:n]), `"}`...)
		frame = frame[n:]
		if err := write(s.buf); err != nil {
			return err
		}
	}
	return nil
}

// textWithin returns how much of a text takes up to so many bytes in a JSON string: whole
// characters, one at least.
func textWithin(text []byte, room int) int {
	size, n := 0, 0
	for n < len(text) {
		width := 1
		if text[n] >= utf8.RuneSelf {
			_, width = utf8.DecodeRune(text[n:])
		}
		if size += escapedSize(text[n], width); size > room && n > 0 {
			break
		}
		n += width
	}
	return n
}

// escapedSize returns what a character of so many bytes takes in a JSON string.
func escapedSize(c byte, width int) int {
	switch {
	case c == '"' || c == '\\':
		return 2
	case c < ' ':
		return len(`\u0000`)
	default:
		return width
	}
}

// appendEscaped appends a text as it stands in a JSON string.
func appendEscaped(dst, text []byte) []byte {
	begin := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[begin:i]...)
		begin = i + 1
		if c < ' ' {
			dst = fmt.Appendf(dst, `\u%04x`, c)
		} else {
			dst = append(dst, '\\', c)
		}
	}
	return append(dst, text[begin:]...)
}
