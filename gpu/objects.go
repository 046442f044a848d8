package gpu

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// object is what all GPU objects share: the driver's handle and the one release. Each
// type's Close asks for it, from any goroutine (law G3).
type object struct {
	kind   ObjectKind
	handle Handle
	label  string
	objs   *registry
	closed atomic.Bool
}

// close queues the object's deletion, once.
func (o *object) close() {
	if o.closed.CompareAndSwap(false, true) {
		o.objs.bury(objectID{o.kind, o.handle})
	}
}

// Label returns the name that the object was made with.
func (o *object) Label() string { return o.label }

func (o *object) usable() error {
	if o.closed.Load() {
		return fmt.Errorf("%v %q: %w", o.kind, o.label, ErrObjectClosed)
	}
	return nil
}

// objectID is a driver's object; handles are unique within a kind.
type objectID struct {
	kind   ObjectKind
	handle Handle
}

// registry knows the objects of one thread: those in use, by label, and those
// whose deletion on the GL thread is due.
type registry struct {
	mu    sync.Mutex
	live  map[objectID]living // guarded by mu
	dead  []objectID          // guarded by mu
	spare []objectID          // the other of two slices that take turns as dead; GL thread only
	ended atomic.Bool         // the objects end, or have ended, with their thread

	memory Memory // nil for no limit
}

// living is an object in use.
type living struct {
	label string
	bytes int64 // that it took of the thread's memory
}

func newRegistry(memory Memory) *registry {
	return &registry{live: make(map[objectID]living), memory: memory}
}

// take takes memory for an object that is to be made.
func (r *registry) take(what string, bytes int64) error {
	if r.memory == nil {
		return nil
	}
	return r.memory.Take(what, bytes)
}

func (r *registry) give(bytes int64) {
	if r.memory != nil && bytes > 0 {
		r.memory.Give(bytes)
	}
}

func (r *registry) add(id objectID, label string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[id] = living{label, bytes}
}

func (r *registry) bury(id objectID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.give(r.live[id].bytes)
	delete(r.live, id)
	r.dead = append(r.dead, id)
}

// sweep deletes what was buried. GL thread only.
func (r *registry) sweep(d Driver) {
	r.mu.Lock()
	dead := r.dead
	r.dead = r.spare[:0]
	r.mu.Unlock()
	for _, id := range dead {
		d.Delete(id.kind, id.handle)
	}
	r.spare = dead
}

// deleteAll deletes every object, closed or not. GL thread only.
func (r *registry) deleteAll(d Driver) {
	r.ended.Store(true)
	r.sweep(d)
	r.mu.Lock()
	live := r.live
	r.live = make(map[objectID]living)
	r.mu.Unlock()
	for id, object := range live {
		r.give(object.bytes)
		d.Delete(id.kind, id.handle)
	}
}

// bytes returns what the objects in use take.
func (r *registry) bytes() (sum int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, object := range r.live {
		sum += object.bytes
	}
	return sum
}

func (r *registry) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.live))
	for id, object := range r.live {
		names = append(names, fmt.Sprintf("%v %q", id.kind, object.label))
	}
	slices.Sort(names)
	return names
}

// Buffer is a range of GPU memory.
type Buffer struct {
	object
	size   int
	usage  BufferUsage
	mapped []byte
}

// Close queues the buffer's deletion; the GL thread deletes it at its next entry. Any
// goroutine may call it, more than once, and on a nil buffer, which it leaves alone. Commands
// that are issued afterwards with the buffer fail with ErrObjectClosed.
func (b *Buffer) Close() {
	if b != nil {
		b.close()
	}
}

// Size returns the buffer's size in bytes.
func (b *Buffer) Size() int { return b.size }

// Bytes returns a UsageReadback buffer's mapped memory, nil for the others,
// after Close and after the thread's end. What a copy wrote is there once a
// fence issued after the copy has signalled. The slice is valid until Close or
// the thread's end; any goroutine may read it.
func (b *Buffer) Bytes() []byte {
	if b.closed.Load() || b.objs == nil || b.objs.ended.Load() {
		return nil
	}
	return b.mapped
}

// Texture is an image, an array of images, or a texel view of a buffer.
type Texture struct {
	object
	desc TextureDesc
}

// Close is Buffer.Close for a texture.
func (t *Texture) Close() {
	if t != nil {
		t.close()
	}
}

// Desc returns what the texture was made from.
func (t *Texture) Desc() TextureDesc { return t.desc }

// Program is a linked shader program.
type Program struct{ object }

// Close is Buffer.Close for a program.
func (p *Program) Close() {
	if p != nil {
		p.close()
	}
}

// Framebuffer is a set of textures that Draw writes.
type Framebuffer struct {
	object
	width, height, colors int
	depth                 bool
}

// Close is Buffer.Close for a framebuffer.
func (f *Framebuffer) Close() {
	if f != nil {
		f.close()
	}
}

// Size returns the size in pixels of the attachments.
func (f *Framebuffer) Size() (width, height int) { return f.width, f.height }

// Fence marks a place in the GPU's command stream.
type Fence struct {
	object
	submission uint64 // that it belongs to; owned by the GL thread
}

// Close is Buffer.Close for a fence.
func (f *Fence) Close() {
	if f != nil {
		f.close()
	}
}

// Query holds one GPU timestamp.
type Query struct{ object }

// Close is Buffer.Close for a query.
func (q *Query) Close() {
	if q != nil {
		q.close()
	}
}

// Source is what a readback copies from: a *Buffer or a *Texture.
type Source interface{ source() *object }

func (b *Buffer) source() *object  { return &b.object }
func (t *Texture) source() *object { return &t.object }
