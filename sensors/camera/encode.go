package camera

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// job is one picture to compress. Its lease is released when that is done.
type job struct {
	at     sensors.Tick
	header sample.Header
	lease  readback.Lease[uint32]
}

// encoded is a compressed picture that waits for Process.
type encoded struct {
	at      sensors.Tick
	message *sample.CompressedImage
	err     error
}

// encoder compresses one camera's pictures on a goroutine of its own, off the
// frame loop and the GL thread, and gives them back in order. Pictures under
// way hold their readback slots, so that there are never more than those.
type encoder struct {
	camera *camera
	jobs   chan job
	done   chan struct{} // closed when the goroutine has ended
	canvas canvas        // owned by the goroutine

	mu    sync.Mutex
	ready []encoded // guarded by mu, oldest first
	spare []*sample.CompressedImage
}

func startEncoder(s *camera) *encoder {
	e := &encoder{camera: s, jobs: make(chan job, sensors.RingSlots), done: make(chan struct{})}
	go e.run()
	return e
}

// start takes a job; there is room for as many as the pool has slots.
func (e *encoder) start(j job) {
	e.camera.encoding.Add(1)
	e.jobs <- j
}

func (e *encoder) run() {
	defer close(e.done)
	for j := range e.jobs {
		message := e.message()
		message.Header = j.header
		message.Format = e.camera.options.compressed
		err := e.canvas.encode(&e.camera.options, gpu.BytesOf(j.lease.Slice()), message)
		j.lease.Release()
		e.mu.Lock()
		e.ready = append(e.ready, encoded{j.at, message, err})
		e.mu.Unlock()
		e.camera.env.Completed()
	}
}

// message returns a message whose memory can be written.
func (e *encoder) message() *sample.CompressedImage {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.spare); n > 0 {
		m := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return m
	}
	return new(sample.CompressedImage)
}

// publish sends the compressed pictures up to an instant and returns how many
// captures that ends.
func (e *encoder) publish(through simtime.Stamp) int {
	n := 0
	for {
		e.mu.Lock()
		if len(e.ready) == 0 || e.ready[0].at.Due > through {
			e.mu.Unlock()
			return n
		}
		first := e.ready[0]
		e.ready = append(e.ready[:0], e.ready[1:]...)
		e.mu.Unlock()
		n++
		e.camera.encoding.Add(-1)
		if first.err != nil {
			e.camera.notConverted(first.at, fmt.Errorf("compress: %w", first.err))
		} else {
			e.camera.compressed.TryQueue(first.at, first.message)
		}
		e.mu.Lock()
		e.spare = append(e.spare, first.message)
		e.mu.Unlock()
	}
}

// close ends the goroutine after its last job, and counts the pictures that
// nobody will publish any more. No start may follow.
func (e *encoder) close() {
	close(e.jobs)
	<-e.done
	e.mu.Lock()
	left := e.ready
	e.ready = nil
	e.mu.Unlock()
	for i := range left {
		e.camera.encoding.Add(-1)
		e.camera.env.Dropped(left[i].at, flow.CauseClosed)
	}
}

// canvas is what pictures pass through on their way into a message.
type canvas struct {
	jpeg    picture.JPEGEncoder
	buffer  bytes.Buffer
	rgba    *image.RGBA
	gray16  *image.Gray16
	scratch pngScratch
}

// pngScratch keeps one encoder's memory for the next picture.
type pngScratch struct{ buffer *png.EncoderBuffer }

func (s *pngScratch) Get() *png.EncoderBuffer  { return s.buffer }
func (s *pngScratch) Put(b *png.EncoderBuffer) { s.buffer = b }

// encode compresses a picture of the camera's own encoding into message.Data,
// reusing its memory.
func (v *canvas) encode(o *setup, pixels []byte, message *sample.CompressedImage) (err error) {
	if o.compressed == "jpeg" {
		message.Data, err = v.jpeg.Append(message.Data[:0], o.packed(pixels), o.quality)
		return err
	}
	v.buffer.Reset()
	e := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: &v.scratch}
	if err := e.Encode(&v.buffer, v.picture(o, pixels)); err != nil {
		return fmt.Errorf("encode %s: %w", o.compressed, err)
	}
	message.Data = append(message.Data[:0], v.buffer.Bytes()...)
	return nil
}

// packed says how the pixels of an 8-bit encoding lie.
func (o *setup) packed(pixels []byte) *picture.Packed {
	p := &picture.Packed{
		Pixels: pixels, Width: o.lens.Width, Height: o.lens.Height, Stride: o.step(), Size: pixelBytes[o.form.encoding],
		Red: 0, Green: 1, Blue: 2,
	}
	if o.form.encoding != sample.EncodingRGB8 {
		p.Red, p.Blue = 2, 0
	}
	return p
}

// picture views or copies the pixels as an image of the standard library.
func (v *canvas) picture(o *setup, pixels []byte) image.Image {
	bounds := image.Rect(0, 0, o.lens.Width, o.lens.Height)
	switch o.form.encoding {
	case sample.EncodingMono8:
		return &image.Gray{Pix: pixels, Stride: o.step(), Rect: bounds}
	case sample.Encoding16UC1:
		if v.gray16 == nil {
			v.gray16 = image.NewGray16(bounds)
		}
		for y := range o.lens.Height {
			from, to := pixels[y*o.step():], v.gray16.Pix[y*v.gray16.Stride:][:2*o.lens.Width]
			for i := 0; i < len(to); i += 2 {
				to[i], to[i+1] = from[i+1], from[i] // PNG is big endian
			}
		}
		return v.gray16
	default:
		if v.rgba == nil {
			v.rgba = image.NewRGBA(bounds)
		}
		p := o.packed(pixels)
		for y := range p.Height {
			from, to := pixels[y*p.Stride:], v.rgba.Pix[y*v.rgba.Stride:][:4*p.Width]
			for ; len(to) >= 4; from, to = from[p.Size:], to[4:] {
				c := from[:3]
				to[0], to[1], to[2], to[3] = c[p.Red], c[1], c[p.Blue], 255
			}
		}
		return v.rgba
	}
}
