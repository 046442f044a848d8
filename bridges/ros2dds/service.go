//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/bridges/transport"
)

const (
	// maxCalls is how many calls of a node's services wait at a time; more are refused.
	maxCalls = 64
	// discovery is how long a reply waits for its client's reader to be discovered, and
	// discoveryLook how often that is asked. A client finds the service, and calls it, as
	// soon as it has discovered both endpoints itself.
	discovery     = time.Second
	discoveryLook = 10 * time.Millisecond
)

// serviceQoS is what services have in ROS 2 (rmw/qos_profiles.h).
var serviceQoS = cyclone.EndpointQoS{Reliable: true, Depth: 10, MaxBlocking: maxBlocking}

// service is one that is offered. It has a reader and a writer with each connection.
type service struct {
	name     string // ROS 2's
	answerer rossample.Answerer

	requests, replies endpoint
}

// call is a request that waits for its answer.
type call struct {
	service *service
	header  header
	request ros.Message
	from    cyclone.Sender
	replies *cyclone.Writer
}

// offer adds a service, with its endpoints at once if there is a connection.
func (i *instance) offer(name string, answerer rossample.Answerer) error {
	if err := checkTopic(name); err != nil {
		return err
	}
	s := &service{
		name: name, answerer: answerer,
		requests: endpoint{name: name + " (requests)", qos: serviceQoS}, replies: endpoint{name: name + " (replies)", writes: true, qos: serviceQoS},
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.connection; c != nil {
		if err := errors.Join(c.serve(i, s), c.announce()); err != nil {
			return err
		}
	}
	i.services = append(i.services, s)
	return nil
}

// serve makes a service's endpoints, and starts the answering goroutine with the first.
func (c *connection) serve(i *instance, s *service) error {
	qos := serviceQoS
	c.served++
	qos.UserData = serviceData(c.graph.participant, c.served)
	w, err := c.participant.NewWriter(repliesTopic(s.name), ddsType(s.answerer.Type.Type+"_Response"), qos, &s.replies.events)
	if err != nil {
		return err
	}
	c.repliers = append(c.repliers, w)
	c.graph.writers = append(c.graph.writers, w.GUID())
	if c.calls == nil {
		c.answer(i)
	}
	calls := c.calls
	var decoder encode.BinaryDecoder // the reading goroutine's
	return c.read(requestsTopic(s.name), ddsType(s.answerer.Type.Type+"_Request"), qos, &s.requests.events, func(data []byte, from cyclone.Sender) {
		request := headed{body: s.answerer.Type.NewRequest()}
		if err := decoder.Decode(data, &request); err != nil {
			i.malformed(fmt.Errorf("request of service %s (only rmw_cyclonedds's form is read): %w", s.name, err))
			return
		}
		select {
		case calls <- call{s, request.header, request.body, from, w}:
		default:
			i.log.Warn("ros2dds: a call of a service is dropped: too many wait", "service", s.name)
		}
	})
}

// answer starts the goroutine that answers calls one by one, until its context ends.
func (c *connection) answer(i *instance) {
	var ctx context.Context
	ctx, c.stopAnswering = context.WithCancel(context.Background())
	c.calls, c.answering = make(chan call, maxCalls), make(chan struct{})
	go func() {
		defer close(c.answering)
		var encoder encode.BinaryEncoder
		for {
			select {
			case next := <-c.calls:
				i.reply(ctx, next, &encoder)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// reply has one call answered and writes the reply.
func (i *instance) reply(ctx context.Context, c call, encoder *encode.BinaryEncoder) {
	response, err := c.service.answerer.Answer(ctx, c.request)
	if err != nil {
		if response = refusal(c.service.answerer.Type.NewResponse(), err); response == nil {
			i.log.Warn("ros2dds: a call of a service failed and gets no reply, for its type can't tell", "service", c.service.name, "error", err)
			return
		}
	}
	if hearing := c.heard(ctx); hearing != cyclone.Hears {
		if hearing == cyclone.NotYet && ctx.Err() == nil {
			i.log.Warn("ros2dds: a reply is dropped: its client's reader wasn't discovered in time", "service", c.service.name)
		}
		return
	}
	sample := c.replies.Sample(0)
	c.replies.Set(&sample, encoder.Append(sample.Bytes()[:0], &headed{c.header, response}))
	if err := c.replies.Write(sample); err != nil {
		i.failed(fmt.Errorf("reply of service %s: %w", c.service.name, err))
	}
}

// refusal tells an error in a response that has a field for it; else it returns nil: ROS
// 2's services have no other way.
func refusal(response ros.Message, err error) ros.Message {
	switch r := response.(type) {
	case *ros.SetBoolResponse:
		r.Message = err.Error()
	case *ros.TriggerResponse:
		r.Message = err.Error()
	default:
		return nil
	}
	return response
}

// heard waits until the client would get the reply or is gone, at most discovery.
func (c call) heard(ctx context.Context) cyclone.Hearing {
	for end := time.Now().Add(discovery); ; {
		hearing := c.from.Hears(c.replies)
		if hearing != cyclone.NotYet || !time.Now().Before(end) || !transport.Pause(ctx, discoveryLook) {
			return hearing
		}
	}
}
