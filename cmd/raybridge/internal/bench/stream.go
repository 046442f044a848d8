// How fast pictures go through a stream server and a client on this machine is measured here.
// The comparison is a bare TCP connection that carries as many bytes.
//
// Both are timed alike: from the first frame being sent to the last having arrived, one sender,
// one receiver, over 127.0.0.1. The bare sender writes one buffer again and again and the bare
// receiver reads into one buffer. The stream does more, for a bridge. It copies each picture
// into a buffer of its pool, queues it for the client, and calls the client's callback.
//
// The bare connection is measured twice. Once it has the send buffer that the kernel gives it.
// Once it has the smaller one that the server chooses on one machine
// (transport.LoopbackBuffer), which the stream shares. Where two cores are all there are, the
// copy shows in the second comparison: sender and receiver use both of them.

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"time"

	streams "github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// picture is a size of picture that is streamed, in pixels of 4 bytes.
type picture struct{ width, height int }

func (p picture) title() string { return fmt.Sprintf("%dx%d_rgba", p.width, p.height) }

// pictures lists the cases; the first is measured with Quick too.
var pictures = []picture{{1920, 1080}, {640, 480}}

// Frames of a run.
const (
	streamFrames      = 200
	quickStreamFrames = 40
)

// streamMethod says what the figures mean.
var streamMethod = strings.TrimSpace(`
stream: pictures of 4 bytes a pixel go from a publisher through the server, over 127.0.0.1, and through the client to
its callback. A bare connection's sender writes one buffer again and again, and its receiver reads into one
buffer. They carry as many bytes, timed alike, each run right after the stream's. The stream copies each picture
once, so that the publisher may overwrite it; its buffers together are larger than a cache. Its send buffer is
smaller than what the kernel chooses by itself. That is why it may be faster than a bare connection that leaves
that to the kernel.`)

// Stream measures the stream server and client on this machine against a bare TCP
// connection. It needs no GL and appends to the report.
func Stream(ctx context.Context, config Config, report *Report) error {
	cases, frames := ifQuick(config.Quick, pictures[:1], pictures), ifQuick(config.Quick, quickStreamFrames, streamFrames)
	b := caseBench[picture]{"stream", cases, func(cfg *Config, p picture) ([]Result, error) {
		return p.measure(ctx, cfg.Runs, frames)
	}, streamMethod}
	return b.run(config, report)
}

// measure makes so many runs of so many frames.
func (p picture) measure(ctx context.Context, runs, frames int) (rows []Result, err error) {
	image := benchImage(p.width, p.height)
	size := float64(len(image.Data))
	stream, err := openStream(ctx, image)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.close()) }()
	ways := []func() (int, error){sending(ctx, stream, frames)}
	for _, buffer := range []int{0, transport.LoopbackBuffer} {
		bare, err := openBareStream(ctx, len(image.Data), buffer)
		if err != nil {
			return nil, err
		}
		defer bare.close()
		ways = append(ways, sending(ctx, bare, frames))
	}
	list, err := byTurns(runs, ways...)
	if err != nil {
		return nil, err
	}
	ours, tcp, small := each(list[0], batch.rate), each(list[1], batch.rate), each(list[2], batch.rate)
	const beside, besideSmall = "a bare connection", "a bare connection with the stream's send buffer"
	return []Result{
		{"stream.frames_per_s", p.title(), "frames/s", ours, "server and client in one process"},
		{"stream.bytes_per_s", p.title(), "bytes/s", times(size, ours), ""},
		{"tcp.bytes_per_s", p.title(), "bytes/s", times(size, tcp), beside},
		{"tcp_small_buffer.bytes_per_s", p.title(), "bytes/s", times(size, small), besideSmall},
		{"stream.ratio", p.title(), "times tcp", ratios(ours, tcp), beside + ", run by run"},
		{"stream.small_buffer_ratio", p.title(), "times tcp", ratios(ours, small), besideSmall + ", run by run"},
		{"stream.allocs_per_frame", p.title(), "allocations", each(list[0], batch.allocsPerMessage), "of the whole process"},
	}, nil
}

// benchImage returns a picture of 4 bytes a pixel in which no two rows are alike.
func benchImage(width, height int) *sample.Image {
	image := &sample.Image{Width: width, Height: height, Step: 4 * width, Encoding: sample.EncodingBGRA8}
	image.FrameID = "camera_optical"
	image.Data = make([]byte, image.Step*height)
	for i := range image.Data {
		image.Data[i] = byte(i*31 + i>>11)
	}
	return image
}

// streamPair is a stream server with one client that receives pictures.
type streamPair struct {
	image  *sample.Image
	server *streams.Server
	client *streams.Client
	out    *streams.Stream
	got    chan struct{} // one for each picture that arrived
	reader streams.Reader[sample.Image]
}

// openStream starts a server and a client on this machine.
func openStream(ctx context.Context, image *sample.Image) (*streamPair, error) {
	p := &streamPair{image: image, got: make(chan struct{}, 16)}
	p.server = streams.NewServer(streams.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block, Messages: 1, BlockLimit: time.Minute}})
	encoding, err := streams.EncodingOf(reflect.TypeOf(image))
	if err != nil {
		return nil, err
	}
	if p.out, err = p.server.AddStream(streams.Info{Name: "/image"}, encoding, nil, nil); err != nil {
		return nil, err
	}
	if err := p.server.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.client, err = streams.Dial(ctx, p.server.Addr().String(), streams.Options{Queue: flow.QueueConfig{Policy: flow.Block, Messages: 1}})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	if err := p.client.Listen(ctx, "/image", p.receive); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *streamPair) receive(d *streams.Data) {
	if v, err := p.reader.Read(d); err == nil && len(v.Data) == len(p.image.Data) {
		p.got <- struct{}{}
	}
}

// errLost: a picture was dropped or damaged.
var errLost = errors.New("pictures didn't arrive")

// send sends so many pictures and returns when the last has been received.
func (p *streamPair) send(ctx context.Context, frames int) error {
	received := 0
	for range frames {
		p.image.Seq++
		if err := p.out.Publish(ctx, int64(p.image.Stamp), p.image); err != nil {
			return err
		}
		for more := true; more; {
			select {
			case <-p.got:
				received++
			default:
				more = false
			}
		}
	}
	for ; received < frames; received++ {
		select {
		case <-p.got:
		case <-ctx.Done():
			return errors.Join(errLost, ctx.Err())
		}
	}
	return nil
}

func (p *streamPair) size() int64 { return int64(len(p.image.Data)) }

// close ends client and server; its only client has gone by then.
func (p *streamPair) close() error {
	if p.client != nil {
		p.client.Close()
	}
	return p.server.Close(context.Background())
}

// bareStream is a TCP connection without anything.
type bareStream struct {
	from, to net.Conn
	data     []byte
	into     []byte
}

// openBareStream connects; sendBuffer 0 leaves the buffer to the kernel.
func openBareStream(ctx context.Context, size, sendBuffer int) (*bareStream, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	var dialer net.Dialer
	from, err := dialer.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	to, err := listener.Accept()
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	if tcp, ok := from.(*net.TCPConn); ok && sendBuffer > 0 {
		err = tcp.SetWriteBuffer(sendBuffer)
	}
	if err != nil {
		return nil, errors.Join(err, from.Close(), to.Close())
	}
	return &bareStream{from: from, to: to, data: make([]byte, size), into: make([]byte, size)}, nil
}

func (b *bareStream) size() int64 { return int64(len(b.data)) }

func (b *bareStream) send(_ context.Context, frames int) error {
	sent := make(chan error, 1)
	go func() {
		for range frames {
			if _, err := b.from.Write(b.data); err != nil {
				sent <- errors.Join(err, b.from.Close()) // so that the receiver ends too
				return
			}
		}
		sent <- nil
	}()
	for range frames {
		if _, err := io.ReadFull(b.to, b.into); err != nil {
			return errors.Join(err, b.to.Close(), <-sent)
		}
	}
	return <-sent
}

func (b *bareStream) close() error { return errors.Join(b.from.Close(), b.to.Close()) }
