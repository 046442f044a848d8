package camera

import (
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// sighting is a point of the picture and the direction that is seen there.
type sighting struct {
	u, v float64
	ray  mgl64.Vec3
}

// sightings returns what points of the picture see that lie in a grid, edges included.
func (l Lens) sightings(steps int) (list []sighting) {
	for i := range steps + 1 {
		for j := range steps + 1 {
			u, v := float64(l.Width)*float64(i)/float64(steps)-0.5, float64(l.Height)*float64(j)/float64(steps)-0.5
			if ray := l.Ray(u, v); !math.IsNaN(ray[0]) {
				list = append(list, sighting{u, v, ray})
			}
		}
	}
	return list
}

// Grids of the points that a model is fitted to, and that it is judged by.
const (
	fittedSteps = 24
	judgedSteps = 60
)

// approximate fills in the first of the models that readers of CameraInfo know and that shows what the
// picture does, or else says that the camera is uncalibrated. Focal lengths, principal point and D are
// fitted together, by Gauss and Newton's method, from what fits best along a diagonal. It returns by
// how many pixels the model is off at most.
func (l Lens) approximate(info *sample.CameraInfo) float64 {
	p, shift := l.profile(), info.K[2]-l.Cx
	points, judges := l.sightings(fittedSteps), l.sightings(judgedSteps)
	for _, m := range []*model{equidistantModel, plumbBobModel, rationalModel} {
		focal, d, off := m.fit(p)
		if math.IsNaN(off) {
			continue
		}
		q := append([]float64{focal * l.Fx, focal * l.Fy, l.Cx, l.Cy}, d...)
		off = m.farthest(q, points)
		for range 20 {
			next := m.improved(q, points)
			better := m.farthest(next, points)
			if !(better < off) {
				break
			}
			q, off = next, better
		}
		if off = m.farthest(q, judges); off <= describedWithin { // not NaN
			info.DistortionModel, info.D = m.name, append(info.D[:0], q[4:]...)
			info.K = [9]float64{q[0], 0, q[2] + shift, 0, q[1], q[3] + shift, 0, 0, 1}
			info.P = [12]float64{q[0], 0, q[2] + shift, 0, 0, q[1], q[3] + shift, 0, 0, 0, 1, 0}
			return off
		}
	}
	uncalibrated(info)
	return 0
}

// shows returns where a model shows a direction. Its numbers are fx, fy, cx, cy, and D.
func (m *model) shows(q []float64, ray mgl64.Vec3) (u, v float64) {
	x, y := outwards(ray, m.radiusOf(angleOf(ray), q[4:]))
	if m.tangential() {
		a, b, p1, p2 := ray[0]/ray[2], ray[1]/ray[2], q[6], q[7]
		x += 2*p1*a*b + p2*(3*a*a+b*b)
		y += p1*(a*a+3*b*b) + 2*p2*a*b
	}
	return q[2] + q[0]*x, q[3] + q[1]*y
}

// tangential reports whether D has p1 and p2, after k1 and k2.
func (m *model) tangential() bool { return m != equidistantModel }

// farthest returns how many pixels a model is off at most; NaN where it can't show a point.
func (m *model) farthest(q []float64, points []sighting) (off float64) {
	for _, p := range points {
		u, v := m.shows(q, p.ray)
		off = math.Max(off, math.Hypot(u-p.u, v-p.v))
	}
	return off
}

// improved returns numbers that are a step of Gauss and Newton's method nearer.
func (m *model) improved(q []float64, points []sighting) []float64 {
	free := []int{0, 1, 2, 3}
	for _, at := range m.order {
		free = append(free, 4+at)
	}
	if m.tangential() {
		free = append(free, 6, 7)
	}
	miss := make([]float64, 0, 2*len(points))
	columns := make([][]float64, len(free))
	for _, p := range points {
		u, v := m.shows(q, p.ray)
		miss = append(miss, p.u-u, p.v-v)
		for i, at := range free {
			step := 1e-6 * math.Max(1, math.Abs(q[at]))
			moved := slices.Clone(q)
			moved[at] += step
			du, dv := m.shows(moved, p.ray)
			columns[i] = append(columns[i], (du-u)/step, (dv-v)/step)
		}
	}
	next := slices.Clone(q)
	for i, change := range leastSquares(columns, miss) {
		next[free[i]] += change
	}
	return next
}

// uncalibrated leaves the zeros by which sensor_msgs says that no model describes a camera.
func uncalibrated(info *sample.CameraInfo) {
	info.DistortionModel, info.D = "", info.D[:0]
	info.K, info.R, info.P = [9]float64{}, [9]float64{}, [12]float64{}
}
