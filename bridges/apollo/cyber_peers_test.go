//go:build peers

package apollo_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// python is the server of testdata/peers, decoding with python3-protobuf.
type python struct {
	port, control int

	mu      sync.Mutex
	program *bridgetest.Process // guarded by mu: nil while it doesn't run
	before  map[string]int      // guarded by mu: messages that were received by programs that ended
	last    state               // guarded by mu
}

// state is what the program says of itself.
type state struct {
	Received map[string]int
	Writers  []string
	Readers  map[string]int // how often clients have registered them, by channel
}

func newPython(t *testing.T) *python {
	t.Helper()
	return &python{port: bridgetest.FreePort(t), control: bridgetest.FreePort(t), before: map[string]int{}}
}

func (p *python) Connection() string {
	return fmt.Sprintf("127.0.0.1:%d?retry=50ms&messages=4096&bytes=8388608", p.port)
}

func (p *python) Start(t *testing.T) {
	t.Helper()
	program := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/cyber_bridge.py",
		strconv.Itoa(p.port), strconv.Itoa(p.control), "../../testdata/wire/cyber/generate"))
	program.Expect(t, "listening")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.program, p.last = program, state{}
}

// ask sends a request to the program and keeps what it answers; mu must be held.
func (p *python) ask(request string) {
	if p.program == nil {
		return
	}
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", p.control), bridgetest.Patience)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(bridgetest.Patience))
	fmt.Fprintln(conn, request)
	var s state
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&s); err == nil {
		p.last = s
	}
}

func (p *python) Kill(*testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask("state")
	p.program.Kill()
	for topic, n := range p.last.Received {
		p.before[topic] += n
	}
	p.program, p.last = nil, state{}
}

func (p *python) Stall(*testing.T)  { p.program.Stall() }
func (p *python) Resume(*testing.T) { p.program.Resume() }

// request sends a request to the program and returns its state after that.
func (p *python) request(format string, arguments ...any) state {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask(fmt.Sprintf(format, arguments...))
	return p.last
}

func (p *python) Rubbish(*testing.T) { p.request("rubbish") }

func (p *python) Ready(topic string) bool { return slices.Contains(p.request("state").Writers, topic) }

func (p *python) Subscriptions(topic string) int { return p.request("state").Readers[topic] }

// Send publishes a ControlCommand.
func (p *python) Send(_ *testing.T, topic string, acceleration float64) {
	p.request("send %s %v", topic, 100*acceleration)
}

func (p *python) SendUnreadable(_ *testing.T, topic string) { p.request("unreadable %s", topic) }

func (p *python) Received() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask("state")
	all := maps.Clone(p.before)
	for topic, n := range p.last.Received {
		all[topic] += n
	}
	return all
}

func TestConformanceWithPython(t *testing.T) {
	bridgetest.Run(t, bridgetest.Suite{
		Factory: apollo.Cyber{}, BadConnections: []string{""},
		Peer: func(t *testing.T) bridgetest.Peer { return newPython(t) },
	})
}

// Each message is, value by value, what messages.py expects, decoded with nothing but the
// descriptors that the bridge has sent, of either generation of Apollo.
func TestPythonReadsEveryMessage(t *testing.T) {
	for _, apollo := range []string{"7", "8"} {
		t.Run(apollo, func(t *testing.T) {
			p := newPython(t)
			p.Start(t)
			b := open(t, p.Connection()+"&apollo="+apollo)
			publishers := map[string]func() error{}
			for _, s := range bridgetest.ApolloSamples() {
				publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(s.Value), bridges.Topic{Name: "/probe/" + s.Name})
				require.NoError(t, err)
				publishers[s.Name] = func() error { return publish(t.Context(), s.Value) }
			}
			require.NoError(t, b.Connect(t.Context()))
			for name, publish := range publishers {
				require.Eventually(t, func() bool { return p.Ready("/probe/" + name) }, bridgetest.Patience, tick)
				require.NoError(t, publish())
			}
			require.NoError(t, b.Close(t.Context()))
			require.Eventually(t, func() bool { return len(p.Received()) == len(publishers) }, bridgetest.Patience, tick)
			output := p.program.Output()
			assert.NotContains(t, output, "differs")
			assert.NotContains(t, output, "missing")
			for name := range publishers {
				assert.Contains(t, output, "same "+name+"\n")
			}
		})
	}
}

// A command that the server sends arrives as what python3-protobuf wrote, also after the
// server was killed and came again.
func TestPythonCommands(t *testing.T) {
	p := newPython(t)
	p.Start(t)
	b := open(t, p.Connection())
	got := make(chan *sample.VehicleControl, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/apollo/control"}, func(c *sample.VehicleControl) { got <- c }))
	require.NoError(t, b.Connect(t.Context()))
	want := &sample.VehicleControl{
		Header:       sample.Header{Stamp: 12_500_000_000, Seq: 7},
		Acceleration: 0.25, Braking: 0.125, Steering: -0.4, Gear: sample.GearReverse, ParkingBrake: true,
	}
	for range 2 {
		select {
		case c := <-got:
			assert.Equal(t, want, c)
		case <-time.After(bridgetest.Patience):
			require.Fail(t, "no command")
		}
		p.Kill(t)
		p.Start(t)
	}
}
