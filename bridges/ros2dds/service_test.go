//go:build cgo && ros2dds

package ros2dds_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/sensors/sample"
)

// client calls a service in octets.
type client struct {
	t       *testing.T
	writer  *cyclone.Writer
	events  [2]cyclone.Events
	mu      sync.Mutex
	replies [][]byte // guarded by mu
}

// newClient returns a client of SetBool whose endpoints say the user data. Its writer is
// the caller's to close.
func newClient(t *testing.T, p *cyclone.Participant, service, writerData, readerData string) *client {
	t.Helper()
	c := &client{t: t}
	_, err := p.NewReader("rr"+service+"Reply", "std_srvs::srv::dds_::SetBool_Response_", cyclone.EndpointQoS{Reliable: true, Depth: 10, UserData: readerData}, &c.events[0], c.receive)
	require.NoError(t, err)
	c.writer, err = p.NewWriter("rq"+service+"Request", "std_srvs::srv::dds_::SetBool_Request_", cyclone.EndpointQoS{Reliable: true, Depth: 10, UserData: writerData}, &c.events[1])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.events[0].Matched() == 1 && c.events[1].Matched() == 1 }, patience, time.Millisecond)
	return c
}

func (c *client) receive(data []byte, _ cyclone.Sender) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = append(c.replies, bytes.Clone(data))
}

func (c *client) call(octets string) {
	c.t.Helper()
	data, err := hex.DecodeString(octets)
	require.NoError(c.t, err)
	s := c.writer.Sample(0)
	c.writer.Set(&s, data)
	require.NoError(c.t, c.writer.Write(s))
}

func (c *client) received() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, data := range c.replies {
		list = append(list, hex.EncodeToString(data))
	}
	return list
}

// read delivers what p's readers get, until the test's end.
func read(t *testing.T, p *cyclone.Participant) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p.Read() {
		}
	}()
	t.Cleanup(func() {
		p.Wake()
		<-done
	})
}

// What rmw_cyclonedds has before the fields: the client's number and the request's, 64
// bits each, little endian.
const (
	requestHead = "00010000" + "1122334455667788" + "0500000000000000"
	replyOn     = requestHead + "01" + "000000" + "03000000" + "6f6e00" // true, "on"
)

// A reply has its request's header. A request that can't be read is counted, and hurts
// nobody.
func TestServiceInOctets(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	require.NoError(t, bridges.AddService(b, "/set", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		if !r.Data {
			return sample.SetBoolResponse{}, errors.New("no")
		}
		return sample.SetBoolResponse{Success: true, Message: "on"}, nil
	}))
	assert.ErrorIs(t, bridges.AddService(b, "set", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}), bridges.ErrTopicName)
	p := raw(t, domain)
	c := newClient(t, p, "/set", "", "")
	defer c.writer.Close()
	read(t, p)
	c.call("00010000" + "01") // as rmw_fastrtps sends it
	c.call(requestHead + "01")
	c.call(requestHead + "00")
	require.Eventually(t, func() bool { return len(c.received()) == 2 }, patience, time.Millisecond)
	assert.Equal(t, []string{replyOn, requestHead + "00" + "000000" + "03000000" + "6e6f00"}, c.received(), "an error is told in the message")
	assert.EqualValues(t, 1, b.Diagnosis().Malformed)
	assert.ErrorContains(t, b.Diagnosis().LastError, "/set")
	require.NoError(t, b.Connect(t.Context()))
	require.Eventually(t, func() bool { return c.events[0].Matched() == 1 && c.events[1].Matched() == 1 }, patience, time.Millisecond)
	c.call(requestHead + "01")
	require.Eventually(t, func() bool { return len(c.received()) == 3 }, patience, time.Millisecond, "and with the next connection")
}

// A reply waits for the reader of its own client, not for any.
func TestReplyWaitsForItsClient(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	called := make(chan struct{}, 1)
	require.NoError(t, bridges.AddService(b, "/set", func(context.Context, sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		called <- struct{}{}
		return sample.SetBoolResponse{Success: true, Message: "on"}, nil
	}))
	p := raw(t, domain)
	// Its reader is another client's for now; the one that it waits for comes after the call.
	c := newClient(t, p, "/set", "clientid=1.2;", "other=1;clientid=1.23;")
	defer c.writer.Close()
	read(t, p)
	var events cyclone.Events
	for attempt := 0; len(c.received()) < 2; attempt++ {
		c.call(requestHead + "01")
		<-called
		if attempt == 0 {
			_, err := p.NewReader("rr/setReply", "std_srvs::srv::dds_::SetBool_Response_", cyclone.EndpointQoS{Reliable: true, Depth: 10, UserData: "typehash=x;clientid=1.2;"}, &events, c.receive)
			require.NoError(t, err)
		}
		// A machine that is so slow that the wait is over before has the next call answered.
		for end := time.Now().Add(2 * time.Second); len(c.received()) < 2 && time.Now().Before(end); {
			runtime.Gosched()
		}
		require.Less(t, attempt, 20)
	}
	assert.Equal(t, []string{replyOn, replyOn}, c.received(), "both readers get it")
}
