package pipeline

import (
	"context"
	"errors"

	"github.com/raybridge/raybridge/bridges"
)

// carriage is a list of outputs with the sinks that carry them, or will, as long as it
// isn't sure that all can be carried.
type carriage []carried

type carried struct {
	sensor     *Sensor
	output     int
	sink       *bridgeSink
	disconnect func() // nil before connect
}

// connect lets the outputs publish to the sinks.
func (list carriage) connect() {
	for _, c := range list {
		c.sink.count(c.sensor, c.sensor.stats[c.output])
		c.disconnect = c.sensor.ports[c.output].Connect(c.sink)
		c.sensor.carried = append(c.sensor.carried, c)
	}
}

// disconnect lets nothing more be published to the sinks, and returns when what was
// has been sent, or the context ends.
func (list carriage) disconnect(ctx context.Context) {
	for _, c := range list {
		if c.disconnect != nil {
			c.disconnect()
		}
	}
	for _, c := range list {
		select {
		case <-c.sink.queued.close():
		case <-ctx.Done():
			return
		}
	}
}

// close gives the sinks up, with what they haven't sent; the pipeline's change must be
// held.
func (list carriage) close() {
	for _, c := range list {
		if c.disconnect != nil {
			c.disconnect()
		}
		c.sink.topic.Close()
		delete(c.sink.bridge.topics, c.sink.topic.Name())
	}
}

// serve carries a sensor's outputs and brings its inputs, as far as the bridge knows
// their types. The pipeline's change must be held.
func (b *attachedBridge) serve(s *Sensor, made *carriage) error {
	return wrap("sensor "+s.spec.Name, errors.Join(b.carry(s, made), b.receiveAll(s.takers)))
}

// carry makes a topic of each of a sensor's outputs that the bridge knows.
func (b *attachedBridge) carry(s *Sensor, made *carriage) error {
	for i, port := range s.ports {
		spec := port.Spec()
		topic := bridges.Topic{
			Name: s.topics[i], Sensor: s.spec.Name, SensorType: s.spec.Definition.ID,
			SensorNumber: s.spec.Definition.Number, Output: s.outputs[i], QoS: spec.QoS,
		}
		sink, err := b.connect(spec, topic)
		if err != nil {
			return err
		}
		if sink != nil {
			*made = append(*made, carried{sensor: s, output: i, sink: sink})
		}
	}
	return nil
}
