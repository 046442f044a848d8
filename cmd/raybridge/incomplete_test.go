package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/flow"

	"github.com/raybridge/raybridge/pipeline"
)

func TestWhatIsIncompleteIsNamed(t *testing.T) {
	lost := flow.Drops{"write_failed": 3}
	err := incomplete([]pipeline.BridgeSummary{
		{Name: "mcap", Connection: "a.mcap", EverConnected: true},
		{Name: "mcap", Connection: "b.mcap", EverConnected: true, Drops: lost},
		{Name: "ros2lgsvl", Type: "ROS2", Connection: "localhost"},
		{Name: "cyber", Connection: "web:80", Connections: 7},
		{Name: "foxglove", EverConnected: true, Drops: lost},
	}, bridgesall.Registry())
	require.ErrorContains(t, err, "not everything was delivered: mcap:b.mcap lacks messages, ros2lgsvl:localhost never connected, "+
		"cyber:web:80 ended every connection at once, so it may speak another protocol")
	var exit *exitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, exitIncomplete, exit.code)
}

func TestNothingIncomplete(t *testing.T) {
	assert.NoError(t, incomplete([]pipeline.BridgeSummary{{Name: "mcap", Connection: "a.mcap", EverConnected: true}}, bridgesall.Registry()))
	assert.NoError(t, incomplete(nil, bridgesall.Registry()))
}
