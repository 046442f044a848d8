//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros2dds"
)

func TestConformance(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			bridgetest.Run(t, bridgetest.Suite{
				Factory:        ros2dds.Factory{},
				BadConnections: []string{"x", "-1", "233", "0?color=red", "0?node=a b", "0?namespace=vehicle", "0?messages=0", "0?ros=jazzy"},
				Peer: func(t *testing.T) bridgetest.Peer {
					return &peer{t: t, run: implementation.start, domain: freeDomain(t), before: map[string]int{}}
				},
			})
		})
	}
}

// peer is a process that reads all topics, and one that publishes once it is asked to. Its
// methods are for the test's goroutine.
type peer struct {
	t      *testing.T
	run    func(t testing.TB, domain int, mode ...string) *subscriber
	domain int
	now    *subscriber    // nil while it doesn't run
	talker *talker        // nil until it is asked to publish
	before map[string]int // what former processes received
}

func (p *peer) Connection() string {
	return strconv.Itoa(p.domain) + "?messages=4096&bytes=8388608&retry=50ms"
}

func (p *peer) Start(t *testing.T) { p.now = p.run(t, p.domain, "count") }

func (p *peer) Kill(*testing.T) {
	p.now.process.Kill()
	p.before = p.Received()
	p.now = nil
	if p.talker != nil {
		p.talker.process.Kill()
		p.talker = nil
	}
}

// talker is a process that publishes as it is told.
type talker struct {
	*subscriber
	orders  net.Conn
	offered map[string]bool
}

// say has the talker do something on a topic: see its sources.
func (p *peer) say(topic, what string) {
	if p.talker == nil {
		var config net.ListenConfig
		listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
		require.NoError(p.t, err)
		defer listener.Close()
		port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		process := p.run(p.t, p.domain, "obey", port) // it has connected when it is ready
		orders, err := listener.Accept()
		require.NoError(p.t, err)
		p.t.Cleanup(func() { _ = orders.Close() })
		p.talker = &talker{subscriber: process, orders: orders, offered: map[string]bool{}}
	}
	_, err := fmt.Fprintf(p.talker.orders, "rt%s %s\n", topic, what)
	require.NoError(p.t, err)
}

// Subscriptions offers the topic, if it isn't offered yet.
func (p *peer) Subscriptions(topic string) int {
	if p.now == nil {
		return 0
	}
	if p.talker == nil || !p.talker.offered[topic] {
		p.say(topic, "-")
		p.talker.offered[topic] = true
	}
	p.talker.poll()
	p.talker.mu.Lock()
	defer p.talker.mu.Unlock()
	return p.talker.subscriptions["rt"+topic]
}

func (p *peer) Send(_ *testing.T, topic string, acceleration float64) {
	p.say(topic, strconv.FormatFloat(acceleration, 'g', -1, 64))
}

// SendUnreadable sends what a vehicle can't be told; types of DDS carry nothing that isn't
// of the type, which TestMalformedMessages sends.
func (p *peer) SendUnreadable(_ *testing.T, topic string) { p.say(topic, "nan") }

func (p *peer) Stall(*testing.T)  { p.now.process.Stall() }
func (p *peer) Resume(*testing.T) { p.now.process.Resume() }

// Rubbish sends datagrams to the ports of the domain's participants (DDSI-RTPS 2.3,
// section 9.6.1): noise, and headers with nothing sensible behind them.
func (p *peer) Rubbish(t *testing.T) {
	dialer := net.Dialer{}
	for index := range 6 {
		for offset := range 2 {
			conn, err := dialer.DialContext(context.Background(), "udp", fmt.Sprintf("127.0.0.1:%d", 7400+250*p.domain+10+2*index+offset))
			require.NoError(t, err)
			for _, datagram := range []string{"", "x", strings.Repeat("\xff", 60000), "RTPS", "RTPS\x02\x01\x01\x10" + strings.Repeat("\x00", 12) + strings.Repeat("\x15\x05\xff\xff\x01", 300)} {
				_, _ = conn.Write([]byte(datagram)) // nobody may listen
			}
			require.NoError(t, conn.Close())
		}
	}
}

func (p *peer) Ready(topic string) bool { return p.now != nil && p.now.ready(topic) }

func (p *peer) Received() map[string]int {
	all := map[string]int{}
	for topic, n := range p.before {
		all[topic] = n
	}
	if p.now == nil {
		return all
	}
	p.now.poll()
	p.now.mu.Lock()
	defer p.now.mu.Unlock()
	for topic, n := range p.now.received {
		if name, ok := strings.CutPrefix(topic, "rt"); ok {
			all[name] += n
		}
	}
	return all
}
