// Package gpu is the contract between raybridge and OpenGL 4.5 core. It has one thread that
// owns the context, and a token for being on it. It has the objects and commands that sensors
// and the readback pool need. It has no cgo; gpu/glcore implements the Driver on a real
// context, gpu/gputest on scripts.
//
// # The GL thread
//
// OpenGL contexts belong to an OS thread. A Thread has one (law G1), and
// Thread.Do, which waits, and Thread.Go, which never does, are the only doors
// to it. A function that came through gets a *Ctx, which works until the
// function returns. A hop costs tens of microseconds: a frame loop makes one a
// tick (law G2). All that a hop issues is one submission to the GPU, if it places
// a fence: the thread flushes when the function returns or polls that fence.
//
// Functions on the GL thread issue commands and return; they don't wait, and no callback of a
// user runs there (law G4). They report with errors. A panic or a runtime.Goexit (a test's
// FailNow) comes back as an error too, and the thread continues.
//
// # Objects
//
// What a Ctx makes is used with a Ctx, but closed from any goroutine: Close queues the deletion
// (law G3). A command with a closed object fails with ErrObjectClosed, one out of range with an
// error that names the object. An error that only the driver notices fails the function that
// caused it (law G5).
//
// # A lost context
//
// Once a driver resets or a device goes away, each Ctx fails with ErrContextLost, fences fail,
// and Thread.Lost is closed. Functions still run, so that callers who wait for their work learn
// of it. There is no way back: the owner closes the Thread.
package gpu

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"
)

// Handle is a driver's own name for an object; 0 names nothing.
type Handle uint64

// ObjectKind is the kind of a Handle.
type ObjectKind uint8

// The kinds of objects.
const (
	ObjectBuffer ObjectKind = iota + 1
	ObjectTexture
	ObjectProgram
	ObjectFramebuffer
	ObjectFence
	ObjectQuery
)

// FenceStatus is the answer of a poll.
type FenceStatus uint8

const (
	// FencePending says that the GPU has not reached the fence.
	FencePending FenceStatus = iota
	// FenceSignaled says that everything before the fence has finished.
	FenceSignaled
	// FenceFailed says that the driver cannot tell any more; the commands' results are lost.
	FenceFailed
)

// Driver is the OpenGL 4.5 core subset that raybridge uses, one method a GL
// operation. gpu/glcore implements it on a real context, gpu/gputest on
// scripts. Every method is called on the GL thread only, through a Ctx; nobody
// else calls a Driver.
type Driver interface {
	Info() Info
	// Reset reports a lost context as an error that wraps ErrContextLost.
	Reset() error
	// DebugErrors returns and clears the errors that debug output has
	// collected since the last call (law G5).
	DebugErrors() []error

	CreateBuffer(BufferDesc) (Handle, error)
	// MapBuffer returns a UsageReadback buffer's memory, valid until the buffer is deleted.
	MapBuffer(h Handle, size int) ([]byte, error)
	WriteBuffer(h Handle, offset int, data []byte) error
	ReadBuffer(h Handle, offset int, dst []byte) error
	CopyBuffer(dst, src Handle, dstOffset, srcOffset, size int) error

	CreateTexture(desc TextureDesc, buffer Handle) (Handle, error)
	WriteTexture(h Handle, desc *TextureDesc, region TextureRegion, data []byte) error
	// ReadTexture waits for the GPU: tests and benchmarks only.
	ReadTexture(h Handle, level int, format Format, dst []byte) error
	CopyTextureToBuffer(src Handle, level int, format Format, dst Handle, dstOffset, size int) error

	CreateProgram(ProgramDesc) (Handle, error)
	CreateFramebuffer(FramebufferDesc, []Handle, Handle) (Handle, error)
	ClearFramebuffer(h Handle, attachments int, colors []ClearColor, depth bool) error

	Dispatch(program Handle, bind []BoundResource, groups [3]int) error
	Draw(program, framebuffer Handle, bind []BoundResource, draw *Draw) error
	Barrier(BarrierBits) error

	// CreateFence marks the commands issued so far. PollFence is asked after a Flush behind them.
	CreateFence() (Handle, error)
	PollFence(Handle) FenceStatus
	Flush() error
	Finish() error

	// CreateQuery makes a timestamp query; Timestamp records the GPU's time
	// into it when the GPU gets there; QueryResult is not ready until then.
	CreateQuery() (Handle, error)
	Timestamp(Handle) error
	QueryResult(Handle) (ns int64, ready bool, err error)
	// Clock samples the GPU's and the host's monotonic clock together.
	Clock() (gpuNs int64, host time.Time, err error)

	Delete(kind ObjectKind, h Handle)
}

// TextureRegion is the part of a texture that an upload replaces; the zero
// value of Width and Height means the whole level.
type TextureRegion struct {
	Level, Layer        int
	X, Y, Width, Height int
}

// BoundResource is a Binding with its object resolved to the driver's handle.
type BoundResource struct {
	Kind    BindingKind
	Slot    int
	Handle  Handle
	Texture TextureKind
	Format  Format
	Offset  int
	Size    int
	Level   int
	Access  Access
}

// SourceHolder is a Driver that reports writes to sources which a later copy
// still needs; see Ctx.Hold.
type SourceHolder interface {
	HoldSource(kind ObjectKind, h Handle)
	UnholdSource(kind ObjectKind, h Handle)
}

// Binding attaches one resource to a slot of a program, as its GLSL
// layout(binding = Slot) says. Exactly one of Buffer and Texture is set.
type Binding struct {
	Kind    BindingKind
	Slot    int
	Buffer  *Buffer
	Offset  int // bytes, of a buffer range
	Size    int // bytes; 0 means to the end
	Texture *Texture
	Level   int    // of an image binding
	Access  Access // of an image binding; a storage block always counts as written
}

// BindingKind is the GLSL interface that a Binding feeds.
type BindingKind uint8

// The interfaces, with the GLSL that declares them.
const (
	BindUniform BindingKind = iota + 1 // uniform block (std140)
	BindStorage                        // buffer block (std430)
	BindSampler                        // sampler2D, sampler2DArray, samplerBuffer, ...
	BindImage                          // image2D, ...
)

// ProgramDesc is the source of a program: either Compute alone, or Vertex and
// Fragment. The sources are complete GLSL with #version, includes resolved.
//
// Entry and Constants say the same to a driver without a compiler. Entry is the name in package
// shaders' catalogue, "" for a source that is not from there. Constants are the values of its
// constants, by their names.
type ProgramDesc struct {
	Label     string
	Compute   string
	Vertex    string
	Fragment  string
	Entry     string
	Constants map[string]string
}

// Dispatch is one compute dispatch. The slice of bindings is read during the
// call only; callers reuse it.
type Dispatch struct {
	Program *Program
	Bind    []Binding
	Groups  [3]int // work groups; each at least 1
}

// DrawCall is one draw of a Draw: Count vertices from First, Instances times. gl_BaseInstance
// is not available in GL 4.5 core shaders. So per-draw data goes through a uniform block that
// is indexed by Index, which the vertex shader reads as the uniform int at location 0.
type DrawCall struct {
	First, Count int
	Instances    int // 0 means 1
	Index        int
}

// Draw renders triangles without vertex attributes: the vertex shader fetches
// what it needs by gl_VertexID from texel buffers. Depth writes are on; the
// depth test is LESS, or GREATER in a framebuffer of reversed depth.
type Draw struct {
	Program     *Program
	Framebuffer *Framebuffer
	Bind        []Binding
	Viewport    [4]int // x, y, width, height; zero value: the whole framebuffer
	Calls       []DrawCall
	CullBack    bool
	DepthBias   [2]float32 // slope factor and constant units (glPolygonOffset); zero is off
}

// FramebufferDesc lists the attachments of a framebuffer.
type FramebufferDesc struct {
	Label string
	Color []*Texture
	Depth *Texture // (optional)
	Layer int      // of array textures
	// ReversedDepth makes depth run from 1 at the near plane to 0 at the far one. Clip space
	// has z from 0 to w, Clear sets 0, and Draw keeps what is greater. With FormatDepth32F it
	// is as fine far away as float32 is, where the usual direction is some centimetres coarse
	// at 100 m.
	ReversedDepth bool
}

// ClearColor is what Clear writes into a colour attachment; which fields count
// follows from the attachment's format.
type ClearColor struct {
	Float [4]float32
	Uint  [4]uint32
}

// Format is the storage format of a texture or the layout of its pixels in a
// buffer; the names are OpenGL's sized internal formats.
type Format uint8

// Formats that raybridge uses. Every one can be a texture; those marked
// "texel buffer" can also view a Buffer as a samplerBuffer or usamplerBuffer.
const (
	FormatNone     Format = iota
	FormatR8              // 1 byte, normalised
	FormatRGBA8           // 4 bytes, normalised, linear; texel buffer
	FormatR32F            // 4 bytes; texel buffer
	FormatRG32F           // 8 bytes; texel buffer
	FormatRGBA16F         // 8 bytes
	FormatRGBA32F         // 16 bytes; texel buffer
	FormatR32UI           // 4 bytes; texel buffer
	FormatRG32UI          // 8 bytes; texel buffer
	FormatRGBA32UI        // 16 bytes; texel buffer
	FormatDepth32F        // 4 bytes, depth attachment
)

// PixelBytes returns the size of one pixel of format f in bytes.
func (f Format) PixelBytes() int {
	switch f {
	case FormatR8:
		return 1
	case FormatRGBA8, FormatR32F, FormatR32UI, FormatDepth32F:
		return 4
	case FormatRG32F, FormatRGBA16F, FormatRG32UI:
		return 8
	case FormatRGBA32F, FormatRGBA32UI:
		return 16
	default:
		return 0
	}
}

// BufferUsage says who touches a buffer's memory and how.
type BufferUsage uint8

const (
	// UsageDevice buffers live in device memory; the host writes them with
	// WriteBuffer only.
	UsageDevice BufferUsage = iota
	// UsageReadback buffers are persistently and coherently mapped for
	// reading in host memory: the destination of copies, and of all commands where
	// Info.HostMemory is true.
	UsageReadback
)

// BufferDesc describes a buffer to be made.
type BufferDesc struct {
	Label string // for debug output and leak reports
	Size  int    // bytes, > 0
	Usage BufferUsage
	Data  []byte // (optional) first contents, at most Size bytes; only read during the call
}

// BytesOf views values as the bytes that the GPU reads and writes. They are the values' own
// memory, in the little-endian order of the machines that raybridge runs on. T must hold no
// pointers, and have the layout that the shader declares.
func BytesOf[T any](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// TextureKind is the dimensionality of a texture.
type TextureKind uint8

// The kinds of textures.
const (
	Texture2D TextureKind = iota
	Texture2DArray
	// TextureBuffer views a Buffer through texelFetch: the fastest way to read
	// large tables on software OpenGL, and free on GPUs.
	TextureBuffer
)

// Filter is how a texture is sampled.
type Filter uint8

// The filters.
const (
	FilterNearest   Filter = iota
	FilterLinear           // bilinear, no mipmaps
	FilterTrilinear        // needs Levels > 1
)

// Wrap is what happens to texture coordinates outside [0, 1].
type Wrap uint8

// The wraps, by OpenGL's names.
const (
	WrapRepeat Wrap = iota
	WrapClampToEdge
	WrapMirroredRepeat
)

// TextureDesc describes a texture to be made.
type TextureDesc struct {
	Label         string
	Kind          TextureKind
	Format        Format
	Width, Height int     // pixels, > 0 (not for TextureBuffer)
	Layers        int     // of a Texture2DArray, else 0
	Levels        int     // mipmap levels; 0 means 1
	Filter        Filter  // minification and magnification
	Wrap          Wrap    // both axes
	Buffer        *Buffer // of a TextureBuffer: what it views, whole
	DepthCompare  bool    // sampled as a shadow map (sampler2DShadow), LEQUAL
}

// bytes is what the texture holds, all levels and layers; 0 of a view of a buffer.
func (d *TextureDesc) bytes() int64 {
	if d.Kind == TextureBuffer {
		return 0
	}
	sum := int64(0)
	for level := range max(d.Levels, 1) {
		sum += int64(max(d.Width>>level, 1)) * int64(max(d.Height>>level, 1))
	}
	return sum * int64(max(d.Layers, 1)) * int64(d.Format.PixelBytes())
}

// Access is how a shader uses an image binding.
type Access uint8

// The accesses.
const (
	ReadOnly Access = iota
	WriteOnly
	ReadWrite
)

// BarrierBits says which later uses must see what shaders wrote before
// (glMemoryBarrier). BarrierFor chooses them for copies.
type BarrierBits uint32

const (
	// BarrierStorage is for later shader storage buffer accesses.
	BarrierStorage BarrierBits = 1 << iota
	// BarrierImage is for later image loads and stores.
	BarrierImage
	// BarrierTextureFetch is for later texture and texel buffer fetches.
	BarrierTextureFetch
	// BarrierBufferUpdate is for later copies of buffers, maps and sub-data calls.
	BarrierBufferUpdate
	// BarrierTextureUpdate is for later glGetTextureImage and texture uploads.
	BarrierTextureUpdate
	// BarrierPixelBuffer is for later pixel transfers into or out of a buffer.
	BarrierPixelBuffer
	// BarrierClientMapped is for later host reads through a persistent map that is not coherent.
	BarrierClientMapped
	// BarrierFramebuffer is for later reads or writes through a framebuffer.
	BarrierFramebuffer
	// BarrierUniform is for later uniform block reads.
	BarrierUniform
	// BarrierCommand is for later indirect draws and dispatches.
	BarrierCommand
)

// BarrierFor returns the barrier between shader writes into a source and the copy of that
// source into a readback buffer (GL 4.5 core, section 7.13.2). This is the one place that
// decides it.
func BarrierFor(source SourceKind) BarrierBits {
	switch source {
	case SourceBuffer:
		return BarrierBufferUpdate
	case SourceTexture:
		return BarrierTextureUpdate | BarrierPixelBuffer | BarrierFramebuffer
	default:
		return 0
	}
}

// SourceKind is what a readback copies from.
type SourceKind uint8

// The kinds of sources.
const (
	SourceBuffer SourceKind = iota + 1
	SourceTexture
)

// Info describes the context that a Thread runs on.
type Info struct {
	Vendor, Renderer, Version, GLSL string
	// Software is true where the driver computes on the CPU (llvmpipe, softpipe).
	Software bool
	// Device names how the context was opened: "EGL device 0", "EGL surfaceless".
	Device string
	Limits Limits
	// HostMemory is true where commands may write mapped buffers, as fast as others: the device's
	// memory is the host's.
	HostMemory bool
	// TimestampBits is the size of the GPU's timestamp counter, 0 where it has none.
	TimestampBits int
	// PassedOver lists the GPUs that were tried before this device, each with why it can't be used.
	PassedOver []string
	// Missing lists what the driver lacks of what raybridge can use, each
	// with what that costs; empty on a complete driver.
	Missing []string
}

// Class is the class of the device, within which equal inputs give equal bytes: host, software, or
// gpu: and the vendor.
func (i *Info) Class() string {
	switch {
	case i.Device == HostDevice:
		return HostDevice
	case i.Software:
		return "software"
	}
	return "gpu:" + strings.ToLower(i.Vendor)
}

// GPU tells whether the device is a GPU, whose compiler may contract a * b + c to one rounding, in
// each program in its own way, and whose invocations share their way through code in hardware.
func (i *Info) GPU() bool { return !i.Software && i.Device != HostDevice }

// HostDevice is the Device of the host device, which computes on the CPU without OpenGL.
const HostDevice = "host"

func (k ObjectKind) String() string {
	return name(int(k), "object", "buffer", "texture", "program", "framebuffer", "fence", "query")
}

func (s FenceStatus) String() string { return name(int(s), "pending", "signaled", "failed") }

func (k BindingKind) String() string {
	return name(int(k), "unknown", "uniform", "storage", "sampler", "image")
}

func (f Format) String() string {
	return name(int(f), "none", "R8", "RGBA8", "R32F", "RG32F", "RGBA16F", "RGBA32F",
		"R32UI", "RG32UI", "RGBA32UI", "DEPTH32F")
}

// String lists the bits as "storage|image".
func (b BarrierBits) String() string {
	var set []string
	for i, bit := range []string{"storage", "image", "texture fetch", "buffer update", "texture update",
		"pixel buffer", "client mapped", "framebuffer", "uniform", "command"} {
		if b&(1<<i) != 0 {
			set = append(set, bit)
		}
	}
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, "|")
}

func name(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d", i)
}

// largestPixel is the size in bytes of the formats' largest pixel.
const largestPixel = 16

// LevelSize returns the size in pixels of one mipmap level.
func (d *TextureDesc) LevelSize(level int) (width, height int) {
	return max(d.Width>>level, 1), max(d.Height>>level, 1)
}

// LevelBytes returns the size in bytes of one mipmap level, all layers of it, as tightly packed
// pixels of format f. It is 0 if there is no such level.
func (d *TextureDesc) LevelBytes(level int, f Format) int {
	if d.Kind == TextureBuffer || level < 0 || level >= max(d.Levels, 1) {
		return 0
	}
	w, h := d.LevelSize(level)
	return w * h * max(d.Layers, 1) * f.PixelBytes()
}

// check reports a description that no driver can make.
func (d *TextureDesc) check() error {
	switch {
	case d.Format.PixelBytes() == 0:
		return fmt.Errorf("unknown format %d", d.Format)
	case d.Kind == TextureBuffer && d.Buffer == nil:
		return errors.New("a texture buffer needs a buffer")
	case d.Kind == TextureBuffer:
		return nil
	case d.Width <= 0 || d.Height <= 0:
		return fmt.Errorf("size %dx%d is out of range", d.Width, d.Height)
	case (d.Kind == Texture2DArray) != (d.Layers > 0):
		return fmt.Errorf("%d layers: an array needs at least 1, others have none", d.Layers)
	case max(d.Width, d.Height)>>(d.Levels-1) == 0:
		return fmt.Errorf("%d mipmap levels are more than %dx%d has", d.Levels, d.Width, d.Height)
	case float64(d.Width)*float64(d.Height)*float64(max(d.Layers, 1))*largestPixel > math.MaxInt/2:
		return fmt.Errorf("%dx%d pixels in %d layers are more than memory has addresses", d.Width, d.Height, max(d.Layers, 1))
	}
	return nil
}

// checkRegion fills in a zero region's size and holds it and the data's length
// against the texture.
func (d *TextureDesc) checkRegion(r *TextureRegion, bytes int) error {
	if d.LevelBytes(r.Level, d.Format) == 0 {
		return fmt.Errorf("no level %d", r.Level)
	}
	w, h := d.LevelSize(r.Level)
	if r.Width == 0 && r.Height == 0 {
		r.Width, r.Height = w-r.X, h-r.Y
	}
	if r.X < 0 || r.Y < 0 || r.Width <= 0 || r.Height <= 0 || !within(r.X, r.Width, w) || !within(r.Y, r.Height, h) ||
		r.Layer < 0 || r.Layer >= max(d.Layers, 1) {
		return fmt.Errorf("region %+v lies outside of %dx%d pixels, %d layers", *r, w, h, max(d.Layers, 1))
	}
	if want := r.Width * r.Height * d.Format.PixelBytes(); bytes != want {
		return fmt.Errorf("%d bytes for %dx%d pixels: need %d", bytes, r.Width, r.Height, want)
	}
	return nil
}
