//go:build cgo

package glcore

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

// Loader finds a GL function by name: eglGetProcAddress.
type Loader func(name string) unsafe.Pointer

// Options describe the context to New.
type Options struct {
	Device string // becomes gpu.Info.Device
	Debug  bool   // the context was made with the debug flag: turn on KHR_debug
}

// Driver is a gpu.Driver on the OpenGL context that is current on the calling
// thread. All methods must be called on that thread.
type Driver struct {
	info     gpu.Info
	vao      uint32 // without attributes: core profile draws need one
	fences   fences
	fbos     map[gpu.Handle]framebuffer
	perDraw  map[gpu.Handle]bool // program has an int uniform at location 0
	messages messages
	debug    bool
	state    state
	// answer is where GL writes a query's result: a local variable would be
	// allocated for every call.
	answer struct {
		available int32
		ns        int64
	}
}

var _ gpu.Driver = (*Driver)(nil)

var load struct {
	sync.Mutex
	done bool
}

// loadFunctions fills the table of functions, once a process.
func loadFunctions(loader Loader) error {
	load.Lock()
	defer load.Unlock()
	if load.done {
		return nil
	}
	if err := gl.Load(loader); err != nil {
		return &gpu.UnsupportedError{
			Feature: "OpenGL 4.5 core",
			Need:    "a driver that has it (Mesa 18 or newer, any vendor driver since 2015)",
			Err:     fmt.Errorf("load function %w", err),
		}
	}
	load.done = true
	return nil
}

// New makes a driver on the context that is current on the calling thread. It
// fails with a *gpu.UnsupportedError if that is not OpenGL 4.5 or newer.
func New(loader Loader, opts Options) (*Driver, error) {
	if err := loadFunctions(loader); err != nil {
		return nil, err
	}
	d := &Driver{
		fbos:    make(map[gpu.Handle]framebuffer),
		perDraw: make(map[gpu.Handle]bool),
		debug:   opts.Debug,
	}
	if err := d.readInfo(opts); err != nil {
		return nil, err
	}
	if opts.Debug {
		enableDebugOutput()
	}
	gl.CreateVertexArrays(1, &d.vao)
	gl.BindVertexArray(d.vao)
	gl.PixelStorei(gl.PACK_ALIGNMENT, 1)
	gl.PixelStorei(gl.UNPACK_ALIGNMENT, 1)
	gl.DepthFunc(gl.LESS)
	gl.CullFace(gl.BACK)
	if err := drainErrors(); err != nil {
		return nil, fmt.Errorf("set up opengl: %w", err)
	}
	return d, nil
}

// Info implements gpu.Driver.
func (d *Driver) Info() gpu.Info { return d.info }

// AddMissing adds a line to gpu.Info.Missing: what the opener could not get.
func (d *Driver) AddMissing(line string) { d.info.Missing = append(d.info.Missing, line) }

// Flush implements gpu.Driver.
func (d *Driver) Flush() error {
	gl.Flush()
	return nil
}

// Finish implements gpu.Driver.
func (d *Driver) Finish() error {
	gl.Finish()
	return nil
}

// Delete implements gpu.Driver.
func (d *Driver) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	if kind == gpu.ObjectFence {
		d.fences.delete(h)
		return
	}
	name := uint32(h) // allocated, since GL is given its address
	switch kind {
	case gpu.ObjectBuffer:
		gl.DeleteBuffers(1, &name) // also unmaps
	case gpu.ObjectTexture:
		gl.DeleteTextures(1, &name)
	case gpu.ObjectProgram:
		delete(d.perDraw, h)
		d.state.forgetProgram(name)
		gl.DeleteProgram(name)
	case gpu.ObjectFramebuffer:
		delete(d.fbos, h)
		d.state.forgetFramebuffer(name)
		gl.DeleteFramebuffers(1, &name)
	case gpu.ObjectQuery:
		gl.DeleteQueries(1, &name)
	}
}
