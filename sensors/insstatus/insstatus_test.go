package insstatus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/insstatus"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

func TestStatus(t *testing.T) {
	h := sensortest.New(t, insstatus.Definition, sensortest.Options{})
	h.Fire(80_000_000)
	m := sensortest.Last[*sample.InsStatus](h, "ins_status")
	assert.EqualValues(t, 3, m.Status)
	assert.EqualValues(t, 56, m.PositionType)
	assert.EqualValues(t, 80_000_000, m.StampNs)
	assert.Equal(t, "12.5", insstatus.Definition.DefaultRate)
}

func TestConformance(t *testing.T) {
	sensortest.Run(t, insstatus.Definition, sensortest.Suite{})
}
