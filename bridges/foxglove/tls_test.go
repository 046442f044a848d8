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
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
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
	assert.ErrorIs(t, b.Diagnosis().LastError, bridges.ErrTLS)
}
