package ros2lgsvl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A bridge dials an address of IPv6 in brackets.
func TestIPv6(t *testing.T) {
	s := lgsvltest.New(lgsvltest.Config{Address: "[::1]:0"})
	if err := s.Start(); err != nil {
		t.Skipf("this machine has no loopback address of IPv6: %v", err)
	}
	t.Cleanup(s.Kill)
	require.True(t, strings.HasPrefix(s.Address(), "[::1]:"), s.Address())
	b := open(t, s.Address())
	connect(t, b)
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &sample.Clock{}))
	eventually(t, func() bool { return s.Received()["/clock"] == 1 }, "it arrives")
	assert.NoError(t, b.Err())
}
