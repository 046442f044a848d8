package control_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
)

const token = "0123456789abcdef0123456789abcdef"

// clientOf sends requests to a server wherever it listens.
func clientOf(at control.Address) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		network, address := at.Network()
		return dialer.DialContext(ctx, network, address)
	}}}
}

// statusOf asks for the status, with a header Authorization unless it is "".
func statusOf(t *testing.T, s *control.Server, authorization ...string) (status int, answer string, header http.Header) {
	t.Helper()
	at, err := control.ParseAddress(s.Addr())
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://raybridge/v1/status", nil)
	require.NoError(t, err)
	if authorization != nil {
		request.Header["Authorization"] = authorization
	}
	response, err := clientOf(at).Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text), response.Header
}

// TestATokenIsAskedFor also on the loopback interface and on a UNIX socket.
func TestATokenIsAskedFor(t *testing.T) {
	for _, at := range []control.Address{{Host: "127.0.0.1"}, {Host: "0.0.0.0"}, {Path: filepath.Join(t.TempDir(), "api")}} {
		s, err := control.Listen(t.Context(), at, token)
		require.NoError(t, err)
		serve(t, s, func() any { return object{} }, io.Discard)
		for _, c := range []struct {
			authorization []string
			status        int
		}{
			{[]string{"Bearer " + token}, 200}, {[]string{"bearer " + token}, 200},
			{nil, 401}, {[]string{""}, 401}, {[]string{"Bearer"}, 401}, {[]string{"Bearer "}, 401}, {[]string{token}, 401},
			{[]string{"Basic " + token}, 401}, {[]string{"Bearer " + token[:31]}, 401}, {[]string{"Bearer " + token + "0"}, 401},
			{[]string{"Bearer  " + token}, 401}, {[]string{"Bearer x", "Bearer " + token}, 401},
		} {
			status, answer, header := statusOf(t, s, c.authorization...)
			assert.Equal(t, c.status, status, "%v", c.authorization)
			if c.status == 401 {
				assert.Contains(t, answer, `{"error":"this server asks for its token: send the header Authorization: Bearer TOKEN"}`)
				assert.Equal(t, "Bearer", header.Get("WWW-Authenticate"))
			}
		}
		assert.Equal(t, map[string]int64{"bad_token": 10}, s.Refused())
		require.NoError(t, s.Close())
	}
}

// TestHealthNeedsNoToken: what watches over a container has none. Anything else asks for it, and so does another method.
func TestHealthNeedsNoToken(t *testing.T) {
	s, err := control.Listen(t.Context(), control.Address{Host: "127.0.0.1"}, token)
	require.NoError(t, err)
	serve(t, s, func() any { return object{} }, io.Discard)
	at, err := control.ParseAddress(s.Addr())
	require.NoError(t, err)
	for request, want := range map[string]int{
		"GET /healthz": 200, "HEAD /healthz": 200,
		"POST /healthz": 401, "GET /healthz/": 401, "GET //healthz": 401, "GET /v1/../healthz": 401, "GET /v1/status": 401, "GET /": 401, "GET /metrics": 401,
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr(), nil)
		require.NoError(t, err)
		r.URL.Path = path
		response, err := clientOf(at).Do(r)
		require.NoError(t, err)
		assert.Equal(t, want, response.StatusCode, request)
		require.NoError(t, response.Body.Close())
	}
	require.NoError(t, s.Close())
}

// TestOtherMachinesNeedAToken: without one nothing listens.
func TestOtherMachinesNeedAToken(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "::"} {
		_, err := control.Listen(t.Context(), control.Address{Host: host}, "")
		require.ErrorIs(t, err, control.ErrToken, host)
	}
	own := []string{"127.0.0.1", "127.3.4.5"}
	if _, err := net.LookupHost("localhost"); err == nil { // not where /etc/hosts is missing, as in a bare container
		own = append(own, "localhost")
	}
	for _, host := range own {
		s, err := control.Listen(t.Context(), control.Address{Host: host}, "")
		require.NoError(t, err, host)
		require.NoError(t, s.Close())
	}
}

// TestAUNIXSocket is this user's alone, goes with its server, and replaces one that was left.
func TestAUNIXSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api")
	at := control.Address{Path: path}
	s, err := control.Listen(t.Context(), at, "")
	require.NoError(t, err)
	assert.Equal(t, "unix:"+path, s.Addr())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = control.Listen(t.Context(), at, "")
	require.ErrorContains(t, err, "listen on unix:"+path+": address already in use: end the program that has it, or choose another path")
	serve(t, s, func() any { return object{} }, io.Discard)
	status, _, _ := statusOf(t, s)
	assert.Equal(t, http.StatusOK, status)
	require.NoError(t, s.Close())
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false) // as a program that was killed leaves it
	require.NoError(t, left.Close())
	s, err = control.Listen(t.Context(), at, "")
	require.NoError(t, err)
	require.NoError(t, s.Close())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = control.Listen(t.Context(), at, "")
	require.ErrorContains(t, err, "the file is there and isn't a socket")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text), "it stays")
	_, err = control.Listen(t.Context(), control.Address{Path: filepath.Join(path, "below")}, "")
	require.Error(t, err)
	_, err = control.Listen(t.Context(), control.Address{Path: filepath.Join(t.TempDir(), "no", "api")}, "")
	require.ErrorContains(t, err, "no such file or directory")
}

// stranger is what this program does as another user: it asks at the address of its environment.
const stranger = "RAYBRIDGE_TEST_STRANGER"

// TestAnotherUserIsRefused although the socket's file lets it connect.
func TestAnotherUserIsRefused(t *testing.T) {
	if path := os.Getenv(stranger); path != "" {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		_, _ = io.WriteString(conn, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n") // it may have been ended
		text, _ := io.ReadAll(conn)
		require.Empty(t, text)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "raybridge")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	program, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	program = filepath.Join(dir, "stranger")
	require.NoError(t, os.WriteFile(program, text, 0o755))
	path := filepath.Join(dir, "api")
	s, err := control.Listen(t.Context(), control.Address{Path: path}, "")
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, os.Chmod(path, 0o777))
	serve(t, s, func() any { return object{} }, io.Discard)
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestAnotherUserIsRefused$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), stranger+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.True(t, strings.Contains(string(said), "--- PASS: TestAnotherUserIsRefused"), "%s", said)
	assert.Equal(t, map[string]int64{"bad_user": 1}, s.Refused())
	status, _, _ := statusOf(t, s)
	assert.Equal(t, http.StatusOK, status, "its own user is let in")
}
