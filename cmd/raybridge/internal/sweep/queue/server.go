//go:build !nonatsserver

package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/internal/fault"
)

// HasServer says whether this program has a NATS server.
const HasServer = true

// Server is NATS in this process, for the workers of one sweep.
type Server struct {
	server *server.Server
	lock   io.Closer
	// Own is how this process reaches it, Workers how others do, without the credentials, which SecretFile has.
	Own, Workers Access
	SecretFile   string
}

// The files of a server, in sweep.ServerDir of the sweep's folder. A sweep has the same ones until it is complete, so that
// workers find it again.
const (
	secretFile      = "worker.nk"
	certificateFile = "certificate.pem"
	keyFile         = "key.pem"
)

// Bounds of what a server keeps. The usual ones are all the disk, and three quarters of the memory.
const (
	mostStored = 4 << 30
	mostMemory = 256 << 20
)

// readyLimit is how long a server may take to start.
const readyLimit = 20 * time.Second

// Serve starts a server at a host's address, for the folder of a sweep. Beyond loopback it takes TLS alone.
// Two servers of one folder would damage each other's files without an error, so the folder is locked.
func Serve(s *sweep.Store, host string, port int, log *slog.Logger) (_ *Server, err error) {
	dir := filepath.Join(s.Dir(), sweep.ServerDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.File(err)
	}
	v := &Server{SecretFile: filepath.Join(dir, secretFile)}
	if v.lock, err = s.LockFile(sweep.ServerDir + "/lock"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.lock.Close())
		}
	}()
	o, err := v.options(dir, host, port)
	if err != nil {
		return nil, err
	}
	if v.server, err = server.NewServer(o); err != nil {
		return nil, fmt.Errorf("start the NATS server: %w", err)
	}
	said := serverLog{log, make(chan string, 1)}
	v.server.SetLogger(said, false, false)
	v.server.Start()
	if err := v.ready(said.fatal); err != nil {
		v.server.Shutdown()
		return nil, fmt.Errorf("start the NATS server at %s with its files in %s: %w", net.JoinHostPort(host, fmt.Sprint(port)), o.StoreDir, err)
	}
	v.Own.server, v.Own.Log = v.server, log
	v.Own.URL = "nats://" + v.server.Addr().String()
	v.Workers.URL = v.url(host)
	return v, nil
}

// ready waits until the server takes connections, or has said why it can't.
func (v *Server) ready(fatal <-chan string) error {
	const step = 100 * time.Millisecond
	for deadline := time.Now().Add(readyLimit); time.Now().Before(deadline); {
		ready := v.server.ReadyForConnections(step)
		select {
		case text := <-fatal:
			return startFault(text)
		default:
		}
		if ready {
			return nil
		}
	}
	return fmt.Errorf("it isn't ready after %v: %w", readyLimit, context.DeadlineExceeded)
}

// startFault is what a server says that can't start, with the system's error where its text has one.
func startFault(text string) error {
	text = fault.Printable(text)
	if strings.Contains(text, "listening on port") {
		return fmt.Errorf("%w: %s", ErrListen, text)
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ESTALE, syscall.EROFS, syscall.EMFILE} {
		if strings.Contains(text, e.Error()) {
			return fmt.Errorf("%s: %w", text, e)
		}
	}
	return fmt.Errorf("%s: if its files are damaged, remove them: the folder has what is done", text)
}

// options are the server's, and what clients need to reach it.
func (v *Server) options(dir, host string, port int) (*server.Options, error) {
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{
		ServerName: "raybridge", Host: host, Port: port, NoSigs: true,
		JetStream: true, StoreDir: filepath.Join(dir, "jetstream"), SyncAlways: true, JetStreamMaxStore: mostStored, JetStreamMaxMemory: mostMemory,
	}
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the coordinator's key: %w", err)
	}
	workers, err := secretIn(v.SecretFile)
	if err != nil {
		return nil, err
	}
	for key, permissions := range map[nkeys.KeyPair]*server.Permissions{own: nil, workers: workerPermissions()} {
		public, err := key.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("read a key: %w", err)
		}
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: public, Permissions: permissions})
	}
	if v.Own.Credentials, err = own.Seed(); err != nil {
		return nil, fmt.Errorf("read the coordinator's key: %w", err)
	}
	if !loopback(host) {
		certificate, err := certificateIn(dir)
		if err != nil {
			return nil, err
		}
		o.TLS, o.TLSHandshakeFirst, o.TLSTimeout = true, true, requestLimit.Seconds()
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*certificate}}
		v.Workers.Fingerprint = FingerprintOf(certificate.Certificate[0])
	}
	return o, nil
}

// workerPermissions are what a worker needs: to take cases, to deal with them, and to talk to the coordinator.
func workerPermissions() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.INFO.*." + consumer, "$JS.API.CONSUMER.MSG.NEXT.*." + consumer, "$JS.ACK.>", "sweep.*.end", "sweep.*.worker",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "sweep.*.told"}},
	}
}

// url is where workers reach the server. A machine that listens everywhere is reached by its name.
func (v *Server) url(host string) string {
	scheme := "nats"
	if v.Workers.Fingerprint != "" {
		scheme = "tls"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	_, port, _ := net.SplitHostPort(v.server.Addr().String())
	return scheme + "://" + net.JoinHostPort(host, port)
}

// secretIn reads the workers' seed, or makes one.
func secretIn(file string) (nkeys.KeyPair, error) {
	seed, err := os.ReadFile(file)
	if err == nil {
		key, err := nkeys.FromSeed(seed)
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: remove it, and give workers the new one: %w", file, err)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.File(err)
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the workers' key: %w", err)
	}
	if seed, err = key.Seed(); err != nil {
		return nil, fmt.Errorf("make the workers' key: %w", err)
	}
	return key, writeWhole(file, seed)
}

// writeWhole writes a secret so that it is there whole or not at all: workers wait for the file.
func writeWhole(file string, text []byte) error {
	next := file + ".new"
	err := os.WriteFile(next, text, 0o600)
	if err == nil {
		err = os.Rename(next, file)
	}
	return fault.File(err)
}

// certificateIn reads the sweep's certificate, or makes one. Its names and dates count for nothing: workers know its fingerprint.
func certificateIn(dir string) (*tls.Certificate, error) {
	certificate, key := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)
	if c, err := tls.LoadX509KeyPair(certificate, key); err == nil {
		return &c, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s or %s is damaged: remove both, and give workers the new fingerprint: %w", certificate, key, err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the sweep's certificate: %w", err)
	}
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "raybridge sweep"}, DNSNames: []string{"raybridge-sweep"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(10 * 365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("make the sweep's certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("make the sweep's certificate: %w", err)
	}
	if err := writeWhole(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})); err != nil {
		return nil, err
	}
	if err := writeWhole(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}

// ForWorkers is how workers reach the server, with their credentials.
func (v *Server) ForWorkers() (Access, error) {
	a := v.Workers
	var err error
	a.Credentials, err = os.ReadFile(v.SecretFile)
	return a, fault.File(err)
}

// Close ends the server. complete removes what it has kept: the sweep needs no server any longer.
func (v *Server) Close(complete bool) error {
	v.server.Shutdown()
	v.server.WaitForShutdown()
	err := v.lock.Close()
	if complete {
		err = errors.Join(err, fault.File(os.RemoveAll(filepath.Dir(v.SecretFile))))
	}
	return err
}

// serverLog passes on what the server finds wrong.
type serverLog struct {
	*slog.Logger
	fatal chan string // has the first reason why the server has to end
}

func (serverLog) Noticef(string, ...any) {}
func (serverLog) Debugf(string, ...any)  {}
func (serverLog) Tracef(string, ...any)  {}

func (l serverLog) Warnf(format string, v ...any)  { l.say(format, v...) }
func (l serverLog) Errorf(format string, v ...any) { l.say(format, v...) }

func (l serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
		l.say(format, v...)
	}
}

func (l serverLog) say(format string, v ...any) {
	l.Warn("NATS server: " + fault.Printable(fmt.Sprintf(format, v...)))
}
