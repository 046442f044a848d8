//go:build cgo

// Package glcore is the gpu.Driver on OpenGL 4.5 core. It uses direct state
// access throughout (ARB_direct_state_access, core since 4.5), so that no
// binding point is part of an object's state.
//
// OpenGL's functions are those of github.com/go-gl/gl, one table a process. It
// is filled from the first context's loader and serves every later context. With
// libglvnd the functions dispatch by the calling thread's current context;
// without it one vendor's library provides all contexts.
package glcore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

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
	programs map[gpu.Handle]program
	messages messages
	debug    bool
	state    state
	zink     zink
	// answer is where GL writes a query's result: a local variable would be
	// allocated for every call.
	answer struct {
		available int32
		ns        int64
	}
}

var _ gpu.Driver = (*Driver)(nil)

// New makes a driver on the context that is current on the calling thread. It
// fails with a *gpu.UnsupportedError if that is not OpenGL 4.5 or newer.
func New(loader Loader, opts Options) (*Driver, error) {
	if err := Load(loader); err != nil {
		return nil, err
	}
	d := &Driver{
		fbos:     make(map[gpu.Handle]framebuffer),
		programs: make(map[gpu.Handle]program),
		debug:    opts.Debug,
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
	d.zink.find(d.info.Renderer)
	if err := drainErrors(); err != nil {
		return nil, fmt.Errorf("set up opengl: %w", err)
	}
	return d, nil
}

// Info implements gpu.Driver.
func (d *Driver) Info() gpu.Info { return d.info }

// AddMissing adds a line to gpu.Info.Missing: what the opener could not get.
func (d *Driver) AddMissing(line string) { d.info.Missing = append(d.info.Missing, line) }

// PassOver adds a GPU to gpu.Info.PassedOver: err says why it can't be used.
func (d *Driver) PassOver(err error) { d.info.PassedOver = append(d.info.PassedOver, err.Error()) }

// Flush implements gpu.Driver.
func (d *Driver) Flush() error {
	gl.Flush()
	return nil
}

// Finish implements gpu.Driver.
func (d *Driver) Finish() error {
	d.zink.settle()
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
		delete(d.programs, h)
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

func (d *Driver) readInfo(opts Options) error {
	d.info = gpu.Info{
		Vendor: getString(gl.VENDOR), Renderer: getString(gl.RENDERER),
		Version: getString(gl.VERSION), GLSL: getString(gl.SHADING_LANGUAGE_VERSION),
		Device: opts.Device,
	}
	major, minor := getInt(gl.MAJOR_VERSION), getInt(gl.MINOR_VERSION)
	if major*10+minor < 45 {
		return TooOld(d.info.Version, d.info.Renderer)
	}
	d.info.Software = softwareRenderer(d.info.Renderer)
	d.info.Limits = limits()
	var bits int32
	gl.GetQueryiv(gl.TIMESTAMP, gl.QUERY_COUNTER_BITS, &bits)
	d.info.TimestampBits = int(bits)
	d.info.Missing = append(d.info.Missing, missing(&d.info, getInt(gl.RESET_NOTIFICATION_STRATEGY))...)
	return nil
}

// limits asks the context for its limits. Where OpenGL has one for each stage, it is the lowest of
// the stages that use what it limits.
func limits() gpu.Limits {
	least := func(names ...uint32) int {
		n := getInt(names[0])
		for _, name := range names[1:] {
			n = min(n, getInt(name))
		}
		return n
	}
	l := gpu.Limits{
		MaxTextureSize:         getInt(gl.MAX_TEXTURE_SIZE),
		MaxTextureLayers:       getInt(gl.MAX_ARRAY_TEXTURE_LAYERS),
		MaxTextureBufferTexels: getInt(gl.MAX_TEXTURE_BUFFER_SIZE),
		MaxUniformBlockBytes:   getInt(gl.MAX_UNIFORM_BLOCK_SIZE),
		MaxStorageBlockBytes:   getInt(gl.MAX_SHADER_STORAGE_BLOCK_SIZE),
		MaxSamplers:            least(gl.MAX_COMPUTE_TEXTURE_IMAGE_UNITS, gl.MAX_VERTEX_TEXTURE_IMAGE_UNITS, gl.MAX_TEXTURE_IMAGE_UNITS),
		MaxUniformBlocks:       least(gl.MAX_COMPUTE_UNIFORM_BLOCKS, gl.MAX_VERTEX_UNIFORM_BLOCKS, gl.MAX_FRAGMENT_UNIFORM_BLOCKS),
		MaxStorageBlocks:       least(gl.MAX_COMPUTE_SHADER_STORAGE_BLOCKS, gl.MAX_FRAGMENT_SHADER_STORAGE_BLOCKS),
		MaxImages:              least(gl.MAX_COMPUTE_IMAGE_UNIFORMS, gl.MAX_FRAGMENT_IMAGE_UNIFORMS),
		MaxOutputs:             getInt(gl.MAX_COMBINED_SHADER_OUTPUT_RESOURCES),
		SamplerSlots:           getInt(gl.MAX_COMBINED_TEXTURE_IMAGE_UNITS),
		UniformSlots:           getInt(gl.MAX_UNIFORM_BUFFER_BINDINGS),
		StorageSlots:           getInt(gl.MAX_SHADER_STORAGE_BUFFER_BINDINGS),
		ImageSlots:             getInt(gl.MAX_IMAGE_UNITS),
		UniformAlignment:       getInt(gl.UNIFORM_BUFFER_OFFSET_ALIGNMENT),
		StorageAlignment:       getInt(gl.SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT),
		MaxComputeInvocations:  getInt(gl.MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
		MaxSharedBytes:         getInt(gl.MAX_COMPUTE_SHARED_MEMORY_SIZE),
	}
	for axis := range l.MaxComputeGroups {
		var n [2]int32
		gl.GetIntegeri_v(gl.MAX_COMPUTE_WORK_GROUP_COUNT, uint32(axis), &n[0])
		gl.GetIntegeri_v(gl.MAX_COMPUTE_WORK_GROUP_SIZE, uint32(axis), &n[1])
		l.MaxComputeGroups[axis], l.MaxComputeGroupSize[axis] = int(n[0]), int(n[1])
	}
	return l
}

// TooOld is the error for a driver below OpenGL 4.5.
func TooOld(version, renderer string) error {
	return &gpu.UnsupportedError{
		Feature: "OpenGL 4.5 core",
		Need: fmt.Sprintf("the driver %q offers version %q only: install a newer one (Mesa 18 or newer, any vendor driver since 2015) or choose another device",
			renderer, version),
	}
}

// missing lists what a driver lacks, each with what that costs.
func missing(info *gpu.Info, resetStrategy int) []string {
	var list []string
	if info.TimestampBits == 0 {
		list = append(list, "GPU timestamps: captures carry no GPU times")
	}
	if resetStrategy != gl.LOSE_CONTEXT_ON_RESET {
		list = append(list, "reset notification: a GPU reset is noticed by failing commands only")
	}
	want := gpu.Guaranteed()
	if n := info.Limits.MaxTextureBufferTexels; n < want.MaxTextureBufferTexels {
		const texelsOfATriangle = 7 // at most, in any of a scene's tables
		list = append(list, fmt.Sprintf("large texture buffers: %d texels, scenes of more than %d triangles may not fit", n, n/texelsOfATriangle))
	}
	want.MaxTextureBufferTexels = 0
	if below := info.Limits.Below(&want); len(below) > 0 {
		list = append(list, fmt.Sprintf("limits that OpenGL 4.5 guarantees (%s): shaders and sensors may be refused", strings.Join(below, ", ")))
	}
	return list
}

// softwareRenderer knows Mesa's and Google's renderers that compute on the CPU.
func softwareRenderer(renderer string) bool {
	for _, name := range []string{"llvmpipe", "softpipe", "swr", "swrast", "swiftshader", "software"} {
		if strings.Contains(strings.ToLower(renderer), name) {
			return true
		}
	}
	return false
}

func getString(name uint32) string { return gl.GoStr(gl.GetString(name)) }

func getInt(name uint32) int {
	var n int32
	gl.GetIntegerv(name, &n)
	return int(n)
}

// Identify returns the version and renderer of whatever context is current on
// the calling thread, for the error that names a driver below 4.5.
func Identify(loader Loader) (version, renderer string) {
	if Load(loader) != nil {
		return "", ""
	}
	return getString(gl.VERSION), getString(gl.RENDERER)
}

var errorNames = map[uint32]string{
	gl.INVALID_ENUM:                  "GL_INVALID_ENUM",
	gl.INVALID_VALUE:                 "GL_INVALID_VALUE",
	gl.INVALID_OPERATION:             "GL_INVALID_OPERATION",
	gl.INVALID_FRAMEBUFFER_OPERATION: "GL_INVALID_FRAMEBUFFER_OPERATION",
	gl.OUT_OF_MEMORY:                 "GL_OUT_OF_MEMORY",
	gl.CONTEXT_LOST:                  "GL_CONTEXT_LOST",
}

// glError gives a code of glGetError a Go error; nil for GL_NO_ERROR.
func glError(code uint32) error {
	switch name, known := errorNames[code]; {
	case code == gl.NO_ERROR:
		return nil
	case code == gl.CONTEXT_LOST:
		return fmt.Errorf("%w: %s", gpu.ErrContextLost, name)
	case known:
		return errors.New(name)
	default:
		return fmt.Errorf("gl error %#x", code)
	}
}

// drainErrors clears the error flags and returns what was set. There is one
// flag an error at most; a lost context may repeat its own for ever.
func drainErrors() error {
	var errs []error
	for range len(errorNames) {
		err := glError(gl.GetError())
		if err == nil {
			break
		}
		errs = append(errs, err)
		if errors.Is(err, gpu.ErrContextLost) {
			break
		}
	}
	return errors.Join(errs...)
}

// Reset implements gpu.Driver by glGetGraphicsResetStatus.
func (d *Driver) Reset() error {
	switch gl.GetGraphicsResetStatus() {
	case gl.NO_ERROR:
		return nil
	case gl.GUILTY_CONTEXT_RESET:
		return fmt.Errorf("%w: a command of this program reset the GPU", gpu.ErrContextLost)
	case gl.INNOCENT_CONTEXT_RESET:
		return fmt.Errorf("%w: another program reset the GPU", gpu.ErrContextLost)
	default:
		return fmt.Errorf("%w: the GPU was reset", gpu.ErrContextLost)
	}
}

// enableDebugOutput turns on KHR_debug without a callback. Messages wait in the context's log
// until DebugErrors fetches them at the end of an entry, so no driver thread ever calls into
// Go. Chatter is turned off at its source.
func enableDebugOutput() {
	gl.Enable(gl.DEBUG_OUTPUT)
	gl.Enable(gl.DEBUG_OUTPUT_SYNCHRONOUS)
	gl.DebugMessageControl(gl.DONT_CARE, gl.DONT_CARE, gl.DONT_CARE, 0, nil, false)
	for _, kind := range []uint32{
		gl.DEBUG_TYPE_ERROR, gl.DEBUG_TYPE_UNDEFINED_BEHAVIOR,
		gl.DEBUG_TYPE_PERFORMANCE, gl.DEBUG_TYPE_DEPRECATED_BEHAVIOR, gl.DEBUG_TYPE_PORTABILITY,
	} {
		gl.DebugMessageControl(gl.DONT_CARE, kind, gl.DONT_CARE, 0, nil, true)
	}
}

// messages sorts debug output: errors are handed on, each one; of everything
// else a text is kept once with its count. NVIDIA's 131186 ("moved from VIDEO
// memory to HOST memory") comes each frame.
type messages struct {
	errs  []error
	notes map[uint32]*note
}

type note struct {
	text  string
	count int
}

// maxNotes bounds the kinds of notes kept.
const maxNotes = 64

func (m *messages) add(kind, id uint32, text string) {
	if kind == gl.DEBUG_TYPE_ERROR || kind == gl.DEBUG_TYPE_UNDEFINED_BEHAVIOR {
		m.errs = append(m.errs, fmt.Errorf("opengl: %s", text))
		return
	}
	if n := m.notes[id]; n != nil {
		n.count++
		return
	}
	if m.notes == nil {
		m.notes = make(map[uint32]*note)
	}
	if len(m.notes) < maxNotes {
		m.notes[id] = &note{text, 1}
	}
}

func (m *messages) takeErrors() []error {
	errs := m.errs
	m.errs = nil
	return errs
}

func (m *messages) list() []string {
	list := make([]string, 0, len(m.notes))
	for id, n := range m.notes {
		list = append(list, fmt.Sprintf("%s (message %d, %d times)", n.text, id, n.count))
	}
	slices.Sort(list)
	return list
}

// DebugErrors implements gpu.Driver: the log's errors in a debug context, the
// error flags in others.
func (d *Driver) DebugErrors() []error {
	for d.debug && d.fetchMessage() {
	}
	d.keepErrors()
	return d.messages.takeErrors()
}

// keepErrors clears the error flags for what follows. In a debug context each
// but a loss is in the log too; in others they are kept for DebugErrors.
func (d *Driver) keepErrors() {
	if err := drainErrors(); err != nil && (!d.debug || errors.Is(err, gpu.ErrContextLost)) {
		d.messages.errs = append(d.messages.errs, err)
	}
}

// fetchMessage moves the log's oldest message; it returns false if the log is empty.
func (d *Driver) fetchMessage() bool {
	var length int32
	if gl.GetIntegerv(gl.DEBUG_NEXT_LOGGED_MESSAGE_LENGTH, &length); length <= 0 {
		return false
	}
	var source, kind, id, severity uint32
	var written int32
	text := make([]byte, length)
	if gl.GetDebugMessageLog(1, length, &source, &kind, &id, &severity, &written, &text[0]) == 0 {
		return false
	}
	d.messages.add(kind, id, string(text[:max(written-1, 0)]))
	return true
}

// DebugNotes returns what debug output said besides errors, each text once
// with its count.
func (d *Driver) DebugNotes() []string { return d.messages.list() }
