package guard_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/raybridge/raybridge/internal/guard"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is a server of the test's.
type site struct {
	*guard.Server
	address string

	mu      sync.Mutex
	refused []error // guarded by mu
}

func newSite(g *guard.Guard, connections int) *site {
	s := &site{}
	s.Server = guard.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") }),
		guard.Config{
			Guard: g, Connections: connections, Body: 64,
			Answer: func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), guard.Status(err)) },
			Refused: func(err error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.refused = append(s.refused, err)
			},
		})
	return s
}

// causes returns how often each cause was told of.
func (s *site) causes() map[guard.Rule]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[guard.Rule]int{}
	for _, err := range s.refused {
		var refusal *guard.Refusal
		if errors.As(err, &refusal) {
			counts[refusal.Rule]++
		}
	}
	return counts
}

// open serves on a loopback address.
func open(t *testing.T, g *guard.Guard, address string) *site {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := newSite(g, 4)
	s.address = l.Addr().String()
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask sends a request with the headers and returns the status and the text of the answer.
func (s *site) ask(t *testing.T, method string, headers map[string]string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	defer conn.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+"/", nil)
	require.NoError(t, err)
	for key, value := range headers {
		if key == "Host" {
			request.Host = value
			continue
		}
		for line := range strings.SplitSeq(value, "\n") { // a header each
			request.Header.Add(key, line)
		}
	}
	require.NoError(t, request.Write(conn))
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// TestOrigins: which pages may use a server that arrives at 127.0.0.1.
func TestOrigins(t *testing.T) {
	const refused = guard.BadOrigin
	for _, c := range []struct {
		name, origin string
		cause        guard.Rule
	}{
		{"a program", "", ""},
		{"localhost", "http://localhost", ""},
		{"localhost, a port", "http://localhost:3000", ""},
		{"localhost, encrypted", "https://localhost:3000", ""},
		{"127.0.0.1", "http://127.0.0.1:8080", ""},
		{"another of 127/8", "http://127.8.9.10", ""},
		{"IPv6's loopback", "http://[::1]:5173", ""},
		{"IPv4's in IPv6", "http://[::ffff:127.0.0.1]", ""},
		{"Foxglove", "https://app.foxglove.dev", ""},
		{"Foxglove Studio", "https://studio.foxglove.dev", ""},
		{"a desktop application", "file://", ""},

		{"any site", "https://evil.example", refused},
		{"a name that leads here", "http://evil.example:8765", refused},
		{"null", "null", refused},
		{"Foxglove without TLS", "http://app.foxglove.dev", refused},
		{"Foxglove at a port", "https://app.foxglove.dev:8443", refused},
		{"like Foxglove", "https://app.foxglove.dev.evil.example", refused},
		{"below Foxglove", "https://a.app.foxglove.dev", refused},
		{"like localhost", "http://localhost.evil.example", refused},
		{"localhost as a user", "http://localhost@evil.example", refused},
		{"localhost as a path", "http://evil.example/localhost", refused},
		{"like 127.0.0.1", "http://127.0.0.1.evil.example", refused},
		{"an address of another machine", "http://192.0.2.7", refused},
		{"an address without a host", "http://0.0.0.0", refused},
		{"another scheme", "chrome-extension://localhost", refused},
		{"a file's path", "file:///etc/passwd", refused},
		{"rubbish", "%", refused},
		{"a host alone", "localhost", refused},
		{"two", "http://localhost, https://evil.example", refused},
		{"two headers", "http://localhost\nhttps://evil.example", refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, &guard.Guard{PageOption: "origins="}, "127.0.0.1:0")
			headers := map[string]string{}
			if c.origin != "" {
				headers["Origin"] = c.origin
			}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				status, text := s.ask(t, method, headers)
				if c.cause == "" {
					assert.Equal(t, http.StatusOK, status, text)
					assert.Equal(t, "welcome", text)
					continue
				}
				assert.Equal(t, http.StatusForbidden, status)
				assert.Contains(t, text, "name them in origins= if they are to")
			}
			if c.cause != "" {
				assert.Equal(t, map[guard.Rule]int{c.cause: 2}, s.causes())
			}
		})
	}
}

// TestPagesOfThisAddress: a page that was served at the address at which its connection arrives
// may use the server, at whatever port. At another address of this machine it may not.
func TestPagesOfThisAddress(t *testing.T) {
	local := func(ip string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "http://192.0.2.7:8765/", nil)
		return r.WithContext(contextWith(r, &net.TCPAddr{IP: net.ParseIP(ip), Port: 8765}))
	}
	for _, c := range []struct {
		at, origin string
		welcome    bool
	}{
		{"192.0.2.7", "http://192.0.2.7:3000", true},
		{"192.0.2.7", "https://192.0.2.7", true},
		{"::ffff:192.0.2.7", "http://192.0.2.7:3000", true},
		{"2001:db8::7", "http://[2001:db8::7]:3000", true},
		{"2001:db8::7", "http://[2001:DB8:0::7]:3000", false}, // browsers write it shorter
		{"192.0.2.7", "http://192.0.2.8:3000", false},
		{"2001:db8::7", "http://[2001:db8::8]", false},
		{"192.0.2.7", "http://localhost:3000", true},
	} {
		r := local(c.at)
		r.Header.Set("Origin", c.origin)
		err := (&guard.Guard{}).Check(r)
		assert.Equal(t, c.welcome, err == nil, "%s at %s: %v", c.origin, c.at, err)
	}
}

// TestPagesThatAreNamed are let in beside those that are welcome anyway.
func TestPagesThatAreNamed(t *testing.T) {
	s := open(t, &guard.Guard{Pages: []string{"viewer.example", "localhost:*", "https://*.only.example", "null", "robot.example:8765"}}, "127.0.0.1:0")
	for _, c := range []struct {
		origin, host string
		status       int
	}{
		{"https://viewer.example", "", 200},
		{"http://VIEWER.example", "", 200},
		{"https://a.only.example", "", 200},
		{"null", "", 200},
		{"https://app.foxglove.dev", "", 200},
		{"http://127.0.0.1", "", 200},
		{"http://a.only.example", "", 403},
		{"https://evil.example", "", 403},
		{"https://viewer.example.evil.example", "", 403},
		{"https://viewer.example:444", "", 403},
		{"https://viewer.example", "viewer.example", 200}, // behind a server that serves both
		{"", "a.only.example:80", 200},
		{"", "robot.example:8765", 200},
		{"", "evil.example:8765", 403},
	} {
		headers := map[string]string{}
		if c.origin != "" {
			headers["Origin"] = c.origin
		}
		if c.host != "" {
			headers["Host"] = c.host
		}
		status, text := s.ask(t, http.MethodGet, headers)
		assert.Equal(t, c.status, status, "%+v: %s", c, text)
	}
	all := open(t, &guard.Guard{Pages: []string{"*"}}, "127.0.0.1:0")
	for _, origin := range []string{"https://evil.example", "null", "file://", "rubbish", "chrome-extension://x"} {
		status, _ := all.ask(t, http.MethodPost, map[string]string{"Origin": origin, "Host": "evil.example"})
		assert.Equal(t, http.StatusOK, status, origin)
	}
}

// TestHosts: a request for a name that somebody may have made lead here is refused, whatever
// its origin.
func TestHosts(t *testing.T) {
	own, err := os.Hostname()
	require.NoError(t, err)
	s := open(t, &guard.Guard{Names: []string{"simbox.lan"}, NameOption: "--control"}, "127.0.0.1:0")
	for host, welcome := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "127.0.0.1": true, "192.168.1.7:8080": true, "[::1]:8080": true, "[::1]": true,
		"simbox.lan:8080": true, "SIMBOX.lan": true, "raybridge:8080": true, "robot.local": true, "a.localhost:1": true, "box.internal": true,
		"nas.home.arpa": true, own + ":1": true,
		"evil.example:8080": false, "evil.example": false, "example.": false, "127.0.0.1.evil.example": false, "local.evil.example": false,
		"evillocal.example": false, "simbox.lan.evil.example": false,
	} {
		for _, origin := range []string{"", "http://localhost:3000"} {
			headers := map[string]string{"Host": host}
			if origin != "" {
				headers["Origin"] = origin
			}
			status, text := s.ask(t, http.MethodGet, headers)
			if welcome {
				assert.Equal(t, http.StatusOK, status, host)
				continue
			}
			assert.Equal(t, http.StatusForbidden, status, host)
			name, _, _ := strings.Cut(host, ":")
			assert.Contains(t, text, fmt.Sprintf("the host %q is not this server's: use its IP address, or name it: --control %s\n", host, name))
		}
	}
	assert.Equal(t, map[guard.Rule]int{guard.BadHost: 2 * 7}, s.causes())
	// The certificate has shown who it is: a page whose name was made lead here gets none.
	r := httptest.NewRequest(http.MethodGet, "https://robot.company.example/", nil)
	r.TLS = &tls.ConnectionState{}
	assert.NoError(t, (&guard.Guard{}).Check(r))
}

// TestOriginsArentComparedWithHosts: a page is of no more trust where its name is that of the
// request, though the server may be asked for by it.
func TestOriginsArentComparedWithHosts(t *testing.T) {
	s := open(t, &guard.Guard{Names: []string{"simbox.lan"}}, "127.0.0.1:0")
	for _, host := range []string{"robot.local:8765", "raybridge:8765", "simbox.lan", "192.168.1.7:8765"} {
		status, _ := s.ask(t, http.MethodGet, map[string]string{"Host": host, "Origin": "http://" + host})
		assert.Equal(t, http.StatusForbidden, status, host)
	}
	assert.Equal(t, map[guard.Rule]int{guard.BadOrigin: 4}, s.causes())
}

// TestPagesThatNameNoOrigin: browsers name none with links and pictures. They may ask, but
// change nothing.
func TestPagesThatNameNoOrigin(t *testing.T) {
	s := open(t, &guard.Guard{}, "127.0.0.1:0")
	for _, c := range []struct {
		method, site string
		status       int
	}{
		{"GET", "cross-site", 200}, {"HEAD", "same-site", 200}, {"POST", "same-origin", 200}, {"POST", "none", 200}, {"PUT", "", 200},
		{"POST", "cross-site", 403}, {"PUT", "same-site", 403}, {"POST", "rubbish", 403},
	} {
		status, _ := s.ask(t, c.method, map[string]string{"Sec-Fetch-Site": c.site})
		assert.Equal(t, c.status, status, "%+v", c)
	}
}

// FuzzCheck: a page is let in only if its origin is written as browsers write those that are
// welcome. No rubbish makes the check panic.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "null", "http://localhost:1", "https://app.foxglove.dev", "http://[::1%eth0]", "http://[", "file://", "http://127.0.0.1:x", "httP://localhost"} {
		f.Add(seed, "localhost", "*.example")
		f.Add("http://a.example", seed, "[")
	}
	f.Fuzz(func(t *testing.T, origin, host, page string) {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", nil)
		r.Host = host
		r.Header["Origin"] = []string{origin}
		if page == "*" {
			t.Skip()
		}
		_ = (&guard.Guard{Pages: []string{page}}).Check(r)
		if err := (&guard.Guard{}).Check(r); err == nil && origin != "" && origin != "file://" {
			assert.Regexp(t, `^(?i)(https://(app|studio)\.foxglove\.dev|https?://(localhost|127\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%]+.*\])(:\d*)?)$`, origin)
		}
	})
}

// TestLimitsAreDocumented: the table for users has the value of each limit of a client.
func TestLimitsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/bridges/README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "## What a client may have kept")
	require.True(t, ok)
	for row, value := range map[string]string{
		"a message of a client":             fmt.Sprintf("%d MiB", guard.MessageBytes>>20),
		"all that is kept for a client":     fmt.Sprintf("%d MiB", guard.KeptBytes>>20),
		"a name of an operation":            fmt.Sprintf("%d bytes", guard.NameBytes),
		"an id":                             fmt.Sprintf("%d bytes", guard.IDBytes),
		"elements of a list":                fmt.Sprint(guard.ListElements),
		"`rosbridge`: topics":               fmt.Sprint(guard.ClientTopics),
		"`rosbridge`: subscriptions":        fmt.Sprint(guard.TopicSubscriptions),
		"`rosbridge`: messages of a topic":  fmt.Sprint(guard.ThrottledMessages),
		"`rosbridge`: calls of one service": fmt.Sprint(guard.ServiceCalls),
		"`rosbridge`: incomplete messages":  fmt.Sprint(guard.FragmentedMessages),
		"`rosbridge`: fragments":            fmt.Sprint(guard.Fragments),
		"`foxglove`: channels":              fmt.Sprint(guard.ClientChannels),
		"`foxglove`: parameters that":       fmt.Sprint(guard.ClientParameters),
		"`foxglove`: a value that":          fmt.Sprintf("%d bytes", guard.ParameterBytes),
		"`foxglove`: calls of services":     fmt.Sprint(guard.ServerCalls),
	} {
		_, rest, ok := strings.Cut(table, "| "+row)
		require.True(t, ok, row)
		line, _, _ := strings.Cut(rest, "\n")
		assert.Contains(t, line, "| "+value+" |", row)
	}
}
