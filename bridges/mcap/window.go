package mcap

import (
	"fmt"
	"io"

	"github.com/raybridge/raybridge/memory"
)

// leastWindow is how many bytes are read at once at least.
const leastWindow = 64 << 10

// window gives the bytes of a file at offsets that mostly grow, each byte read a few times at
// most. One goroutine uses it at a time.
type window struct {
	file   io.ReaderAt
	size   int64 // of the file
	at     int64 // where data lies in it
	data   []byte
	memory *memory.Budget // data's capacity is taken from it
}

// free gives back what the window took.
func (w *window) free() {
	w.memory.Give(int64(cap(w.data)))
	w.data = nil
}

// loaded returns what is in memory from an offset on: at least so many bytes, fewer only at the
// file's end. They hold until the next call.
func (w *window) loaded(from, least int64) ([]byte, error) {
	least = min(least, w.size-from)
	if from < w.at || from+least > w.at+int64(len(w.data)) {
		length := min(max(least+least/4, leastWindow), w.size-from)
		if int64(cap(w.data)) < length {
			w.free()
			if err := w.memory.Take("a record", length); err != nil {
				return nil, err
			}
			w.data = make([]byte, length)
		}
		w.at, w.data = from, w.data[:length]
		if n, err := w.file.ReadAt(w.data, from); int64(n) < length {
			w.data = w.data[:0]
			return nil, fmt.Errorf("read recording: %w", err)
		}
	}
	return w.data[from-w.at:], nil
}

// bytes returns so many bytes from an offset on, as loaded does.
func (w *window) bytes(from, length int64) ([]byte, error) {
	data, err := w.loaded(from, length)
	return data[:min(length, int64(len(data)))], err
}
