// Package clients is what bridges have in common whose peers connect to them: options of
// their connection strings, and how messages are counted that several clients receive.
package clients

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// Options are the options of connection strings that ParseQueue and ParseMax read.
var Options = slices.Concat([]bridges.Option{
	{Key: "policy", Value: "drop_oldest|drop_newest|block", Default: "drop_oldest", Meaning: "what a client's full queue does"},
	MaxOption,
}, bridges.QueueOptions)

// MaxOption is the option that ParseMax reads, for those with a standard of 16.
var MaxOption = bridges.Option{Key: "clients", Value: "N", Default: "16", Meaning: "clients at a time, at most"}

// ParseQueue is bridges.ParseQueue with the option policy, for bridges whose topics
// have none of their own.
func ParseQueue(options map[string]string) (flow.QueueConfig, error) {
	config, err := bridges.ParseQueue(options)
	if err != nil {
		return config, err
	}
	if name, ok := options["policy"]; ok {
		if config.Policy, err = flow.ParsePolicy(name); err != nil {
			return flow.QueueConfig{}, fmt.Errorf("%w: policy=%q: %w", bridges.ErrConnectionString, name, err)
		}
	}
	return config, nil
}

// ParseMax reads how many clients there may be at a time: "clients=16", else standard.
// Errors wrap bridges.ErrConnectionString.
func ParseMax(options map[string]string, standard int) (int, error) {
	text, ok := options["clients"]
	if !ok {
		return standard, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: clients=%q: want a whole number from 1 to 65535", bridges.ErrConnectionString, text)
	}
	return int(n), nil
}

// Count returns the configuration of a stream whose messages are counted on a topic. A
// message is sent when the first client has it; a latched one that no client has subscribed
// to is kept for those to come, and counts as sent too. A message is dropped when a client
// misses it, or when every client asked for fewer: of several clients it can be both.
func Count(topic *bridges.PublishedTopic, config fanout.StreamConfig) fanout.StreamConfig {
	config.Written = topic.Sent
	config.Settled = func(o fanout.Outcome) {
		switch {
		case o.Dropped > 0:
			topic.Dropped(o.Cause)
		case o.Delivered > 0: // Written has counted it
		case config.Latched:
			topic.Sent(o.Bytes)
		default:
			topic.Dropped(flow.CausePeerSlow)
		}
	}
	return config
}
