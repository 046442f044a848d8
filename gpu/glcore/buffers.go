//go:build cgo

package glcore

import (
	"errors"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// Readback buffers are mapped for their whole life (ARB_buffer_storage). They are coherent, so
// that a signalled fence alone makes a copy's bytes visible to the host. CLIENT_STORAGE asks
// for host memory that the CPU reads at full speed.
const (
	readbackMap     = gl.MAP_READ_BIT | gl.MAP_PERSISTENT_BIT | gl.MAP_COHERENT_BIT
	readbackStorage = readbackMap | gl.CLIENT_STORAGE_BIT
)

// CreateBuffer implements gpu.Driver.
func (d *Driver) CreateBuffer(desc gpu.BufferDesc) (gpu.Handle, error) {
	d.keepErrors()
	var b uint32
	gl.CreateBuffers(1, &b)
	flags := uint32(gl.DYNAMIC_STORAGE_BIT)
	if desc.Usage == gpu.UsageReadback {
		flags = readbackStorage
	}
	var data unsafe.Pointer
	if len(desc.Data) == desc.Size {
		data = unsafe.Pointer(&desc.Data[0])
	}
	gl.NamedBufferStorage(b, desc.Size, data, flags)
	if err := drainErrors(); err != nil {
		gl.DeleteBuffers(1, &b)
		return 0, err
	}
	label(gl.BUFFER, b, desc.Label)
	if n := len(desc.Data); n > 0 && n < desc.Size {
		gl.NamedBufferSubData(b, 0, n, unsafe.Pointer(&desc.Data[0]))
	}
	return gpu.Handle(b), nil
}

// MapBuffer implements gpu.Driver.
func (d *Driver) MapBuffer(h gpu.Handle, size int) ([]byte, error) {
	p := gl.MapNamedBufferRange(uint32(h), 0, size, readbackMap)
	if p == nil {
		return nil, errors.Join(errors.New("glMapNamedBufferRange returned no memory"), drainErrors())
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// WriteBuffer implements gpu.Driver.
func (d *Driver) WriteBuffer(h gpu.Handle, offset int, data []byte) error {
	if d.zink.found() {
		d.zink.write(uint32(h), offset, data)
	} else {
		gl.NamedBufferSubData(uint32(h), offset, len(data), unsafe.Pointer(&data[0]))
	}
	return nil
}

// ReadBuffer implements gpu.Driver.
func (d *Driver) ReadBuffer(h gpu.Handle, offset int, dst []byte) error {
	gl.MemoryBarrier(gl.BUFFER_UPDATE_BARRIER_BIT)
	gl.GetNamedBufferSubData(uint32(h), offset, len(dst), unsafe.Pointer(&dst[0]))
	return nil
}

// CopyBuffer implements gpu.Driver.
func (d *Driver) CopyBuffer(dst, src gpu.Handle, dstOffset, srcOffset, size int) error {
	gl.CopyNamedBufferSubData(uint32(src), uint32(dst), srcOffset, dstOffset, size)
	return nil
}

// label names an object in debug output.
func label(kind, name uint32, text string) {
	if text == "" {
		return
	}
	b := []byte(text)
	gl.ObjectLabel(kind, name, int32(min(len(b), 255)), &b[0])
}
