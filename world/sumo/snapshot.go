package sumo

import (
	"fmt"

	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// situation is what SUMO says after a step. It is reused: the ids are the message's.
type situation struct {
	time     float64 // seconds
	expected int     // vehicles and persons that are there or to come
	objects  []object
	lights   []light
}

// light is a traffic light of the scene that SUMO has.
type light struct {
	name string // the scene's
	id   string // SUMO's
	link int    // of SUMO's light, whose states are one a link
	seen bool   // state is known
	is   world.SignalState
}

// signals are the states that SUMO's letters stand for. A light that blinks is yellow.
// (https://sumo.dlr.de/docs/Simulation/Traffic_Lights.html)
var signals = map[byte]world.SignalState{
	'r': world.SignalRed, 's': world.SignalRed, 'u': world.SignalRed, 'y': world.SignalYellow, 'Y': world.SignalYellow,
	'g': world.SignalGreen, 'G': world.SignalGreen, 'o': world.SignalYellow, 'O': world.SignalOff,
}

// show takes in the states of the links of one of SUMO's lights.
func (s *situation) show(id, links []byte) {
	for i := range s.lights {
		if l := &s.lights[i]; l.id == string(id) && l.link < len(links) {
			if is, known := signals[links[l.link]]; known {
				l.is, l.seen = is, true
			}
		}
	}
}

// object is a vehicle or a person on the road, in the net's coordinates.
type object struct {
	id     []byte
	person bool
	actor  *actor // set by meet

	position            [3]float64
	angle, slope, speed float64 // degrees clockwise from +y, degrees uphill, m/s
	signals             int     // of a vehicle, see lights
}

// The variables of the two contexts. Persons that ride are where their vehicle is.
var (
	vehicleVariables = []byte{varPosition, varAngle, varSlope, varSpeed, varSignals}
	personVariables  = []byte{varPosition, varAngle, varSlope, varSpeed, varRidesIn}
)

// read reads the answer to a step.
func (s *situation) read(message []byte) error {
	r := &reader{message: message}
	if err := r.status(cmdStep); err != nil {
		return err
	}
	s.objects = s.objects[:0]
	for range r.count(2) {
		s.result(r)
	}
	return r.err
}

// result reads what one subscription brings.
func (s *situation) result(r *reader) {
	id, end := r.enter()
	object := r.text()
	switch id {
	case cmdWatchLight + answer:
		for range r.byte() {
			if variable, v, ok := r.subscribed(); ok && variable == varState {
				s.show(object, v.text)
			}
		}
	case cmdSubscribe + answer:
		for range r.byte() {
			switch variable, v, ok := r.subscribed(); {
			case ok && variable == varTime:
				s.time = v.number[0]
			case ok && variable == varExpected:
				s.expected = int(v.number[0])
			}
		}
	case cmdContext + answer:
		person := r.byte() == cmdGetPerson
		variables := int(r.byte())
		for range r.count(4 + 3*variables) {
			s.object(r, person, variables)
		}
	default:
		r.fail("the result of subscription 0x%02x", id)
	}
	r.leave(end)
}

// object reads one of a context. It is left out where it has no place on the road.
func (s *situation) object(r *reader, person bool, variables int) {
	o := object{id: r.name(), person: person}
	there, rides := false, false
	for range variables {
		variable, v, ok := r.subscribed()
		if !ok {
			continue
		}
		switch variable {
		case varPosition:
			o.position = v.number
			there = o.position[0] != absent && o.position[1] != absent && o.position[2] != absent
		case varAngle:
			o.angle = v.number[0]
		case varSlope:
			o.slope = v.number[0]
		case varSpeed:
			o.speed = v.number[0]
		case varSignals:
			o.signals = int(v.number[0])
		case varRidesIn:
			rides = len(v.text) > 0
		}
	}
	if there && !rides && r.err == nil {
		if len(s.objects) == snapshot.Most {
			r.err = fmt.Errorf("%w: SUMO has more than %d vehicles and persons on the road", world.ErrFull, snapshot.Most)
			return
		}
		s.objects = append(s.objects, o)
	}
}

// lights returns the lights that SUMO's signals are.
// (https://sumo.dlr.de/docs/TraCI/Vehicle_Signalling.html)
func (o *object) lights() (on world.Lights) {
	for _, signal := range [...]struct {
		bits int
		are  world.Lights
	}{
		{1, world.LightRight}, {2, world.LightLeft}, {4, world.LightLeft | world.LightRight}, {8, world.LightBrake},
		{16, world.LightHead}, {64, world.LightHead}, {128, world.LightReverse},
	} {
		if o.signals&signal.bits != 0 {
			on |= signal.are
		}
	}
	return on
}
