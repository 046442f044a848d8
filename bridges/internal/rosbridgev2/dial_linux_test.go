package rosbridgev2_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
)

// deaf returns the address of a socket whose queue is full: nothing answers who connects.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return address
}

// dialling returns how many goroutines wait for a connection to be made.
func dialling() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "net.(*sysDialer).dialTCP(")
}

// Nothing dials any more once a client is disconnected.
func TestDisconnectEndsDialling(t *testing.T) {
	config, err := parse(deaf(t), nil)
	require.NoError(t, err)
	var c rosbridgev2.Client
	require.NoError(t, c.Connect(t.Context(), config))
	require.Eventually(t, func() bool { return dialling() > 0 }, patience, tick)
	require.NoError(t, c.Disconnect(context.Background()))
	assert.Zero(t, dialling())
}
