package pipeline

import (
	"context"
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
)

// causeOf names the reason of a message's fate for the summary.
func (s *bridgeSink) causeOf(err error) flow.Cause {
	if errors.Is(err, dispatch.ErrFull) && s.bridge.topicConfig.BlockLimit > 0 {
		return flow.CausePeerSlow // it was waited for
	}
	return flow.CauseOf(err)
}

// bridgeSink carries one output to one topic of one bridge, through the dispatcher.
type bridgeSink struct {
	bridge   *attachedBridge
	spec     *sensors.OutputSpec
	topic    *dispatch.Topic[*envelope]
	publish  bridges.Publisher[any]
	sensor   *Sensor // nil for the clock
	stats    *outputStats
	receiver *int64
	queued   usage       // messages that the dispatcher has
	done     func(error) // account, made once: a queued message allocates nothing
}

// newBridgeSink connects an output with a topic of a bridge; the error wraps
// bridges.ErrNoConverter where the bridge doesn't know the message's type.
func newBridgeSink(p *Pipeline, b *attachedBridge, spec *sensors.OutputSpec, topic bridges.Topic) (*bridgeSink, error) {
	publish, err := bridges.AddPublisherOf(b.bridge, spec.Type, topic)
	if err != nil {
		return nil, err
	}
	s := &bridgeSink{bridge: b, spec: spec, publish: publish}
	s.queued.init()
	s.done = func(err error) {
		s.account(err)
		s.queued.exit()
	}
	config := b.topicConfig
	config.Gated = p.gated()
	s.topic = dispatch.NewTopic(p.dispatcher, topic.Name, s.send, config)
	return s, s.topic.Err()
}

// count says whose the messages are, and where deliveries and drops are counted. It
// comes before the first message.
func (s *bridgeSink) count(sensor *Sensor, stats *outputStats) {
	s.sensor, s.stats, s.receiver = sensor, stats, stats.receiver()
}

// send runs on a dispatcher's worker.
func (s *bridgeSink) send(ctx context.Context, e *envelope) error {
	if err := s.bridge.send(ctx, s.publish, e); err != nil {
		return err
	}
	s.stats.sent(s.receiver, e.at.Started)
	return nil
}

// account counts a message that was not sent.
func (s *bridgeSink) account(err error) {
	if err != nil {
		cause := s.causeOf(err)
		s.stats.dropped(cause, 1)
		s.bridge.account(cause, err)
	}
}

// Listening reports whether the bridge takes samples: it is connected, has the clock,
// and somebody behind it wants the topic.
func (s *bridgeSink) Listening() bool {
	return !s.bridge.clockless.Load() && s.bridge.bridge.Listening(s.topic.Name())
}

// TryQueue copies the message into the dispatcher's queue.
func (s *bridgeSink) TryQueue(at sensors.Tick, message any) bool {
	if !s.queued.begin() {
		return true // nobody listens here any more
	}
	done := s.done
	if b := s.bridge.p.barrier.Load(); b != nil && s.sensor != nil {
		arrived := b.sending(s.sensor, at.Seq)
		done = func(err error) {
			if err != nil {
				arrived(s.causeOf(err))
			} else {
				arrived("")
			}
			s.done(err)
		}
	}
	e := borrowEnvelope(at, s.spec, message)
	e.handedOver = s.bridge.p.publishing.Load()
	ok := s.topic.TryQueueTask(e, dispatch.Task{Done: done})
	e.giveBack()
	return ok
}

// Publish sends the message before it returns.
func (s *bridgeSink) Publish(ctx context.Context, at sensors.Tick, message any) error {
	if !s.queued.begin() {
		return nil // nobody listens here any more
	}
	arrived := func(flow.Cause) {}
	if b := s.bridge.p.barrier.Load(); b != nil && s.sensor != nil {
		arrived = b.sending(s.sensor, at.Seq)
	}
	e := borrowEnvelope(at, s.spec, message)
	e.handedOver = s.bridge.p.publishing.Load()
	err := s.send(ctx, e)
	e.giveBack()
	if err != nil {
		arrived(s.causeOf(err))
	} else {
		arrived("")
	}
	s.done(err)
	return err
}
