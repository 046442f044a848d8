package carla

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
)

// cloudBytes returns the size of a cloud's body with points of so many bytes.
func cloudBytes(m *sample.PointCloud, point int) int { return 8 + 4*channels(m) + point*len(m.Points) }

func channels(m *sample.PointCloud) int { return max(m.Rings, 1) }

// appendCloudHead appends the horizontal angle, the number of channels and each
// channel's number of points, and returns where the points of each channel begin.
func (c *cloudEncoder) appendCloudHead(dst []byte, m *sample.PointCloud, angle float64) []byte {
	n := channels(m)
	dst = appendF32(dst, angle)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	c.next = append(c.next[:0], make([]int, n)...)
	for i := range m.Points {
		if p := &m.Points[i]; hit(p) {
			c.next[c.channel(p, n)]++
		}
	}
	first := 0
	for i, count := range c.next {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
		c.next[i] = first
		first += count
	}
	c.points = first
	return dst
}

// cloudEncoder writes clouds grouped by channel; it keeps its scratch memory and
// belongs to one publisher.
type cloudEncoder struct {
	next   []int // where the next point of each channel goes
	points int
}

// channel returns a point's channel: the place of its laser in the firing.
func (c *cloudEncoder) channel(p *sample.Point, n int) int { return int(p.Ray) % n }

// hit reports whether a point is one: organised clouds have misses too.
func hit(p *sample.Point) bool { return p.Return != sample.ReturnUnknown }

// place returns the memory of a point in the part of dst that begins at base.
func (c *cloudEncoder) place(dst []byte, base int, p *sample.Point, size int) []byte {
	k := c.channel(p, len(c.next))
	at := base + size*c.next[k]
	c.next[k]++
	return dst[at : at+size]
}

func putF32(dst []byte, values ...float32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

// appendLidar appends a scan: points are x, y, z, intensity 0..1. CARLA never fills in
// the angle of this kind, and nor does this.
func (c *cloudEncoder) appendLidar(dst []byte, m *sample.PointCloud) []byte {
	const size = 16
	dst = c.appendCloudHead(dst, m, 0)
	scale := float32(1)
	if !m.UnitIntensity {
		scale = 1.0 / 255
	}
	base := len(dst)
	dst = append(dst, make([]byte, size*c.points)...)
	for i := range m.Points {
		if p := &m.Points[i]; hit(p) {
			putF32(c.place(dst, base, p, size), p.X, -p.Y, p.Z, p.Intensity*scale)
		}
	}
	return dst
}

// appendSemanticLidar appends a scan: points are x, y, z, cosine of the incidence,
// object id, tag.
func (c *cloudEncoder) appendSemanticLidar(dst []byte, m *sample.PointCloud) []byte {
	const size = 24
	dst = c.appendCloudHead(dst, m, m.HorizontalAngle)
	base := len(dst)
	dst = append(dst, make([]byte, size*c.points)...)
	for i := range m.Points {
		p := &m.Points[i]
		if !hit(p) {
			continue
		}
		to := c.place(dst, base, p, size)
		putF32(to, p.X, -p.Y, p.Z, p.CosIncidence)
		binary.LittleEndian.PutUint32(to[16:], p.Instance)
		binary.LittleEndian.PutUint32(to[20:], uint32(p.Tag))
	}
	return dst
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
