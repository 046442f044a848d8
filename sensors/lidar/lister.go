package lidar

import (
	"slices"
	"unsafe"

	"github.com/raybridge/raybridge/shaders"
)

// scanWindow is which part of a table a scan has: where in the table's period it begins, and how long it is. It is zero for a
// table whose scans all have all of it.
type scanWindow struct{ phaseNs, lengthNs int64 }

// windowOf is the part of a table that fires from a time on and before another, simulation time.
func (t *firingTable) windowOf(from, to int64) scanWindow {
	if t.still {
		return scanWindow{}
	}
	return scanWindow{from % t.periodNs, to - from}
}

// listing is the firings of a scan in the order in which they are traced, and for a beam the rows of their neighbours.
type listing struct {
	table  *firingTable
	window scanWindow
	order  firingOrder
	beside []byte
}

// isOf tells whether it is that of a table's window.
func (l *listing) isOf(t *firingTable, w scanWindow) bool { return l.table == t && l.window == w }

// fill makes it that of a table's window. Rays without width have no neighbours, nil.
func (l *listing) fill(t *firingTable, w scanWindow, near *neighbours) {
	l.table, l.window = t, w
	if l.order.list = l.order.list[:0]; t.still {
		l.order.list = t.all(l.order.list)
	} else {
		l.order.list = t.window(l.order.list, w.phaseNs, w.phaseNs+w.lengthNs)
	}
	l.order.sort(t.order)
	if near != nil {
		size := 16 * shaders.NeighbourTexels * t.scan
		l.beside = slices.Grow(l.beside[:0], size)[:size]
		near.put(l.beside, l.order.list, t)
	}
}

// lister lists the firings of scans. If scans differ, it lists the next one on a goroutine of its own while the latest is traced,
// since the search for neighbours takes long. It is its sensor's, whose End waits for the goroutine, and else the GL thread's.
type lister struct {
	near   *neighbours // nil for rays without width; the goroutine's while one runs, as is the listing that isn't the latest
	lists  [2]listing
	latest int           // which of them list has returned
	made   chan struct{} // the goroutine's end; nil while none runs
}

// list returns the listing of a window, which stays as it is until the next call. One that ahead has guessed is ready, or
// soon will be. Others are made here.
func (l *lister) list(t *firingTable, w scanWindow) *listing {
	if now := &l.lists[l.latest]; now.isOf(t, w) {
		return now
	}
	l.wait()
	l.latest = 1 - l.latest
	next := &l.lists[l.latest]
	if !next.isOf(t, w) {
		next.fill(t, w, l.near)
	}
	if t.still && l.near != nil { // no other will be made
		l.near = &neighbours{width: l.near.width, rings: l.near.rings}
	}
	return next
}

// ahead makes the listing of a window that list will be asked for next.
func (l *lister) ahead(t *firingTable, w scanWindow) {
	next := &l.lists[1-l.latest]
	if l.made != nil || l.lists[l.latest].isOf(t, w) || next.isOf(t, w) {
		return
	}
	made := make(chan struct{})
	l.made = made
	go func() {
		defer close(made)
		next.fill(t, w, l.near)
	}()
}

// bytes is how much memory the scans of a table take: the lists, which are sorted to and fro, and the neighbours, with their directions.
func (l *lister) bytes(t *firingTable) int64 {
	lists, each := 2, 2*unsafe.Sizeof(timed{})
	if t.still {
		lists = 1
	}
	total := int64(lists) * int64(t.scan) * int64(each)
	if l.near != nil {
		total += int64(lists) * int64(t.scan) * 16 * shaders.NeighbourTexels
	}
	if l.near != nil && !t.still {
		total += int64(t.scan) * int64(unsafe.Sizeof(aimed{}))
	}
	return total
}

// wait waits for the goroutine. A nil lister has none.
func (l *lister) wait() {
	if l != nil && l.made != nil {
		<-l.made
		l.made = nil
	}
}
