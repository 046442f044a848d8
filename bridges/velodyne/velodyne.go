// Package velodyne is the bridge named "velodyne": it sends a lidar's scans as the packets of
// Velodyne's VLP-16, VLP-32C and VLS-128, by UDP or into a pcap file.
//
// # Usage
//
// The connection string is velodyne:HOST[:2368] or velodyne:FILE.pcap. A bridge has one lidar; the
// option sensor names it where a run has several. The lidar has one of the presets VelodyneVLP16,
// VelodyneVLP32C and VelodyneVLS128, or a real one, VelodyneVLP16_real. They have the devices' lasers in the order of their ids, and a
// rate of 5 to 20 Hz with 18,000 columns a second. Scans of others are bridges.ErrConvert.
//
// # Packets
//
// A data packet has 1206 bytes, little endian: 12 blocks of 100 bytes, the time in
// microseconds past the hour (u32), the return mode (0x37 strongest, 0x38 last, 0x39 dual) and the product (0x22, 0x28,
// 0xA1). A block has a flag, the azimuth in hundredths of a degree, clockwise from ahead, and 32
// records of distance (u16) and intensity (u8). Distances are in units of 2 mm (VLP-16) or 4 mm. A miss
// has 0, and so has what is beyond 65,535 units.
//
//	          blocks                          columns a packet, single
//	VLP-16    FF EE, two columns each         24
//	VLP-32C   FF EE, a column each            12
//	VLS-128   FF EE, FF DD, FF CC, FF BB:     3
//	          32 lasers of a column each
//
// A position packet, 512 bytes, goes ahead of each scan: the time at 0xC6, the pulse's state (2,
// locked) at 0xCA, and NMEA's RMC at 0xCE, whose date and time are simulation time as Unix time. The
// place is that of the sensor where the scene lies on the earth, else 0° N 0° E.
//
// # Times
//
// Packets bear the time of their first firing, those of a VLS-128 8.7 µs more, which decoders take off again. Decoders add the device's
// firing times. The presets fire 18,000 columns a second, and those that end in _real their lasers as the device does, so
// that within a packet a ray's time is off from a decoder's by up to 6 µs (VLP-16), 3 µs (VLP-32C) or 5 µs (VLS-128). Plain presets
// fire by AWSIM's tables, up to 35 µs (VLP-32C) or 12 µs (VLS-128) off. All lasers of a
// column have the column's azimuth in these, beside their own offsets. A decoder that turns
// the azimuth on with the firing time turns the last laser by up to 0.31 degrees at 20 Hz. Real presets turn on, as the device does.
//
// A scan of one instant (rolling: false) is spread over a turn that begins with its stamp.
//
// # Dual returns
//
// With sample.DualReturns blocks come in pairs of the same lasers and one azimuth: the first has last returns, the
// second the strongest, or the second strongest where the last is the strongest. A firing with one return has it in both.
// A VLP-16's packet then has 12 columns, a VLP-32C's 6, and a VLS-128's one, whose last four blocks are empty. Scans of
// first and of triple returns are bridges.ErrConvert: no device makes them.
package velodyne

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Ports that the device sends to.
const (
	dataPort     = 2368
	positionPort = 8308
)

// Factory is the bridge named "velodyne".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "velodyne", Type: "velodyne", Kind: bridges.KindNetwork,
		Summary:    "sends a lidar's scans as packets of a VLP-16, VLP-32C or VLS-128, by UDP or into a pcap file",
		Connection: "HOST[:2368]|FILE.pcap", Options: bridges.OptionsOf(udpOptions{}),
		OtherGap: "a lidar's packets have its returns alone",
	}
}

// KindOf is a file for FILE.pcap.
func (Factory) KindOf(connection string) bridges.Kind {
	if target, _, _ := strings.Cut(connection, "?"); isFile(target) {
		return bridges.KindFile
	}
	return bridges.KindNetwork
}

// Register declares clouds.
func (Factory) Register(p *bridges.Plugin) error {
	return bridges.RegPublisher(p, "velodyne.Packets", (*instance).publisher)
}

// NewInstance returns one that isn't connected.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return &instance{file: newRecorder(env), net: &sender{env: env}}, nil
}

type fileOptions struct {
	Sensor string `option:"sensor" value:"NAME" doc:"lidar whose scans are sent; only a run with one lidar needs none" want:"the name of a lidar"`
}

type udpOptions struct {
	fileOptions
	Position int `option:"position" value:"PORT" default:"8308" doc:"port for position packets; 0 sends none" max:"65535" want:"a port from 1 to 65535, or 0"`
	bridges.RetryOptions
	bridges.QueueOptions
}

// connection is what a connection string says.
type connection struct {
	sensor         string
	file           string // "" for UDP
	data, position string // HOST:PORT, of UDP
	retry          transport.Retry
	queue          flow.QueueConfig
}

// isFile tells a file from a host by its end, in any case.
func isFile(target string) bool { return strings.EqualFold(filepath.Ext(target), ".pcap") }

// parse reads "HOST[:2368][?options]" or "FILE.pcap[?options]".
func parse(text string) (c connection, err error) {
	if target, _, _ := strings.Cut(text, "?"); isFile(target) {
		var options fileOptions
		c.file, _, err = bridges.ReadOptions(text, &options)
		c.sensor = options.Sensor
		return c, err
	}
	options := udpOptions{Position: positionPort}
	target, _, err := bridges.ReadOptions(text, &options)
	if err != nil {
		return c, err
	}
	if c.data, err = bridges.DialAddress(target, dataPort); err != nil {
		return c, fmt.Errorf("%w, or FILE.pcap", err)
	}
	if options.Position != 0 {
		host, port, _ := net.SplitHostPort(c.data)
		if port == strconv.Itoa(options.Position) {
			return c, fmt.Errorf("%w: position=%s is the port of the data packets: give position packets another", bridges.ErrConnectionString, port)
		}
		c.position = net.JoinHostPort(host, strconv.Itoa(options.Position))
	}
	c.sensor, c.retry, c.queue = options.Sensor, options.Retry(), options.Queue()
	return c, nil
}

// instance sends the scans of one topic, to a file or by UDP as it was connected last. Its methods
// may be called from any goroutine.
type instance struct {
	file   *recorder
	net    *sender
	toFile atomic.Bool // as it was connected last
	opened atomic.Bool // a file was

	mu     sync.Mutex
	topics []*bridges.PublishedTopic // guarded by mu
	sensor string                    // guarded by mu: of the connection, "" for the only one
	chosen bool                      // guarded by mu: sensor is a connection's
}

var (
	_ bridges.Checker    = (*instance)(nil)
	_ bridges.Instance   = (*instance)(nil)
	_ bridges.Audience   = (*instance)(nil)
	_ bridges.Diagnoser  = (*instance)(nil)
	_ bridges.Failer     = (*instance)(nil)
	_ bridges.Reacher    = (*instance)(nil)
	_ bridges.Withdrawer = (*instance)(nil)
)

// way is what sends the scans.
type way interface {
	bridges.Instance
	Err() error
}

func (i *instance) way() way {
	if i.toFile.Load() {
		return i.file
	}
	return i.net
}

// Status is that of the file or of the sockets.
func (i *instance) Status() flow.Status { return i.way().Status() }

// Err returns what ended the connection for good.
func (i *instance) Err() error { return i.way().Err() }

// Diagnosis tells how UDP fared.
func (i *instance) Diagnosis() bridges.Diagnosis { return i.net.Diagnosis() }

// Reached reports whether packets had somewhere to go: a file, or a host that didn't refuse them.
func (i *instance) Reached() bool {
	if i.toFile.Load() {
		return i.opened.Load()
	}
	return i.net.Reached()
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parse(connection)
	return err
}

// Connect opens the file or the sockets. If the run's lidars are known already, the connection string has to name
// one of them, unless there is only one.
func (i *instance) Connect(ctx context.Context, connection string) error {
	c, err := parse(connection)
	if err != nil {
		return err
	}
	if toFile := c.file != ""; toFile != i.toFile.Load() {
		if err := i.way().Disconnect(ctx); err != nil {
			i.net.env.Log.Error("end the former connection", "error", err)
		}
		i.toFile.Store(toFile)
	}
	if err := i.choose(c.sensor); err != nil {
		return err
	}
	if err := i.way().Connect(ctx, connection); err != nil {
		return err
	}
	if c.file != "" {
		i.opened.Store(true)
	}
	return nil
}

// Disconnect sends what was taken and closes the file or the sockets.
func (i *instance) Disconnect(ctx context.Context) error {
	i.mu.Lock()
	i.chosen = false
	i.mu.Unlock()
	return i.way().Disconnect(ctx)
}

// choose takes the sensor that a connection string names.
func (i *instance) choose(sensor string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	names := i.names()
	switch {
	case sensor == "" && len(names) > 1:
		return several(names)
	case sensor != "" && len(names) > 0 && !slices.ContainsFunc(i.topics, func(t *bridges.PublishedTopic) bool { return isOf(t, sensor) }):
		return fmt.Errorf("%w: sensor=%s: the run has no such lidar; %s", bridges.ErrConnectionString, sensor, fault.Hint(sensor, names))
	}
	i.sensor, i.chosen = sensor, true
	return nil
}

// several is the error of lidars none of which is named.
func several(names []string) error {
	return fmt.Errorf("%w: the run has the lidars %s: name one with sensor=NAME, and add a bridge for each", bridges.ErrConnectionString, strings.Join(names, ", "))
}

// names are those of the lidars; mu must be held.
func (i *instance) names() []string {
	var names []string
	for _, t := range i.topics {
		name := t.Sensor
		if name == "" {
			name = t.Name
		}
		names = append(names, name)
	}
	return names
}

// isOf reports whether a topic is a sensor's of that name, or has the name itself.
func isOf(t *bridges.PublishedTopic, sensor string) bool {
	return t.Sensor == sensor || t.Name == sensor
}

// publisher returns what sends a topic's scans. A second topic needs a connection that names one.
func (i *instance) publisher(topic *bridges.PublishedTopic) (bridges.Publisher[*sample.PointCloud], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.topics = append(i.topics, topic)
	if i.chosen && i.sensor == "" && len(i.topics) > 1 {
		err := several(i.names())
		i.topics = i.topics[:len(i.topics)-1]
		return nil, err
	}
	toFile, toNet := i.file.publisher(topic), i.net.publisher(topic)
	return func(ctx context.Context, m *sample.PointCloud) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case !i.Listening(topic.Name):
			return fmt.Errorf("%w: the bridge sends another lidar's packets", flow.ErrNotConnected)
		case i.toFile.Load():
			return ofRun(topic, toFile(ctx, m))
		default:
			return ofRun(topic, toNet(ctx, m))
		}
	}, nil
}

// ofRun says of a scan that can't be sent and that no sensor of the run has made, that it is a recording's.
func ofRun(topic *bridges.PublishedTopic, err error) error {
	if topic.Sensor == "" && errors.Is(err, bridges.ErrConvert) {
		return fmt.Errorf("a recording's scans have no numbers of rays, which tell lasers and columns, so record packets in the run itself: %w", err)
	}
	return err
}

// Withdraw forgets a topic.
func (i *instance) Withdraw(topic *bridges.PublishedTopic) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.topics = slices.DeleteFunc(i.topics, func(t *bridges.PublishedTopic) bool { return t == topic })
}

// Listening reports whether a topic's scans are sent.
func (i *instance) Listening(topic string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(i.topics, func(t *bridges.PublishedTopic) bool {
		return t.Name == topic && (i.sensor == "" || isOf(t, i.sensor))
	})
}

// Receivers counts one for the topic that is sent: UDP has no count.
func (i *instance) Receivers(topic string) int {
	if i.Listening(topic) {
		return 1
	}
	return 0
}
