// Package world is how a simulation's actors are moved from outside: by a traffic simulator, a
// trace, a planner or a program. It has what they all say, a Frame, and the contract of those
// who bring frames, a Source. pipeline.StepTo takes a frame and answers with what the sensors
// saw on the way.
//
// A frame says where everybody is at the end of a step. Between two frames actors move
// smoothly, so that a scan that takes time sees them on their way. Positions are metres of
// the map frame (REP-103) in float64: coordinates of UTM's size are fine.
package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Errors of a frame. They come in an *ActorError where one actor is at fault.
var (
	// ErrUnknownActor: no actor of that handle or name is there.
	ErrUnknownActor = errors.New("no such actor")
	// ErrUnknownSignal: the scene has no traffic light of that id or name.
	ErrUnknownSignal = errors.New("no such traffic light")
	// ErrDuplicate: two actors or lights of a frame are one, or a spawned one's name is taken.
	ErrDuplicate = errors.New("it is named twice")
	// ErrFull: as many actors are there as the world has room for.
	ErrFull = errors.New("no room for another actor")
	// ErrValue: a number is NaN, infinite, or of no use, such as a quaternion of length 0.
	ErrValue = errors.New("value is not usable")
	// ErrUnknownJoint: the actor's model has no joint of that name, or not as many. It is an ErrValue.
	ErrUnknownJoint = fmt.Errorf("%w: no such joint", ErrValue)
	// ErrTime: the frame's time isn't after the simulation's.
	ErrTime = errors.New("time is not ahead")
	// ErrBusy: somebody else is stepping.
	ErrBusy = errors.New("another step is under way")
	// ErrMode: time passes by itself.
	ErrMode = errors.New("the run follows a clock of its own")
	// ErrEnded: nobody runs what is to be stepped any more.
	ErrEnded = errors.New("the run has ended")
	// ErrUnfinished: the frame was applied, and time did not come to its end. Others say why, which the
	// error wraps, too. All other errors of a frame change nothing.
	ErrUnfinished = errors.New("the frame was applied, but the step did not end")
)

// ActorError says which actor or traffic light of a frame is at fault, or that its weather is. Nothing of the frame was applied.
type ActorError struct {
	List  string // the frame's list: spawn, remove, actors or ListSignals; ego for the ego, ListWeather for the weather
	Index int    // in that list
	Actor Ref
	Err   error
}

// ListSignals is the list of the traffic lights, whose Ref is a Signal's.
const ListSignals = "signals"

// Error names the list, the index and the actor, where that has a name or a handle.
func (e *ActorError) Error() string {
	switch {
	case e.List == "ego":
		return fmt.Sprintf("ego: %v", e.Err)
	case e.List == ListWeather:
		return e.Err.Error()
	case e.Actor == Ref{}:
		return fmt.Sprintf("%s[%d]: %v", e.List, e.Index, e.Err)
	}
	who := "actor"
	if e.List == ListSignals {
		who = "light"
	}
	return fmt.Sprintf("%s[%d] (%s %v): %v", e.List, e.Index, who, e.Actor, e.Err)
}

// Unwrap returns Err.
func (e *ActorError) Unwrap() error { return e.Err }

// Ref names an actor: by its handle, which is the fast way, or by its name where Handle is 0.
// A handle is an actor's from its spawn on, and nobody else's afterwards. The labels of pictures
// and clouds are the handles' lowest 16 bits.
type Ref struct {
	Handle uint32
	Name   string
}

// String returns the name, as much of it as errors should tell, or else the handle.
func (r Ref) String() string {
	if r.Name != "" {
		return fmt.Sprintf("%.256q", r.Name)
	}
	return fmt.Sprint(r.Handle)
}

// State is where an actor is, and how it moves.
type State struct {
	// Pose is that of the actor's reference point, in the map frame. Its orientation need not
	// have length 1, but a length.
	Pose spatial.Pose
	// Velocity is in m/s, of the reference point, and AngularVelocity in rad/s, both in the map frame. Each counts if
	// its Known is true; otherwise it follows from this pose and those before. Accelerations
	// are the velocities' change over the step.
	Velocity, AngularVelocity           mgl64.Vec3
	VelocityKnown, AngularVelocityKnown bool
	// HeightKnown: the pose's height counts from now on, though the actor came OnGround.
	HeightKnown bool
	// Jump: the actor did not move here from where it was. It is here from the step's first
	// instant on. A move that no such actor can make is a jump in any case.
	Jump bool
	// Lights are those that are on in a vehicle, up to there.
	Lights Lights
	// Joints are values of the model's joints, in radians or metres. They lead there from where the
	// joints are, in a straight line. JointNames says which, and without it they are the model's
	// first ones, in its order. Joints of which no state has told yet are the model's to move, such
	// as wheels that roll. The others keep their value.
	Joints     []float64
	JointNames []string
}

// Lights are lamps of a vehicle or of a traffic light, a bit each.
type Lights uint8

// The lights. A frame says by a Signal what a traffic light shows, not by those of its lamps.
const (
	LightHead Lights = 1 << iota
	LightBrake
	LightLeft  // indicator
	LightRight // indicator
	LightReverse
	LightRed // of a traffic light, as the following
	LightYellow
	LightGreen
)

// lightNames are those that the API has.
var lightNames = map[string]Lights{"head": LightHead, "brake": LightBrake, "left": LightLeft, "right": LightRight, "reverse": LightReverse}

// ParseLights returns the lights of some names: head, brake, left, right and reverse. The error
// wraps ErrValue.
func ParseLights(names []string) (on Lights, err error) {
	for _, name := range names {
		light, known := lightNames[name]
		if !known {
			return 0, fmt.Errorf("%w: light %q: want head, brake, left, right or reverse", ErrValue, name)
		}
		on |= light
	}
	return on, nil
}

// Color is a colour in sRGB. It counts if Known is true; otherwise none is given.
type Color struct {
	R, G, B uint8
	Known   bool
}

// RGB returns the colour of a number, 0xrrggbb. The error wraps ErrValue.
func RGB(number uint64) (Color, error) {
	if number > 0xffffff {
		return Color{}, fmt.Errorf("%w: color 0x%x: want 0xrrggbb", ErrValue, number)
	}
	return Color{uint8(number >> 16), uint8(number >> 8), uint8(number), true}, nil
}

// ParseColor returns the colour of a text such as #1e90ff, and no colour for "". The error wraps
// ErrValue.
func ParseColor(text string) (Color, error) {
	if text == "" {
		return Color{}, nil
	}
	digits, marked := strings.CutPrefix(text, "#")
	number, err := strconv.ParseUint(digits, 16, 24)
	if !marked || len(digits) != 6 || err != nil {
		return Color{}, fmt.Errorf("%w: color %q: want #rrggbb", ErrValue, text)
	}
	return RGB(number)
}

// Actor is an actor that is there, at the end of the step.
type Actor struct {
	Ref
	State
}

// Reference says which point of an actor its poses are of.
type Reference uint8

// The references. Ground is the underside of the box.
const (
	// GroundCentre is the middle of the box, on the ground.
	GroundCentre Reference = iota
	// BoxCentre is the middle of the box, as ASAM OSI has it.
	BoxCentre
	// RearAxle is below the rear axle, on the ground: base_link. The axle is at 0.27 of the
	// length behind the middle.
	RearAxle
	// FrontBumper is the middle of the front bumper, on the ground, as SUMO has it.
	FrontBumper
)

var referenceNames = [...]string{GroundCentre: "ground_centre", BoxCentre: "box_centre", RearAxle: "rear_axle", FrontBumper: "front_bumper"}

// String returns the name that files and the API have.
func (r Reference) String() string {
	return nameOf("reference", r, referenceNames[:])
}

// ParseReference is String's inverse; "" is GroundCentre. The error wraps ErrValue.
func ParseReference(name string) (Reference, error) {
	return valueNamed[Reference]("reference", cmp.Or(name, GroundCentre.String()), referenceNames[:])
}

// rearAxle is how far the rear axle is behind the middle, as a share of the length. Facts of
// single vehicles are rarely told; most cars are within 0.25 to 0.29.
const rearAxle = 0.27

// InBox returns the reference point in the frame of a box of a size in metres: that of the
// middle of its underside, x forward.
func (r Reference) InBox(size mgl64.Vec3) mgl64.Vec3 {
	switch r {
	case BoxCentre:
		return mgl64.Vec3{0, 0, size[2] / 2}
	case RearAxle:
		return mgl64.Vec3{-rearAxle * size[0], 0, 0}
	case FrontBumper:
		return mgl64.Vec3{size[0] / 2, 0, 0}
	default:
		return mgl64.Vec3{}
	}
}

// fastestTurn is the most at which anybody turns on its way, rad/s. A faster turn is a jump of the heading.
const fastestTurn = 4.0

// SpinBetween returns the mean angular velocity, rad/s in the map frame, of a body that turns from one
// orientation to another within a step. It is 0 where the heading jumps.
func SpinBetween(before, after mgl64.Quat, step simtime.Stamp) mgl64.Vec3 {
	spin := spatial.RotationVector(after.Mul(before.Conjugate())).Mul(1e9 / float64(step))
	if !(spin.Len() <= fastestTurn) {
		return mgl64.Vec3{}
	}
	return spin
}

// Spawn is an actor that comes. It is there from the first instant of the step on, where State
// says. If the frame lists it among its Actors, too, it moves from there to that place. In a frame with AtEnd
// it comes to where State says at the last instant.
type Spawn struct {
	// Name is the actor's own, "" for one of its model and a number.
	Name string
	// Model is the name of a model of the scene, such as vehicle.sedan. An unknown one is a
	// plain box of the actor's size; the run's log says so once for each model.
	Model string
	// Size is the length, width and height that the source knows, in metres. 0 stands for the
	// model's own, and for 4.5, 1.8 and 1.5 of a box. A model is made as long as the actor, by a factor of 1.3
	// at most. Beyond it is a box of that size, too. People, width and height keep the model's shape.
	Size mgl64.Vec3
	// Reference is the point of a box of that size that all poses of the actor are of.
	Reference Reference
	// OnGround: the source knows no heights. The actor stands on the ground below or above it.
	OnGround bool
	// TopSpeed is the most that its world lets it go, m/s; 0 where that isn't known. An actor
	// that goes farther than it can jumps there.
	TopSpeed float64
	// Color is that of the model's paint, where it has some: the body of a vehicle of the city, or
	// all of a box. Cameras and lidars see it. Without it the model has its own.
	Color Color
	State State
}

// Signal is what a traffic light of the scene shows. Handle is the light's id, which sensors tell,
// or Name its name where Handle is 0. Lights of one actor show the same.
type Signal struct {
	Ref
	State SignalState
}

// SignalState is what a traffic light shows, numbered as CARLA's TrafficLightState.
type SignalState uint8

// The states. SignalUnknown is for those who report a light: no light can be set to it.
const (
	SignalRed SignalState = iota
	SignalYellow
	SignalGreen
	SignalOff
	SignalUnknown
)

var signalNames = [...]string{SignalRed: "red", SignalYellow: "yellow", SignalGreen: "green", SignalOff: "off"}

// String returns the name that the API has.
func (s SignalState) String() string {
	return nameOf("state", s, signalNames[:])
}

// Known reports whether a light can be set to it: it is a state, and not SignalUnknown.
func (s SignalState) Known() bool { return int(s) < len(signalNames) }

// ParseSignal is String's inverse. The error wraps ErrValue.
func ParseSignal(name string) (SignalState, error) {
	return valueNamed[SignalState]("state", name, signalNames[:])
}

// Wait says what a step waits for.
type Wait uint8

const (
	// Delivered waits until all that was due has been delivered, or is known to be missing.
	Delivered Wait = iota
	// Captured waits until the sensors have all that was due, and their receivers may not.
	Captured
	// None waits for nothing. The next step waits for this one first.
	None
)

var waitNames = [...]string{Delivered: "delivered", Captured: "captured", None: "none"}

// String returns the name that the API has.
func (w Wait) String() string {
	return nameOf("wait", w, waitNames[:])
}

// ParseWait is String's inverse; "" is Delivered. The error wraps ErrValue.
func ParseWait(name string) (Wait, error) {
	return valueNamed[Wait]("wait", cmp.Or(name, Delivered.String()), waitNames[:])
}

// nameOf returns the name of a value of some kind, and says its number if it has none.
func nameOf[T ~uint8](kind string, value T, names []string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s %d", kind, value)
}

// valueNamed is nameOf's inverse. The error wraps ErrValue.
func valueNamed[T ~uint8](kind, name string, names []string) (T, error) {
	value := slices.Index(names, name)
	if value < 0 {
		last := len(names) - 1
		return 0, fmt.Errorf("%w: %s %q: want %s or %s", ErrValue, kind, name, strings.Join(names[:last], ", "), names[last])
	}
	return T(value), nil
}

// Frame is one step of a world. Its slices stay the caller's, who may change them when the step
// has returned.
type Frame struct {
	// Until is the simulation time at which the step ends, after the present one. In a run that is to
	// begin it may be the present one: the step is the first instant alone.
	Until simtime.Stamp
	// To is the name of a sensor. The step ends at its next firing then, and Until doesn't count.
	To string
	// Spawn and Remove take effect at the step's beginning. With AtEnd they do at its last instant: who
	// comes isn't seen before, and who leaves keeps its velocity up to there.
	Spawn  []Spawn
	Remove []Ref
	AtEnd  bool
	// Actors are at Until where their states say. Those that are not listed stay where they
	// are, or leave with Complete.
	Actors   []Actor
	Complete bool
	// Signals show their states throughout the step, and until they are told others. A light that
	// no frame has named does as the scene has it.
	Signals []Signal
	// Ego moves the vehicle that carries the sensors, by its rear axle on the ground. Nil lets
	// it be ours: it moves as the run has it, or stands where the last frame put it.
	Ego *State
	// Weather holds from the step's first instant on, until another frame has another, or somebody else sets
	// one. Nil leaves it as it is.
	Weather *weather.State
	Wait    Wait
}

// Refuser is a Source that is told of its frames that can't be applied.
type Refuser interface {
	// Refused is told why the frame that Next returned last was refused. Nothing of it was applied. Refused
	// returns the error that ends the run, such as the same with its place in a file. Nil continues with
	// the next frame.
	Refused(err error) error
}

// Source brings the frames of a world. It may be a Refuser, too. One goroutine uses it. With a method Awaits() string
// it says what it waits for, which others may ask of it at any time.
type Source interface {
	// Next returns the next frame, which may be read until the following call. The times of
	// frames are the simulation's and rise. ego is the vehicle that carries the sensors, at the
	// present time: a source whose world has it takes it in. Next waits for a live world up to
	// ctx's end, and returns its error then. io.EOF is the end of a world that ends.
	Next(ctx context.Context, ego State) (*Frame, error)
	// Gaps returns how many frames are known to have been lost on the way.
	Gaps() int64
	// Close lets go of what the source holds, and ends the programs that it started.
	Close() error
}

// Options are what every source is opened with.
type Options struct {
	// EgoTheirs: the source moves the vehicle that carries the sensors, where its world has one.
	// Otherwise that vehicle is ours, and the source's own is left out.
	EgoTheirs bool
	// Start is the simulation time at which the world begins.
	Start simtime.Stamp
	// Lights returns the names of the scene's traffic lights, as scene.Scene.SignalNames does. It
	// is called before the first frame. A source leaves out what it knows of others. (optional)
	Lights func() []string
	// Projected is told of the projection of the world's coordinates, as PROJ text, if the world says
	// it: once, by Open or with a frame. (optional)
	Projected func(proj string)
	// Memory is what messages of a peer and of a file are taken from. (optional; nil has no limit)
	Memory *memory.Budget
	// Warn is told of what the user should know, such as a model that isn't known. (optional)
	Warn func(message string, args ...any)
}

// Kind is a kind of sources.
type Kind struct {
	// Name stands before the colon of --world, and Form tells what follows it.
	Name, Form, Doc string
	// Open opens a source. The address is what follows the colon.
	Open func(ctx context.Context, address string, o Options) (Source, error)
}
