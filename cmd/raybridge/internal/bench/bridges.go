package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Bytes of a run.
const (
	bridgeBytes      = 256 << 20
	quickBridgeBytes = 64 << 20
)

// bridgesMethod says what the figures mean.
var bridgesMethod = strings.TrimSpace(`
bridges: a bridge publishes the same sample again and again to a receiver on this machine that throws it away. The
plain writer of the protocol sends as many bytes, encoded once before, to the same kind of receiver. It does so right
after the bridge in each run. A run is timed from the first message to the receiver's last byte. The bridge converts, encodes, queues and counts
besides. Ratios are of bytes a second; rosbridge_bson_over_json's and rosbridge_json's are of messages a second, the
former of clouds that a server has decoded. 'make bench-docs WHAT=ros2dds' measures ros2dds, beside a program in C.
`)

// contest is a bridge and what it is compared with: the same bytes, to the same receiver
// on this machine.
type contest struct {
	named
	// beside says what the bridge is compared with.
	beside string
	// want is the ratio that is aimed at, 0 for none.
	want float64

	bridge, plain func(ctx context.Context) (way, error)
	// perMessage compares messages a second where the two send different bytes.
	perMessage bool
}

// way is one way of sending messages. One goroutine uses it.
type way interface {
	// size is that of one message in bytes.
	size() int64
	// send sends so many messages and returns when the last byte of them has arrived.
	// Publishers wait for room (policy block), so that nothing is dropped.
	send(ctx context.Context, messages int) error
	close() error
}

// contests returns all that this program can measure, in the order of their names.
// ros2dds is measured by its own tests, beside a program in C.
func contests() []contest {
	list := []contest{foxgloveContest(), mcapContest()}
	list = append(append(list, rosbridgeContests()...), tcpContests()...)
	slices.SortFunc(list, func(a, b contest) int { return strings.Compare(a.name, b.name) })
	return list
}

// Bridges measures bridges beside the plain writers of their protocols. It needs no GL
// and appends to the report.
func Bridges(ctx context.Context, config Config, report *Report) error {
	bytes := ifQuick[int64](config.Quick, quickBridgeBytes, bridgeBytes)
	b := caseBench[contest]{"bridges", contests(), func(cfg *Config, c contest) ([]Result, error) {
		return c.measure(ctx, cfg.Runs, bytes)
	}, bridgesMethod}
	return b.run(config, report)
}

// measure makes so many runs of about so many bytes, at least 8 messages.
func (c *contest) measure(ctx context.Context, runs int, bytes int64) (rows []Result, err error) {
	bridge, err := c.bridge(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bridge.close()) }()
	plain, err := c.plain(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.beside, err)
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	messages := int(max(8, bytes/bridge.size()))
	list, err := byTurns(runs, sending(ctx, bridge, messages), sending(ctx, plain, messages))
	if err != nil {
		return nil, err
	}
	return c.results(list[0], list[1], float64(bridge.size()), float64(plain.size())), nil
}

// results are the rows of the runs of both, whose messages have those sizes.
func (c *contest) results(bridge, plain []batch, size, plainSize float64) []Result {
	ours, theirs := each(bridge, batch.rate), each(plain, batch.rate)
	bytes, plainBytes := times(size, ours), times(plainSize, theirs)
	compared, note := ratios(bytes, plainBytes), "run by run"
	if c.perMessage {
		compared = ratios(ours, theirs)
	}
	if c.want > 0 {
		note += fmt.Sprintf("; wanted %g", c.want)
	}
	return []Result{
		{"bridge.messages_per_s", c.name, "messages/s", ours, fmt.Sprintf("messages of %.2f MB", size/1e6)},
		{"bridge.bytes_per_s", c.name, "bytes/s", bytes, ""},
		{"plain.bytes_per_s", c.name, "bytes/s", plainBytes, c.beside},
		{"bridge.ratio", c.name, "times plain", compared, note},
		{"bridge.allocs_per_message", c.name, "allocations", each(bridge, batch.allocsPerMessage), "of the whole process"},
	}
}

// sending is a run of so many messages.
func sending(ctx context.Context, w way, messages int) func() (int, error) {
	return func() (int, error) { return messages, w.send(ctx, messages) }
}

// bridgeWay sends samples of one type on some topics of a bridge.
type bridgeWay[T simtime.Stamped] struct {
	receiver
	bridge  *bridges.Bridge
	publish []bridges.Publisher[T]
	message T
	bytes   int64
	sent    int64
}

// receiver is who takes a bridge's messages.
type receiver struct {
	// arrived waits until so many messages of so many bytes have come since the bridge was opened.
	arrived func(ctx context.Context, messages, size int64) error
	ended   func() error
}

// connected is a bridge to be opened, and how many topics it publishes.
type connected struct {
	factory    bridges.Factory
	connection string
	topics     int
}

// sendTo opens a bridge and has it send to a receiver that is there already, which ends with it.
func sendTo[T simtime.Stamped](ctx context.Context, c connected, message T, to receiver) (way, error) {
	w, err := openBridge(ctx, c, message)
	if err != nil {
		return nil, errors.Join(err, to.ended())
	}
	return w.begin(ctx, to)
}

// openBridge opens a bridge that publishes on some topics and connects it.
func openBridge[T simtime.Stamped](ctx context.Context, c connected, message T) (*bridgeWay[T], error) {
	registry, err := bridges.NewRegistry(c.factory)
	if err != nil {
		return nil, err
	}
	b, err := registry.Open(c.factory.Info().Name+":"+c.connection, bridges.Env{})
	if err != nil {
		return nil, err
	}
	w := &bridgeWay[T]{bridge: b, message: message, receiver: receiver{ended: func() error { return nil }}}
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
func (w *bridgeWay[T]) begin(ctx context.Context, to receiver) (way, error) {
	w.receiver = to
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
	return w.arrived(ctx, w.sent, w.bytes)
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
	return w.arrived(ctx, w.sent, w.bytes)
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
func benchCloud(bytes int) *sample.PointCloud {
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
