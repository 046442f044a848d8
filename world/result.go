package world

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// StepResult is what became of a step.
type StepResult struct {
	// Frame is the number of the step's last instant, and Stamp its time, the step's end. If the step did
	// not end, the next one begins at Stamp.
	Frame uint64
	Stamp simtime.Stamp
	// Spawned are the handles of those who came, in the order of the frame's Spawn.
	Spawned []uint32
	// Boxed are the models of those who came for which a box stands: the scene doesn't have them, or none
	// nearly as long.
	Boxed []string
	// Deliveries are the firings of the step, in the order in which they were due. They are nil if the
	// step didn't wait, or did not end.
	Deliveries []Delivery
	// Ego is the vehicle that carries the sensors, at Stamp: by its rear axle on the ground, in the
	// map frame.
	Ego State
}

// Delivery is what became of one firing of a sensor.
type Delivery struct {
	// Sensor is the sensor's name.
	Sensor string
	// Frame is the number of the instant, which the stream protocol doesn't carry. Due is the sensor's
	// own instant on its grid, and Seq counts the sensor's firings from 0. Its messages' headers have all
	// three. A firing that a late realtime run skipped has no Seq of its own, but the next one's.
	Frame uint64
	Due   simtime.Stamp
	Seq   uint64
	// Messages counts what bridges sent and listeners were called with. A firing that
	// was delivered may have none: a sensor of events has nothing to say at most.
	Messages int
	// Missing is empty if the firing was delivered to all who listen, else the cause for
	// which it was not, which is one of the drops in the run's summary. It is "idle" if nobody
	// listens, so that nothing was computed, and "closed" if the run or the sensor ended before.
	Missing flow.Cause
	// More counts the sensor's further firings that this one stands for, because the step has too many to
	// tell of each. Messages then has those of all of them, Missing the first cause, and Lost how many are
	// missing.
	More, Lost int
}

// Delivered reports whether everybody who listens has all of the firing.
func (d *Delivery) Delivered() bool { return d.Missing == "" }
