//go:build cgo

package kernels

/*
#cgo CFLAGS: -std=c11 -O3 -Wall -Wextra -Wno-unknown-pragmas -Wno-psabi
#cgo LDFLAGS: -lpthread -lm
#include <stdlib.h>
#include "device.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Errors of kernels; callers test them with errors.Is.
var (
	// ErrISA: this CPU or this build has no instruction set of that name.
	ErrISA = errors.New("instruction set is not there")
	// ErrNoKernel: no kernel has that name.
	ErrNoKernel = errors.New("no kernel")
	// ErrMemory: the system gave no memory, or no thread.
	ErrMemory = errors.New("the system has no more memory")
)

// ISAs returns the names of the instruction sets that this build and this CPU have, the widest
// first: "avx512", "avx2", "sse2"; on arm64 "neon".
func ISAs() []string {
	var names []string
	for i := C.int(0); ; i++ {
		isa := C.hd_isa_at(i)
		if isa == nil {
			return names
		}
		names = append(names, C.GoString(isa.name))
	}
}

// Pool is the device's threads and the instruction set of their kernels. One goroutine uses it
// at a time.
type Pool struct {
	pool    *C.hd_pool
	isa     *C.hd_isa
	threads int
}

// Open starts threads for an instruction set of ISAs; 0 threads are as many as the Go program runs
// at once. An error wraps ErrISA or ErrMemory.
func Open(isa string, threads int) (*Pool, error) {
	if threads < 0 {
		return nil, fmt.Errorf("%d threads: take 1 or more, or 0 for one each core", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads}
	for i, name := range ISAs() {
		if isa == name {
			p.isa = C.hd_isa_at(C.int(i))
			break
		}
	}
	if p.isa == nil {
		return nil, fmt.Errorf("%w: %q, here are %s", ErrISA, isa, strings.Join(ISAs(), ", "))
	}
	if p.pool = C.hd_pool_new(C.int32_t(threads)); p.pool == nil {
		return nil, fmt.Errorf("start %d threads: %w", threads, ErrMemory)
	}
	return p, nil
}

// Close ends the threads. Programs are to be closed before.
func (p *Pool) Close() { C.hd_pool_free(p.pool) }

// ISA returns the name of the instruction set.
func (p *Pool) ISA() string { return C.GoString(p.isa.name) }

// Threads returns how many threads there are.
func (p *Pool) Threads() int { return p.threads }

// Memory is what a buffer or a texture holds: C's, zero at first.
type Memory struct{ memory *C.hd_memory }

// NewMemory makes memory. An error wraps ErrMemory.
func NewMemory(size int) (*Memory, error) {
	m := C.hd_memory_new(C.size_t(size))
	if m == nil {
		return nil, fmt.Errorf("take %d bytes: %w", size, ErrMemory)
	}
	return &Memory{m}, nil
}

// Bytes returns the memory, valid until Close. Call Wrote after writing to it.
func (m *Memory) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m.memory.bytes)), int(m.memory.size))
}

// Wrote says that size bytes from offset on were written, so that kernels make again what they
// keep of them. It must not run at the same time as Pool.Run.
func (m *Memory) Wrote(offset, size int) {
	C.hd_touch(m.memory, C.size_t(offset), C.size_t(offset+size))
}

// Close frees the memory.
func (m *Memory) Close() { C.hd_memory_free(m.memory) }

// Shape describes a texture by the numbers of package gpu. Of a view of a buffer, Width counts
// texels.
type Shape struct {
	Kind, Format, Width, Height, Layers, Levels, Filter, Wrap int
	Compare                                                   bool
	// Offsets are the levels' places in the memory: a level has its layers one after another,
	// each row by row, without gaps.
	Offsets []int
}

// Texture is a description that kernels read beside the memory.
type Texture struct{ texture *C.hd_texture }

// NewTexture describes memory, which must outlive it. An error wraps ErrMemory.
func NewTexture(m *Memory, s Shape) (*Texture, error) {
	t := (*C.hd_texture)(C.calloc(1, C.sizeof_hd_texture))
	if t == nil {
		return nil, fmt.Errorf("describe a texture: %w", ErrMemory)
	}
	t.kind, t.format, t.filter, t.wrap = C.int32_t(s.Kind), C.int32_t(s.Format), C.int32_t(s.Filter), C.int32_t(s.Wrap)
	t.width, t.height, t.layers, t.levels = C.int32_t(s.Width), C.int32_t(s.Height), C.int32_t(s.Layers), C.int32_t(s.Levels)
	if s.Compare {
		t.compare = 1
	}
	for i, offset := range s.Offsets {
		t.level[i] = C.size_t(offset)
	}
	t.memory = m.memory
	return &Texture{t}, nil
}

// Close frees the description alone.
func (t *Texture) Close() { C.free(unsafe.Pointer(t.texture)) }

// Program is a kernel with its constants.
type Program struct{ program *C.hd_program }

// NewProgram finds the kernel of an entry of the shaders' catalogue. Constants that the kernel
// doesn't know must be 0. An error wraps ErrNoKernel or ErrMemory.
func (p *Pool) NewProgram(entry string, constants map[string]int) (*Program, error) {
	name := C.CString(entry)
	defer C.free(unsafe.Pointer(name))
	kernel := C.hd_find(p.isa, name)
	if kernel == nil {
		return nil, fmt.Errorf("%w of %q", ErrNoKernel, entry)
	}
	known := map[string]int{}
	for i, name := range kernel.constants {
		if name != nil {
			known[C.GoString(name)] = i
		}
	}
	program := (*C.hd_program)(C.calloc(1, C.sizeof_hd_program))
	if program == nil {
		return nil, fmt.Errorf("make a program: %w", ErrMemory)
	}
	program.kernel = kernel
	for name, value := range constants {
		i, ok := known[name]
		if !ok && value != 0 {
			C.free(unsafe.Pointer(program))
			return nil, fmt.Errorf("%w of %q with %s %d", ErrNoKernel, entry, name, value)
		}
		if ok {
			program.constants[i] = C.int32_t(value)
		}
	}
	return &Program{program}, nil
}

// Deferred reports whether draws of the program wait for a dispatch that Takes them.
func (p *Program) Deferred() bool { return p.program.kernel.flags&C.HD_DEFERRED != 0 }

// Takes reports whether a dispatch of the program takes the draws that wait.
func (p *Program) Takes() bool { return p.program.kernel.flags&C.HD_TAKES != 0 }

// Close ends what the kernel keeps. It must not run at the same time as Pool.Run.
func (p *Program) Close() {
	C.hd_program_end(p.program)
	C.free(unsafe.Pointer(p.program))
}

// Work is a dispatch, a draw or a clear, in C's memory. It can be filled again after Reset.
type Work struct {
	work  *C.hd_work
	calls int // room for
	draws int // room for
}

// NewWork makes an empty work. An error wraps ErrMemory.
func NewWork() (*Work, error) {
	w := (*C.hd_work)(C.calloc(1, C.sizeof_hd_work))
	if w == nil {
		return nil, fmt.Errorf("make a command: %w", ErrMemory)
	}
	return &Work{work: w}, nil
}

// Reset empties the work.
func (w *Work) Reset() {
	calls, draws := w.work.calls, w.work.draws
	*w.work = C.hd_work{calls: calls, draws: draws}
}

// Close frees the work.
func (w *Work) Close() {
	C.free(unsafe.Pointer(w.work.calls))
	C.free(unsafe.Pointer(w.work.draws))
	C.free(unsafe.Pointer(w.work))
}

// The numbers of slots that a dispatch or a draw has.
const (
	UniformSlots = C.HD_UNIFORMS
	StorageSlots = C.HD_STORAGES
	SamplerSlots = C.HD_SAMPLERS
	ImageSlots   = C.HD_IMAGES
)

// ErrSlot says that a slot is beyond those that the device has.
var ErrSlot = errors.New("no such slot on the host device")

// Dispatch makes the work a dispatch of a program.
func (w *Work) Dispatch(p *Program, groups [3]int) {
	w.work.program, w.work.own = p.program, p.program
	for i, n := range groups {
		w.work.groups[i] = C.uint32_t(n)
	}
}

// Uniform binds bytes of a memory to a uniform block.
func (w *Work) Uniform(slot int, m *Memory, offset, size int) error {
	return bind(w.work.uniform[:], slot, m, offset, size)
}

// Storage binds bytes of a memory to a storage block.
func (w *Work) Storage(slot int, m *Memory, offset, size int) error {
	return bind(w.work.storage[:], slot, m, offset, size)
}

func bind(ranges []C.hd_range, slot int, m *Memory, offset, size int) error {
	if slot < 0 || slot >= len(ranges) {
		return fmt.Errorf("%w: block %d", ErrSlot, slot)
	}
	ranges[slot] = C.hd_range{
		bytes: (*C.uint8_t)(unsafe.Add(unsafe.Pointer(m.memory.bytes), offset)), size: C.size_t(size), memory: m.memory,
	}
	return nil
}

// Sampler binds a texture to a sampler.
func (w *Work) Sampler(slot int, t *Texture) error {
	if slot < 0 || slot >= len(w.work.sampler) {
		return fmt.Errorf("%w: sampler %d", ErrSlot, slot)
	}
	w.work.sampler[slot] = t.texture
	return nil
}

// Image binds a level of a texture to an image, which is written unless it is for reading alone.
func (w *Work) Image(slot int, t *Texture, level int, written bool) error {
	if slot < 0 || slot >= len(w.work.image) {
		return fmt.Errorf("%w: image %d", ErrSlot, slot)
	}
	image := &w.work.image[slot]
	image.texture, image.level = t.texture, C.int32_t(level)
	if written {
		image.written = 1
	}
	return nil
}

// Colors is how many colours a Target may have.
const Colors = C.HD_COLORS

// Target is what a draw or a clear writes. Depth is nil for none.
type Target struct {
	Color                []*Texture
	Depth                *Texture
	Layer, Width, Height int
	Reversed             bool
}

// Clear makes the work a clear of a target, each colour to its bits.
func (w *Work) Clear(t *Target, colors [][4]uint32) {
	w.target(t)
	for i, bits := range colors {
		for k, word := range bits {
			w.work.clear[i][k] = C.uint32_t(word)
		}
	}
}

// Call is one draw of a Draw, as gpu.DrawCall.
type Call struct{ First, Count, Instances, Index int }

// Draw makes the work a draw of a program into a target. An error wraps ErrMemory.
func (w *Work) Draw(p *Program, t *Target, calls []Call) error {
	w.work.program, w.work.own = p.program, p.program
	w.target(t)
	if len(calls) > w.calls {
		room := (*C.hd_call)(C.realloc(unsafe.Pointer(w.work.calls), C.size_t(len(calls))*C.sizeof_hd_call))
		if room == nil {
			return fmt.Errorf("list %d draw calls: %w", len(calls), ErrMemory)
		}
		w.work.calls, w.calls = room, len(calls)
	}
	list := unsafe.Slice(w.work.calls, len(calls))
	for i, c := range calls {
		list[i] = C.hd_call{first: C.int32_t(c.First), count: C.int32_t(c.Count), instances: C.int32_t(c.Instances), index: C.int32_t(c.Index)}
	}
	w.work.call_count = C.uint32_t(len(calls))
	return nil
}

// Raster says where and how a draw's triangles become pixels; fields as in gpu.Draw.
func (w *Work) Raster(viewport [4]int, cullBack bool, bias [2]float32) {
	for i, v := range viewport {
		w.work.viewport[i] = C.int32_t(v)
	}
	if cullBack {
		w.work.cull_back = 1
	}
	w.work.bias = [2]C.float{C.float(bias[0]), C.float(bias[1])}
}

func (w *Work) target(t *Target) {
	to := &w.work.target
	for i, color := range t.Color {
		to.color[i] = color.texture
	}
	if t.Depth != nil {
		to.depth = t.Depth.texture
	}
	to.colors, to.layer, to.width, to.height = C.int32_t(len(t.Color)), C.int32_t(t.Layer), C.int32_t(t.Width), C.int32_t(t.Height)
	if t.Reversed {
		to.reversed = 1
	}
}

// Take gives a dispatch the clears and draws that waited for it. An error wraps ErrMemory.
func (w *Work) Take(draws []*Work) error {
	if len(draws) > w.draws {
		room := (**C.hd_work)(C.realloc(unsafe.Pointer(w.work.draws), C.size_t(len(draws))*C.size_t(unsafe.Sizeof(w.work))))
		if room == nil {
			return fmt.Errorf("list %d draws: %w", len(draws), ErrMemory)
		}
		w.work.draws, w.draws = room, len(draws)
	}
	for i, d := range draws {
		unsafe.Slice(w.work.draws, len(draws))[i] = d.work
	}
	w.work.draw_count = C.uint32_t(len(draws))
	return nil
}

// Run does a work and returns when it is done. An error says why it isn't.
func (p *Pool) Run(w *Work) error {
	if C.hd_run(p.pool, w.work) != 0 {
		return nil
	}
	return errors.New(C.GoString(&w.work.error[0]))
}
