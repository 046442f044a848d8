// Package bridges is the contract between raybridge and the software that
// wants its sensor data: a robot's middleware, a viewer, a file.
//
// # Usage
//
// A [Factory] describes one bridge and registers, on its [Plugin], a converter
// for every message type it carries. A [Registry] holds the factories of one
// program. [Registry.Open] takes "NAME:CONNECTION" and gives a [Bridge]: one
// connection, whose publishers [AddPublisher] makes:
//
//	bridge, err := registry.Open("mcap:drive.mcap", bridges.Env{OutDir: "out", Now: clock.Now})
//	publish, err := bridges.AddPublisher[*sample.Image](bridge, bridges.Topic{Name: "/camera/image"})
//	err = bridge.Connect(ctx)
//	err = publish(ctx, image)
//	err = bridge.Close(ctx)
//
// Messages are pointers to the structures of package sample, or to any type that was registered
// with the bridge, without a change to it.
//
// # Which way to publish
//
// Each way stands on those below it. Take the first that does what you need:
//
//   - [Write]: the rows of [NewFile], [NewServer] or [NewClient], a bridge in a few lines that appends messages as they come
//   - [Codec]: a type of your own on somebody else's bridge, in an encoding that you write
//   - [Publication]: a table of types with a message each, for bridges that share an encoding; package ros makes them for ROS
//   - [RegPublisher]: a bridge that is given the sample itself, and a function for each topic
//
// [SetFallback] carries the types that nobody registered.
//
// # Concurrency
//
// A Bridge, its publishers and its statistics may be used from any goroutine. Two calls of
// publishers of one bridge may overlap; what they write is then in either order. Callers that
// need an order call them from one goroutine.
//
// A publisher never waits for a peer: it writes to a file, or it queues on its
// connection's bounded queue. It may read the message until it returns and
// never changes it (law S4): several bridges are given the same one.
//
// # Time
//
// Bridges read no clock. A message carries its capture stamp; the simulation
// time at which it was handed over comes from [Env.Now]. Given equal messages
// and equal answers of Now, a file bridge writes equal bytes (law T5).
//
// # Failure
//
// Nothing is silent (law S5). An error that a publisher returns is counted under its cause
// (package flow's CauseOf). A message that a bridge loses after it has taken it is moved from
// the sent to the dropped ones. [Bridge.Err] tells of a failure that ends the connection for
// good, such as a full disk.
//
// # Testing
//
// Package bridgetest is the conformance suite of bridges: each calls it once.
package bridges

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Info describes a bridge.
type Info struct {
	// Name identifies the bridge in connection strings and the registry: lower
	// case letters, digits and underscores.
	Name string
	// Type names what the bridge speaks. It mostly equals Name; a variant of a
	// bridge has its own name and the same type.
	Type string
	Kind Kind
	// Summary is one line for lists.
	Summary string
	// Connection shows the form of the connection string before its options, such as
	// "HOST[:9090]". Brackets enclose what may be left out, with its default value if it has
	// one. Words in capitals stand for something, and bars divide alternatives.
	Connection string
	// Default is what an empty connection string stands for; empty where it is an error.
	Default string
	// Options are those that may follow it.
	Options []Option
	// Gaps are the samples that the protocol has no room for, and OtherGap is why it has none for
	// other types that the bridge doesn't know, in the words of a Gap's Reason. A bridge that
	// carries every type has no OtherGap.
	Gaps     []Gap
	OtherGap string
	// Wants are sensors that the bridge's receivers look for, Defaults what they look for in the
	// data of others.
	Wants    []Want
	Defaults []Default
	// Patience is how long a publisher may wait for a peer, where that is longer than a second. A
	// pipeline lets the sender wait as long before it drops a message.
	Patience time.Duration
}

// Gap is a type of samples that a bridge doesn't publish.
type Gap struct {
	// Go is the samples' type in Go, such as "*sample.Image".
	Go string `json:"go"`
	// Reason says why, for users: half a sentence, without a full stop.
	Reason string `json:"reason"`
}

// Lacks makes the Gap of samples of type T, mostly a pointer.
func Lacks[T any](reason string) Gap { return Gap{reflect.TypeFor[T]().String(), reason} }

// Gap returns the reason why the bridge does not publish a type, "" if it gives none.
func (i Info) Gap(t reflect.Type) string {
	for _, g := range i.Gaps {
		if g.Go == t.String() {
			return g.Reason
		}
	}
	return i.OtherGap
}

// Want is a sensor that a bridge's receivers look for. A run whose rig has no sensor of the type
// adds one for the bridges that want it: others don't carry its topic.
type Want struct {
	// Sensor is the type's id, such as "sensor.other.snapshot".
	Sensor string
	// Name is what the sensor is called, Topic where it publishes.
	Name, Topic string
	// Beside is the id of another type. Then each of the rig's sensors of that type has one of Sensor beside it, also where the
	// rig has some of its own. It has the same place, rate, and picture: size, field of view, clipping and lens, as far as its
	// type has them. Its name is the other's, a dot, and Name, and its topic the other's with /Name. (optional)
	Beside string
	// Attributes are those of the sensor, by name. (optional)
	Attributes map[string]any
}

// Snapshot is the world's state at every frame, ahead of the frame's other data.
var Snapshot = Want{Sensor: "sensor.other.snapshot", Name: "snapshot", Topic: "/snapshot"}

// Default is a value that an attribute has in a run with the bridge, on all bridges of the run,
// unless the rig sets it or another attribute that rules it out.
type Default struct {
	// Sensor is the id of the type whose sensors have it.
	Sensor    string
	Attribute string
	Value     any
	// Unless are the attributes that rule it out where the rig sets them.
	Unless []string
}

// Factory makes the instances of one bridge. There is one per program; it is
// used from any goroutine.
type Factory interface {
	Info() Info
	// Register declares all message types that the bridge carries. It is called
	// once, by NewRegistry.
	Register(*Plugin) error
	// NewInstance makes one unconnected instance. It reads and writes nothing. The Env of a
	// bridge that a Registry opens has a Log.
	NewInstance(Env) (Instance, error)
}

// KindChooser is a Factory some of whose bridges write files while others send to peers. Info().Kind is
// what most are. Any goroutine may ask.
type KindChooser interface {
	// KindOf returns the kind of a bridge with the connection string, which needn't be one that can
	// be used.
	KindOf(connection string) Kind
}

// Instance is one bridge of one vehicle in one run. Its methods may be called
// from any goroutine, and none of them waits for a peer.
type Instance interface {
	// Status is cheap: it is asked before every message.
	Status() flow.Status
	// Connect begins to connect as the connection string says, which is passed
	// unmodified. A string that can't be used gives ErrConnectionString. A file
	// bridge is Connected when Connect returns; a network bridge may still be
	// Connecting. Connecting again first disconnects.
	Connect(ctx context.Context, connection string) error
	// Disconnect delivers what was taken, for as long as ctx allows, and ends
	// the connection; files are complete when it returns. Without a connection
	// it does nothing. Publishers stay valid for the next Connect.
	Disconnect(ctx context.Context) error
}

// Failer is an Instance that can fail for good while it is connected. Err
// returns nil, or what happened; it then wraps flow.ErrWriteFailed if data was lost.
type Failer interface {
	Err() error
}

// Audience is an Instance that knows for each topic whether somebody receives it:
// a sensor that nobody listens to computes nothing. Listening is cheap: it is asked
// before every message, from any goroutine.
type Audience interface {
	Listening(topic string) bool
	// Receivers counts those who receive the topic now. A topic that is kept for those to
	// come may be listened to without any.
	Receivers(topic string) int
}

// Env is what an instance may know of the run that it belongs to.
type Env struct {
	// OutDir is the folder below which relative paths of connection strings
	// lie; empty means the working directory.
	OutDir string
	// Now returns the simulation time, in nanoseconds, at which the message being published was
	// handed over. A recording takes it as its log time. A publisher calls it once a message,
	// on its own goroutine. So a caller that publishes from one goroutine may answer with the
	// time that belongs to that message. Then the recording doesn't depend on how fast anything
	// ran. Nil stands for the message's own stamp.
	Now func() simtime.Stamp
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
	// Run is written into recordings.
	Run Run
	// Map is where the map frame lies on the earth, for protocols that place things there. Its
	// zero value is nowhere.
	Map spatial.MapFrame
}

// Run says which run a recording is of. It holds nothing that differs between
// two runs of the same work.
type Run struct {
	// Version is raybridge's version.
	Version string
	// Scene names the scene, Rig the rig.
	Scene, Rig string
	// Device is the class of the device that computes (gpu.Info.Class). What else it is called would
	// make equal runs differ.
	Device string
	Seed   uint64
	// Weather is that of the configuration as JSON, "" if it has none. A world may tell another one at the first instant.
	Weather string
	// ID tells the run from others: a sweep's case id, or else a hash of the configuration. Runs that differ in nothing but their
	// length and their bridges have the same. Recordings of messages don't have it.
	ID string
}

// HandedOver returns Now's time, or stamp where there is no Now.
func (e *Env) HandedOver(stamp simtime.Stamp) simtime.Stamp {
	if e.Now == nil {
		return stamp
	}
	return e.Now()
}
