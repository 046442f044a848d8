package stream

import (
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// ViewCloud is a cloud as pages are sent it.
type ViewCloud struct {
	sample.Header
	// Origin and Size are the box of the scan's points, in the sensor's frame, metres.
	Origin, Size [3]float32
	// Total is how many points the cloud has, and each Step-th of them is in Points.
	Total, Step uint32
	// Points has ViewPointBytes for each point: three u16, where it is in the box from 0 to 65535, then intensity,
	// ring's low 8 bits, tag and return (0 where a firing has one) as bytes, and the u32 instance; little endian.
	Points []byte
}

// ViewPointBytes is the size of a point of a ViewCloud.
const ViewPointBytes = 14

// viewPoints is how many points a cloud may have that isn't thinned for pages.
const viewPoints = 200_000

// cloudForm shows clouds.
type cloudForm struct{ shown ViewCloud }

func (f *cloudForm) fresh() simtime.Stamped { return new(sample.PointCloud) }

// copy copies what is shown, and no more.
func (f *cloudForm) copy(dst, src simtime.Stamped) {
	sample.Copy(dst.(*sample.PointCloud), src.(*sample.PointCloud))
}

// show puts the points into the cloud's box.
func (f *cloudForm) show(m simtime.Stamped, whole bool) (shown simtime.Stamped, points uint32, err error) {
	src, v := m.(*sample.PointCloud), &f.shown
	v.Header = src.Header
	total, low, high := boxOf(src.Points)
	v.Total, v.Step = total, stepOf(total, whole)
	var scale [3]float32
	for i := range low {
		v.Origin[i], v.Size[i], scale[i] = low[i], high[i]-low[i], 0
		if v.Size[i] > 0 {
			scale[i] = math.MaxUint16 / v.Size[i]
		}
	}
	v.Points = v.Points[:0]
	unit := float32(1)
	if src.UnitIntensity {
		unit = 255
	}
	next, several := uint32(0), src.Returns.Points() > 1
	for i := range src.Points {
		p := &src.Points[i]
		if !isHit(p) {
			continue
		}
		if next > 0 {
			next--
			continue
		}
		next = v.Step - 1
		v.Points = le.AppendUint16(v.Points, uint16((p.X-low[0])*scale[0]+0.5))
		v.Points = le.AppendUint16(v.Points, uint16((p.Y-low[1])*scale[1]+0.5))
		v.Points = le.AppendUint16(v.Points, uint16((p.Z-low[2])*scale[2]+0.5))
		kind := uint8(0)
		if several {
			kind = p.Return
		}
		v.Points = append(v.Points, uint8(min(max(p.Intensity*unit+0.5, 0), 255)), uint8(p.Ring), p.Tag, kind)
		v.Points = le.AppendUint32(v.Points, p.Instance)
	}
	return v, total, nil
}

// stepOf returns of how many points one is shown.
func stepOf(total uint32, whole bool) uint32 {
	if whole || total <= viewPoints {
		return 1
	}
	return (total + viewPoints - 1) / viewPoints
}

// isHit reports whether a ray hit something: an organized cloud has those that didn't, too.
func isHit(p *sample.Point) bool {
	sum := p.X + p.Y + p.Z
	return sum-sum == 0 // neither NaN nor infinite
}

// boxOf counts the points that hit something, and returns their box.
func boxOf(points []sample.Point) (total uint32, low, high [3]float32) {
	for i := range points {
		p := &points[i]
		if !isHit(p) {
			continue
		}
		at := [3]float32{p.X, p.Y, p.Z}
		if total++; total == 1 {
			low, high = at, at
		}
		for k, v := range at {
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	}
	return total, low, high
}

// hitAt returns the point of a cloud that has so many before it that hit something. There is one.
func hitAt(cloud *sample.PointCloud, before int) *sample.Point {
	for i := range cloud.Points {
		if p := &cloud.Points[i]; isHit(p) {
			if before == 0 {
				copied := *p
				return &copied
			}
			before--
		}
	}
	return nil
}
