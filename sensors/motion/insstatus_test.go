package motion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
)

func TestINSStatus(t *testing.T) {
	h := sensortest.New(t, motion.INSStatusDefinition, sensortest.Options{})
	h.Fire(80_000_000)
	m := sensortest.Last[*sample.InsStatus](h, "ins_status")
	assert.EqualValues(t, 3, m.Status)
	assert.EqualValues(t, 56, m.PositionType)
	assert.EqualValues(t, simtime.Stamp(80_000_000), m.Stamp)
	assert.Equal(t, "12.5", motion.INSStatusDefinition.Rate.String())
}
