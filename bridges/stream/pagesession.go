package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
)

// PageVersion is the version of what pages and a PagePort say to each other.
const PageVersion = 1

// pageHead is the length of what comes before each of the protocol's payloads: stream, flags, control and number, as in a
// frame's header. A WebSocket message has its own length.
const pageHead = 8

// formWhole is the form of a message that has all of a cloud.
const formWhole = 1

// errRunEnded is the last that a page is told.
var errRunEnded = fmt.Errorf("%w: the run has ended", ErrServerClosed)

func putPageHead(b []byte, stream uint16, c control) {
	le.PutUint16(b, stream)
	b[2], b[3] = 0, uint8(c)
	le.PutUint32(b[4:], 0)
}

// sealPage writes a message's number.
func sealPage(b []byte, number uint64) { le.PutUint32(b[4:], uint32(number)) }

// pageControlFrame returns a message of the protocol's own. The control 0 is the acknowledgement.
func pageControlFrame(c control, payload []byte) []byte {
	b := make([]byte, pageHead, pageHead+len(payload))
	putPageHead(b, 0, c)
	return append(b, payload...)
}

// pages says how pages connect.
func (s *Server) pages() *transport.WebSocketConfig {
	return &transport.WebSocketConfig{
		Name: "the page's server", Late: true, ReadLimit: pageRequest,
		Accept: func(socket *transport.WebSocket) transport.WebSocketSession {
			return &pageSession{server: s, socket: socket}
		},
	}
}

// pageSession is the server's side of one page.
type pageSession struct {
	server   *Server
	socket   *transport.WebSocket
	welcomed atomic.Bool
	all      bool   // guarded by server.mu: the page wants every stream
	credits  int    // guarded by server.mu: so many messages of each stream that comes
	whole    bool   // guarded by server.mu: it wants all points of clouds
	losses   losses // owned by the writing goroutine
}

var (
	_ client                     = (*pageSession)(nil)
	_ transport.WebSocketSession = (*pageSession)(nil)
	_ transport.Leaver           = (*pageSession)(nil)
)

// Open waits for what the page says first.
func (p *pageSession) Open() error { return nil }

// pageHello is what a page says first.
type pageHello struct {
	Token   string `json:"token"`
	Version int    `json:"version"`
}

// Message answers what the page says.
func (p *pageSession) Message(kind transport.Opcode, data []byte) error {
	if kind != transport.OpText {
		return fmt.Errorf("%w: a page sends text", transport.ErrProtocol)
	}
	if !p.welcomed.Load() {
		return p.greet(data)
	}
	request, err := readPageRequest(data)
	if err == nil {
		err = p.answer(request)
	}
	if err != nil && !errors.Is(err, transport.ErrControl) {
		p.tell(struct {
			Error string `json:"error"`
		}{guard.Excerpt(err.Error(), guard.ReasonBytes)})
	}
	return err
}

// greet welcomes the page, or says why not.
func (p *pageSession) greet(data []byte) error {
	var hello pageHello
	err := json.Unmarshal(data, &hello)
	switch {
	case err != nil:
		err = errors.New("a page says first, in JSON, its token and version")
	case hello.Version != PageVersion:
		err = fmt.Errorf("the page's version is %d, this raybridge's %d: load the page again", hello.Version, PageVersion)
	default:
		if err = p.server.page.admit(hello.Token); err == nil {
			err = p.socket.Enter()
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", transport.ErrRefused, err)
	}
	p.welcome()
	return nil
}

// welcome acknowledges. No stream that is added meanwhile is missed or told of twice.
func (p *pageSession) welcome() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	rest, late := p.server.welcomeLocked().rest()
	p.socket.Greet(transport.OpBinary, pageControlFrame(0, rest))
	for _, one := range late {
		p.socket.Greet(transport.OpBinary, pageControlFrame(controlStream, appendInfo(nil, one.id, &one.info)))
	}
	p.welcomed.Store(true)
	p.server.sessions[p] = true
}

// announce tells the page of a stream that came or went. One that doesn't read so many is disconnected.
func (p *pageSession) announce(news control, payload []byte) bool {
	return p.post(news, payload) == nil
}

func (p *pageSession) post(c control, payload []byte) error {
	return p.socket.Post(transport.OpBinary, pageControlFrame(c, payload))
}

// tell sends a remark, which a page that doesn't read misses.
func (p *pageSession) tell(remark any) {
	text, _ := json.Marshal(remark) // it has texts and numbers
	p.socket.Tell(transport.OpText, text)
}

func (p *pageSession) wantsAll() bool { return p.all }

func (p *pageSession) subscribeLocked(s *Stream) { p.subscribe(s, p.credits) }

// subscribe lets so many messages of a stream be on their way to the page; server.mu must be held.
func (p *pageSession) subscribe(s *Stream, credits int) {
	p.socket.Subscribe(s.core, transport.OpBinary, nil, transport.Receiver{Form: p.cloudForm(), Credits: credits})
	if p.whole && s.latest != nil {
		s.latest.again() // it may have been thinned for others
	}
	s.poke()
}

// cloudForm is the form of clouds that the page wants; all else has formPlain alone. server.mu must be held.
func (p *pageSession) cloudForm() int {
	if p.whole {
		return formWhole
	}
	return formPlain
}

func (p *pageSession) unsubscribe(s *Stream) {
	p.socket.Unsubscribe(s.core)
	s.poke()
}

// forget lets go of the last message of each stream, and of what is held for pages without credits.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.streams {
		if one.latest != nil {
			one.latest.forget()
		}
		one.core.Forget()
		one.core.Outdate()
	}
}

// poke has what encodes for pages look whether there is something to do.
func (s *Stream) poke() {
	if s.latest != nil {
		s.latest.poke()
	}
}

// Closed forgets the page.
func (p *pageSession) Closed() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	delete(p.server.sessions, p)
	for _, s := range p.server.streams {
		p.unsubscribe(s)
	}
}

// Beat tells of messages that were dropped since the last beat, and shows that the server is alive: a page doesn't see
// pings.
func (p *pageSession) Beat() {
	if !p.welcomed.Load() {
		return
	}
	if lost := p.losses.payload(p.socket.Counts, nil); lost != nil {
		p.socket.Tell(transport.OpBinary, pageControlFrame(controlLosses, lost))
	}
	p.socket.Tell(transport.OpBinary, pageControlFrame(controlAlive, nil))
}

// Goodbye says that the run has ended.
func (p *pageSession) Goodbye() (kind transport.Opcode, data []byte) {
	payload := appendString(le.AppendUint16(nil, uint16(StatusClosing)), errRunEnded.Error())
	return transport.OpBinary, pageControlFrame(controlBye, payload)
}
