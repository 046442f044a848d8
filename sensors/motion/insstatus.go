package motion

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// What the system reports, in NovAtel's numbers (OEM7, BESTPOS, tables of solution
// status and position types, as Apollo has them).
const (
	// INSStatusGood is Apollo's InsStat status of a good solution.
	INSStatusGood = 3
	// INSPositionFixedRTK is position type INS_RTKFIXED.
	INSPositionFixedRTK = 56
)

// INSStatus describes sensor.other.ins_status, the state of an inertial navigation
// system: always the same, a good solution of fixed RTK quality, since nothing here can
// fail. It is there for stacks that wait for it (SVL's GPS-INS Status, 1 to 100 Hz, by
// default 12.5).
type INSStatus struct{}

// INSStatusDefinition describes sensor.other.ins_status.
var INSStatusDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.ins_status",
	Number: 43,
	Doc:    "state of an inertial navigation system: a good, fixed RTK solution",
	Tags:   []string{"gnss", "motion"},
	Outputs: sensors.OneOutput[sample.InsStatus](sensors.OutputSpec{
		Name: "ins_status", Doc: "status 3, position type 56",
	}),
	Rate: simtime.MustRate("12.5"),
}, newInstrument[INSStatus](func(m *sample.InsStatus, r *reading) {
	*m = sample.InsStatus{Header: r.header, Status: INSStatusGood, PositionType: INSPositionFixedRTK}
}))
