package carla

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/raybridge/raybridge/sensors/sample"
)

// cloudBytes returns the size of a cloud's body with points of so many bytes.
func cloudBytes(m *sample.PointCloud, point int) int { return 8 + 4*channels(m) + point*len(m.Points) }

func channels(m *sample.PointCloud) int { return max(m.Rings, 1) }

// missed reports whether a point isn't one: organised clouds have the rays too that
// hit nothing.
func missed(m *sample.PointCloud, p *sample.Point) bool {
	return m.Organized && p.Return == sample.ReturnUnknown
}

// cloudEncoder writes clouds grouped by channel, which is the place of a point's laser
// in the firing. It keeps its scratch memory and belongs to one publisher.
type cloudEncoder struct {
	next  []uint32 // where the next point of each channel goes
	first uint32   // ray of the firing that was looked at last
}

// channel returns a point's channel of len(next). Points mostly come firing by firing,
// so that it seldom divides.
func (c *cloudEncoder) channel(p *sample.Point) uint32 {
	n := uint32(len(c.next))
	k := p.Ray - c.first
	if k >= n {
		k = p.Ray % n
		c.first = p.Ray - k
	}
	return k
}

// cloudForm is one kind of cloud: its horizontal angle, the size of its points, and
// what writes them, each where its channel goes on; it returns false for no room.
type cloudForm struct {
	angle float64
	size  int
	put   func(c *cloudEncoder, room []byte, m *sample.PointCloud) bool
}

// append appends the horizontal angle, the number of channels, each channel's number of
// points, and the points.
func (c *cloudEncoder) append(dst []byte, m *sample.PointCloud, form cloudForm) []byte {
	c.next = slices.Grow(c.next[:0], channels(m))[:channels(m)]
	c.first = 0
	// Of a scan without a miss every channel has as many points as there are columns:
	// they needn't be counted, only checked afterwards.
	if !m.Organized && len(m.Points) == len(c.next)*m.Columns {
		c.fill(uint32(m.Columns))
		whole, room := c.begin(dst, form)
		if form.put(c, room, m) && c.isWhole(uint32(m.Columns)) {
			return whole
		}
	}
	c.fill(0)
	for i := range m.Points {
		if p := &m.Points[i]; !missed(m, p) {
			c.next[c.channel(p)]++
		}
	}
	dst, room := c.begin(dst, form)
	form.put(c, room, m)
	return dst
}

func (c *cloudEncoder) fill(count uint32) {
	for k := range c.next {
		c.next[k] = count
	}
}

// isWhole reports whether each channel has had so many points.
func (c *cloudEncoder) isWhole(columns uint32) bool {
	for k, next := range c.next {
		if next != uint32(k+1)*columns {
			return false
		}
	}
	return true
}

// begin appends what comes before the points, and room for those. The channels' counts
// become the places of their points.
func (c *cloudEncoder) begin(dst []byte, form cloudForm) (_, room []byte) {
	dst = appendF32(dst, form.angle)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.next)))
	sum := uint32(0)
	for k, count := range c.next {
		dst = binary.LittleEndian.AppendUint32(dst, count)
		c.next[k] = sum
		sum += count
	}
	return extend(dst, form.size*int(sum))
}

// extend appends room for n bytes, which it returns too: what is in it is to be written.
func extend(dst []byte, n int) (_, room []byte) {
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	return dst, dst[at:]
}

// place returns where a point of so many bytes goes, nil for no room.
func (c *cloudEncoder) place(room []byte, p *sample.Point, size int) []byte {
	k := c.channel(p)
	at := size * int(c.next[k])
	c.next[k]++
	if at+size > len(room) {
		return nil
	}
	return room[at : at+size]
}

// appendLidar appends a scan: points are x, y, z, intensity 0..1. CARLA never fills in
// the angle of this kind, and nor does this.
func (c *cloudEncoder) appendLidar(dst []byte, m *sample.PointCloud) []byte {
	return c.append(dst, m, cloudForm{0, lidarPoint, (*cloudEncoder).putLidar})
}

// appendSemanticLidar appends a scan: points are x, y, z, cosine of the incidence,
// object id, tag.
func (c *cloudEncoder) appendSemanticLidar(dst []byte, m *sample.PointCloud) []byte {
	return c.append(dst, m, cloudForm{m.HorizontalAngle, semanticPoint, (*cloudEncoder).putSemantic})
}

// Sizes of points, bytes.
const (
	lidarPoint    = 16
	semanticPoint = 24
)

func (c *cloudEncoder) putLidar(room []byte, m *sample.PointCloud) bool {
	scale := float32(1)
	if !m.UnitIntensity {
		scale = 1.0 / 255
	}
	for i := range m.Points {
		p := &m.Points[i]
		if missed(m, p) {
			continue
		}
		to := c.place(room, p, lidarPoint)
		if len(to) < lidarPoint {
			return false
		}
		putPosition(to, p)
		binary.LittleEndian.PutUint32(to[12:], math.Float32bits(p.Intensity*scale))
	}
	return true
}

func (c *cloudEncoder) putSemantic(room []byte, m *sample.PointCloud) bool {
	for i := range m.Points {
		p := &m.Points[i]
		if missed(m, p) {
			continue
		}
		to := c.place(room, p, semanticPoint)
		if len(to) < semanticPoint {
			return false
		}
		putPosition(to, p)
		binary.LittleEndian.PutUint32(to[12:], math.Float32bits(p.CosIncidence))
		binary.LittleEndian.PutUint32(to[16:], p.Instance)
		binary.LittleEndian.PutUint32(to[20:], uint32(p.Tag))
	}
	return true
}

// putPosition writes a point's place in CARLA's axes.
func putPosition(to []byte, p *sample.Point) {
	_ = to[11]
	binary.LittleEndian.PutUint32(to, math.Float32bits(p.X))
	binary.LittleEndian.PutUint32(to[4:], math.Float32bits(-p.Y))
	binary.LittleEndian.PutUint32(to[8:], math.Float32bits(p.Z))
}

// appendRadar appends detections: velocity, azimuth (positive to the right), altitude,
// depth.
func appendRadar(dst []byte, m *sample.Radar) []byte {
	for i := range m.Detections {
		d := &m.Detections[i]
		dst = appendF32(dst, float64(d.Velocity), -float64(d.Azimuth), float64(d.Altitude), float64(d.Depth))
	}
	return dst
}
