package carla_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/carla"
)

func TestConformance(t *testing.T) {
	r := &receivers{t: t}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:    r,
		Connection: "0?policy=block",
		BadConnections: []string{
			"nowhere", "127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:0?policy=newest", "127.0.0.1:0?clients=0",
			"?messages=-1", "?bytes=many", "?color=red",
		},
		Count: r.count,
	})
}

// receivers is a factory whose instances get a client for each stream at once, which
// counts frames by topic, below the instance's output folder.
type receivers struct {
	carla.Factory
	t *testing.T

	mu     sync.Mutex
	counts map[string]map[string]int // by output folder, then topic
	wg     sync.WaitGroup
}

func (r *receivers) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i, err := r.Factory.NewInstance(env)
	carla.OnOpened(i, func(s carla.Opened) { r.connect(s, env.OutDir) })
	return i, err
}

// count waits until all servers have gone.
func (r *receivers) count(_ *testing.T, outDir string) map[string]int {
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[outDir]
}

// connect returns when the server has subscribed the client.
func (r *receivers) connect(s carla.Opened, outDir string) {
	conn, err := net.Dial("tcp", s.Address)
	if !assert.NoError(r.t, err) {
		return
	}
	_, err = conn.Write(binary.LittleEndian.AppendUint32(nil, s.ID))
	assert.NoError(r.t, err)
	assert.Eventually(r.t, func() bool { return s.Subscribers() > 0 }, 10*time.Second, 100*time.Microsecond)
	r.wg.Go(func() {
		defer conn.Close()
		in := bufio.NewReader(conn)
		for {
			var length [4]byte
			if _, err := io.ReadFull(in, length[:]); err != nil {
				assert.ErrorIs(r.t, err, io.EOF, s.Topic)
				return
			}
			if _, err := io.CopyN(io.Discard, in, int64(binary.LittleEndian.Uint32(length[:]))); !assert.NoError(r.t, err, s.Topic) {
				return
			}
			r.add(outDir, s.Topic)
		}
	})
}

func (r *receivers) add(outDir, topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]map[string]int{}
	}
	if r.counts[outDir] == nil {
		r.counts[outDir] = map[string]int{}
	}
	r.counts[outDir][topic]++
}
