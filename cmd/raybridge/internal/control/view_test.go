package control_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/page"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/simtime"
)

// shown serves the live page until the test ends.
func shown(t *testing.T, token string, origins ...string) *control.Server {
	t.Helper()
	s, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"}, token, origins...)
	require.NoError(t, err)
	files, err := page.New()
	require.NoError(t, err)
	port := stream.NewPagePort(s.Listener(), s.Admit, nil)
	registry, err := bridges.NewRegistry(port)
	require.NoError(t, err)
	b, err := registry.Open(stream.PageName+":", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	clock := newClock(t, simtime.Config{})
	s.Serve(control.Run{
		Clock: clock, Step: time.Millisecond, StepWait: time.Minute, StepTo: stepping(clock), Status: func() any { return object{} },
		View: &control.View{Files: files, Port: port},
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
		assert.NoError(t, b.Close(context.Background()))
	})
	return s
}

// watch connects as a page does, with headers by their names. A refusal has its status and text.
func watch(t *testing.T, s *control.Server, token string, headers ...string) (conn *websocket.Conn, status int, text string) {
	t.Helper()
	o := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			o.Host = headers[i+1]
		}
		o.HTTPHeader.Set(headers[i], headers[i+1])
	}
	opened, response, err := websocket.Dial(t.Context(), "ws://"+s.Addr()+"/ws", o) //nolint:bodyclose // the library has it
	if err != nil {
		require.NotNil(t, response, "%v", err)
		body, _ := io.ReadAll(response.Body)
		return nil, response.StatusCode, string(body)
	}
	t.Cleanup(func() { _ = opened.CloseNow() })
	require.NoError(t, opened.Write(t.Context(), websocket.MessageText, []byte(`{"version": 1, "token": "`+token+`"}`)))
	_, first, err := opened.Read(t.Context())
	if err == nil {
		require.Zero(t, first[3], "it is the welcome")
		return opened, http.StatusSwitchingProtocols, ""
	}
	return nil, int(websocket.CloseStatus(err)), err.Error()
}

// loaded is the head of an answer.
type loaded struct {
	StatusCode int
	Header     http.Header
}

// load asks for a path.
func load(t *testing.T, s *control.Server, path string, headers ...string) (answer loaded, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
	require.NoError(t, err)
	r.Close = true
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return loaded{response.StatusCode, response.Header}, string(body)
}

// The page's files need no token, and everything else does. Its WebSocket takes it in its first message.
func TestThePagesToken(t *testing.T) {
	s := shown(t, token)
	response, text := load(t, s, "/")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
	assert.Contains(t, text, "<!doctype html>")
	response, _ = load(t, s, "/v1/status")
	assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
	response, _ = load(t, s, "/v1/status", "Authorization", "Bearer "+token)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	_, status, _ := watch(t, s, token)
	assert.Equal(t, http.StatusSwitchingProtocols, status)
	for given, reason := range map[string]string{
		"":                "this server asks for its token: open the address that it printed, with #token= at its end",
		token[1:]:         "the token isn't this server's: open the address that it printed when it began",
		"Bearer " + token: "the token isn't this server's",
	} {
		_, status, text := watch(t, s, given)
		assert.Equal(t, int(websocket.StatusPolicyViolation), status)
		assert.Contains(t, text, reason)
	}
	assert.Equal(t, map[string]int64{"bad_token": 4}, s.Refused())
	response, text = load(t, s, "/ws")
	assert.Equal(t, http.StatusUpgradeRequired, response.StatusCode)
	assert.Contains(t, text, "open / in a browser")
	response, _ = load(t, s, "/no.js", "Authorization", "Bearer "+token)
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

// A run without the page has neither its files nor its WebSocket.
func TestNoPageUnlessAsked(t *testing.T) {
	s := listen(t)
	serve(t, s, func() any { return object{} }, io.Discard)
	defer func() { assert.NoError(t, s.Close()) }()
	for _, path := range []string{"/", "/ws"} {
		response, _ := load(t, s, path)
		assert.Equal(t, http.StatusNotFound, response.StatusCode, path)
	}
}

// The page is reached under names of its own that were named; a refusal says how.
func TestNamesOfThePage(t *testing.T) {
	for _, c := range []struct {
		origins      string // that the run was given
		host, origin string
		refused      string // "" for none
	}{
		{"", "127.0.0.1:7741", "http://127.0.0.1:7741", ""},
		{"", "localhost:7741", "http://localhost:7741", ""},
		{"", "robot:7741", "http://robot:7741", `pages of \"http://robot:7741\" may not use this server: if they are to, start it with --api-origins robot`},
		{"", "robot.example:7741", "http://robot.example:7741", `the host \"robot.example:7741\" is not this server's: use its IP address, or name it: --api-origins robot.example`},
		{"", "127.0.0.1:7741", "http://evil.example", "--api-origins evil.example"},
		{"", "127.0.0.1:7741", "null", "name them in --api-origins"},
		{"robot", "robot:7741", "http://robot:7741", ""},
		{"robot", "robot", "http://robot", ""},
		{"robot", "robot:7741", "https://robot", ""},
		{"robot,lab.example:7741", "lab.example:7741", "http://lab.example:7741", ""},
		{"robot,lab.example:7741", "lab.example:7742", "http://lab.example:7742", "--api-origins lab.example"},
		{"robot", "robot:7741", "http://robot.evil.example", "--api-origins robot.evil.example"},
		{"fd00::1", "[fd00::1]:7741", "http://[fd00::1]:7741", ""},
		{"[fd00::1],[fd00:0::2]:7741", "[fd00::2]:7741", "http://[fd00::2]:7741", ""},
		{"[fd00::1]", "[fd00::1]", "http://[fd00::1]", ""},
		{"[fd00::1]", "[fd00::2]:7741", "http://[fd00::2]:7741", "--api-origins fd00::2"},
		{"[fd00::1]:7741", "[fd00::1]:7742", "http://[fd00::1]:7742", "--api-origins fd00::1"},
		{"robot", "evil.example", "http://robot", "--api-origins evil.example"},
	} {
		var origins []string
		if c.origins != "" {
			origins = strings.Split(c.origins, ",")
		}
		s := shown(t, "", origins...)
		_, status, text := watch(t, s, "", "Host", c.host, "Origin", c.origin)
		response, page := load(t, s, "/", "Host", c.host, "Origin", c.origin)
		if c.refused == "" {
			assert.Equal(t, http.StatusSwitchingProtocols, status, "%+v: %s", c, text)
			assert.Equal(t, http.StatusOK, response.StatusCode, "%+v: %s", c, page)
			continue
		}
		assert.Equal(t, http.StatusForbidden, status, "%+v", c)
		assert.Contains(t, text, c.refused, "%+v", c)
		assert.Equal(t, http.StatusForbidden, response.StatusCode, "%+v", c)
		assert.Contains(t, page, c.refused, "%+v", c)
	}
	for _, wrong := range []string{"", "*", "http://robot", "robot/", "[a-z]", "a b", "robot:x:y", "?", "[robot]:7741:1", "[]"} {
		_, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"}, "", wrong)
		assert.ErrorIs(t, err, control.ErrAddress, wrong)
	}
}

// A page that couldn't use the API isn't loaded: the refusal, which somebody reads, names the flag.
func TestPagesUnderAHostThatIsntNamed(t *testing.T) {
	s := shown(t, "", "lab.example")
	for host, refused := range map[string]string{
		"127.0.0.1:7741": "", "localhost:7741": "", "lab.example": "", "lab.example:80": "",
		"192.0.2.7:7741": "start it with --api-origins 192.0.2.7", // where an address is translated on the way
		"[fd00::7]:7741": "start it with --api-origins fd00::7",
		"robot:7741":     "start it with --api-origins robot",
	} {
		response, text := load(t, s, "/", "Host", host)
		if refused == "" {
			assert.Equal(t, http.StatusOK, response.StatusCode, host)
			continue
		}
		assert.Equal(t, http.StatusForbidden, response.StatusCode, host)
		assert.Contains(t, text, refused)
	}
}

// As many of a hundred pages are served as the API has connections. They don't rest: none makes room for another one.
func TestAHundredPages(t *testing.T) {
	s := shown(t, "")
	var conns []*websocket.Conn
	refused := 0
	for range 100 {
		conn, status, text := watch(t, s, "")
		if conn != nil {
			conns = append(conns, conn)
			continue
		}
		refused++
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, text, "there are as many connections as this server takes: 64")
	}
	assert.Len(t, conns, guard.ControlConnections)
	response, text := load(t, s, "/healthz")
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode, text)
	for _, conn := range conns { // all are there still
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"subscribe": "/none"}`)))
	}
	require.NoError(t, conns[0].Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool {
		response, _ := load(t, s, "/healthz")
		return response.StatusCode == http.StatusOK
	}, 20*time.Second, time.Millisecond)
}

// A connection that hasn't shown a token takes nobody's place, however many there are.
func TestPagesThatSayNothingTakeNoPlace(t *testing.T) {
	s := shown(t, token)
	for range guard.ControlConnections {
		silent, _, err := websocket.Dial(t.Context(), "ws://"+s.Addr()+"/ws", nil) //nolint:bodyclose // the library has it
		require.NoError(t, err)
		defer func() { _ = silent.CloseNow() }()
	}
	response, text := load(t, s, "/v1/status", "Authorization", "Bearer "+token)
	assert.Equal(t, http.StatusOK, response.StatusCode, text)
	conn, status, text := watch(t, s, token)
	require.NotNil(t, conn, "%d: %s", status, text)
}
