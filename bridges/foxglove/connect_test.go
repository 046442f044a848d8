package foxglove_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// certificate writes a self-signed certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: privateDER}), 0o600))
	return cert, key, roots
}

func TestEncryptedConnections(t *testing.T) {
	cert, key, roots := certificate(t)
	b := connected(t, "?cert="+url.QueryEscape(cert)+"&key="+url.QueryEscape(key))
	dial := func(pool *x509.CertPool) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		options := &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{"foxglove.sdk.v1"}}
		conn, _, err := websocket.Dial(t.Context(), "wss://"+b.Endpoints()[0].Address, options) //nolint:bodyclose // it is the connection
		if err == nil {
			_, _, err = conn.Read(t.Context())
			_ = conn.CloseNow()
		}
		return err
	}
	require.NoError(t, dial(roots))
	require.Error(t, dial(x509.NewCertPool()), "a certificate that the client doesn't trust")
	require.Eventually(t, func() bool { return b.Diagnosis().Failures > 0 }, 30*time.Second, time.Millisecond)
	assert.ErrorIs(t, b.Diagnosis().LastError, transport.ErrTLS)
}

// Whichever call comes last, the status says whether the server listens.
func TestConnectingAndDisconnectingAtOnce(t *testing.T) {
	b := connected(t, "")
	for range 200 {
		var both sync.WaitGroup
		both.Go(func() { assert.NoError(t, b.Connect(t.Context())) })
		both.Go(func() { assert.NoError(t, b.Disconnect(t.Context())) })
		both.Wait()
		if !assert.Equal(t, b.Endpoints() != nil, b.Status() == flow.Connected) {
			return
		}
	}
}

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
