package link_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/link"
	"github.com/raybridge/raybridge/flow"
)

// clients is a factory of bridges that embed a client.
type clients struct{ peer *peer }

type instance struct {
	link.Client
	peer *peer
}

func (clients) Info() bridges.Info { return topics{}.Info() }

func (clients) Register(p *bridges.Plugin) error {
	return errors.Join(bridges.AddType[string](p, "text"),
		bridges.AddPublisherCreator(p, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[string], error) {
			c := i.(*instance)
			c.Register(frame(info.Name))
			out := c.NewWay(info)
			return func(ctx context.Context, text string) error {
				b := out.Buffer(len(text) + 1)
				b.Adopt(frame(text))
				return out.Send(ctx, b)
			}, nil
		}))
}

func (f clients) NewInstance(bridges.Env) (bridges.Instance, error) {
	return &instance{peer: f.peer}, nil
}

func (i *instance) Connect(ctx context.Context, _ string) error {
	return i.Open(ctx, link.Config{Dial: i.peer.dial})
}

// What was registered and published goes to the link of each Connect.
func TestClientOutlivesItsLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		b, err := bridges.MustRegistry(clients{&p}).Open("test:", bridges.Env{})
		require.NoError(t, err)
		publish := func(topic string) bridges.Publisher[string] {
			publish, err := bridges.AddPublisher[string](b, bridges.Topic{Name: topic})
			require.NoError(t, err)
			return publish
		}
		assert.Equal(t, bridges.Disconnected, b.Status())
		assert.NoError(t, b.Err())
		assert.Zero(t, b.Diagnosis())
		require.NoError(t, b.Disconnect(t.Context()))
		a := publish("/a")
		for range 2 {
			require.NoError(t, b.Connect(t.Context()))
			assert.Equal(t, "/a", p.take(t))
			synctest.Wait()
			assert.Equal(t, bridges.Connected, b.Status())
			require.NoError(t, a(t.Context(), "1"))
			assert.Equal(t, "1", p.take(t))
		}
		late := publish("/late")
		require.NoError(t, late(t.Context(), "2"))
		assert.Equal(t, "/late", p.take(t))
		assert.Equal(t, "2", p.take(t))
		require.NoError(t, b.Disconnect(t.Context()))
		assert.ErrorIs(t, a(t.Context(), "3"), bridges.ErrNotConnected)
		assert.EqualValues(t, 2, b.Diagnosis().Connections, "of both links")
		assert.EqualValues(t, 3, b.Statistics().Messages)

		var c link.Client
		assert.ErrorIs(t, c.Post(nil), bridges.ErrNotConnected)
		way := c.NewWay(&bridges.PublishedTopic{})
		assert.ErrorIs(t, way.Send(t.Context(), flow.Buffer{}), bridges.ErrNotConnected)
		require.NoError(t, b.Close(t.Context()))
	})
}
