package pipeline

import (
	"slices"

	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// AddSensor adds one sensor; any goroutine may call it at any time up to Close. In a pipeline
// that has started the sensor is begun before the call returns. It joins at the next instant,
// and fires first on its grid a whole period after that. Compiling its shaders takes the GL
// thread's time, in which a realtime run may drop captures, but holds up no loop. On an error,
// also of a bridge that refuses a topic now, nothing is added.
func (p *Pipeline) AddSensor(c sensors.Config) (*Sensor, error) {
	p.roster.coming.RLock()
	defer p.roster.coming.RUnlock()
	added, err := p.roster.add([]sensors.Config{c}, c.AttachTo)
	if err != nil {
		return nil, err
	}
	return added[0], nil
}

// AddRig adds all sensors of a rig to the ego, as AddSensor does. On an error none is
// added.
func (p *Pipeline) AddRig(r *rig.Rig) ([]*Sensor, error) {
	p.roster.coming.RLock()
	defer p.roster.coming.RUnlock()
	return p.roster.add(r.Sensors, scene.EgoID)
}

// AddTransforms adds the sensor that publishes the rig's frames on /tf and
// /tf_static, unless the rig has one.
func (p *Pipeline) AddTransforms() error {
	return p.AddOnce(transforms)
}

// AddOnce is AddSensor for a sensor that the run brings: it adds none if there is one of the type.
// The sensor's name gets an underscore where another has it.
func (p *Pipeline) AddOnce(c sensors.Config) error { return p.roster.addOnce(c) }

// AddWanted adds the sensors of Config.Wants that the rig hasn't got, for the bridges that want them alone. They have no frame
// of their own, so that the transforms of all others are what they would be without them. A sensor that is wanted beside another
// is there already.
func (p *Pipeline) AddWanted() error {
	for _, c := range wanted(p.config.Wants) {
		if err := p.AddOnce(c); err != nil {
			return err
		}
	}
	return nil
}

// Commands are the topics on which bridges receive what steers an ego that is a
// *scene.Driven; an empty one is not listened to.
type Commands struct {
	// Control takes pedals and a steering wheel, *sample.VehicleControl.
	Control string
	// Ackermann takes a speed and a steering angle, *sample.AckermannDrive.
	Ackermann string
	// Velocity takes velocities, *sample.VelocityCommand.
	Velocity string
}

// AddCommands adds the sensor that steers the ego by what comes in on the topics. It adds none
// if the rig has one, the ego is not a *scene.Driven, or there are no topics.
func (p *Pipeline) AddCommands(topics Commands) error {
	if _, ok := p.config.Ego.(*scene.Driven); !ok || topics == (Commands{}) {
		return nil
	}
	return p.AddOnce(sensors.Config{ID: controlID, Name: "control", Frame: spatial.FrameBaseLink, Topics: map[string]string{
		"control": topics.Control, "ackermann": topics.Ackermann, "velocity": topics.Velocity,
	}})
}

// Sensors returns the sensors in the order they were added, without those that have
// ended. Any goroutine may call it, as Sensor and SensorsOf.
func (p *Pipeline) Sensors() []*Sensor { return slices.Clone(p.roster.list()) }

// Sensor returns the sensor with a name. The error wraps ErrNoSensor and names the
// closest.
func (p *Pipeline) Sensor(name string) (*Sensor, error) { return p.roster.find(name) }

// SensorsOf returns the sensors whose type id or name matches a wildcard pattern
// ("sensor.camera.*", "front_*"; see path.Match), in the order they were added.
func (p *Pipeline) SensorsOf(pattern string) []*Sensor { return p.roster.matching(pattern) }

// NextDue returns when the next sensor is due, in simulation nanoseconds, and all that are due
// then, in the order in which they will fire. It returns no sensors if there are none. Any
// goroutine may ask; during a run the answer may be past when it is read.
func (p *Pipeline) NextDue() (stamp simtime.Stamp, due []*Sensor) { return p.loop.nextDue() }

// DueAt returns the sensors that are due at an instant still to come, in the order in
// which they will fire. Any goroutine may ask, as NextDue.
func (p *Pipeline) DueAt(stamp simtime.Stamp) []*Sensor { return p.loop.dueAt(stamp) }
