package foxglove_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A time that the protocol can't express is an error, and not one in 500 years.
func TestTimesBeforeTheEpoch(t *testing.T) {
	b := connected(t, "")
	tick := publisher[*sample.Clock](t, b, bridges.Topic{Name: "/clock"})
	image := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	c, _, _ := dial(t, b)
	c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":2}]}`)
	c.synced()
	early := &sample.Image{}
	early.Stamp = -1
	assert.ErrorIs(t, tick(t.Context(), &sample.Clock{Stamp: -1}), bridges.ErrConvert)
	assert.ErrorIs(t, image(t.Context(), early), bridges.ErrConvert)
	require.NoError(t, image(t.Context(), &sample.Image{}))
	_, ns := c.message(1)
	assert.Zero(t, ns, "nothing came before")
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 2}, b.Statistics().Drops)
}
