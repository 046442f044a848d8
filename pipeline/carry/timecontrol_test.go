package carry_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// desk is a scripted bridge whose clients call services and set parameters.
type desk struct {
	peer
	pause      bridges.ServiceHandler[sample.SetBoolRequest, sample.SetBoolResponse]
	step       bridges.ServiceHandler[sample.TriggerRequest, sample.TriggerResponse]
	parameters map[string]bridges.Parameter
	changed    []string
}

func (d *desk) Info() bridges.Info {
	return bridges.Info{Name: "desk", Type: "desk", Kind: bridges.KindNetwork, Summary: "scripted", Connection: "ANY"}
}

func (d *desk) Register(to *bridges.Plugin) error {
	return errors.Join(
		bridges.RegService(to, "SetBool", func(_ bridges.Instance, name string, h bridges.ServiceHandler[sample.SetBoolRequest, sample.SetBoolResponse]) error {
			d.pause = h
			return nil
		}),
		bridges.RegService(to, "Trigger", func(_ bridges.Instance, name string, h bridges.ServiceHandler[sample.TriggerRequest, sample.TriggerResponse]) error {
			d.step = h
			return nil
		}))
}

func (d *desk) NewInstance(bridges.Env) (bridges.Instance, error) {
	d.parameters = map[string]bridges.Parameter{}
	return &deskInstance{&d.peer, d}, nil
}

type deskInstance struct {
	*peer
	desk *desk
}

func (i *deskInstance) AddParameter(p bridges.Parameter) error {
	i.desk.parameters[p.Name] = p
	return nil
}

func (i *deskInstance) ParameterChanged(name string) {
	i.desk.changed = append(i.desk.changed, name)
}

// TestClientsOfBridgesControlTime pauses, steps and scales a run.
func TestClientsOfBridgesControlTime(t *testing.T) {
	d := &desk{}
	h := newHost(t, false, d)
	h.attach("desk:x", "")
	defer h.clock.Subscribe(h.TimeChanged)()
	res, err := d.pause(t.Context(), sample.SetBoolRequest{Data: true})
	require.NoError(t, err)
	assert.True(t, res.Success)
	assert.True(t, h.clock.Paused())
	assert.Equal(t, true, d.parameters["/raybridge/paused"].Get())
	stepped, err := d.step(t.Context(), sample.TriggerRequest{})
	require.NoError(t, err)
	assert.True(t, stepped.Success, stepped.Message)

	require.NoError(t, d.parameters["/raybridge/paused"].Set(false))
	assert.False(t, h.clock.Paused())
	stepped, err = d.step(t.Context(), sample.TriggerRequest{})
	require.NoError(t, err)
	assert.False(t, stepped.Success)
	assert.Contains(t, stepped.Message, "paused", "says why not")

	require.NoError(t, d.parameters["/raybridge/time_scale"].Set(2.0))
	assert.InDelta(t, 2, h.clock.Scale().Float64(), 0)
	assert.Error(t, d.parameters["/raybridge/time_scale"].Set("fast"))
	assert.Error(t, d.parameters["/raybridge/time_scale"].Set(-1.0))
	assert.Error(t, d.parameters["/raybridge/paused"].Set(1.0))
	assert.Equal(t, "engine", d.parameters["/raybridge/time_source"].Get())
	assert.Nil(t, d.parameters["/raybridge/time_source"].Set)
	assert.Equal(t, []string{"/raybridge/paused", "/raybridge/paused", "/raybridge/time_scale"}, d.changed)
}
