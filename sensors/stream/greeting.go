package stream

import (
	"errors"
	"fmt"
	"io"
)

// hello is a client's greeting.
type hello struct {
	zstd    bool
	streams []string
}

func (h *hello) append(b []byte) []byte {
	rest := le.AppendUint16(nil, uint16(len(h.streams)))
	for _, name := range h.streams {
		rest = appendString(rest, name)
	}
	flags := uint16(0)
	if h.zstd {
		flags |= greetingZstd
	}
	return appendGreeting(b, flags, rest)
}

func appendGreeting(b []byte, word uint16, rest []byte) []byte {
	b = append(b, magic...)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, word)
	b = le.AppendUint32(b, uint32(len(rest)))
	return append(b, rest...)
}

// readGreeting reads a hello or acknowledgement. Of a peer of another version it
// returns the fixed part's word and ErrVersion, after reading the rest.
func readGreeting(r io.Reader, limit int) (word uint16, rest []byte, err error) {
	var fixed [greetingSize]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		if n := len(fixed); errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, nil, fmt.Errorf("%w: it ends within the first %d bytes", ErrMalformed, n)
		}
		return 0, nil, err
	}
	if string(fixed[:len(magic)]) != magic {
		return 0, nil, fmt.Errorf("%w: it begins with %q, want %q", ErrMagic, fixed[:len(magic)], magic)
	}
	version, n := le.Uint16(fixed[8:]), int64(le.Uint32(fixed[12:]))
	word = le.Uint16(fixed[10:])
	if n > int64(limit) {
		return word, nil, fmt.Errorf("%w: a greeting of %d bytes, the most are %d", ErrTooLarge, n, limit)
	}
	// Not more is allocated than arrives.
	rest, err = io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(rest)) < n {
		err = fmt.Errorf("%w: the greeting ends after %d of %d bytes", ErrMalformed, len(rest), n)
	}
	if err == nil && version != Version {
		err = fmt.Errorf("%w: it is %d, this side's is %d", ErrVersion, version, Version)
	}
	return word, rest, err
}

func readHello(r io.Reader) (h hello, err error) {
	flags, rest, err := readGreeting(r, maxHello)
	if err != nil {
		return h, err
	}
	f := fields{b: rest}
	for range f.u16() {
		if f.bad {
			break
		}
		h.streams = append(h.streams, f.string())
	}
	h.zstd = flags&greetingZstd != 0
	return h, f.end("hello")
}

// welcome is the server's acknowledgement.
type welcome struct {
	status   Status
	reason   string
	zstd     bool
	maxFrame uint32
	beatMs   uint32
	// instance is another number for each server that was ever started.
	instance uint64
	streams  []listed
}

// listed is a stream with its id.
type listed struct {
	id   uint16
	info Info
}

func (w *welcome) append(b []byte) []byte {
	rest := appendString(nil, w.reason)
	flags := uint16(0)
	if w.zstd {
		flags |= greetingZstd
	}
	rest = le.AppendUint16(rest, flags)
	rest = le.AppendUint32(rest, w.maxFrame)
	rest = le.AppendUint32(rest, w.beatMs)
	rest = le.AppendUint64(rest, w.instance)
	rest = le.AppendUint16(rest, uint16(len(w.streams)))
	for i := range w.streams {
		rest = appendInfo(rest, w.streams[i].id, &w.streams[i].info)
	}
	return appendGreeting(b, uint16(w.status), rest)
}

// readWelcome returns the acknowledgement, or what the server refuses for.
func readWelcome(r io.Reader) (w welcome, err error) {
	word, rest, err := readGreeting(r, maxTable)
	w.status = Status(word)
	f := fields{b: rest}
	w.reason = f.string()
	if err != nil {
		if errors.Is(err, ErrVersion) && w.reason != "" {
			return w, fmt.Errorf("%w: %s", ErrVersion, w.reason)
		}
		return w, err
	}
	w.zstd = f.u16()&greetingZstd != 0
	w.maxFrame, w.beatMs, w.instance = f.u32(), f.u32(), f.u64()
	for range f.u16() {
		if f.bad {
			break
		}
		id, info := f.info()
		w.streams = append(w.streams, listed{id, info})
	}
	if err := f.end("acknowledgement"); err != nil {
		return w, err
	}
	return w, w.status.err(w.reason)
}
