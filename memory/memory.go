// Package memory is the budget of memory for what files make a run hold. Those are models, what
// a rig's sensors need on the GPU, and chunks of recordings. What is about to take a lot asks
// the budget first, so that a file of a few bytes is refused before it costs gigabytes.
package memory

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
)

// ErrExceeded says that something needs more than the budget has. Errors that wrap it are
// *Error.
var ErrExceeded = errors.New("not enough memory")

// Error is a request that was refused.
type Error struct {
	// What needs the memory.
	What string
	// Needs is how much it asked for, Held what is taken already, Limit the budget; bytes.
	Needs, Held, Limit int64
}

func (e *Error) Error() string {
	if e.Held == 0 {
		return fmt.Sprintf("%v: %s needs %s, the limit is %s", ErrExceeded, e.What, Size(e.Needs), Size(e.Limit))
	}
	return fmt.Sprintf("%v: %s needs %s beside %s that are held, the limit is %s", ErrExceeded, e.What, Size(e.Needs), Size(e.Held), Size(e.Limit))
}

// Unwrap returns ErrExceeded.
func (e *Error) Unwrap() error { return ErrExceeded }

// Budget is an amount of memory that several share. A nil Budget has no limit. Any goroutine
// may use it.
type Budget struct {
	limit int64
	mu    sync.Mutex
	held  int64 // guarded by mu
}

// New returns a budget of so many bytes.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Take takes bytes, or returns an *Error and takes none.
func (b *Budget) Take(what string, bytes int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.limit-b.held {
		return &Error{What: what, Needs: bytes, Held: b.held, Limit: b.limit}
	}
	b.held += bytes
	return nil
}

// Give gives back bytes that were taken.
func (b *Budget) Give(bytes int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= bytes
}

// Held returns how many bytes are taken.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Default is half of the machine's memory, or of what its control group may use (cgroup v2 and
// v1), in bytes. It is 4 GiB where neither can be told.
func Default() int64 {
	limit := int64(math.MaxInt64)
	for _, source := range []func() (int64, bool){
		func() (int64, bool) { return memTotal("/proc/meminfo") },
		func() (int64, bool) { return number("/sys/fs/cgroup/memory.max") },
		func() (int64, bool) { return number("/sys/fs/cgroup/memory/memory.limit_in_bytes") },
	} {
		if n, ok := source(); ok && n > 0 {
			limit = min(limit, n)
		}
	}
	if limit == math.MaxInt64 {
		return 4 << 30
	}
	return limit / 2
}

// memTotal reads the line MemTotal of a file like /proc/meminfo (proc_meminfo(5)).
func memTotal(path string) (bytes int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "MemTotal:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// number reads a file with one number; "max" isn't one.
func number(path string) (n int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// units of sizes, longest name first.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseSize reads a positive number of bytes, with a unit or without: 1048576, 500MB, 2GiB.
// The error says what is wanted.
func ParseSize(text string) (int64, error) {
	factor := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, factor = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/factor {
		return 0, errors.New("a positive number of bytes, such as 1048576, 500MB or 2GiB")
	}
	return n * factor, nil
}

// Size is a number of bytes for people, such as 1.5 GiB.
func Size(bytes int64) string {
	for i := 3; i >= 0; i-- {
		if u := units[i]; bytes >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
