package foxglove_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestViewersThatGoLeaveNothing: a thousand viewers subscribe, advertise and ask, and go by RST.
func TestViewersThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	b := connected(t, "?clients=1000")
	publisher[*sample.Imu](t, b, bridges.Topic{Name: "/imu"})
	said := []byte(bridgetest.Upgrade("foxglove.sdk.v1"))
	for _, text := range []string{
		`{"op":"subscribe","subscriptions":[{"id":7,"channelId":1}]}`,
		`{"op":"advertise","channels":[{"id":1,"topic":"/a","encoding":"json","schemaName":"` + strings.Repeat("x", 64<<10) + `"}]}`,
		`{"op":"subscribeParameterUpdates","parameterNames":["/raybridge/version"]}`,
		`{"op":"getParameters","parameterNames":["/raybridge/version"],"id":"done"}`,
	} {
		said = bridgetest.AppendFrame(said, 1, text)
	}
	bridgetest.Visits{Address: b.Endpoints()[0].Address, Said: said, Until: `"id":"done"`, Leave: bridgetest.Reset}.Run(t)
	assert.EqualValues(t, 1000, b.Diagnosis().Connections)
	assert.False(t, b.Listening("/imu"))
}
