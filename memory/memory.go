// Package memory is the budget for the memory that files make a run hold: models, the GPU memory
// of a rig's sensors, and chunks of recordings. Code that is about to take a lot asks the budget
// first, so that a file of a few bytes is refused before it costs gigabytes.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
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
	// Whole is the memory that the limit follows from, for a budget of OfMachine; else 0.
	Whole int64
}

func (e *Error) Error() string {
	held, why := "", ""
	if e.Held > 0 {
		held = fmt.Sprintf(" beside %s that are held", Size(e.Held))
	}
	if e.Whole > 0 {
		why = fmt.Sprintf(": half of what is left of %s beside %s for the program itself", Size(e.Whole), Size(Baseline))
	}
	return fmt.Sprintf("%v: %s needs %s%s, the limit is %s%s", ErrExceeded, e.What, Size(e.Needs), held, Size(e.Limit), why)
}

// Unwrap returns ErrExceeded.
func (e *Error) Unwrap() error { return ErrExceeded }

// Budget is an amount of memory that several share. A nil Budget has no limit. Any goroutine
// may use it.
type Budget struct {
	limit int64
	whole int64   // Error.Whole
	of    *Budget // that this one is a share of; nil for none
	mu    sync.Mutex
	held  int64 // guarded by mu
}

// New returns a budget of so many bytes.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// OfMachine returns a budget of Default, whose errors say what that follows from.
func OfMachine() *Budget { return ofMachine(os.DirFS("/")) }

func ofMachine(root fs.FS) *Budget {
	b := &Budget{}
	b.limit, b.whole = defaultOf(root)
	return b
}

// Share returns a budget of an n-th of this one. What is taken from it is taken from both, so that it leaves the rest to
// others. A nil Budget has a nil share.
func (b *Budget) Share(n int64) *Budget {
	if b == nil {
		return nil
	}
	return &Budget{limit: b.limit / n, of: b}
}

// Take takes bytes, or returns an *Error and takes none.
func (b *Budget) Take(what string, bytes int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.limit-b.held {
		return &Error{What: what, Needs: bytes, Held: b.held, Limit: b.limit, Whole: b.whole}
	}
	if err := b.of.Take(what, bytes); err != nil {
		return err
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
	b.of.Give(bytes)
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

// Baseline is what the program needs that no budget counts: its code, the Go runtime, the device's driver, and queues. With
// an empty scene it was 84 MiB on the host device, beside what was counted, and 170 MiB with OpenGL on the CPU.
const Baseline = 128 << 20

// Default is half of what Baseline leaves of the machine's memory, or of what this process's control groups may use,
// in bytes. The other half is for what is held twice: by the host device, and as garbage until it is cleared. The least
// limit of the process's own group and of those above it counts (cgroup v2 and v1). It is 4 GiB where none can be told,
// and never less than a byte.
func Default() int64 {
	limit, _ := defaultOf(os.DirFS("/"))
	return limit
}

// defaultOf is Default on a machine whose files are those of root, and the memory that it follows from: 0 where none
// can be told.
func defaultOf(root fs.FS) (limit, whole int64) {
	whole = math.MaxInt64
	for _, n := range append(groupLimits(root), memTotal(root)) {
		if n > 0 {
			whole = min(whole, n)
		}
	}
	if whole == math.MaxInt64 {
		return 4 << 30, 0
	}
	return max((whole-Baseline)/2, 1), whole
}

// memTotal is the machine's memory by /proc/meminfo (proc_meminfo(5)), 0 where it can't be told.
func memTotal(root fs.FS) int64 {
	for _, line := range lines(root, "proc/meminfo") {
		if rest, found := strings.CutPrefix(line, "MemTotal:"); found {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// limitFiles hold a group's limits, by the type of its file system. A group beyond memory.high is
// slowed down until it stands still.
var limitFiles = map[string][]string{
	"cgroup2": {"memory.max", "memory.high"},
	"cgroup":  {"memory.limit_in_bytes"},
}

// groupLimits returns the limits of this process's groups and of all above them, bytes. A group
// may have less than what is above it, and never has more.
func groupLimits(root fs.FS) (limits []int64) {
	for _, m := range groupMounts(root) {
		for folder := ownGroup(root, &m); ; folder = path.Dir(folder) {
			for _, name := range limitFiles[m.kind] {
				for _, line := range lines(root, path.Join(folder, name)) {
					if n, err := strconv.ParseInt(line, 10, 64); err == nil { // "max" sets no limit
						limits = append(limits, n)
					}
				}
			}
			if folder == m.point {
				break
			}
		}
	}
	return limits
}

// groupMount is where groups with limits of memory are to be seen. A container may see its own
// part alone, which begins at root.
type groupMount struct{ kind, root, point string }

// groupMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)).
func groupMounts(root fs.FS) (mounts []groupMount) {
	for _, line := range lines(root, "proc/self/mountinfo") {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 || limitFiles[what[0]] == nil {
			continue
		}
		if what[0] == "cgroup2" || slices.Contains(strings.Split(what[2], ","), "memory") {
			mounts = append(mounts, groupMount{what[0], where[3], strings.TrimPrefix(path.Clean(where[4]), "/")})
		}
	}
	return mounts
}

// ownGroup returns the folder of this process's group by /proc/self/cgroup (cgroups(7)), as far as
// it is to be seen: else the mount itself.
func ownGroup(root fs.FS, m *groupMount) string {
	for _, line := range lines(root, "proc/self/cgroup") {
		field := strings.SplitN(line, ":", 3)
		if len(field) < 3 {
			continue
		}
		unified := field[0] == "0" && field[1] == ""
		if unified != (m.kind == "cgroup2") || !unified && !slices.Contains(strings.Split(field[1], ","), "memory") {
			continue
		}
		below, ok := strings.CutPrefix(field[2], strings.TrimSuffix(m.root, "/"))
		if !ok || strings.HasPrefix(below, "/..") {
			return m.point // a group of another namespace
		}
		return path.Join(m.point, below)
	}
	return m.point
}

// lines returns a file's lines, none where it can't be read.
func lines(root fs.FS, name string) []string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
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
