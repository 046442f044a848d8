package lidar

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
)

// ErrFirings says that a file isn't a table of firings.
var ErrFirings = errors.New("bad firing table")

// maxFirings is how many rows a table may have: 4,194,304, seconds of any device.
const maxFirings = 1 << 22

// firing is a row of a table.
type firing struct {
	ns                 int64   // after the first row
	azimuth, elevation float32 // radians, counter-clockwise from ahead and up
	minM, maxM         float32 // 0 where the sensor's own hold
	height             float32 // of the origin, metres
	ring               uint16
}

// firingTable is a device that is given by its firings, in the order of time. It begins at simulation
// time 0, and again after each period.
type firingTable struct {
	rows     []firing
	periodNs int64
	order    []uint32 // of each row, its place in the order in which firings are traced: see packetOrder
	rings    int      // one more than the highest
	scan     int      // the most firings of a scan
	path     string   // of its file; "" for a preset's
	still    bool     // each scan has all rows, at their own times
}

// firingsOf are the firings of a device, in the order of their numbers.
func firingsOf(d *Device, periodNs int64) *firingTable {
	t := &firingTable{still: true, periodNs: periodNs, rings: len(d.Lasers)}
	for _, r := range d.Rays(periodNs) {
		f := firing{
			ns: r.TimeNs, azimuth: float32(math.Atan2(r.Direction[1], r.Direction[0])), elevation: float32(math.Asin(r.Direction[2])),
			minM: float32(r.MinM), maxM: float32(r.MaxM), height: float32(r.Origin[2]), ring: r.Ring,
		}
		t.rows = append(t.rows, f)
	}
	t.scan, t.order = len(t.rows), packetOrder(t.rows)
	return t
}

// bytes is how much memory its rows take.
func (t *firingTable) bytes() int64 {
	return int64(len(t.rows)) * int64(unsafe.Sizeof(firing{})+unsafe.Sizeof(uint32(0)))
}

// all appends each row, with its own time.
func (t *firingTable) all(dst []timed) []timed {
	for i := range t.rows {
		dst = append(dst, timed{uint32(i), uint32(t.rows[i].ns), uint32(i)})
	}
	return dst
}

// readFirings reads the table of a file. A period of 0 is from the first row to the last, and a mean
// step more.
func readFirings(path string, periodSeconds float64) (*firingTable, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read firing table: %w", fault.File(err))
	}
	defer f.Close()
	t, err := readAll(f, periodSeconds)
	if err != nil {
		return nil, fmt.Errorf("read firing table %s: %w", path, err)
	}
	t.path = path
	return t, nil
}

func readAll(f *os.File, periodSeconds float64) (*firingTable, error) {
	lines, err := linesOf(f)
	if err != nil {
		return nil, unreadable(err)
	}
	t, err := parseFirings(f, lines)
	if err != nil {
		return nil, err
	}
	return t, t.close(periodSeconds)
}

// firingColumn is a column of a table.
type firingColumn struct {
	name     string
	unit     string // "" for none
	low, top float64
	needed   bool
	set      func(f *firing, v float64)
}

// firingColumns are those that a table may have, in any order. Names may end in the column's unit ("Time/s", "time [s]", "time (s)"), and
// are in any case: the pattern files of Livox's simulations have Time/s, Azimuth/deg and Zenith/deg.
var firingColumns = []firingColumn{
	{"time", "s", -1e6, 1e6, true, func(f *firing, v float64) { f.ns = int64(math.Round(v * 1e9)) }},
	{"azimuth", "deg", -360, 360, true, func(f *firing, v float64) { f.azimuth = float32(mgl64.DegToRad(math.Remainder(v, 360))) }},
	{"elevation", "deg", -90, 90, true, func(f *firing, v float64) { f.elevation = float32(mgl64.DegToRad(v)) }},
	{"zenith", "deg", 0, 180, false, func(f *firing, v float64) { f.elevation = float32(mgl64.DegToRad(90 - v)) }},
	{"ring", "", 0, math.MaxUint16, false, func(f *firing, v float64) { f.ring = uint16(v) }},
	{"range_min", "m", 0, 1000, false, func(f *firing, v float64) { f.minM = float32(v) }},
	{"range_max", "m", 0, 2000, false, func(f *firing, v float64) { f.maxM = float32(v) }},
}

// linesOf counts the lines of a regular file, which is to be read from its beginning then. Others, such as pipes, have 0.
func linesOf(f *os.File) (lines int, err error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for lines = 1; ; {
		n, err := f.Read(block)
		lines += bytes.Count(block[:n], []byte("\n"))
		if errors.Is(err, io.EOF) {
			_, err = f.Seek(0, io.SeekStart)
			return lines, err
		}
		if err != nil {
			return 0, err
		}
	}
}

// parseFirings reads a table's rows. With the number of their lines they take no more memory than they need; 0 if it isn't known.
func parseFirings(in io.Reader, rows int) (*firingTable, error) {
	lines := csv.NewReader(bufio.NewReader(in))
	lines.ReuseRecord, lines.TrimLeadingSpace, lines.Comment = true, true, '#'
	head, err := lines.Read()
	if err != nil {
		return nil, unreadable(err)
	}
	columns, err := columnsOf(head)
	if err != nil {
		return nil, err
	}
	rows = min(rows, maxFirings)
	t := &firingTable{rows: make([]firing, 0, rows)}
	for {
		texts, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if len(t.rows) == maxFirings {
			return nil, fmt.Errorf("%w: it has more than %d rows", ErrFirings, maxFirings)
		}
		var f firing
		for i, c := range columns {
			if err := c.read(&f, texts[i]); err != nil {
				line, _ := lines.FieldPos(i)
				return nil, fmt.Errorf("%w: line %d: %w", ErrFirings, line, err)
			}
		}
		line, _ := lines.FieldPos(0)
		if err := t.add(f); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFirings, line, err)
		}
	}
}

func unreadable(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is empty: the first line names the columns, such as time,azimuth,elevation", ErrFirings)
	}
	if failed := new(fs.PathError); errors.As(err, &failed) { // a directory, or a disk that fails
		return failed.Err
	}
	return fmt.Errorf("%w: %w", ErrFirings, err)
}

// columnsOf finds the columns that the first line names.
func columnsOf(head []string) ([]firingColumn, error) {
	var names []string
	for _, c := range firingColumns {
		names = append(names, c.name)
	}
	var columns []firingColumn
	has := map[string]bool{}
	for _, text := range head {
		name, unit := nameAndUnit(text)
		i := slices.Index(names, name)
		switch {
		case strings.ContainsAny(name, ";\t"):
			return nil, fmt.Errorf("%w: column %.40q: separate the columns by commas", ErrFirings, text)
		case i >= 0 && unit != "" && unit != firingColumns[i].unit:
			return nil, fmt.Errorf("%w: column %.40q has another unit than %q", ErrFirings, text, firingColumns[i].unit)
		case i < 0:
			return nil, fmt.Errorf("%w: column %.40q: %s", ErrFirings, name, fault.Want(name, names...))
		case has[name]:
			return nil, fmt.Errorf("%w: it has two columns %s", ErrFirings, name)
		}
		has[name] = true
		columns = append(columns, firingColumns[i])
	}
	if has["elevation"] && has["zenith"] {
		return nil, fmt.Errorf("%w: it has elevation and zenith, which say the same: leave one out", ErrFirings)
	}
	for _, c := range firingColumns {
		if c.needed && !has[c.name] && (c.name != "elevation" || !has["zenith"]) {
			return nil, fmt.Errorf("%w: it has no column %s", ErrFirings, c.name)
		}
	}
	return columns, nil
}

// nameAndUnit splits a column's head: NAME, NAME/UNIT, NAME [UNIT] or NAME (UNIT).
func nameAndUnit(head string) (name, unit string) {
	head = strings.ToLower(strings.Trim(head, "\ufeff \t"))
	name, unit = head, ""
	if at := strings.IndexAny(head, "/[("); at >= 0 {
		name, unit = head[:at], strings.Trim(head[at:], "/[]() ")
	}
	return strings.TrimSpace(name), unit
}

func (c *firingColumn) read(f *firing, text string) error {
	text = strings.TrimSpace(text)
	if text == "" && !c.needed && c.name != "zenith" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%s is %.40q, need a number", c.name, text)
	}
	if !(v >= c.low && v <= c.top) {
		return fmt.Errorf("%s is %v, the range is %v to %v", c.name, v, c.low, c.top)
	}
	if c.name == "ring" && v != math.Trunc(v) {
		return fmt.Errorf("ring is %v, need a whole number", v)
	}
	c.set(f, v)
	return nil
}

// add appends a row.
func (t *firingTable) add(f firing) error {
	if n := len(t.rows); n > 0 {
		switch before := t.rows[n-1].ns; {
		case f.ns == before:
			return fmt.Errorf("its time, %v s, is that of the row before: two firings need two times", float64(f.ns)/1e9)
		case f.ns < before:
			return fmt.Errorf("its time, %v s, is before that of the row above: sort the rows by time", float64(f.ns)/1e9)
		}
	}
	if f.maxM > 0 && f.minM >= f.maxM {
		return fmt.Errorf("range_min %v is not below range_max %v", f.minM, f.maxM)
	}
	t.rows = append(t.rows, f)
	t.rings = max(t.rings, int(f.ring)+1)
	return nil
}

// close says after how long the table begins again, counts times from its first row, and puts the rows in order.
func (t *firingTable) close(periodSeconds float64) error {
	n := len(t.rows)
	if n == 0 {
		return fmt.Errorf("%w: it has no row", ErrFirings)
	}
	first, last := t.rows[0].ns, t.rows[n-1].ns-t.rows[0].ns
	for i := range t.rows {
		t.rows[i].ns -= first
	}
	t.periodNs = int64(math.Round(periodSeconds * 1e9))
	switch {
	case t.periodNs == 0 && n == 1:
		return fmt.Errorf("%w: a single row doesn't tell how often it fires: set firing_period", ErrFirings)
	case t.periodNs == 0:
		t.periodNs = last + int64(math.Round(float64(last)/float64(n-1)))
	case t.periodNs <= last:
		return fmt.Errorf("%w: firing_period %v s is over before the last row, which comes %v s after the first",
			sensors.ErrValue, periodSeconds, float64(last)/1e9)
	}
	t.order = packetOrder(t.rows)
	return nil
}

// narrow gives rows without ranges those of the sensor. One that is given bounds the others, too; a low of 0
// bounds nothing.
func (t *firingTable) narrow(low, high float64, highGiven bool) error {
	for i := range t.rows {
		r := &t.rows[i]
		r.minM = max(r.minM, float32(low))
		if r.maxM == 0 || highGiven {
			r.maxM = min(cmp.Or(r.maxM, float32(high)), float32(high))
		}
		if r.minM >= r.maxM {
			return fmt.Errorf("%w: row %d of the firing table is left without a range, %v to %v m: change range_min or range",
				sensors.ErrValue, i+1, r.minM, r.maxM)
		}
	}
	return nil
}

// plan says how many firings a scan of a period has at most.
func (t *firingTable) plan(windowNs int64) error {
	if t.scan = t.most(windowNs, maxRays); t.scan > maxRays {
		return fmt.Errorf("%w: the firing table has more than %d firings in a scan, which are the most, %s: raise the rate", sensors.ErrValue, maxRays, sizeOf(maxRays))
	}
	return nil
}

// device is what is common with other devices. It has no columns.
func (t *firingTable) device() Device {
	d := Device{Name: "firing table", Lasers: make([]Laser, t.rings), MinM: math.Inf(1)}
	for i := range t.rows {
		d.MinM, d.MaxM = min(d.MinM, float64(t.rows[i].minM)), max(d.MaxM, float64(t.rows[i].maxM))
	}
	return d
}

// fieldOfView has all directions of the table, as if they were all round where they are to both sides of
// behind.
func (t *firingTable) fieldOfView() sensors.FieldOfView {
	v := sensors.FieldOfView{Lower: math.Inf(1), Upper: math.Inf(-1)}
	var side float64
	for i := range t.rows {
		r := &t.rows[i]
		side = max(side, math.Abs(mgl64.RadToDeg(float64(r.azimuth))))
		elevation := mgl64.RadToDeg(float64(r.elevation))
		v.Lower, v.Upper, v.Range = min(v.Lower, elevation), max(v.Upper, elevation), max(v.Range, float64(r.maxM))
	}
	v.Horizontal = 2 * side
	return v
}

// most returns how many firings a window of some length has at most, and no more than one above limit.
func (t *firingTable) most(windowNs int64, limit int) int {
	n, most := len(t.rows), 0
	turns := windowNs / t.periodNs
	if turns > int64(limit) {
		return limit + 1
	}
	rest := windowNs - turns*t.periodNs
	for first, end := 0, 0; first < n; first++ {
		for end = max(end, first); end < first+n && t.at(end)-t.at(first) < rest; end++ {
		}
		most = max(most, end-first)
	}
	return min(int(turns)*n+most, limit+1)
}

// at is when firing i of the endless sequence comes.
func (t *firingTable) at(i int) int64 {
	n := len(t.rows)
	return int64(i/n)*t.periodNs + t.rows[i%n].ns
}

// window appends the firings from from on and before to, simulation time, as rows of the table, with
// their times after from.
func (t *firingTable) window(dst []timed, from, to int64) []timed {
	turn := from / t.periodNs
	i := sort.Search(len(t.rows), func(i int) bool { return turn*t.periodNs+t.rows[i].ns >= from })
	for ; ; i++ {
		if i == len(t.rows) {
			turn, i = turn+1, 0
		}
		at := turn*t.periodNs + t.rows[i].ns
		if at >= to {
			return dst
		}
		dst = append(dst, timed{uint32(i), uint32(at - from), uint32(len(dst))})
	}
}

// timed is a firing of a scan: its row of the table, its nanoseconds after the scan's start, its number.
type timed struct{ row, ns, number uint32 }
