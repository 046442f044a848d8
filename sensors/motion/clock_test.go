package motion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

func TestClockTellsTheInstant(t *testing.T) {
	h := sensortest.New(t, motion.ClockDefinition, sensortest.Options{})
	h.Fire(10_000_000)
	h.Fire(20_000_000)
	var stamps []int64
	for _, m := range h.Messages["clock"] {
		stamps = append(stamps, int64(m.(*sample.Clock).Stamp))
	}
	assert.Equal(t, []int64{10_000_000, 20_000_000}, stamps)
	assert.Equal(t, "100", motion.ClockDefinition.Rate.String())
}
