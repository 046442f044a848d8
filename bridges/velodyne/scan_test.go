package velodyne

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// rough is a range for each ray: near and far ones, misses, and some beyond what a packet can say.
func rough(m *model, seed uint64) func(column, laser int) float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	return func(int, int) float64 {
		switch n := random.IntN(10); {
		case n < 3:
			return 0
		case n == 3:
			return m.unit * (65536 + 1000*random.Float64())
		default:
			return 0.5 + random.Float64()*m.unit*60000
		}
	}
}

// TestScansComeBack: what the reader makes of packets is the scan, within half a unit and a
// thousandth of a degree, each return once, and misses and what is too far are none. A reader of a device's own scan finds all firing times
// within 7 µs, of the plain preset's within what the manual has.
func TestScansComeBack(t *testing.T) {
	list := models(t)
	for product, plain := range list {
		for _, c := range []struct {
			rate int
			real bool
		}{{5, false}, {10, false}, {20, false}, {5, true}, {10, true}, {20, true}} {
			t.Run(fmt.Sprintf("%s at %d Hz, real %v", plain.preset, c.rate, c.real), func(t *testing.T) {
				columns, period := 18000/c.rate, time.Second/time.Duration(c.rate)
				m, models := plain, list
				if c.real {
					m = plain.made(period)
					require.Less(t, m.inner, 7*time.Microsecond)
					models = map[byte]*model{product: m}
				}
				var e encoder
				var made packets
				var points []sample.Point
				for seq := range 2 {
					scan := m.scanOf(stamped(seq, period), columns, period, 30, rough(m, uint64(seq)))
					require.NoError(t, e.scan(&made, scan))
					points = append(points, scan.Points...)
				}
				e.flush(&made)
				firings := (2*columns + m.perPacket - 1) / m.perPacket * m.perPacket
				require.Len(t, made.data, firings/m.perPacket*1206)
				next, late := 0, time.Duration(0)
				for packet := range firings / m.perPacket {
					b := made.data[1206*packet:][:1206]
					require.Equal(t, product, b[1205])
					_, readings := readPacket(t, models, b)
					first := int64(packet*m.perPacket) * int64(period) / int64(columns)
					assert.InDelta(t, first+int64(m.aligned), int64(readings[0].stamp)*1000, 500, "stamp of packet %d", packet)
					assert.EqualValues(t, first, made.stamps[packet])
					for _, r := range readings {
						column := packet*m.perPacket + r.column
						if r.distance == 0 {
							continue
						}
						for points[next].Distance > float32(m.unit*65535.5) {
							next++
						}
						p := &points[next]
						at := m.point(r)
						apart := math.Hypot(math.Hypot(at[0]-float64(p.X), at[1]-float64(p.Y)), at[2]-float64(p.Z))
						turned := math.Remainder(-float64(p.Azimuth)*180/math.Pi-r.azimuth, 360)
						if p.Ray != uint32((column%columns)*len(m.lasers)+r.laser) || p.Intensity != float32(r.intensity) ||
							math.Abs(float64(p.Distance)-r.distance) > m.unit/2+1e-5 || math.Abs(turned) > 1e-3 || apart > m.unit/2+r.distance*1e-3*math.Pi/180+1e-4 {
							require.Fail(t, "another point", "%+v of %+v", r, *p)
						}
						fired := int64(column/columns)*int64(period) + int64(p.TimeNs)
						late = max(late, time.Duration(first+int64(m.aligned+m.offset(r.column, r.laser))-fired).Abs())
						next++
					}
				}
				for next < len(points) && points[next].Distance > float32(m.unit*65535.5) {
					next++
				}
				assert.Equal(t, len(points), next, "each return once")
				assert.LessOrEqual(t, late, m.inner, "firing times of the device are off from the rays'")
				assert.Greater(t, late, m.inner-time.Microsecond)
				assert.InDelta(t, late, e.late, 100, "the bridge knows")
			})
		}
	}
}

// TestBytesOfAPacket: the places of the format, one by one.
func TestBytesOfAPacket(t *testing.T) {
	m := models(t)[0xA1]
	const period = 100 * time.Millisecond
	header := sample.Header{Stamp: simtime.Stamp(3*time.Hour + 42*time.Second)}
	scan := m.scanOf(header, 1800, period, 359.9, func(column, laser int) float64 {
		return map[[2]int]float64{{0, 0}: 1, {1, 33}: 2, {2, 127}: 262.14}[[2]int{column, laser}]
	})
	var e encoder
	var made packets
	require.NoError(t, e.scan(&made, scan))
	b := made.data
	assert.Equal(t, []byte{0xFF, 0xEE, 0x96, 0x8C, 250, 0, 0}, b[:7], "35990 hundredths, 250 units")
	assert.Equal(t, []byte{0xFF, 0xDD, 10, 0, 0, 0, 0, 0xF4, 1, 34}, b[500:510], "10 hundredths, 500 units at the second record")
	assert.Equal(t, []byte{0xFF, 0xBB, 30, 0}, b[1100:1104])
	assert.Equal(t, []byte{0xFF, 0xFF, 129}, b[1197:1200], "65535 units")
	assert.EqualValues(t, 42_000_009, binary.LittleEndian.Uint32(b[1200:]), "8.7 µs after the first firing")
	assert.Equal(t, []byte{0x37, 0xA1}, b[1204:1206])
	assert.Equal(t, 3, countNonZero(b[:1200]), "nothing else came back")
	assert.Len(t, b, 600*1206)
}

// TestBytesOfADualPacket: a block of last returns and one of the strongest, of the same lasers, each byte of a packet.
func TestBytesOfADualPacket(t *testing.T) {
	const period = 100 * time.Millisecond
	type block struct {
		flag    byte
		azimuth uint16 // hundredths
		records map[int][2]int
	}
	point := func(ray int, distance, intensity float32) sample.Point {
		return sample.Point{Ray: uint32(ray), Distance: distance, Intensity: intensity, Return: sample.ReturnStrongest}
	}
	for product, want := range map[byte][12]block{
		// Records 16 to 31 are the second column's.
		0x22: {
			{0xEE, 1230, map[int][2]int{0: {10000, 30}, 19: {20000, 90}, 2: {3500, 50}, 4: {2500, 40}}},
			{0xEE, 1230, map[int][2]int{0: {5000, 80}, 19: {7500, 20}, 2: {3500, 50}, 4: {2500, 40}}},
			{0xEE, 1270, nil}, {0xEE, 1270, nil}, {0xEE, 1310, nil}, {0xEE, 1310, nil}, {0xEE, 1350, nil}, {0xEE, 1350, nil},
			{0xEE, 1390, nil}, {0xEE, 1390, nil}, {0xEE, 1430, nil}, {0xEE, 1430, nil},
		},
		0x28: {
			{0xEE, 1230, map[int][2]int{0: {5000, 30}, 2: {1750, 50}, 4: {50000, 7}}},
			{0xEE, 1230, map[int][2]int{0: {2500, 80}, 2: {1750, 50}, 4: {1250, 40}}},
			{0xEE, 1250, map[int][2]int{3: {10000, 90}}}, {0xEE, 1250, map[int][2]int{3: {3750, 20}}},
			{0xEE, 1270, nil}, {0xEE, 1270, nil}, {0xEE, 1290, nil}, {0xEE, 1290, nil},
			{0xEE, 1310, nil}, {0xEE, 1310, nil}, {0xEE, 1330, nil}, {0xEE, 1330, nil},
		},
		0xA1: {
			{0xEE, 1230, map[int][2]int{0: {5000, 30}, 2: {1750, 50}, 4: {50000, 7}}},
			{0xEE, 1230, map[int][2]int{0: {2500, 80}, 2: {1750, 50}, 4: {1250, 40}}},
			{0xDD, 1230, nil}, {0xDD, 1230, nil}, {0xCC, 1230, nil}, {0xCC, 1230, nil},
			{0xBB, 1230, map[int][2]int{31: {5000, 3}}}, {0xBB, 1230, map[int][2]int{31: {4990, 200}}},
			{0, 1230, nil}, {0, 1230, nil}, {0, 1230, nil}, {0, 1230, nil}, // empty, except for an azimuth to cut turns by
		},
	} {
		m := models(t)[product]
		rings := len(m.lasers)
		scan := m.scanOf(sample.Header{Stamp: simtime.Stamp(42 * time.Second)}, 1800, period, 0, func(int, int) float64 { return 0 })
		first := []sample.Point{
			point(0, 10, 80), point(0, 20, 30), // the last is weaker
			point(2, 7, 50),                   // one echo alone
			point(4, 5, 40), point(4, 200, 7), // the last is too far for a VLP-16
		}
		if product == 0xA1 {
			first = append(first, point(127, 19.96, 200), point(127, 20, 3))
		}
		first = append(first, point(rings+3, 40, 90), point(rings+3, 15, 20)) // the last is the strongest
		for i := range first {
			if i == len(first)-2 {
				first[i].Return = sample.ReturnStrongestLast
			}
			l := m.lasers[int(first[i].Ray)%rings]
			azimuth := -(12.3 + 0.2*float64(int(first[i].Ray)/rings) + l.azimuth) * math.Pi / 180
			first[i].Azimuth, first[i].Elevation = float32(azimuth), float32(l.elevation*math.Pi/180)
		}
		scan.Returns, scan.Points = sample.DualReturns, first
		var packet []byte
		for _, b := range want {
			flag := byte(0xFF)
			if b.flag == 0 {
				flag = 0
			}
			packet = append(packet, flag, b.flag, byte(b.azimuth), byte(b.azimuth>>8))
			for record := range 32 {
				r := b.records[record]
				packet = append(packet, byte(r[0]), byte(r[0]>>8), byte(r[1]))
			}
		}
		packet = append(binary.LittleEndian.AppendUint32(packet, 42_000_000+map[byte]uint32{0xA1: 9}[product]), 0x39, product)
		var e encoder
		var made packets
		require.NoError(t, e.scan(&made, scan))
		assert.Equal(t, packet, made.data[:1206], m.preset)
		assert.Len(t, made.stamps, map[byte]int{0x22: 150, 0x28: 300, 0xA1: 1800}[product], m.preset)
	}
}

// countNonZero counts the records with a distance in a packet's blocks.
func countNonZero(b []byte) (n int) {
	for block := range len(b) / 100 {
		for record := range 32 {
			if r := b[100*block+4+3*record:]; r[0] != 0 || r[1] != 0 {
				n++
			}
		}
	}
	return n
}

// TestDualScansComeBack: the reader finds both returns of each firing, and a firing's one return twice, within half a unit. Stamps are those
// of a packet's first column.
func TestDualScansComeBack(t *testing.T) {
	list := models(t)
	for product, m := range list {
		const columns, period = 1800, 100 * time.Millisecond
		scan := m.dualOf(m.scanOf(stamped(0, period), columns, period, 30, rough(m, 7)))
		want := m.pairs(scan)
		var e encoder
		var made packets
		require.NoError(t, e.scan(&made, scan))
		perPacket := map[byte]int{0x22: 12, 0x28: 6, 0xA1: 1}[product]
		require.Len(t, made.stamps, columns/perPacket, "none is left over")
		var fromWhole packets
		require.NoError(t, new(encoder).scan(&fromWhole, m.organized(scan)))
		assert.Equal(t, made, fromWhole, "the same with misses")
		for packet, stamp := range made.stamps {
			require.EqualValues(t, int64(packet*perPacket)*int64(period)/columns, stamp)
			_, readings := readPacket(t, list, made.data[1206*packet:][:1206])
			for _, r := range readings {
				ray := uint32((packet*perPacket+r.column)*len(m.lasers) + r.laser)
				p := want[ray].other
				if r.last {
					p = want[ray].last
				}
				if p == nil {
					require.Zero(t, r.distance, "ray %d", ray)
				} else if math.Abs(float64(p.Distance)-r.distance) > m.unit/2+1e-5 || p.Intensity != float32(r.intensity) {
					require.Fail(t, "another return", "%+v of %+v", r, *p)
				}
			}
		}
	}
}

// TestLastOfTwo: the numbers of all tables tell which of two echoes is the last, whatever was measured, and the distance where
// they don't.
func TestLastOfTwo(t *testing.T) {
	m := models(t)[0x22]
	const period = 100 * time.Millisecond
	for _, c := range []struct {
		number      uint8 // of the strongest
		near        bool  // the strongest was measured nearer
		strongFirst bool  // it comes first, that is, it is the last
	}{
		{sample.ReturnStrongestLast, true, true}, {sample.ReturnStrongestFirst, false, false}, // Autoware
		{10, true, true}, {9, false, false}, // Nebula
		{2, true, true}, {1, false, false}, // velodyne_decoder
		{77, true, false}, {77, false, true},
	} {
		scan := m.scanOf(stamped(0, period), 1800, period, 0, func(column, laser int) float64 { return map[int]float64{0: 10}[16*column+laser] })
		weak := scan.Points[0]
		scan.Points[0].Return, scan.Points[0].Intensity, weak.Intensity = c.number, 80, 20
		if weak.Distance = 5; c.near {
			weak.Distance = 15
		}
		scan.Returns, scan.Points = sample.DualReturns, append(scan.Points, weak)
		var made packets
		require.NoError(t, new(encoder).scan(&made, scan))
		want := []byte{20, 80}
		if c.strongFirst {
			want = []byte{80, 20}
		}
		assert.Equal(t, want, []byte{made.data[6], made.data[106]}, "%+v", c)
	}
}

// TestReturnModes: single returns have their mode's byte and the bytes of any other scan; a mode that comes later begins a packet, and one that no
// Velodyne has is refused.
func TestReturnModes(t *testing.T) {
	list := models(t)
	m := list[0x22]
	const columns, period = 900, 50 * time.Millisecond // 37.5 packets
	scan := func(seq int, mode sample.ReturnMode) *sample.PointCloud {
		c := m.scanOf(stamped(seq, period), columns, period, 0, func(int, int) float64 { return 5 })
		c.Returns = mode
		return c
	}
	var e encoder
	var made packets
	for seq, mode := range []sample.ReturnMode{"", sample.LastReturn, sample.DualReturns, sample.StrongestReturn} {
		require.NoError(t, e.scan(&made, scan(seq, mode)))
	}
	var modes []byte
	for packet := range made.stamps {
		modes = append(modes, made.data[1206*packet+1204])
	}
	assert.Equal(t, slices.Concat(slices.Repeat([]byte{0x37}, 38), slices.Repeat([]byte{0x38}, 38), slices.Repeat([]byte{0x39}, 75), slices.Repeat([]byte{0x37}, 37)), modes)
	assert.Equal(t, made.data[:1200], made.data[38*1206:][:1200], "except for the stamp and the mode")
	for _, mode := range []sample.ReturnMode{sample.FirstReturn, sample.TripleReturns} {
		err := e.scan(&made, scan(9, mode))
		require.ErrorIs(t, err, bridges.ErrConvert)
		require.ErrorContains(t, err, "no "+string(mode)+" return: set returns: strongest, last or dual")
	}
}

// TestIntensityCodes: a decoder takes 101 and more for a retroreflector, so that other devices' scales are refused.
func TestIntensityCodes(t *testing.T) {
	m := models(t)[0x22]
	for code, want := range map[string]string{"": "", "velodyne": "", "hesai": "of hesai: set intensity_code: velodyne", "livox": "of livox"} {
		scan := m.scanOf(stamped(0, 100*time.Millisecond), 1800, 100*time.Millisecond, 0, rough(m, 1))
		scan.IntensityCode = code
		err := new(encoder).scan(new(packets), scan)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, bridges.ErrConvert)
		require.ErrorContains(t, err, want)
	}
}

// TestScansWithoutAllPoints: packets are the same whether misses are published or not, and a scan
// that hit nothing is a turn of packets with the azimuths and times of the scan before.
func TestScansWithoutAllPoints(t *testing.T) {
	list := models(t)
	m := list[0x22]
	const period = 100 * time.Millisecond
	plain := m.scanOf(stamped(0, period), 1800, period, 12.34, rough(m, 3))
	whole := m.scanOf(stamped(0, period), 1800, period, 12.34, func(int, int) float64 { return 1 })
	whole.Organized = true
	for i := range whole.Points {
		whole.Points[i].Return, whole.Points[i].Distance = sample.ReturnUnknown, float32(math.Inf(1))
	}
	for _, p := range plain.Points {
		whole.Points[p.Ray] = p
	}
	var a, b encoder
	var fromPlain, fromWhole packets
	require.NoError(t, a.scan(&fromPlain, plain))
	require.NoError(t, b.scan(&fromWhole, whole))
	assert.Equal(t, fromPlain, fromWhole)

	fromPlain.reset()
	require.NoError(t, a.scan(&fromPlain, &sample.PointCloud{Header: stamped(1, period), Rings: 16, Columns: 1800}))
	require.Len(t, fromPlain.stamps, 75)
	_, readings := readPacket(t, list, fromPlain.data[:1206])
	assert.InDelta(t, 12.34, readings[0].azimuth, 1e-9)
	assert.EqualValues(t, 100_000, readings[0].stamp)
	assert.Zero(t, countNonZero(fromPlain.data[:1200]))

	// Of several returns of a ray the first counts.
	echoes := *plain
	echoes.Points = nil
	for _, p := range plain.Points {
		again := p
		again.Distance, again.Intensity = 99, 1
		echoes.Points = append(echoes.Points, p, again)
	}
	var c encoder
	var fromEchoes packets
	require.NoError(t, c.scan(&fromEchoes, &echoes))
	assert.Equal(t, fromWhole, fromEchoes)
}

// TestTellsOfOtherTimes: once, of a preset whose lasers fire at other times than the device's; a real one's and a scan of one
// instant are nothing to tell of.
func TestTellsOfOtherTimes(t *testing.T) {
	const period = 100 * time.Millisecond
	list := models(t)
	instant := list[0x28].scanOf(stamped(0, period), 1800, period, 0, func(int, int) float64 { return 7 })
	for i := range instant.Points {
		instant.Points[i].TimeNs = 0
	}
	near := func(int, int) float64 { return 7 }
	for name, c := range map[string]struct {
		scan *sample.PointCloud
		want string // as often as that is told
	}{
		"VLP-16":     {list[0x22].scanOf(stamped(0, period), 1800, period, 0, near), ""},
		"VLP-32C":    {list[0x28].scanOf(stamped(0, period), 1800, period, 0, near), "preset=VelodyneVLP32C_real"},
		"VLS-128":    {list[0xA1].scanOf(stamped(0, period), 1800, period, 0, near), "preset=VelodyneVLS128_real"},
		"as made":    {list[0xA1].made(period).scanOf(stamped(0, period), 1800, period, 0, near), ""},
		"an instant": {instant, ""},
	} {
		var log bytes.Buffer
		var e encoder
		for range 2 {
			require.NoError(t, e.scan(new(packets), c.scan))
			e.tell(slog.New(slog.NewTextHandler(&log, nil)))
		}
		if c.want == "" {
			assert.Empty(t, log.String(), name)
		} else {
			assert.Equal(t, 1, strings.Count(log.String(), c.want), name)
		}
	}
}

// TestLostScans: a packet isn't continued with a scan that doesn't follow.
func TestLostScans(t *testing.T) {
	list := models(t)
	m := list[0x22]
	const columns, period = 900, 50 * time.Millisecond // 37.5 packets
	var e encoder
	var made packets
	for _, seq := range []int{0, 2, 3} {
		require.NoError(t, e.scan(&made, m.scanOf(stamped(seq, period), columns, period, 0, func(int, int) float64 { return 5 })))
	}
	require.Len(t, made.stamps, 38+75)
	_, last := readPacket(t, list, made.data[37*1206:][:1206])
	for i, r := range last {
		assert.Equal(t, i < len(last)/2, r.distance > 0, "the half that was there")
	}
	assert.InDelta(t, 4.4, last[len(last)-16].azimuth, 1e-9, "0.4 degrees a column, from 355.2")
	assert.EqualValues(t, 2*period, made.stamps[38])
}

// TestScansOfOneInstant: intensities from 0 to 1 become bytes, and times are spread over a turn.
func TestScansOfOneInstant(t *testing.T) {
	list := models(t)
	m := list[0x28]
	scan := m.scanOf(stamped(1, 100*time.Millisecond), 1800, 100*time.Millisecond, 0, func(int, int) float64 { return 7 })
	scan.UnitIntensity = true
	for i := range scan.Points {
		scan.Points[i].TimeNs, scan.Points[i].Intensity = 0, 0.4
	}
	var e encoder
	var made packets
	require.NoError(t, e.scan(&made, scan))
	_, readings := readPacket(t, list, made.data[149*1206:][:1206])
	assert.EqualValues(t, 102, readings[0].intensity)
	assert.EqualValues(t, 199_333, readings[0].stamp)
}

// TestIntervals: scans of one instant tell of their turn only by their stamps. A run that leaves instants out loses no
// scan; a rate that isn't the device's is refused from the third scan on, and sent again once it is right.
func TestIntervals(t *testing.T) {
	m := models(t)[0x22]
	const period = 100 * time.Millisecond
	type step struct {
		at      int // tenths of a second
		rings   int // 16 where it is 0
		refused string
	}
	for name, c := range map[string]struct {
		columns int
		steps   []step
	}{
		"an instant left out":       {1800, []step{{at: 0}, {at: 1}, {at: 3}, {at: 4}, {at: 5}}},
		"more and more left out":    {1800, []step{{at: 0}, {at: 1}, {at: 3}, {at: 6}, {at: 10}, {at: 11}}},
		"the clock was set":         {1800, []step{{at: 0}, {at: 1}, {at: 100_000}, {at: 100_001}, {at: 0}, {at: 1}}},
		"another rate":              {1800, []step{{at: 0}, {at: 1}, {at: 3}, {at: 5, refused: "set columns: 3600"}, {at: 7, refused: "set columns: 3600"}, {at: 8}, {at: 9}}},
		"another rate all along":    {900, []step{{at: 0}, {at: 1}, {at: 2, refused: "900 columns in 100ms"}, {at: 3, refused: "set columns: 1800"}}},
		"too slow":                  {1800, []step{{at: 0}, {at: 10}, {at: 20, refused: "turns 60 times a minute"}}},
		"a scan that can't be sent": {1800, []step{{at: 0}, {at: 1, rings: 17, refused: "17 rings"}, {at: 2}, {at: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			var e encoder
			var made packets
			for seq, s := range c.steps {
				scan := m.scanOf(sample.Header{Seq: uint64(seq), Stamp: simtime.Stamp(s.at) * simtime.Stamp(period)}, c.columns, period, 0, func(int, int) float64 { return 5 })
				for i := range scan.Points {
					scan.Points[i].TimeNs = 0
				}
				scan.Rings += max(0, s.rings-16)
				err := e.scan(&made, scan)
				if s.refused == "" {
					require.NoError(t, err, seq)
					continue
				}
				require.ErrorIs(t, err, bridges.ErrConvert, seq)
				require.ErrorContains(t, err, s.refused, seq)
			}
		})
	}
}

// TestScansOfNoDevice: each is named, with what to do.
func TestScansOfNoDevice(t *testing.T) {
	list := models(t)
	const period = 100 * time.Millisecond
	near := func(int, int) float64 { return 5 }
	scan := func(product byte, columns int, period time.Duration) *sample.PointCloud {
		return list[product].scanOf(stamped(0, period), columns, period, 0, near)
	}
	turned := scan(0xA1, 1800, period)
	for i := range turned.Points { // SVL's VLS-128 has all lasers of a column at one azimuth
		turned.Points[i].Azimuth = float32(math.Remainder(-2*math.Pi*float64(turned.Points[i].Ray/128)/1800, 2*math.Pi))
	}
	tilted := scan(0x22, 1800, period)
	for i := range tilted.Points {
		tilted.Points[i].Elevation *= 0.9
	}
	unsorted := scan(0x22, 1800, period)
	unsorted.Points[7], unsorted.Points[8] = unsorted.Points[8], unsorted.Points[7]
	half := scan(0x22, 1800, period) // horizontal_fov: 180
	for i := range half.Points {
		half.Points[i].Azimuth = float32(math.Pi/2 - math.Pi*float64(half.Points[i].Ray/16)/1800)
	}
	// Its lasers see something in columns that are far apart.
	late := *half
	late.Points = slices.DeleteFunc(slices.Clone(half.Points), func(p sample.Point) bool { return p.Ray/16 < uint32(p.Ring)*50 })
	for name, c := range map[string]struct {
		scan *sample.PointCloud
		want []string
	}{
		"rings":     {&sample.PointCloud{Rings: 64, Columns: 1800}, []string{"64 rings", "VelodyneVLP16, VelodyneVLP32C, VelodyneVLS128"}},
		"azimuths":  {turned, []string{"laser 1 ", "preset: VelodyneVLS128"}},
		"tilted":    {tilted, []string{"laser 0 points -13.500 degrees up", "VLP-16's -15", "preset: VelodyneVLP16"}},
		"half":      {half, []string{"1800 columns aren't 0.2 degrees apart", "must turn by 360 degrees: leave horizontal_fov out"}},
		"half late": {&late, []string{"leave horizontal_fov out"}},
		"order":     {unsorted, []string{"in the order of firing"}},
		"too fast":  {scan(0x22, 450, period/4), []string{"2400 times a minute", "300 to 1200", "5 to 20 Hz"}},
		"too slow":  {scan(0x28, 3600, 4*period), []string{"150 times a minute"}},
		"coarse":    {scan(0x28, 900, period), []string{"900 columns in 100ms", "set columns: 1800"}},
		"fine":      {scan(0x22, 3600, period), []string{"set columns: 1800"}},
		"other":     {scan(0x22, 1800, period/2), []string{"set columns: 900"}},
		"none":      {&sample.PointCloud{Rings: 16}, []string{"0 columns"}},
		"countless": {&sample.PointCloud{Rings: 16, Columns: math.MaxInt}, []string{"at most"}},
	} {
		var e encoder
		var made packets
		err := e.scan(&made, c.scan)
		assert.ErrorIs(t, err, bridges.ErrConvert, name)
		for _, text := range c.want {
			assert.ErrorContains(t, err, text, name)
		}
		assert.Empty(t, made.data, name)
	}
	var e encoder
	assert.NoError(t, e.scan(&packets{}, scan(0x22, 1808, period)), "the device's own number of firings")
}

// FuzzScan: no cloud stops the bridge, and what it writes can be read.
func FuzzScan(f *testing.F) {
	list := models(f)
	f.Add(byte(0x22), byte(0), 1800, int64(0), uint64(1), uint32(0), uint32(0), float32(5), float32(0), float32(0))
	f.Add(byte(0xA1), byte(3), 900, int64(time.Hour), uint64(9), uint32(7), uint32(900), float32(-1), float32(math.NaN()), float32(9))
	f.Add(byte(0x28), byte(3), 3600, int64(math.MinInt64), uint64(math.MaxUint64), uint32(math.MaxUint32), uint32(1), float32(math.Inf(1)), float32(1), float32(1))
	modes := sample.ReturnMode("").Values()
	f.Fuzz(func(t *testing.T, product, mode byte, columns int, stamp int64, seq uint64, ray, ns uint32, distance, azimuth, intensity float32) {
		m := list[product]
		if m == nil {
			m = list[0x22]
		}
		var e encoder
		var made packets
		first := m.scanOf(stamped(0, 100*time.Millisecond), 1800, 100*time.Millisecond, 0, func(column, laser int) float64 {
			if column%600 == 0 && laser == 0 {
				return 5
			}
			return 0
		})
		require.NoError(t, e.scan(&made, first))
		second := *first
		second.Header = sample.Header{Stamp: simtime.Stamp(stamp), Seq: seq}
		second.Columns, second.Returns = columns, sample.ReturnMode(modes[int(mode)%len(modes)])
		second.Points = append(slices.Clone(first.Points), sample.Point{
			Ray: ray, TimeNs: ns, Distance: distance, Azimuth: azimuth, Intensity: intensity, Return: sample.ReturnStrongest,
			Elevation: float32(m.lasers[int(ray)%len(m.lasers)].elevation * math.Pi / 180),
		})
		if err := e.scan(&made, &second); err != nil {
			require.ErrorIs(t, err, bridges.ErrConvert)
		}
		e.flush(&made)
		for i := 0; i < len(made.stamps); i += 1 + len(made.stamps)/8 {
			readPacket(t, list, made.data[1206*i:][:1206])
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for _, m := range models(b) {
		scan := m.scanOf(stamped(0, 100*time.Millisecond), 1800, 100*time.Millisecond, 0, func(int, int) float64 { return 20 })
		b.Run(m.preset, func(b *testing.B) {
			var e encoder
			var made packets
			for b.Loop() {
				made.reset()
				if err := e.scan(&made, scan); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(made.stamps)), "µs/packet")
		})
	}
}
