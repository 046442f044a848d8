package velodyne

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Sizes of a data packet and its parts, bytes unless they say otherwise.
const (
	dataBytes    = 1206
	blocks       = 12
	blockBytes   = 100
	blockRecords = 32 // records of a block
	headBytes    = 4  // of a block: flag and azimuth
	recordBytes  = 3  // distance and intensity

	stampAt, modeAt, productAt = 1200, 1204, 1205
)

// modes are the return modes that the devices have, by their bytes.
var modes = map[sample.ReturnMode]byte{"": 0x37, sample.StrongestReturn: 0x37, sample.LastReturn: 0x38, sample.DualReturns: 0x39}

// packets are those of one scan.
type packets struct {
	data   []byte          // data packets, one after another
	stamps []simtime.Stamp // of each data packet: its first firing's time
	before int             // data packets that begin with columns of an earlier scan: they come first
}

func (p *packets) reset() { *p = packets{data: p.data[:0], stamps: p.stamps[:0]} }

// encoder makes packets of one lidar's scans. A packet may have the last columns of a scan and
// the first of the next one. One goroutine uses it at a time.
type encoder struct {
	packet [dataBytes]byte // that is being filled
	filled int             // its columns
	stamp  simtime.Stamp   // of its first column

	// device, mode, step and azimuth are those of the last scan, none yet at nil: degrees from column to
	// column, and of the column that comes next.
	device        *device
	mode          byte
	returns       int // of a firing, by the mode: a block for each
	columns       int // of a packet
	step, azimuth float64
	next          simtime.Stamp // when that column is due
	column        time.Duration // from column to column

	seen bool // there was a scan, of these:
	seq  uint64
	at   simtime.Stamp
	// interval is how long a turn took from the scan before the last to the last, 0 where that is unknown. steady
	// says that the interval before was as long.
	interval time.Duration
	steady   bool

	late time.Duration // the most that a firing time of the last scan is off from the device's
	told bool          // tell has
}

// scan appends the packets that a scan completes. The error, which is bridges.ErrConvert, says that
// no device has made the scan; nothing was appended then.
func (e *encoder) scan(dst *packets, m *sample.PointCloud) error {
	e.follow(m)
	s, err := e.read(m)
	if err != nil {
		return err
	}
	if e.filled > 0 {
		dst.before = 1
	}
	if e.filled > 0 && (e.device != s.device || e.mode != s.mode || time.Duration(m.Stamp-e.next).Abs() > e.column) {
		e.flush(dst) // a scan was lost in between
	}
	e.device, e.step, e.column = s.device, s.step, s.period/time.Duration(m.Columns)
	e.mode, e.returns = s.mode, m.Returns.Points()
	e.columns = s.device.columns(e.returns)
	points, rings := m.Points, uint32(m.Rings)
	for column := range m.Columns {
		at := m.Stamp + simtime.Stamp(int64(column)*int64(s.period)/int64(m.Columns))
		e.begin(at, s.start+float64(column)*s.step)
		n := 0
		for ; n < len(points) && points[n].Ray/rings == uint32(column); n++ {
			switch {
			case n > 0 && points[n].Ray == points[n-1].Ray: // the first of a firing is the strongest
			case e.returns == 1:
				e.record(&points[n], 0, m.UnitIntensity)
			default:
				e.pair(points[n:], m.UnitIntensity)
			}
		}
		points = points[n:]
		e.end(dst)
	}
	e.next, e.azimuth = m.Stamp+simtime.Stamp(s.period), s.start+360
	e.late = s.late
	return nil
}

// tell tells once of firing times that are far from the device's.
func (e *encoder) tell(log *slog.Logger) {
	if e.told || e.late <= mostDrift {
		return
	}
	e.told = true
	log.Info("the lidar fires at other times than the device, whose times decoders add: a preset that ends in _real fires as the device does",
		"off", e.late.Round(time.Microsecond), "preset", e.device.preset+"_real")
}

// follow notes when a scan came, also one that can't be sent: the interval to the next begins with it.
func (e *encoder) follow(m *sample.PointCloud) {
	before := e.interval
	e.interval = 0
	if e.seen && m.Seq > e.seq && m.Stamp > e.at {
		e.interval = max(0, time.Duration(m.Stamp-e.at)/time.Duration(m.Seq-e.seq))
	}
	e.steady = before > 0 && (e.interval-before).Abs() <= before/100
	e.seen, e.seq, e.at = true, m.Seq, m.Stamp
}

// flush appends the packet that isn't full, if there is one, with columns without returns.
func (e *encoder) flush(dst *packets) {
	for e.filled > 0 {
		e.begin(e.next, e.azimuth)
		e.end(dst)
		e.next += simtime.Stamp(e.column)
		e.azimuth += e.step
	}
}

// begin begins a column: the blocks that start with it have its azimuth, degrees clockwise from ahead.
func (e *encoder) begin(at simtime.Stamp, azimuth float64) {
	rings := len(e.device.elevations)
	hundredths := uint16(((int64(math.Floor(azimuth*100+0.5)) % 36000) + 36000) % 36000)
	if e.filled == 0 {
		e.packet, e.stamp = [dataBytes]byte{}, at
		for empty := e.columns * rings * e.returns / blockRecords; empty < blocks; empty++ { // decoders look for turns in the last block
			binary.LittleEndian.PutUint16(e.packet[empty*blockBytes+2:], hundredths)
		}
	}
	for first, bank := e.filled*rings, 0; bank < rings; bank += blockRecords {
		if record := first + bank; record%blockRecords == 0 {
			for k := range e.returns {
				head := e.packet[(record/blockRecords*e.returns+k)*blockBytes:]
				head[0], head[1] = 0xFF, 0xEE-0x11*byte(bank/blockRecords)
				binary.LittleEndian.PutUint16(head[2:], hundredths)
			}
		}
	}
}

// pair writes the echoes of a firing of the column that was begun into a pair of blocks. The first has the last echo, the second the
// strongest, or the second strongest where the last is the strongest. A firing with one echo has it in both. The points begin
// with the firing's, the strongest first.
func (e *encoder) pair(points []sample.Point, unit bool) {
	last, other := &points[0], &points[0]
	if len(points) > 1 && points[1].Ray == points[0].Ray {
		switch {
		case !e.device.has(&points[1]):
		case !e.device.has(&points[0]):
			last, other = &points[1], &points[1]
		case isLast(&points[0], &points[1]):
			other = &points[1]
		default:
			last = &points[1]
		}
	}
	e.record(last, 0, unit)
	e.record(other, 1, unit)
}

// isLast reports whether the strongest of two echoes is the last. Its number tells, whichever return_codes the lidar has: noise may have
// measured the nearer one as the farther.
func isLast(strongest, other *sample.Point) bool {
	switch strongest.Return {
	case sample.ReturnStrongestLast, nebulaLastStrongest, velodyneLast:
		return true
	case sample.ReturnStrongestFirst, nebulaFirstStrongest, velodyneStrongest:
		return false
	}
	return strongest.Distance >= other.Distance
}

// Numbers of the strongest of two echoes, as Nebula and velodyne_decoder have them.
const (
	nebulaFirstStrongest = 9
	nebulaLastStrongest  = 10
	velodyneStrongest    = 1
	velodyneLast         = 2
)

// has reports whether packets can have an echo: its distance is 1 to 65,535 units, rounded.
func (d *device) has(p *sample.Point) bool {
	units := float64(p.Distance) / d.unitM
	return p.Return != sample.ReturnUnknown && units >= 0.5 && units < math.MaxUint16+0.5
}

// record writes an echo of the column that was begun into one of its blocks, if packets can have it.
func (e *encoder) record(p *sample.Point, block int, unit bool) {
	if !e.device.has(p) {
		return
	}
	rings := len(e.device.elevations)
	n := e.filled*rings + int(p.Ray)%rings
	out := e.packet[(n/blockRecords*e.returns+block)*blockBytes+headBytes+n%blockRecords*recordBytes:]
	binary.LittleEndian.PutUint16(out, uint16(math.Round(float64(p.Distance)/e.device.unitM)))
	intensity := float64(p.Intensity)
	if unit {
		intensity *= 255
	}
	out[2] = byte(min(max(math.Round(intensity), 0), 255)) // 0 for what isn't a number
}

// end ends the column, and the packet where that is its last.
func (e *encoder) end(dst *packets) {
	if e.filled++; e.filled < e.columns {
		return
	}
	binary.LittleEndian.PutUint32(e.packet[stampAt:], pastHour(e.stamp+simtime.Stamp(e.device.aligned)))
	e.packet[modeAt], e.packet[productAt] = e.mode, e.device.product
	dst.data = append(dst.data, e.packet[:]...)
	dst.stamps = append(dst.stamps, e.stamp)
	e.filled = 0
}

// pastHour returns the microseconds since the full hour.
func pastHour(at simtime.Stamp) uint32 {
	const hour = int64(time.Hour / time.Microsecond)
	return uint32((microseconds(at)%hour + hour) % hour)
}

// microseconds returns a stamp in the packets' unit.
func microseconds(at simtime.Stamp) int64 { return (int64(at) + 500) / 1000 }

// turn is what a scan says of the device's turn.
type turn struct {
	device      *device
	mode        byte
	start, step float64 // azimuth of the first column, and from column to column: degrees
	period      time.Duration
	late        time.Duration // the most that firing times are off from the device's within a packet, as the points tell
}

// read looks at a scan, and returns an error if it isn't one of a device.
func (e *encoder) read(m *sample.PointCloud) (t turn, err error) {
	if t.device, err = deviceOf(m.Rings); err != nil {
		return t, err
	}
	if t.mode = modes[m.Returns]; t.mode == 0 {
		return t, fmt.Errorf("%w: a %s reports no %s return: set returns: strongest, last or dual", bridges.ErrConvert, t.device.name, m.Returns)
	}
	if m.IntensityCode != "" && m.IntensityCode != "velodyne" {
		return t, fmt.Errorf("%w: its intensities are on the scale of %s: set intensity_code: velodyne", bridges.ErrConvert, m.IntensityCode)
	}
	if most := slowestColumns; m.Columns < 1 || m.Columns > most {
		return t, fmt.Errorf("%w: a scan of %d columns: a %s has %d at most", bridges.ErrConvert, m.Columns, t.device.name, most)
	}
	t.step = 360 / float64(m.Columns)
	if e.device == t.device {
		t.start = math.Remainder(e.azimuth, 360) // unless a point tells
	}
	firsts, err := t.readPoints(m)
	if err != nil {
		return t, err
	}
	var first *sample.Point // of the laser that has the last point
	if n := len(m.Points); n > 0 {
		first = firsts[int(m.Points[n-1].Ray)%m.Rings]
	}
	if t.period, err = e.period(m, t.device, first); err == nil && timedPeriod(m, first) > 0 {
		t.late = t.lateness(m, &firsts)
	}
	return t, err
}

// lateness returns how far the firing times are off from the device's within a packet, at most, by the first points of lasers.
func (t *turn) lateness(m *sample.PointCloud, firsts *firstPoints) (most time.Duration) {
	drift := t.device.drift(m.Columns, t.period)
	for laser, p := range firsts {
		if p != nil {
			began := time.Duration(int64(p.Ray) / int64(m.Rings) * int64(t.period) / int64(m.Columns))
			late := time.Duration(p.TimeNs) - began - t.device.fires(laser)
			most = max(most, late.Abs(), (late + drift).Abs())
		}
	}
	return most
}

// firstPoints are the first of a scan by their lasers, nil for none.
type firstPoints [128]*sample.Point

// ownPeriod is how long a turn of so many columns takes at the device's pace.
func ownPeriod(columns int) time.Duration { return time.Duration(columns) * time.Second / 18000 }

// slowestColumns is more than a device has columns at its slowest, whatever its firing cycle.
const slowestColumns = 4000

// readPoints checks the rays of all points, that the scan goes all the way round, and the direction of each laser, and sets the
// start.
func (t *turn) readPoints(m *sample.PointCloud) (firsts firstPoints, err error) {
	if len(m.Points) == 0 {
		return firsts, nil
	}
	rings := uint32(m.Rings)
	rays, before := rings*uint32(m.Columns), uint32(0)
	for i := range m.Points {
		p := &m.Points[i]
		if p.Ray < before || p.Ray >= rays {
			return firsts, fmt.Errorf("%w: ray %d comes after ray %d in a scan of %d: want them in the order of firing", bridges.ErrConvert, p.Ray, before, rays)
		}
		before = p.Ray
		if laser := p.Ray % rings; firsts[laser] == nil {
			firsts[laser] = p
		}
	}
	last := &m.Points[len(m.Points)-1]
	first := firsts[last.Ray%rings]
	if turned := math.Remainder(t.columnAzimuth(last, rings)-t.columnAzimuth(first, rings), 360); !(math.Abs(turned) < closeDegrees) {
		return firsts, fmt.Errorf("%w: the scan's %d columns aren't %.4g degrees apart: the lidar must turn by 360 degrees: leave horizontal_fov out",
			bridges.ErrConvert, m.Columns, t.step)
	}
	// The lidar turns on between two lasers of a column, or, as plain presets do, from column to column: whichever fits.
	still, turning := t.aim(m, &firsts, false), t.aim(m, &firsts, true)
	fits := still
	if turning.apart < still.apart {
		fits = turning
	}
	t.start = fits.start
	for laser, p := range firsts {
		if p == nil {
			continue
		}
		if err := t.device.checkLaser(laser, t.columnAzimuth(p, rings)-t.start, fits.offset(laser), mgl64.RadToDeg(float64(p.Elevation))); err != nil {
			return firsts, err
		}
	}
	return firsts, nil
}

// aim is where the lasers of a scan point if the lidar turns on between them, or doesn't.
type aim struct {
	start, apart float64 // azimuth of the first column, and what a laser points away from it at most: degrees
	offset       func(laser int) float64
}

// aim takes the start from the first point, and compares it with each laser's.
func (t *turn) aim(m *sample.PointCloud, firsts *firstPoints, turning bool) (a aim) {
	rings, period := uint32(m.Rings), ownPeriod(m.Columns)
	a.offset = func(laser int) float64 { return t.device.offset(laser, turning, period) }
	// To a tenth of a thousandth, which float32 have exactly.
	a.start = math.Round((t.columnAzimuth(&m.Points[0], rings)-a.offset(int(m.Points[0].Ray%rings)))*1e4) / 1e4
	for laser, p := range firsts {
		if p != nil {
			a.apart = max(a.apart, math.Abs(math.Remainder(t.columnAzimuth(p, rings)-a.start-a.offset(laser), 360)))
		}
	}
	return a
}

// columnAzimuth returns a point's azimuth less what the lidar has turned since the first column, degrees clockwise.
func (t *turn) columnAzimuth(p *sample.Point, rings uint32) float64 {
	return -mgl64.RadToDeg(float64(p.Azimuth)) - float64(p.Ray/rings)*t.step
}

// period returns how long the turn takes: as the times of one laser's points tell, else the interval since the
// scan before, else that of the device's turn, and an error if the device can't make that turn. A run that is late leaves
// instants out, which no seq tells. So an interval that isn't a device's turn counts only if the one before was as long.
func (e *encoder) period(m *sample.PointCloud, d *device, first *sample.Point) (time.Duration, error) {
	if timed := timedPeriod(m, first); timed > 0 {
		return timed, d.checkTurn(m.Columns, timed)
	}
	if e.interval > 0 {
		if err := d.checkTurn(m.Columns, e.interval); err == nil || e.steady {
			return e.interval, err
		}
	}
	own := ownPeriod(m.Columns)
	return own, d.checkTurn(m.Columns, own)
}

// timedPeriod returns how long the turn takes as the times of one laser's points tell, 0 where they don't. Times of points
// are whole nanoseconds, so that a period that is near to whole microseconds is taken for that.
func timedPeriod(m *sample.PointCloud, first *sample.Point) time.Duration {
	if first == nil {
		return 0
	}
	columns := int64(m.Columns)
	last, rings := &m.Points[len(m.Points)-1], uint32(m.Rings)
	passed, time64 := int64(last.Ray/rings)-int64(first.Ray/rings), int64(last.TimeNs)-int64(first.TimeNs)
	if passed <= 0 || time64 <= 0 {
		return 0
	}
	exact := time.Duration((time64*columns + passed/2) / passed)
	if whole := exact.Round(time.Microsecond); (whole - exact).Abs() <= time.Duration(columns/passed+1) {
		return whole
	}
	return exact
}
