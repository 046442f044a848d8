package ros1

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/bluenviron/goroslib/v2/pkg/prototcp"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
)

const (
	// maxIncoming is the length of a message that is taken from others, bytes.
	maxIncoming = 4 << 20
	// maxPublishers is how many publishers of one topic are listened to.
	maxPublishers = 64
)

// subscription is a topic that the node subscribes to. It lasts as long as its instance.
type subscription struct {
	name string // as the master knows it
	typ  messageType

	mu     sync.Mutex              // held while a message is delivered, of any publisher
	handle func(data []byte) error // guarded by mu: decodes a message and hands it on
}

// subscribe is the bridges.Listen of this bridge.
func subscribe(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	typ, err := newMessageType(typeName)
	if err != nil {
		return err
	}
	decoder := encode.ROS1.Decoder()
	return addSubscription(i, topic, typ, func(data []byte) error {
		m := in.New()
		if err := decoder.Decode(data, m); err != nil {
			return fmt.Errorf("%w: %w", transport.ErrProtocol, err)
		}
		return in.Deliver(m)
	})
}

func addSubscription(i bridges.Instance, topic bridges.Topic, typ messageType, handle func(data []byte) error) error {
	name, ok := globalName(topic.Name)
	if !ok {
		return badName(topic.Name)
	}
	return i.(*instance).add(&subscription{name: name, typ: typ, handle: handle})
}

// deliver hands a message on, after those of other publishers.
func (s *subscription) deliver(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.handle(data); err != nil {
		return fmt.Errorf("message on %s: %w", s.name, err)
	}
	return nil
}

// feed is one publisher of a subscription. It is connected to as long as the master lists it,
// and while its connection stands. A master that was restarted lists none of the nodes that
// were there before.
type feed struct {
	node *node
	sub  *subscription
	uri  string
	// listed and connected are guarded by node.mu.
	listed, connected bool
}

// follow connects to those publishers of a topic that the master lists and that aren't known
// yet. It gives up the others once their connections end, and waits for none.
func (n *node) follow(s *subscription, uris []string) {
	if len(uris) > maxPublishers {
		n.instance.note(transport.TroubleFailed, s.name, fmt.Errorf("%d publishers, of which %d are listened to", len(uris), maxPublishers))
		uris = uris[:maxPublishers]
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return
	}
	feeds := n.feeds[s]
	if feeds == nil {
		feeds = map[string]*feed{}
		n.feeds[s] = feeds
	}
	for _, f := range feeds {
		f.listed = false
	}
	for _, uri := range uris {
		f := feeds[uri]
		if f == nil {
			if len(feeds) >= 2*maxPublishers { // old connections still stand
				continue
			}
			f = &feed{node: n, sub: s, uri: uri}
			feeds[uri] = f
			n.feeding.Go(f.run)
		}
		f.listed = true
	}
}

// errEnded says that a publisher has ended its connection between two messages, as a node
// does that goes. The master tells so in a moment; if it doesn't, the next attempt does.
var errEnded = errors.New("the publisher has ended the connection")

// run connects to the publisher again and again, as long as the master lists it.
func (f *feed) run() {
	n := f.node
	retry := n.config.retry
	retry.Attempts = 0 // the master says when to give up
	_ = transport.Keep(n.ctx, retry, func() (bool, error) {
		connected, err := f.receive()
		if n.ctx.Err() == nil && f.unlisted() {
			return connected, nil
		}
		return connected, err
	}, func(loss transport.Loss) {
		kind := transport.TroubleFailed
		if errors.Is(loss.Err, transport.ErrProtocol) {
			kind = transport.TroubleUnread
		}
		if !errors.Is(loss.Err, errEnded) {
			n.instance.note(kind, f.uri, loss.Err)
		}
	})
}

// unlisted reports whether the feed is to end, and then takes it from the node.
func (f *feed) unlisted() bool {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	f.connected = false
	if f.listed {
		return false
	}
	delete(f.node.feeds[f.sub], f.uri)
	return true
}

// receive connects and delivers messages until the connection ends. It reports whether there
// was one.
func (f *feed) receive() (connected bool, err error) {
	address, err := f.request()
	if err != nil {
		return false, fmt.Errorf("ask %s for %s: %w", f.uri, f.sub.name, err)
	}
	dialer := net.Dialer{Timeout: callLimit}
	conn, err := dialer.DialContext(f.node.ctx, "tcp", address)
	if err != nil {
		return false, fmt.Errorf("connect for %s: %w", f.sub.name, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(f.node.ctx, func() { _ = conn.Close() })
	defer stop()
	if err := f.greet(conn); err != nil {
		return false, err
	}
	f.node.mu.Lock()
	f.connected = true
	f.node.mu.Unlock()
	return true, f.read(conn)
}

// request asks the publisher where it serves the topic. That is on the host that the master
// named, whatever host the answer names. A node gives the same for both, unless others are to
// connect to somebody else.
func (f *feed) request() (address string, err error) {
	u, err := url.Parse(f.uri)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return "", fmt.Errorf("%w: %q is not a node's address", transport.ErrProtocol, f.uri)
	}
	api := apislave.NewClient(u.Host, f.node.caller(), newCaller(f.node.ctx))
	answer, err := api.RequestTopic(f.sub.name, [][]any{{"TCPROS"}})
	if err != nil {
		return "", err
	}
	if len(answer) < 3 || answer[0] != "TCPROS" {
		return "", fmt.Errorf("%w: it answers %v", transport.ErrProtocol, answer)
	}
	port, ok := answer[2].(int)
	if !ok || port < 1 || port > 65535 {
		return "", fmt.Errorf("%w: it answers %v", transport.ErrProtocol, answer)
	}
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(port)), nil
}

// greet exchanges headers.
func (f *feed) greet(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(headerLimit)); err != nil {
		return err
	}
	typ := f.sub.typ
	if _, err := conn.Write(encodeHeader(&prototcp.HeaderSubscriber{
		Callerid: f.node.caller(), Topic: f.sub.name, Type: typ.name, Md5sum: typ.md5,
		MessageDefinition: typ.definition, TcpNodelay: 1,
	})); err != nil {
		return err
	}
	header, err := readHeader(conn)
	switch {
	case err != nil:
		return err
	case header["error"] != "":
		return fmt.Errorf("%s is refused: %s", f.sub.name, header["error"])
	case !matches(header["md5sum"], typ.md5):
		return fmt.Errorf("%s is published as %s with md5sum %s, not as %s with %s",
			f.sub.name, header["type"], header["md5sum"], typ.name, typ.md5)
	}
	return nil
}

// read delivers messages. One that can't be read is counted, and the next is.
func (f *feed) read(conn net.Conn) error {
	var data []byte
	for {
		// The first byte may take as long as it likes.
		if err := conn.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		var length [4]byte
		if _, err := io.ReadFull(conn, length[:]); errors.Is(err, io.EOF) {
			return errEnded
		} else if err != nil {
			return fmt.Errorf("%s: %w", f.sub.name, err)
		}
		n := binary.LittleEndian.Uint32(length[:])
		if n > maxIncoming {
			return fmt.Errorf("%w: message of %d bytes on %s", transport.ErrProtocol, n, f.sub.name)
		}
		if err := conn.SetReadDeadline(time.Now().Add(headerLimit)); err != nil {
			return err
		}
		if cap(data) < int(n) {
			data = make([]byte, n)
		}
		data = data[:n]
		if _, err := io.ReadFull(conn, data); err != nil {
			return fmt.Errorf("%s: %w", f.sub.name, err)
		}
		if err := f.sub.deliver(data); err != nil {
			f.node.instance.note(transport.TroubleUnread, f.uri, err)
		}
	}
}
