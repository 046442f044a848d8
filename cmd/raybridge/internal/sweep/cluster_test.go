package sweep_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// node is a server of a cluster, a process of its own.
type node struct {
	Name, Dir    string
	Client, Peer int // ports
	Peers        []int
}

// nodeProcess is a server until its standard input ends.
func nodeProcess(text string) int {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var peers []string
	for _, port := range n.Peers {
		peers = append(peers, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	s, err := server.NewServer(&server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Client, NoSigs: true, NoLog: true, JetStream: true, StoreDir: n.Dir, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26,
		Cluster: server.ClusterOpts{Name: "night", Host: "127.0.0.1", Port: n.Peer}, Routes: server.RoutesFromStr(strings.Join(peers, ",")),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.Start()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// start starts the server's process.
func (n *node) start(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(n)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "node", string(text))
	cmd.Stderr = t.Output()
	_, err = cmd.StdinPipe() // its end ends the server
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.True(t, bufio.NewScanner(out).Scan(), "the server doesn't start")
	return cmd
}

// ports are some that nobody listens at.
func ports(t *testing.T, n int) (list []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list
}

// TestSweepOnACluster: three servers, of which one begins alone, so that nobody is the leader yet, and of which those that lead the
// stream and then its consumer are killed in the middle. Each case has one result, with the bytes of a sweep that nobody disturbs.
func TestSweepOnACluster(t *testing.T) {
	if os.Getenv("SWEEP") == "" {
		t.Skip("takes a minute; runs with SWEEP=200, as in make nightly")
	}
	const keys = `matrix: {scene.seed: [1, 2, 3, 4], ego.speed: [1, 2, 3, 4, 5]}, repeat: {seed: 10}, collect: [ego.distance]`
	calm, p := storeOf(t, keys)
	require.NoError(t, runLocal(t, calm, p).Err())
	s, p := storeOf(t, keys)
	free, peers := ports(t, 3), ports(t, 3)
	nodes := map[string]*node{}
	processes := map[string]*exec.Cmd{}
	var urls []string
	for i := range 3 {
		n := &node{Name: fmt.Sprintf("n%d", i), Dir: t.TempDir(), Client: free[i], Peer: peers[i], Peers: peers}
		nodes[n.Name] = n
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", n.Client))
	}
	processes["n0"] = nodes["n0"].start(t)
	access := queue.Access{URL: strings.Join(urls, ","), Log: quiet(t)}
	made := make(chan *queue.Engine)
	go func() {
		e, err := queue.NewEngine(t.Context(), &queue.Options{Access: access, Store: s, Plan: p, Lease: 2 * time.Second, Log: quiet(t)})
		assert.NoError(t, err)
		made <- e
	}()
	time.Sleep(3 * time.Second) // requests get no answer meanwhile
	select {
	case <-made:
		t.Fatal("a server alone can't be a cluster's leader")
	default:
	}
	processes["n1"], processes["n2"] = nodes["n1"].start(t), nodes["n2"].start(t)
	e := <-made
	require.NotNil(t, e)

	secret := t.TempDir() + "/none"
	require.NoError(t, os.WriteFile(secret, nil, 0o600))
	list := workers(t, s, access.URL, secret, 3)
	ended := make(chan *sweep.Report)
	go func() {
		r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Delay: time.Millisecond}).Run(t.Context())
		assert.NoError(t, err)
		ended <- r
	}()
	nc, err := nats.Connect(access.URL, nats.MaxReconnects(-1))
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for i, leader := range []func(jetstream.Stream) (string, error){
		func(s jetstream.Stream) (string, error) { return s.CachedInfo().Cluster.Leader, nil },
		func(s jetstream.Stream) (string, error) {
			c, err := s.Consumer(t.Context(), "workers")
			if err != nil {
				return "", err
			}
			return c.CachedInfo().Cluster.Leader, nil
		},
	} {
		require.Eventually(t, func() bool { return doneOf(t, s) >= 50*(i+1) }, time.Minute, 20*time.Millisecond)
		name := ""
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			stream, err := js.Stream(ctx, "sweep_"+p.ID())
			if err == nil {
				name, err = leader(stream)
			}
			return err == nil && name != ""
		}, 30*time.Second, 100*time.Millisecond)
		require.NoError(t, processes[name].Process.Kill())
		_ = processes[name].Wait()
		require.Less(t, doneOf(t, s), 200, "the sweep was done before the leader was killed")
		time.Sleep(2 * time.Second)
		processes[name] = nodes[name].start(t)
	}
	r := <-ended
	require.NoError(t, r.Err())
	e.Close(true)
	for _, worker := range list {
		assert.NoError(t, worker.Wait())
	}
	st := stateOf(t, s, p)
	assert.Equal(t, []int{200, 0, 0}, []int{st.Done, st.Failed, len(st.Alarms)})
	assert.Equal(t, results(t, calm), results(t, s))
}
