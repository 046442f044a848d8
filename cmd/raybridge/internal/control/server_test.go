package control_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
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
	} {
		got, err := control.ParseAddress(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "here", "here:", ":", ":http", ":-1", "65536", ":65536", "99999999999999999999", "::1:80", "http://127.0.0.1:80", "a:1:2"} {
		_, err := control.ParseAddress(text)
		require.ErrorIs(t, err, control.ErrAddress, text)
	}
}

func listen(t *testing.T) *control.Server {
	t.Helper()
	s, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"})
	require.NoError(t, err)
	return s
}

func serve(t *testing.T, s *control.Server, status func() any, log io.Writer) *simtime.Clock {
	t.Helper()
	clock := newClock(t, simtime.Config{})
	s.Serve(control.Run{Clock: clock, Step: time.Millisecond, Status: status}, slog.New(slog.NewTextHandler(log, nil)))
	return clock
}

func TestServerAnswersUntilItIsClosed(t *testing.T) {
	s := listen(t)
	assert.True(t, s.Loopback())
	assert.NotZero(t, s.Addr().(*net.TCPAddr).Port)
	clock := serve(t, s, func() any { return object{} }, io.Discard)
	url := "http://" + s.Addr().String()
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
	again, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1", Port: uint16(s.Addr().(*net.TCPAddr).Port)})
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Close(), "also without having served")
}

func TestAnAddressInUse(t *testing.T) {
	s := listen(t)
	defer s.Close()
	_, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1", Port: uint16(s.Addr().(*net.TCPAddr).Port)})
	require.ErrorContains(t, err, "the address is in use: choose another port")
	_, err = control.Listen(t.Context(), control.Address{Host: "203.0.113.7", Port: 80}) // TEST-NET-3, nobody's
	require.ErrorContains(t, err, "listen on 203.0.113.7:80")
}

// TestClientsWaitForTheRun: who connects before there is a run to drive is answered
// when there is.
func TestClientsWaitForTheRun(t *testing.T) {
	s := listen(t)
	defer s.Close()
	connection, err := net.Dial("tcp", s.Addr().String())
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
	s := listen(t)
	asked, tell := make(chan struct{}), make(chan struct{})
	serve(t, s, func() any {
		close(asked)
		<-tell
		return object{"all": true}
	}, io.Discard)
	silent, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer silent.Close()
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + s.Addr().String() + "/v1/status")
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

// TestAPanicIsOneRequests is net/http's: it is logged, and the server goes on.
func TestAPanicIsOneRequests(t *testing.T) {
	s := listen(t)
	var log bytes.Buffer
	serve(t, s, func() any { panic("status") }, &log)
	_, err := http.Get("http://" + s.Addr().String() + "/v1/status") //nolint:bodyclose // there is none
	require.Error(t, err)
	response, err := http.Post("http://"+s.Addr().String()+"/v1/resume", "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.NoError(t, s.Close())
	assert.Contains(t, log.String(), "status")
}
