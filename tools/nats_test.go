package tools_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secrets runs deploy/nats-secrets.sh, and sets the variables that it writes.
func secrets(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin, "github.com/nats-io/nkeys/nk").CombinedOutput()
	require.NoError(t, err, string(out))
	dir := filepath.Join(t.TempDir(), "secrets")
	script := exec.Command("../deploy/nats-secrets.sh", dir)
	script.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err = script.CombinedOutput()
	require.NoError(t, err, string(out))
	users, err := os.ReadFile(filepath.Join(dir, "users.env"))
	require.NoError(t, err)
	for line := range strings.Lines(string(users)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		t.Setenv(name, value)
	}
	return dir
}

// options reads a server's configuration by its own parser, with secrets that lie elsewhere.
func options(t *testing.T, config, mounted, dir string) *server.Options {
	t.Helper()
	require.Contains(t, config, mounted)
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(config, mounted, dir)), 0o600))
	o, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	o.Host, o.Port, o.HTTPHost, o.HTTPPort, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, "127.0.0.1", 0, true, true
	return o
}

// TestNATSCluster: three servers with the manifest's configuration make a cluster. It keeps a sweep's queue three times, and
// lets each user do what it has to, and nobody else in.
func TestNATSCluster(t *testing.T) {
	m := natsManifests(t)
	dir := secrets(t)
	set := m.sets["nats"]
	config := m.configs["nats"].Data["nats.conf"]
	image := set.Spec.Template.Spec.Containers[0].Image
	assert.Equal(t, "nats:"+server.VERSION+"-alpine", image, "the version that is tried here")

	var routes []*url.URL
	var nodes []*server.Options
	for i := range *set.Spec.Replicas {
		t.Setenv("POD_NAME", fmt.Sprintf("%s-%d", set.Name, i))
		o := options(t, config, "/etc/nats/tls", dir)
		nodes = append(nodes, o)
		routes = append(routes, localURL(t))
	}
	require.Len(t, nodes, 3)
	for i, o := range nodes {
		host := fmt.Sprintf("%s-%d.%s", set.Name, i, set.Spec.ServiceName)
		assert.Equal(t, fmt.Sprintf("%s-%d", set.Name, i), o.ServerName)
		require.Len(t, o.Routes, len(nodes))
		assert.Equal(t, fmt.Sprintf("%s:%d", host, o.Cluster.Port), o.Routes[i].Host)
		assert.NoError(t, certificate(t, dir).VerifyHostname(host))
		volume := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().Value()
		assert.Positive(t, o.JetStreamMaxStore)
		assert.Less(t, o.JetStreamMaxStore, volume)
		assert.Equal(t, set.Spec.Template.Spec.Containers[0].VolumeMounts[2].MountPath, o.StoreDir)
	}
	assert.NoError(t, certificate(t, dir).VerifyHostname("nats"))

	var servers []*server.Server
	for i, o := range nodes {
		o.StoreDir, o.Routes = t.TempDir(), routes
		o.Cluster.Host, o.Cluster.Port = "127.0.0.1", portOf(t, routes[i])
		servers = append(servers, start(t, o))
	}
	checkUsers(t, servers[0].ClientURL(), dir, 3)
}

// TestNATSOfCompose: the one server of the compose file lets each user do what it has to.
func TestNATSOfCompose(t *testing.T) {
	dir := secrets(t)
	config, err := os.ReadFile("../deploy/compose/nats.conf")
	require.NoError(t, err)
	o := options(t, string(config), "/run/secrets", dir)
	assert.True(t, o.SyncAlways)
	assert.Equal(t, "/data", o.StoreDir)
	o.StoreDir = t.TempDir()
	checkUsers(t, start(t, o).ClientURL(), dir, 1)
}

func start(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// localURL is a free address for a route.
func localURL(t *testing.T) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return &url.URL{Scheme: "nats-route", Host: l.Addr().String()}
}

func portOf(t *testing.T, u *url.URL) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", u.Host)
	require.NoError(t, err)
	return a.Port
}

func certificate(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

// checkUsers does what a coordinator and a worker do.
func checkUsers(t *testing.T, address, dir string, replicas int) {
	t.Helper()
	address = strings.Replace(address, "nats://", "tls://", 1)
	ca := nats.RootCAs(filepath.Join(dir, "ca.crt"))
	user := func(name string) nats.Option {
		option, err := nats.NkeyOptionFromSeed(filepath.Join(dir, name+".nk"))
		require.NoError(t, err)
		return option
	}
	_, err := nats.Connect(address, user("worker"))
	assert.ErrorAs(t, err, new(x509.UnknownAuthorityError), "a client that doesn't know the authority")
	_, err = nats.Connect(address, ca)
	assert.ErrorIs(t, err, nats.ErrAuthorization, "a client without a key")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	coordinator, err := nats.Connect(address, ca, user("coordinator"))
	require.NoError(t, err)
	defer coordinator.Close()
	js, err := jetstream.New(coordinator)
	require.NoError(t, err)
	// A cluster that has no leader yet answers with an error, or not at all.
	var stream jetstream.Stream
	for stream == nil && ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		stream, err = js.CreateStream(limited, jetstream.StreamConfig{Name: "sweep_1", Subjects: []string{"sweep.1.job.>"}, Retention: jetstream.WorkQueuePolicy, Replicas: replicas})
		cancel()
	}
	require.NoError(t, err)
	_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	_, err = js.Publish(ctx, "sweep.1.job.a", []byte("a"))
	require.NoError(t, err)
	_, err = coordinator.Subscribe("sweep.1.end", func(m *nats.Msg) { assert.NoError(t, m.Respond(m.Data)) })
	require.NoError(t, err)
	require.NoError(t, coordinator.Flush())

	refused := make(chan error, 1)
	worker, err := nats.Connect(address, ca, user("worker"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	require.NoError(t, err)
	defer worker.Close()
	theirs, err := jetstream.New(worker)
	require.NoError(t, err)
	_, err = theirs.Stream(ctx, "sweep_1")
	require.NoError(t, err)
	consumer, err := theirs.Consumer(ctx, "sweep_1", "workers")
	require.NoError(t, err)
	batch, err := consumer.Fetch(1)
	require.NoError(t, err)
	message, ok := <-batch.Messages()
	require.True(t, ok, batch.Error())
	assert.Equal(t, "sweep.1.job.a", message.Subject())
	require.NoError(t, message.DoubleAck(ctx))
	reply, err := worker.RequestWithContext(ctx, "sweep.1.end", []byte("done"))
	require.NoError(t, err)
	assert.Equal(t, "done", string(reply.Data))

	// A forbidden request is never answered: the connection is told of it.
	deleting, end := context.WithCancel(ctx)
	removed := make(chan error, 1)
	go func() { removed <- theirs.DeleteStream(deleting, "sweep_1") }()
	select {
	case err = <-refused:
		assert.ErrorContains(t, err, "$JS.API.STREAM.DELETE.sweep_1", "the first thing that the worker may not do")
		end()
		require.Error(t, <-removed)
	case err = <-removed:
		end()
		require.Error(t, err, "a worker has removed the queue")
	}
	info, err := stream.Info(ctx)
	require.NoError(t, err)
	assert.Equal(t, replicas, info.Config.Replicas)
}
