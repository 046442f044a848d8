package rosbridgev2

import (
	"fmt"
	"strings"
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
