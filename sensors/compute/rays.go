package compute

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

// Ray is one ray of a sensor, in the sensor's frame. Direction is a unit vector, and a surface
// counts at Min <= distance < Max, metres. A Max of 0 casts nothing.
type Ray struct {
	Origin, Direction mgl64.Vec3
	Min, Max          float64
}

// Hit is what a ray hits, as shaders/rays.comp writes it.
type Hit struct {
	// Range is the distance from the ray's origin, metres, +Inf for nothing.
	Range float32
	// Cosine is that between the ray and the surface's normal, 0..1.
	Cosine float32
	// Instance and Tag are the label and the semantic tag of the actor that was hit. See
	// scene.History.Labelled.
	Instance, Tag uint32
}

// Seen reports whether the ray hit something.
func (h Hit) Seen() bool { return !math.IsInf(float64(h.Range), 1) }

// Rays returns the shader that finds what n rays hit at an instant; they pass through the
// sensor's owner. aim fills in the rays of one capture, which hold those of the one before, and
// reports whether any has changed. What stays isn't brought to the GPU again. At the first call
// all are zero. It is called on the GL thread and must not wait. publish is Shader.Publish,
// with a hit for each ray.
func Rays(n int, aim func(at sensors.Tick, rays []Ray) (changed bool), publish func(at sensors.Tick, header sample.Header, hits []Hit)) Shader[Hit] {
	var rays []Ray
	return Shader[Hit]{
		Entry:        &shaders.Rays,
		Results:      n,
		Invocations:  [3]int{(n + shaders.TracedRays - 1) / shaders.TracedRays, 1, 1},
		UniformBytes: texelBytes,
		TableRows:    shaders.RayTexels * n,
		Prepare: func(env *sensors.Env, at sensors.Tick, uniforms, table []byte) (changed bool) {
			if rays == nil { // only of a sensor that works: many are made to be checked
				rays = make([]Ray, n)
			}
			binary.LittleEndian.PutUint32(uniforms, scene.LabelOf(env.Owner))
			if changed = aim(at, rays); !changed {
				return false
			}
			for i := range rays {
				putRay(table[shaders.RayTexels*texelBytes*i:], &rays[i])
			}
			return true
		},
		Publish: publish,
	}
}

// fixed returns Rays' aim of rays that never change.
func fixed(fill func([]Ray)) func(sensors.Tick, []Ray) bool {
	filled := false
	return func(_ sensors.Tick, rays []Ray) bool {
		if filled {
			return false
		}
		fill(rays)
		filled = true
		return true
	}
}

// FixedRays is Rays for rays that never change: aim fills them in once.
func FixedRays(n int, aim func(rays []Ray), publish func(at sensors.Tick, header sample.Header, hits []Hit)) Shader[Hit] {
	return Rays(n, fixed(aim), publish)
}

func putRay(dst []byte, r *Ray) {
	for i, x := range [8]float64{
		r.Origin[0], r.Origin[1], r.Origin[2], r.Min, r.Direction[0], r.Direction[1], r.Direction[2], r.Max,
	} {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
	}
}
