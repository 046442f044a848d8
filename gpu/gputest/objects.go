package gputest

import (
	"bytes"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
)

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
	usage := "device"
	if desc.Usage == gpu.UsageReadback {
		usage = "readback"
	}
	if err := f.begin("CreateBuffer", " %q %d bytes %s", desc.Label, desc.Size, usage); err != nil {
		return 0, err
	}
	memory := make([]byte, desc.Size)
	if desc.Usage == gpu.UsageReadback {
		memory = bytes.Repeat([]byte{unwritten}, desc.Size)
	}
	copy(memory, desc.Data)
	return f.add(gpu.ObjectBuffer, &object{name: fmt.Sprintf("%q", desc.Label), usage: desc.Usage, bytes: memory}), nil
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
		if err := f.begin("CreateTexture", " %s %v view of %s", o.name, desc.Format, view.name); err != nil {
			return 0, err
		}
		o.bytes = view.bytes
		return f.add(gpu.ObjectTexture, o), nil
	}
	if err := f.begin("CreateTexture", " %s %v %dx%d", o.name, desc.Format, desc.Width, desc.Height); err != nil {
		return 0, err
	}
	for level := range desc.Levels {
		o.levels = append(o.levels, make([]byte, desc.LevelBytes(level, desc.Format)))
	}
	return f.add(gpu.ObjectTexture, o), nil
}

// CreateProgram implements gpu.Driver; the sources are not looked at.
func (f *Fake) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("CreateProgram", " %q", desc.Label); err != nil {
		return 0, err
	}
	return f.add(gpu.ObjectProgram, &object{name: desc.Label}), nil
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
