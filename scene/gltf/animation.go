package gltf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"

	"github.com/raybridge/raybridge/scene"
)

// maxSeconds bounds an animation, well inside what int64 nanoseconds hold.
const maxSeconds = 1e9

// flaws are the errors of an animation that leave out no more than the animation.
var flaws = []error{ErrFormat, ErrUnsupported, ErrPath, fs.ErrNotExist}

// readAnimations fills asset.Animations with what moves the scene's nodes. An animation with a
// flaw is left out, and the others stay.
func (l *loader) readAnimations(nodes map[int]placement) error {
	for i := range l.doc.Animations {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		r := animationReader{loader: l, source: l.doc.Animations[i], nodes: nodes, place: fmt.Sprintf("animations[%d]", i)}
		a, err := r.read()
		if slices.ContainsFunc(flaws, func(flaw error) bool { return errors.Is(err, flaw) }) {
			l.leaveOut(i, err)
			continue
		}
		if err != nil {
			return err
		}
		a.Name = cmp.Or(a.Name, fmt.Sprintf("animation_%d", i))
		if len(a.Channels) > 0 {
			l.asset.Animations = append(l.asset.Animations, a)
		}
	}
	return nil
}

// leaveOut warns of an animation's fault.
func (l *loader) leaveOut(i int, err error) {
	e := atItem("animations", i, err).(*Error) //nolint:errorlint // what atItem returns
	l.warn(e.Where, "%v: the animation is left out", e.Err)
}

// animationReader reads one animation.
type animationReader struct {
	*loader
	source *gltf.Animation
	nodes  map[int]placement
	place  string
}

func (r *animationReader) read() (scene.Animation, error) {
	a := scene.Animation{Name: r.source.Name}
	type target struct {
		node int
		path scene.Path
	}
	seen := map[target]bool{}
	for i, channel := range r.source.Channels {
		place := fmt.Sprintf("%s.channels[%d]", r.place, i)
		channels, err := r.readChannel(place, channel)
		if err != nil {
			return a, at(place, err)
		}
		if len(channels) == 0 {
			continue
		}
		ch := &channels[0]
		key := target{ch.Node, ch.Path}
		if seen[key] {
			return a, at(place+".target", invalid("another channel has the same"))
		}
		seen[key] = true
		a.Channels = append(a.Channels, channels...)
		a.DurationNs = max(a.DurationNs, ch.TimesNs[len(ch.TimesNs)-1])
	}
	return a, nil
}

// readChannel returns a channel as the asset has it: that of weights becomes one for each target. It
// returns nothing for one that moves nothing in the asset.
func (r *animationReader) readChannel(place string, source *gltf.AnimationChannel) ([]scene.Channel, error) {
	if _, pointer := source.Target.Extensions[extAnimationPointer]; pointer || source.Target.Node == nil {
		r.warn(place, "does not move a node and is left out")
		return nil, nil
	}
	node := *source.Target.Node
	if err := checkIndex("nodes", node, len(r.doc.Nodes)); err != nil {
		return nil, within("target.node", err)
	}
	if err := checkIndex("samplers", source.Sampler, len(r.source.Samplers)); err != nil {
		return nil, within("sampler", err)
	}
	here, ok := r.nodes[node]
	if !ok {
		return nil, nil // its node isn't in the scene, which has its warning
	}
	ch := scene.Channel{Node: here.node}
	sampler := r.source.Samplers[source.Sampler]
	samplerPlace := fmt.Sprintf("%s.samplers[%d]", r.place, source.Sampler)
	switch source.Target.Path {
	case gltf.TRSTranslation:
		ch.Path = scene.PathTranslation
	case gltf.TRSRotation:
		ch.Path = scene.PathRotation
	case gltf.TRSScale:
		ch.Path = scene.PathScale
	default:
		ch.Path = scene.PathWeight
		mesh := r.asset.Nodes[here.node].Mesh
		if mesh == noMesh || len(r.asset.Meshes[mesh].Targets) == 0 {
			r.warn(place, "has weights for a node without morph targets and is left out")
			return nil, nil
		}
		channels, err := r.readWeights(ch, sampler, len(r.asset.Meshes[mesh].Targets))
		return channels, at(samplerPlace, err)
	}
	if here.sheared {
		return nil, within("target.node", invalid("nodes[%d] has a sheared matrix, which no animation can move", node))
	}
	err := r.readSampler(&ch, sampler, here)
	return []scene.Channel{ch}, at(samplerPlace, err)
}

// readKeys fills a channel's interpolation and times. It returns the numbers of its values, of
// which a key has so many times perKey.
func (l *loader) readKeys(ch *scene.Channel, s *gltf.AnimationSampler, f format, perKey int) ([]float32, error) {
	switch s.Interpolation {
	case gltf.InterpolationStep:
		ch.Interpolation = scene.InterpolationStep
	case gltf.InterpolationCubicSpline:
		ch.Interpolation = scene.InterpolationCubicSpline
		perKey *= 3
	}
	var err error
	if ch.TimesNs, err = l.readTimes(s.Input); err != nil {
		return nil, within("input", err)
	}
	values, err := l.floats(s.Output, f)
	if err != nil {
		return nil, within("output", err)
	}
	want := len(ch.TimesNs) * perKey
	if have := len(values) / f.typ.Components(); have != want {
		return nil, within("output", invalid("accessors[%d] has %d elements, %d keys need %d", s.Output, have, len(ch.TimesNs), want))
	}
	return values, l.spend(8 * int64(len(values)))
}

// readWeights returns a channel for each of a mesh's targets, with the keys of all.
func (l *loader) readWeights(ch scene.Channel, s *gltf.AnimationSampler, targets int) ([]scene.Channel, error) {
	values, err := l.readKeys(&ch, s, format{gltf.AccessorScalar, normalizedIntegers}, targets)
	if err != nil {
		return nil, err
	}
	channels := make([]scene.Channel, targets)
	for k := range channels {
		ch.Target, ch.Values = k, make([]float64, 0, len(values)/targets)
		// A spline's key has the targets' tangents, then their values, then their tangents.
		for i := k; i < len(values); i += targets {
			ch.Values = append(ch.Values, float64(values[i]))
		}
		channels[k] = ch
	}
	return channels, nil
}

// readSampler fills the keys of a channel that moves a node.
func (l *loader) readSampler(ch *scene.Channel, s *gltf.AnimationSampler, here placement) error {
	f := format{typ: gltf.AccessorVec3}
	if ch.Path == scene.PathRotation {
		f = format{gltf.AccessorVec4, normalizedIntegers}
	}
	values, err := l.readKeys(ch, s, f, 1)
	if err != nil {
		return err
	}
	return within("output", l.convertValues(ch, values, here))
}

// readTimes returns key times in nanoseconds.
func (l *loader) readTimes(accessor int) ([]int64, error) {
	seconds, err := l.floats(accessor, format{typ: gltf.AccessorScalar})
	if err != nil {
		return nil, err
	}
	if err := l.spend(8 * int64(len(seconds))); err != nil {
		return nil, err
	}
	if len(seconds) == 0 {
		return nil, invalid("accessors[%d]: has no keys", accessor)
	}
	times := make([]int64, len(seconds))
	for i, s := range seconds {
		if s < 0 || s > maxSeconds {
			return nil, invalid("accessors[%d]: time %v s is out of range: want 0 to %v", accessor, s, float64(maxSeconds))
		}
		times[i] = int64(math.Round(float64(s) * 1e9))
		if i > 0 && times[i] <= times[i-1] {
			return nil, invalid("accessors[%d]: time %v s does not come after %v s", accessor, s, seconds[i-1])
		}
	}
	return times, nil
}

// convertValues turns keys into our axes, without reflections. Tangents turn
// as values do, since all that is done is linear.
func (l *loader) convertValues(ch *scene.Channel, values []float32, here placement) error {
	ch.Values = make([]float64, 0, len(values))
	if ch.Path == scene.PathRotation {
		for i := 0; i < len(values); i += 4 {
			q, err := l.rotationKey(ch, i/4, [4]float32(values[i:]))
			if err != nil {
				return err
			}
			q = mirrorRotation(here.parentMirrored, l.axes.OutRotation(q))
			ch.Values = append(ch.Values, q.V[0], q.V[1], q.V[2], q.W)
		}
		return nil
	}
	for i := 0; i < len(values); i += 3 {
		v := vec3(values[i:])
		if ch.Path == scene.PathTranslation {
			v = mirror(here.parentMirrored, l.axes.point(v))
		} else {
			v = here.mirrorScale(l.axes.OutSize(v))
		}
		if !finite(v[:]...) {
			return invalid("element %d at %v is out of range", i/3, v)
		}
		ch.Values = append(ch.Values, v[:]...)
	}
	return nil
}

// rotationKey normalizes a rotation; the tangents of splines stay as they are.
func (l *loader) rotationKey(ch *scene.Channel, element int, v [4]float32) (mgl64.Quat, error) {
	wide := [4]float64{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])}
	if ch.Interpolation == scene.InterpolationCubicSpline && element%3 != 1 {
		return mgl64.Quat{W: wide[3], V: mgl64.Vec3{wide[0], wide[1], wide[2]}}, nil
	}
	q, err := unitQuaternion(wide)
	if err != nil {
		return q, invalid("element %d: %w", element, err)
	}
	return q, nil
}
