package velodyne

import (
	"encoding/binary"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// The reader of this file was written from the description of the packets, and shares nothing with
// the bridge. Its lasers are those of the lidars' firing tables.

// laser is a row of a firing table: degrees, metres, nanoseconds.
type laser struct {
	elevation, azimuth, height float64
	ns                         int64
}

// model is a device as a reader knows it.
type model struct {
	preset string
	lasers []laser
	unit   float64
	// perPacket is the columns of a packet; firing is the time from one to the next, slot that from
	// a group of lasers that fire together to the next group.
	perPacket    int
	firing, slot time.Duration
	// aligned is what a stamp is ahead of the first firing.
	aligned time.Duration
	// inner is what the manual's offsets may be off from the preset's times within a packet, and asMade that from the times of
	// the real preset.
	inner, asMade time.Duration
}

// models are the devices by their products' bytes.
func models(t testing.TB) map[byte]*model {
	t.Helper()
	file, err := os.Open("../../sensors/lidar/firing_tables.csv")
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	list := map[byte]*model{
		0x22: {preset: "VelodyneVLP16", unit: 0.002, perPacket: 24, firing: 55296, slot: 2304, inner: 6 * time.Microsecond, asMade: 6 * time.Microsecond},
		0x28: {preset: "VelodyneVLP32C", unit: 0.004, perPacket: 12, firing: 55296, slot: 2304, inner: 35 * time.Microsecond, asMade: 3 * time.Microsecond},
		0xA1: {preset: "VelodyneVLS128", unit: 0.004, perPacket: 3, firing: 53300, slot: 2665, aligned: 8700, inner: 12 * time.Microsecond, asMade: 5 * time.Microsecond},
	}
	number := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return f
	}
	for _, m := range list {
		for _, row := range rows {
			if row[0] == m.preset {
				m.lasers = append(m.lasers, laser{number(row[3]), number(row[4]), number(row[5]) / 1000, int64(math.Round(number(row[6]) * 1e6))})
			}
		}
	}
	return list
}

// offset is the manual's time of a laser's firing after the packet's stamp.
func (m *model) offset(column, laser int) time.Duration {
	return time.Duration(column)*m.firing + m.within(laser) - m.aligned
}

// within is the manual's time of a laser's firing after its column begins.
func (m *model) within(laser int) time.Duration {
	group := laser
	switch len(m.lasers) {
	case 32:
		group = laser / 2
	case 128:
		group = laser/8 + laser/64 // a slot is left out in the middle
	}
	return time.Duration(group) * m.slot
}

// made is the model as a device: its lasers fire at the manual's times, and it turns meanwhile, a turn in a period.
func (m *model) made(period time.Duration) *model {
	device := *m
	device.inner, device.lasers = m.asMade, slices.Clone(m.lasers)
	for i := range device.lasers {
		device.lasers[i].ns = int64(m.within(i))
		device.lasers[i].azimuth += 360 * float64(m.within(i)) / float64(period)
	}
	return &device
}

// reading is what a packet says of one firing, or of one return of it: last is that of the packet's last returns, in dual mode.
type reading struct {
	last          bool
	column, laser int
	stamp         uint32 // of the packet, microseconds past the hour
	azimuth       float64
	distance      float64
	intensity     byte
}

// readPacket reads a data packet: every firing of it, with a distance of 0 for no return.
func readPacket(t testing.TB, models map[byte]*model, b []byte) (m *model, list []reading) {
	t.Helper()
	require.Len(t, b, 1206)
	m = models[b[1205]]
	require.NotNil(t, m, "product %#x", b[1205])
	require.Contains(t, []byte{0x37, 0x38, 0x39}, b[1204])
	dual := b[1204] == 0x39
	stamp := binary.LittleEndian.Uint32(b[1200:])
	require.Less(t, stamp, uint32(3_600_000_000))
	heads := make([]float64, 12)
	if dual && len(m.lasers) == 128 {
		require.Zero(t, countNonZero(b[800:1200]), "the last four blocks are empty")
		heads = heads[:8]
	}
	each := 1 // blocks of the same lasers
	if dual {
		each = 2
	}
	for block := range heads {
		head := b[100*block:]
		bank := 0
		if len(m.lasers) == 128 {
			bank = block / each % 4
		}
		if head[0] != 0xFF || head[1] != []byte{0xEE, 0xDD, 0xCC, 0xBB}[bank] {
			require.Fail(t, "flag", "%x of block %d", head[:2], block)
		}
		azimuth := binary.LittleEndian.Uint16(head[2:])
		require.Less(t, azimuth, uint16(36000))
		heads[block] = float64(azimuth) / 100
		if block%each == 1 {
			require.Equal(t, heads[block-1], heads[block], "azimuths of a pair")
		}
	}
	for block := range heads {
		for record := range 32 {
			r := b[100*block+4+3*record:]
			n := 32*(block/each) + record
			column, laser := n/len(m.lasers), n%len(m.lasers)
			azimuth := heads[block]
			if len(m.lasers) == 16 && record >= 16 { // half way to the next block
				from := min(block/each, len(heads)/each-2) * each
				azimuth += math.Mod(heads[from+each]-heads[from]+360, 360) / 2
			}
			list = append(list, reading{
				last: dual && block%2 == 0, column: column, laser: laser, stamp: stamp, azimuth: azimuth + m.lasers[laser].azimuth,
				distance: float64(binary.LittleEndian.Uint16(r)) * m.unit, intensity: r[2],
			})
		}
	}
	return m, list
}

// point is where a reading's surface is, in the sensor's frame.
func (m *model) point(r reading) [3]float64 {
	l := m.lasers[r.laser]
	sin, cos := math.Sincos(-r.azimuth * math.Pi / 180)
	up, along := math.Sincos(l.elevation * math.Pi / 180)
	return [3]float64{r.distance * along * cos, r.distance * along * sin, l.height + r.distance*up}
}

// scanOf makes a scan as a rolling lidar does: range gives each ray's distance, not positive for a miss.
func (m *model) scanOf(header sample.Header, columns int, period time.Duration, start float64, rangeOf func(column, laser int) float64) *sample.PointCloud {
	c := &sample.PointCloud{Header: header, Rings: len(m.lasers), Columns: columns}
	for column := range columns {
		for i, l := range m.lasers {
			distance := rangeOf(column, i)
			if !(distance > 0) {
				continue
			}
			azimuth := -(start + 360*float64(column)/float64(columns) + l.azimuth) * math.Pi / 180
			sin, cos := math.Sincos(azimuth)
			up, along := math.Sincos(l.elevation * math.Pi / 180)
			c.Points = append(c.Points, sample.Point{
				X: float32(distance * along * cos), Y: float32(distance * along * sin), Z: float32(l.height + distance*up),
				Intensity: float32((column + i) % 256), Distance: float32(distance),
				Azimuth: float32(math.Atan2(sin, cos)), Elevation: float32(l.elevation * math.Pi / 180),
				TimeNs: uint32(int64(column)*int64(period)/int64(columns) + min(l.ns, int64(period)/int64(columns)-1)),
				Ring:   uint16(i), Return: sample.ReturnStrongest, Ray: uint32(column*len(m.lasers) + i),
			})
		}
	}
	return c
}

// dualOf gives each third firing of a scan a weaker echo behind it, and each third a weaker one before it; the others have one. The distances are
// those of the device, or beyond.
func (m *model) dualOf(scan *sample.PointCloud) *sample.PointCloud {
	dual := *scan
	dual.Returns, dual.Points = sample.DualReturns, nil
	for i, p := range scan.Points {
		weak := p
		weak.Intensity = float32(255 - int(p.Intensity))
		p.Return, weak.Return = sample.ReturnOnly, sample.ReturnUnknown
		switch i % 3 {
		case 0:
			weak.Distance, p.Return, weak.Return = p.Distance*1.5+1, sample.ReturnStrongestFirst, sample.ReturnWeakLast
		case 1:
			weak.Distance, p.Return, weak.Return = p.Distance*0.5, sample.ReturnStrongestLast, sample.ReturnWeakFirst
		}
		dual.Points = append(dual.Points, p)
		if weak.Return != sample.ReturnUnknown {
			dual.Points = append(dual.Points, weak)
		}
	}
	return &dual
}

// organized is a dual scan with two points of each firing: those without an echo are misses.
func (m *model) organized(dual *sample.PointCloud) *sample.PointCloud {
	whole := *dual
	whole.Organized, whole.Points = true, make([]sample.Point, 2*dual.Columns*len(m.lasers))
	for i := range whole.Points {
		l := m.lasers[i/2%len(m.lasers)]
		first := &dual.Points[0]
		turned := float64(i/2/len(m.lasers)) - float64(int(first.Ray)/len(m.lasers))
		azimuth := float64(first.Azimuth) - (360*turned/float64(dual.Columns)+l.azimuth-m.lasers[int(first.Ray)%len(m.lasers)].azimuth)*math.Pi/180
		whole.Points[i] = sample.Point{
			Distance: float32(math.Inf(1)), Azimuth: float32(azimuth), Elevation: float32(l.elevation * math.Pi / 180), Ray: uint32(i / 2),
		}
	}
	for i := range dual.Points {
		p := &dual.Points[i]
		at := 2 * p.Ray
		if i > 0 && dual.Points[i-1].Ray == p.Ray {
			at++
		}
		whole.Points[at] = *p
	}
	return &whole
}

// pair is what a device that reports two returns says of a firing: its last echo and its strongest, or its second strongest where the last is
// the strongest. A firing with one echo has it twice.
type pair struct{ last, other *sample.Point }

// pairs are those of a scan's firings, by their numbers; echoes that are too far for a packet are none.
func (m *model) pairs(dual *sample.PointCloud) map[uint32]pair {
	list := map[uint32]pair{}
	for i := range dual.Points {
		p := &dual.Points[i]
		if float64(p.Distance) > m.unit*65535.5 {
			continue
		}
		q, ok := list[p.Ray]
		switch {
		case !ok:
			q = pair{p, p}
		case p.Return == sample.ReturnWeakLast:
			q.last = p
		default:
			q.other = p
		}
		list[p.Ray] = q
	}
	return list
}

func stamped(seq int, period time.Duration) sample.Header {
	return sample.Header{Seq: uint64(seq), Stamp: simtime.Stamp(int64(seq) * int64(period))}
}
