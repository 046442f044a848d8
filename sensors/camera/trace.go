package camera

import (
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

// tracing is how a view sees through a lens that no rasteriser can draw: a ray for
// each pixel. It belongs to the GL thread.
type tracing struct {
	program *gpu.Program // the renderer's
	pass    *gpu.Buffer
	motion  *scene.CaptureTable
	packed  []byte
}

// passBlock is camera_trace.comp's uniform block (std140).
type passBlock struct {
	size      [2]int32
	near, far float32
}

func newTracing(c *gpu.Ctx, r *renderer, key *viewKey) (*tracing, error) {
	l := key.seen()
	t := &tracing{packed: make([]byte, r.packer.MotionBytes())}
	var err error
	if t.program, err = r.programs.trace(c, l.constant()); err != nil {
		return nil, err
	}
	pass := rawBytes([]passBlock{{[2]int32{int32(l.Width), int32(l.Height)}, float32(key.near), float32(key.far)}})
	if t.pass, err = c.NewBuffer(gpu.BufferDesc{Label: "camera pass", Size: len(pass), Data: pass}); err != nil {
		return nil, err
	}
	if t.motion, err = r.packer.NewMotionTable(c); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tracing) close() {
	t.pass.Close()
	if t.motion != nil {
		t.motion.Close()
	}
}

// trace writes the ids of what the view sees at an instant.
func (v *view) trace(c *gpu.Ctx, r *renderer, timeNs int64) error {
	t, l := v.tracing, v.key.seen()
	n, err := r.packer.Motion(t.packed, scene.Window{
		Parent: v.key.owner, Mount: v.key.mount.Compose(spatial.OpticalInBody()), StartNs: timeNs, EndNs: timeNs,
	})
	if err != nil {
		return err
	}
	if err := t.motion.Write(c, t.packed[:n]); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	bind = append(bind, t.motion.Binding(), v.lensBinding(),
		gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: t.pass},
		gpu.Binding{Kind: gpu.BindImage, Slot: 0, Texture: v.ids, Access: gpu.WriteOnly},
	)
	r.scratch = bind
	if err := c.Dispatch(&gpu.Dispatch{
		Program: t.program, Bind: bind, Groups: shaders.CameraTrace.Groups((l.Width+1)/2, (l.Height+1)/2, 1),
	}); err != nil {
		return err
	}
	return c.Barrier(gpu.BarrierTextureFetch)
}

// trace returns the program that traces rays of a lens, and compiles it the first
// time.
func (p *programs) trace(c *gpu.Ctx, lens int) (*gpu.Program, error) {
	if program := p.traces[lens]; program != nil {
		return program, nil
	}
	program, err := compile(c, &shaders.CameraTrace, shaders.Int("LENS", lens))
	if err != nil {
		return nil, fmt.Errorf("trace through a lens: %w", err)
	}
	p.traces[lens] = program
	return program, nil
}
