package ros1

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// The node answers remote procedure calls as those of ROS 1 make them: XML-RPC
// (http://xmlrpc.com/spec.md) over HTTP. Results have three values: a code, a text and the
// value (https://wiki.ros.org/ROS/Slave_API).
//
// It serves strangers: calls are bounded in size and in time, and what can't be read is
// refused. Package internal/guard says who may call. Every answer says its length, without
// which roscpp doesn't read it.

// maxCall is the size of a call that is still read, bytes.
const maxCall = 1 << 20

// Codes of results (Slave API): the call failed for its caller's fault, for the node's, or
// succeeded.
const (
	codeError   = -1
	codeFailure = 0
	codeSuccess = 1
)

// errCall says that what came is not a call.
var errCall = errors.New("not an XML-RPC call")

// rpcResult is what a method answers.
type rpcResult struct {
	Code    int
	Message string
	// Value is an int, a bool, a string, a []string or a []any of these.
	Value any
}

// rpcMethod answers one call. Its parameters are int, bool, float64, string, []byte and
// []any; a parameter of another type is nil. It runs on a goroutine of the HTTP server.
type rpcMethod func(params []any) rpcResult

// rpcHandler answers the calls of the methods it has.
type rpcHandler struct {
	methods map[string]rpcMethod
	// unreadable is told of each request that isn't a call. (optional)
	unreadable func(error)
}

// ServeHTTP reads one call and answers it.
func (h *rpcHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.malformed(fmt.Errorf("%w: HTTP method %s", errCall, r.Method))
		http.Error(w, "XML-RPC calls are posted", http.StatusMethodNotAllowed)
		return
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxCall)); err != nil {
		h.malformed(fmt.Errorf("%w: %w", errCall, err))
		http.Error(w, "the call can't be read", http.StatusBadRequest)
		return
	}
	name, params, err := decodeCall(body.Bytes())
	if err != nil {
		h.malformed(err)
		http.Error(w, "not an XML-RPC call", http.StatusBadRequest)
		return
	}
	var answer []byte
	if method, ok := h.methods[name]; ok {
		answer = appendResult(nil, method(params))
	} else {
		answer = appendFault(nil, -32601, "there is no method "+name)
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer) // a caller that is gone needs no answer
}

func (h *rpcHandler) malformed(err error) {
	if h.unreadable != nil {
		h.unreadable(err)
	}
}

// methodCall is a methodCall element.
type methodCall struct {
	XMLName xml.Name   `xml:"methodCall"`
	Method  string     `xml:"methodName"`
	Params  []rpcValue `xml:"params>param>value"`
}

// rpcValue is a value element: text alone is a string.
type rpcValue struct {
	Text    string  `xml:",chardata"`
	String  *string `xml:"string"`
	Int     *string `xml:"int"`
	I4      *string `xml:"i4"`
	Boolean *string `xml:"boolean"`
	Double  *string `xml:"double"`
	Base64  *string `xml:"base64"`
	Array   *struct {
		Values []rpcValue `xml:"data>value"`
	} `xml:"array"`
	Others []struct {
		XMLName xml.Name
	} `xml:",any"`
}

// decodeCall reads a call. Errors wrap errCall.
func decodeCall(body []byte) (method string, params []any, err error) {
	var c methodCall
	if err := xml.Unmarshal(body, &c); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errCall, err)
	}
	if c.Method = strings.TrimSpace(c.Method); c.Method == "" {
		return "", nil, fmt.Errorf("%w: it names no method", errCall)
	}
	params, err = decodeAll(c.Params)
	return c.Method, params, err
}

func decodeAll(values []rpcValue) ([]any, error) {
	list := make([]any, len(values))
	for i := range values {
		v, err := values[i].decode()
		if err != nil {
			return nil, fmt.Errorf("%w: value %d: %w", errCall, i, err)
		}
		list[i] = v
	}
	return list, nil
}

// decode returns nil for a type that ROS's own calls don't have.
func (v *rpcValue) decode() (any, error) {
	switch {
	case v.String != nil:
		return *v.String, nil
	case v.Int != nil:
		return integer(*v.Int)
	case v.I4 != nil:
		return integer(*v.I4)
	case v.Boolean != nil:
		return strconv.ParseBool(strings.TrimSpace(*v.Boolean))
	case v.Double != nil:
		return strconv.ParseFloat(strings.TrimSpace(*v.Double), 64)
	case v.Base64 != nil:
		return base64.StdEncoding.DecodeString(strings.TrimSpace(*v.Base64))
	case v.Array != nil:
		return decodeAll(v.Array.Values)
	case len(v.Others) > 0:
		return nil, nil
	default:
		return v.Text, nil
	}
}

func integer(text string) (any, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	return int(n), err
}

func appendResult(dst []byte, r rpcResult) []byte {
	dst = append(dst, "<?xml version=\"1.0\"?>\n<methodResponse><params><param>"...)
	dst = appendValue(dst, []any{r.Code, r.Message, r.Value})
	return append(dst, "</param></params></methodResponse>\n"...)
}

func appendFault(dst []byte, code int, text string) []byte {
	dst = append(dst, "<?xml version=\"1.0\"?>\n<methodResponse><fault><value><struct><member><name>faultCode</name>"...)
	dst = appendValue(dst, code)
	dst = append(dst, "</member><member><name>faultString</name>"...)
	dst = appendValue(dst, text)
	return append(dst, "</member></struct></value></fault></methodResponse>\n"...)
}

// appendValue appends a value element; what isn't of rpcResult.Value's types is an empty
// string.
func appendValue(dst []byte, v any) []byte {
	dst = append(dst, "<value>"...)
	switch v := v.(type) {
	case int:
		dst = append(dst, "<int>"...)
		dst = strconv.AppendInt(dst, int64(v), 10)
		dst = append(dst, "</int>"...)
	case bool:
		digit := "0"
		if v {
			digit = "1"
		}
		dst = append(dst, "<boolean>"+digit+"</boolean>"...)
	case string:
		dst = append(dst, "<string>"...)
		dst = appendEscaped(dst, v)
		dst = append(dst, "</string>"...)
	case []string:
		dst = append(dst, "<array><data>"...)
		for _, s := range v {
			dst = appendValue(dst, s)
		}
		dst = append(dst, "</data></array>"...)
	case []any:
		dst = append(dst, "<array><data>"...)
		for _, e := range v {
			dst = appendValue(dst, e)
		}
		dst = append(dst, "</data></array>"...)
	default:
		dst = append(dst, "<string></string>"...)
	}
	return append(dst, "</value>"...)
}

func appendEscaped(dst []byte, text string) []byte {
	b := bytes.NewBuffer(dst)
	_ = xml.EscapeText(b, []byte(text)) // a buffer takes everything
	return b.Bytes()
}

// rpcServer answers calls over HTTP.
type rpcServer struct {
	http *guard.Server
	addr *net.TCPAddr
	done chan struct{}
}

// listenCalls begins to answer on a TCP address, HOST:PORT; port 0 is any free one. Others call it by
// the name host, or by IP addresses. refused is told, on any goroutine, of those who weren't let
// in.
func listenCalls(address, host string, handler http.Handler, refused func(error)) (*rpcServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for calls on %s: %w", address, fault.NetReason(err))
	}
	s := &rpcServer{addr: listener.Addr().(*net.TCPAddr), done: make(chan struct{})}
	s.http = guard.NewServer(handler, guard.Config{
		Guard:       &guard.Guard{Names: []string{host}, NameOption: "host="},
		Connections: guard.NodeCalls,
		Body:        maxCall,
		Answer:      func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), guard.Status(err)) },
		Refused:     refused,
	})
	s.http.ErrorLog = log.New(io.Discard, "", 0) // a caller's failures are the caller's
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}()
	return s, nil
}

// Port is the port that the server listens on.
func (s *rpcServer) Port() int { return s.addr.Port }

// Close ends all connections at once, and returns when nothing more is accepted.
func (s *rpcServer) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}
