package camera

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/sensors/sample"
)

// model is one of OpenCV's distortions, which readers of CameraInfo know. A point that
// is an angle from the axis appears, in units of K's focal length,
//
//	b (1 + k1 b² + k2 b⁴ + ...) / (1 + l1 b² + l2 b⁴ + ...), b = base(angle)
//
// from the principal point.
type model struct {
	name  string // in sensor_msgs/distortion_models
	base  func(angle float64) float64
	over  int   // how many k
	order []int // the place of each k, then each l, in D
}

var (
	plumbBobModel    = &model{"plumb_bob", math.Tan, 3, []int{0, 1, 4}}
	rationalModel    = &model{"rational_polynomial", math.Tan, 3, []int{0, 1, 4, 5, 6, 7}}
	equidistantModel = &model{"equidistant", func(angle float64) float64 { return angle }, 4, []int{0, 1, 2, 3}}
)

// describedWithin is how far, in pixels, a model may put a point from where the picture
// has it at the points of a profile. Between those there is room up to half a pixel,
// which docs/lenses.md promises.
const describedWithin = 0.4

// describe fills in the first of models that shows what the picture does, fitted by
// least squares. Where none does, it leaves the zeros by which sensor_msgs says that a
// camera is uncalibrated.
func (l Lens) describe(models []*model, info *sample.CameraInfo) {
	p := l.profile()
	for _, m := range models {
		focal, d, off := m.fit(p)
		if off*max(l.Fx, l.Fy) <= describedWithin { // not NaN
			info.DistortionModel, info.D = m.name, append(info.D[:0], d...)
			for _, f := range []*float64{&info.K[0], &info.K[4], &info.P[0], &info.P[5]} {
				*f *= focal
			}
			return
		}
	}
	info.DistortionModel, info.D = "", info.D[:0]
	info.K, info.R, info.P = [9]float64{}, [9]float64{}, [12]float64{}
}

// profile is what a radial lens shows from its principal point outwards. At each distance,
// in units of the lens's focal length, it has the angle from the axis that is seen there.
type profile struct{ radius, angle []float64 }

// profileSteps is how many points a profile has: far more than a model has numbers.
const profileSteps = 400

// profile follows the lens to the farthest corner of the picture, or to where it ends.
// Its points lie closer to one another towards the end, where polynomials err most.
func (l Lens) profile() (p profile) {
	x := max(l.Cx+0.5, float64(l.Width)-0.5-l.Cx) / l.Fx
	y := max(l.Cy+0.5, float64(l.Height)-0.5-l.Cy) / l.Fy
	sees := func(k float64) float64 {
		if math.IsNaN(l.distortion.ray(k*x, k*y)[0]) {
			return -1
		}
		return 1
	}
	end := 1.0
	if sees(end) < 0 {
		end = bisect(sees, 0, 1)
	}
	for i := 1; i <= profileSteps; i++ {
		k := end * math.Sin(math.Pi/2*float64(i)/profileSteps)
		ray := l.distortion.ray(k*x, k*y)
		p.radius = append(p.radius, k*math.Hypot(x, y))
		p.angle = append(p.angle, math.Atan2(math.Hypot(ray[0], ray[1]), ray[2]))
	}
	return p
}

// fit returns the focal length of K over the lens's, and the D, that are nearest to a
// profile. They are off by so much at most, NaN where the model can't show the profile.
func (m *model) fit(p profile) (focal float64, d []float64, off float64) {
	// radius (1 + l1 b² + ...) = focal (b + k1 b³ + ...) is linear in all numbers, if k
	// are taken times focal. Powers of b over its largest keep the columns apart.
	far := m.base(p.angle[len(p.angle)-1])
	columns := make([][]float64, 1+len(m.order))
	for i, angle := range p.angle {
		b := m.base(angle)
		if !(b > 0) { // a tangent from 90 degrees on
			return 0, nil, math.NaN()
		}
		s := b / far * b / far
		columns[0] = append(columns[0], b)
		for j := range m.order {
			from := b
			if j >= m.over {
				from = -p.radius[i]
			}
			columns[1+j] = append(columns[1+j], from*math.Pow(s, float64(m.power(j))))
		}
	}
	factors := leastSquares(columns, slices.Clone(p.radius))
	focal, d = factors[0], make([]float64, m.order[len(m.order)-1]+1)
	for j, at := range m.order {
		d[at] = factors[1+j] / math.Pow(far*far, float64(m.power(j)))
		if j < m.over {
			d[at] /= focal
		}
	}
	for i, angle := range p.angle {
		off = math.Max(off, math.Abs(focal*m.radiusOf(angle, d)-p.radius[i])) // keeps NaN
	}
	return focal, d, off
}

// power returns that of b² which the number j of the model's order belongs to.
func (m *model) power(j int) int { return 1 + j%m.over }

// radiusOf returns where a model with the numbers d shows an angle: NaN beyond a pole.
func (m *model) radiusOf(angle float64, d []float64) float64 {
	b := m.base(angle)
	over, under := 1.0, 1.0
	for j, at := range m.order {
		term := d[at] * math.Pow(b*b, float64(m.power(j)))
		if j < m.over {
			over += term
		} else {
			under += term
		}
	}
	if under <= 0 {
		return math.NaN()
	}
	return b * over / under
}

// leastSquares returns the factors of columns whose sum is nearest to right: Gram and
// Schmidt's orthogonalisation, which overwrites both. Columns that depend on one another
// give NaN, or factors as good as others.
func leastSquares(columns [][]float64, right []float64) []float64 {
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	n := len(columns)
	all := append(columns[:n:n], right)
	upper := make([][]float64, n)
	for j, q := range columns {
		upper[j] = make([]float64, n+1)
		upper[j][j] = math.Sqrt(dot(q, q))
		for i := range q {
			q[i] /= upper[j][j]
		}
		for k := j + 1; k <= n; k++ {
			upper[j][k] = dot(q, all[k])
			for i := range q {
				all[k][i] -= upper[j][k] * q[i]
			}
		}
	}
	factors := make([]float64, n)
	for j := n - 1; j >= 0; j-- {
		factors[j] = upper[j][n]
		for k := j + 1; k < n; k++ {
			factors[j] -= upper[j][k] * factors[k]
		}
		factors[j] /= upper[j][j]
	}
	return factors
}
