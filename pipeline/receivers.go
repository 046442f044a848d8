package pipeline

import (
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/closest"
)

// Receivers counts those who would receive messages now. For a topic it counts those on all
// network bridges together, for a bridge those of its topic that has most. A peer that
// doesn't tell what it receives counts as one. The error wraps ErrNoTopic: no network
// bridge has that name or carries that topic. Any goroutine may call it.
func (p *Pipeline) Receivers(name string) (int, error) {
	p.change.Lock()
	defer p.change.Unlock()
	receivers, found := 0, false
	var known []string
	for _, b := range p.bridges {
		info := b.bridge.Info()
		if info.Kind == bridges.KindFile {
			continue
		}
		known = append(known, info.Name)
		most := 0
		for topic := range b.topics {
			known = append(known, topic)
			if name != topic && name != info.Name {
				continue
			}
			found = true
			most = max(most, b.bridge.Receivers(topic))
		}
		receivers += most
	}
	if !found {
		slices.Sort(known)
		return 0, fmt.Errorf("%w on a network bridge: %q, %s", ErrNoTopic, name, closest.Hint(name, slices.Compact(known)))
	}
	return receivers, nil
}
