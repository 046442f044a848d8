package bridgebench

import (
	"context"
	"errors"

	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
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
			Name: "rosbridge_json", Plain: "the JSON encoder alone, which sends nothing", Want: 0.9, perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "") },
			plain:  func(context.Context) (way, error) { return newEncoder() },
		},
	}
}

func openRosbridge(ctx context.Context, options string) (way, error) {
	sink, err := newTCPSink(ctx, acceptWS)
	if err != nil {
		return nil, err
	}
	w, err := openBridge[*sample.PointCloud](ctx, rosbridge.Factory{}, sink.address+"?messages=4"+options, 1, cloud(rosCloud))
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
	return w, w.begin(ctx)
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
	w, err := openBridge[*sample.PointCloud](ctx, rosbridge.Factory{}, s.Addr()+"?messages=4"+options, 1, cloud(rosCloud))
	if err != nil {
		return nil, errors.Join(err, ended())
	}
	w.ended, w.arrived = ended, arrived.await
	return w, w.begin(ctx)
}

// encoder writes a message as JSON again and again, sample by sample.
type encoder struct {
	encoder rosjson.Encoder
	message rosmsg.PointCloud2
	cloud   *sample.PointCloud
	text    []byte
}

func newEncoder() (*encoder, error) {
	e := &encoder{encoder: rosjson.Encoder{Version: rosmsg.ROS1}, cloud: cloud(rosCloud)}
	return e, e.send(context.Background(), 1)
}

func (e *encoder) size() int64 { return int64(len(e.text)) }

func (e *encoder) send(_ context.Context, messages int) error {
	for range messages {
		if err := rossample.PointCloud2(&e.message, e.cloud); err != nil {
			return err
		}
		e.text = e.encoder.Append(e.text[:0], &e.message)
	}
	return nil
}

func (e *encoder) close() error { return nil }
