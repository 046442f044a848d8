package apollo

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// probe is a bridge that gives every message to a function.
type probe struct {
	take  func(topic string, m protoMessage)
	types map[string]protoreflect.FullName
	boxes map[string]protoInbox
	at    spatial.MapFrame
}

func (p *probe) Info() bridges.Info {
	return bridges.Info{Name: "probe", Type: "probe", Summary: "probe", Connection: "-"}
}

func (p *probe) Register(plugin *bridges.Plugin) error {
	for _, pub := range publications() {
		err := pub.Register(plugin, shortName(pub.Schema), func(i bridges.Instance, topic *bridges.PublishedTopic, d protoreflect.MessageDescriptor) (protoSend, error) {
			topic.SetWire(shortName(d))
			i.(*probe).types[topic.Name] = d.FullName()
			return func(_ context.Context, m protoMessage, stamp simtime.Stamp) error {
				i.(*probe).take(topic.Name, m)
				return nil
			}, nil
		})
		if err != nil {
			return err
		}
	}
	for _, sub := range subscriptions() {
		err := sub.Register(plugin, sub.Type, func(i bridges.Instance, topic bridges.Topic, d protoreflect.MessageDescriptor, in protoInbox) error {
			i.(*probe).boxes[topic.Name] = in
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) NewInstance(bridges.Env) (bridges.Instance, error) { return p, nil }
func (p *probe) Status() flow.Status                               { return flow.Connected }
func (p *probe) Connect(context.Context, string) error             { return nil }
func (p *probe) Disconnect(context.Context) error                  { return nil }
func (p *probe) Map() spatial.MapFrame                             { return p.at }

// open returns a bridge to a probe.
func open(t testing.TB, p *probe) *bridges.Bridge {
	t.Helper()
	p.boxes, p.types = map[string]protoInbox{}, map[string]protoreflect.FullName{}
	b, err := bridges.MustRegistry(p).Open("probe:", bridges.Env{})
	require.NoError(t, err)
	return b
}

// publisher returns what publishes a sample of whatever type.
func publisher(t testing.TB, b *bridges.Bridge, s bridgetest.ApolloSample) func() error {
	t.Helper()
	publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(s.Value), bridges.Topic{Name: s.Channel})
	require.NoError(t, err, s.Name)
	return func() error { return publish(context.Background(), s.Value) }
}

func vector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/wire/cyber", name+".bin"))
	require.NoError(t, err)
	return data
}

// near reports where two messages differ by more than rounding.
func near(t *testing.T, path string, want, got protoreflect.Message) {
	t.Helper()
	fields := want.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		here := path + "." + string(f.Name())
		if !assert.Equal(t, want.Has(f), got.Has(f), here) {
			continue
		}
		switch {
		case f.IsList():
			a, b := want.Get(f).List(), got.Get(f).List()
			if assert.Equal(t, a.Len(), b.Len(), here) {
				for k := range a.Len() {
					near(t, here, a.Get(k).Message(), b.Get(k).Message())
				}
			}
		case f.Message() != nil && want.Has(f):
			near(t, here, want.Get(f).Message(), got.Get(f).Message())
		case f.Message() != nil:
		case f.Kind() == protoreflect.DoubleKind:
			a, b := want.Get(f).Float(), got.Get(f).Float()
			assert.True(t, a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(1, math.Abs(a)), "%s: %v, not %v", here, b, a)
		default:
			assert.True(t, want.Get(f).Equal(got.Get(f)), "%s: %v, not %v", here, got.Get(f), want.Get(f))
		}
	}
	assert.Empty(t, got.GetUnknown(), path)
}

// exact are those messages in which nothing was turned or otherwise computed with.
var exact = map[string]bool{
	"clock": true, "image": true, "compressed_image": true, "point_cloud": true, "point_cloud_organized": true, "laser_scan": true,
	"gnss_fix": true, "ins_status": true, "imu": true, "radar_objects": true, "detections_2d": true, "signals": true,
}

// Messages are those that python3-protobuf makes of what
// testdata/wire/cyber/generate/messages.py says.
func TestAgainstPython(t *testing.T) {
	var message protoMessage
	p := &probe{take: func(_ string, m protoMessage) { message = m }}
	b := open(t, p)
	for _, s := range bridgetest.ApolloSamples() {
		t.Run(s.Name, func(t *testing.T) {
			require.NoError(t, publisher(t, b, s)())
			want := vector(t, s.Name)
			data, err := message.Append([]byte("before"))
			require.NoError(t, err)
			require.Equal(t, "before", string(data[:6]))
			data = data[6:]
			assert.GreaterOrEqual(t, message.Room(), len(data))
			if exact[s.Name] {
				assert.Equal(t, want, data)
			}
			structure := message.Proto()
			assert.Equal(t, p.types[s.Channel], structure.ProtoReflect().Descriptor().FullName())
			expected := structure.ProtoReflect().New().Interface()
			require.NoError(t, proto.Unmarshal(want, expected))
			near(t, s.Name, expected.ProtoReflect(), structure.ProtoReflect())
			marshalled, err := proto.MarshalOptions{Deterministic: true}.Marshal(structure)
			require.NoError(t, err)
			assert.Equal(t, marshalled, data, "the bytes say what the structure says")
		})
	}
}

// A message's memory is used again, whatever was in it.
func TestNothingIsLeftOver(t *testing.T) {
	for _, s := range bridgetest.ApolloSamples() {
		var got []byte
		take := func(_ string, m protoMessage) {
			var err error
			got, err = m.Append(nil)
			require.NoError(t, err)
		}
		empty := bridgetest.ApolloSample{Name: s.Name, Channel: s.Channel, Value: reflect.New(reflect.TypeOf(s.Value).Elem()).Interface()}
		fresh, used := open(t, &probe{take: take}), open(t, &probe{take: take})
		require.NoError(t, publisher(t, fresh, empty)())
		ofEmpty := got
		require.NoError(t, publisher(t, used, s)())
		full := got
		require.NoError(t, publisher(t, used, empty)())
		assert.Equal(t, ofEmpty, got, s.Name)
		require.NoError(t, publisher(t, used, s)())
		assert.Equal(t, full, got, s.Name)
		assert.NotEqual(t, full, ofEmpty, s.Name)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 1<<16)
	b := open(t, &probe{take: func(_ string, m protoMessage) {
		if _, err := m.Append(dst[:0]); err != nil {
			panic(err)
		}
	}, at: spatial.TangentMap(spatial.Geodetic{Latitude: 37.4, Longitude: -122})})
	for _, s := range bridgetest.ApolloSamples() {
		publish := publisher(t, b, s)
		run := func() {
			if err := publish(); err != nil {
				t.Error(err)
			}
		}
		run()
		assert.Zero(t, testing.AllocsPerRun(100, run), s.Name)
	}
}

func TestNames(t *testing.T) {
	b := open(t, &probe{take: func(string, protoMessage) {}})
	for _, s := range bridgetest.ApolloSamples() {
		publisher(t, b, s)
	}
	names := map[string]string{}
	for _, row := range b.Statistics().Topics {
		names[row.Topic] = row.Type
	}
	assert.Equal(t, "pb_msgs/ContiRadar", names["/apollo/sensor/conti_radar"])
	assert.Equal(t, "pb_msgs/Imu", names["/apollo/sensor/gnss/imu"])
	assert.Equal(t, "pb_msgs/CorrectedImu", names["/apollo/sensor/gnss/corrected_imu"])
	assert.Equal(t, "pb_msgs/PointCloud", names["/apollo/sensor/scan"])
}
