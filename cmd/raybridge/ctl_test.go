package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aToken is good for an API.
const aToken = "0123456789abcdef0123456789abcdef"

// recorder is an API that answers every request in one way, and tells what it was asked.
type recorder struct {
	*httptest.Server
	asked  string // of the last request
	answer string
	status int
}

func recording(t *testing.T, network, address string) *recorder {
	t.Helper()
	r := &recorder{answer: `{"paused":true}` + "\n", status: http.StatusOK}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.asked = strings.TrimSpace(strings.Join([]string{request.Method, request.URL.EscapedPath(), request.Header.Get("Authorization"), string(body)}, " "))
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, r.answer)
	}))
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	require.NoError(t, r.Listener.Close())
	r.Listener = l
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// TestCtlAsks what its arguments say, and prints the answer.
func TestCtlAsks(t *testing.T) {
	r := recording(t, "tcp", "127.0.0.1:0")
	t.Setenv(apiVariable, r.Listener.Addr().String())
	t.Setenv(tokenVariable, "")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pause"}, "POST /v1/pause"},
		{[]string{"resume"}, "POST /v1/resume"},
		{[]string{"status"}, "GET /v1/status"},
		{[]string{"health"}, "GET /healthz"},
		{[]string{"sensors"}, "GET /v1/sensors"},
		{[]string{"models"}, "GET /v1/models"},
		{[]string{"actors"}, "GET /v1/actors"},
		{[]string{"reset"}, "POST /v1/reset  {}"},
		{[]string{"reset", "--seed", "7"}, `POST /v1/reset  {"seed":7}`},
		{[]string{"step"}, `POST /v1/step  {"steps":1,"timeout":1000000}`},
		{[]string{"step", "--to", "front"}, `POST /v1/step  {"to":"front"}`},
		{[]string{"step", "100", "--timeout", "1.5s"}, `POST /v1/step  {"steps":100,"timeout":1.5}`},
		{[]string{"remove", "17"}, "DELETE /v1/actors/17"},
		{[]string{"remove", "person/1 %"}, "DELETE /v1/actors/person%2F1%20%25"},
		{[]string{"spawn", "vehicle.sedan", "--at", "-10,2.5", "--yaw", "-90", "--name", "a", "--reference", "rear_axle"},
			`POST /v1/actors  {"color":"","model":"vehicle.sedan","name":"a","on_ground":true,"position":[-10,2.5,0],"reference":"rear_axle","yaw":-90}`},
		{[]string{"spawn", "box", "--at=1,2,3", "--color=#1e90ff"}, `POST /v1/actors  {"color":"#1e90ff","model":"box","name":"","on_ground":false,"position":[1,2,3],"reference":"","yaw":0}`},
		{[]string{"move", "a", "--at", "1, 2", "--yaw", "3"}, `POST /v1/step  {"actors":[{"name":"a","position":[1,2,0],"yaw":3}],"steps":1}`},
		{[]string{"move", "b", "--at", "1,2", "--joint", "arm=-0.5,door=1"}, `POST /v1/step  {"actors":[{"joints":{"arm":-0.5,"door":1},"name":"b","position":[1,2,0],"yaw":0}],"steps":1}`},
		{[]string{"move", "a", "--at", "1,2", "--jump"}, `POST /v1/step  {"actors":[{"jump":true,"name":"a","position":[1,2,0],"yaw":0}],"steps":1}`},
		{[]string{"move", "17", "--at", "1,2,3"}, `POST /v1/step  {"actors":[{"handle":17,"position":[1,2,3],"yaw":0}],"steps":1}`},
		{[]string{"signal", "J7", "red"}, `POST /v1/step  {"signals":[{"name":"J7","state":"red"}],"steps":1}`},
		{[]string{"weather"}, "GET /v1/weather"},
		{[]string{"weather", "fog"}, `PUT /v1/weather  {"preset":"fog"}`},
		{[]string{"weather", "rain", "--rain", "8", "--wind=3,-1", "--wetness=0"}, `PUT /v1/weather  {"preset":"rain","rain":8,"wetness":0,"wind":{"x":3,"y":-1}}`},
		{[]string{"weather", "--visibility", "500", "--snow=1", "--cloud=0.5"}, `PUT /v1/weather  {"visibility":500,"snow":1,"cloud":0.5}`},
		{[]string{"signal", "3", "off"}, `POST /v1/step  {"signals":[{"id":3,"state":"off"}],"steps":1}`},
	} {
		o := call(t, append([]string{"ctl"}, c.args...)...)
		require.Equal(t, exitDone, o.code, "%v: %s", c.args, o.err)
		assert.Equal(t, c.want, r.asked)
		assert.Equal(t, `{"paused":true}`+"\n", o.out)
	}
	root := newRoot(io.Discard, io.Discard)
	root.SetIn(strings.NewReader(`{"complete": true}`))
	root.SetArgs([]string{"ctl", "step", "-"})
	require.NoError(t, root.Execute())
	assert.Equal(t, `POST /v1/step  {"complete": true}`, r.asked)
}

// TestCtlRefusesAWeather that isn't usable, by its key, before it asks.
func TestCtlRefusesAWeather(t *testing.T) {
	t.Setenv(apiVariable, "127.0.0.1:1")
	for want, args := range map[string][]string{
		"rain is NaN, the range is 0 to 300 mm/h":      {"--rain", "nan"},
		"visibility is 0, the range is 1 to 1e9 m":     {"--visibility=0"},
		"wind.x is +Inf, the range is -100 to 100 m/s": {"--wind=inf,0"},
		`--wind "a,b": want X,Y in m/s, such as 3,-1`:  {"--wind", "a,b"},
		`--snow "a": want a number, such as 0.5`:       {"--snow", "a"},
		`did you mean fog?`:                            {"foog"},
		`preset is "", want clear, haze, fog`:          {""},
	} {
		o := call(t, append([]string{"ctl", "weather"}, args...)...)
		assert.Equal(t, exitUsage, o.code, "%v", args)
		assert.Contains(t, o.err, want)
	}
	o := call(t, "ctl", "weather", "--help")
	assert.NotContains(t, o.out, "default []")
	o = call(t, "run", "--weather", "")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, `--weather "": want clear, haze, fog`)
}

// TestCtlFindsTheRun by its address, and shows its token.
func TestCtlFindsTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api")
	tcp, unix := recording(t, "tcp", "127.0.0.1:0"), recording(t, "unix", path)
	port := strings.TrimPrefix(tcp.Listener.Addr().String(), "127.0.0.1")
	t.Setenv(apiVariable, "unix:"+path)
	t.Setenv(tokenVariable, "")
	for _, c := range []struct {
		args []string
		at   *recorder
		want string
	}{
		{nil, unix, "POST /v1/pause"},
		{[]string{"--api", port}, tcp, "POST /v1/pause"},
		{[]string{"--api", port[1:]}, tcp, "POST /v1/pause"},
		{[]string{"--api", "http://127.0.0.1" + port + "/"}, tcp, "POST /v1/pause"},
		{[]string{"--api-token-file", write(t, t.TempDir(), "token", aToken+"\n")}, unix, "POST /v1/pause Bearer " + aToken},
	} {
		tcp.asked, unix.asked = "", ""
		o := call(t, append([]string{"ctl", "pause"}, c.args...)...)
		assert.Equal(t, exitDone, o.code, o.err)
		assert.Equal(t, c.want, c.at.asked)
	}
	t.Setenv(tokenVariable, aToken)
	call(t, "ctl", "pause")
	assert.Equal(t, "POST /v1/pause Bearer "+aToken, unix.asked)
}

// TestCtlFails with a message that says what to do.
func TestCtlFails(t *testing.T) {
	r := recording(t, "tcp", "127.0.0.1:0")
	here := r.Listener.Addr().String()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := l.Addr().String()
	require.NoError(t, l.Close())
	missing := filepath.Join(t.TempDir(), "no")
	t.Setenv(apiVariable, "")
	t.Setenv(tokenVariable, "")
	for _, c := range []struct {
		args    []string
		status  int
		answer  string
		code    int
		message string
	}{
		{[]string{"pause", "--api", nobody}, 0, "", exitFailed, "no run listens at " + nobody + ": start one with raybridge run --api " + nobody + ", or name another by --api or RAYBRIDGE_API"},
		{[]string{"health", "--api", nobody}, 0, "", exitFailed, "no run listens at " + nobody},
		{[]string{"health", "--api", here}, 503, `{"error":"not well"}`, exitFailed, "raybridge: not well"},
		{[]string{"pause", "--api", "unix:" + missing}, 0, "", exitFailed, "no run listens at unix:" + missing},
		{[]string{"step", "--api", here}, 409, `{"error":"clock is not paused: pause it first"}`, exitFailed, "raybridge: clock is not paused: pause it first"},
		{[]string{"step", "--api", here}, 401, `{"error":"no token"}`, exitFailed, "the run asks for its token: give --api-token-file FILE, or set RAYBRIDGE_API_TOKEN"},
		{[]string{"step", "--api", here}, 404, "<html>", exitFailed, "the server answers with status 404, which is not raybridge's way: is it a run's --api?"},
		{[]string{"pause", "--api", "nowhere"}, 0, "", exitUsage, `--api: bad address "nowhere": need PORT, HOST:PORT or unix:PATH`},
		{[]string{"pause", "--api", here, "--api-token-file", missing}, 0, "", exitUsage, "--api-token-file: " + missing + ": no such file"},
		{[]string{"pause", "--api", here, "--api-token-file", write(t, t.TempDir(), "short", "0123456789abcde\n")}, 0, "", exitUsage, "a token has 16 to 1024 letters, digits and signs of ASCII: openssl rand -hex 32 makes one"},
		{[]string{"pause", "now"}, 0, "", exitUsage, `pause takes only flags: what is "now"?`},
		{[]string{"step", "2", "--to", "front"}, 0, "", exitUsage, "give either --to, or a number of steps, or a frame"},
		{[]string{"step", "0"}, 0, "", exitUsage, "step 0: want a number of steps, 1 or more, or - for a frame"},
		{[]string{"step", "x"}, 0, "", exitUsage, "step x: want a number of steps"},
		{[]string{"step", "1", "2"}, 0, "", exitUsage, `what is "2"?`},
		{[]string{"spawn"}, 0, "", exitUsage, "give a model, such as vehicle.sedan"},
		{[]string{"spawn", "box"}, 0, "", exitUsage, `--at "": want X,Y or X,Y,Z in metres, such as 10,-2.5`},
		{[]string{"spawn", "box", "--at", "1"}, 0, "", exitUsage, `--at "1": want X,Y`},
		{[]string{"spawn", "box", "--at", "1,2,3,4"}, 0, "", exitUsage, "want X,Y"},
		{[]string{"move", "a", "--at", "1,2", "--joint", "arm=half"}, 0, "", exitUsage, "--joint arm=half: want a number"},
		{[]string{"move", "a", "--at", "1,2", "--joint", "arm=NaN"}, 0, "", exitUsage, "--joint arm=NaN: want a number"},
		{[]string{"move", "a", "--at", "NaN,2"}, 0, "", exitUsage, "want X,Y"},
		{[]string{"move", "a", "--at", "1,Inf"}, 0, "", exitUsage, "want X,Y"},
		{[]string{"move"}, 0, "", exitUsage, "give an actor's handle or name"},
		{[]string{"remove"}, 0, "", exitUsage, "give an actor's handle or name"},
		{[]string{"signal", "J7"}, 0, "", exitUsage, "give a light's id or name, and red, yellow, green or off"},
		{[]string{"stop"}, 0, "", exitUsage, `unknown command "stop" for "raybridge ctl", did you mean step?`},
	} {
		r.status, r.answer = c.status, c.answer
		o := call(t, append([]string{"ctl"}, c.args...)...)
		assert.Equal(t, c.code, o.code, "%v", c.args)
		assert.Contains(t, lastLine(o.err), c.message, "%v", c.args)
		assert.Empty(t, o.out)
	}
}

// TestWhereTheAPIListens: of two names one is given, and other machines need a token.
func TestWhereTheAPIListens(t *testing.T) {
	t.Setenv(tokenVariable, "")
	token := write(t, t.TempDir(), "token", aToken+"\n")
	require.NoError(t, os.Chmod(token, 0o600))
	pl, said := planOf(t, "--api", "unix:a b", "--api-token-file", token)
	assert.Empty(t, said)
	assert.Equal(t, "a b", pl.api.at.Path)
	assert.Equal(t, aToken, pl.api.token)
	for _, c := range []struct {
		args    []string
		message string
	}{
		{[]string{"--api", "0", "--control", "0"}, "--control is another name of --api: give one of them"},
		{[]string{"--api", "unix:"}, `--api: bad address "unix:"`},
		{[]string{"--api", "0.0.0.0:0"}, "--api: listen on 0.0.0.0:0: other machines reach this address, so that it needs a token: give --api-token-file FILE, or set RAYBRIDGE_API_TOKEN"},
		{[]string{"--control", "0.0.0.0:0"}, "--control: listen on 0.0.0.0:0: other machines reach"},
		{[]string{"--view", "--api", "unix:a"}, "--view: no browser reaches unix:a: give --api [HOST:]PORT"},
		{[]string{"--view", "--api", "0", "--api-origins", "http://robot"}, `--api: bad address "http://robot": want the names of hosts between commas, such as robot or robot:7741`},
		{[]string{"--pprof", "--report"}, "--pprof: nothing serves the profiles: give --api or --view, too"},
		{[]string{"--pprof", "--api", "0.0.0.0:0", "--api-token-file", token}, "--pprof: profiles keep the program busy, so that only this machine may ask for them: give --api 127.0.0.1:PORT or unix:PATH"},
		{[]string{"--api-origins", "robot", "--report"}, "--api-origins: nothing is reached: give --api or --view, too"},
		{[]string{"--api-token-file", token, "--report"}, "--api-token-file: nothing asks for the token: give --api, too"},
		{[]string{"--api", "0", "--api-token-file", write(t, t.TempDir(), "empty", "\n")}, "a token has 16 to 1024 letters"},
	} {
		o := call(t, append([]string{"run", "--headless", "--out", t.TempDir()}, c.args...)...)
		assert.Equal(t, exitUsage, o.code, "%v", c.args)
		assert.Contains(t, lastLine(o.err), c.message)
	}
	require.NoError(t, os.Chmod(token, 0o640))
	_, said = planOf(t, "--api", "0", "--api-token-file", token)
	assert.Equal(t, "warning: others on this machine can read the token: chmod 600 "+token+"\n", said)
	t.Setenv(tokenVariable, "of the environment")
	o := call(t, "run", "--headless", "--api", "0")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, lastLine(o.err), "RAYBRIDGE_API_TOKEN: a token has 16 to 1024")
	t.Setenv(tokenVariable, strings.Repeat("t", 16))
	pl, _ = planOf(t, "--api", "0")
	assert.Equal(t, strings.Repeat("t", 16), pl.api.token)
}

// TestCtlStepSaysThatItIsNotDone, with an exit code of its own.
func TestCtlStepSaysThatItIsNotDone(t *testing.T) {
	r := recording(t, "tcp", "127.0.0.1:0")
	r.status = http.StatusAccepted
	o := call(t, "ctl", "--api", r.Listener.Addr().String(), "step", "500", "--timeout", "1s")
	assert.Equal(t, exitFailed, o.code)
	assert.Equal(t, `{"paused":true}`+"\n", o.out)
	assert.Contains(t, o.err, "the run is not there yet, and continues")
	for _, timeout := range []string{"0s", "-1s", "1000h"} {
		assert.Equal(t, exitUsage, call(t, "ctl", "step", "--timeout", timeout).code)
	}
}
