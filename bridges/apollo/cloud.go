package apollo

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Field numbers of drivers.PointCloud and drivers.PointXYZIT.
const (
	cloudHeader          = 1
	cloudFrameID         = 2
	cloudIsDense         = 3
	cloudPoint           = 4
	cloudMeasurementTime = 5
	cloudWidth           = 6
	cloudHeight          = 7

	pointX         = 1
	pointY         = 2
	pointZ         = 3
	pointIntensity = 4
	pointTimestamp = 5
)

// pointRoom is the most that a point takes on the wire, and how far beyond it appendPoint may
// write. It has tag and length, three floats, intensity and time.
const pointRoom = 2 + 3*5 + (1 + 2) + (1 + binary.MaxVarintLen64)

// cloud is a drivers.PointCloud whose points stay in the sample until they are written.
type cloud struct {
	header *apollopb.Header
	points []sample.Point
	stamp  uint64
	// scale makes intensities those of 0..255.
	scale         float32
	width, height int
	// rows are, for an organized cloud, the places of the rows' lasers in a firing.
	rows  []int
	taken []bool
	// scan has the points of a planar scan.
	scan []sample.Point
	// single is memory of the strongest points of firings that have several.
	single sample.PointCloud
}

// fromCloud sets the message to a lidar's scan. Each point has its firing's time. A cloud of
// returns has one row and is dense. Each row of an organized one, which isn't, is a ring. Rows
// are in the order of the rings' numbers, if those are 0 to Rings-1, else of firing. Misses are
// points of no number. Apollo knows one return of a firing: the strongest.
func (c *cloud) fromCloud(src *sample.PointCloud, _ spatial.MapFrame) error {
	src = src.SingleReturn(&c.single)
	c.points, c.scale, c.rows = src.Points, 1, c.rows[:0]
	c.width, c.height = len(src.Points), 1
	if src.UnitIntensity {
		c.scale = 255
	}
	if src.Organized {
		if !src.IsWhole() {
			return fmt.Errorf("organized cloud of %d rings x %d columns has %d points: %w",
				src.Rings, src.Columns, len(src.Points), errSize)
		}
		c.width, c.height = src.Columns, src.Rings
		c.arrange(src.Points[:src.Rings])
	}
	return c.setHeader(&src.Header)
}

// fromScan sets the message to the returns of a planar scan, in the sensor's plane.
// Each has the time at which its ray was sent.
func (c *cloud) fromScan(src *sample.LaserScan, _ spatial.MapFrame) error {
	c.scan = c.scan[:0]
	for i, r := range src.Ranges {
		if !(r >= src.RangeMin && r <= src.RangeMax) {
			continue
		}
		sin, cos := math.Sincos(float64(src.AngleMin) + float64(i)*float64(src.AngleIncrement))
		p := sample.Point{X: float32(float64(r) * cos), Y: float32(float64(r) * sin)}
		if i < len(src.Intensities) {
			p.Intensity = src.Intensities[i]
		}
		p.TimeNs = uint32(math.Round(float64(i) * float64(src.TimeIncrement) * 1e9))
		c.scan = append(c.scan, p)
	}
	c.points, c.scale, c.rows = c.scan, 1, c.rows[:0]
	c.width, c.height = len(c.points), 1
	return c.setHeader(&src.Header)
}

func (c *cloud) setHeader(src *sample.Header) error {
	h, err := setHeader(&c.header, src)
	if err != nil {
		return err
	}
	c.stamp = uint64(src.Stamp)
	set(&h.LidarTimestamp, c.stamp)
	return nil
}

// arrange finds the laser of each row, of the points of one firing.
func (c *cloud) arrange(firing []sample.Point) {
	n := len(firing)
	c.rows = slices.Grow(c.rows[:0], n)[:n]
	c.taken = slices.Grow(c.taken[:0], n)[:n]
	clear(c.taken)
	for laser := range firing {
		ring := int(firing[laser].Ring)
		if ring >= n || c.taken[ring] {
			for i := range c.rows {
				c.rows[i] = i
			}
			return
		}
		c.taken[ring], c.rows[ring] = true, laser
	}
}

// Room returns a bound of the message's size.
func (c *cloud) Room() int {
	// The last point may be written beyond; what follows the points takes 22 bytes.
	return proto.Size(c.header) + len(c.header.GetFrameId()) + 64 + pointRoom*(len(c.points)+1)
}

// Size returns the message's size.
func (c *cloud) Size() int {
	header, frame := proto.Size(c.header), len(c.header.GetFrameId())
	// A tag takes a byte, is_dense another, and the measurement's time eight.
	size := 6 + protowire.SizeBytes(header) + protowire.SizeBytes(frame) + 1 + 8 +
		protowire.SizeVarint(uint64(c.width)) + protowire.SizeVarint(uint64(c.height))
	for i := range c.points {
		p := &c.points[i]
		// The field's tag and length, three floats, intensity and time.
		size += 2 + 3*5 + 1 + protowire.SizeVarint(uint64(c.intensity(p))) + 1 + protowire.SizeVarint(c.stamp+uint64(p.TimeNs))
	}
	return size
}

// Append writes the message as protobuf's encoder writes its structure.
func (c *cloud) Append(dst []byte) ([]byte, error) {
	dst = slices.Grow(dst, c.Room())
	dst = protowire.AppendTag(dst, cloudHeader, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(proto.Size(c.header)))
	dst, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, c.header)
	if err != nil {
		return dst, err
	}
	dst = protowire.AppendTag(dst, cloudFrameID, protowire.BytesType)
	dst = protowire.AppendString(dst, c.header.GetFrameId())
	dst = protowire.AppendTag(dst, cloudIsDense, protowire.VarintType)
	dst = protowire.AppendVarint(dst, protowire.EncodeBool(c.isDense()))
	dst = c.appendPoints(dst)
	dst = protowire.AppendTag(dst, cloudMeasurementTime, protowire.Fixed64Type)
	dst = protowire.AppendFixed64(dst, math.Float64bits(c.header.GetTimestampSec()))
	dst = protowire.AppendTag(dst, cloudWidth, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(c.width))
	dst = protowire.AppendTag(dst, cloudHeight, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(c.height)), nil
}

func (c *cloud) isDense() bool { return len(c.rows) == 0 }

func (c *cloud) appendPoints(dst []byte) []byte {
	end, room := len(dst), dst[:cap(dst)]
	if c.isDense() {
		for i := range c.points {
			end += c.putPoint(room[end:end+pointRoom], &c.points[i])
		}
		return room[:end]
	}
	for _, laser := range c.rows {
		for i := laser; i < len(c.points); i += len(c.rows) {
			end += c.putPoint(room[end:end+pointRoom], &c.points[i])
		}
	}
	return room[:end]
}

// intensity returns a point's intensity as Apollo has it, to the nearest of 0..255; what
// is not a number gives 0.
func (c *cloud) intensity(p *sample.Point) uint32 {
	v := float32(p.Intensity*c.scale) + 0.5
	if v >= 255 {
		return 255
	}
	if v > 0 {
		return uint32(v)
	}
	return 0
}

// putPoint writes one element of the field point and returns its length. It writes
// eight bytes of the time at once, so some beyond may change.
func (c *cloud) putPoint(d []byte, p *sample.Point) int {
	d = d[:pointRoom]
	d[0] = cloudPoint<<3 | byte(protowire.BytesType)
	d[2] = pointX<<3 | byte(protowire.Fixed32Type)
	binary.LittleEndian.PutUint32(d[3:7], math.Float32bits(p.X))
	d[7] = pointY<<3 | byte(protowire.Fixed32Type)
	binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Y))
	d[12] = pointZ<<3 | byte(protowire.Fixed32Type)
	binary.LittleEndian.PutUint32(d[13:17], math.Float32bits(p.Z))
	d[17] = pointIntensity<<3 | byte(protowire.VarintType)
	intensity := c.intensity(p)
	n := 19
	if d[18] = byte(intensity); intensity >= 0x80 {
		d[19] = 1 // of 255 at most one bit is left
		n = 20
	}
	d[n] = pointTimestamp<<3 | byte(protowire.VarintType)
	n++
	n += putVarint((*[binary.MaxVarintLen64]byte)(d[n:]), c.stamp+uint64(p.TimeNs))
	d[1] = byte(n - 2)
	return n
}

// putVarint writes v as a base-128 varint and returns its length, without a loop: the
// lower 56 bits are spread into seven of each byte.
func putVarint(d *[binary.MaxVarintLen64]byte, v uint64) int {
	n := (bits.Len64(v|1) + 6) / 7
	x := v&0x0000_0000_0fff_ffff | v&0x00ff_ffff_f000_0000<<4
	x = x&0x0000_3fff_0000_3fff | x&0x0fff_c000_0fff_c000<<2
	x = x&0x007f_007f_007f_007f | x&0x3f80_3f80_3f80_3f80<<1
	more := uint64(0x8080_8080_8080_8080)
	if n <= 8 {
		more &= 1<<(8*(n-1)) - 1
	}
	binary.LittleEndian.PutUint64(d[:8], x|more)
	if n > 8 {
		d[8] = byte(v >> 56 & 0x7f)
		if d[9] = byte(v >> 63); n > 9 {
			d[8] |= 0x80
		}
	}
	return n
}

// Proto returns a new structure with all points.
func (c *cloud) Proto() proto.Message {
	m := &apollopb.PointCloud{
		Header: c.header, FrameId: c.header.FrameId, IsDense: proto.Bool(c.isDense()), MeasurementTime: c.header.TimestampSec,
		Width: proto.Uint32(uint32(c.width)), Height: proto.Uint32(uint32(c.height)),
	}
	rows := c.rows
	if c.isDense() {
		rows = []int{0}
	}
	for _, first := range rows {
		for i := first; i < len(c.points); i += len(rows) {
			p := &c.points[i]
			m.Point = append(m.Point, &apollopb.PointXYZIT{
				X: &p.X, Y: &p.Y, Z: &p.Z,
				Intensity: proto.Uint32(c.intensity(p)), Timestamp: proto.Uint64(c.stamp + uint64(p.TimeNs)),
			})
		}
	}
	return m
}
