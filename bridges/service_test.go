package bridges_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

func TestServices(t *testing.T) {
	type handler = bridges.ServiceHandler[*note, *note]
	offered := map[string]handler{}
	var refusal error
	factory := &fakeFactory{name: "fake", instance: &fakeInstance{}, register: func(p *bridges.Plugin) error {
		return errors.Join(
			bridges.RegService(p, "fake/Echo", func(_ *fakeInstance, name string, handle handler) error {
				if refusal == nil {
					offered[name] = handle
				}
				return refusal
			}),
			bridges.RegService(p, "fake/Alike", func(*fakeInstance, string, bridges.ServiceHandler[*memo, *note]) error { return nil }))
	}}
	registry := bridges.MustRegistry(factory)
	plugin, err := registry.Plugin("fake")
	require.NoError(t, err)
	assert.Equal(t, []bridges.ServiceInfo{
		{Request: "*bridges_test.memo", Response: "*bridges_test.note", Wire: "fake/Alike"},
		{Request: "*bridges_test.note", Response: "*bridges_test.note", Wire: "fake/Echo"},
	}, plugin.Services())
	b, err := registry.Open("fake:", bridges.Env{})
	require.NoError(t, err)
	echo := func(_ context.Context, request *note) (*note, error) { return request, nil }

	refusal = errors.New("no room")
	err = bridges.AddService(b, "/echo", echo)
	assert.ErrorIs(t, err, refusal)
	assert.ErrorContains(t, err, `bridge "fake": offer service "/echo"`)
	refusal = nil
	require.NoError(t, bridges.AddService(b, "/echo", echo), "a refused service doesn't take the name")
	response, err := offered["/echo"](t.Context(), &note{"x"})
	require.NoError(t, err)
	assert.Equal(t, &note{"x"}, response)

	err = bridges.AddService(b, "/echo", echo)
	assert.ErrorIs(t, err, bridges.ErrService)
	assert.ErrorContains(t, err, `"/echo" is offered already`)
	assert.ErrorIs(t, bridges.AddService(b, "", echo), bridges.ErrTopicName)
	assert.ErrorIs(t, bridges.AddService(b, "/other", func(context.Context, *note) (*memo, error) { return nil, nil }), bridges.ErrNoConverter)
}

func TestServicesOfAnotherTypeOfInstanceAreRefused(t *testing.T) {
	b, err := bridges.MustRegistry(&described{other: audience{&fakeInstance{}}, fakeFactory: fakeFactory{name: "fake", register: func(p *bridges.Plugin) error {
		return bridges.RegService(p, "fake/Echo", func(*fakeInstance, string, bridges.ServiceHandler[*note, *note]) error { return nil })
	}}}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	err = bridges.AddService(b, "/echo", func(context.Context, *note) (*note, error) { return nil, nil })
	assert.ErrorContains(t, err, "an instance is a bridges_test.audience, its messages are for *bridges_test.fakeInstance")
}
