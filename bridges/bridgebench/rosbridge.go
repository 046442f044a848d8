package bridgebench

import (
	"context"
	"errors"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/bridges/rosbridge/rosbridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// rosCloud is the size of the clouds that go over rosbridge, bytes.
const rosCloud = 1_500_000

// rosbridgeContests send clouds of 1.5 MB to a server that throws them away, and for the
// comparison of BSON with JSON to one that takes each message apart, as servers do: what
// counts then is how many clouds get through.
func rosbridgeContests() []Contest {
	return []Contest{
		{
			Name: "rosbridge_bson", Plain: "a WebSocket client that writes one buffer again and again", Want: 0,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "&bson=1") },
			plain:  func(ctx context.Context) (way, error) { return plainClient(ctx, make([]byte, rosCloud)) },
		},
		{
			Name: "rosbridge_bson_over_json", Plain: "the same bridge with JSON, to a server that decodes both", Want: 4, perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openDecoded(ctx, true) },
			plain:  func(ctx context.Context) (way, error) { return openDecoded(ctx, false) },
		},
		{
			Name: "rosbridge_json", Plain: "the JSON encoder, while as much ready text is sent beside it", Want: 0.9, perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "") },
			plain:  func(ctx context.Context) (way, error) { return newEncoder(ctx, true) },
		},
		{
			Name: "rosbridge_json_idle", Plain: "the JSON encoder alone, on a machine that does nothing else", perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "") },
			plain:  func(ctx context.Context) (way, error) { return newEncoder(ctx, false) },
		},
	}
}

func openRosbridge(ctx context.Context, options string) (way, error) {
	sink, err := newTCPSink(ctx, acceptWS)
	if err != nil {
		return nil, err
	}
	w, err := openBridge[*sample.PointCloud](ctx, connected{rosbridge.Factory{}, sink.address + "?messages=4" + options, 1}, cloud(rosCloud))
	if err != nil {
		return nil, errors.Join(err, sink.close())
	}
	w.ended = sink.close
	before := int64(0) // bytes of the advertisement and the first message
	w.arrived = func(ctx context.Context, n int64) (err error) {
		if n == 1 {
			before, err = sink.settled(ctx, w.bytes)
			return err
		}
		return sink.bytes.await(ctx, before+(n-1)*(w.bytes+maskedHeader))
	}
	return w.begin(ctx)
}

// openDecoded sends to a server that decodes every message.
func openDecoded(ctx context.Context, bson bool) (way, error) {
	arrived, options := newCounter(), ""
	if bson {
		options = "&bson=1"
	}
	s := rosbridgetest.New(rosbridgetest.Config{
		BSONOnly: bson, Keep: 1, Published: func(string, rosbridgetest.Message) { arrived.add(1) },
	})
	if err := s.Start(); err != nil {
		return nil, err
	}
	ended := func() error {
		s.Kill()
		return nil
	}
	w, err := openBridge[*sample.PointCloud](ctx, connected{rosbridge.Factory{}, s.Addr() + "?messages=4" + options, 1}, cloud(rosCloud))
	if err != nil {
		return nil, errors.Join(err, ended())
	}
	w.ended, w.arrived = ended, arrived.await
	return w.begin(ctx)
}

// encoder writes a message as JSON again and again, sample by sample. Beside it a plain
// writer sends a text of the same size for each, which was encoded before: the processors
// then have as much to do as with the bridge, but neither waits for the other.
type encoder struct {
	encoder encode.TreeEncoder
	message ros.PointCloud2
	cloud   *sample.PointCloud
	text    []byte
	beside  *plainTCP // nil for an encoder alone
}

func newEncoder(ctx context.Context, beside bool) (*encoder, error) {
	e := &encoder{encoder: encode.TreeEncoder{Version: ros.ROS1}, cloud: cloud(rosCloud)}
	if err := e.encode(); err != nil || !beside {
		return e, err
	}
	var err error
	e.beside, err = newPlainTCP(ctx, make([]byte, len(e.text)))
	return e, err
}

func (e *encoder) encode() error {
	if err := rossample.PointCloud2(&e.message, e.cloud); err != nil {
		return err
	}
	e.text = e.encoder.Append(e.text[:0], &e.message)
	return e.encoder.Err()
}

func (e *encoder) size() int64 { return int64(len(e.text)) }

func (e *encoder) send(ctx context.Context, messages int) error {
	encoded := make(chan struct{}, messages)
	sent := make(chan error, 1)
	go func() {
		var err error
		for range encoded {
			if e.beside != nil && err == nil {
				err = e.beside.send(ctx, 1)
			}
		}
		sent <- err
	}()
	var err error
	for range messages {
		if err = e.encode(); err != nil {
			break
		}
		encoded <- struct{}{}
	}
	close(encoded)
	return errors.Join(err, <-sent)
}

func (e *encoder) close() error {
	if e.beside == nil {
		return nil
	}
	return e.beside.close()
}
