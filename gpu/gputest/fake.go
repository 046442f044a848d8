package gputest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Fake is a gpu.Driver whose GPU is Go memory. Commands take effect as late as
// a real GPU may take them: in order, when a fence behind them is seen
// signalled, or at a call that waits. It records each call, follows a script
// for fences and failures, and notes misuse as faults.
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
			Limits: gpu.Limits{
				MaxTextureSize: 16384, MaxTextureLayers: 2048, MaxTextureBufferTexels: 1 << 27,
				MaxStorageBlockBytes: 1 << 27, MaxUniformBlockBytes: 1 << 16,
				MaxComputeGroups: [3]int{65535, 65535, 65535}, MaxComputeInvocations: 1024, MaxStorageBindings: 16,
			},
		},
	}
}

// Open is the fake's gpu.Opener.
func (f *Fake) Open() (*gpu.Context, error) {
	return &gpu.Context{Driver: f, Close: func() error { return nil }}, nil
}

// Start runs a gpu.Thread on the fake. When the test ends it closes the thread
// and fails the test for each object that was not closed, each fault and each
// failure of the script that never came to pass.
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

// Faults returns what was done wrong so far: writes to held sources, copies of
// shader output without the barrier they need, handles used after deletion,
// and failures asked for that have not happened.
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

// Bytes returns a copy of what the newest buffer or texture (its level 0) of
// the given label holds now, nil if there is none.
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
