package guard

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Gate counts the connections of one server. Its methods, and those of its passes, may be
// called from any goroutine, and wait for nothing.
type Gate struct {
	connections int
	perAddress  int // of another machine; 0 for no limit

	mu     sync.Mutex
	passes map[*Pass]bool // guarded by mu
	turn   uint64         // guarded by mu: rises with each pass that is made or put to rest
}

// NewGate returns a gate that lets so many connections be clients at a time. Of these at most
// perAddress are of one address of another machine; 0 doesn't limit those.
func NewGate(connections, perAddress int) *Gate {
	return &Gate{connections: connections, perAddress: perAddress, passes: map[*Pass]bool{}}
}

// stage is how far a connection has come.
type stage int

const (
	shaking stage = iota // hands
	inside
	resting // between two requests
)

// Pass is one connection's. Leave ends it.
type Pass struct {
	gate    *Gate
	conn    net.Conn
	address netip.Addr // of another machine; zero for the loopback interface
	timer   *time.Timer

	// Guarded by gate.mu.
	stage stage
	since uint64 // the turn at which it came to this stage
	cut   error
}

// Admit takes a connection that has just been accepted, before it is encrypted. Where it is
// one handshake too many, the oldest is ended; so is this one after HandshakeTime, unless
// Enter was called. Ending a connection closes it, and Cut says why.
func (g *Gate) Admit(conn net.Conn) *Pass {
	p := &Pass{gate: g, conn: conn, address: addressOf(conn.RemoteAddr())}
	if p.address.IsLoopback() {
		p.address = netip.Addr{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passes[p] = true
	p.timer = time.AfterFunc(HandshakeTime, p.expire)
	p.beginHandshake()
	return p
}

// beginHandshake makes a connection a handshake, the newest; gate.mu must be held.
func (p *Pass) beginHandshake() {
	g := p.gate
	p.stage, p.since = shaking, g.next()
	if p.address.IsValid() {
		g.makeRoom(AddressHandshakes, p.address, refuse(Handshaking, "%d handshakes of one address at a time: the oldest goes first", AddressHandshakes))
	}
	g.makeRoom(Handshakes, netip.Addr{}, refuse(Handshaking, "%d handshakes at a time: the oldest goes first", Handshakes))
}

func (g *Gate) next() uint64 {
	g.turn++
	return g.turn
}

// makeRoom ends the oldest handshake while there are more than most of them, of one address
// unless it is zero. mu must be held.
func (g *Gate) makeRoom(most int, address netip.Addr, why *Refusal) {
	for g.count(shaking, address) > most {
		g.oldest(shaking, address).end(why)
	}
}

// count returns how many connections are at a stage and aren't ended; mu must be held.
func (g *Gate) count(s stage, address netip.Addr) int {
	n := 0
	for p := range g.passes {
		if p.is(s, address) {
			n++
		}
	}
	return n
}

// oldest returns the connection that has been at a stage for the longest time, nil without
// any; mu must be held.
func (g *Gate) oldest(s stage, address netip.Addr) *Pass {
	var oldest *Pass
	for p := range g.passes {
		if p.is(s, address) && (oldest == nil || p.since < oldest.since) {
			oldest = p
		}
	}
	return oldest
}

func (p *Pass) is(s stage, address netip.Addr) bool {
	return p.stage == s && p.cut == nil && (!address.IsValid() || p.address == address)
}

// end closes the connection; gate.mu must be held. Closing a connection of TCP doesn't wait.
func (p *Pass) end(why error) {
	p.cut = why
	_ = p.conn.Close()
}

// expire ends a handshake that has taken too long.
func (p *Pass) expire() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.stage == shaking && p.cut == nil && p.gate.passes[p] {
		p.end(refuse(SlowHandshake, "the handshake took longer than %v", HandshakeTime))
	}
}

// Enter says that the connection has said what it wants, and is a client from now on. The error
// is a *Refusal: there are too many, or the gate has ended it. Where all are taken, the
// one that has rested for the longest time makes room.
func (p *Pass) Enter() error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.cut != nil:
		return p.cut
	case p.stage == shaking:
		if err := g.room(p.address); err != nil {
			return err
		}
	}
	p.timer.Stop()
	p.stage = inside
	return nil
}

// vacancy returns nil where Enter would let the connection in now, else what Enter would say. It takes no place.
func (p *Pass) vacancy() error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.cut != nil || p.stage != shaking {
		return p.cut
	}
	return g.full(p.address)
}

// full says why no more connection of an address may pass, nil where one may; mu must be held.
func (g *Gate) full(address netip.Addr) error {
	if g.perAddress > 0 && address.IsValid() && !g.fits(g.perAddress, address) {
		return g.taken(g.perAddress, address)
	}
	if !g.fits(g.connections, netip.Addr{}) {
		return g.taken(g.connections, netip.Addr{})
	}
	return nil
}

// taken says that as many passes are inside as may be, of an address unless it is zero.
func (g *Gate) taken(most int, address netip.Addr) *Refusal {
	if address.IsValid() {
		return refuse(OfAddress, "there are %d connections of this address already", most)
	}
	return refuse(Connecting, "there are as many connections as this server takes: %d", most)
}

// room sees to it that one more connection may pass, or says why not; mu must be held.
func (g *Gate) room(address netip.Addr) error {
	if err := g.full(address); err != nil {
		return err
	}
	if g.perAddress > 0 && address.IsValid() {
		g.vacate(g.perAddress, address)
	}
	g.vacate(g.connections, netip.Addr{})
	return nil
}

// fits reports whether one more pass of so many finds a place, perhaps that of one that rests; mu must be held.
func (g *Gate) fits(most int, address netip.Addr) bool { return g.count(inside, address) < most }

// vacate ends the pass that has rested for the longest time where all of so many are taken; mu must be held.
func (g *Gate) vacate(most int, address netip.Addr) {
	if g.count(inside, address)+g.count(resting, address) < most {
		return
	}
	g.oldest(resting, address).end(g.taken(most, address))
}

// Rest says that a connection waits for its next request.
func (p *Pass) Rest() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.stage == inside {
		p.stage, p.since = resting, p.gate.next()
	}
}

// Ask says that the next request of a connection that rests has begun: it is a handshake
// again.
func (p *Pass) Ask() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.stage == resting && p.cut == nil {
		p.timer.Reset(HandshakeTime)
		p.beginHandshake()
	}
}

// Leave says that the connection has ended. It reports whether this is the first call; others
// do nothing.
func (p *Pass) Leave() bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.timer.Stop()
	first := p.gate.passes[p]
	delete(p.gate.passes, p)
	return first
}

// dismiss ends the connections that aren't inside.
func (g *Gate) dismiss() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.passes {
		if p.stage != inside {
			_ = p.conn.Close()
		}
	}
}

// Inside reports whether the connection is a client's.
func (p *Pass) Inside() bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.stage != shaking
}

// Cut returns why the gate has ended the connection, nil if it hasn't.
func (p *Pass) Cut() error {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.cut
}
