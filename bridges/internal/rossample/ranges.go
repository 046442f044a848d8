package rossample

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Ultrasonic sets dst to the distance of the nearest thing, as SVL has it; -Inf if it is
// too near, +Inf if there is none.
func Ultrasonic(dst *ros.Ultrasonic, src *sample.Range) error {
	dst.MinimumDistance = src.Range
	return ros.SetHeader(&dst.Header, &src.Header)
}

// RadarCloud sets dst to the sweep as a cloud, with the fields of CARLA's ROS bridge, packed.
// There ElevationAngle lies at 28 behind a gap of four bytes. Range is in metres, Velocity in
// m/s, receding positive, the angles in radians, counter-clockwise from forward and up.
func RadarCloud(dst *ros.PointCloud2, src *sample.Radar) error {
	return setPacked(dst, &radarLayout, &src.Header, src.Detections)
}

var radarLayout = packedLayout[sample.RadarDetection]{
	pointFields: xyz.and(ros.PointFieldFloat32, "Range", "Velocity", "AzimuthAngle", "ElevationAngle"),
	put: func(dst []byte, d *sample.RadarDetection) {
		sinA, cosA := math.Sincos(float64(d.Azimuth))
		sinE, cosE := math.Sincos(float64(d.Altitude))
		depth := float64(d.Depth)
		for i, v := range [7]float32{
			float32(depth * cosA * cosE), float32(depth * sinA * cosE), float32(depth * sinE),
			d.Depth, d.Velocity, d.Azimuth, d.Altitude,
		} {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	},
}

// DvsCloud sets dst to the events as a cloud, as CARLA's ROS bridge has them. x and y are in
// pixels, and t is in nanoseconds, which float64 holds exactly for a hundred days. pol is 1 for
// brighter, 0 for darker.
func DvsCloud(dst *ros.PointCloud2, src *sample.DvsEvents) error {
	return setPacked(dst, &dvsLayout, &src.Header, src.Events)
}

var dvsLayout = packedLayout[sample.DvsEvent]{
	pointFields: pointFields{}.and(ros.PointFieldUint16, "x", "y").and(ros.PointFieldFloat64, "t").and(ros.PointFieldInt8, "pol"),
	put: func(dst []byte, e *sample.DvsEvent) {
		binary.LittleEndian.PutUint16(dst, e.X)
		binary.LittleEndian.PutUint16(dst[2:], e.Y)
		binary.LittleEndian.PutUint64(dst[4:], math.Float64bits(float64(e.TimeNs)))
		dst[12] = 0
		if e.Polarity {
			dst[12] = 1
		}
	},
}

// packedLayout is how a point E lies in a cloud.
type packedLayout[E any] struct {
	pointFields
	// put writes all of the point's step bytes.
	put func(dst []byte, point *E)
}

// packedBytes is the data field of a cloud of one row.
type packedBytes[E any] struct {
	layout *packedLayout[E]
	points []E
}

// setPacked makes dst a dense cloud of one row.
func setPacked[E any](dst *ros.PointCloud2, layout *packedLayout[E], header *sample.Header, points []E) error {
	source, ok := dst.Data.Source.(*packedBytes[E])
	if !ok {
		source = &packedBytes[E]{}
	}
	source.layout, source.points = layout, points
	return layout.set(dst, header, len(points), source)
}

// Size returns the number of bytes of all points.
func (p *packedBytes[E]) Size() int { return len(p.points) * p.layout.step }

// Put writes all points.
func (p *packedBytes[E]) Put(dst []byte) {
	for i := range p.points {
		p.layout.put(dst[i*p.layout.step:][:p.layout.step], &p.points[i])
	}
}
