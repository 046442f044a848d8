//go:build cgo

package hostdev

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/kernels"
)

// Options choose the threads and their instructions; the zero value is usable.
type Options struct {
	// ISA is the instruction set, one of ISAs. "" or "auto" is the faster of the two widest. A
	// process measures it once, in 50 ms.
	ISA string
	// Threads is how many there are; 0 means one for each core that Go uses.
	Threads int
	// CacheDir is the folder that keeps what was measured, for later processes; "" for none. It
	// is made when it is needed.
	CacheDir string
}

// ISAs returns the instruction sets that this machine has, the widest first.
func ISAs() []string { return kernels.ISAs() }

// Open returns an opener for gpu.Start. Its error wraps kernels.ErrISA or kernels.ErrMemory.
func Open(o Options) gpu.Opener {
	return func() (*gpu.Context, error) {
		d, err := newDriver(o)
		if err != nil {
			return nil, fmt.Errorf("open the host device: %w", err)
		}
		return &gpu.Context{Driver: d, Close: d.close}, nil
	}
}

func newDriver(o Options) (*Driver, error) {
	if o.ISA == "" || o.ISA == "auto" {
		o.ISA = fastestISA(o.CacheDir)
	}
	pool, err := kernels.Open(o.ISA, o.Threads)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		pool: pool, queue: newQueue(pool),
		buffers: map[gpu.Handle]*buffer{}, textures: map[gpu.Handle]*texture{},
		programs: map[gpu.Handle]*kernels.Program{}, frames: map[gpu.Handle]*framebuffer{},
		queries: map[gpu.Handle]*query{},
	}
	if d.copying, err = pool.NewProgram("memory.copy", nil); err != nil {
		return nil, errors.Join(err, d.close())
	}
	const many = math.MaxInt32
	d.info = gpu.Info{
		Vendor:   "raybridge",
		Renderer: fmt.Sprintf("host device, %s, %s", pool.ISA(), fault.Count(pool.Threads(), "thread")),
		Version:  fmt.Sprintf("%s on %s", runtime.Version(), runtime.GOARCH), GLSL: "none", Device: gpu.HostDevice, HostMemory: true, TimestampBits: 64,
		Limits: gpu.Limits{
			MaxTextureSize: 1 << 15, MaxTextureLayers: many, MaxTextureBufferTexels: many,
			MaxUniformBlockBytes: math.MaxInt, MaxStorageBlockBytes: math.MaxInt,
			MaxSamplers: kernels.SamplerSlots, MaxUniformBlocks: kernels.UniformSlots, MaxStorageBlocks: kernels.StorageSlots,
			MaxImages: kernels.ImageSlots, MaxOutputs: many,
			SamplerSlots: kernels.SamplerSlots, UniformSlots: kernels.UniformSlots, StorageSlots: kernels.StorageSlots, ImageSlots: kernels.ImageSlots,
			UniformAlignment: 1, StorageAlignment: 1,
			MaxComputeGroups: [3]int{many, many, many}, MaxComputeGroupSize: [3]int{many, many, many}, MaxComputeInvocations: many, MaxSharedBytes: many,
		},
	}
	return d, nil
}
