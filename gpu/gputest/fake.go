// Package gputest has what tests of GPU code need. Fake is a gpu.Driver without a GPU whose
// fences follow a script and which notices leaks and misuse. Delay makes a real driver's fences
// signal late. In builds with cgo there is a live headless context that a package's tests
// share:
//
//	func TestMain(m *testing.M) { gputest.Main(m) }
//
//	func TestShader(t *testing.T) {
//		thread := gputest.Thread(t)
//		...
//	}
//
// Files that use the live half carry the build tag cgo. If the machine has no OpenGL, such tests
// skip and say why; with REQUIRE_GL=1 in the environment they fail instead.
package gputest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Fake is a gpu.Driver whose GPU is Go memory. Commands take effect as late as a real GPU may
// take them. They do so in order, when a fence behind them is seen signalled, or at a call that
// waits. It records each call, follows a script for fences and failures, and notes misuse as
// faults.
//
// The methods of gpu.Driver belong to the GL thread; all others may be called
// from any goroutine. The zero value is not usable: see NewFake.
type Fake struct {
	mu      sync.Mutex
	info    gpu.Info
	next    gpu.Handle
	objects map[objectID]*object
	pending []func() // commands not executed yet, oldest first
	done    int      // commands executed: the position of pending[0]
	fences  []*fence // by creation
	script  FenceScript
	shaders map[string]func(Invocation)
	failing []failure
	lost    error
	faults  []string
	log     []string
	quiet   bool

	issued  int       // counts commands that write or order memory
	ordered [32]int   // the command that last ordered each barrier bit
	gpuNow  int64     // the fake GPU's clock, ns
	epoch   time.Time // host time of gpuNow 0
	errs    []error   // for DebugErrors
}

var (
	_ gpu.Driver       = (*Fake)(nil)
	_ gpu.SourceHolder = (*Fake)(nil)
)

type objectID struct {
	kind   gpu.ObjectKind
	handle gpu.Handle
}

// object is a fake buffer, texture, program, framebuffer, fence or query.
type object struct {
	name    string
	usage   gpu.BufferUsage
	desc    gpu.TextureDesc
	bytes   []byte   // a buffer's contents
	levels  [][]byte // a texture's contents
	targets []*object
	fence   *fence
	stamp   int64
	stamped bool
	held    int // Holds in force
	written int // the command in which a shader last wrote it
}

type failure struct {
	call string
	err  error
}

// NewFake returns a fake whose fences signal at their first poll.
func NewFake() *Fake {
	return &Fake{
		objects: make(map[objectID]*object),
		shaders: make(map[string]func(Invocation)),
		epoch:   time.Now(),
		info: gpu.Info{
			Vendor: "raybridge", Renderer: "fake", Version: "4.5 fake", GLSL: "4.50", Device: "fake", TimestampBits: 64,
			Limits: gpu.Guaranteed(),
		},
	}
}

// Open is the fake's gpu.Opener.
func (f *Fake) Open() (*gpu.Context, error) {
	return &gpu.Context{Driver: f, Close: func() error { return nil }}, nil
}

// Start runs a gpu.Thread on the fake. When the test ends it closes the thread. It fails the
// test for each object that was not closed, each fault and each failure of the script that
// never came to pass.
func (f *Fake) Start(t testing.TB) *gpu.Thread {
	t.Helper()
	thread, err := gpu.Config{OnError: func(err error) { t.Logf("on the fake gl thread: %v", err) }}.Start(f.Open)
	if err != nil {
		t.Fatalf("start a thread on the fake: %v", err)
	}
	t.Cleanup(func() {
		for _, name := range thread.Live() {
			t.Errorf("leak: %s was not closed", name)
		}
		if err := thread.Close(); err != nil {
			t.Errorf("close the fake's thread: %v", err)
		}
		for _, fault := range f.Faults() {
			t.Errorf("fake: %s", fault)
		}
	})
	return thread
}

// SetInfo changes what the context says of itself; before Start.
func (f *Fake) SetInfo(info gpu.Info) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.info = info
}

// Fail makes the next call of the named Driver method ("CreateFence") fail with
// err; several for one method follow each other. A failed PollFence answers
// FenceFailed.
func (f *Fake) Fail(call string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = append(f.failing, failure{call, err})
}

// Lose makes the context lost: Reset, every later command and every fence fail.
func (f *Fake) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = fmt.Errorf("%w: the fake's script says so", gpu.ErrContextLost)
}

// Report makes err the driver's debug output.
func (f *Fake) Report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// Faults returns what was done wrong so far. These are writes to held sources, copies of shader
// output without the barrier they need, handles used after deletion, and programs and bindings
// beyond what OpenGL 4.5 guarantees. Failures asked for that have not happened are faults, too.
func (f *Fake) Faults() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	faults := slices.Clone(f.faults)
	for _, rest := range f.failing {
		faults = append(faults, fmt.Sprintf("script: no call of %s came to fail with %q", rest.call, rest.err))
	}
	return faults
}

// ClearFaults forgets the faults of a test that provokes them, failures
// not yet happened included.
func (f *Fake) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.failing = nil, nil
}

// Log returns the calls so far, one line each, as
//
//	CreateBuffer "staging" 64 bytes readback
//	CopyBuffer "staging"[0:64] <- "points"[0:64]
//	PollFence 0 = pending
//
// without those that only ask (Info, Reset, DebugErrors).
func (f *Fake) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// ClearLog empties the log.
func (f *Fake) ClearLog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = nil
}

// StopLog ends the recording, for benchmarks.
func (f *Fake) StopLog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quiet = true
}

// Bytes returns a copy of what the newest buffer or texture (its level 0) of the given label
// holds now. It returns nil if no object has that label.
func (f *Fake) Bytes(label string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var newest gpu.Handle
	var bytes []byte
	for id, o := range f.objects {
		if o.name != fmt.Sprintf("%q", label) || id.handle < newest {
			continue
		}
		switch id.kind {
		case gpu.ObjectBuffer:
			newest, bytes = id.handle, o.bytes
		case gpu.ObjectTexture:
			newest, bytes = id.handle, slices.Concat(o.levels[:min(len(o.levels), 1)]...)
		}
	}
	return slices.Clone(bytes)
}

// begin is the start of every command: it records the call and answers the
// failure that the script or a lost context has for it. f.mu is held.
func (f *Fake) begin(call, format string, args ...any) error {
	f.issued++
	err := f.scripted(call)
	if !f.quiet {
		line := call + fmt.Sprintf(format, args...)
		if err != nil {
			line += " = error: " + err.Error()
		}
		f.log = append(f.log, line)
	}
	return err
}

func (f *Fake) scripted(call string) error {
	if f.lost != nil {
		return f.lost
	}
	for i, x := range f.failing {
		if x.call == call {
			f.failing = slices.Delete(f.failing, i, i+1)
			return x.err
		}
	}
	return nil
}

func (f *Fake) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// find resolves a handle; a wrong one is a fault and gets a stand-in.
func (f *Fake) find(kind gpu.ObjectKind, h gpu.Handle) *object {
	if o := f.objects[objectID{kind, h}]; o != nil {
		return o
	}
	f.fault("%v %d is used, but was deleted or never made", kind, h)
	return &object{name: "deleted", fence: &fence{}}
}

func (f *Fake) add(kind gpu.ObjectKind, o *object) gpu.Handle {
	f.next++
	f.objects[objectID{kind, f.next}] = o
	return f.next
}

// create is a command that makes an object.
func (f *Fake) create(kind gpu.ObjectKind, o *object, call, format string, args ...any) (gpu.Handle, error) {
	if err := f.begin(call, format, args...); err != nil {
		return 0, err
	}
	return f.add(kind, o), nil
}

// defers queues a command's effect.
func (f *Fake) defers(effect func()) { f.pending = append(f.pending, effect) }

// execute carries out the commands before position end.
func (f *Fake) execute(end int) {
	for f.done < end && len(f.pending) > 0 {
		f.pending[0]()
		f.pending[0] = nil
		f.pending = f.pending[1:]
		f.done++
	}
}

func (f *Fake) executeAll() { f.execute(f.done + len(f.pending)) }

// errNoConversion is the answer where OpenGL would convert pixels.
var errNoConversion = errors.New("the fake converts no pixel formats: use a live context")

// What fresh readback memory and deleted memory hold, so that reading either
// shows.
const (
	unwritten = 0xA5
	deleted   = 0xDD
)

// Info implements gpu.Driver.
func (f *Fake) Info() gpu.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

// Reset implements gpu.Driver.
func (f *Fake) Reset() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// DebugErrors implements gpu.Driver.
func (f *Fake) DebugErrors() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := f.errs
	f.errs = nil
	return errs
}

// CreateBuffer implements gpu.Driver.
func (f *Fake) CreateBuffer(desc gpu.BufferDesc) (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	usage, memory := "device", make([]byte, desc.Size)
	if desc.Usage == gpu.UsageReadback {
		usage, memory = "readback", bytes.Repeat([]byte{unwritten}, desc.Size)
	}
	copy(memory, desc.Data)
	o := &object{name: fmt.Sprintf("%q", desc.Label), usage: desc.Usage, bytes: memory}
	return f.create(gpu.ObjectBuffer, o, "CreateBuffer", " %s %d bytes %s", o.name, desc.Size, usage)
}

// MapBuffer implements gpu.Driver.
func (f *Fake) MapBuffer(h gpu.Handle, size int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.find(gpu.ObjectBuffer, h)
	if err := f.begin("MapBuffer", " %s", b.name); err != nil {
		return nil, err
	}
	if b.usage != gpu.UsageReadback {
		f.fault("buffer %s is mapped, but was not made for readback", b.name)
	}
	return b.bytes[:size:size], nil
}

// CreateTexture implements gpu.Driver.
func (f *Fake) CreateTexture(desc gpu.TextureDesc, buffer gpu.Handle) (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := &object{name: fmt.Sprintf("%q", desc.Label), desc: desc}
	if desc.Kind == gpu.TextureBuffer {
		view := f.find(gpu.ObjectBuffer, buffer)
		o.bytes = view.bytes
		return f.create(gpu.ObjectTexture, o, "CreateTexture", " %s %v view of %s", o.name, desc.Format, view.name)
	}
	for level := range desc.Levels {
		o.levels = append(o.levels, make([]byte, desc.LevelBytes(level, desc.Format)))
	}
	return f.create(gpu.ObjectTexture, o, "CreateTexture", " %s %v %dx%d", o.name, desc.Format, desc.Width, desc.Height)
}

// CreateProgram implements gpu.Driver; of the sources, only the declarations are looked at.
func (f *Fake) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, line := range Beyond(desc) {
		f.fault("program %q: %s", desc.Label, line)
	}
	return f.create(gpu.ObjectProgram, &object{name: desc.Label}, "CreateProgram", " %q", desc.Label)
}

// CreateFramebuffer implements gpu.Driver.
func (f *Fake) CreateFramebuffer(desc gpu.FramebufferDesc, colors []gpu.Handle, depth gpu.Handle) (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("CreateFramebuffer", " %q", desc.Label); err != nil {
		return 0, err
	}
	o := &object{name: fmt.Sprintf("%q", desc.Label)}
	for _, h := range colors {
		o.targets = append(o.targets, f.find(gpu.ObjectTexture, h))
	}
	if depth != 0 {
		o.targets = append(o.targets, f.find(gpu.ObjectTexture, depth))
	}
	return f.add(gpu.ObjectFramebuffer, o), nil
}

// Delete implements gpu.Driver. As with OpenGL, commands already issued still
// have the object; mapped memory is gone at once.
func (f *Fake) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := objectID{kind, h}
	o := f.objects[id]
	if o == nil {
		f.fault("%v %d is deleted, but is not there", kind, h)
		return
	}
	if !f.quiet {
		f.log = append(f.log, fmt.Sprintf("Delete %v %s", kind, o.name))
	}
	delete(f.objects, id)
	if o.usage == gpu.UsageReadback && kind == gpu.ObjectBuffer {
		for i := range o.bytes {
			o.bytes[i] = deleted
		}
	}
}

// HoldSource implements gpu.SourceHolder.
func (f *Fake) HoldSource(kind gpu.ObjectKind, h gpu.Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(kind, h).held++
}

// UnholdSource implements gpu.SourceHolder.
func (f *Fake) UnholdSource(kind gpu.ObjectKind, h gpu.Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.objects[objectID{kind, h}]
	if o == nil {
		return // closed while held: its capture fails
	}
	if o.held == 0 {
		f.fault("%s %s is released more often than held", kind, o.name)
		return
	}
	o.held--
}

// writes checks that a command may write o.
func (f *Fake) writes(o *object, by string) {
	if o.held > 0 {
		f.fault("%s writes %s, which a later copy still needs", by, o.name)
	}
}

// Invocation is what a scripted shader works on. The slices are the GPU's
// memory; they must not be kept.
type Invocation struct {
	Groups [3]int // of a dispatch
	memory map[slot][]byte
}

type slot struct {
	kind   gpu.BindingKind
	number int
}

// Storage returns the bytes of the buffer block bound at a slot, nil if none.
func (i Invocation) Storage(number int) []byte { return i.memory[slot{gpu.BindStorage, number}] }

// Uniform returns the bytes of the uniform block bound at a slot, nil if none.
func (i Invocation) Uniform(number int) []byte { return i.memory[slot{gpu.BindUniform, number}] }

// Image returns the pixels of the image level bound at a slot, nil if none.
func (i Invocation) Image(number int) []byte { return i.memory[slot{gpu.BindImage, number}] }

// Sampler returns level 0 of the texture, or the buffer of the texture buffer,
// bound at a slot, nil if none.
func (i Invocation) Sampler(number int) []byte { return i.memory[slot{gpu.BindSampler, number}] }

// OnDispatch gives the program of a label its effect: shader runs, in the
// order of commands, when the GPU would get there. It runs on the GL thread
// and must not call the Fake.
func (f *Fake) OnDispatch(label string, shader func(Invocation)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shaders[label] = shader
}

// Dispatch implements gpu.Driver.
func (f *Fake) Dispatch(program gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(gpu.ObjectProgram, program)
	if err := f.begin("Dispatch", " %q %v%s", p.name, groups, f.bindings(bind)); err != nil {
		return err
	}
	by := fmt.Sprintf("dispatch %q", p.name)
	f.holdStage(bind, by)
	f.holdOutputs(bind, 0, by)
	call := Invocation{Groups: groups, memory: f.bound(bind, by)}
	if shader := f.shaders[p.name]; shader != nil {
		f.defers(func() { shader(call) })
	}
	return nil
}

// Draw implements gpu.Driver; a draw has no effect on memory.
func (f *Fake) Draw(program, fb gpu.Handle, bind []gpu.BoundResource, draw *gpu.Draw) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, target := f.find(gpu.ObjectProgram, program), f.find(gpu.ObjectFramebuffer, fb)
	if err := f.begin("Draw", " %q %d calls to %s%s", p.name, len(draw.Calls), target.name, f.bindings(bind)); err != nil {
		return err
	}
	by := fmt.Sprintf("draw %q", p.name)
	f.bound(bind, by)
	colors := 0
	for _, t := range target.targets {
		f.writes(t, by)
		if t.desc.Format != gpu.FormatDepth32F {
			colors++
		}
	}
	f.holdOutputs(bind, colors, by)
	return nil
}

// bound resolves bindings to memory and notes what the shader may write:
// storage blocks, and images that are not ReadOnly.
func (f *Fake) bound(bind []gpu.BoundResource, by string) map[slot][]byte {
	memory := make(map[slot][]byte, len(bind))
	for _, b := range bind {
		o, bytes := f.resource(b)
		memory[slot{b.Kind, b.Slot}] = bytes
		if b.Kind == gpu.BindStorage || b.Kind == gpu.BindImage && b.Access != gpu.ReadOnly {
			f.writes(o, by)
			o.written = f.issued
		}
	}
	return memory
}

// holdStage checks how many of each kind are bound for a program of one stage. Which stage of a draw
// uses a binding isn't known here: Beyond counts its declarations.
func (f *Fake) holdStage(bind []gpu.BoundResource, by string) {
	most := gpu.Guaranteed()
	var bound [gpu.BindImage + 1]int
	for _, b := range bind {
		bound[b.Kind]++
	}
	for kind, limit := range [...]int{
		gpu.BindUniform: most.MaxUniformBlocks, gpu.BindStorage: most.MaxStorageBlocks,
		gpu.BindSampler: most.MaxSamplers, gpu.BindImage: most.MaxImages,
	} {
		if bound[kind] > limit {
			f.fault("%s binds %d of kind %v, OpenGL 4.5 guarantees %d", by, bound[kind], gpu.BindingKind(kind), limit)
		}
	}
}

// holdOutputs checks how much a program may write to.
func (f *Fake) holdOutputs(bind []gpu.BoundResource, colors int, by string) {
	n := colors
	for _, b := range bind {
		if b.Kind == gpu.BindStorage || b.Kind == gpu.BindImage {
			n++
		}
	}
	if most := gpu.Guaranteed().MaxOutputs; n > most {
		f.fault("%s has %d storage blocks, images and colours, OpenGL 4.5 guarantees %d", by, n, most)
	}
}

func (f *Fake) resource(b gpu.BoundResource) (*object, []byte) {
	switch b.Kind {
	case gpu.BindUniform, gpu.BindStorage:
		o := f.find(gpu.ObjectBuffer, b.Handle)
		return o, o.bytes[b.Offset : b.Offset+b.Size]
	}
	o := f.find(gpu.ObjectTexture, b.Handle)
	if b.Level < len(o.levels) {
		return o, o.levels[b.Level]
	}
	return o, o.bytes // of a texture buffer
}

func (f *Fake) bindings(bind []gpu.BoundResource) string {
	if f.quiet {
		return ""
	}
	var s string
	for _, b := range bind {
		o, _ := f.resource(b)
		s += fmt.Sprintf(" %v%d=%s", b.Kind, b.Slot, o.name)
	}
	return s
}

// Barrier implements gpu.Driver.
func (f *Fake) Barrier(bits gpu.BarrierBits) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Barrier", " %v", bits); err != nil {
		return err
	}
	for i := range f.ordered {
		if bits&(1<<i) != 0 {
			f.ordered[i] = f.issued
		}
	}
	return nil
}

// reads checks that a barrier with all the bits stands between a shader's
// write of o and its use here (GL 4.5 core, section 7.13.2).
func (f *Fake) reads(o *object, need gpu.BarrierBits, by string) {
	if o.written == 0 {
		return
	}
	for i, at := range f.ordered {
		if bit := gpu.BarrierBits(1 << i); need&bit != 0 && at < o.written {
			f.fault("%s reads %s without the barrier %q after a shader wrote it", by, o.name, bit)
		}
	}
}

// WriteBuffer implements gpu.Driver.
func (f *Fake) WriteBuffer(h gpu.Handle, offset int, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.find(gpu.ObjectBuffer, h)
	if err := f.begin("WriteBuffer", " %s[%d:%d]", b.name, offset, offset+len(data)); err != nil {
		return err
	}
	f.writes(b, "WriteBuffer")
	kept := bytes.Clone(data)
	f.defers(func() { copy(b.bytes[offset:], kept) })
	return nil
}

// ReadBuffer implements gpu.Driver.
func (f *Fake) ReadBuffer(h gpu.Handle, offset int, dst []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.find(gpu.ObjectBuffer, h)
	if err := f.begin("ReadBuffer", " %s[%d:%d]", b.name, offset, offset+len(dst)); err != nil {
		return err
	}
	f.executeAll()
	copy(dst, b.bytes[offset:])
	return nil
}

// CopyBuffer implements gpu.Driver.
func (f *Fake) CopyBuffer(dst, src gpu.Handle, dstOffset, srcOffset, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	to, from := f.find(gpu.ObjectBuffer, dst), f.find(gpu.ObjectBuffer, src)
	if err := f.begin("CopyBuffer", " %s[%d:%d] <- %s[%d:%d]",
		to.name, dstOffset, dstOffset+size, from.name, srcOffset, srcOffset+size); err != nil {
		return err
	}
	f.reads(from, gpu.BarrierFor(gpu.SourceBuffer), "CopyBuffer")
	f.writes(to, "CopyBuffer")
	f.defers(func() { copy(to.bytes[dstOffset:], from.bytes[srcOffset:srcOffset+size]) })
	return nil
}

// WriteTexture implements gpu.Driver.
func (f *Fake) WriteTexture(h gpu.Handle, desc *gpu.TextureDesc, r gpu.TextureRegion, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(gpu.ObjectTexture, h)
	if err := f.begin("WriteTexture", " %s level %d layer %d %dx%d", t.name, r.Level, r.Layer, r.Width, r.Height); err != nil {
		return err
	}
	f.writes(t, "WriteTexture")
	kept, pixel := bytes.Clone(data), desc.Format.PixelBytes()
	width, height := desc.LevelSize(r.Level)
	f.defers(func() {
		for y := range r.Height {
			at := ((r.Layer*height+r.Y+y)*width + r.X) * pixel
			copy(t.levels[r.Level][at:], kept[y*r.Width*pixel:(y+1)*r.Width*pixel])
		}
	})
	return nil
}

// ReadTexture implements gpu.Driver.
func (f *Fake) ReadTexture(h gpu.Handle, level int, format gpu.Format, dst []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(gpu.ObjectTexture, h)
	if err := f.begin("ReadTexture", " %s level %d %v", t.name, level, format); err != nil {
		return err
	}
	f.executeAll()
	copy(dst, t.levels[level])
	return nil
}

// CopyTextureToBuffer implements gpu.Driver for formats of the texture's own
// pixel size.
func (f *Fake) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, offset, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, b := f.find(gpu.ObjectTexture, src), f.find(gpu.ObjectBuffer, dst)
	if err := f.begin("CopyTextureToBuffer", " %s[%d:%d] <- %s level %d %v",
		b.name, offset, offset+size, t.name, level, format); err != nil {
		return err
	}
	if format.PixelBytes() != t.desc.Format.PixelBytes() {
		return errNoConversion
	}
	f.reads(t, gpu.BarrierFor(gpu.SourceTexture), "CopyTextureToBuffer")
	f.writes(b, "CopyTextureToBuffer")
	f.defers(func() { copy(b.bytes[offset:offset+size], t.levels[level]) })
	return nil
}

// ClearFramebuffer implements gpu.Driver.
func (f *Fake) ClearFramebuffer(h gpu.Handle, attachments int, colors []gpu.ClearColor, depth bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fb := f.find(gpu.ObjectFramebuffer, h)
	if err := f.begin("ClearFramebuffer", " %s", fb.name); err != nil {
		return err
	}
	for i, t := range fb.targets {
		f.writes(t, "ClearFramebuffer")
		color := gpu.ClearColor{Float: [4]float32{1}} // depth's
		if i < attachments {
			color = colors[i]
		}
		pixel := encode(t.desc.Format, color)
		if pixel == nil {
			return errNoConversion
		}
		f.defers(func() {
			for part := range slices.Chunk(t.levels[0], len(pixel)) {
				copy(part, pixel)
			}
		})
	}
	return nil
}

// encode is a clear colour as a pixel of a format, nil where the fake can't.
func encode(format gpu.Format, c gpu.ClearColor) []byte {
	out := make([]byte, 0, 16)
	switch format {
	case gpu.FormatR8, gpu.FormatRGBA8:
		for _, v := range c.Float[:format.PixelBytes()] {
			out = append(out, byte(math.Round(float64(min(max(v, 0), 1))*255)))
		}
	case gpu.FormatR32F, gpu.FormatRG32F, gpu.FormatRGBA32F, gpu.FormatDepth32F:
		for _, v := range c.Float[:format.PixelBytes()/4] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	case gpu.FormatR32UI, gpu.FormatRG32UI, gpu.FormatRGBA32UI:
		for _, v := range c.Uint[:format.PixelBytes()/4] {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
	default:
		return nil
	}
	return out
}

// Flush implements gpu.Driver.
func (f *Fake) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin("Flush", "")
}

// Finish implements gpu.Driver.
func (f *Fake) Finish() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Finish", ""); err != nil {
		return err
	}
	f.executeAll()
	return nil
}

// FenceScript says how a fence answers its polls. The zero value signals at
// the first.
type FenceScript struct {
	Polls int  // polls that answer pending before it signals
	Hold  bool // pending until Signal or FailFence names it, maybe never
	Fail  bool // it fails instead of signalling
}

type fence struct {
	script FenceScript
	end    int // position in the command stream: what is before it is done once it signals
	polls  int
	number int
}

// SetFences gives the script of all fences made from now on.
func (f *Fake) SetFences(s FenceScript) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = s
}

// Fences returns how many fences were made so far. They are numbered from 0 in
// the order of their making.
func (f *Fake) Fences() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fences)
}

// Signal lets fence n signal at its next poll, in any order; unlike a GPU's,
// an early fence does not signal with a later one.
func (f *Fake) Signal(n int) { f.setScript(n, FenceScript{}) }

// FailFence makes fence n fail at its next poll.
func (f *Fake) FailFence(n int) { f.setScript(n, FenceScript{Fail: true}) }

func (f *Fake) setScript(n int, s FenceScript) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fences[n].script = s
}

// CreateFence implements gpu.Driver.
func (f *Fake) CreateFence() (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := len(f.fences)
	if err := f.begin("CreateFence", " %d", number); err != nil {
		return 0, err
	}
	x := &fence{script: f.script, end: f.done + len(f.pending), number: number}
	f.fences = append(f.fences, x)
	return f.add(gpu.ObjectFence, &object{name: "fence", fence: x}), nil
}

// PollFence implements gpu.Driver.
func (f *Fake) PollFence(h gpu.Handle) gpu.FenceStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.find(gpu.ObjectFence, h).fence
	status := f.poll(x)
	if !f.quiet {
		f.log = append(f.log, fmt.Sprintf("PollFence %d = %v", x.number, status))
	}
	return status
}

func (f *Fake) poll(x *fence) gpu.FenceStatus {
	switch {
	case f.scripted("PollFence") != nil:
		return gpu.FenceFailed
	case x.script.Hold:
		return gpu.FencePending
	case x.polls < x.script.Polls:
		x.polls++
		return gpu.FencePending
	case x.script.Fail:
		return gpu.FenceFailed
	default:
		f.execute(x.end)
		return gpu.FenceSignaled
	}
}

// CreateQuery implements gpu.Driver.
func (f *Fake) CreateQuery() (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.create(gpu.ObjectQuery, &object{name: "timestamp"}, "CreateQuery", "")
}

// tick is how far the fake GPU's clock goes from one timestamp to the next.
const tick = int64(time.Microsecond)

// Timestamp implements gpu.Driver. Each later timestamp is a microsecond later.
func (f *Fake) Timestamp(h gpu.Handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Timestamp", ""); err != nil {
		return err
	}
	q := f.find(gpu.ObjectQuery, h)
	q.stamped = false
	f.defers(func() {
		f.gpuNow += tick
		q.stamp, q.stamped = f.gpuNow, true
	})
	return nil
}

// QueryResult implements gpu.Driver.
func (f *Fake) QueryResult(h gpu.Handle) (ns int64, ready bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.find(gpu.ObjectQuery, h)
	if err := f.begin("QueryResult", " ready=%v", q.stamped); err != nil {
		return 0, false, err
	}
	return q.stamp, q.stamped, nil
}

// Clock implements gpu.Driver: the host's clock is the GPU's, counted from
// NewFake's call.
func (f *Fake) Clock() (gpuNs int64, host time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Clock", ""); err != nil {
		return 0, time.Time{}, err
	}
	return f.gpuNow, f.epoch.Add(time.Duration(f.gpuNow)), nil
}

// Delay wraps an opener so that each fence answers pending to its first polls, however fast the
// GPU is. Software OpenGL never does so by itself.
func Delay(open gpu.Opener, polls int) gpu.Opener {
	return func() (*gpu.Context, error) {
		glctx, err := open()
		if err != nil {
			return nil, err
		}
		wrapped := *glctx
		wrapped.Driver = &delayed{Driver: glctx.Driver, polls: polls, left: make(map[gpu.Handle]int)}
		return &wrapped, nil
	}
}

// delayed is a driver with slow fences; on the GL thread only.
type delayed struct {
	gpu.Driver
	polls int
	left  map[gpu.Handle]int // polls of each fence that answer pending yet
}

func (d *delayed) CreateFence() (gpu.Handle, error) {
	h, err := d.Driver.CreateFence()
	if err == nil {
		d.left[h] = d.polls
	}
	return h, err
}

func (d *delayed) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.left[h] > 0 {
		d.left[h]--
		return gpu.FencePending
	}
	return d.Driver.PollFence(h)
}

func (d *delayed) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	if kind == gpu.ObjectFence {
		delete(d.left, h)
	}
	d.Driver.Delete(kind, h)
}
