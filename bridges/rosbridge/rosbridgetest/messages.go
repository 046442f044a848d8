package rosbridgetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// record counts and keeps a message.
func (s *Server) record(topic string, m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[topic]++
	s.bytes += int64(len(m.Frame))
	if len(s.messages[topic]) < s.config.Keep {
		s.messages[topic] = append(s.messages[topic], m)
	}
}

// counted counts a publication of so many bytes, under topic "".
func (s *Server) counted(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[""]++
	s.bytes += int64(size)
}

// Publish sends a message to the topic's subscribers, each in the form it asked for, and
// returns how many were sent it.
func (s *Server) Publish(topic string, m Outgoing) (sent int) {
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		var due []*subscription
		for _, sub := range c.subscriptions {
			if sub.Topic == topic && time.Since(sub.last) >= sub.Throttle {
				sub.last = time.Now()
				due = append(due, sub)
			}
		}
		c.mu.Unlock()
		if len(due) > 0 && c.deliver(due[0], m) == nil { // one connection gets a message once
			sent++
		}
	}
	return sent
}

// deliver sends a message as a subscription asks for.
func (c *client) deliver(sub *subscription, m Outgoing) error {
	publication := map[string]any{"op": "publish", "topic": sub.Topic, "msg": m.Values}
	if c.server.config.BSONOnly {
		return c.send(publication)
	}
	switch sub.Compression {
	case "cbor-raw":
		if m.Raw == nil {
			return fmt.Errorf("%q has no raw form", sub.Topic)
		}
		publication["msg"] = map[string]any{"secs": m.Secs, "nsecs": m.Nsecs, "bytes": m.Raw}
		fallthrough
	case "cbor":
		frame, err := encodeCBOR(publication)
		if err != nil {
			return err
		}
		return c.write(websocket.MessageBinary, frame)
	}
	frame, err := encodeJSON(publication)
	if err != nil {
		return err
	}
	if sub.FragmentSize > 0 && len(frame) > sub.FragmentSize {
		return c.sendFragments(frame, sub.FragmentSize)
	}
	return c.write(websocket.MessageText, frame)
}

// sendFragments sends a frame in parts of at most size bytes.
func (c *client) sendFragments(frame []byte, size int) error {
	total := (len(frame) + size - 1) / size
	for i := range total {
		part := frame[i*size : min((i+1)*size, len(frame))]
		err := c.send(map[string]any{"op": "fragment", "id": "whole", "data": string(part), "num": i, "total": total})
		if err != nil {
			return err
		}
	}
	return nil
}

// SendFragments sends all clients a frame of JSON in parts of at most size bytes, as a
// server with a fragment size does.
func (s *Server) SendFragments(frame []byte, size int) {
	for _, c := range s.clients(nil) {
		_ = c.sendFragments(frame, size)
	}
}

// SendStatus sends all clients a status message, such as ("error", "no such type").
func (s *Server) SendStatus(level, msg string) {
	for _, c := range s.clients(nil) {
		_ = c.send(map[string]any{"op": "status", "level": level, "msg": msg})
	}
}

// response waits for the answer of a call.
type response struct {
	callee *client
	done   func(values any, result bool, err error) // called once, by whoever took it from the map
}

// Response is what a service answered.
type Response struct {
	// Values are those of the response's message.
	Values map[string]any
	// Result is whether the service said that it succeeded, Reason what it said else.
	Result bool
	Reason string
}

// Call calls a service that a client offers and waits for its answer.
func (s *Server) Call(ctx context.Context, service string, args map[string]any) (Response, error) {
	type answer struct {
		values any
		result bool
		err    error
	}
	answers := make(chan answer, 1)
	id, err := s.call(service, args, func(values any, result bool, err error) { answers <- answer{values, result, err} })
	if err != nil {
		return Response{}, err
	}
	select {
	case a := <-answers:
		values, _ := a.values.(map[string]any)
		reason, _ := a.values.(string)
		return Response{Values: values, Result: a.result, Reason: reason}, a.err
	case <-ctx.Done():
		s.take(id)
		return Response{}, ctx.Err()
	}
}

// errNoService says that nobody offers a service.
var errNoService = errors.New("nobody offers the service")

// call sends a call to the client that offers the service.
func (s *Server) call(service string, args any, done func(any, bool, error)) (id string, err error) {
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		_, offers := c.services[service]
		c.mu.Unlock()
		if !offers {
			continue
		}
		s.mu.Lock()
		s.calls++
		id = "call_service:" + service + ":" + strconv.Itoa(s.calls)
		s.waiting[id] = &response{callee: c, done: done}
		s.mu.Unlock()
		call := map[string]any{"op": "call_service", "id": id, "service": service}
		if args != nil {
			call["args"] = args
		}
		if err := c.send(call); err != nil {
			s.take(id)
			return "", err
		}
		return id, nil
	}
	return "", fmt.Errorf("call %q: %w", service, errNoService)
}

// take returns a call that waits, and lets it wait no more.
func (s *Server) take(id string) *response {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.waiting[id]
	delete(s.waiting, id)
	return r
}

// passOn calls a service for a client.
func (s *Server) passOn(caller *client, m map[string]any) error {
	service, id := text(m, "service"), m["id"]
	answer := func(values any, result bool, err error) {
		out := map[string]any{"op": "service_response", "service": service, "values": values, "result": result && err == nil}
		if id != nil {
			out["id"] = id
		}
		if err != nil {
			out["values"] = err.Error()
		}
		_ = caller.send(out)
	}
	if _, err := s.call(service, m["args"], answer); err != nil {
		answer(nil, false, err)
	}
	return nil
}

// answered passes an answer to whoever waits for it.
func (s *Server) answered(from *client, m map[string]any) error {
	result, ok := m["result"].(bool)
	if !ok {
		return errors.New("service_response: no result")
	}
	r := s.take(text(m, "id"))
	if r == nil || r.callee != from {
		return fmt.Errorf("service_response: nobody waits for id %q", text(m, "id"))
	}
	r.done(m["values"], result, nil)
	return nil
}

// hangUp ends the calls that a client will not answer any more.
func (s *Server) hangUp(c *client) {
	s.mu.Lock()
	var lost []*response
	for id, r := range s.waiting {
		if r.callee == c {
			lost = append(lost, r)
			delete(s.waiting, id)
		}
	}
	s.mu.Unlock()
	for _, r := range lost {
		r.done(nil, false, errGone)
	}
}
