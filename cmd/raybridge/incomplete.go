package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
)

// incomplete says which bridges never connected, and which recordings lack messages: nil
// if there are none.
func incomplete(list []pipeline.BridgeSummary, registry *bridges.Registry) error {
	var parts []string
	for i := range list {
		one := pipeline.Summary{Bridges: list[i : i+1]}
		switch {
		case one.Complete(registry):
		case !list[i].EverConnected && list[i].Connections > 0:
			parts = append(parts, fmt.Sprintf("%s:%s ended every connection at once, so it may speak another protocol", list[i].Name, list[i].Connection))
		case !list[i].EverConnected:
			parts = append(parts, fmt.Sprintf("%s:%s never connected", list[i].Name, list[i].Connection))
		default:
			parts = append(parts, fmt.Sprintf("%s:%s lacks messages", list[i].Name, list[i].Connection))
		}
	}
	if parts == nil {
		return nil
	}
	return &exitError{exitIncomplete, errors.New("finished, but not everything was delivered: " + strings.Join(parts, ", "))}
}
