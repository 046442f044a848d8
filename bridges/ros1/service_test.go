package ros1_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_srvs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestServices(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	require.NoError(t, bridges.AddService(b, "/lights", func(_ context.Context, request sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: request.Data, Message: fmt.Sprint("set to ", request.Data)}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/broken", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("it is broken")
	}))
	err := bridges.AddService(b, "bad name!", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, nil
	})
	assert.Error(t, err)
	err = bridges.AddService(b, "lights", func(context.Context, sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{}, nil
	})
	assert.ErrorIs(t, err, bridges.ErrService, "it is /lights")
	n := newNode(t, p)
	for _, name := range []string{"/lights", "/broken"} {
		eventually(t, func() bool { return p.master.lookup("lookupService", name).Code == 1 }, "registered")
	}
	client, err := goroslib.NewServiceClient(goroslib.ServiceClientConf{Node: n, Name: "/lights", Srv: &std_srvs.SetBool{}})
	require.NoError(t, err)
	defer client.Close()
	for _, on := range []bool{true, false, true} {
		var response std_srvs.SetBoolRes
		require.NoError(t, client.Call(&std_srvs.SetBoolReq{Data: on}, &response))
		assert.Equal(t, std_srvs.SetBoolRes{Success: on, Message: fmt.Sprint("set to ", on)}, response)
	}

	address := strings.TrimPrefix(p.master.lookup("lookupService", "/broken").URL, "rosrpc://")
	md5 := "937c9679a518e3a18d831e57125ea522" // of std_srvs/Trigger (rossrv md5)
	call := func(request []byte, fields ...string) (map[string]string, []byte) {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(long)))
		head, err := exchange(conn, conn, fields...)
		require.NoError(t, err)
		if request != nil {
			_, err = conn.Write(request)
			require.NoError(t, err)
		}
		rest, err := io.ReadAll(conn)
		require.NoError(t, err)
		return head, rest
	}
	head, answer := call([]byte{0, 0, 0, 0}, "callerid=/x", "service=/broken", "md5sum="+md5)
	assert.Equal(t, "std_srvs/Trigger", head["type"])
	assert.Equal(t, "\x00\x0c\x00\x00\x00it is broken", string(answer), "the error's text is told")
	head, answer = call(nil, "callerid=/x", "service=/broken", "md5sum=*", "probe=1")
	assert.Equal(t, md5, head["md5sum"])
	assert.Empty(t, answer)
	head, _ = call(nil, "callerid=/x", "service=/broken", "md5sum=0123")
	assert.Contains(t, head["error"], md5)
	head, _ = call(nil, "callerid=/x", "service=/none", "md5sum=*")
	assert.Contains(t, head["error"], "/none")
	before := b.Diagnosis().Malformed
	call([]byte{0xff, 0xff, 0xff, 0xff}, "callerid=/x", "service=/broken", "md5sum=*")
	eventually(t, func() bool { return b.Diagnosis().Malformed > before }, "counted")
	_, answer = call([]byte{1, 0, 0, 0, 7}, "callerid=/x", "service=/broken", "md5sum=*")
	assert.Equal(t, byte(0), answer[0], "a request of another length fails")
}
