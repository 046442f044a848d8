package rossample

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/internal/ros2msg"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cloudLayout is how one point layout lies in memory.
type cloudLayout struct {
	step   int
	fields []ros2msg.PointField
	// put writes points one after another; dst has step bytes for each.
	put func(dst []byte, points []sample.Point)
}

func pointField(name string, offset uint32, datatype uint8) ros2msg.PointField {
	return ros2msg.PointField{Name: name, Offset: offset, Datatype: datatype, Count: 1}
}

var layouts = map[sample.PointLayout]*cloudLayout{
	// Autoware's PointXYZIRCAEDT, 32 bytes without padding
	// (autoware_point_types; Nebula's drivers write the same).
	sample.LayoutXYZIRCAEDT: {step: 32, put: putXYZIRCAEDT, fields: []ros2msg.PointField{
		pointField("x", 0, ros2msg.PointFieldFloat32),
		pointField("y", 4, ros2msg.PointFieldFloat32),
		pointField("z", 8, ros2msg.PointFieldFloat32),
		pointField("intensity", 12, ros2msg.PointFieldUint8),
		pointField("return_type", 13, ros2msg.PointFieldUint8),
		pointField("channel", 14, ros2msg.PointFieldUint16),
		pointField("azimuth", 16, ros2msg.PointFieldFloat32),
		pointField("elevation", 20, ros2msg.PointFieldFloat32),
		pointField("distance", 24, ros2msg.PointFieldFloat32),
		pointField("time_stamp", 28, ros2msg.PointFieldUint32),
	}},
	// The ROS 2 Velodyne driver's fields in its offsets: packed, 22 bytes, so
	// time is not aligned (velodyne_pointcloud, PointcloudXYZIRT).
	sample.LayoutXYZIRT: {step: 22, put: putXYZIRT, fields: []ros2msg.PointField{
		pointField("x", 0, ros2msg.PointFieldFloat32),
		pointField("y", 4, ros2msg.PointFieldFloat32),
		pointField("z", 8, ros2msg.PointFieldFloat32),
		pointField("intensity", 12, ros2msg.PointFieldFloat32),
		pointField("ring", 16, ros2msg.PointFieldUint16),
		pointField("time", 18, ros2msg.PointFieldFloat32),
	}},
	sample.LayoutXYZI: {step: 16, put: putXYZI, fields: []ros2msg.PointField{
		pointField("x", 0, ros2msg.PointFieldFloat32),
		pointField("y", 4, ros2msg.PointFieldFloat32),
		pointField("z", 8, ros2msg.PointFieldFloat32),
		pointField("intensity", 12, ros2msg.PointFieldFloat32),
	}},
}

// PointCloud2 sets dst to the cloud in its layout. The points are converted
// when dst's Data is written, straight to where an encoder wants them.
//
// A cloud of returns has one row and is dense. An organized one has a row for
// each ring and a column for each firing; its rows are in the order of the ring
// numbers if those are 0 to Rings-1, else in the order of firing.
func PointCloud2(dst *ros2msg.PointCloud2, src *sample.PointCloud) error {
	name := src.Layout
	if name == "" {
		name = sample.LayoutXYZIRCAEDT
	}
	layout, ok := layouts[name]
	if !ok {
		return fmt.Errorf("layout %q (known are %s, %s, %s): %w", name,
			sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutXYZI, ErrLayout)
	}
	points, ok := dst.Data.Source.(*cloudBytes)
	if !ok {
		points = &cloudBytes{}
	}
	if err := points.set(layout, src); err != nil {
		return err
	}
	dst.Height, dst.Width = 1, uint32(len(src.Points))
	if src.Organized {
		dst.Height, dst.Width = uint32(src.Rings), uint32(src.Columns)
	}
	dst.PointFields = layout.fields
	dst.IsBigendian = false
	dst.PointStep = uint32(layout.step)
	dst.RowStep = dst.PointStep * dst.Width
	dst.Data = ros2msg.Bytes{Source: points}
	dst.IsDense = !src.Organized
	return setHeader(&dst.Header, &src.Header)
}

// firingBlock firings of 128 lasers fit into a first-level cache.
const firingBlock = 8

// cloudBytes is the data field of one cloud.
type cloudBytes struct {
	layout *cloudLayout
	points []sample.Point
	// rows[r] is the index within a firing of the laser that makes row r; empty
	// for a cloud of one row.
	rows []int
	// part gathers a row's points of firingBlock firings.
	part [firingBlock]sample.Point
}

func (c *cloudBytes) set(layout *cloudLayout, src *sample.PointCloud) error {
	c.layout, c.points, c.rows = layout, src.Points, c.rows[:0]
	if !src.Organized {
		return nil
	}
	if src.Rings <= 0 || src.Columns <= 0 || len(src.Points) != src.Rings*src.Columns {
		return fmt.Errorf("organized cloud of %d rings x %d columns has %d points: %w",
			src.Rings, src.Columns, len(src.Points), ErrSize)
	}
	for range src.Rings {
		c.rows = append(c.rows, -1)
	}
	for laser := range src.Rings {
		ring := int(src.Points[laser].Ring)
		if ring >= src.Rings || c.rows[ring] >= 0 {
			for row := range c.rows {
				c.rows[row] = row
			}
			return nil
		}
		c.rows[ring] = laser
	}
	return nil
}

// Size returns the number of bytes of all points.
func (c *cloudBytes) Size() int { return len(c.points) * c.layout.step }

// Put writes all points.
func (c *cloudBytes) Put(dst []byte) {
	if len(c.rows) == 0 {
		c.layout.put(dst, c.points)
		return
	}
	// Firings are transposed to rows a few at a time: their points then stay in
	// the processor's cache until each row has had its part.
	rings, step := len(c.rows), c.layout.step
	columns := len(c.points) / rings
	for first := 0; first < columns; first += firingBlock {
		n := min(firingBlock, columns-first)
		firings := c.points[first*rings : (first+n)*rings]
		for row, laser := range c.rows {
			for i := range n {
				c.part[i] = firings[i*rings+laser]
			}
			c.layout.put(dst[(row*columns+first)*step:][:n*step], c.part[:n])
		}
	}
}

// intensityByte rounds to the nearest of 0..255; NaN gives 0.
func intensityByte(v float32) uint8 {
	if v >= 255 {
		return 255
	}
	if v > 0 {
		return uint8(int32(v + 0.5))
	}
	return 0
}

func putXYZIRCAEDT(dst []byte, points []sample.Point) {
	for i := range points {
		p := &points[i]
		d := (*[32]byte)(dst)
		dst = dst[32:]
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		d[12] = intensityByte(p.Intensity)
		d[13] = p.Return
		binary.LittleEndian.PutUint16(d[14:16], p.Ring)
		binary.LittleEndian.PutUint32(d[16:20], math.Float32bits(p.Azimuth))
		binary.LittleEndian.PutUint32(d[20:24], math.Float32bits(p.Elevation))
		binary.LittleEndian.PutUint32(d[24:28], math.Float32bits(p.Distance))
		binary.LittleEndian.PutUint32(d[28:32], p.TimeNs)
	}
}

func putXYZIRT(dst []byte, points []sample.Point) {
	for i := range points {
		p := &points[i]
		d := (*[22]byte)(dst)
		dst = dst[22:]
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.Intensity))
		binary.LittleEndian.PutUint16(d[16:18], p.Ring)
		binary.LittleEndian.PutUint32(d[18:22], math.Float32bits(float32(float64(p.TimeNs)*1e-9)))
	}
}

func putXYZI(dst []byte, points []sample.Point) {
	for i := range points {
		p := &points[i]
		d := (*[16]byte)(dst)
		dst = dst[16:]
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.Intensity))
	}
}
