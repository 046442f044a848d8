package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Access says how a NATS server is reached.
type Access struct {
	// URL is nats://HOST:PORT or tls://HOST:PORT; several of a cluster are separated by commas.
	URL string
	// Credentials are a user's JWT with its seed, as nsc writes them, or the seed of an nkey; nil for none.
	Credentials []byte
	// Authorities is a file with the certificates that the server's is checked with, "" for the system's.
	Authorities string
	// Fingerprint is the hash of the server's certificate, "" for one that others vouch for.
	Fingerprint string
	// Log is told of what passes by itself.
	Log *slog.Logger

	server nats.InProcessConnProvider // in this process
	inbox  string                     // where answers come
}

// ErrURL says that an address isn't one of NATS.
var ErrURL = errors.New("not the address of a NATS server")

// Check refuses an address that can't be used.
func (a *Access) Check() error {
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return fmt.Errorf("%w: %q: want nats://HOST:PORT or tls://HOST:PORT", ErrURL, redacted(one))
		case u.User != nil:
			return fmt.Errorf("%w: %q has a secret in it, which every user of the machine can read: give it by a file or a variable", ErrURL, redacted(one))
		case a.Fingerprint != "" && u.Scheme != "tls":
			return fmt.Errorf("%w: %q: a fingerprint is that of a certificate, so give tls://", ErrURL, one)
		}
	}
	if a.Fingerprint != "" {
		if _, err := parseFingerprint(a.Fingerprint); err != nil {
			return err
		}
	}
	if a.Credentials != nil {
		if _, err := credentials(a.Credentials); err != nil {
			return err
		}
	}
	return nil
}

// redacted is an address without what it may have of secrets.
func redacted(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		scheme, _, found := strings.Cut(address, "://")
		if !found {
			scheme = "..."
		}
		return scheme + "://...@" + address[at+1:]
	}
	return address
}

// Plain reports whether messages go over a network that isn't this machine's without encryption.
func (a *Access) Plain() bool {
	for one := range strings.SplitSeq(a.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.Scheme == "nats" && !loopback(u.Hostname()) {
			return true
		}
	}
	return false
}

// loopback reports whether a host is this machine alone.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// fingerprintPrefix begins a certificate's fingerprint.
const fingerprintPrefix = "sha256:"

// FingerprintOf is that of a certificate, in DER.
func FingerprintOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}

func parseFingerprint(text string) ([]byte, error) {
	digits, found := strings.CutPrefix(strings.ToLower(text), fingerprintPrefix)
	sum, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if !found || err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("not a fingerprint: %q: want %s and 64 hexadecimal digits", text, fingerprintPrefix)
	}
	return sum, nil
}

// errSecret: what was given isn't a secret of a user.
var errSecret = errors.New("the credentials are neither a user's .creds file nor the seed of a user's nkey")

// credentials is the option for a user's secret.
func credentials(secret []byte) (nats.Option, error) {
	secret = bytes.TrimSpace(secret)
	if bytes.Contains(secret, []byte("-----BEGIN NATS USER JWT-----")) {
		if _, err := nkeys.ParseDecoratedNKey(secret); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCredentials, errSecret)
		}
		return nats.UserCredentialBytes(secret), nil
	}
	key, err := nkeys.FromSeed(secret)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, errSecret)
	}
	public, err := key.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, errSecret)
	}
	return nats.Nkey(public, key.Sign), nil
}

// connection is one to a server, or to a cluster.
type connection struct {
	*nats.Conn
	refused atomic.Pointer[error] // why its certificate was
	// broken ends, with the reason as its cause, when the connection was closed, as by a server that doesn't take the credentials any
	// longer, and when the server has forbidden something. Further tries would end alike.
	broken context.Context
	fail   context.CancelCauseFunc
}

// during returns a context that ends with ctx, or when the connection is broken. The function that it returns has to be called.
func (c *connection) during(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.broken, cancel)
	return ctx, func() { stop(); cancel() }
}

// connect connects once. name is shown by the server's own monitoring.
func (a *Access) connect(name string) (*connection, error) {
	if err := a.Check(); err != nil && a.server == nil {
		return nil, err
	}
	c := &connection{}
	c.broken, c.fail = context.WithCancelCause(context.Background())
	options := []nats.Option{
		nats.Name(name), nats.Timeout(requestLimit), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			a.Log.Warn("NATS: " + err.Error())
			if errors.Is(err, nats.ErrPermissionViolation) && isNeeded(err) {
				c.fail(fmt.Errorf("%s: %w: %w", a.URL, ErrPermissions, err))
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) { c.fail(a.fault(cmp.Or(nc.LastError(), nats.ErrConnectionClosed))) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				a.Log.Warn("lost the NATS server, trying again: " + err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { a.Log.Info("the NATS server is there again") }),
	}
	if a.inbox != "" {
		options = append(options, nats.CustomInboxPrefix(a.inbox))
	}
	if a.server != nil {
		options = append(options, nats.InProcessServer(a.server))
	}
	if a.Credentials != nil {
		option, err := credentials(a.Credentials)
		if err != nil {
			return nil, err
		}
		options = append(options, option)
	}
	if a.Authorities != "" {
		options = append(options, nats.RootCAs(a.Authorities))
	}
	if a.Fingerprint != "" {
		options = append(options, nats.Secure(a.pinned(c)), nats.TLSHandshakeFirst())
	}
	var err error
	if c.Conn, err = nats.Connect(a.URL, options...); err != nil {
		if why := c.refused.Load(); why != nil {
			err = *why
		}
		return nil, a.fault(err)
	}
	return c, nil
}

// isNeeded reports whether what the server has forbidden is a subject that nobody can work without. An answer that can't be sent
// has its message sent again, and nothing more.
func isNeeded(violation error) bool { return neededSubject.MatchString(violation.Error()) }

var neededSubject = regexp.MustCompile(`(?i)"(?:\$JS\.API\.|sweep\.|_INBOX_sweep_run)`)

// pinned accepts one certificate alone, whatever its names and dates: clocks may be wrong, and the fingerprint says more.
func (a *Access) pinned(c *connection) *tls.Config {
	want, _ := parseFingerprint(a.Fingerprint) // Check has seen to it
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // the fingerprint is compared instead
		VerifyConnection: func(state tls.ConnectionState) error {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			if bytes.Equal(sum[:], want) {
				return nil
			}
			err := fmt.Errorf("%w: its fingerprint is %s: take the command that sweep run has printed; if that is what you did, somebody is between",
				ErrCertificate, FingerprintOf(state.PeerCertificates[0].Raw))
			c.refused.Store(&err)
			return err
		},
	}
}

// fault names why a connection failed.
func (a *Access) fault(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.Is(err, ErrCertificate):
	case strings.Contains(strings.ToLower(err.Error()), "authentication timeout"): // the server has much to do
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrNkeysNotSupported),
		strings.Contains(err.Error(), "authorization violation"), strings.Contains(strings.ToLower(err.Error()), "authentication"):
		err = fmt.Errorf("%w: %w", ErrCredentials, err)
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &host):
		err = fmt.Errorf("%w: %w: --nats-ca names the file of its authority", ErrCertificate, err)
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		err = fmt.Errorf("%w: %w: give tls:// for a server with TLS, nats:// for one without", ErrUnreachable, err)
	default:
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%s: %w", a.URL, err)
}

// await connects, and tries again for some time while nobody answers.
func (a *Access) await(ctx context.Context, name string, patience time.Duration) (*connection, error) {
	began, said := time.Now(), false
	for {
		c, err := a.connect(name)
		if err == nil || !errors.Is(err, ErrUnreachable) || errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, nats.ErrSecureConnRequired) || time.Since(began) >= patience {
			return c, err
		}
		if !said {
			said = true
			a.Log.Warn(fmt.Sprintf("%v: trying for %v", err, patience))
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
