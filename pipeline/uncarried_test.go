package pipeline_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
)

// TestABridgeTellsWhatItDoesNotCarry: once, all topics together, and those of sensors
// that are added later.
func TestABridgeTellsWhatItDoesNotCarry(t *testing.T) {
	const told = "does not carry them"
	var log strings.Builder
	p := newScripted(t, &script{}, pipeline.Config{
		Bridges: bridges.MustRegistry(&slowClock{}), ClockHz: 100, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	addScripted(t, p, plainID, "a", "20")
	addScripted(t, p, plainID, "b", "20")
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "watch:clock"}))
	lines := func() (list []string) {
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, told) {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return list
	}
	require.Len(t, lines(), 1, log.String())
	assert.Contains(t, lines()[0], `level=WARN`)
	assert.Contains(t, lines()[0], `bridge=watch:clock topics="/a /b`)
	assert.NotContains(t, lines()[0], "/clock ")
	assert.Contains(t, lines()[0], "has=Clock")

	_, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "a"})
	require.Error(t, err, "the name is taken")
	addScripted(t, p, plainID, "c", "20")
	require.Len(t, lines(), 2, log.String())
	assert.Contains(t, lines()[1], `topics=/c`)
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Len(t, lines(), 2)
}
