//go:build peers

package foxglove_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Foxglove's client with TLS. Those that mistake a server with TLS for one without, or the
// other way round, are told by the server and counted. Node trusts the certificates of the file
// NODE_EXTRA_CA_CERTS beside the system's (nodejs.org/api/cli.html).
func TestFoxglovesClientSpeaksTLS(t *testing.T) {
	cert, key, _ := certificate(t)
	encrypted := connected(t, "?cert="+url.QueryEscape(cert)+"&key="+url.QueryEscape(key))
	plain := connected(t, "")
	viewer := func(b *bridges.Bridge, scheme string, env ...string) *bridgetest.Process {
		address := strings.Replace(address(b), "ws://", scheme, 1)
		return bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/viewer.mjs", address, "count").With(env...))
	}
	trusting := "NODE_EXTRA_CA_CERTS=" + cert

	publish := publisher[*sample.Image](t, encrypted, bridges.Topic{Name: "/image"})
	reads := viewer(encrypted, "wss://", trusting)
	reads.Expect(t, "subscribed")
	require.Eventually(t, func() bool { return encrypted.Listening("/image") }, bridgetest.Patience, tick)
	require.NoError(t, publish(t.Context(), bridgetest.Image(7)))
	assert.Equal(t, 1, counted(t, reads, "/image"))
	assert.Zero(t, encrypted.Diagnosis().Failures)

	failed := func(b *bridges.Bridge, times int64, says string) {
		t.Helper()
		require.Eventually(t, func() bool { return b.Diagnosis().Failures == times }, bridgetest.Patience, tick)
		require.ErrorIs(t, b.Diagnosis().LastError, bridges.ErrTLS)
		assert.ErrorContains(t, b.Diagnosis().LastError, says)
	}
	viewer(encrypted, "wss://").Expect(t, "self-signed certificate")
	failed(encrypted, 1, "does it trust the certificate?")
	viewer(encrypted, "ws://").Expect(t, "Unexpected server response: 400")
	failed(encrypted, 2, "connect with wss://")
	viewer(plain, "wss://", trusting).Expect(t, "wrong version number")
	failed(plain, 1, "connect with ws://")

	require.NoError(t, publish(t.Context(), bridgetest.Image(8)), "nothing is lost elsewhere")
	assert.Equal(t, 2, counted(t, reads, "/image"))
}
