package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestClientsThatGoLeaveNothing: a thousand clients subscribe and go by FIN, and by RST.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := connect(t, bridges.Env{}, "0?clients=1000")
	_, err := bridges.AddPublisher[*sample.Speed](b, bridges.Topic{Name: "/speed"})
	require.NoError(t, err)
	said := []byte("RBSTREAM\x02\x00\x00\x00\x0a\x00\x00\x00" + "\x01\x00" + "\x06\x00/speed") // docs/stream-protocol.md
	visits := bridgetest.Visits{Address: b.Endpoints()[0].Address, Said: said, Until: "/speed"}
	visits.Run(t)
	visits.Leave = bridgetest.Reset
	visits.Run(t)
	assert.EqualValues(t, 2000, b.Diagnosis().Connections)
	assert.False(t, b.Listening("/speed"))
}
