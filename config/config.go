// Package config reads the file that describes a whole run: scene, time, ego,
// other actors, sensors and bridges. docs/config.md is generated from its types.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Config is one run. Paths are relative to the file that names them.
type Config struct {
	Seed     uint64           `yaml:"seed" doc:"seed of the scene, of the traffic and of every sensor's noise" default:"1"`
	Duration time.Duration    `yaml:"duration" doc:"simulated time to run, such as 10s; 0 is without end" default:"0"`
	Scene    Scene            `yaml:"scene" doc:"what the sensors see"`
	Time     Time             `yaml:"time" doc:"the simulation's clock"`
	Ego      Ego              `yaml:"ego" doc:"the vehicle that carries the sensors"`
	Actors   []Actor          `yaml:"actors" doc:"more things in the scene"`
	Sensors  []sensors.Config `yaml:"sensors" doc:"the sensors, in place of a rig file" default:"the demo rig"`
	Rig      string           `yaml:"rig" path:"file" doc:"a rig file, in place of sensors: our own form, an SVL vehicle's JSON or CARLA's objects.json or stack.json"`
	Bridges  []Bridge         `yaml:"bridges" doc:"where the messages go"`
	// OpenRigBridges is for who runs the configuration: RigBridges are the rig's, and none of Bridges.
	OpenRigBridges bool  `yaml:"rig_bridges" doc:"raybridge run opens the rig's bridges if it follows the host's clock, such as those of SVL's lidars that have a HostName, see [rigs.md](rigs.md)" default:"true"`
	World          World `yaml:"world" doc:"a world from outside that moves the actors"`
	// Weather is nil where none is given: weather.State's zero value.
	Weather *weather.Setting `yaml:"weather" doc:"the weather at the beginning, see [weather.md](weather.md)" default:"none"`

	// Drivers, RigBridges and Notices are the rig file's: see rig.Rig. Notices has those of this file too.
	Drivers    []string
	RigBridges []rig.Bridge
	Notices    []rig.Notice

	notices        []rig.Notice // those of Notices that are this file's
	driverGiven    bool         // the file says how the ego moves
	lenient        bool         // Reader.Lenient
	carriedControl string       // topic of commands that the carried rig brought
	bridgePlaces   []doc.Node   // where the file's bridges stand
}

// The scenes that have a name.
const (
	SceneCity  = "city"
	ScenePlane = "plane"
)

// Scene says what the sensors see: the procedural city, flat ground, or glTF files.
type Scene struct {
	City      bool    `yaml:"city" doc:"the procedural city; default if no other scene is named"`
	Plane     bool    `yaml:"plane" doc:"flat ground, 4 km across, for worlds that bring everything else"`
	Offset    *Point  `yaml:"offset" doc:"where the middle of the plane lies in the map, for coordinates such as UTM's: see projection" default:"the map's origin"`
	File      string  `yaml:"file" path:"file" doc:"a .gltf or .glb file"`
	Seed      uint64  `yaml:"seed" doc:"seed of the city" default:"the run's seed"`
	Triangles int     `yaml:"triangles" doc:"triangles of the city" min:"40000" max:"4000000" default:"100000"`
	Place     []Place `yaml:"place" doc:"glTF files composed into the scene"`
	Labels    string  `yaml:"labels" path:"file" doc:"a file of semantic labels" default:"FILE.labels.yaml beside the glTF file"`
	// LabelRules come before the built-in rules.
	LabelRules []LabelRule `yaml:"label_rules" doc:"semantic labels, in place of a file"`
	Origin     *Origin     `yaml:"origin" doc:"where the map's origin lies on the earth" default:"the city's own; with a projection that of its coordinates"`
	// Projection is the zero value for the plane that touches the earth at the map's origin.
	Projection spatial.UTMZone `yaml:"projection" doc:"the map's x, y and z are easting, northing and height above the ellipsoid in a zone of UTM. With origin they count from there. It is utm32n, an EPSG code of WGS84 (32632, 32756) or ETRS89 (25832, taken for WGS84), or a PROJ text +proj=utm. By default the map is flat, for 100 km around its origin" default:"the plane that touches the earth at origin"`
}

// LabelRule labels the glTF nodes whose names match a pattern.
type LabelRule struct {
	Match string `yaml:"match" doc:"a glob on the node's name, or re:EXPRESSION, or word:PHRASE|PHRASE"`
	Tag   string `yaml:"tag" doc:"name of a CARLA semantic tag, such as building"`
	Actor bool   `yaml:"actor" doc:"the node and all below it are one actor"`
}

// Place puts one glTF file into the scene.
type Place struct {
	File      string       `yaml:"file" path:"file" doc:"a .gltf or .glb file"`
	Name      string       `yaml:"name" doc:"name of the actor" default:"the file's name and a number"`
	Type      string       `yaml:"type" doc:"type id of the actor" default:"static.prop"`
	Tag       string       `yaml:"tag" doc:"semantic tag of all of it" default:"by the labels"`
	Scale     float64      `yaml:"scale" doc:"factor on all lengths" min:"1e-6" max:"1e6" default:"1"`
	Pose      sensors.Pose `yaml:"pose" doc:"its place in the map; with waypoints it starts at the place on their way that is nearest"`
	Waypoints []Waypoint   `yaml:"waypoints" doc:"a closed loop that it follows, its corners rounded as the ego's"`
	Speed     float64      `yaml:"speed" doc:"metres per second between the corners, where it is a little less" min:"0.01" max:"100" default:"5"`
}

// Actor is one thing that moves: a Place with waypoints.
type Actor = Place

// Choose makes the scene the one that a name stands for: SceneCity, ScenePlane, or else a file.
// It takes the place of what was there. A plane keeps the offset of a plane.
func (s *Scene) Choose(name string) {
	s.City, s.Plane, s.File, s.Place = name == SceneCity, name == ScenePlane, "", nil
	if !s.Plane {
		s.Offset = nil
	}
	if !s.City && !s.Plane {
		s.File = name
	}
}

// Point is a point of the map.
type Point struct {
	X float64 `yaml:"x" doc:"east, metres" min:"-1e7" max:"1e7"`
	Y float64 `yaml:"y" doc:"north, metres" min:"-1e7" max:"1e7"`
	Z float64 `yaml:"z" doc:"up, metres" min:"-1e7" max:"1e7"`
}

// Vec3 returns the point as a vector.
func (p Point) Vec3() mgl64.Vec3 { return mgl64.Vec3{p.X, p.Y, p.Z} }

// Waypoint is a point of a closed loop.
type Waypoint = Point

// Origin is a spatial.Geodetic as files write it: the map's origin on the WGS84 ellipsoid.
type Origin struct {
	Latitude  float64 `yaml:"latitude" doc:"degrees" min:"-90" max:"90"`
	Longitude float64 `yaml:"longitude" doc:"degrees" min:"-180" max:"180"`
	Altitude  float64 `yaml:"altitude" doc:"metres above the ellipsoid" min:"-1000" max:"10000"`
}

// The range of a time scale.
const (
	MinScale = 0.001
	MaxScale = 100
)

// Time sets the clock up.
type Time struct {
	Source    string        `yaml:"source" doc:"what drives the clock, in any case, also as TimeSource at the top level. unity, external, dotnet_system and dotnet_simulation are other names of engine, ss2, system and simulation" enum:"engine,unity,ss2,external,system,dotnet_system,simulation,dotnet_simulation,ros2" case:"any" default:"engine"`
	Scale     float64       `yaml:"scale" doc:"simulated seconds per second, with --realtime, also as TimeScale at the top level" min:"0.001" max:"100" default:"1"`
	Step      time.Duration `yaml:"step" doc:"length of one step" default:"10ms"`
	ClockRate simtime.Rate  `yaml:"clock_hz" doc:"rate of /clock; 0 publishes none. A stepped run has one ahead of every instant at which a sensor is due, too" min:"0" max:"1000" default:"100"`
}

// Drivers of the ego.
const (
	DriverWaypoints = "waypoints"
	DriverExternal  = rig.DriverExternal
	DriverKeys      = rig.DriverKeys
)

// Ego says how the vehicle that carries the sensors moves.
type Ego struct {
	Driver    string        `yaml:"driver" doc:"who drives: waypoints, external (a bicycle model steered by commands) or keys (the window's)" enum:"waypoints,external,keys" default:"waypoints"`
	Waypoints []Waypoint    `yaml:"waypoints" doc:"a closed loop, its corners rounded: rate of turn and acceleration don't leap. Another driver's vehicle begins on it, and sensors that drive follow it" default:"the scene's own route"`
	Speed     float64       `yaml:"speed" doc:"metres per second between the corners, where it is a little less" min:"0.01" max:"100" default:"8"`
	Pose      *sensors.Pose `yaml:"pose" doc:"its place, or its start. With waypoints it starts at the place on their way that is nearest. A driven vehicle stays in the plane of its roll and pitch" default:"the scene's own"`
	Commands  Commands      `yaml:"commands" doc:"topics that steer an external driver's vehicle"`
}

// Commands say how bridges steer the ego: on which topics, and how long a command holds.
type Commands struct {
	Control   string `yaml:"control" doc:"topic of pedals and steering wheel: lgsvl_msgs/VehicleControlData, Apollo's ControlCommand; empty for none" default:"/vehicle_control, or the rig's own"`
	Ackermann string `yaml:"ackermann" doc:"topic of speeds and steering angles, ackermann_msgs/AckermannDriveStamped; empty for none" default:"/ackermann_cmd"`
	Velocity  string `yaml:"velocity" doc:"topic of velocities, geometry_msgs/Twist; empty for none" default:"/cmd_vel"`
	// Timeout is in simulation time; 0 is without end.
	Timeout time.Duration `yaml:"timeout" doc:"simulation time after which a command no longer holds and the vehicle brakes to a standstill; 0 lets it hold until the next" default:"500ms"`
}

// Values of World's keys.
const (
	TrafficOwn  = "own"
	TrafficNone = "none"
	EgoOurs     = "ours"
	EgoTheirs   = "theirs"
)

// World says who moves the actors from outside, and how many may come.
type World struct {
	Source   string   `yaml:"source" doc:"KIND:ADDRESS of the world, such as csv:FILE, osi:FILE or sumo:FILE.sumocfg; paths are relative to the working directory"`
	Capacity int      `yaml:"capacity" doc:"how many actors from outside may be there at a time" min:"1" max:"4096" default:"256"`
	Models   []string `yaml:"models" path:"file" doc:"glTF files that such actors may look like; a model's name is its file's, without the ending"`
	// CityModels are one picture and 10,000 triangles, whether anybody comes or not.
	CityModels bool   `yaml:"city_models" doc:"such actors may look like the city's vehicles and people, in every scene" default:"true"`
	Traffic    string `yaml:"traffic" doc:"the city's own cars and walkers" enum:"own,none" default:"none with a source, else own"`
	Ego        string `yaml:"ego" doc:"who moves the vehicle that carries the sensors: ours is moved as the key ego says" enum:"ours,theirs" default:"ours"`
}

// HasTraffic reports whether the city's own cars and walkers are there.
func (w *World) HasTraffic() bool {
	return w.Traffic == TrafficOwn || w.Traffic == "" && w.Source == ""
}

// Bridge is one receiver of the messages.
type Bridge struct {
	Type       string    `yaml:"type" doc:"mcap, logging, ..."`
	Connection string    `yaml:"connection" doc:"what the bridge connects to; its form is the bridge's own"`
	Policy     string    `yaml:"policy" doc:"policy of a full queue; exclusive has no queue: one message of a topic at a time" enum:"block,drop_newest,drop_oldest,exclusive" default:"block for files, drop_oldest for networks"`
	QoS        []Quality `yaml:"qos" doc:"quality of service by topic"`
}

// Quality overrides what a sensor asks for on one topic.
type Quality struct {
	Topic       string `yaml:"topic" doc:"the topic"`
	Reliability string `yaml:"reliability" doc:"whether lost messages are sent again" enum:"reliable,best_effort" default:"best_effort"`
	Durability  string `yaml:"durability" doc:"whether late subscribers get the last message" enum:"volatile,transient_local" default:"volatile"`
	Depth       int    `yaml:"depth" doc:"keep-last depth" min:"1" max:"10000" default:"1"`
	// Deadline is the longest time between two messages.
	Deadline time.Duration `yaml:"deadline" doc:"longest time between two messages that is promised; 0 promises nothing" default:"0s"`
}

// QoS returns what is offered on the topic.
func (q Quality) QoS() flow.QoS {
	out := flow.QoS{Reliability: flow.BestEffort, Durability: flow.Volatile, History: flow.KeepLast, Depth: max(q.Depth, 1), Deadline: q.Deadline.Nanoseconds()}
	if q.Reliability == flow.Reliable.String() {
		out.Reliability = flow.Reliable
	}
	if q.Durability == flow.TransientLocal.String() {
		out.Durability = flow.TransientLocal
	}
	return out
}

// How the ego is steered where nothing is said: where pedals and steering wheel are taken,
// and how long a command holds.
const (
	defaultControl        = "/vehicle_control"
	defaultCommandTimeout = 500 * time.Millisecond
)

// Default returns the configuration of a run where nothing was said.
func Default() *Config {
	return &Config{
		Seed: 1, OpenRigBridges: true,
		Time: Time{Source: "engine", Scale: 1, Step: 10 * time.Millisecond, ClockRate: simtime.Hz(100)},
		Ego: Ego{
			Driver: DriverWaypoints, Speed: 8,
			Commands: Commands{
				Control: defaultControl, Ackermann: "/ackermann_cmd", Velocity: "/cmd_vel", Timeout: defaultCommandTimeout,
			},
		},
		Scene: Scene{Triangles: 100_000},
		World: World{Capacity: 256, CityModels: true, Ego: EgoOurs},
	}
}

// Reader reads configurations.
type Reader struct {
	// Lenient is the reader's of the rig file: see rig.Reader. It also makes the keys of
	// AWSIM's files that aren't known notices.
	Lenient bool
}

// maxSize is the size of the largest configuration, bytes.
const maxSize = 4 << 20

// Read reads a configuration file and the rig file it names, and makes every
// path in it absolute or relative to the working directory. See Parse for what comes with
// an error.
func (r Reader) Read(path string) (*Config, error) {
	data, err := fault.ReadUpTo(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	if len(data) > maxSize {
		return nil, ofKind(path, data, &doc.Error{File: path, Err: fmt.Errorf("%w: more than %d MiB", doc.ErrTooLarge, maxSize>>20)})
	}
	return r.Parse(path, data)
}

// Parse reads a configuration from its text; file names it in errors and is
// what paths are relative to. Errors are *doc.Error where they have a place. With an
// error comes what could be read, for callers that look for further faults; nil where the text
// isn't a configuration at all.
func (r Reader) Parse(file string, data []byte) (*Config, error) {
	c, err := r.decode(file, data)
	var faults doc.Faults
	if faults.Add(err); err != nil {
		if kind := ofKind(file, data, err); c == nil || !errors.Is(kind, err) {
			return nil, kind
		}
	}
	if c.Rig != "" && len(c.Sensors) > 0 {
		faults.Add(&doc.Error{File: file, Path: rigKey, Err: errors.New("give either rig or sensors, not both")})
	}
	faults.Add(c.validate(file))
	c.resolvePaths(filepath.Dir(file))
	c.Notices = slices.Clone(c.notices)
	c.nameCommands(file)
	if c.Rig != "" && len(c.Sensors) == 0 {
		carried, err := rig.Reader{Lenient: r.Lenient}.Read(c.Rig)
		if faults.Add(err); err == nil {
			c.Carry(carried)
		}
	}
	return c, faults.Err()
}

// decode reads what the file itself says.
func (r Reader) decode(file string, data []byte) (*Config, error) {
	n, err := doc.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	c := Default()
	c.lenient = r.Lenient
	return c, n.Decode(c)
}

// ofKind names a file that can't be read, by err, where it is known to be of another kind.
func ofKind(file string, data []byte, err error) error {
	kind := fault.KindOf(file, data)
	if kind == "" || kind == fault.YAML {
		return err
	}
	return &doc.Error{File: file, Err: fmt.Errorf("%w: it is %s: %s", doc.ErrType, kind,
		cmp.Or(kind.Taker(), "docs/config.md has the keys of a configuration"))}
}

// Carry makes the ego carry a rig, in place of the sensors that it had. The topic of commands
// that a former rig brought leaves with it; one that the file gives stays.
func (c *Config) Carry(r *rig.Rig) {
	c.Sensors, c.Drivers, c.RigBridges, c.Notices = r.Sensors, r.Drivers, r.Bridges, slices.Concat(c.notices, r.Notices)
	if c.carriedControl != "" && c.Ego.Commands.Control == c.carriedControl {
		c.Ego.Commands.Control = defaultControl
	}
	c.carriedControl = ""
	if r.ControlTopic != "" && c.Ego.Commands.Control == defaultControl {
		c.carriedControl = rig.TopicName(r.ControlTopic)
		c.Ego.Commands.Control = c.carriedControl
		c.Notices = append(c.Notices, r.ControlTopicNotice()...)
	}
}

// nameCommands replaces topics of commands that ROS forbids, by the rule of sensors' topics.
func (c *Config) nameCommands(file string) {
	for _, t := range []struct {
		key   string
		topic *string
	}{{"control", &c.Ego.Commands.Control}, {"ackermann", &c.Ego.Commands.Ackermann}, {"velocity", &c.Ego.Commands.Velocity}} {
		notice := rig.TopicNotice(file, "ego.commands."+t.key, *t.topic)
		c.notices = append(slices.Clip(c.notices), notice...)
		c.Notices = append(slices.Clip(c.Notices), notice...)
		*t.topic = rig.TopicName(*t.topic)
	}
}

// ChooseDriver lets the rig say who drives the ego, where the file gives neither ego.driver nor
// ego.waypoints. The window's keys drive if the rig has them and there is a window. Else
// commands from outside drive if the rig takes those.
func (c *Config) ChooseDriver(window bool) {
	switch {
	case c.driverGiven:
	case window && slices.Contains(c.Drivers, rig.DriverKeys):
		c.Ego.Driver = DriverKeys
	case slices.Contains(c.Drivers, rig.DriverExternal):
		c.Ego.Driver = DriverExternal
	}
}

// validate checks what no single key shows.
func (c *Config) validate(file string) error {
	var faults doc.Faults
	fail := func(path, format string, args ...any) {
		faults.Add(&doc.Error{File: file, Path: path, Err: fmt.Errorf(format, args...)})
	}
	if c.Scene.Labels != "" && len(c.Scene.LabelRules) > 0 {
		fail("scene.label_rules", "give either labels or label_rules, not both")
	}
	if file := c.Scene.File != ""; file && (c.Scene.City || c.Scene.Plane) || c.Scene.City && c.Scene.Plane {
		fail("scene", "give only one of city, plane and file")
	}
	if c.Scene.Offset != nil && !c.Scene.Plane {
		fail("scene.offset", "only a plane has an offset: give plane: true, or leave it out")
	}
	if c.Time.Step < 100*time.Microsecond || c.Time.Step > time.Second {
		fail("time.step", "%w: %v, the range is 100µs to 1s", doc.ErrRange, c.Time.Step)
	}
	if n := len(c.Ego.Waypoints); n == 1 || n == 2 {
		fail("ego.waypoints", "a loop needs at least 3 points, it has %d", n)
	}
	for _, g := range []struct {
		key  string
		list []Place
	}{{"scene.place", c.Scene.Place}, {"actors", c.Actors}} {
		for i := range g.list {
			if err := g.list[i].complete(); err != nil {
				fail(fmt.Sprintf("%s[%d]", g.key, i), "%w", err)
			}
		}
	}
	for i := range c.Bridges {
		if c.Bridges[i].Type == "" {
			fail(fmt.Sprintf("bridges[%d]", i), "a bridge needs a type")
		}
	}
	return faults.Err()
}

// complete checks a place and fills in its defaults.
func (p *Place) complete() error {
	if p.File == "" {
		return errors.New("it needs a file")
	}
	if n := len(p.Waypoints); n == 1 || n == 2 {
		return fmt.Errorf("waypoints: a loop needs at least 3 points, it has %d", n)
	}
	if p.Scale == 0 {
		p.Scale = 1
	}
	if p.Speed == 0 && len(p.Waypoints) > 0 {
		p.Speed = 5
	}
	return nil
}

// resolvePaths makes the file's relative paths relative to its folder.
func (c *Config) resolvePaths(dir string) {
	walk(reflect.ValueOf(c).Elem(), "", "", func(l leaf) {
		if p := l.value; l.isPath() && p.String() != "" && !filepath.IsAbs(p.String()) {
			p.SetString(filepath.Join(dir, p.String()))
		}
	})
}

// ParseBridge splits a bridge argument TYPE:CONNECTION at its first colon; the
// connection goes to the bridge unmodified.
func ParseBridge(argument string) (Bridge, error) {
	kind, connection, ok := strings.Cut(argument, ":")
	if !ok || kind == "" {
		return Bridge{}, fmt.Errorf("parse bridge %q: need TYPE:CONNECTION, such as mcap:recording", argument)
	}
	return Bridge{Type: kind, Connection: connection}, nil
}

// DecodeYAML reads the keys of a whole file, those of AWSIM included.
func (c *Config) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	var faults doc.Faults
	for _, e := range entries {
		if faults.Add(c.decodeKey(e, entries)) {
			break
		}
	}
	return faults.Err()
}

// decodeKey reads one of a file's entries.
func (c *Config) decodeKey(e doc.Entry, all []doc.Entry) error {
	if known, err := c.decodeAWSIM(e, all); known || err != nil {
		return err
	}
	if e.Key == "ego" {
		inner, _ := e.Value.Entries() // what is wrong there is told when it is decoded
		c.driverGiven = c.driverGiven || slices.ContainsFunc(inner, givesDriver)
	}
	if e.Key == "bridges" {
		c.bridgePlaces, _ = e.Value.Items() // what is wrong there is told when it is decoded
	}
	known, err := doc.DecodeKey(c, e)
	if !known {
		return c.unknownKey(e, all, doc.Keys(reflect.TypeFor[Config]()))
	}
	return err
}

// givesDriver reports whether one of the ego's entries says how it moves.
func givesDriver(e doc.Entry) bool { return e.Key == "driver" || e.Key == "waypoints" }

// InBridge returns an error of the bridge at an index with the place that it has in the file:
// file, line and column. The place is that of the bridge's key, or of the whole bridge where it
// doesn't have the key. An error of a bridge that isn't the file's, one that has a place, and
// nil stay as they are.
func (c *Config) InBridge(index int, key string, err error) error {
	var placed *doc.Error
	if err == nil || index >= len(c.bridgePlaces) || errors.As(err, &placed) {
		return err
	}
	entries, _ := c.bridgePlaces[index].Entries() // it was decoded
	for _, e := range entries {
		if e.Key == key {
			return e.Value.Errorf("%w", err)
		}
	}
	return c.bridgePlaces[index].Errorf("%w", fmt.Errorf("%s: %w", key, err))
}
