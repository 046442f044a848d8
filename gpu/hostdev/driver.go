//go:build cgo

package hostdev

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/kernels"
)

// Driver is a gpu.Driver on this machine's CPU. All methods must be called on one thread at a
// time, as a gpu.Thread does.
type Driver struct {
	info    gpu.Info
	pool    *kernels.Pool
	queue   *queue
	copying *kernels.Program
	next    gpu.Handle
	// waiting are clears and draws that a dispatch may take, in their order.
	waiting []*command

	buffers  map[gpu.Handle]*buffer
	textures map[gpu.Handle]*texture
	programs map[gpu.Handle]*kernels.Program
	frames   map[gpu.Handle]*framebuffer
	// fences are in slots, which are used again: a capture allocates nothing.
	fences     []*fence
	freeFences []gpu.Handle
	calls      []kernels.Call  // scratch of Draw
	works      []*kernels.Work // scratch of take
	queries    map[gpu.Handle]*query
}

var _ gpu.Driver = (*Driver)(nil)

// storage is memory and how many objects have it.
type storage struct {
	*kernels.Memory
	owners int
}

type buffer struct{ *storage }

type texture struct {
	*kernels.Texture
	*storage
	desc    gpu.TextureDesc
	offsets []int
}

type framebuffer struct {
	target kernels.Target
	uses   []use
	format []gpu.Format
}

// close ends the threads; all objects are deleted before.
func (d *Driver) close() error {
	d.settle()
	d.queue.stop()
	if d.copying != nil {
		d.copying.Close()
	}
	d.pool.Close()
	return nil
}

// handle returns a handle that was never given out.
func (d *Driver) handle() gpu.Handle {
	d.next++
	return d.next
}

// Info implements gpu.Driver.
func (d *Driver) Info() gpu.Info { return d.info }

// AddMissing adds a line to Info.Missing, such as why this device was chosen. It comes before the
// thread is used.
func (d *Driver) AddMissing(line string) { d.info.Missing = append(d.info.Missing, line) }

// PassOver adds a GPU to Info.PassedOver: err says why it can't be used. It comes before the driver
// is used.
func (d *Driver) PassOver(err error) { d.info.PassedOver = append(d.info.PassedOver, err.Error()) }

// Reset implements gpu.Driver: a CPU isn't lost.
func (d *Driver) Reset() error { return nil }

// DebugErrors implements gpu.Driver: the works that failed.
func (d *Driver) DebugErrors() []error { return d.queue.takeErrors() }

// CreateBuffer implements gpu.Driver.
func (d *Driver) CreateBuffer(desc gpu.BufferDesc) (gpu.Handle, error) {
	m, err := kernels.NewMemory(desc.Size)
	if err != nil {
		return 0, err
	}
	copy(m.Bytes(), desc.Data)
	h := d.handle()
	d.buffers[h] = &buffer{&storage{m, 1}}
	return h, nil
}

// MapBuffer implements gpu.Driver.
func (d *Driver) MapBuffer(h gpu.Handle, size int) ([]byte, error) {
	return d.buffers[h].Bytes()[:size:size], nil
}

// WriteBuffer implements gpu.Driver.
func (d *Driver) WriteBuffer(h gpu.Handle, offset int, data []byte) error {
	s := d.buffers[h].storage
	d.settleConflicts(use{s, true})
	if d.queue.idle() {
		s.replace(offset, data)
		return nil
	}
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	c.to, c.place, c.data = s, offset, append(c.data, data...)
	d.queue.add(c)
	return nil
}

// replace writes bytes.
func (s *storage) replace(offset int, data []byte) {
	copy(s.Bytes()[offset:], data)
	s.Wrote(offset, len(data))
}

// largeCopy is a copy that is worth sharing among the threads, bytes.
const largeCopy = 1 << 18

// move queues a copy.
func (d *Driver) move(to, from *storage, place, start, size int) error {
	d.settleConflicts(use{from, false}, use{to, true})
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	if size < largeCopy {
		c.to, c.place, c.from, c.start, c.size = to, place, from, start, size
		d.queue.add(c)
		return nil
	}
	c.own.Dispatch(d.copying, [3]int{1, 1, 1})
	return d.issue(c, errors.Join(c.own.Storage(0, to.Memory, place, size), c.own.Uniform(0, from.Memory, start, size)))
}

// ReadBuffer implements gpu.Driver.
func (d *Driver) ReadBuffer(h gpu.Handle, offset int, dst []byte) error {
	if err := d.Finish(); err != nil {
		return err
	}
	copy(dst, d.buffers[h].Bytes()[offset:])
	return nil
}

// CopyBuffer implements gpu.Driver.
func (d *Driver) CopyBuffer(dst, src gpu.Handle, dstOffset, srcOffset, size int) error {
	return d.move(d.buffers[dst].storage, d.buffers[src].storage, dstOffset, srcOffset, size)
}

// CreateTexture implements gpu.Driver.
func (d *Driver) CreateTexture(desc gpu.TextureDesc, of gpu.Handle) (gpu.Handle, error) {
	t := &texture{desc: desc}
	shape := kernels.Shape{
		Kind: int(desc.Kind), Format: int(desc.Format), Width: desc.Width, Height: desc.Height, Layers: max(desc.Layers, 1),
		Levels: desc.Levels, Filter: int(desc.Filter), Wrap: int(desc.Wrap), Compare: desc.DepthCompare,
	}
	var err error
	if desc.Kind == gpu.TextureBuffer {
		t.storage = d.buffers[of].storage
		t.owners++
		t.offsets = []int{0}
		shape.Width, shape.Height, shape.Levels = len(t.Bytes())/desc.Format.PixelBytes(), 1, 1
	} else {
		size := 0
		for level := range desc.Levels {
			t.offsets = append(t.offsets, size)
			size += (desc.LevelBytes(level, desc.Format) + 63) / 64 * 64
		}
		m, err := kernels.NewMemory(size)
		if err != nil {
			return 0, err
		}
		t.storage = &storage{m, 1}
	}
	shape.Offsets = t.offsets
	if t.Texture, err = kernels.NewTexture(t.Memory, shape); err != nil {
		d.release(t.storage)
		return 0, err
	}
	h := d.handle()
	d.textures[h] = t
	return h, nil
}

// release gives up an object's share of memory, which is freed in its turn with the last.
func (d *Driver) release(s *storage) {
	if s.owners--; s.owners == 0 {
		d.later(s.Memory.Close)
	}
}

// later has an end carried out when all before is done.
func (d *Driver) later(end func()) {
	c, err := d.queue.fresh()
	if err != nil {
		d.queue.wait()
		end()
		return
	}
	c.do = end
	d.queue.add(c)
}

// level returns the bytes of a level.
func (t *texture) level(level int) []byte {
	at := t.offsets[level]
	return t.Bytes()[at : at+t.desc.LevelBytes(level, t.desc.Format)]
}

// WriteTexture implements gpu.Driver. It waits: a run writes its textures when it begins.
func (d *Driver) WriteTexture(h gpu.Handle, desc *gpu.TextureDesc, r gpu.TextureRegion, data []byte) error {
	t := d.textures[h]
	width, height := desc.LevelSize(r.Level)
	pixel := desc.Format.PixelBytes()
	d.settleConflicts(use{t.storage, true})
	d.queue.wait()
	for y := range r.Height {
		at := ((r.Layer*height+r.Y+y)*width + r.X) * pixel
		t.replace(t.offsets[r.Level]+at, data[y*r.Width*pixel:(y+1)*r.Width*pixel])
	}
	return nil
}

// ReadTexture implements gpu.Driver.
func (d *Driver) ReadTexture(h gpu.Handle, level int, format gpu.Format, dst []byte) error {
	t := d.textures[h]
	if err := d.Finish(); err != nil {
		return err
	}
	if format != t.desc.Format {
		return errConversion
	}
	copy(dst, t.level(level))
	return nil
}

var errConversion = errors.New("the host device converts no pixel formats")

// CopyTextureToBuffer implements gpu.Driver for the texture's own format.
func (d *Driver) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, offset, size int) error {
	from := d.textures[src]
	if format != from.desc.Format {
		return errConversion
	}
	return d.move(d.buffers[dst].storage, from.storage, offset, from.offsets[level], size)
}

// CreateProgram implements gpu.Driver: it finds the kernel of a catalogue's entry. Others fail
// with a *gpu.UnsupportedError.
func (d *Driver) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	if desc.Entry == "" {
		return 0, noKernel(desc.Label, "a sensor with a shader of its own needs OpenGL")
	}
	constants := make(map[string]int, len(desc.Constants))
	for name, value := range desc.Constants {
		n, err := strconv.Atoi(value)
		if err != nil {
			return 0, fmt.Errorf("constant %s of %q is %q, the host device takes integers", name, desc.Entry, value)
		}
		constants[name] = n
	}
	p, err := d.pool.NewProgram(desc.Entry, constants)
	if errors.Is(err, kernels.ErrNoKernel) {
		return 0, noKernel(desc.Label, "the host device can't do what it does")
	}
	if err != nil {
		return 0, err
	}
	h := d.handle()
	d.programs[h] = p
	return h, nil
}

func noKernel(label, why string) error {
	return &gpu.UnsupportedError{
		Feature: fmt.Sprintf("kernel of the shader %q on the host device", label),
		Need:    why + ": run with --gpu software, or with a GPU",
	}
}

// CreateFramebuffer implements gpu.Driver.
func (d *Driver) CreateFramebuffer(desc gpu.FramebufferDesc, colors []gpu.Handle, depth gpu.Handle) (gpu.Handle, error) {
	f := &framebuffer{target: kernels.Target{Layer: desc.Layer, Reversed: desc.ReversedDepth}}
	for _, h := range append(slices.Clone(colors), depth) {
		t := d.textures[h]
		if t == nil {
			continue // no depth
		}
		f.uses = append(f.uses, use{t.storage, true})
		f.target.Width, f.target.Height = t.desc.Width, t.desc.Height
		if h == depth {
			f.target.Depth = t.Texture
			continue
		}
		f.target.Color = append(f.target.Color, t.Texture)
		f.format = append(f.format, t.desc.Format)
	}
	if len(f.target.Color) > kernels.Colors {
		return 0, fmt.Errorf("%d colours: the host device has %d", len(f.target.Color), kernels.Colors)
	}
	h := d.handle()
	d.frames[h] = f
	return h, nil
}

// ClearFramebuffer implements gpu.Driver.
func (d *Driver) ClearFramebuffer(h gpu.Handle, attachments int, colors []gpu.ClearColor, _ bool) error {
	f := d.frames[h]
	var bits [kernels.Colors][4]uint32
	for i := range attachments {
		bits[i] = pixel(f.format[i], &colors[i])
	}
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	c.own.Clear(&f.target, bits[:attachments])
	c.work, c.uses = c.own, append(c.uses, f.uses...)
	d.waiting = append(d.waiting, c)
	return nil
}

// pixel returns a clear colour as a pixel of a format.
func pixel(format gpu.Format, c *gpu.ClearColor) (bits [4]uint32) {
	switch format {
	case gpu.FormatR32UI, gpu.FormatRG32UI, gpu.FormatRGBA32UI:
		return c.Uint
	case gpu.FormatR8, gpu.FormatRGBA8:
		for i, v := range c.Float {
			bits[0] |= uint32(math.Round(float64(min(max(v, 0), 1))*255)) << (8 * i)
		}
		return bits
	}
	for i, v := range c.Float {
		bits[i] = math.Float32bits(v)
	}
	return bits
}

// Dispatch implements gpu.Driver.
func (d *Driver) Dispatch(program gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	p := d.programs[program]
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	c.own.Dispatch(p, groups)
	err = d.bind(c, bind)
	if err == nil && p.Takes() {
		err = d.take(c)
	}
	return d.issue(c, err, c.uses...)
}

// issue queues a work, unless there is an error.
func (d *Driver) issue(c *command, err error, uses ...use) error {
	if err != nil {
		c.own.Close()
		return err
	}
	d.settleConflicts(uses...)
	c.work = c.own
	d.queue.add(c)
	return nil
}

// bind fills in what is bound.
func (d *Driver) bind(c *command, bind []gpu.BoundResource) (err error) {
	for i := range bind {
		b := &bind[i]
		switch b.Kind {
		case gpu.BindUniform:
			s := d.buffers[b.Handle].storage
			err = errors.Join(err, c.own.Uniform(b.Slot, s.Memory, b.Offset, b.Size))
			c.uses = append(c.uses, use{s, false})
		case gpu.BindStorage:
			s := d.buffers[b.Handle].storage
			err = errors.Join(err, c.own.Storage(b.Slot, s.Memory, b.Offset, b.Size))
			c.uses = append(c.uses, use{s, true})
		case gpu.BindSampler:
			t := d.textures[b.Handle]
			err = errors.Join(err, c.own.Sampler(b.Slot, t.Texture))
			c.uses = append(c.uses, use{t.storage, false})
		case gpu.BindImage:
			t, written := d.textures[b.Handle], b.Access != gpu.ReadOnly
			err = errors.Join(err, c.own.Image(b.Slot, t.Texture, b.Level, written))
			c.uses = append(c.uses, use{t.storage, written})
		}
	}
	return err
}

// take gives a dispatch the draws and clears of the targets that it reads. Those before them
// that it doesn't take are queued.
func (d *Driver) take(c *command) error {
	works := d.works[:0]
	left := d.waiting[:0]
	for _, w := range d.waiting {
		if !slices.ContainsFunc(w.uses, func(u use) bool { return u.writes && slices.Contains(c.uses, use{u.of, false}) }) {
			left = append(left, w)
			continue
		}
		c.taken = append(c.taken, w)
		works = append(works, w.own)
	}
	d.waiting, d.works = left, works
	return c.own.Take(works)
}

// Draw implements gpu.Driver.
func (d *Driver) Draw(program, fb gpu.Handle, bind []gpu.BoundResource, draw *gpu.Draw) error {
	p, f := d.programs[program], d.frames[fb]
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	d.calls = d.calls[:0]
	for _, x := range draw.Calls {
		d.calls = append(d.calls, kernels.Call{First: x.First, Count: x.Count, Instances: max(x.Instances, 1), Index: x.Index})
	}
	viewport := draw.Viewport
	if viewport == [4]int{} {
		viewport = [4]int{0, 0, f.target.Width, f.target.Height}
	}
	err = c.own.Draw(p, &f.target, d.calls)
	c.own.Raster(viewport, draw.CullBack, draw.DepthBias)
	err = errors.Join(err, d.bind(c, bind))
	if err != nil || !p.Deferred() {
		return d.issue(c, err, append(c.uses, f.uses...)...)
	}
	c.work, c.uses = c.own, append(c.uses, f.uses...)
	d.waiting = append(d.waiting, c)
	return nil
}

// settleConflicts queues the draws that wait, if they write what a command uses, or read what it
// writes.
func (d *Driver) settleConflicts(uses ...use) {
	for _, w := range d.waiting {
		for _, a := range w.uses {
			for _, b := range uses {
				if a.of == b.of && (a.writes || b.writes) {
					d.settle()
					return
				}
			}
		}
	}
}

// settle queues the draws that wait.
func (d *Driver) settle() {
	if len(d.waiting) > 0 {
		d.queue.add(d.waiting...)
		d.waiting = d.waiting[:0]
	}
}

// Barrier implements gpu.Driver: commands are in order.
func (d *Driver) Barrier(gpu.BarrierBits) error { return nil }

// CreateFence implements gpu.Driver.
func (d *Driver) CreateFence() (gpu.Handle, error) {
	d.settle()
	c, err := d.queue.fresh()
	if err != nil {
		return 0, err
	}
	if n := len(d.freeFences); n > 0 {
		h := d.freeFences[n-1]
		d.freeFences = d.freeFences[:n-1]
		c.fence = d.fences[h-1]
		c.fence.state.Store(pending)
		d.queue.add(c)
		return h, nil
	}
	c.fence = &fence{}
	d.fences = append(d.fences, c.fence)
	d.queue.add(c)
	return gpu.Handle(len(d.fences)), nil
}

// PollFence implements gpu.Driver. A fence fails where a command has failed since the one
// before.
func (d *Driver) PollFence(h gpu.Handle) gpu.FenceStatus {
	switch d.fences[h-1].state.Load() {
	case pending:
		return gpu.FencePending
	case signaled:
		return gpu.FenceSignaled
	}
	return gpu.FenceFailed
}

// Flush implements gpu.Driver: commands start by themselves. Draws wait for the dispatch that takes them, or
// for a fence.
func (d *Driver) Flush() error { return nil }

// Finish implements gpu.Driver.
func (d *Driver) Finish() error {
	d.settle()
	d.queue.wait()
	return nil
}

// CreateQuery implements gpu.Driver.
func (d *Driver) CreateQuery() (gpu.Handle, error) {
	h := d.handle()
	d.queries[h] = &query{}
	return h, nil
}

// Timestamp implements gpu.Driver.
func (d *Driver) Timestamp(h gpu.Handle) error {
	c, err := d.queue.fresh()
	if err != nil {
		return err
	}
	c.query = d.queries[h]
	c.query.ns.Store(0)
	d.settle()
	d.queue.add(c)
	return nil
}

// QueryResult implements gpu.Driver.
func (d *Driver) QueryResult(h gpu.Handle) (ns int64, ready bool, err error) {
	ns = d.queries[h].ns.Load()
	return ns, ns != 0, nil
}

// Clock implements gpu.Driver: the device's clock is the host's.
func (d *Driver) Clock() (gpuNs int64, host time.Time, err error) {
	now := time.Now()
	return now.Sub(epoch).Nanoseconds(), now, nil
}

// Delete implements gpu.Driver. Commands already issued still have the object.
func (d *Driver) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	switch kind {
	case gpu.ObjectBuffer:
		d.settleConflicts(use{d.buffers[h].storage, true})
		d.release(d.buffers[h].storage)
		delete(d.buffers, h)
	case gpu.ObjectTexture:
		t := d.textures[h]
		d.settleConflicts(use{t.storage, true})
		d.later(t.Texture.Close)
		d.release(t.storage)
		delete(d.textures, h)
	case gpu.ObjectProgram:
		d.settle()
		d.later(d.programs[h].Close)
		delete(d.programs, h)
	case gpu.ObjectFramebuffer:
		delete(d.frames, h)
	case gpu.ObjectFence:
		if d.fences[h-1].state.Load() == pending { // it is not to signal the next in its slot
			d.fences[h-1] = &fence{}
		}
		d.freeFences = append(d.freeFences, h)
	case gpu.ObjectQuery:
		delete(d.queries, h)
	}
}
