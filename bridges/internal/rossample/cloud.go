package rossample

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// cloudLayout is how one point layout lies in memory.
type cloudLayout struct {
	pointFields
	// put writes point i at dst[offsets[i]:].
	put func(c *cloudBytes, dst []byte, points []sample.Point, offsets []int)
	// single says that the layout is that of a simulator without second echoes: it has the strongest of each firing.
	single bool
}

// pointFields are what lies in each point of a cloud, and the bytes that a point takes.
type pointFields struct {
	step   int
	fields []ros.PointField
}

// and returns the fields with more of a type behind them, without a gap.
func (f pointFields) and(datatype uint8, names ...string) pointFields {
	for _, name := range names {
		f.fields = append(slices.Clip(f.fields), ros.PointField{Name: name, Offset: uint32(f.step), Datatype: datatype, Count: 1})
		f.step += datatypeSize[datatype]
	}
	return f
}

// set makes dst a dense cloud of one row of n points.
func (f *pointFields) set(dst *ros.PointCloud2, header *sample.Header, n int, points ros.BytesSource) error {
	dst.Height, dst.Width = 1, uint32(n)
	dst.PointFields = f.fields
	dst.IsBigendian = false
	dst.PointStep = uint32(f.step)
	dst.RowStep = dst.PointStep * dst.Width
	dst.Data = ros.Bytes{Source: points}
	dst.IsDense = true
	return ros.SetHeader(&dst.Header, header)
}

// skip returns the fields with a gap behind them.
func (f pointFields) skip(bytes int) pointFields {
	f.step += bytes
	return f
}

var (
	xyz  = pointFields{}.and(ros.PointFieldFloat32, "x", "y", "z")
	xyzi = cloudLayout{xyz.and(ros.PointFieldFloat32, "intensity"), putXYZI, false}
)

var layouts = map[sample.PointLayout]*cloudLayout{
	// Autoware's PointXYZIRCAEDT, 32 bytes without padding
	// (autoware_point_types; Nebula's drivers write the same).
	sample.LayoutXYZIRCAEDT: {xyz.and(ros.PointFieldUint8, "intensity", "return_type").and(ros.PointFieldUint16, "channel").
		and(ros.PointFieldFloat32, "azimuth", "elevation", "distance").and(ros.PointFieldUint32, "time_stamp"), putXYZIRCAEDT, false},
	// The ROS 2 Velodyne driver's fields in its offsets: packed, 22 bytes, so
	// time is not aligned (velodyne_pointcloud, PointcloudXYZIRT).
	sample.LayoutXYZIRT: {xyzi.and(ros.PointFieldUint16, "ring").and(ros.PointFieldFloat32, "time"), putXYZIRT, false},
	sample.LayoutXYZI:   &xyzi,
	// What CARLA's ROS bridge publishes for sensor.lidar.ray_cast; its axes are ours.
	sample.LayoutCARLA: {xyzi.pointFields, putXYZI, true},
	// What it publishes for sensor.lidar.ray_cast_semantic.
	sample.LayoutCARLASemantic: {xyz.and(ros.PointFieldFloat32, "CosAngle").and(ros.PointFieldUint32, "ObjIdx", "ObjTag"), putCARLASemantic, true},
	// SVL Simulator's 32 bytes, of which 12 to 15 and 17 to 23 are 0. Unlike SVL,
	// which leaves it 0, timestamp is the simulation time of the firing in seconds.
	sample.LayoutSVL: {xyz.skip(4).and(ros.PointFieldUint8, "intensity").skip(7).and(ros.PointFieldFloat64, "timestamp"), putSVL, true},
}

// whole has everything that there is to a point.
var whole = cloudLayout{xyzi.and(ros.PointFieldFloat32, "distance", "azimuth", "elevation").and(ros.PointFieldUint32, "time_stamp").
	and(ros.PointFieldUint16, "ring").and(ros.PointFieldUint8, "return_type", "ObjTag").and(ros.PointFieldUint32, "ObjIdx").
	and(ros.PointFieldFloat32, "CosAngle").and(ros.PointFieldUint32, "ray"), putWhole, false}

// PointCloud2 sets dst to the cloud in its layout. The points are converted
// when dst's Data is written, straight to where an encoder wants them.
//
// A cloud of returns has one row and is dense. An organized one has a row for each ring and, for each firing, a
// column for each of its points. Its rows are in the order of the ring numbers if those are 0 to
// Rings-1, else in the order of firing. The layouts of SVL and CARLA have the strongest point of each firing alone.
func PointCloud2(dst *ros.PointCloud2, src *sample.PointCloud) error {
	name := src.Layout
	if name == "" {
		name = sample.LayoutXYZIRCAEDT
	}
	layout, ok := layouts[name]
	if !ok {
		return fmt.Errorf("layout %q (known are %v): %w", name, slices.Sorted(maps.Keys(layouts)), ErrLayout)
	}
	return pointCloud2(dst, src, layout)
}

// WholePointCloud2 sets dst to the cloud with all that there is to its points, whatever
// layout it asks for.
func WholePointCloud2(dst *ros.PointCloud2, src *sample.PointCloud) error {
	return pointCloud2(dst, src, &whole)
}

func pointCloud2(dst *ros.PointCloud2, src *sample.PointCloud, layout *cloudLayout) error {
	points, ok := dst.Data.Source.(*cloudBytes)
	if !ok {
		points = &cloudBytes{}
	}
	if layout.single {
		src = src.SingleReturn(&points.single)
	}
	if err := points.set(layout, src); err != nil {
		return err
	}
	err := layout.set(dst, &src.Header, len(src.Points), points)
	if src.Organized {
		dst.Height, dst.Width, dst.IsDense = uint32(src.Rings), uint32(src.Width()), false
		dst.RowStep = dst.PointStep * dst.Width
	}
	return err
}

// rowBlock is how many points of a cloud of one row are put at a time.
const rowBlock = 128

// cloudBytes is the data field of one cloud.
type cloudBytes struct {
	layout *cloudLayout
	points []sample.Point
	stamp  simtime.Stamp
	// scale makes intensities those of 0..255.
	scale float32
	// Points are put block after block, blockBytes further on each time: a firing of all lasers, or
	// rowBlock points of a cloud of one row. offsets has the place of each point of a
	// block.
	offsets    []int
	blockBytes int
	taken      []bool            // of the rings, while rows are arranged
	single     sample.PointCloud // memory of the strongest points
}

func (c *cloudBytes) set(layout *cloudLayout, src *sample.PointCloud) error {
	c.layout, c.points, c.stamp, c.scale = layout, src.Points, src.Stamp, 1
	if src.UnitIntensity {
		c.scale = 255
	}
	if !src.Organized {
		c.blockBytes = rowBlock * layout.step
		c.line(rowBlock, layout.step)
		return nil
	}
	if !src.IsWhole() {
		return fmt.Errorf("organized cloud of %d rings x %d columns has %d points: %w",
			src.Rings, src.Width(), len(src.Points), ErrSize)
	}
	c.blockBytes = src.Returns.Points() * layout.step
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

// arrange places a firing's points in the rows of their rings. It places them in the order of
// firing if the rings aren't numbered from 0 to Rings-1.
func (c *cloudBytes) arrange(src *sample.PointCloud) {
	points, rowBytes := src.Returns.Points(), src.Width()*c.layout.step
	c.taken = slices.Grow(c.taken[:0], src.Rings)[:src.Rings]
	clear(c.taken)
	c.offsets = c.offsets[:0]
	numbered := true
	for laser := range src.Rings {
		ring := int(src.Points[laser*points].Ring)
		if ring >= src.Rings || c.taken[ring] {
			numbered = false
			break
		}
		c.taken[ring] = true
	}
	for laser := range src.Rings {
		row := laser
		if numbered {
			row = int(src.Points[laser*points].Ring)
		}
		for k := range points {
			c.offsets = append(c.offsets, row*rowBytes+k*c.layout.step)
		}
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

func putWhole(_ *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	offsets = offsets[:len(points)]
	for i := range points {
		p, at := &points[i], offsets[i]
		d := (*[48]byte)(dst[at : at+48 : at+48])
		binary.LittleEndian.PutUint32(d[0:4], math.Float32bits(p.X))
		binary.LittleEndian.PutUint32(d[4:8], math.Float32bits(p.Y))
		binary.LittleEndian.PutUint32(d[8:12], math.Float32bits(p.Z))
		binary.LittleEndian.PutUint32(d[12:16], math.Float32bits(p.Intensity))
		binary.LittleEndian.PutUint32(d[16:20], math.Float32bits(p.Distance))
		binary.LittleEndian.PutUint32(d[20:24], math.Float32bits(p.Azimuth))
		binary.LittleEndian.PutUint32(d[24:28], math.Float32bits(p.Elevation))
		binary.LittleEndian.PutUint32(d[28:32], p.TimeNs)
		binary.LittleEndian.PutUint32(d[32:36], uint32(p.Ring)|uint32(p.Return)<<16|uint32(p.Tag)<<24)
		binary.LittleEndian.PutUint32(d[36:40], p.Instance)
		binary.LittleEndian.PutUint32(d[40:44], math.Float32bits(p.CosIncidence))
		binary.LittleEndian.PutUint32(d[44:48], p.Ray)
	}
}

// putSVL writes intensities of 0..1 as SVL does, times 255 and cut off; those of
// 0..255 to the nearest.
func putSVL(c *cloudBytes, dst []byte, points []sample.Point, offsets []int) {
	scale, round, stamp := c.scale, float32(0.5), c.stamp
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
		binary.LittleEndian.PutUint64(d[24:32], math.Float64bits(float64(stamp+simtime.Stamp(p.TimeNs))/1e9))
	}
}

// FromPointCloud2 returns what a cloud's fields say that it is. Points with Range, Velocity,
// AzimuthAngle and ElevationAngle are a *sample.Radar, those with x, y, t and pol
// *sample.DvsEvents. All else is a *sample.PointCloud, which wants x, y and z.
func FromPointCloud2(src *ros.PointCloud2) (simtime.Stamped, error) {
	r, err := newCloudReader(src)
	if err != nil {
		return nil, err
	}
	header := ros.SampleHeader(&src.Header)
	header.Pose = spatial.Identity()
	switch {
	case r.has("Range", "Velocity", "AzimuthAngle", "ElevationAngle"):
		return &sample.Radar{Header: header, Detections: r.radar()}, nil
	case r.has("x", "y", "t", "pol"):
		return &sample.DvsEvents{Header: header, Events: r.events()}, nil
	case r.has("x", "y", "z"):
		cloud := &sample.PointCloud{Header: header}
		r.points(cloud)
		return cloud, nil
	}
	return nil, fmt.Errorf("cloud with the fields %s: %w: want x, y and z", r.names(), ErrLayout)
}

// cloudReader reads the points of a cloud by the names of their fields.
type cloudReader struct {
	src   *ros.PointCloud2
	order binary.ByteOrder
	// rows x columns points.
	rows, columns int
	// returns is of how many of them a firing has in a row, at most.
	returns int
}

// datatypeSize has the bytes of a PointField's value by its datatype, 0 for unknown ones.
var datatypeSize = [math.MaxUint8 + 1]int{
	ros.PointFieldInt8: 1, ros.PointFieldUint8: 1, ros.PointFieldInt16: 2, ros.PointFieldUint16: 2,
	ros.PointFieldInt32: 4, ros.PointFieldUint32: 4, ros.PointFieldFloat32: 4, ros.PointFieldFloat64: 8,
}

// newCloudReader checks that all points lie within the data, and all fields within the
// points.
func newCloudReader(src *ros.PointCloud2) (*cloudReader, error) {
	r := &cloudReader{src: src, order: binary.LittleEndian, rows: int(src.Height), columns: int(src.Width)}
	if src.IsBigendian {
		r.order = binary.BigEndian
	}
	size := uint64(len(src.Data.Data))
	row := uint64(src.PointStep) * uint64(src.Width)
	if src.PointStep == 0 && row+uint64(src.Width) > 0 || row > uint64(src.RowStep) && src.Height > 0 ||
		uint64(src.Height)*uint64(src.RowStep) > size {
		return nil, fmt.Errorf("cloud of %d x %d points of %d bytes, rows of %d, has %d bytes: %w",
			src.Width, src.Height, src.PointStep, src.RowStep, size, ErrSize)
	}
	if src.Width == 0 {
		r.rows = 0 // however many empty rows it says it has
	}
	for i := range src.PointFields {
		f := &src.PointFields[i]
		if uint64(f.Offset)+uint64(datatypeSize[f.Datatype]) > uint64(src.PointStep) {
			return nil, fmt.Errorf("field %s of a point ends behind its %d bytes: %w", f.Name, src.PointStep, ErrLayout)
		}
	}
	r.returns = r.perFiring()
	return r, nil
}

// perFiring returns how many points a firing has: those that lie side by side, have one direction, ring and time, and differ in the type
// of their return. Clouds that don't tell all of this have one, and so have those that no return mode makes.
func (r *cloudReader) perFiring() int {
	same := []*ros.PointField{r.field("azimuth"), r.field("elevation"), r.field("ring", "channel"), r.timeField()}
	kind := r.field("return_type")
	if kind == nil || slices.Contains(same, nil) {
		return 1
	}
	value := func(i int, f *ros.PointField) []byte { return r.point(i)[f.Offset:][:datatypeSize[f.Datatype]] }
	together := func(i int) bool {
		for _, f := range same {
			if !bytes.Equal(value(i, f), value(i-1, f)) {
				return false
			}
		}
		a, b := value(i, kind), value(i-1, kind)
		return !bytes.Equal(a, b) || !slices.ContainsFunc(a, func(b byte) bool { return b != 0 }) // no echo beside no echo
	}
	most, run := 1, 1
	for i := 1; i < r.count(); i++ {
		if run++; i%r.columns == 0 || !together(i) {
			run = 1
		}
		most = max(most, run)
	}
	if most > sample.TripleReturns.Points() || r.rows > 1 && r.columns%most != 0 {
		return 1
	}
	for i := range r.count() {
		if r.rows > 1 && i%most > 0 && !together(i) {
			return 1
		}
	}
	return most
}

// has reports whether all the fields are there.
func (r *cloudReader) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return r.field(name) == nil })
}

// field returns the first field that has one of the names.
func (r *cloudReader) field(names ...string) *ros.PointField {
	for _, name := range names {
		for i := range r.src.PointFields {
			if f := &r.src.PointFields[i]; f.Name == name && datatypeSize[f.Datatype] > 0 {
				return f
			}
		}
	}
	return nil
}

func (r *cloudReader) names() []string {
	var list []string
	for i := range r.src.PointFields {
		list = append(list, r.src.PointFields[i].Name)
	}
	return list
}

// count is the number of points.
func (r *cloudReader) count() int { return r.rows * r.columns }

// point returns the bytes of the i-th point, row by row.
func (r *cloudReader) point(i int) []byte {
	step := int(r.src.PointStep)
	at := i/r.columns*int(r.src.RowStep) + i%r.columns*step
	return r.src.Data.Data[at : at+step]
}

// each calls set with the value of a field in each point; nil, for a field that the
// cloud doesn't have, does nothing.
func (r *cloudReader) each(f *ros.PointField, set func(i int, v float64)) {
	if f == nil {
		return
	}
	for i := range r.count() {
		set(i, r.value(r.point(i)[f.Offset:], f.Datatype))
	}
}

// value reads a number; float64 holds those of all datatypes.
func (r *cloudReader) value(b []byte, datatype uint8) float64 {
	switch datatype {
	case ros.PointFieldInt8:
		return float64(int8(b[0]))
	case ros.PointFieldUint8:
		return float64(b[0])
	case ros.PointFieldInt16:
		return float64(int16(r.order.Uint16(b)))
	case ros.PointFieldUint16:
		return float64(r.order.Uint16(b))
	case ros.PointFieldInt32:
		return float64(int32(r.order.Uint32(b)))
	case ros.PointFieldUint32:
		return float64(r.order.Uint32(b))
	case ros.PointFieldFloat32:
		return float64(math.Float32frombits(r.order.Uint32(b)))
	default:
		return math.Float64frombits(r.order.Uint64(b))
	}
}

// radar reads a sweep.
func (r *cloudReader) radar() []sample.RadarDetection {
	list := make([]sample.RadarDetection, r.count())
	r.each(r.field("Range"), func(i int, v float64) { list[i].Depth = float32(v) })
	r.each(r.field("Velocity"), func(i int, v float64) { list[i].Velocity = float32(v) })
	r.each(r.field("AzimuthAngle"), func(i int, v float64) { list[i].Azimuth = float32(v) })
	r.each(r.field("ElevationAngle"), func(i int, v float64) { list[i].Altitude = float32(v) })
	return list
}

// events reads the events of an event camera.
func (r *cloudReader) events() []sample.DvsEvent {
	list := make([]sample.DvsEvent, r.count())
	r.each(r.field("x"), func(i int, v float64) { list[i].X = uint16(within(v, math.MaxUint16)) })
	r.each(r.field("y"), func(i int, v float64) { list[i].Y = uint16(within(v, math.MaxUint16)) })
	r.each(r.field("t"), func(i int, v float64) { list[i].TimeNs = simtime.Stamp(within(v, 1<<62)) })
	r.each(r.field("pol"), func(i int, v float64) { list[i].Polarity = v > 0 })
	return list
}

// within rounds v to a whole number from 0 to limit; NaN gives 0.
func within(v, limit float64) float64 {
	if v >= limit {
		return limit
	}
	if v > 0 {
		return math.Round(v)
	}
	return 0
}

// points sets dst to the cloud's points, layout and shape. A cloud of several rows is
// organized: its rows are rings, its columns the points of firings. Distance and angles that the
// points don't have follow from their coordinates, and so does Rings from their rings.
func (r *cloudReader) points(dst *sample.PointCloud) {
	dst.Layout = r.layout()
	dst.Organized = r.src.Height > 1
	dst.Points = make([]sample.Point, r.count())
	switch r.returns {
	case 2:
		dst.Returns = sample.DualReturns
	case 3:
		dst.Returns = sample.TripleReturns
	}
	at := func(i int) *sample.Point { return &dst.Points[i] }
	if dst.Organized {
		dst.Rings, dst.Columns = r.rows, r.columns/r.returns
		// Points are kept firing after firing.
		at = func(i int) *sample.Point {
			row, column := i/r.columns, i%r.columns
			return &dst.Points[(column/r.returns*r.rows+row)*r.returns+column%r.returns]
		}
		for i := range dst.Points {
			at(i).Ring = uint16(i / r.columns)
		}
	}
	r.coordinates(at)
	r.marks(at)
	r.times(dst.Stamp, at)
	r.number(dst)
	r.each(r.field("ray"), func(i int, v float64) { at(i).Ray = uint32(within(v, math.MaxUint32)) })
}

// number gives the points of each firing its number, and the cloud its rings.
func (r *cloudReader) number(dst *sample.PointCloud) {
	ray := uint32(0)
	for i := range dst.Points {
		p := &dst.Points[i]
		if dst.Organized {
			p.Ray = uint32(i / r.returns)
			continue
		}
		if i > 0 {
			q := &dst.Points[i-1]
			if r.returns == 1 || p.Azimuth != q.Azimuth || p.Elevation != q.Elevation || p.Ring != q.Ring || p.TimeNs != q.TimeNs ||
				p.Return == q.Return && p.Return != sample.ReturnUnknown {
				ray++
			}
		}
		p.Ray = ray
		dst.Rings = max(dst.Rings, int(p.Ring)+1)
	}
}

// coordinates reads where the points are.
func (r *cloudReader) coordinates(at func(i int) *sample.Point) {
	r.each(r.field("x"), func(i int, v float64) { at(i).X = float32(v) })
	r.each(r.field("y"), func(i int, v float64) { at(i).Y = float32(v) })
	r.each(r.field("z"), func(i int, v float64) { at(i).Z = float32(v) })
	distance, azimuth, elevation := r.field("distance", "range"), r.field("azimuth"), r.field("elevation")
	for i := range r.count() {
		p := at(i)
		x, y, z := float64(p.X), float64(p.Y), float64(p.Z)
		if distance == nil {
			p.Distance = float32(math.Sqrt(x*x + y*y + z*z))
		}
		if azimuth == nil {
			p.Azimuth = float32(math.Atan2(y, x))
		}
		if elevation == nil {
			p.Elevation = float32(math.Atan2(z, math.Hypot(x, y)))
		}
	}
	r.each(distance, func(i int, v float64) { at(i).Distance = float32(v) })
	r.each(azimuth, func(i int, v float64) { at(i).Azimuth = float32(v) })
	r.each(elevation, func(i int, v float64) { at(i).Elevation = float32(v) })
}

// marks reads what is told of the points beside their places and times.
func (r *cloudReader) marks(at func(i int) *sample.Point) {
	r.each(r.field("intensity"), func(i int, v float64) { at(i).Intensity = float32(v) })
	r.each(r.field("ring", "channel"), func(i int, v float64) { at(i).Ring = uint16(within(v, math.MaxUint16)) })
	r.each(r.field("return_type"), func(i int, v float64) { at(i).Return = uint8(within(v, math.MaxUint8)) })
	r.each(r.field("CosAngle"), func(i int, v float64) { at(i).CosIncidence = float32(v) })
	r.each(r.field("ObjIdx"), func(i int, v float64) { at(i).Instance = uint32(within(v, math.MaxUint32)) })
	r.each(r.field("ObjTag"), func(i int, v float64) { at(i).Tag = uint8(within(v, math.MaxUint8)) })
}

// doubleNs is more than the seconds of a stamp may be off in a double, nanoseconds: a step
// is 238 ns from 2004 to 2038.
const doubleNs = 1000

// timeField is the field that tells when points were fired, nil for none.
func (r *cloudReader) timeField() *ros.PointField {
	return r.field("time_stamp", "time", "t", "timestamp", "time_offset")
}

// times reads when the points were fired. "time_stamp" and "t" count nanoseconds from the
// header's stamp where they are whole numbers (Autoware, Ouster), else seconds. "time" and
// "time_offset" are seconds (Velodyne). "timestamp" is seconds of the header's clock (SVL,
// Hesai), or from its stamp where it is a float32 or below it.
func (r *cloudReader) times(stamp simtime.Stamp, at func(i int) *sample.Point) {
	f := r.timeField()
	if f == nil {
		return
	}
	scale, origin := 1e9, 0.0
	if f.Datatype != ros.PointFieldFloat32 && f.Datatype != ros.PointFieldFloat64 {
		scale = 1
	}
	absolute := f.Name == "timestamp" && f.Datatype != ros.PointFieldFloat32
	if absolute {
		origin = float64(stamp)
	}
	r.each(f, func(i int, v float64) {
		ns := v * scale
		if absolute && ns >= origin-doubleNs {
			ns -= origin
		}
		at(i).TimeNs = uint32(within(ns, math.MaxUint32))
	})
}

// layout returns the layout whose bytes the cloud has, else the one of ours that loses
// least of it.
func (r *cloudReader) layout() sample.PointLayout {
	if slices.Equal(r.src.PointFields, whole.fields) {
		return "" // which serves all
	}
	for _, name := range []sample.PointLayout{
		sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutXYZI, sample.LayoutSVL, sample.LayoutCARLASemantic,
	} {
		if l := layouts[name]; int(r.src.PointStep) == l.step && slices.Equal(r.src.PointFields, l.fields) {
			return name
		}
	}
	switch {
	case r.has("ObjIdx", "ObjTag"):
		return sample.LayoutCARLASemantic
	case r.field("ring", "channel") != nil && r.has("azimuth", "elevation"):
		return sample.LayoutXYZIRCAEDT
	case r.field("ring", "channel") != nil:
		return sample.LayoutXYZIRT
	default:
		return sample.LayoutXYZI
	}
}
