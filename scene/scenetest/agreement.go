package scenetest

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/simtime"
)

// Agreement counts how a sensor's ranges compare with a Tracer's.
type Agreement struct {
	// Equal rays agree: both miss, or both hit within 1 mm + 1e-5 of the range.
	// Edge rays don't, but a ray less than 0.3 mm + 1e-5 of the range beside does: it
	// passed an edge or grazed a surface. Wrong rays have no such excuse.
	Equal, Edge, Wrong int
	// Worst is the largest difference among the equal rays' ranges, in units of
	// the tolerance; Examples describes the first wrong rays.
	Worst    float64
	Examples []string
}

// Tolerance is how far a range may be off, in metres.
func Tolerance(t float64) float64 { return 1e-3 + 1e-5*t }

// Add compares one range, +Inf for a miss, with what the tracer finds.
func (a *Agreement) Add(tr *Tracer, origin, direction mgl64.Vec3, tmin, tmax float64, stamp simtime.Stamp, got float64) {
	want := math.Inf(1)
	if h, ok := tr.Trace(origin, direction, tmin, tmax, stamp); ok {
		want = h.T
	}
	if agree(want, got) {
		a.Equal++
		if !math.IsInf(want, 1) {
			a.Worst = max(a.Worst, math.Abs(want-got)/Tolerance(want))
		}
		return
	}
	if beside(tr, origin, direction, tmin, tmax, stamp, got) {
		a.Edge++
		return
	}
	a.Wrong++
	if len(a.Examples) < 5 {
		a.Examples = append(a.Examples, fmt.Sprintf("ray from %v along %v at %d ns: range %v, want %v", origin, direction, stamp, got, want))
	}
}

func agree(want, got float64) bool {
	if math.IsInf(want, 1) || math.IsInf(got, 1) {
		return want == got
	}
	return math.Abs(want-got) <= Tolerance(want)
}

// beside tells whether a ray next to the given one has the range.
func beside(tr *Tracer, origin, direction mgl64.Vec3, tmin, tmax float64, stamp simtime.Stamp, got float64) bool {
	x := direction.Cross(mgl64.Vec3{0, 0, 1})
	if x.Len() < 1e-3 {
		x = direction.Cross(mgl64.Vec3{0, 1, 0})
	}
	x = x.Normalize()
	y := x.Cross(direction)
	for _, shift := range []float64{3e-5, 1e-4, 3e-4} {
		for k := range 8 {
			sin, cos := math.Sincos(float64(k) * math.Pi / 4)
			off := x.Mul(cos).Add(y.Mul(sin))
			o := origin.Add(off.Mul(shift))
			d := direction.Add(off.Mul(shift / 30)).Normalize()
			want := math.Inf(1)
			if h, ok := tr.Trace(o, d, tmin, tmax, stamp); ok {
				want = h.T
			}
			if agree(want, got) {
				return true
			}
		}
	}
	return false
}

// Rays returns how many rays were compared.
func (a *Agreement) Rays() int { return a.Equal + a.Edge + a.Wrong }

// Share returns the share of the rays that agree, 1 without any.
func (a *Agreement) Share() float64 {
	if a.Rays() == 0 {
		return 1
	}
	return float64(a.Equal) / float64(a.Rays())
}

func (a *Agreement) String() string {
	return fmt.Sprintf("%d rays: %.4f %% equal (worst %.2f of the tolerance), %d at edges, %d wrong %v",
		a.Rays(), 100*a.Share(), a.Worst, a.Edge, a.Wrong, a.Examples)
}
