//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cycloneClient returns the program testdata/peers/cyclone_client.c, with the code that
// idlc generates of services.idl.
func cycloneClient(t *testing.T) string {
	t.Helper()
	return build(t, "cyclone_client", map[string]string{"cyclone_client.c": "", "services.idl": "", "print.h": ""}, nil,
		`idlc -l c services.idl && gcc -O2 -Wall -o cyclone_client cyclone_client.c services.c -lddsc -lm`)
}

// A client in C calls std_srvs' services, by the form of rmw_cyclonedds, and they are
// announced as the node's.
func TestClientsOnCycloneCallServices(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	b, log := logged(t, domain)
	defer func() { assert.Empty(t, log.lines("level=WARN")) }()
	var emptied atomic.Int64
	require.NoError(t, bridges.AddService(b, "/sim/empty", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		emptied.Add(1)
		return sample.EmptyResponse{}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/sim/set", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: true, Message: fmt.Sprintf("set to %t, äöü", r.Data)}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/sim/fail", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("the brake is on")
	}))
	program := cycloneClient(t)
	for _, c := range []struct{ service, kind, calls, says string }{
		{"/sim/empty", "empty", "3", `"n":3,"value":{}`},
		{"/sim/set", "set_bool", "20", `"n":19,"value":{"success":true,"message":"set to true, äöü"}`},
		{"/sim/set", "set_bool", "20", `"n":20,"value":{"success":true,"message":"set to false, äöü"}`},
		{"/sim/fail", "trigger", "1", `"value":{"success":false,"message":"the brake is on"}`},
	} {
		client := func() *process.Process {
			return process.Start(t, process.Program(program, strconv.Itoa(domain), c.service, c.kind, c.calls).With("CYCLONEDDS_URI="+peerSettings))
		}
		first, second := client(), client() // of which each gets its own replies
		for _, p := range []*process.Process{first, second} {
			output := p.Wait(t)
			assert.Contains(t, output, c.says)
			assert.Equal(t, c.calls, strconv.Itoa(strings.Count(output, `"reply"`)))
		}
	}
	assert.GreaterOrEqual(t, emptied.Load(), int64(6))
	assert.NoError(t, b.Diagnosis().LastError)

	w := s.await("the writer of replies", func(e event) bool { return e.Event == "writer" && e.Topic == "rr/sim/setReply" })
	assert.Equal(t, "std_srvs::srv::dds_::SetBool_Response_", w.Type)
	assert.Contains(t, w.UserData, "serviceid=")
	assert.True(t, w.Reliable)
	assert.False(t, w.TransientLocal)
	s.await("the graph with it", func(e event) bool {
		return e.Event == "message" && e.Topic == "ros_discovery_info" && strings.Contains(string(e.Value), w.GUID) &&
			strings.Count(string(e.Value), w.GUID[:24]) == 7 // the participant, three readers, three writers
	})
}
