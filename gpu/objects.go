package gpu

import "sync"

// object is what all GPU objects share: the driver's handle and the one
// release, which may be asked for from any goroutine (law G3).
type object struct {
	kind   ObjectKind
	handle Handle
	label  string
	grave  *graveyard
	once   sync.Once
}

// Close queues the object's deletion; the GL thread deletes it at its next
// entry. It may be called from any goroutine and more than once. The object must
// not be used by commands issued afterwards.
func (o *object) Close() {
	o.once.Do(func() { o.grave.bury(o.kind, o.handle) })
}

// graveyard collects handles to be deleted on the GL thread.
type graveyard struct {
	mu   sync.Mutex
	dead []tombstone // guarded by mu
}

type tombstone struct {
	kind   ObjectKind
	handle Handle
}

func (g *graveyard) bury(kind ObjectKind, h Handle) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = append(g.dead, tombstone{kind, h})
}

// sweep deletes what was buried. GL thread only.
func (g *graveyard) sweep(d Driver) {
	g.mu.Lock()
	dead := g.dead
	g.dead = nil
	g.mu.Unlock()
	for _, t := range dead {
		d.Delete(t.kind, t.handle)
	}
}

// Buffer is a range of GPU memory.
type Buffer struct {
	object
	size   int
	usage  BufferUsage
	mapped []byte
}

// Size returns the buffer's size in bytes.
func (b *Buffer) Size() int { return b.size }

// Bytes returns a UsageReadback buffer's mapped memory, nil for the others.
// What a copy wrote is there once a fence issued after the copy has signalled.
// The slice is valid until Close; any goroutine may read it.
func (b *Buffer) Bytes() []byte { return b.mapped }

// Texture is an image, an array of images, or a texel view of a buffer.
type Texture struct {
	object
	desc TextureDesc
}

// Desc returns what the texture was made from.
func (t *Texture) Desc() TextureDesc { return t.desc }

// Program is a linked shader program.
type Program struct{ object }

// Framebuffer is a set of textures that Draw writes.
type Framebuffer struct {
	object
	width, height, colors int
	depth                 bool
}

// Size returns the size in pixels of the attachments.
func (f *Framebuffer) Size() (width, height int) { return f.width, f.height }

// Fence marks a place in the GPU's command stream.
type Fence struct{ object }

// Query holds one GPU timestamp.
type Query struct{ object }
