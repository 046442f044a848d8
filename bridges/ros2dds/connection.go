//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
)

// patience is how long a disconnection waits at the most for readers to acknowledge what was
// written. One that doesn't in this time is stalled or gone. lookup is how often the
// disconnection looks at its context.
const (
	patience = 2 * time.Second
	lookup   = 50 * time.Millisecond
)

// connection is one participation in a domain. It is guarded by the instance's mu.
type connection struct {
	settings    settings
	participant *cyclone.Participant
	lane        *lane   // of all topics that keep the last messages
	lanes       []*lane // all
	outputs     []*output
	reading     chan struct{} // closed when the reading goroutine has ended; nil before it starts
	looking     *looking      // nil before look

	// Of services: how many there are, the writers of their replies, and the calls that wait.
	// Then what ends the goroutine that answers them, which closes answering. All but the first
	// are nil without services.
	served        uint32
	repliers      []*cyclone.Writer
	calls         chan call
	stopAnswering context.CancelFunc
	answering     chan struct{}

	graph       graph
	graphWriter *cyclone.Writer
	graphEvents cyclone.Events
}

// join takes part in a domain, as a node without endpoints.
func join(s settings) (*connection, error) {
	p, err := cyclone.Join(cyclone.Config{Domain: s.domain, UserData: participantData, Defaults: defaults(os.Getenv)})
	if err != nil {
		return nil, err
	}
	c := &connection{settings: s, participant: p}
	c.graph = graph{gidSize: s.gidSize, namespace: s.namespace, node: s.node}
	guid, err := p.GUID()
	if err == nil {
		c.graph.participant = guid
		c.graphWriter, err = p.NewWriter(graphTopic, ddsType(graphType), cyclone.EndpointQoS{Reliable: true, TransientLocal: true, Depth: 1}, &c.graphEvents)
	}
	if err != nil {
		p.Leave()
		return nil, err
	}
	c.lane = newLane(s.queue)
	c.lanes = []*lane{c.lane}
	return c, nil
}

// open makes a topic's writer.
func (c *connection) open(t *topic) error {
	w, err := c.participant.NewWriter(ddsTopic(t.info.Name), ddsType(t.typeName), t.qos, &t.events)
	if err != nil {
		return err
	}
	out := &output{topic: t, writer: w, lane: c.lane}
	if t.qos.KeepAll { // it may wait for its readers, and nobody else shall
		out.lane = newLane(c.settings.queue)
		c.lanes = append(c.lanes, out.lane)
	}
	c.outputs = append(c.outputs, out)
	c.graph.writers = append(c.graph.writers, w.GUID())
	t.attach(out)
	return nil
}

// close ends a topic's writer when what is queued for it was written. Others learn of it at once.
func (c *connection) close(t *topic) error {
	i := slices.IndexFunc(c.outputs, func(out *output) bool { return out.topic == t })
	if i < 0 {
		return nil
	}
	out := c.outputs[i]
	t.attach(nil)
	c.outputs = slices.Delete(c.outputs, i, i+1)
	c.graph.writers = slices.DeleteFunc(c.graph.writers, func(guid [16]byte) bool { return guid == out.writer.GUID() })
	end := parcel{out: out, end: func() {
		if t.qos.Reliable {
			out.writer.Acknowledged(lookup) // the last messages have a chance
		}
		out.writer.Delete(c.participant, &t.events)
		out.writer.Close()
	}}
	// Behind the topic's messages: nothing is pushed out for it but others' oldest.
	if err := out.lane.queue.Offer(context.Background(), end, 0, flow.DropOldest); err != nil {
		end.end()
	}
	if out.lane != c.lane {
		out.lane.queue.Finish()
	}
	c.lanes = slices.DeleteFunc(c.lanes, (*lane).ended)
	return c.announce()
}

// listen makes a subscription's reader.
func (c *connection) listen(s *subscription) error {
	return c.read(ddsTopic(s.name), ddsType(s.typeName), s.qos, &s.events, s.receive)
}

// read makes a reader, and starts the reading goroutine with the first.
func (c *connection) read(topic, typeName string, qos cyclone.EndpointQoS, events *cyclone.Events, deliver func([]byte, cyclone.Sender)) error {
	r, err := c.participant.NewReader(topic, typeName, qos, events, deliver)
	if err != nil {
		return err
	}
	c.graph.readers = append(c.graph.readers, r.GUID())
	if c.reading == nil {
		c.reading = make(chan struct{})
		go func() {
			defer close(c.reading)
			for c.participant.Read() {
			}
		}()
	}
	return nil
}

// announce says which endpoints the node has. The history keeps one message, so it never
// waits.
func (c *connection) announce() error {
	var e encode.BinaryEncoder
	sample := c.graphWriter.Sample(0)
	c.graphWriter.Set(&sample, e.Append(sample.Bytes()[:0], &c.graph))
	return c.graphWriter.Write(sample)
}

// looking is a goroutine that looks for what the library's threads have counted.
type looking struct{ stop, done chan struct{} }

// look calls tell every lookInterval until leave.
func (c *connection) look(tell func()) {
	l := &looking{stop: make(chan struct{}), done: make(chan struct{})}
	c.looking = l
	go func() {
		defer close(l.done)
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell()
			case <-l.stop:
				return
			}
		}
	}()
}

// leave writes what is queued, waits until it is acknowledged, for as long as ctx
// allows, and ends the participation.
func (c *connection) leave(ctx context.Context) {
	c.stopServing()
	for _, l := range c.lanes {
		l.queue.Finish()
	}
	for _, l := range c.lanes {
		l.wait(ctx)
	}
	for _, out := range c.outputs {
		out.topic.attach(nil)
	}
	c.acknowledged(ctx)
	if c.reading != nil {
		c.participant.Wake()
		<-c.reading
	}
	if c.looking != nil {
		close(c.looking.stop)
		<-c.looking.done
	}
	c.participant.Leave()
	for _, out := range c.outputs {
		out.writer.Close()
	}
	for _, w := range c.repliers {
		w.Close()
	}
	c.graphWriter.Close()
}

// stopServing ends the goroutine that answers calls, after the one that it is at. Those
// that come later wait for nobody.
func (c *connection) stopServing() {
	if c.stopAnswering != nil {
		c.stopAnswering()
		<-c.answering
	}
}

// acknowledged says that the node is gone and waits until all have read it, and everything on
// reliable topics. Messages on best-effort topics aren't acknowledged, but they were sent
// before the last news of the node, to the same ports. A reader that has acknowledged those had
// its chance to read them, before the writers vanish.
func (c *connection) acknowledged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.graph.gone = true
	writers := append(make([]*cyclone.Writer, 0, len(c.outputs)+len(c.repliers)+1), c.repliers...)
	if c.announce() == nil {
		writers = append(writers, c.graphWriter)
	}
	for _, out := range c.outputs {
		if out.topic.qos.Reliable {
			writers = append(writers, out.writer)
		}
	}
	for _, w := range writers {
		for !w.Acknowledged(lookup) {
			if ctx.Err() != nil {
				return
			}
		}
	}
}
