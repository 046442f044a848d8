package ros1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
	"github.com/bluenviron/goroslib/v2/pkg/apislave"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/fault"
)

const (
	// callLimit is the time for one call of another's API.
	callLimit = 5 * time.Second
	// maxAnswer is the length of an answer that is still read, bytes.
	maxAnswer = 4 << 20
)

// errNameTaken: another node that lives has the node's name.
var errNameTaken = errors.New("node name is taken")

// bounded is how the calls of goroslib's clients are bounded, which know neither contexts nor
// sizes. They end with ctx, and an answer's end is cut off. Each has a connection of its own:
// one that is kept is dead when the other side was restarted.
type bounded struct {
	ctx  context.Context
	base *http.Transport
}

func newCaller(ctx context.Context) *http.Client {
	base := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: callLimit}).DialContext}
	return &http.Client{
		Transport: bounded{ctx, base}, Timeout: callLimit,
		// An answer doesn't decide who is dialled next.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip makes the call.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(b.ctx, cancel)
	end := func() { stop(); cancel() }
	response, err := b.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	response.Body = &boundedBody{io.LimitReader(response.Body, maxAnswer), response.Body, end}
	return response, nil
}

type boundedBody struct {
	io.Reader
	body io.Closer
	end  func()
}

func (b *boundedBody) Close() error {
	defer b.end()
	return b.body.Close()
}

// unreachable reports whether a call failed before there was an answer, as against an
// answer that refuses.
func unreachable(err error) bool {
	var failed *url.Error
	return errors.As(err, &failed)
}

// master is the ROS master as one node knows it.
type master struct {
	address string
	caller  *http.Client
	api     *apimaster.Client // as the node
	pid     int
}

// reach asks for a master that answers.
func reach(ctx context.Context, address string) (*master, error) {
	m := &master{address: address, caller: newCaller(ctx)}
	m.api = apimaster.NewClient(address, defaultNode, m.caller)
	pid, err := m.getPid()
	if err != nil {
		// net/http has no type for an answer that isn't HTTP, such as SSH's greeting.
		if !unreachable(err) || strings.Contains(err.Error(), "malformed HTTP") {
			err = fmt.Errorf("%w: another program answers there; check the host and the port: %w", transport.ErrProtocol, err)
		}
		return nil, fmt.Errorf("no ROS master at %s: %w", address, fault.NetReason(err))
	}
	m.pid = pid
	return m, nil
}

func (m *master) getPid() (int, error) {
	return apislave.NewClient(m.address, defaultNode, m.caller).GetPid()
}

// claim takes the first of the names that no other living node has; uri is the node's own.
func (m *master) claim(names []string, uri string) (string, error) {
	for _, name := range names {
		holder, err := m.api.LookupNode(name)
		if err != nil && unreachable(err) {
			return "", fmt.Errorf("look up node %s at %s: %w", name, m.address, err)
		}
		if err == nil && holder != uri && m.lives(holder) {
			continue
		}
		m.api = apimaster.NewClient(m.address, name, m.caller)
		return name, nil
	}
	return "", fmt.Errorf("%w: another node is %s; choose a name with ?node=", errNameTaken, names[0])
}

// lives reports whether a node answers. A node that was killed leaves its name behind.
func (m *master) lives(uri string) bool {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" {
		return false
	}
	_, err = apislave.NewClient(u.Host, defaultNode, m.caller).GetPid()
	return err == nil
}

// errForgotten: the master answers, but doesn't know the node any more.
var errForgotten = errors.New("the ROS master was restarted")

// check asks whether the master still has the node's registrations, if it has any.
func (m *master) check(name, uri string, registered bool) error {
	pid, err := m.getPid()
	switch {
	case err != nil:
		return fmt.Errorf("ask ROS master at %s: %w", m.address, err)
	case pid != m.pid:
		return errForgotten
	case !registered:
		return nil
	}
	holder, err := m.api.LookupNode(name)
	switch {
	case err != nil && unreachable(err):
		return fmt.Errorf("ask ROS master at %s: %w", m.address, err)
	case err != nil:
		return errForgotten
	case holder != uri:
		return fmt.Errorf("%w: %s has registered as %s", errNameTaken, holder, name)
	}
	return nil
}
