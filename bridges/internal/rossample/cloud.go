package rossample

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cloudLayout is how one point layout lies in memory.
type cloudLayout struct {
	step   int
	fields []ros.PointField
	// put writes point i at dst[offsets[i]:].
	put func(c *cloudBytes, dst []byte, points []sample.Point, offsets []int)
}

func pointField(name string, offset uint32, datatype uint8) ros.PointField {
	return ros.PointField{Name: name, Offset: offset, Datatype: datatype, Count: 1}
}

var layouts = map[sample.PointLayout]*cloudLayout{
	// Autoware's PointXYZIRCAEDT, 32 bytes without padding
	// (autoware_point_types; Nebula's drivers write the same).
	sample.LayoutXYZIRCAEDT: {step: 32, put: putXYZIRCAEDT, fields: []ros.PointField{
		pointField("x", 0, ros.PointFieldFloat32),
		pointField("y", 4, ros.PointFieldFloat32),
		pointField("z", 8, ros.PointFieldFloat32),
		pointField("intensity", 12, ros.PointFieldUint8),
		pointField("return_type", 13, ros.PointFieldUint8),
		pointField("channel", 14, ros.PointFieldUint16),
		pointField("azimuth", 16, ros.PointFieldFloat32),
		pointField("elevation", 20, ros.PointFieldFloat32),
		pointField("distance", 24, ros.PointFieldFloat32),
		pointField("time_stamp", 28, ros.PointFieldUint32),
	}},
	// The ROS 2 Velodyne driver's fields in its offsets: packed, 22 bytes, so
	// time is not aligned (velodyne_pointcloud, PointcloudXYZIRT).
	sample.LayoutXYZIRT: {step: 22, put: putXYZIRT, fields: []ros.PointField{
		pointField("x", 0, ros.PointFieldFloat32),
		pointField("y", 4, ros.PointFieldFloat32),
		pointField("z", 8, ros.PointFieldFloat32),
		pointField("intensity", 12, ros.PointFieldFloat32),
		pointField("ring", 16, ros.PointFieldUint16),
		pointField("time", 18, ros.PointFieldFloat32),
	}},
	sample.LayoutXYZI: &xyzi,
	// What CARLA's ROS bridge publishes for sensor.lidar.ray_cast; its axes are ours.
	sample.LayoutCARLA: &xyzi,
	// What it publishes for sensor.lidar.ray_cast_semantic.
	sample.LayoutCARLASemantic: {step: 24, put: putCARLASemantic, fields: []ros.PointField{
		pointField("x", 0, ros.PointFieldFloat32),
		pointField("y", 4, ros.PointFieldFloat32),
		pointField("z", 8, ros.PointFieldFloat32),
		pointField("CosAngle", 12, ros.PointFieldFloat32),
		pointField("ObjIdx", 16, ros.PointFieldUint32),
		pointField("ObjTag", 20, ros.PointFieldUint32),
	}},
	// SVL Simulator's 32 bytes, of which 12 to 15 and 17 to 23 are 0. Unlike SVL,
	// which leaves it 0, timestamp is the simulation time of the firing in seconds.
	sample.LayoutSVL: {step: 32, put: putSVL, fields: []ros.PointField{
		pointField("x", 0, ros.PointFieldFloat32),
		pointField("y", 4, ros.PointFieldFloat32),
		pointField("z", 8, ros.PointFieldFloat32),
		pointField("intensity", 16, ros.PointFieldUint8),
		pointField("timestamp", 24, ros.PointFieldFloat64),
	}},
}

var xyzi = cloudLayout{step: 16, put: putXYZI, fields: []ros.PointField{
	pointField("x", 0, ros.PointFieldFloat32),
	pointField("y", 4, ros.PointFieldFloat32),
	pointField("z", 8, ros.PointFieldFloat32),
	pointField("intensity", 12, ros.PointFieldFloat32),
}}

// PointCloud2 sets dst to the cloud in its layout. The points are converted
// when dst's Data is written, straight to where an encoder wants them.
//
// A cloud of returns has one row and is dense. An organized one has a row for
// each ring and a column for each firing; its rows are in the order of the ring
// numbers if those are 0 to Rings-1, else in the order of firing.
func PointCloud2(dst *ros.PointCloud2, src *sample.PointCloud) error {
	name := src.Layout
	if name == "" {
		name = sample.LayoutXYZIRCAEDT
	}
	layout, ok := layouts[name]
	if !ok {
		return fmt.Errorf("layout %q (known are %v): %w", name, slices.Sorted(maps.Keys(layouts)), ErrLayout)
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
	dst.Data = ros.Bytes{Source: points}
	dst.IsDense = !src.Organized
	return ros.SetHeader(&dst.Header, &src.Header)
}

// rowBlock is how many points of a cloud of one row are put at a time.
const rowBlock = 128

// cloudBytes is the data field of one cloud.
type cloudBytes struct {
	layout  *cloudLayout
	points  []sample.Point
	stampNs int64
	// scale makes intensities those of 0..255.
	scale float32
	// Points are put block after block, blockBytes further on each time: a firing, or
	// rowBlock points of a cloud of one row. offsets has the place of each point of a
	// block.
	offsets    []int
	blockBytes int
	taken      []bool // of the rings, while rows are arranged
}

func (c *cloudBytes) set(layout *cloudLayout, src *sample.PointCloud) error {
	c.layout, c.points, c.stampNs, c.scale = layout, src.Points, src.StampNs, 1
	if src.UnitIntensity {
		c.scale = 255
	}
	if !src.Organized {
		c.blockBytes = rowBlock * layout.step
		c.line(rowBlock, layout.step)
		return nil
	}
	if src.Rings <= 0 || src.Columns <= 0 || len(src.Points) != src.Rings*src.Columns {
		return fmt.Errorf("organized cloud of %d rings x %d columns has %d points: %w",
			src.Rings, src.Columns, len(src.Points), ErrSize)
	}
	c.blockBytes = layout.step
	c.arrange(src)
	return nil
}

// line places n points one after another.
func (c *cloudBytes) line(n, step int) {
	c.offsets = c.offsets[:0]
	for i := range n {
		c.offsets = append(c.offsets, i*step)
	}
}

// arrange places a firing's points in the rows of their rings, or in the order of
// firing if the rings aren't numbered from 0 to Rings-1.
func (c *cloudBytes) arrange(src *sample.PointCloud) {
	rowBytes := src.Columns * c.layout.step
	c.taken = slices.Grow(c.taken[:0], src.Rings)[:src.Rings]
	clear(c.taken)
	c.offsets = c.offsets[:0]
	for laser := range src.Rings {
		ring := int(src.Points[laser].Ring)
		if ring >= src.Rings || c.taken[ring] {
			c.line(src.Rings, rowBytes)
			return
		}
		c.taken[ring] = true
		c.offsets = append(c.offsets, ring*rowBytes)
	}
}

// Size returns the number of bytes of all points.
func (c *cloudBytes) Size() int { return len(c.points) * c.layout.step }

// Put writes all points. They are read in their order, which is as fast as memory
// goes, and written to as many rows at once as there are rings.
func (c *cloudBytes) Put(dst []byte) {
	points, block := c.points, len(c.offsets)
	for at := 0; len(points) > 0; at += c.blockBytes {
		n := min(block, len(points))
		c.layout.put(c, dst[at:], points[:n], c.offsets)
		points = points[n:]
	}
}

// byteOf cuts off what is outside of 0..255 and behind the point; NaN gives 0.
func byteOf(v float32) uint8 {
	if v >= 255 {
		return 255
	}
	if v > 0 {
		return uint8(int32(v))
	}
	return 0
}

// The functions below take a point's bytes as a slice whose length is known, so that
// each field is one store.

func putXYZIRCAEDT(c *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	scale, offsets := c.scale, offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[32]byte)(dst[at : at+32 : at+32])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		intensity := uint32(byteOf(float32(p.Intensity*scale) + 0.5)) // to the nearest
		binary.LittleEndian.PutUint32(d[12:16], intensity|uint32(p.Return)<<8|uint32(p.Ring)<<16)
		binary.LittleEndian.PutUint32(d[16:20], math.Float32bits(p.Azimuth))
		binary.LittleEndian.PutUint32(d[20:24], math.Float32bits(p.Elevation))
		binary.LittleEndian.PutUint32(d[24:28], math.Float32bits(p.Distance))
		binary.LittleEndian.PutUint32(d[28:32], p.TimeNs)
	}
}

func putXYZIRT(_ *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	offsets = offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[22]byte)(dst[at : at+22 : at+22])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.Intensity))
		binary.LittleEndian.PutUint16(d[16:18], p.Ring)
		binary.LittleEndian.PutUint32(d[18:22], math.Float32bits(float32(float64(p.TimeNs)*1e-9)))
	}
}

func putXYZI(_ *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	offsets = offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[16]byte)(dst[at : at+16 : at+16])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.Intensity))
	}
}

func putCARLASemantic(_ *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	offsets = offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[24]byte)(dst[at : at+24 : at+24])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.CosIncidence))
		binary.LittleEndian.PutUint32(d[16:20], p.Instance)
		binary.LittleEndian.PutUint32(d[20:24], uint32(p.Tag))
	}
}

// putSVL writes intensities of 0..1 as SVL does, times 255 and cut off; those of
// 0..255 to the nearest.
func putSVL(c *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	scale, round, stampNs := c.scale, float32(0.5), c.stampNs
	if scale != 1 {
		round = 0
	}
	offsets = offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[32]byte)(dst[at : at+32 : at+32])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint64(d[8:16], uint64(math.Float32bits(p.Z)))
		binary.LittleEndian.PutUint64(d[16:24], uint64(byteOf(float32(p.Intensity*scale)+round)))
		binary.LittleEndian.PutUint64(d[24:32], math.Float64bits(float64(stampNs+int64(p.TimeNs))/1e9))
	}
}
