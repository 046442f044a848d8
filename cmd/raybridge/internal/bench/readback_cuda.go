//go:build cgo && linux

package bench

/*
// Where libdl is a part of libc (glibc since 2.34, musl) this adds no library.
#cgo LDFLAGS: -ldl

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The entry points of the CUDA driver API that a pinned copy takes, with their
// types as in cuda.h, which maps the plain names to these versions.
typedef int CUresult;
typedef unsigned long long CUdeviceptr;

struct cuda {
	CUresult (*init)(unsigned flags);
	CUresult (*errorName)(CUresult, const char **);
	CUresult (*deviceCount)(int *);
	CUresult (*deviceGet)(int *device, int ordinal);
	CUresult (*deviceName)(char *, int size, int device);
	CUresult (*ctxCreate)(void **, unsigned flags, int device);
	CUresult (*ctxDestroy)(void *);
	CUresult (*streamCreate)(void **, unsigned flags);
	CUresult (*streamSynchronize)(void *);
	CUresult (*streamDestroy)(void *);
	CUresult (*memAlloc)(CUdeviceptr *, size_t);
	CUresult (*memFree)(CUdeviceptr);
	CUresult (*memHostAlloc)(void **, size_t, unsigned flags);
	CUresult (*memFreeHost)(void *);
	CUresult (*copyToDevice)(CUdeviceptr, const void *, size_t);
	CUresult (*copyToHost)(void *, CUdeviceptr, size_t, void *stream);
};

// cudaOpen loads the library and returns NULL, or what is wrong with it.
static const char *cudaOpen(struct cuda *c, const char *path) {
	const struct {
		const char *name;
		void *at;
	} entries[] = {
		{"cuInit", &c->init},
		{"cuGetErrorName", &c->errorName},
		{"cuDeviceGetCount", &c->deviceCount},
		{"cuDeviceGet", &c->deviceGet},
		{"cuDeviceGetName", &c->deviceName},
		{"cuCtxCreate_v2", &c->ctxCreate},
		{"cuCtxDestroy_v2", &c->ctxDestroy},
		{"cuStreamCreate", &c->streamCreate},
		{"cuStreamSynchronize", &c->streamSynchronize},
		{"cuStreamDestroy_v2", &c->streamDestroy},
		{"cuMemAlloc_v2", &c->memAlloc},
		{"cuMemFree_v2", &c->memFree},
		{"cuMemHostAlloc", &c->memHostAlloc},
		{"cuMemFreeHost", &c->memFreeHost},
		{"cuMemcpyHtoD_v2", &c->copyToDevice},
		{"cuMemcpyDtoHAsync_v2", &c->copyToHost},
	};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!(*(void **)entries[i].at = dlsym(library, entries[i].name)))
			return dlerror();
	return NULL;
}

static CUresult cudaInit(struct cuda *c) { return c->init(0); }
static CUresult cudaErrorName(struct cuda *c, CUresult r, const char **name) { return c->errorName(r, name); }
static CUresult cudaDeviceCount(struct cuda *c, int *n) { return c->deviceCount(n); }
static CUresult cudaDeviceGet(struct cuda *c, int *device, int ordinal) { return c->deviceGet(device, ordinal); }
static CUresult cudaDeviceName(struct cuda *c, char *name, int size, int device) { return c->deviceName(name, size, device); }
static CUresult cudaCtxCreate(struct cuda *c, void **context, int device) { return c->ctxCreate(context, 0, device); }
static CUresult cudaCtxDestroy(struct cuda *c, void *context) { return c->ctxDestroy(context); }
static CUresult cudaStreamCreate(struct cuda *c, void **stream) { return c->streamCreate(stream, 0); }
static CUresult cudaStreamSynchronize(struct cuda *c, void *stream) { return c->streamSynchronize(stream); }
static CUresult cudaStreamDestroy(struct cuda *c, void *stream) { return c->streamDestroy(stream); }
static CUresult cudaMemAlloc(struct cuda *c, CUdeviceptr *p, size_t n) { return c->memAlloc(p, n); }
static CUresult cudaMemFree(struct cuda *c, CUdeviceptr p) { return c->memFree(p); }
static CUresult cudaMemHostAlloc(struct cuda *c, void **p, size_t n) { return c->memHostAlloc(p, n, 0); }
static CUresult cudaMemFreeHost(struct cuda *c, void *p) { return c->memFreeHost(p); }
static CUresult cudaCopyToDevice(struct cuda *c, CUdeviceptr to, const void *from, size_t n) { return c->copyToDevice(to, from, n); }
static CUresult cudaCopyToHost(struct cuda *c, void *to, CUdeviceptr from, size_t n, void *stream) { return c->copyToHost(to, from, n, stream); }
*/
import "C"

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// cudaLibrary is the CUDA driver's name, which comes with NVIDIA's drivers.
const cudaLibrary = "libcuda.so.1"

// cudaResults measures libcuda's copies from the GPU into pinned memory, one
// result for each size in bytes: what a readback is held against. Where there is no
// libcuda or no device, or a call fails, the results are absent, and the reason goes
// to cfg.Progress. The only errors are ctx's. cfg must have been checked.
func cudaResults(ctx context.Context, cfg *Config, sizes []int) ([]Result, error) {
	return cudaResultsOf(ctx, cfg, cudaLibrary, sizes)
}

// cudaResultsOf is cudaResults with another library.
func cudaResultsOf(ctx context.Context, cfg *Config, library string, sizes []int) (results []Result, err error) {
	// A CUDA context is current on one OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	results, err = measurePinned(ctx, cfg, library, sizes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		fmt.Fprintf(cfg.Progress, "readback: libcuda's copy isn't measured: %v\n", err)
	}
	return results, nil
}

// measurePinned returns the results of the sizes before the one that failed.
func measurePinned(ctx context.Context, cfg *Config, library string, sizes []int) (results []Result, err error) {
	d, err := openCuda(library, cfg.renderer())
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, d.close()) }() // it is closed in any case; the first error counts, since all calls fail after it
	for _, size := range sizes {
		r := Result{
			Name: "cuda.pinned_bytes_per_s", Case: byteSize(size), Unit: "bytes/s",
			Note: fmt.Sprintf("libcuda, device %d, %s; %d pinned buffers", d.ordinal, d.name, cudaBuffers),
		}
		if r.Runs, err = d.measure(ctx, cfg, size); err != nil {
			return results, fmt.Errorf("%s: %w", r.Case, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// renderer names the GPU that sensors run on, "" where there is none.
func (c *Config) renderer() string {
	if c.GL == nil {
		return ""
	}
	return c.GL.Info().Renderer
}

// cudaError names the call that failed.
type cudaError struct {
	call   string
	result int    // the CUresult
	name   string // its name in cuda.h, "" where libcuda has none
}

func (e *cudaError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s returned CUresult %d %s", e.call, e.result, e.name))
}

// errNoCuda says that there is nothing to measure.
var errNoCuda = errors.New("no CUDA device")

// cudaNoDevice is CUDA_ERROR_NO_DEVICE.
const cudaNoDevice = 100

// cudaDevice is a device with a context. It belongs to one goroutine on a locked
// thread. What it uses is in C's memory, which libcuda may keep pointers into.
type cudaDevice struct {
	api     *C.struct_cuda
	ordinal int
	name    string
	context unsafe.Pointer
	stream  unsafe.Pointer
}

// openCuda takes the device whose name is in the renderer's, else the first. The
// library stays loaded: threads may hold destructors of it.
func openCuda(library, renderer string) (*cudaDevice, error) {
	d := &cudaDevice{api: (*C.struct_cuda)(C.calloc(1, C.sizeof_struct_cuda))}
	if err := d.open(library, renderer); err != nil {
		return nil, cmp.Or(err, d.close())
	}
	return d, nil
}

func (d *cudaDevice) open(library, renderer string) error {
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	if wrong := C.cudaOpen(d.api, path); wrong != nil {
		return errors.New(C.GoString(wrong))
	}
	result := C.cudaInit(d.api)
	if result == cudaNoDevice {
		return errNoCuda
	}
	if err := d.check("cuInit", result); err != nil {
		return err
	}
	device, err := d.choose(renderer)
	if err != nil {
		return err
	}
	if err := d.check("cuCtxCreate_v2", C.cudaCtxCreate(d.api, &d.context, device)); err != nil {
		d.context = nil
		return err
	}
	if err := d.check("cuStreamCreate", C.cudaStreamCreate(d.api, &d.stream)); err != nil {
		d.stream = nil
		return err
	}
	return nil
}

// choose returns the handle of the device to use.
func (d *cudaDevice) choose(renderer string) (C.int, error) {
	var count C.int
	if err := d.check("cuDeviceGetCount", C.cudaDeviceCount(d.api, &count)); err != nil {
		return 0, err
	}
	if count == 0 {
		return 0, errNoCuda
	}
	var chosen C.int
	for ordinal := range int(count) {
		var device C.int
		if err := d.check("cuDeviceGet", C.cudaDeviceGet(d.api, &device, C.int(ordinal))); err != nil {
			return 0, err
		}
		var name [256]C.char
		if err := d.check("cuDeviceGetName", C.cudaDeviceName(d.api, &name[0], C.int(len(name)-1), device)); err != nil {
			return 0, err
		}
		text := C.GoString(&name[0])
		same := text != "" && strings.Contains(renderer, text)
		if same || ordinal == 0 {
			chosen, d.ordinal, d.name = device, ordinal, text
		}
		if same {
			break
		}
	}
	return chosen, nil
}

// close frees everything. It may be called on a device that was opened in part.
func (d *cudaDevice) close() error {
	var err error
	if d.stream != nil {
		err = d.check("cuStreamDestroy_v2", C.cudaStreamDestroy(d.api, d.stream))
	}
	if d.context != nil {
		err = cmp.Or(err, d.check("cuCtxDestroy_v2", C.cudaCtxDestroy(d.api, d.context)))
	}
	C.free(unsafe.Pointer(d.api))
	return err
}

// check returns a *cudaError for a result that isn't CUDA_SUCCESS.
func (d *cudaDevice) check(call string, result C.CUresult) error {
	if result == 0 {
		return nil
	}
	e := &cudaError{call: call, result: int(result)}
	var name *C.char
	if C.cudaErrorName(d.api, result, &name) == 0 && name != nil {
		e.name = C.GoString(name)
	}
	return e
}

// Copies go round the buffers, and are waited for after each batch, so that the
// copy engine is never idle for long.
const (
	cudaBuffers = 4
	cudaBatch   = 16
)

// pinnedCopy is a source on the GPU and where it goes.
type pinnedCopy struct {
	d      *cudaDevice
	size   int
	source C.CUdeviceptr
	to     [cudaBuffers]unsafe.Pointer
}

// measure returns bytes per second of each run.
func (d *cudaDevice) measure(ctx context.Context, cfg *Config, size int) (rates []float64, err error) {
	p := &pinnedCopy{d: d, size: size}
	defer func() { err = cmp.Or(err, p.free()) }()
	if err := p.allocate(); err != nil {
		return nil, err
	}
	if err := p.verify(); err != nil {
		return nil, err
	}
	for range cfg.Runs {
		copies := 0
		begun := time.Now()
		for copies == 0 || time.Since(begun) < cfg.RunTime/10 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := p.batch(); err != nil {
				return nil, err
			}
			copies += cudaBatch
		}
		rates = append(rates, float64(copies)*float64(size)/time.Since(begun).Seconds())
	}
	return rates, nil
}

func (p *pinnedCopy) allocate() error {
	if err := p.d.check("cuMemAlloc_v2", C.cudaMemAlloc(p.d.api, &p.source, C.size_t(p.size))); err != nil {
		p.source = 0
		return err
	}
	for i := range p.to {
		if err := p.d.check("cuMemHostAlloc", C.cudaMemHostAlloc(p.d.api, &p.to[i], C.size_t(p.size))); err != nil {
			p.to[i] = nil
			return err
		}
	}
	return nil
}

// free waits for copies under way and gives the memory back.
func (p *pinnedCopy) free() error {
	err := p.d.check("cuStreamSynchronize", C.cudaStreamSynchronize(p.d.api, p.d.stream))
	for _, to := range p.to {
		if to != nil {
			err = cmp.Or(err, p.d.check("cuMemFreeHost", C.cudaMemFreeHost(p.d.api, to)))
		}
	}
	if p.source != 0 {
		err = cmp.Or(err, p.d.check("cuMemFree_v2", C.cudaMemFree(p.d.api, p.source)))
	}
	return err
}

// batch copies and waits.
func (p *pinnedCopy) batch() error {
	for i := range cudaBatch {
		err := p.d.check("cuMemcpyDtoHAsync_v2", C.cudaCopyToHost(p.d.api, p.to[i%cudaBuffers], p.source, C.size_t(p.size), p.d.stream))
		if err != nil {
			return err
		}
	}
	return p.d.check("cuStreamSynchronize", C.cudaStreamSynchronize(p.d.api, p.d.stream))
}

// verify copies a pattern to the GPU and back; that also warms up.
func (p *pinnedCopy) verify() error {
	pattern := make([]byte, p.size)
	for i := range pattern {
		pattern[i] = byte(i ^ i>>8 ^ i>>16)
	}
	err := p.d.check("cuMemcpyHtoD_v2", C.cudaCopyToDevice(p.d.api, p.source, unsafe.Pointer(unsafe.SliceData(pattern)), C.size_t(p.size)))
	if err != nil {
		return err
	}
	if err := p.batch(); err != nil {
		return err
	}
	for _, to := range p.to {
		if !bytes.Equal(unsafe.Slice((*byte)(to), p.size), pattern) {
			return errors.New("cuMemcpyDtoHAsync_v2 brought other bytes than were put there")
		}
	}
	return nil
}
