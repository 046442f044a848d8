package rossample

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// points sets dst to the cloud's points, layout and shape. A cloud of several rows is
// organized: its rows are rings, its columns firings. Distance and angles that the
// points don't have follow from their coordinates, and so does Rings from their rings.
func (r *cloudReader) points(dst *sample.PointCloud) {
	dst.Layout = r.layout()
	dst.Organized = r.src.Height > 1
	dst.Points = make([]sample.Point, r.count())
	at := func(i int) *sample.Point { return &dst.Points[i] }
	if dst.Organized {
		dst.Rings, dst.Columns = r.rows, r.columns
		// Points are kept firing after firing.
		at = func(i int) *sample.Point { return &dst.Points[i%r.columns*r.rows+i/r.columns] }
		for i := range dst.Points {
			at(i).Ring = uint16(i / r.columns)
		}
	}
	r.coordinates(at)
	r.marks(at)
	r.times(dst.StampNs, at)
	for i := range dst.Points {
		p := &dst.Points[i]
		p.Ray = uint32(i)
		if !dst.Organized {
			dst.Rings = max(dst.Rings, int(p.Ring)+1)
		}
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

// times reads when the points were fired: "time_stamp" and "t" count nanoseconds from
// the header's stamp where they are whole numbers (Autoware, Ouster), else seconds;
// "time" and "time_offset" seconds (Velodyne); "timestamp" seconds of the header's clock
// (SVL, Hesai), or from its stamp where it is a float32 or below it.
func (r *cloudReader) times(stampNs int64, at func(i int) *sample.Point) {
	f := r.field("time_stamp", "time", "t", "timestamp", "time_offset")
	if f == nil {
		return
	}
	scale, origin := 1e9, 0.0
	if f.Datatype != ros.PointFieldFloat32 && f.Datatype != ros.PointFieldFloat64 {
		scale = 1
	}
	absolute := f.Name == "timestamp" && f.Datatype != ros.PointFieldFloat32
	if absolute {
		origin = float64(stampNs)
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
