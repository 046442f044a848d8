package save

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

var le = binary.LittleEndian

// scalar is the type of a field.
type scalar struct {
	size int    // bytes
	pcd  byte   // 'F' or 'U'
	ply  string // the property's type
}

var (
	float32s = scalar{4, 'F', "float"}
	uint8s   = scalar{1, 'U', "uchar"}
	uint16s  = scalar{2, 'U', "ushort"}
	uint32s  = scalar{4, 'U', "uint"}
)

// field is one value of each point.
type field struct {
	name string
	scalar
}

// Points is what is written of a cloud or a sweep. It has x, y, z in metres in the sensor's
// frame, and what else there is to a point. It reads the sample it was made of, which stays as
// it is as long as the points are used.
type Points struct {
	fields []field
	step   int // bytes of a point
	// width and height are those of an organized cloud, else the number of points and 1.
	width, height int
	header        *sample.Header
	// put writes all points, step bytes each.
	put func(dst []byte)
}

func newPoints(h *sample.Header, n int, fields []field) *Points {
	p := &Points{fields: fields, width: n, height: 1, header: h}
	for _, f := range fields {
		p.step += f.size
	}
	return p
}

// Len returns the number of points.
func (p *Points) Len() int { return p.width * p.height }

// about is what a comment says of the points.
func (p *Points) about() string {
	frame := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // it would end the comment
			return ' '
		}
		return r
	}, p.header.FrameID)
	return fmt.Sprintf("frame %s, stamp %s s, sequence %d", frame, fault.NineDecimals(int64(p.header.Stamp)), p.header.Seq)
}

// pose is where the sensor was, the identity where the message doesn't say it.
func (p *Points) pose() spatial.Pose {
	if p.header.Pose.Orientation == (mgl64.Quat{}) {
		return spatial.Identity()
	}
	return p.header.Pose
}

var cloudFields = []field{
	{"x", float32s}, {"y", float32s}, {"z", float32s}, {"intensity", float32s},
	{"ring", uint16s}, {"time", float32s}, {"tag", uint8s}, {"instance", uint32s},
}

// CloudPoints returns a cloud's points: x, y, z, intensity as it was measured, ring, time
// (seconds after the stamp), tag (semantic) and instance. The points of a lidar that reports several echoes of a firing
// have return_type and ray besides. An organized cloud has a row for each
// ring, if the rings are numbered from 0, else for each laser of a firing. It has a column for
// each point of a firing.
func CloudPoints(m *sample.PointCloud) (*Points, error) {
	fields, put, returns := cloudFields, putPoint, m.Returns.Points()
	if returns > 1 {
		fields, put = returnFields, putReturn
	}
	p := newPoints(&m.Header, len(m.Points), fields)
	if !m.Organized {
		p.put = func(dst []byte) {
			for i := range m.Points {
				put(dst[i*p.step:], &m.Points[i])
			}
		}
		return p, nil
	}
	if !m.IsWhole() {
		return nil, fmt.Errorf("%d points are no %d rings of %d columns", len(m.Points), m.Rings, m.Width())
	}
	p.width, p.height = m.Width(), m.Rings
	rows := rowsOf(m)
	p.put = func(dst []byte) {
		for i := range m.Points {
			firing, k := i/returns, i%returns
			row, column := rows[firing%m.Rings], firing/m.Rings*returns+k
			put(dst[(row*p.width+column)*p.step:], &m.Points[i])
		}
	}
	return p, nil
}

// rowsOf returns the row of each laser of a firing.
func rowsOf(m *sample.PointCloud) []int {
	rows, taken := make([]int, m.Rings), make([]bool, m.Rings)
	for laser := range rows {
		ring := int(m.Points[laser*m.Returns.Points()].Ring)
		if ring >= m.Rings || taken[ring] {
			for i := range rows {
				rows[i] = i
			}
			return rows
		}
		rows[laser], taken[ring] = ring, true
	}
	return rows
}

func putPoint(dst []byte, p *sample.Point) {
	putFloats(dst, p.X, p.Y, p.Z, p.Intensity)
	le.PutUint16(dst[16:], p.Ring)
	putFloats(dst[18:], float32(float64(p.TimeNs)*1e-9))
	dst[22] = p.Tag
	le.PutUint32(dst[23:], p.Instance)
}

var returnFields = append(slices.Clip(cloudFields), field{"return_type", uint8s}, field{"ray", uint32s})

func putReturn(dst []byte, p *sample.Point) {
	putPoint(dst, p)
	dst[27] = p.Return
	le.PutUint32(dst[28:], p.Ray)
}

var radarFields = []field{
	{"x", float32s}, {"y", float32s}, {"z", float32s}, {"velocity", float32s},
	{"depth", float32s}, {"azimuth", float32s}, {"altitude", float32s}, {"tag", uint8s}, {"instance", uint32s},
}

// radarPoints returns a sweep's detections: x, y, z, velocity (m/s, receding is positive),
// depth (metres), azimuth and altitude (radians) as they were measured. Tag and instance
// follow.
func radarPoints(m *sample.Radar) *Points {
	p := newPoints(&m.Header, len(m.Detections), radarFields)
	p.put = func(dst []byte) {
		for i := range m.Detections {
			putDetection(dst[i*p.step:], &m.Detections[i])
		}
	}
	return p
}

func putDetection(dst []byte, d *sample.RadarDetection) {
	sinA, cosA := math.Sincos(float64(d.Azimuth))
	sinE, cosE := math.Sincos(float64(d.Altitude))
	r := float64(d.Depth)
	putFloats(dst, float32(r*cosE*cosA), float32(r*cosE*sinA), float32(r*sinE), d.Velocity, d.Depth, d.Azimuth, d.Altitude)
	dst[28] = d.Tag
	le.PutUint32(dst[29:], d.Instance)
}

func putFloats(dst []byte, values ...float32) {
	for i, v := range values {
		le.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

// AppendPCD appends points as a PCD file, version 0.7 with binary data: the Point Cloud
// Library's "The PCD (Point Cloud Data) file format". VIEWPOINT is the sensor's pose in
// the map frame, so that viewers show clouds of several places where they belong.
func AppendPCD(dst []byte, p *Points) []byte {
	dst = append(dst, pcdHeader(p)...)
	return p.append(dst)
}

func pcdHeader(p *Points) string {
	column := func(of func(f *field) string) string {
		var words []string
		for i := range p.fields {
			words = append(words, of(&p.fields[i]))
		}
		return strings.Join(words, " ")
	}
	pose := p.pose()
	x, q := pose.Position, pose.Orientation
	lines := []string{
		"# .PCD v0.7 - Point Cloud Data file format",
		"# " + p.about(),
		"VERSION 0.7",
		"FIELDS " + column(func(f *field) string { return f.name }),
		"SIZE " + column(func(f *field) string { return strconv.Itoa(f.size) }),
		"TYPE " + column(func(f *field) string { return string(f.pcd) }),
		"COUNT " + column(func(*field) string { return "1" }),
		fmt.Sprintf("WIDTH %d", p.width),
		fmt.Sprintf("HEIGHT %d", p.height),
		"VIEWPOINT " + decimals(x[0], x[1], x[2], q.W, q.V[0], q.V[1], q.V[2]),
		fmt.Sprintf("POINTS %d", p.Len()),
		"DATA binary",
	}
	return strings.Join(lines, "\n") + "\n"
}

// append appends the points' bytes.
func (p *Points) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, p.Len()*p.step)...)
	p.put(dst[start:])
	return dst
}

// decimals writes numbers in as few digits as read back to them, without exponents,
// which not every reader knows.
func decimals(values ...float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(words, " ")
}

// AppendPLY appends points as a PLY file, binary and little-endian, with a property of the
// element vertex for each field. The source is "The PLY Polygon File Format", Turk 1994. Where
// the sensor was is a comment.
func AppendPLY(dst []byte, p *Points) []byte {
	dst = append(dst, plyHeader(p)...)
	return p.append(dst)
}

func plyHeader(p *Points) string {
	pose := p.pose()
	x, q := pose.Position, pose.Orientation
	lines := []string{
		"ply",
		"format binary_little_endian 1.0",
		"comment " + p.about(),
		"comment sensor in the map x y z qw qx qy qz " + decimals(x[0], x[1], x[2], q.W, q.V[0], q.V[1], q.V[2]),
		fmt.Sprintf("element vertex %d", p.Len()),
	}
	for _, f := range p.fields {
		lines = append(lines, "property "+f.ply+" "+f.name)
	}
	return strings.Join(append(lines, "end_header"), "\n") + "\n"
}
