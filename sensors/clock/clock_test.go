package clock_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/clock"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

func TestTellsTheInstant(t *testing.T) {
	h := sensortest.New(t, clock.Definition, sensortest.Options{})
	h.Fire(10_000_000)
	h.Fire(20_000_000)
	var stamps []int64
	for _, m := range h.Messages["clock"] {
		stamps = append(stamps, m.(*sample.Clock).StampNs)
	}
	assert.Equal(t, []int64{10_000_000, 20_000_000}, stamps)
	assert.Equal(t, "100", clock.Definition.DefaultRate)
}

func TestConformance(t *testing.T) {
	sensortest.Run(t, clock.Definition, sensortest.Suite{Still: true})
}
