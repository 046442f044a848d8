package camera

import (
	"context"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// Visibility is what a lens sees, pixel by pixel, as numbers of triangles: for
// sensors that make something else of it than pictures. It shares its pass with the
// cameras that see the same.
type Visibility struct {
	renderer *renderer
	view     *view
}

// Sight says from where a Visibility looks, and how.
type Sight struct {
	// Mount is the body frame in the owner's, as a camera's.
	Mount     spatial.Pose
	Lens      Lens
	Near, Far float64 // metres along the optical axis
	Shutter   Shutter
}

// NewVisibility makes the GPU objects, or finds those that others use already. Close
// gives them back.
func NewVisibility(ctx context.Context, env *sensors.Env, s Sight) (*Visibility, error) {
	r, err := rendererOf(ctx, env)
	if err != nil {
		return nil, err
	}
	v := &Visibility{renderer: r}
	rays := r.rays.table(s.Lens) // here, where nothing waits for it
	defer r.rays.release(s.Lens, rays)
	err = env.GL.Do(ctx, func(c *gpu.Ctx) (err error) {
		v.view, err = r.view(c, viewKey{env.Owner, s.Mount, s.Lens, 1, s.Near, s.Far, s.Shutter.exposure})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a view: %w", err)
	}
	return v, nil
}

// Close gives back the GPU objects, which are deleted when nobody else uses them. It is
// called once, from any goroutine, when nothing uses v any more.
func (v *Visibility) Close() { v.renderer.leave(v.view) }

// See draws what is seen at an instant, unless a camera has done so. GL thread.
func (v *Visibility) See(c *gpu.Ctx, at sensors.Tick) error {
	if err := v.renderer.resident.Show(c, v.renderer.packer, v.view.middle(at).Due); err != nil {
		return err
	}
	if err := v.view.show(c, at); err != nil {
		return err
	}
	if _, err := v.view.look(c, v.renderer, at); err != nil {
		return fmt.Errorf("draw what the lens sees: %w", err)
	}
	return nil
}

// Bindings appends what shaders read of it, for commands that follow See. These are the scene's
// tables, and shaders.SlotVisible. The latter has for each pixel the number of the triangle
// plus one, 0 for none. It also has that of its frame, 0 for the world and one more than a
// mover's number.
func (v *Visibility) Bindings(dst []gpu.Binding) []gpu.Binding {
	dst = append(dst, v.renderer.tables...)
	return append(dst, v.view.visibleBinding())
}
