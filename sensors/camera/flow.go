package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

// OpticalFlow is the camera of motion over the picture. A pixel's two numbers say
// how far the surface point that it sees has moved since the sensor's previous
// firing: to the right as a share of the picture's width, and down as a share of
// its height. They are exact for one point, not a match of pictures: the point is
// followed back with its actor and the camera, and neither bounded nor rounded, where
// CARLA bounds them to [-2, 2]. Times the size in pixels they are pixels; over the
// period, pixels a second.
//
// The sky is infinitely far: the camera's rotation alone moves it. A point that lay
// behind the camera or beyond what its lens shows, or on an actor that was not there,
// was nowhere in the picture: NaN. At the first firing, and at the first after time
// went back, nothing has moved.
var OpticalFlow = definition(kindFlow,
	"optical flow: how far what each pixel sees moved since the firing before, right and down, as shares of the picture's size")

// previousNs returns when the firing before the one at timeNs was, but not before
// anything was recorded. GL thread.
func (s *camera) previousNs(r *renderer, timeNs int64) int64 {
	oldest, _, _ := r.history.Span()
	return min(max(timeNs-s.periodNs, oldest), timeNs)
}

// writePrevious writes where the points of each frame of the scene were at an
// instant, as lib/flow.glsl reads it. It follows look, at an instant that is not
// earlier, whose fromOptical it is given. GL thread.
func (v *view) writePrevious(c *gpu.Ctx, r *renderer, fromOptical mgl64.Mat4, timeNs int64) error {
	toOptical := r.pose(v.key.owner, v.key.mount, timeNs).Compose(spatial.OpticalInBody()).Mat4().Inv()
	v.previous = r.packer.Places(append(v.previous[:0], mgl64.Ident4()), timeNs)
	for i := range v.previous {
		// From the optical frame of now to that of then, with the frame.
		back := fromOptical
		if i != worldFrame {
			back = v.toOptical[i].Inv()
		}
		m := toOptical.Mul4(v.previous[i]).Mul4(back).Sub(mgl64.Ident4())
		v.frames.add(&m)
	}
	return v.frames.writeFrom(c, len(v.previous)*shaders.FrameTexels)
}
