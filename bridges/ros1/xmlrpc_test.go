package ros1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	goros "github.com/bluenviron/goroslib/v2/pkg/xmlrpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/guard"
)

// Calls as Python's xmlrpc.client (rospy, rosmaster) and roscpp's XmlRpc++ write them.
const (
	pythonCall = `<?xml version='1.0'?>
<methodCall>
<methodName>requestTopic</methodName>
<params>
<param>
<value><string>/rostopic</string></value>
</param>
<param>
<value><string>/a&lt;b</string></value>
</param>
<param>
<value><array><data>
<value><array><data>
<value><string>TCPROS</string></value>
<value><int>-7</int></value>
<value><boolean>1</boolean></value>
<value><double>2.5</double></value>
</data></array></value>
</data></array></value>
</param>
</params>
</methodCall>
`
	roscppCall = "<?xml version=\"1.0\"?>\r\n<methodCall><methodName>publisherUpdate</methodName>\r\n<params><param><value>/master</value></param>" +
		"<param><value>/x</value></param><param><value><array><data><value>http://a:1/</value><value></value></data></array></value></param>" +
		"<param><value><i4>5</i4></value></param><param><value><base64>AQI=</base64></value></param></params></methodCall>\r\n"
)

func TestDecodeCall(t *testing.T) {
	method, params, err := decodeCall([]byte(pythonCall))
	require.NoError(t, err)
	assert.Equal(t, "requestTopic", method)
	assert.Equal(t, []any{"/rostopic", "/a<b", []any{[]any{"TCPROS", -7, true, 2.5}}}, params)
	method, params, err = decodeCall([]byte(roscppCall))
	require.NoError(t, err)
	assert.Equal(t, "publisherUpdate", method)
	assert.Equal(t, []any{"/master", "/x", []any{"http://a:1/", ""}, 5, []byte{1, 2}}, params)
	_, params, err = decodeCall([]byte("<methodCall><methodName>m</methodName><params><param><value><struct><member><name>a</name><value>b</value></member></struct></value></param></params></methodCall>"))
	require.NoError(t, err)
	assert.Equal(t, []any{nil}, params)
	for _, bad := range []string{
		"", "x", "<methodResponse/>", "<methodCall/>", "<methodCall><methodName> </methodName></methodCall>",
		"<methodCall><methodName>m</methodName><params><param><value><int>x</int></value></param></params></methodCall>",
		"<methodCall><methodName>m</methodName><params><param><value><int>99999999999</int></value></param></params></methodCall>",
		"<methodCall><methodName>m</methodName><params><param><value><base64>*</base64></value></param></params></methodCall>",
		strings.Repeat("<methodCall>", 20000),
	} {
		_, _, err := decodeCall([]byte(bad))
		assert.ErrorIs(t, err, errCall, "%.60s", bad)
	}
}

func FuzzDecodeCall(f *testing.F) {
	f.Add([]byte(pythonCall))
	f.Add([]byte(roscppCall))
	f.Add([]byte("<methodCall><methodName>m</methodName></methodCall>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		method, _, err := decodeCall(body)
		if err == nil && method == "" {
			t.Fatal("a call without a method")
		}
		if err != nil && !errors.Is(err, errCall) {
			t.Fatal(err)
		}
	})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	return serveAs(t, h, func(err error) { t.Errorf("refused: %v", err) })
}

func serveAs(t *testing.T, h http.Handler, refused func(error)) string {
	t.Helper()
	s, err := listenCalls("127.0.0.1:0", "robot.example", h, refused)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port()))
}

// goroslib's client is the independent reader of the answers.
func TestAnswersAreReadByOthers(t *testing.T) {
	long := make([]any, 500)
	for i := range long {
		long[i] = []string{"/topic", "a/B"}
	}
	address := serve(t, &rpcHandler{methods: map[string]rpcMethod{
		"all": func(params []any) rpcResult {
			return rpcResult{Code: codeSuccess, Message: "a & <b>", Value: []any{params[0], 42, true}}
		},
		"long": func([]any) rpcResult { return rpcResult{Code: codeError, Value: long} },
	}})
	client := goros.NewClient(address, &http.Client{Timeout: 10 * time.Second})
	var all struct {
		Code    int
		Message string
		Value   []any
	}
	// goroslib writes strings without escaping them.
	require.NoError(t, client.Do("all", struct{ Caller string }{"/me"}, &all))
	assert.Equal(t, 1, all.Code)
	assert.Equal(t, "a & <b>", all.Message)
	assert.Equal(t, []any{"/me", 42, true}, all.Value)
	var rows struct {
		Code    int
		Message string
		Value   [][]string
	}
	require.NoError(t, client.Do("long", struct{ Caller string }{"/me"}, &rows))
	assert.Equal(t, -1, rows.Code)
	assert.Len(t, rows.Value, 500)
	assert.Error(t, client.Do("none", struct{ Caller string }{"/me"}, &rows), "an unknown method is a fault")
}

func TestCallsThatCantBeRead(t *testing.T) {
	var malformed []error
	address := serve(t, &rpcHandler{
		methods:    map[string]rpcMethod{"long": func([]any) rpcResult { return rpcResult{Message: strings.Repeat("x", 5000)} }},
		unreadable: func(err error) { malformed = append(malformed, err) },
	})
	post := func(body string) (status int, length int64, text string) {
		response, err := http.Post("http://"+address+"/", "text/xml", strings.NewReader(body))
		require.NoError(t, err)
		defer response.Body.Close()
		all, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, response.ContentLength, string(all)
	}
	_, length, _ := post("<methodCall><methodName>long</methodName></methodCall>")
	assert.Greater(t, length, int64(5000), "roscpp wants the length")
	_, _, text := post("<methodCall><methodName>a&lt;b</methodName></methodCall>")
	assert.Contains(t, text, "there is no method a&lt;b")
	assert.Empty(t, malformed)

	for _, bad := range []string{"rubbish", strings.Repeat("x", maxCall+1)} {
		status, _, _ := post(bad)
		assert.Equal(t, http.StatusBadRequest, status)
	}
	got, err := http.Get("http://" + address + "/")
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, got.StatusCode)
	require.Len(t, malformed, 3)
	for _, err := range malformed {
		assert.ErrorIs(t, err, errCall)
	}
}

// TestWhoMayCall: programs may, by the node's name and address. Pages of the web, and names that
// may have been made to lead here, are refused and told of.
func TestWhoMayCall(t *testing.T) {
	refused := make(chan error, 1)
	address := serveAs(t, &rpcHandler{}, func(err error) { refused <- err })
	for _, c := range []struct {
		host, origin string
		cause        guard.Rule
	}{
		{address, "", ""}, {"robot.example:11311", "", ""}, {"robot", "", ""},
		{address, "https://evil.example", guard.BadOrigin}, {address, "null", guard.BadOrigin}, {"evil.example", "", guard.BadHost},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader(pythonCall))
		require.NoError(t, err)
		request.Host = c.host
		if c.origin != "" {
			request.Header.Set("Origin", c.origin)
		}
		got, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		if c.cause == "" {
			assert.Equal(t, http.StatusOK, got.StatusCode, "%+v", c)
			continue
		}
		assert.Equal(t, http.StatusForbidden, got.StatusCode, "%+v", c)
		var refusal *guard.Refusal
		require.ErrorAs(t, <-refused, &refusal)
		assert.Equal(t, c.cause, refusal.Rule)
	}
}

func TestTooManyConnectionsAndClose(t *testing.T) {
	refused := make(chan error, 100)
	inside, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	hold := func([]any) rpcResult {
		inside <- struct{}{}
		<-release
		return rpcResult{}
	}
	s, err := listenCalls("127.0.0.1:0", "", &rpcHandler{methods: map[string]rpcMethod{"hold": hold}}, func(err error) { refused <- err })
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port()))
	call := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		const body = "<methodCall><methodName>hold</methodName></methodCall>"
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		return conn
	}
	var conns []net.Conn
	for range guard.NodeCalls {
		conn := call()
		defer conn.Close()
		<-inside
		conns = append(conns, conn)
	}
	last := call()
	defer last.Close()
	answer := make([]byte, 12)
	_, err = io.ReadFull(last, answer)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1 503", string(answer), "one more is refused")
	var refusal *guard.Refusal
	require.ErrorAs(t, <-refused, &refusal)
	assert.Equal(t, guard.Connecting, refusal.Rule)
	require.NoError(t, s.Close(), "closing waits for no call")
	for _, conn := range conns {
		_, err := io.Copy(io.Discard, conn)
		assert.False(t, isTimeout(err), "ended with the server")
	}
	_, err = listenCalls("256.0.0.1:0", "", nil, nil)
	assert.Error(t, err)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
