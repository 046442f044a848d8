package pipeline

import (
	"slices"

	"github.com/raybridge/raybridge/flow"
)

// InputSummary is one topic that a sensor is brought.
type InputSummary struct {
	// Name and Type are the sensor's.
	Name  string `json:"name"`
	Type  string `json:"type"`
	Topic string `json:"topic"`
	// Drops are messages that came and were never taken, by cause: queue_full where newer
	// ones pushed them out.
	Drops flow.Drops `json:"drops"`
	// Ended is true for a sensor that was ended before the run was.
	Ended bool `json:"ended,omitempty"`
}

// inputRows are the rows of the topics that a sensor is brought.
func (s *Sensor) inputRows() []InputSummary {
	var list []InputSummary
	for i, in := range s.inlets {
		row := InputSummary{Name: s.spec.Name, Type: s.spec.Definition.ID, Topic: s.takers[i].topic, Drops: flow.Drops{}}
		if n := in.Dropped(); n > 0 {
			row.Drops[flow.CauseQueueFull] = n
		}
		list = append(list, row)
	}
	return list
}

// mergeInputs is mergeRows for what a sensor that has ended was brought.
func mergeInputs(former, rows []InputSummary) []InputSummary {
	former = slices.Clone(former)
	for _, row := range rows {
		row.Ended = true
		i := slices.IndexFunc(former, func(f InputSummary) bool {
			return f.Name == row.Name && f.Type == row.Type && f.Topic == row.Topic
		})
		if i < 0 {
			former = append(former, row)
			continue
		}
		for cause, n := range former[i].Drops { // nobody but the new row has its map
			row.Drops[cause] += n
		}
		former[i] = row
	}
	return former
}
