// Package bridgebench measures bridges beside the plain writers of their protocols: the
// same bytes, to the same receiver on this machine, by turns in one run, so that what
// the machine does besides falls on both.
//
//	for _, c := range bridgebench.Contests() {
//		result, err := c.Run(ctx, bridgebench.Config{Runs: 5})
//		...
//	}
//
// A bridge does what a plain writer doesn't: it converts a sample, encodes the message,
// queues it, and counts it. A run is timed from the first message to the receiver's last
// byte. Publishers wait for room (policy block), so that nothing is dropped.
//
// ros2dds is measured by its own tests, beside a program in C: make bench-ros2dds.
package bridgebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Config says how much is measured. The zero value stands for five runs of some 256 MB.
type Config struct {
	Runs int
	// Bytes is about how much one run sends, at least 8 messages.
	Bytes int64
}

// Contest is a bridge and what it is compared with.
type Contest struct {
	// Name identifies the contest: "foxglove_4x8mb".
	Name string
	// Plain says what the bridge is compared with.
	Plain string
	// Want is the ratio that is aimed at, 0 for none.
	Want float64

	bridge, plain func(ctx context.Context) (way, error)
	// perMessage compares messages a second where the two send different bytes.
	perMessage bool
}

// Result is what a contest came to.
type Result struct {
	// Size is one message's, in the bridge's encoding, bytes.
	Size int64
	// Bridge and Plain are bytes a second, run by run, and Messages the bridge's messages
	// a second; Allocs the allocations of the whole process for one message of the bridge.
	Bridge, Plain, Messages, Allocs []float64
	// Ratios are the bridge's rate over the plain writer's run right after it.
	Ratios []float64
}

// way is one way of sending messages. One goroutine uses it.
type way interface {
	// size is that of one message in bytes.
	size() int64
	// send sends so many messages and returns when the last byte of them has arrived.
	send(ctx context.Context, messages int) error
	close() error
}

// Contests returns all that this program can measure, in the order of their names.
func Contests() []Contest {
	list := []Contest{foxgloveContest(), mcapContest()}
	list = append(append(list, rosbridgeContests()...), tcpContests()...)
	slices.SortFunc(list, func(a, b Contest) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Run measures. ctx ends it. It needs the machine for itself.
func (c *Contest) Run(ctx context.Context, config Config) (result Result, err error) {
	config.Runs, config.Bytes = cmp.Or(config.Runs, 5), cmp.Or(config.Bytes, 256<<20)
	bridge, err := c.bridge(ctx)
	if err != nil {
		return result, fmt.Errorf("measure %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, bridge.close()) }()
	plain, err := c.plain(ctx)
	if err != nil {
		return result, fmt.Errorf("measure %s beside %s: %w", c.Name, c.Plain, err)
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	messages := int(max(8, config.Bytes/bridge.size()))
	result.Size = bridge.size()
	for run := range config.Runs + 1 {
		ours, allocs, err := timed(ctx, bridge, messages)
		if err != nil {
			return result, fmt.Errorf("measure %s: %w", c.Name, err)
		}
		theirs, _, err := timed(ctx, plain, messages)
		if err != nil {
			return result, fmt.Errorf("measure %s beside %s: %w", c.Name, c.Plain, err)
		}
		if run > 0 { // in the first, buffers and congestion windows grow
			result.add(pair{bridge, plain, ours, theirs, c.perMessage})
			result.Allocs = append(result.Allocs, allocs)
		}
	}
	return result, nil
}

// pair is one run of each way, in messages a second.
type pair struct {
	bridge, plain way
	ours, theirs  float64
	perMessage    bool // how they are compared
}

// add notes a run's rates.
func (r *Result) add(p pair) {
	r.Messages = append(r.Messages, p.ours)
	r.Bridge = append(r.Bridge, p.ours*float64(p.bridge.size()))
	r.Plain = append(r.Plain, p.theirs*float64(p.plain.size()))
	ratio := p.ours / p.theirs
	if !p.perMessage {
		ratio *= float64(p.bridge.size()) / float64(p.plain.size())
	}
	r.Ratios = append(r.Ratios, ratio)
}

// timed returns messages a second, and allocations a message.
func timed(ctx context.Context, w way, messages int) (rate, allocs float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	err = w.send(ctx, messages)
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	return float64(messages) / took.Seconds(), float64(after.Mallocs-before.Mallocs) / float64(messages), err
}

// bridgeWay sends samples of one type on some topics of a bridge.
type bridgeWay[T bridges.Stamped] struct {
	bridge  *bridges.Bridge
	publish []bridges.Publisher[T]
	message T
	bytes   int64
	// arrived waits until so many messages of the bridge have come, since it was opened.
	arrived func(ctx context.Context, messages int64) error
	ended   func() error
	sent    int64
}

// connected is a bridge to be opened, and how many topics it publishes.
type connected struct {
	factory    bridges.Factory
	connection string
	topics     int
}

// openBridge opens a bridge that publishes on some topics and connects it. Its caller
// brings up who listens, sets arrived and ended, and calls begin.
func openBridge[T bridges.Stamped](ctx context.Context, c connected, message T) (*bridgeWay[T], error) {
	registry, err := bridges.NewRegistry(c.factory)
	if err != nil {
		return nil, err
	}
	b, err := registry.Open(c.factory.Info().Name+":"+c.connection, bridges.Env{})
	if err != nil {
		return nil, err
	}
	w := &bridgeWay[T]{bridge: b, message: message, ended: func() error { return nil }}
	for i := range c.topics {
		publish, err := bridges.AddPublisher[T](b, bridges.Topic{
			Name: fmt.Sprintf("/topic_%d", i), Sensor: "probe", QoS: flow.SensorDataQoS, Policy: flow.Block,
		})
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.publish = append(w.publish, publish)
	}
	if err := b.Connect(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// begin sends a first message, when everybody listens, and learns its size. On an error the
// way is closed.
func (w *bridgeWay[T]) begin(ctx context.Context) (way, error) {
	if err := w.sendFirst(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *bridgeWay[T]) sendFirst(ctx context.Context) error {
	ready := func() bool {
		for i := range w.publish {
			if !w.bridge.Listening(fmt.Sprintf("/topic_%d", i)) {
				return false
			}
		}
		return true
	}
	if err := await(ctx, ready); err != nil {
		return fmt.Errorf("wait for a receiver: %w", err)
	}
	if err := w.publish[0](ctx, w.message); err != nil {
		return err
	}
	w.sent = 1
	sent := func() bool { return w.bridge.Statistics().Messages == 1 }
	if err := await(ctx, sent); err != nil {
		return fmt.Errorf("wait for the first message: %w", err)
	}
	w.bytes = w.bridge.Statistics().Bytes
	return w.arrived(ctx, w.sent)
}

func (w *bridgeWay[T]) size() int64 { return w.bytes }

// send publishes from one goroutine for each topic.
func (w *bridgeWay[T]) send(ctx context.Context, messages int) error {
	errs := make([]error, len(w.publish))
	var running sync.WaitGroup
	for i, publish := range w.publish {
		running.Go(func() {
			for range share(messages, i, len(w.publish)) {
				if err := publish(ctx, w.message); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w.sent += int64(messages)
	return w.arrived(ctx, w.sent)
}

// share is the i-th of parts of a number.
func share(n, i, parts int) int { return n*(i+1)/parts - n*i/parts }

func (w *bridgeWay[T]) close() error {
	return errors.Join(w.bridge.Close(context.Background()), w.ended())
}

// await looks again and again until something is so, for ten seconds.
func await(ctx context.Context, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// cloud returns a scan whose PointCloud2 in Autoware's layout of 32 bytes has about so
// many bytes. No two points are alike.
func cloud(bytes int) *sample.PointCloud {
	c := &sample.PointCloud{Rings: 16, Columns: bytes / 32 / 16, Layout: sample.LayoutXYZIRCAEDT}
	c.FrameID = "lidar"
	for i := range c.Rings * c.Columns {
		c.Points = append(c.Points, sample.Point{
			X: float32(i) * 0.001, Y: float32(i%1800) * 0.01, Z: float32(i % 16), Intensity: float32(i % 256), Distance: float32(i%1000) / 10,
			Ring: uint16(i % 16), Return: 1, TimeNs: uint32(i) * 434, Ray: uint32(i),
		})
	}
	return c
}

// image returns a picture of 1920 x 1080 pixels of 4 bytes.
func image() *sample.Image {
	m := &sample.Image{Width: 1920, Height: 1080, Step: 4 * 1920, Encoding: sample.EncodingBGRA8}
	m.FrameID = "camera_optical"
	m.Data = make([]byte, m.Step*m.Height)
	for i := range m.Data {
		m.Data[i] = byte(i*31 + i>>11)
	}
	return m
}
