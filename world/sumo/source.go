package sumo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// source is the traffic of one SUMO. It is one goroutine's.
type source struct {
	talk   conversation
	child  *child // nil where somebody else started SUMO
	ego    string // its id in SUMO, "" for none
	theirs bool   // SUMO moves it
	offset mgl64.Vec3
	// heights: the net has some. In a net without any all of z is 0.
	heights bool
	step    float64         // seconds
	begin   float64         // SUMO's time at start
	lights  func() []string // the scene's; nil once it was called
	warn    func(string, ...any)
	warned  bool // of an ego that is not there

	now      situation
	steps    int64                      // since begin
	gaps     int64                      // steps that others took in between
	actors   map[bool]map[string]*actor // persons at true; ids are unique among either
	fresh    []*actor                   // of the step
	colors   map[string]world.Color     // of types that were asked for
	track    *snapshot.Track
	all      []world.Spawn // of the frame
	signals  []world.Signal
	frame    *world.Frame // nil before the first
	egoState world.State
	egoSize  mgl64.Vec3 // known when length is above 0: SUMO has our ego
	failed   error
}

// actor is a vehicle or a person of the last step.
type actor struct {
	id, name string // SUMO's and ours
	person   bool
	model    string
	kind     string // SUMO's type
	size     mgl64.Vec3
	color    world.Color
	top      float64 // m/s
	seen     int64   // the step
	heading  mgl64.Quat
	since    int64 // the step that heading is of
	known    bool  // heading and since are
}

// Next moves our ego in SUMO, steps it and returns the traffic of then. The first frame is the traffic that SUMO
// has at the beginning. A SUMO that we started ends the world when all its traffic has left.
func (s *source) Next(ctx context.Context, ego world.State) (*world.Frame, error) {
	if s.failed == nil {
		s.failed = s.explain(s.next(ctx, ego))
	}
	if s.failed != nil {
		return nil, s.failed
	}
	return s.frame, nil
}

func (s *source) next(ctx context.Context, ego world.State) error {
	if s.lights != nil {
		names := s.lights()
		if s.lights = nil; len(names) > 0 {
			if err := s.findLights(ctx, names); err != nil {
				return fmt.Errorf("ask for traffic lights: %w", err)
			}
		}
	}
	if s.frame == nil {
		return s.tell(ego.Pose.Position[2])
	}
	if s.child != nil && s.steps > 0 && s.left() <= 0 {
		return io.EOF
	}
	if s.ego != "" && !s.theirs {
		if err := s.place(ctx, ego); err != nil {
			return fmt.Errorf("move the ego: %w", err)
		}
	}
	s.talk.say()
	s.talk.command(cmdStep, appendDouble(nil, 0)) // one step of its own length
	if _, err := s.talk.exchange(ctx); err != nil {
		return fmt.Errorf("step %d: %w", s.steps+1, err)
	}
	if err := s.now.read(s.talk.in); err != nil {
		return fmt.Errorf("step %d: %w", s.steps+1, err)
	}
	steps := math.Round((s.now.time - s.begin) / s.step)
	if !(steps > float64(s.steps)) || steps > 1e15 {
		return fmt.Errorf("%w: SUMO's is %s s after step %d", world.ErrTime, fault.Number(s.now.time, 17), s.steps+1)
	}
	s.gaps += int64(steps) - s.steps - 1
	s.steps = int64(steps)
	if err := s.meet(ctx); err != nil {
		return fmt.Errorf("step %d: %w", s.steps, err)
	}
	if err := s.tell(ego.Pose.Position[2]); err != nil {
		return fmt.Errorf("step %d: %w", s.steps, err)
	}
	return nil
}

// left returns how many vehicles and persons of SUMO's are there or to come.
func (s *source) left() int {
	if !s.theirs && s.egoSize[0] > 0 {
		return s.now.expected - 1
	}
	return s.now.expected
}

// explain adds what a SUMO of ours said at its end.
func (s *source) explain(err error) error {
	if s.child != nil && errors.Is(err, ErrEnded) && s.child.ended(patience) {
		return fmt.Errorf("%w (%w)", s.child.last(), err)
	}
	return err
}

// meet finds the actor of each object. Of those that are new it asks SUMO what doesn't change,
// in one message. The ids of the objects are gone afterwards.
func (s *source) meet(ctx context.Context) error {
	s.fresh = s.fresh[:0]
	for i := range s.now.objects {
		o := &s.now.objects[i]
		if o.actor != nil { // of a message before
			continue
		}
		a := s.actors[o.person][string(o.id)]
		if a == nil {
			a = &actor{id: string(o.id), name: string(o.id), person: o.person}
			if o.person { // who may have the id of a vehicle
				a.name = "person/" + a.id
			}
			s.fresh = append(s.fresh, a)
			s.actors[o.person][a.id] = a
		}
		o.actor, a.seen = a, s.steps
	}
	for _, actors := range s.actors {
		for id, a := range actors {
			if a.seen != s.steps {
				delete(actors, id)
			}
		}
	}
	for fresh := s.fresh; len(fresh) > 0; {
		n := min(len(fresh), mostDescribed)
		if err := s.describe(ctx, fresh[:n]); err != nil {
			return err
		}
		fresh = fresh[n:]
	}
	return nil
}

// Bounds of what is asked for.
const (
	mostDescribed = 1 << 10 // actors in one message
	mostColors    = 4 << 10 // types whose colours are kept
)

// constants are the variables that describe asks for.
var constants = [...]byte{varLength, varWidth, varHeight, varTopSpeed, varClass, varColor, varType}

// color returns a variable that is a colour. Yellow is SUMO's where nobody gave one.
func (v value) color() world.Color {
	c := world.Color{R: uint8(v.number[0]), G: uint8(v.number[1]), B: uint8(v.number[2]), Known: true}
	if c == (world.Color{R: 255, G: 255, Known: true}) {
		return world.Color{}
	}
	return c
}

// describe asks what some new actors are.
func (s *source) describe(ctx context.Context, fresh []*actor) error {
	s.talk.say()
	for _, a := range fresh {
		for _, variable := range constants {
			q := a.query(variable)
			s.talk.command(q.command, q.payload())
		}
	}
	r, err := s.talk.exchange(ctx)
	if err != nil {
		return err
	}
	for _, a := range fresh {
		for i, variable := range constants {
			q := a.query(variable)
			if err := r.status(q.command); err != nil {
				return err
			}
			switch v := r.answer(q); variable {
			case varTopSpeed:
				a.top = v.number[0]
			case varClass:
				a.model = model(string(v.text))
			case varColor:
				a.color = v.color()
			case varType:
				if a.kind = string(v.text[:min(len(v.text), longestName+1)]); len(a.kind) > longestName {
					r.fail("a type's name of more than %d bytes", longestName)
				}
			default:
				a.size[i] = v.number[0]
			}
		}
	}
	if r.err != nil {
		return r.err
	}
	return s.paint(ctx, fresh)
}

// paint gives new actors without a colour that of their type. SUMO is asked once for each type.
func (s *source) paint(ctx context.Context, fresh []*actor) error {
	var asked []query
	if len(s.colors) > mostColors {
		clear(s.colors)
	}
	s.talk.say()
	for _, a := range fresh {
		if _, known := s.colors[a.kind]; known || a.color.Known {
			continue
		}
		q := query{cmdGetType, varColor, a.kind}
		s.talk.command(q.command, q.payload())
		asked, s.colors[a.kind] = append(asked, q), world.Color{}
	}
	if len(asked) > 0 {
		r, err := s.talk.exchange(ctx)
		if err != nil {
			return err
		}
		for _, q := range asked {
			if err := r.status(q.command); err != nil {
				return err
			}
			s.colors[q.object] = r.answer(q).color()
		}
		if r.err != nil {
			return r.err
		}
	}
	for _, a := range fresh {
		if !a.color.Known {
			a.color = s.colors[a.kind]
		}
	}
	return nil
}

func (a *actor) query(variable byte) query {
	if a.person {
		return query{cmdGetPerson, variable, a.id}
	}
	return query{cmdGetVehicle, variable, a.id}
}

// models are the scene's, by SUMO's classes of vehicles.
var models = map[string]string{
	"bus": "vehicle.bus", "coach": "vehicle.bus",
	"truck": "vehicle.truck", "trailer": "vehicle.truck",
	"delivery": "vehicle.van", "emergency": "vehicle.van",
	"taxi":       "vehicle.taxi",
	"motorcycle": "vehicle.motorcycle", "moped": "vehicle.motorcycle",
	"bicycle":    "vehicle.bicycle",
	"pedestrian": "walker.pedestrian.0001",
	"tram":       "vehicle.tram", "rail_urban": "vehicle.rail", "rail": "vehicle.rail", "rail_electric": "vehicle.rail", "rail_fast": "vehicle.rail",
	"ship": "vehicle.ship",
}

// model returns the model of a class. Classes that say who may drive where are cars.
func model(class string) string {
	if m := models[class]; m != "" {
		return m
	}
	return "vehicle.sedan"
}

// tell makes the frame of the step. A net without heights leaves the ego at its own.
func (s *source) tell(egoHeight float64) (err error) {
	s.all, s.signals = s.all[:0], s.signals[:0]
	for i := range s.now.lights {
		if l := &s.now.lights[i]; l.seen {
			s.signals = append(s.signals, world.Signal{Ref: world.Ref{Name: l.name}, State: l.is})
		}
	}
	told := snapshot.Snapshot{At: simtime.Stamp(s.steps) * simtime.Stamp(math.Round(s.step*1e9)), Signals: s.signals}
	for i := range s.now.objects {
		s.heights = s.heights || s.now.objects[i].position[2] != 0
	}
	for i := range s.now.objects {
		o := &s.now.objects[i]
		a, state := o.actor, s.state(o)
		if a.person || a.id != s.ego {
			s.all = append(s.all, world.Spawn{Name: a.name, Model: a.model, Size: a.size,
				Reference: world.FrontBumper, OnGround: !s.heights, TopSpeed: a.top, Color: a.color, State: state})
			continue
		}
		if s.theirs {
			s.egoState = state
			s.egoState.Pose.Position = state.Pose.Apply(axleToBumper(a.size).Mul(-1))
			if !s.heights {
				s.egoState.Pose.Position[2] = egoHeight
			}
			told.Ego, told.EgoPoint = &s.egoState, axleToBumper(a.size)
		}
	}
	if s.theirs && told.Ego == nil && s.steps > 0 && !s.warned {
		s.warned = true
		s.warn("SUMO doesn't have the vehicle that is our ego yet: the vehicle with the sensors stays with us until it comes; ?ego=ID names another", "id", s.ego)
	}
	told.Actors = s.all
	s.frame, err = s.track.Add(told)
	return err
}

// axleToBumper is where the front bumper is, as seen from the rear axle.
func axleToBumper(size mgl64.Vec3) mgl64.Vec3 {
	return world.FrontBumper.InBox(size).Sub(world.RearAxle.InBox(size))
}

// state converts: SUMO's angles are degrees clockwise from +y, and uphill.
func (s *source) state(o *object) world.State {
	heading := mgl64.QuatRotate(math.Pi/2-mgl64.DegToRad(o.angle), mgl64.Vec3{0, 0, 1}).
		Mul(mgl64.QuatRotate(-mgl64.DegToRad(o.slope), mgl64.Vec3{0, 1, 0}))
	return world.State{
		Pose:          spatial.Pose{Position: mgl64.Vec3(o.position).Sub(s.offset), Orientation: heading},
		Velocity:      heading.Rotate(s.velocity(o, heading)),
		VelocityKnown: true,
		HeightKnown:   s.heights,
		Lights:        o.lights(),
	}
}

// velocity returns that of the front bumper in the vehicle's frame. SUMO tells how fast it is. The rear axle doesn't
// slip sideways, so that the bumper of one that turns does.
func (s *source) velocity(o *object, heading mgl64.Quat) mgl64.Vec3 {
	a, aside := o.actor, 0.0
	if a.known && !a.person && s.steps > a.since {
		spin := world.SpinBetween(a.heading, heading, simtime.Stamp(float64(s.steps-a.since)*s.step*1e9))
		aside = spin[2] * axleToBumper(a.size)[0]
	}
	a.heading, a.since, a.known = heading, s.steps, true
	aside = max(-mostAside*o.speed, min(aside, mostAside*o.speed))
	return mgl64.Vec3{math.Sqrt(o.speed*o.speed - aside*aside), aside, 0}
}

// mostAside is the share of a bumper's speed that may be sideways: wheels steer by 45 degrees at most.
const mostAside = 0.7

// place moves our ego in SUMO to where it is at the step's end if it keeps its velocity. SUMO
// gets a vehicle if it doesn't have it, or has it no longer: one leaves at its route's end.
func (s *source) place(ctx context.Context, ego world.State) error {
	for try := 0; ; try++ {
		err := s.appear(ctx)
		if err == nil {
			_, err = s.talk.ask(ctx, cmdSetVehicle, s.move(ego))
		}
		if try > 0 || !errors.Is(err, ErrRefused) {
			return err
		}
		s.egoSize = mgl64.Vec3{}
	}
}

// appear adds our ego to SUMO, on a route of SUMO's choice, and asks for its length.
func (s *source) appear(ctx context.Context) error {
	if s.egoSize[0] > 0 {
		return nil
	}
	length := query{cmdGetVehicle, varLength, s.ego}
	v, err := s.talk.get(ctx, length)
	if errors.Is(err, ErrRefused) {
		// Route, type; depart time, lane, position, speed; arrival lane, position, speed; taxi
		// stands, line; room for persons, persons.
		add := appendCompound(append([]byte{varAdd}, appendText(nil, s.ego)...), "", "DEFAULT_VEHTYPE",
			"now", "first", "base", "0", "current", "max", "current", "", "", "", 0, 0)
		if _, err := s.talk.ask(ctx, cmdSetVehicle, add); err != nil {
			return err
		}
		v, err = s.talk.get(ctx, length)
	}
	s.egoSize[0] = v.number[0]
	return err
}

// move is the payload of moveToXY: exactly there, off the road too.
func (s *source) move(ego world.State) []byte {
	pose := ego.Pose
	pose.Orientation = pose.Orientation.Normalize()
	bumper := pose.Apply(axleToBumper(s.egoSize)).Add(s.offset)
	if ego.VelocityKnown {
		bumper = bumper.Add(ego.Velocity.Mul(s.step))
	}
	ahead := pose.Rotate(mgl64.Vec3{1, 0, 0})
	angle := math.Mod(mgl64.RadToDeg(math.Atan2(ahead[0], ahead[1]))+360, 360)
	const exactly, anyDistance = byte(2), 100.0
	return appendCompound(append([]byte{varMove}, appendText(nil, s.ego)...), "", 0, bumper[0], bumper[1], angle, exactly, anyDistance)
}

// Awaits says what the next frame comes from.
func (s *source) Awaits() string {
	return fmt.Sprintf("a step of SUMO at %s, which may wait for another client", s.talk.conn.RemoteAddr())
}

// Gaps counts the steps that SUMO took without us.
func (s *source) Gaps() int64 { return s.gaps }

// Close takes leave of SUMO. One that we started is gone afterwards.
func (s *source) Close() error {
	if s.talk.conn != nil {
		s.talk.close()
	}
	if s.child != nil {
		if s.talk.conn == nil {
			_ = s.child.cmd.Process.Kill()
		}
		s.child.end()
	}
	return nil
}
