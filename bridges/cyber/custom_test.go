package cyber_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/cyber"
	"github.com/raybridge/raybridge/bridges/cyber/cybertest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// jerk and goal are types that the bridge doesn't know.
type jerk struct {
	sample.Header
	value float64
}

type goal struct{ name string }

var errNegative = errors.New("a negative jerk")

func jerkAs(dst *wrapperspb.DoubleValue, src *jerk) error {
	if src.value < 0 {
		return errNegative
	}
	if src.value > 0 { // what isn't set stays empty
		dst.Value = src.value
	}
	return nil
}

func goalOf(dst *goal, src *wrapperspb.StringValue) error {
	if src.GetValue() == "" {
		return errors.New("a goal without a name")
	}
	dst.name = src.GetValue()
	return nil
}

// Types from outside go out with descriptors of their own, and come in.
func TestTypesOfOnesOwn(t *testing.T) {
	server := newServer(t, cybertest.Config{})
	server.Start(t)
	registry := bridges.MustRegistry(cyber.Factory{})
	plugin, err := registry.Plugin("cyber")
	require.NoError(t, err)
	require.NoError(t, cyber.RegPublisher(plugin, jerkAs))
	require.NoError(t, cyber.RegSubscriber(plugin, goalOf))
	assert.ErrorIs(t, cyber.RegPublisher(plugin, jerkAs), bridges.ErrDuplicate)
	assert.ErrorIs(t, cyber.RegSubscriber(plugin, goalOf), bridges.ErrDuplicate)

	b, err := registry.Open("cyber:"+server.Connection(), bridges.Env{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close(context.Background())) }()
	publish, err := bridges.AddPublisher[*jerk](b, bridges.Topic{Name: "/comfort"})
	require.NoError(t, err)
	goals := make(chan *goal, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/goal"}, func(g *goal) { goals <- g }))
	require.NoError(t, b.Connect(t.Context()))
	require.Eventually(t, func() bool {
		return b.Status() == bridges.Connected && server.Ready("/comfort") && len(server.Readers()) == 1
	}, patience, tick)

	for n, value := range []float64{2.5, 0} {
		require.NoError(t, publish(t.Context(), &jerk{value: value}))
		require.Eventually(t, func() bool { return server.Received()["/comfort"] == n+1 }, patience, tick)
		m, err := server.Last("/comfort")
		require.NoError(t, err)
		assert.EqualValues(t, "google.protobuf.DoubleValue", m.Descriptor().FullName())
		assert.Equal(t, value, m.Get(m.Descriptor().Fields().ByName("value")).Float())
	}
	assert.ErrorIs(t, publish(t.Context(), &jerk{value: -1}), errNegative)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Drops)

	for _, name := range []string{"", "home"} {
		data, err := proto.Marshal(wrapperspb.String(name))
		require.NoError(t, err)
		server.Publish("/goal", data)
	}
	select {
	case g := <-goals:
		assert.Equal(t, goal{"home"}, *g)
	case <-time.After(patience):
		require.Fail(t, "nothing arrived")
	}
	assert.EqualValues(t, 1, b.Diagnosis().Malformed)
	assert.Empty(t, server.Log())
}
