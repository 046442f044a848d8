//go:build peers

package rosbridge_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// roslib reads from a server with TLS. Clients that don't trust its certificate, or speak no
// TLS, and one that speaks it to a server without, are counted. Node trusts the certificates
// of the file NODE_EXTRA_CA_CERTS beside the system's (nodejs.org/api/cli.html).
func TestRoslibSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	selfSigned(t, cert, key)
	encrypted, plain := listening(t, "?cert="+cert+"&key="+key), listening(t, "")
	watch := func(url string, env ...string) *bridgetest.Process {
		return bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/roslib.mjs", "watch", url, "/imu", "sensor_msgs/Imu").With(env...))
	}
	trusting := "NODE_EXTRA_CA_CERTS=" + cert

	publish, err := bridges.AddPublisher[*sample.Imu](encrypted, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	reads := watch("wss://"+address(encrypted), trusting)
	reads.Expect(t, "watching")
	eventually(t, "a subscription", func() bool { return encrypted.Listening("/imu") })
	require.NoError(t, publish(t.Context(), &sample.Imu{Header: header(1)}))
	reads.Expect(t, "message")
	assert.Zero(t, encrypted.Diagnosis().Failures)

	for _, c := range []struct {
		server *bridges.Bridge
		url    string
		env    string
		says   string
	}{
		{encrypted, "wss://" + address(encrypted), "NODE_EXTRA_CA_CERTS=", "does it trust the certificate?"},
		{encrypted, "ws://" + address(encrypted), trusting, "connect with wss://"},
		{plain, "wss://" + address(plain), trusting, "connect with ws://"},
	} {
		before := c.server.Diagnosis().Failures
		client := watch(c.url, c.env) // it tries again and again
		eventually(t, c.says, func() bool { return c.server.Diagnosis().Failures > before })
		client.Kill()
		require.ErrorIs(t, c.server.Diagnosis().LastError, bridges.ErrTLS)
		assert.ErrorContains(t, c.server.Diagnosis().LastError, c.says)
	}
	require.NoError(t, publish(t.Context(), &sample.Imu{Header: header(2)}))
	reads.Expect(t, "message")
}
