package ros_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// wheel is a message, measured what it is made of.
type wheel struct {
	Header ros.Header
	Slip   float64
}

func (*wheel) TypeName() string { return "ros_test_msgs/msg/Wheel" }

func (m *wheel) Fields(v ros.Visitor) {
	v.Message("header", &m.Header)
	v.Value("slip", ros.Of(&m.Slip))
}

type measured struct {
	sample.Header
	slip float64
}

func fromWheel(dst *measured, src *wheel) error {
	dst.Header, dst.slip = ros.SampleHeader(&src.Header), src.Slip
	return nil
}

var published = ros.Publish(func(dst *wheel, src *measured) error {
	dst.Slip = src.slip
	return ros.SetHeader(&dst.Header, &src.Header)
})

func types(t *testing.T, registry *bridges.Registry, name string) map[string]bridges.TypeInfo {
	t.Helper()
	p, err := registry.Plugin(name)
	require.NoError(t, err)
	byGo := map[string]bridges.TypeInfo{}
	for _, info := range p.Types() {
		byGo[info.Go] = info
	}
	return byGo
}

// TestEveryBridgeToROSTakesTypes: both ways, by the names that their protocols have.
func TestEveryBridgeToROSTakesTypes(t *testing.T) {
	registry := all.Registry()
	wires := map[string]string{
		"foxglove": "ros_test_msgs/msg/Wheel", "ros2dds": "ros_test_msgs/msg/Wheel",
		"ros1": "ros_test_msgs/Wheel", "ros2lgsvl": "ros_test_msgs/Wheel", "rosapollo": "ros_test_msgs/Wheel", "rosbridge": "ros_test_msgs/Wheel",
	}
	for name, wire := range wires {
		require.NoError(t, ros.Register(registry, published, name))
		require.NoError(t, ros.Register(registry, ros.Subscribe(fromWheel), name))
		assert.Equal(t, bridges.TypeInfo{Go: "*ros_test.measured", Wire: wire, Publishes: true, Subscribes: true}, types(t, registry, name)["*ros_test.measured"], name)
	}
	for _, name := range []string{"mcap", "logging", "stream"} {
		require.NoError(t, ros.Register(registry, published, name))
		assert.True(t, types(t, registry, name)["*ros_test.measured"].Publishes, name)
		require.ErrorIs(t, ros.Register(registry, ros.Subscribe(fromWheel), name), bridges.ErrNoConverter)
	}
	for _, name := range []string{"carla", "cyber"} {
		require.ErrorIs(t, ros.Register(registry, published, name), bridges.ErrNoConverter, name)
	}
}

func TestNothingIsRegisteredWithABridgeThatThereIsNot(t *testing.T) {
	registry := bridges.MustRegistry(mcap.Factory{}, apollo.Cyber{})
	err := ros.Register(registry, published, "mcap", "mcup", "cyber")
	require.ErrorIs(t, err, bridges.ErrUnknownBridge)
	require.ErrorIs(t, err, bridges.ErrNoConverter)
	require.ErrorContains(t, err, `bridge "cyber" can't publish ros_test_msgs/msg/Wheel`)
	assert.NotContains(t, types(t, registry, "mcap"), "*ros_test.measured")
	require.NoError(t, ros.Register(registry, published, "mcap"))
}

// TestTheFirstRegistrationHolds: the other bridges get theirs all the same.
func TestTheFirstRegistrationHolds(t *testing.T) {
	registry := bridges.MustRegistry(mcap.Factory{}, ros1.Factory{}, logging.Factory{})
	require.NoError(t, ros.Register(registry, published, "ros1"))
	renamed := ros.Publish(func(*ros.Twist, *measured) error { return nil })
	require.ErrorIs(t, ros.Register(registry, renamed, "mcap", "ros1", "logging"), bridges.ErrDuplicate)
	for name, wire := range map[string]string{"ros1": "ros_test_msgs/Wheel", "mcap": "geometry_msgs/msg/Twist", "logging": "geometry_msgs/msg/Twist"} {
		assert.Equal(t, wire, types(t, registry, name)["*ros_test.measured"].Wire, name)
	}
}

// impostor has wheel's name and other fields.
type impostor struct{ Speed float64 }

func (*impostor) TypeName() string       { return "ros_test_msgs/msg/Wheel" }
func (m *impostor) Fields(v ros.Visitor) { v.Value("speed", ros.Of(&m.Speed)) }

func TestTheFirstDefinitionHolds(t *testing.T) {
	require.NoError(t, ros.Register(bridges.MustRegistry(mcap.Factory{}), published, "mcap"))
	registry := bridges.MustRegistry(mcap.Factory{}, ros1.Factory{})
	other := ros.Publish(func(*impostor, *measured) error { return nil })
	require.ErrorIs(t, ros.Register(registry, other, "mcap", "ros1"), bridges.ErrDuplicate)
	subscribed := ros.Subscribe(func(*measured, *impostor) error { return nil })
	require.ErrorIs(t, ros.Register(registry, subscribed, "ros1"), bridges.ErrDuplicate)
	assert.NotContains(t, types(t, registry, "ros1"), "*ros_test.measured", "not even its type")
}

// TestConversionsThatFailAreCounted: with what the bridge would have sent.
func TestConversionsThatFailAreCounted(t *testing.T) {
	registry := bridges.MustRegistry(mcap.Factory{}, logging.Factory{})
	refusing := ros.Publish(func(*wheel, *measured) error { return errors.New("no slip") })
	require.NoError(t, ros.Register(registry, refusing, "mcap", "logging"))
	for _, spec := range []string{"mcap:a.mcap", "logging:a"} {
		b, err := registry.Open(spec, bridges.Env{OutDir: t.TempDir()})
		require.NoError(t, err)
		publish, err := bridges.AddPublisher[*measured](b, bridges.Topic{Name: "/wheel"})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		require.ErrorIs(t, publish(t.Context(), &measured{}), bridges.ErrConvert)
		assert.EqualValues(t, 1, b.Statistics().Drops[flow.CauseConvertFailed])
		require.NoError(t, b.Close(t.Context()))
	}
}
