package camera

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// rendererKey is the renderer's place among a pipeline's shared resources.
type rendererKey struct{}

// renderer is what all cameras of a pipeline have in common. It has the programs, the shadow
// maps, and one view for each place and lens that cameras look from.
//
// Its fields are set when it is made and then belong to the GL thread, except those under mu, and rays.
type renderer struct {
	geometry *scene.Geometry
	resident *scene.Resident
	history  *scene.History
	packer   *scene.Packer
	drawing  *drawing
	programs programs
	palette  *frameTable
	sun      *sunlight
	tables   []gpu.Binding // the scene's
	scratch  []gpu.Binding // of one command
	stage    stage
	apart    bool // each picture has a dispatch of its own, see place
	rays     rayTables

	mu    sync.Mutex
	views map[viewKey]*view // guarded by mu
	stats stats             // guarded by mu
}

// stats counts what the cameras of a pipeline did.
type stats struct {
	// Visibility counts visibility passes: one a view and instant, however many
	// cameras share it. Shades counts dispatches, StaticShadows how often the
	// shadow map of the static world was made.
	Visibility, Shades, StaticShadows int64
}

// rendererOf returns the pipeline's renderer and makes it for the first camera.
func rendererOf(ctx context.Context, env *sensors.Env) (*renderer, error) {
	shared, err := env.Shared.Get(rendererKey{}, func() (io.Closer, error) {
		r := &renderer{
			geometry: env.Geometry, resident: env.Resident, history: env.History,
			packer:  scene.NewPacker(env.Geometry, env.History),
			drawing: newDrawing(env.Geometry),
			views:   map[viewKey]*view{},
		}
		if err := env.GL.Do(ctx, r.open); err != nil {
			_ = r.Close() // only queues deletions
			return nil, fmt.Errorf("make the cameras' renderer: %w", err)
		}
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return shared.(*renderer), nil
}

func (r *renderer) open(c *gpu.Ctx) error {
	r.tables = r.resident.Bindings(nil)
	info := c.Info()
	r.apart = info.GPU()
	if err := r.programs.open(c, r.geometry.Scene); err != nil {
		return err
	}
	var err error
	if r.palette, err = newPalette(c); err != nil {
		return err
	}
	r.sun, err = newSunlight(c, r.geometry)
	return err
}

// Close queues the deletion of all GPU objects. The pipeline calls it after all
// cameras have ended.
func (r *renderer) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.views {
		v.close()
	}
	r.views = nil
	if r.sun != nil {
		r.sun.Close()
	}
	r.palette.Close()
	r.programs.close()
	return nil
}

// pose returns where a frame mounted on an actor was, in the world frame.
func (r *renderer) pose(owner uint32, mount spatial.Pose, stamp simtime.Stamp) spatial.Pose {
	p, _ := r.history.Pose(owner, stamp)
	return r.geometry.FromMap(p.Compose(mount))
}

// frameCount returns the most frames that the scene may have.
func (r *renderer) frameCount() int { return rowFrame(r.geometry.Rows()) }

// at returns where everything is at an instant, which the frame tells from others of
// the same time: time may be set. GL thread.
func (r *renderer) at(t sensors.Tick) *stage {
	if r.stage.places == nil || r.stage.stamp != t.Due || r.stage.frame != t.Frame {
		r.stage.set(r, t)
	}
	return &r.stage
}

func (r *renderer) count(add stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Visibility += add.Visibility
	r.stats.Shades += add.Shades
	r.stats.StaticShadows += add.StaticShadows
}

// newPalette makes the table of the tags' colours, 0..1: CARLA's, then SVL's.
func newPalette(c *gpu.Ctx) (*frameTable, error) {
	t, err := newFrameTable(c, "palette", 512, 1)
	if err != nil {
		return nil, err
	}
	add := func(r, g, b uint8) {
		t.rows = append(t.rows, scene.Row{float32(r) / 255, float32(g) / 255, float32(b) / 255, 1})
	}
	for tag := range 256 {
		p := scene.Tag(tag).Color()
		add(p.R, p.G, p.B)
	}
	for tag := range 256 {
		p := svlColor(scene.Tag(tag))
		add(p[0], p[1], p[2])
	}
	if err := t.write(c); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// programs are the cameras' shader programs.
type programs struct {
	ids, idsCut, shadow, shadowCut *gpu.Program
	// traces are those that trace rays.
	traces map[rayProgram]*gpu.Program
	// shades has a program for each set of pictures that a dispatch made. One that makes them
	// all would do much in vain for a few.
	shades            map[shading]*gpu.Program
	surface, emission bool // the scene has such textures
	colored           bool // the scene has vertices with colours
	lamps             bool // the scene has lamps that may be switched
}

func (p *programs) open(c *gpu.Ctx, s *scene.Scene) error {
	for i := range s.Materials {
		p.surface = p.surface || s.Materials[i].MetalRoughTexture >= 0
		p.emission = p.emission || s.Materials[i].EmissiveTexture >= 0
	}
	p.colored = slices.Contains(s.Colored(), true)
	p.lamps = s.Slots+len(s.Signals) > 0 && slices.ContainsFunc(s.Materials, func(m scene.Material) bool { return m.Lamps != 0 })
	p.shades, p.traces = map[shading]*gpu.Program{}, map[rayProgram]*gpu.Program{}
	for _, want := range []struct {
		program **gpu.Program
		entry   *shaders.Entry
		cut     bool
	}{
		{&p.ids, &shaders.CameraIDs, false},
		{&p.idsCut, &shaders.CameraIDs, true},
		{&p.shadow, &shaders.CameraShadow, false},
		{&p.shadowCut, &shaders.CameraShadow, true},
	} {
		var err error
		if *want.program, err = sensors.Compile(c, want.entry, shaders.Flag("CUT", want.cut)); err != nil {
			return err
		}
	}
	return nil
}

// shading is what a shade program makes.
type shading struct {
	what    pictures
	grid    int
	lens    int // LENS
	graded  bool
	traced  bool // its shadows
	rolling bool // points have times of their own
	weather bool // it is felt
}

// shade returns the program for a set of pictures and compiles it the first time.
func (p *programs) shade(c *gpu.Ctx, what shading) (*gpu.Program, error) {
	if program := p.shades[what]; program != nil {
		return program, nil
	}
	defines := []shaders.Define{
		shaders.Flag("SURFACE_TEXTURES", p.surface), shaders.Flag("EMISSION_TEXTURES", p.emission), shaders.Flag("VERTEX_COLORS", p.colored),
		shaders.Flag("LAMPS", p.lamps),
		shaders.Int("GRID", what.grid), shaders.Int("LENS", what.lens), shaders.Flag("GRADED", what.graded), shaders.Flag("TRACED", what.traced),
		shaders.Flag("ROLLING", what.rolling), shaders.Flag("WEATHER", what.weather),
	}
	for i, name := range pictureNames {
		defines = append(defines, shaders.Flag(name, what.what>>i&1 != 0))
	}
	program, err := sensors.Compile(c, &shaders.CameraShade, defines...)
	if err == nil {
		p.shades[what] = program
	}
	return program, err
}

func (p *programs) close() {
	for _, program := range p.shades {
		program.Close()
	}
	for _, program := range p.traces {
		program.Close()
	}
	for _, program := range []*gpu.Program{p.ids, p.idsCut, p.shadow, p.shadowCut} {
		program.Close()
	}
}

// vec4of returns v as a vec4's first three numbers.
func vec4of(v mgl64.Vec3) [4]float32 {
	return [4]float32{float32(v[0]), float32(v[1]), float32(v[2]), 0}
}

// tracing sends a ray for each point that a view sees, two by two. It belongs to the GL thread.
type tracing struct {
	entry   *shaders.Entry
	program *gpu.Program // the renderer's
	block   *gpu.Buffer  // the program's uniform block
	motion  *scene.MotionTable
	bind    []gpu.Binding // what it reads and writes beside the scene and the lens
}

// rayProgram names a program that traces: an entry for a lens.
type rayProgram struct {
	entry   *shaders.Entry
	lens    int // LENS
	rolling bool
}

// rays names a program that traces for the view.
func (v *view) rays(entry *shaders.Entry) rayProgram {
	return rayProgram{entry, v.key.lens.constant(), v.key.shutter.timed()}
}

// passBlock is camera_trace.comp's uniform block (std140).
type passBlock struct {
	size      [2]int32
	near, far float32
}

// newTracing makes what a program needs whose uniform block and other bindings don't change.
func newTracing(c *gpu.Ctx, r *renderer, p rayProgram, block []byte, bind ...gpu.Binding) (*tracing, error) {
	t := &tracing{entry: p.entry, bind: bind}
	var err error
	if t.program, err = r.programs.trace(c, p); err != nil {
		return nil, err
	}
	if t.block, err = c.NewBuffer(gpu.BufferDesc{Label: "camera rays", Size: len(block), Data: block}); err != nil {
		return nil, err
	}
	t.bind = append(t.bind, gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: t.block})
	if t.motion, err = r.packer.NewMotionTable(c, r.resident); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tracing) close() {
	t.block.Close()
	t.motion.Close()
}

// trace writes what the rays of an instant find.
func (v *view) trace(c *gpu.Ctx, r *renderer, t *tracing, stamp simtime.Stamp) error {
	bind := append(r.scratch[:0], r.tables...)
	if v.key.shutter.timed() { // show has written the view's table
		bind = v.shutterBindings(bind)
	} else {
		if err := t.motion.Write(c, v.key.window(stamp)); err != nil {
			return err
		}
		bind = append(bind, t.motion.Binding())
	}
	bind = v.bindLens(bind)
	bind = append(bind, t.bind...)
	r.scratch = bind
	l := v.key.seen()
	if err := c.Dispatch(&gpu.Dispatch{Program: t.program, Bind: bind, Groups: t.entry.Groups((l.Width+1)/2, (l.Height+1)/2, 1)}); err != nil {
		return err
	}
	return c.Barrier(gpu.BarrierTextureFetch)
}

// trace returns a program that traces, and compiles it the first time.
func (p *programs) trace(c *gpu.Ctx, which rayProgram) (*gpu.Program, error) {
	if program := p.traces[which]; program != nil {
		return program, nil
	}
	program, err := sensors.Compile(c, which.entry, shaders.Int("LENS", which.lens), shaders.Flag("ROLLING", which.rolling))
	if err != nil {
		return nil, fmt.Errorf("trace through a lens: %w", err)
	}
	p.traces[which] = program
	return program, nil
}
