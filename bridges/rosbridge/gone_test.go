package rosbridge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestClientsThatGoLeaveNothing: a thousand clients subscribe, advertise, begin a message in
// fragments and call a service, and go by RST.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	b := listening(t, "?clients=1000")
	_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	said := []byte(bridgetest.Upgrade(""))
	for _, text := range []string{
		`{"op":"subscribe","topic":"/imu","throttle_rate":10,"queue_length":5}`,
		`{"op":"advertise","topic":"/a","type":"std_msgs/String"}`,
		`{"op":"fragment","id":"f","num":0,"total":2,"data":"` + strings.Repeat("x", 64<<10) + `"}`,
		`{"op":"call_service","service":"/rosapi/get_time","id":"done"}`,
	} {
		said = bridgetest.AppendFrame(said, 1, text)
	}
	bridgetest.Visits{Address: address(b), Said: said, Until: `"id":"done"`, Leave: bridgetest.Reset}.Run(t)
	assert.EqualValues(t, 1000, b.Diagnosis().Connections)
	assert.False(t, b.Listening("/imu"))
}
