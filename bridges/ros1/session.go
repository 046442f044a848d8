package ros1

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/protocommon"
	"github.com/bluenviron/goroslib/v2/pkg/prototcp"
	"github.com/raybridge/raybridge/bridges/transport"
)

const (
	// headerLimit is the time for the header of a publisher, and for the rest of something
	// that a peer has begun. Those who connect here have guard.HandshakeTime for theirs.
	headerLimit = 10 * time.Second
	// idle is how long nothing need come where silence is usual. The system's keep-alive
	// finds out about peers that are gone.
	idle = time.Hour
)

// session serves one TCPROS connection that another node has made: a subscriber's, or
// one of a caller of services.
type session struct {
	node   *node
	client *transport.Conn
	// peer and topic are set before the session is in node.sessions.
	peer, topic string
}

// Serve reads the connection's header and does what it asks for. What it can't do is told to
// the other side and noted, so the server has no error of its own.
func (s *session) Serve(context.Context) error {
	header, err := readHeader(s.client.Conn())
	if err == nil {
		if full := s.client.Enter(); full != nil {
			s.refuse(full)
			return full
		}
	}
	switch {
	case err != nil:
	case header["service"] != "":
		err = s.serve(header)
	case header["topic"] != "":
		err = s.subscribe(header)
	default:
		err = fmt.Errorf("%w: the TCPROS header names neither a topic nor a service", transport.ErrProtocol)
	}
	// Others come and go; some only look whether the port is open.
	if errors.Is(err, transport.ErrProtocol) {
		s.note(transport.TroubleUnread, err)
		s.refuse(err)
	}
	return nil
}

// Beat has nothing to say: TCPROS has no sign of life.
func (s *session) Beat(dst []byte, _ bool) []byte { return dst }

// Goodbye has nothing to say either.
func (s *session) Goodbye(dst []byte) []byte { return dst }

func (s *session) note(kind transport.Trouble, err error) {
	s.node.instance.note(kind, s.client.Conn().RemoteAddr().String(), err)
}

// refuse tells the other side why, as a header with the field error, and hangs up.
func (s *session) refuse(why error) {
	_ = s.client.Post(encodeHeader(&prototcp.HeaderError{Error: why.Error()})) // it isn't much
	s.client.Part()
}

// subscribe sends a topic's messages until the subscriber goes.
func (s *session) subscribe(header protocommon.HeaderRaw) error {
	name := header["topic"]
	t := named[*topic](s.node.instance, name)
	if t == nil {
		s.refuse(fmt.Errorf("%s doesn't publish %s", s.node.caller(), name))
		return nil
	}
	out, ok := t.Stream()
	if !ok { // the node is being stopped
		return nil
	}
	if !t.serves(header["md5sum"], header["type"]) {
		err := fmt.Errorf("%s of %s is a %s with md5sum %s, not a %s with %s",
			name, s.node.caller(), t.typ.name, t.typ.md5, header["type"], header["md5sum"])
		s.note(transport.TroubleFailed, err)
		s.refuse(err)
		return nil
	}
	latching := 0
	if t.Latched() {
		latching = 1
	}
	answer := encodeHeader(&prototcp.HeaderPublisher{
		Topic: t.name, Type: t.typ.name, Md5sum: t.typ.md5, Callerid: s.node.caller(),
		Latching: latching, MessageDefinition: t.typ.definition,
	})
	if err := s.client.Post(answer); err != nil { // before all messages
		return err
	}
	s.client.SetPolicy(t.Info.Policy)
	s.peer, s.topic = header["callerid"], t.name
	s.node.enter(s)
	defer s.node.forget(s)
	out.Subscribe(s.client, 0)
	return s.discard()
}

// discard reads until the subscriber goes, which sends nothing.
func (s *session) discard() error {
	var scrap [512]byte
	for {
		if _, err := s.read(scrap[:], 1, idle); err != nil {
			return err
		}
	}
}

// read fills at least the first bytes of buf. A silence of the limit's length isn't an
// error where nothing has come and idleness is usual.
func (s *session) read(buf []byte, least int, limit time.Duration) (int, error) {
	for {
		begun := time.Now()
		if err := s.client.ExtendRead(limit); err != nil {
			return 0, err
		}
		n, err := io.ReadAtLeast(s.client.Conn(), buf, least)
		// A deadline that comes early is the server's, which ends the connection.
		if n == 0 && limit == idle && errors.Is(err, os.ErrDeadlineExceeded) && time.Since(begun) >= idle {
			continue
		}
		return n, err
	}
}

func (n *node) enter(s *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions[s] = true
}

func (n *node) forget(s *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, s)
}

// maxHeader is the length of a connection header that is still read, bytes: subscribers
// send the text of the definition with theirs.
const maxHeader = 256 << 10

// readHeader reads the header of a TCPROS connection (wiki.ros.org/ROS/TCPROS). What isn't
// one wraps transport.ErrProtocol. It takes no more memory than the peer has sent.
func readHeader(r io.Reader) (protocommon.HeaderRaw, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n == 0 || n > maxHeader {
		return nil, fmt.Errorf("%w: %d bytes of TCPROS header are announced", transport.ErrProtocol, n)
	}
	// goroslib reads the length with a single Read, which may be short, so it is given
	// the header as a whole.
	block := bytes.NewBuffer(append(make([]byte, 0, 512), length[:]...))
	if _, err := io.CopyN(block, r, int64(n)); err != nil {
		return nil, err
	}
	header, err := protocommon.HeaderRawDecode(block)
	if err != nil {
		return nil, fmt.Errorf("%w: TCPROS header: %w", transport.ErrProtocol, err)
	}
	return header, nil
}

// encodeHeader returns a header with the fields of a structure of goroslib's prototcp.
func encodeHeader(fields protocommon.Header) []byte {
	var b bytes.Buffer
	if err := protocommon.HeaderEncode(&b, fields); err != nil {
		panic(fmt.Sprintf("ros1: encode %T: %v", fields, err)) // a buffer takes everything
	}
	return b.Bytes()
}

// matches reports whether a peer that asks for or offers a sum, or a type's name, means
// ours; "*" is any.
func matches(theirs, ours string) bool { return theirs == "*" || theirs == ours }

// serves reports whether a subscriber reads what the topic sends. As for roscpp its sum decides,
// since a type may have a second name: tf/tfMessage is tf2_msgs/TFMessage. The name counts
// where there is no sum; none is "*".
func (t *topic) serves(md5, typ string) bool {
	return md5 == t.typ.md5 || matches(cmp.Or(md5, "*"), t.typ.md5) && matches(cmp.Or(typ, "*"), t.typ.name)
}
