package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// parameters is an instance whose clients read parameters.
type parameters struct {
	*fakeInstance
	offered map[string]bridges.Parameter
	changed []string
}

func (p *parameters) AddParameter(added bridges.Parameter) error {
	if _, ok := p.offered[added.Name]; ok {
		return bridges.ErrDuplicate
	}
	p.offered[added.Name] = added
	return nil
}

func (p *parameters) ParameterChanged(name string) { p.changed = append(p.changed, name) }

func TestParameters(t *testing.T) {
	server := &parameters{fakeInstance: &fakeInstance{}, offered: map[string]bridges.Parameter{}}
	b, err := bridges.MustRegistry(&described{fakeFactory: fakeFactory{name: "fake"}, other: server}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	seed := bridges.Parameter{Name: "/seed", Get: func() any { return 7.0 }}
	require.NoError(t, bridges.AddParameter(b, seed))
	assert.Equal(t, 7.0, server.offered["/seed"].Get())
	err = bridges.AddParameter(b, seed)
	assert.ErrorIs(t, err, bridges.ErrDuplicate)
	assert.ErrorContains(t, err, `bridge "fake": parameter "/seed"`)
	assert.ErrorIs(t, bridges.AddParameter(b, bridges.Parameter{}), bridges.ErrTopicName)
	bridges.ParameterChanged(b, "/seed")
	assert.Equal(t, []string{"/seed"}, server.changed)

	b = openFake(t, &fakeInstance{})
	assert.ErrorIs(t, bridges.AddParameter(b, seed), bridges.ErrNoConverter, "the bridge has no parameters")
	bridges.ParameterChanged(b, "/seed")
}
