package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// What the status was at the end outlives the end.
func TestStatusAtEnd(t *testing.T) {
	for _, status := range []bridges.Status{bridges.Connected, bridges.UnexpectedlyDisconnected, bridges.Connecting} {
		instance := &fakeInstance{}
		b := openFake(t, instance)
		assert.Equal(t, bridges.Disconnected, b.StatusAtEnd())
		require.NoError(t, b.Connect(t.Context()))
		assert.Equal(t, bridges.Connected, b.StatusAtEnd())
		instance.status = status
		assert.Equal(t, status, b.StatusAtEnd())
		require.NoError(t, b.Close(t.Context()))
		assert.Equal(t, bridges.Disconnected, b.Status())
		assert.Equal(t, status, b.StatusAtEnd())
		require.NoError(t, b.Close(t.Context()))
		assert.Equal(t, status, b.StatusAtEnd(), "of the first Close")
	}
}

// reacher is an instance that judges its peer by itself.
type reacher struct {
	*fakeInstance
	reached bool
}

func (r *reacher) Reached() bool { return r.reached }

// Having been Connected is no proof of a peer where the instance knows better.
func TestEverConnectedIsWhatTheInstanceKnows(t *testing.T) {
	r := &reacher{fakeInstance: &fakeInstance{}}
	b, err := bridges.MustRegistry(reachers{r}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	assert.Equal(t, bridges.Connected, b.Status())
	assert.False(t, b.EverConnected())
	r.reached = true
	assert.True(t, b.EverConnected())
}

type reachers struct{ *reacher }

func (reachers) Info() bridges.Info { return (&fakeFactory{name: "fake"}).Info() }

func (reachers) Register(*bridges.Plugin) error { return nil }

func (f reachers) NewInstance(bridges.Env) (bridges.Instance, error) { return f.reacher, nil }

// counted is an instance whose connections come and go faster than anybody looks.
type counted struct{ *fakeInstance }

func (counted) Info() bridges.Info                                  { return (&fakeFactory{name: "fake"}).Info() }
func (counted) Register(*bridges.Plugin) error                      { return nil }
func (f counted) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }
func (counted) Diagnosis() bridges.Diagnosis                        { return bridges.Diagnosis{Connections: 1, Failures: 1} }

func TestEverConnectedThoughNobodyLooked(t *testing.T) {
	b, err := bridges.MustRegistry(counted{&fakeInstance{}}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	assert.Equal(t, bridges.Disconnected, b.Status())
	assert.True(t, b.EverConnected())
}
