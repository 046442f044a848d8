package foxglove_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// The bridge listens on an address of IPv6 in brackets.
func TestIPv6(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("this machine has no loopback address of IPv6: %v", err)
	} else {
		require.NoError(t, l.Close())
	}
	b := open(t, "[::1]:0", bridges.Env{Run: bridges.Run{Version: "1.2.3"}})
	require.NoError(t, b.Connect(t.Context()))
	require.True(t, strings.HasPrefix(b.Endpoints()[0].Address, "[::1]:"), b.Endpoints()[0].Address)
	_, info, _ := dial(t, b)
	assert.NotEmpty(t, info["name"])
}
