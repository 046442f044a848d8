package rosbridgev2

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what is held of fragmented messages.
const (
	maxFragments     = 1 << 16
	maxFragmented    = 64 << 20 // bytes
	maxFragmentedIDs = 16
)

// Fragments puts fragmented frames together (protocol, section 3.1.1). It holds 64 MiB of
// at most 16 frames; a frame that begins when there are more takes the place of all others.
// It is for one goroutine. The zero value is ready.
type Fragments struct {
	parts map[string]*parts
	bytes int
}

type parts struct {
	list    []string
	missing int
	bytes   int
}

// Add takes a fragment and returns the whole frame when this was the last that was
// missing, else nil. Errors wrap ErrFrame.
func (f *Fragments) Add(frame *Frame) ([]byte, error) {
	id := string(frame.ID)
	if id == "" || frame.Total < 1 || frame.Total > maxFragments || frame.Num < 0 || frame.Num >= frame.Total || frame.Data == "" {
		return nil, fmt.Errorf("%w: fragment %d of %d, id %q", ErrFrame, frame.Num, frame.Total, id)
	}
	p := f.parts[id]
	if p == nil {
		if len(f.parts) >= maxFragmentedIDs || f.parts == nil {
			f.parts, f.bytes = map[string]*parts{}, 0
		}
		p = &parts{list: make([]string, frame.Total), missing: frame.Total}
		f.parts[id] = p
	}
	if len(p.list) != frame.Total || p.list[frame.Num] != "" || f.bytes+len(frame.Data) > maxFragmented {
		f.forget(id)
		return nil, fmt.Errorf("%w: fragment %d of %d, id %q: there twice, of another frame, or too large", ErrFrame, frame.Num, frame.Total, id)
	}
	p.list[frame.Num] = frame.Data
	p.missing--
	p.bytes += len(frame.Data)
	f.bytes += len(frame.Data)
	if p.missing > 0 {
		return nil, nil
	}
	f.forget(id)
	return []byte(strings.Join(p.list, "")), nil
}

// forget drops what is held of a frame.
func (f *Fragments) forget(id string) {
	f.bytes -= f.parts[id].bytes
	delete(f.parts, id)
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
