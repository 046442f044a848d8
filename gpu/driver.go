package gpu

import "time"

// Handle is a driver's own name for an object; 0 is none.
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
	GenerateMipmaps(h Handle) error
	// ReadTexture waits for the GPU: tests and benchmarks only.
	ReadTexture(h Handle, level int, format Format, dst []byte) error
	CopyTextureToBuffer(src Handle, level int, format Format, dst Handle, dstOffset, size int) error

	CreateProgram(ProgramDesc) (Handle, error)
	CreateFramebuffer(FramebufferDesc, []Handle, Handle) (Handle, error)
	ClearFramebuffer(h Handle, attachments int, colors []ClearColor, depth bool) error

	Dispatch(program Handle, bind []BoundResource, groups [3]int) error
	Draw(program, framebuffer Handle, bind []BoundResource, draw *Draw) error
	Barrier(BarrierBits) error

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
