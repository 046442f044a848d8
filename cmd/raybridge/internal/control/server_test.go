package control_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/simtime"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]control.Address{
		"8080":           {Host: "127.0.0.1", Port: 8080},
		":8080":          {Host: "127.0.0.1", Port: 8080},
		"0":              {Host: "127.0.0.1", Port: 0},
		"0.0.0.0:80":     {Host: "0.0.0.0", Port: 80},
		"simbox.lan:1":   {Host: "simbox.lan", Port: 1},
		"[::1]:65535":    {Host: "::1", Port: 65535},
		"localhost:8080": {Host: "localhost", Port: 8080},
		"unix:a b/c:1":   {Path: "a b/c:1"},
	} {
		got, err := control.ParseAddress(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "here", "here:", ":", ":http", ":-1", "65536", ":65536", "99999999999999999999", "::1:80", "unix:", "unix:" + strings.Repeat("a", 108), "http://127.0.0.1:80", "a:1:2"} {
		_, err := control.ParseAddress(text)
		require.ErrorIs(t, err, control.ErrAddress, text)
	}
}

func portOf(t *testing.T, s *control.Server) uint16 {
	t.Helper()
	at, err := control.ParseAddress(s.Addr())
	require.NoError(t, err)
	return at.Port
}

func listen(t *testing.T) *control.Server {
	t.Helper()
	s, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"}, "")
	require.NoError(t, err)
	return s
}

func serve(t *testing.T, s *control.Server, status func() any, log io.Writer) *simtime.Clock {
	t.Helper()
	clock := newClock(t, simtime.Config{})
	s.Serve(control.Run{Clock: clock, Step: time.Millisecond, StepWait: time.Minute, StepTo: stepping(clock), Status: status}, slog.New(slog.NewTextHandler(log, nil)))
	return clock
}

func TestServerAnswersUntilItIsClosed(t *testing.T) {
	s := listen(t)
	assert.NotZero(t, portOf(t, s))
	clock := serve(t, s, func() any { return object{} }, io.Discard)
	url := "http://" + s.Addr()
	response, err := http.Post(url+"/v1/pause", "", nil)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, `{"source":"engine","scale":1,"paused":true,"sec":0,"nanosec":0}`+"\n", string(text))
	assert.True(t, clock.Paused())

	require.NoError(t, s.Close())
	_, err = http.Get(url + "/v1/status") //nolint:bodyclose // there is none
	require.Error(t, err)
	again, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1", Port: portOf(t, s)}, "")
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Close(), "also without having served")
}

func TestAnAddressInUse(t *testing.T) {
	s := listen(t)
	defer s.Close()
	_, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1", Port: portOf(t, s)}, "")
	require.ErrorContains(t, err, "address already in use: end the program that has it, or choose another port")
	_, err = control.Listen(t.Context(), control.Address{Host: "203.0.113.7", Port: 80}, "") // TEST-NET-3, nobody's
	require.ErrorContains(t, err, "listen on 203.0.113.7:80")
}

// TestClientsWaitForTheRun: who connects before there is a run to drive is answered
// when there is.
func TestClientsWaitForTheRun(t *testing.T) {
	s := listen(t)
	defer s.Close()
	connection, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer connection.Close()
	_, err = fmt.Fprintf(connection, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	serve(t, s, func() any { return object{"late": true} }, io.Discard)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, `{"late":true}`+"\n", string(text))
}

// TestCloseLetsAnAnswerComeToItsEnd, and doesn't wait for a client that says
// nothing.
func TestCloseLetsAnAnswerComeToItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s := listen(t)
	asked, tell := make(chan struct{}), make(chan struct{})
	serve(t, s, func() any {
		close(asked)
		<-tell
		return object{"all": true}
	}, io.Discard)
	silent, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer silent.Close()
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + s.Addr() + "/v1/status")
		if !assert.NoError(t, err) {
			answer <- ""
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answer <- string(text)
	}()
	<-asked
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(tell)
	assert.Equal(t, `{"all":true}`, strings.TrimSpace(<-answer))
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("a silent client keeps the server")
	}
}

// TestAPanicIsOneRequests is net/http's: it is logged, and the server continues.
func TestAPanicIsOneRequests(t *testing.T) {
	s := listen(t)
	var log bytes.Buffer
	serve(t, s, func() any { panic("status") }, &log)
	_, err := http.Get("http://" + s.Addr() + "/v1/status") //nolint:bodyclose // there is none
	require.Error(t, err)
	response, err := http.Post("http://"+s.Addr()+"/v1/resume", "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.NoError(t, s.Close())
	assert.Contains(t, log.String(), "status")
}

// TestWhoMayUseTheAPI: programs and pages of this machine, by names that nobody else gives out.
func TestWhoMayUseTheAPI(t *testing.T) {
	s := listen(t)
	var log bytes.Buffer
	clock := serve(t, s, func() any { return object{} }, &log)
	url := "http://" + s.Addr()
	for _, c := range []struct {
		name, request string
		headers       []string
		message       string // of a refusal
	}{
		{"a program", "GET /v1/status", nil, ""},
		{"a page of this server's", "POST /v1/resume", []string{"Origin", url}, ""},
		{"a page of another port", "POST /v1/resume", []string{"Origin", "http://127.0.0.1:3000"}, ""},
		{"a name without a dot", "GET /v1/status", []string{"Host", "raybridge:8080"}, ""},
		{"name that points here", "GET /v1/status", []string{"Host", "evil.example:8080"}, `the host "evil.example:8080" is not this server's: use its IP address, or name it: --api-origins evil.example`},
		{"top-level name that points here", "GET /v1/status", []string{"Host", "example."}, `the host "example." is not this server's`},
		{"page of another site", "POST /v1/pause", []string{"Origin", "https://evil.example"}, `pages of "https://evil.example" may not use this server`},
		{"page of another site that asks", "GET /v1/status", []string{"Origin", "https://evil.example"}, "may not use this server"},
		{"sandboxed page", "POST /v1/pause", []string{"Origin", "null"}, "may not use this server"},
		{"page without origin", "POST /v1/pause", []string{"Sec-Fetch-Site", "cross-site"}, "may not use this server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			request, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
			require.NoError(t, err)
			for i := 0; i < len(c.headers); i += 2 {
				if c.headers[i] == "Host" {
					request.Host = c.headers[i+1]
				} else {
					request.Header.Set(c.headers[i], c.headers[i+1])
				}
			}
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			if c.message == "" {
				assert.Equal(t, http.StatusOK, response.StatusCode)
				return
			}
			assert.Equal(t, http.StatusForbidden, response.StatusCode)
			var answer object
			require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
			require.Len(t, answer, 1)
			assert.Contains(t, answer["error"], c.message)
		})
	}
	assert.False(t, clock.Paused())
	assert.Equal(t, map[string]int64{"bad_host": 2, "bad_origin": 4}, s.Refused())
	require.NoError(t, s.Close())
	assert.Contains(t, log.String(), "the API refused a client")
}

// TestConnectionsAreLimited: silent ones lock nobody out, and one that has been answered makes
// room for the next.
func TestConnectionsAreLimited(t *testing.T) {
	s := listen(t)
	serve(t, s, func() any { return object{} }, io.Discard)
	var conns []net.Conn
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		conns = append(conns, conn)
		return conn
	}
	for range 2 * guard.Handshakes {
		connect()
	}
	for range guard.ControlConnections + 10 {
		conn := connect()
		_, err := io.WriteString(conn, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	require.Eventually(t, func() bool { return s.Refused()["too_many_connections"] == 10 }, 20*time.Second, time.Millisecond, "%v", s.Refused())
	assert.GreaterOrEqual(t, s.Refused()["too_many_handshakes"], int64(guard.Handshakes))
	require.NoError(t, s.Close())
	for _, conn := range conns {
		_, _ = io.Copy(io.Discard, conn) // ends
		_ = conn.Close()
	}
}

// TestProfiles are served where they are wanted, by the server's guard, and of an address that this machine alone reaches.
func TestProfiles(t *testing.T) {
	clock := newClock(t, simtime.Config{})
	for _, wanted := range []bool{true, false} {
		s, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"}, token)
		require.NoError(t, err)
		assert.True(t, s.Local())
		s.Serve(control.Run{Clock: clock, Profiles: wanted, Status: func() any { return object{} }}, slog.New(slog.DiscardHandler))
		for path, content := range map[string]string{"/debug/pprof/": "full goroutine stack dump", "/debug/pprof/goroutine?debug=1": "goroutine profile: total", "/debug/pprof/cmdline": "control"} {
			for _, authorization := range []string{"", "Bearer " + token} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
				require.NoError(t, err)
				r.Header.Set("Authorization", authorization)
				response, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				text, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				switch {
				case authorization == "":
					assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
				case wanted:
					assert.Equal(t, http.StatusOK, response.StatusCode)
					assert.Contains(t, string(text), content)
				default:
					assert.Equal(t, http.StatusNotFound, response.StatusCode)
				}
			}
		}
		require.NoError(t, s.Close())
	}
	open, err := control.Listen(t.Context(), control.Address{Host: "0.0.0.0"}, token)
	require.NoError(t, err)
	assert.False(t, open.Local())
	require.NoError(t, open.Close())
}

// TestProfilesOfOtherSites aren't made, although a browser asks for a picture of them.
func TestProfilesOfOtherSites(t *testing.T) {
	h := control.NewHandler(control.Run{Clock: newClock(t, simtime.Config{}), Profiles: true, Status: func() any { return object{} }})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine", "/debug/pprof/trace?seconds=0.01", "/debug/pprof/symbol"} {
		for site, want := range map[string]int{
			"": http.StatusOK, "none": http.StatusOK, "same-origin": http.StatusOK,
			"cross-site": http.StatusForbidden, "same-site": http.StatusForbidden, "other": http.StatusForbidden,
		} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Sec-Fetch-Mode", "no-cors")
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, want, w.Code, "%s of %s", path, site)
		}
	}
}
