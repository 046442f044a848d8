package rossample

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// FromPointCloud2 returns what a cloud's fields say that it is: *sample.Radar for points
// with Range, Velocity, AzimuthAngle and ElevationAngle, *sample.DvsEvents for those with
// x, y, t and pol, else *sample.PointCloud, which wants x, y and z.
func FromPointCloud2(src *ros.PointCloud2) (bridges.Stamped, error) {
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
}

// datatypeSize is the number of bytes of a PointField's value, 0 for unknown types.
func datatypeSize(datatype uint8) int {
	switch datatype {
	case ros.PointFieldInt8, ros.PointFieldUint8:
		return 1
	case ros.PointFieldInt16, ros.PointFieldUint16:
		return 2
	case ros.PointFieldInt32, ros.PointFieldUint32, ros.PointFieldFloat32:
		return 4
	case ros.PointFieldFloat64:
		return 8
	}
	return 0
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
		if uint64(f.Offset)+uint64(datatypeSize(f.Datatype)) > uint64(src.PointStep) {
			return nil, fmt.Errorf("field %s of a point ends behind its %d bytes: %w", f.Name, src.PointStep, ErrLayout)
		}
	}
	return r, nil
}

// has reports whether all the fields are there.
func (r *cloudReader) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return r.field(name) == nil })
}

// field returns the first field that has one of the names.
func (r *cloudReader) field(names ...string) *ros.PointField {
	for _, name := range names {
		for i := range r.src.PointFields {
			if f := &r.src.PointFields[i]; f.Name == name && datatypeSize(f.Datatype) > 0 {
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
	r.each(r.field("t"), func(i int, v float64) { list[i].TimeNs = int64(within(v, 1<<62)) })
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
