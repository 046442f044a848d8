package stream_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
)

// receivers is a factory whose instances get a client at once, of the test's own
// making: it wants everything and counts messages by topic, below the instance's
// output folder.
type receivers struct {
	stream.Factory
	t *testing.T

	mu     sync.Mutex
	counts map[string]map[string]int // by output folder, then topic
	wg     sync.WaitGroup
}

func (r *receivers) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i, err := r.Factory.NewInstance(env)
	stream.OnConnected(i, func(address string) { r.connect(address, env.OutDir) })
	return i, err
}

// count waits until all servers have gone.
func (r *receivers) count(_ *testing.T, outDir string) map[string]int {
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[outDir]
}

// connect returns when the server has subscribed the client to all topics.
func (r *receivers) connect(address, outDir string) {
	conn, err := net.Dial("tcp", address)
	if !assert.NoError(r.t, err) {
		return
	}
	ready := make(chan struct{})
	r.wg.Go(func() {
		defer conn.Close()
		r.receive(conn, outDir, sync.OnceFunc(func() { close(ready) }))
	})
	// The hello: version 1, no options, one name; then a request for all, whose answer
	// says that it is so.
	hello := "RBSTREAM\x01\x00\x00\x00\x05\x00\x00\x00" + "\x01\x00" + "\x01\x00*"
	request := "\x03\x00\x00\x00" + "\x00\x00\x00\x06" + "\x00\x00\x00\x00" + "\x03\x00\x00\x00" + "\x01\x00*"
	_, err = io.WriteString(conn, hello+request)
	assert.NoError(r.t, err)
	<-ready
}

func (r *receivers) receive(conn net.Conn, outDir string, ready func()) {
	defer ready()
	in := bufio.NewReader(conn)
	greeting := make([]byte, 16)
	if _, err := io.ReadFull(in, greeting); err != nil {
		assert.NoError(r.t, err)
		return
	}
	assert.Equal(r.t, "RBSTREAM\x01\x00\x00\x00", string(greeting[:12]), "version 1, status 0")
	rest := make([]byte, binary.LittleEndian.Uint32(greeting[12:]))
	_, err := io.ReadFull(in, rest)
	assert.NoError(r.t, err)
	topics := map[uint16]string{}
	rest = rest[2+2+4+4+8:] // no reason, flags, length, beat, instance
	n := int(binary.LittleEndian.Uint16(rest))
	rest = rest[2:]
	for range n {
		rest = row(topics, rest)
	}
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		payload := make([]byte, binary.LittleEndian.Uint32(head))
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		id := binary.LittleEndian.Uint16(head[4:])
		switch {
		case id == 0 && head[7] == 2:
			row(topics, payload)
		case id == 0 && head[7] == 3:
			ready()
		case id != 0:
			assert.Equal(r.t, "RBMS", string(payload[:4]))
			r.mu.Lock()
			if r.counts == nil {
				r.counts = map[string]map[string]int{}
			}
			if r.counts[outDir] == nil {
				r.counts[outDir] = map[string]int{}
			}
			r.counts[outDir][topics[id]]++
			r.mu.Unlock()
		}
	}
}

// row reads a stream's description and returns what follows it.
func row(topics map[uint16]string, b []byte) []byte {
	id := binary.LittleEndian.Uint16(b)
	b = b[2+2+2+2+4:]
	for i := range 4 {
		n := int(binary.LittleEndian.Uint16(b))
		if i == 0 {
			topics[id] = string(b[2 : 2+n])
		}
		b = b[2+n:]
	}
	return b
}
