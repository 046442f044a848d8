package scene

import (
	"fmt"
	"sort"

	"github.com/go-gl/mathgl/mgl64"
)

// clip is a channel with its animation's duration.
type clip struct {
	channel    *Channel
	durationNs int64
}

// joint is a node's local transform with what animates it.
type joint struct {
	local TRS
	clips []clip
}

// at returns the local transform at a time.
func (j *joint) at(tNs int64) mgl64.Mat4 {
	trs := j.local
	for _, c := range j.clips {
		v := c.channel.sample(c.loop(tNs))
		switch c.channel.Path {
		case PathTranslation:
			trs.Translation = mgl64.Vec3{v[0], v[1], v[2]}
		case PathScale:
			trs.Scale = mgl64.Vec3{v[0], v[1], v[2]}
		case PathRotation:
			trs.Rotation = mgl64.Quat{W: v[3], V: mgl64.Vec3{v[0], v[1], v[2]}}.Normalize()
		}
	}
	return trs.Mat4()
}

// loop folds a time into the animation's duration.
func (c clip) loop(tNs int64) int64 {
	if c.durationNs <= 0 {
		return 0
	}
	return ((tNs % c.durationNs) + c.durationNs) % c.durationNs
}

// width returns the numbers of one value of the channel.
func (c *Channel) width() int {
	if c.Path == PathRotation {
		return 4
	}
	return 3
}

func (a *Animation) check(nodes int) error {
	for i := range a.Channels {
		c := &a.Channels[i]
		want := len(c.TimesNs) * c.width()
		if c.Interpolation == InterpolationCubicSpline {
			want *= 3
		}
		switch {
		case c.Node < 0 || c.Node >= nodes:
			return fmt.Errorf("%w: channel %d names node %d of %d", ErrIndex, i, c.Node, nodes)
		case len(c.TimesNs) == 0 || len(c.Values) != want:
			return fmt.Errorf("%w: channel %d has %d values, its %d keys need %d", ErrIndex, i, len(c.Values), len(c.TimesNs), want)
		}
		for k := 1; k < len(c.TimesNs); k++ {
			if c.TimesNs[k] <= c.TimesNs[k-1] {
				return fmt.Errorf("%w: channel %d, key %d doesn't come after the one before", ErrIndex, i, k)
			}
		}
	}
	return nil
}

// sample returns the channel's value at a time: outside the keys that of the
// nearest one, between them as glTF 2.0, appendix C, joins them.
func (c *Channel) sample(tNs int64) [4]float64 {
	n := len(c.TimesNs)
	k := sort.Search(n, func(i int) bool { return c.TimesNs[i] > tNs }) - 1
	switch {
	case k < 0:
		return c.value(0)
	case k == n-1 || c.Interpolation == InterpolationStep:
		return c.value(k)
	}
	span := c.TimesNs[k+1] - c.TimesNs[k]
	f := float64(tNs-c.TimesNs[k]) / float64(span)
	switch {
	case c.Interpolation == InterpolationCubicSpline:
		return c.spline(k, f, float64(span)*1e-9)
	case c.Path == PathRotation:
		return slerp(c.value(k), c.value(k+1), f)
	default:
		a, b := c.value(k), c.value(k+1)
		for i := range a {
			a[i] += (b[i] - a[i]) * f
		}
		return a
	}
}

// value returns key k's value; of a cubic spline, without its tangents.
func (c *Channel) value(k int) [4]float64 {
	if c.Interpolation == InterpolationCubicSpline {
		return c.number(3*k + 1)
	}
	return c.number(k)
}

// number returns the i-th value in the channel's list.
func (c *Channel) number(i int) (v [4]float64) {
	w := c.width()
	copy(v[:], c.Values[i*w:(i+1)*w])
	return v
}

// spline is the cubic Hermite spline of glTF 2.0, appendix C.4; seconds is the
// time between the keys.
func (c *Channel) spline(k int, f, seconds float64) (v [4]float64) {
	p0, out := c.number(3*k+1), c.number(3*k+2)
	in, p1 := c.number(3*k+3), c.number(3*k+4)
	f2, f3 := f*f, f*f*f
	for i := range v {
		v[i] = (2*f3-3*f2+1)*p0[i] + seconds*(f3-2*f2+f)*out[i] +
			(3*f2-2*f3)*p1[i] + seconds*(f3-f2)*in[i]
	}
	return v
}

func slerp(a, b [4]float64, f float64) [4]float64 {
	qa := mgl64.Quat{W: a[3], V: mgl64.Vec3{a[0], a[1], a[2]}}
	qb := mgl64.Quat{W: b[3], V: mgl64.Vec3{b[0], b[1], b[2]}}
	if qa.Dot(qb) < 0 {
		qb = qb.Scale(-1)
	}
	q := mgl64.QuatSlerp(qa, qb, f)
	return [4]float64{q.V[0], q.V[1], q.V[2], q.W}
}
