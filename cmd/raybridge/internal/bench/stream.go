// How fast pictures go through a stream server and a client on this machine is measured
// here, against a bare TCP connection that carries as many bytes.
//
// Both are timed alike: from the first frame being sent to the last having arrived, one
// sender, one receiver, over 127.0.0.1. The bare sender writes one buffer again and
// again and the bare receiver reads into one buffer. The stream does what it does
// for a bridge besides: it copies each picture into a buffer of its pool, queues it for
// the client, and calls the client's callback.
//
// The bare connection is measured twice: with the send buffer that the kernel gives it,
// and with the smaller one that the server chooses on one machine
// (transport.LoopbackBuffer), which the stream shares. Where two cores are all there are,
// the copy shows in the second comparison: sender and receiver use both of them.

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	streams "github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// streamConfig says what is measured. The zero value stands for 1080p RGBA, five runs of 100
// frames.
type streamConfig struct {
	Width, Height int // pixels of 4 bytes
	Frames, Runs  int
}

// streamRate is one way of sending.
type streamRate struct {
	// FramesPerSecond and BytesPerSecond are the median run's.
	FramesPerSecond, BytesPerSecond float64
	// AllocsPerFrame is the median run's number of allocations in the whole process.
	AllocsPerFrame float64
	// Rates and Allocs are frames per second and allocations a frame, run by run.
	Rates, Allocs []float64
}

// streamComparison is what measureStream returns.
type streamComparison struct {
	// TCP is the bare connection as it is by itself, SmallTCP with the stream's buffer.
	Stream, TCP, SmallTCP streamRate
	// Ratio and SmallRatio are the stream's rate over the bare connections': the median
	// over runs that follow each other directly.
	Ratio, SmallRatio float64
	// Ratios and SmallRatios are the same, run by run.
	Ratios, SmallRatios []float64
	Runs                int
}

// measureStream runs both ways in turn. ctx ends it.
func measureStream(ctx context.Context, config streamConfig) (streamComparison, error) {
	config.Width, config.Height = cmp.Or(config.Width, 1920), cmp.Or(config.Height, 1080)
	config.Frames, config.Runs = cmp.Or(config.Frames, 100), cmp.Or(config.Runs, 5)
	image := streamImage(config.Width, config.Height)
	s, err := openStream(ctx, image)
	if err != nil {
		return streamComparison{}, err
	}
	defer s.Close()
	plain, err := openBareStream(ctx, len(image.Data), 0)
	if err != nil {
		return streamComparison{}, err
	}
	defer plain.close()
	small, err := openBareStream(ctx, len(image.Data), transport.LoopbackBuffer)
	if err != nil {
		return streamComparison{}, err
	}
	defer small.close()
	ways := [3]func() error{
		func() error { return s.Send(ctx, config.Frames) },
		func() error { return plain.send(config.Frames) },
		func() error { return small.send(config.Frames) },
	}
	var rates, allocs [len(ways)][]float64
	for run := range config.Runs + 1 {
		for w, send := range ways {
			rate, n, err := timed(config.Frames, send)
			if err != nil {
				return streamComparison{}, fmt.Errorf("measure way %d of %d: %w", w+1, len(ways), err)
			}
			if run > 0 { // in the first, buffers and congestion windows grow
				rates[w], allocs[w] = append(rates[w], rate), append(allocs[w], n)
			}
		}
	}
	return compareWays(&rates, &allocs, config.Runs, float64(len(image.Data))), nil
}

func compareWays(rates, allocs *[3][]float64, runs int, size float64) streamComparison {
	var results [3]streamRate
	var ratios [3][]float64
	for w := range rates {
		for run, rate := range rates[w] {
			ratios[w] = append(ratios[w], rates[0][run]/rate)
		}
	}
	for w := range rates {
		rate := median(rates[w])
		results[w] = streamRate{
			FramesPerSecond: rate, BytesPerSecond: rate * size, AllocsPerFrame: median(allocs[w]),
			Rates: rates[w], Allocs: allocs[w],
		}
	}
	return streamComparison{
		Stream: results[0], TCP: results[1], SmallTCP: results[2],
		Ratio: median(ratios[1]), SmallRatio: median(ratios[2]),
		Ratios: ratios[1], SmallRatios: ratios[2], Runs: runs,
	}
}

// timed returns the rate and the allocations of so many frames.
func timed(frames int, send func() error) (rate, allocs float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	err = send()
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	return float64(frames) / took.Seconds(), float64(after.Mallocs-before.Mallocs) / float64(frames), err
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// streamImage returns a picture of 4 bytes a pixel in which no two rows are alike.
func streamImage(width, height int) *sample.Image {
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
}

// openStream starts a server and a client on this machine.
func openStream(ctx context.Context, image *sample.Image) (*streamPair, error) {
	p := &streamPair{image: image, got: make(chan struct{}, 16)}
	p.server = streams.NewServer(streams.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block, Messages: 1, BlockLimit: time.Minute}})
	var err error
	p.out, err = p.server.AddStream(streams.Info{Name: "/image", Kind: wire.KindImage, SchemaVersion: wire.KindImage.Version()}, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := p.server.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.client, err = streams.Dial(ctx, p.server.Addr().String(), streams.Options{Queue: flow.QueueConfig{Policy: flow.Block, Messages: 1}})
	if err != nil {
		p.Close()
		return nil, err
	}
	if err := p.client.Listen(ctx, "/image", p.receive); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *streamPair) receive(d *streams.Data) {
	if v, err := wire.AsImage(d.Message); err == nil && len(v.Data()) == len(p.image.Data) {
		p.got <- struct{}{}
	}
}

// errLost: a picture was dropped or damaged.
var errLost = errors.New("pictures didn't arrive")

// Send sends so many pictures and returns when the last has been received.
func (p *streamPair) Send(ctx context.Context, frames int) error {
	received := 0
	for range frames {
		p.image.Seq++
		if err := p.out.Publish(ctx, p.image.StampNs, p.image); err != nil {
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

// Close ends client and server.
func (p *streamPair) Close() {
	if p.client != nil {
		p.client.Close()
	}
	_ = p.server.Close(context.Background()) // its only client has gone
}

// bareStream is a TCP connection without anything.
type bareStream struct {
	from, to net.Conn
	size     int
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
	return &bareStream{from: from, to: to, size: size, data: make([]byte, size), into: make([]byte, size)}, nil
}

func (b *bareStream) send(frames int) error {
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

func (b *bareStream) close() {
	_ = b.from.Close()
	_ = b.to.Close()
}
