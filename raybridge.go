// Package raybridge opens a simulation with one call: a scene, a vehicle that carries
// sensors, and bridges to those who receive their data. The raybridge program stands on
// it, and so do programs of your own:
//
//	sim, err := raybridge.Open(ctx, raybridge.Config{})
//	front, err := sim.Add(camera.RGB{Width: 1280, Height: 720}, "front", raybridge.At(1.5, 0, 1.4))
//	stop, err := raybridge.Listen(front, func(m *sample.Image) { ... })
//	err = sim.Run(ctx, 10*time.Second)
//	err = sim.Close(ctx)
//
// A Sim is a pipeline.Pipeline. That package says who may call what when, in which order
// data comes, and what fails how.
//
// The package builds without cgo, too. Without it Open finds no OpenGL, and its error says
// what is missing.
package raybridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Config says what Open makes. Its zero value is the procedural city and a vehicle that
// follows the city's route, stepped as fast as the machine goes.
type Config struct {
	// Run is what a run's file says: scene, clock, vehicle, sensors and bridges. A
	// config.Reader reads one. Nil is config.Default().
	Run *config.Config
	// Scene is what the sensors see, in place of Run's. It must not be changed afterwards.
	Scene *scene.Scene
	// Realtime follows the host's clock.
	Realtime bool
	// GPU is the name of the device, as Device takes it, and Host how the host device computes.
	GPU  string
	Host hostdev.Options
	// Open opens the OpenGL context, in place of that of GPU. (optional)
	Open gpu.Opener
	// DeviceTimeout is how long the device may take for a capture, as pipeline.Config has it.
	DeviceTimeout time.Duration
	// Memory is what files, the scene and the GPU's objects are taken from. (optional; nil
	// for no limit)
	Memory *memory.Budget
	// Sensors and Bridges are your own types, beside the built-in ones.
	Sensors []*sensors.Definition
	Bridges []bridges.Factory
	// TimeSources are your own sources of time, as pipeline.Config has them; Run's
	// time.source names one.
	TimeSources map[string]func() simtime.Source
	// OutDir is where bridges put files with relative names, "" for the working directory.
	OutDir string
	// About is what recordings and the summary say of the run. Open fills in the scene and the
	// seed, and where it is empty the version.
	About bridges.Run
	// Log receives warnings; nil discards them.
	Log *slog.Logger
	// OnProgress is called by the frame loop now and then. (optional)
	OnProgress func(pipeline.Progress)
}

// Sim is an open simulation. Run or Step it, and Close it in the end.
type Sim struct {
	*pipeline.Pipeline
}

// Sensor is one sensor of a Sim.
type Sensor = pipeline.Sensor

// ConfigError says that a simulation can't be opened as it is configured. Its text is
// Err's.
type ConfigError struct {
	// Key is the key of the run's file that has the fault: scene, ego, sensors or bridges.
	Key string
	Err error
}

// Error returns the text of Err.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// Open makes the scene, opens OpenGL, and adds the sensors and bridges of the
// configuration, with a sensor that publishes the rig's frames on /tf. An error is a
// *ConfigError where the configuration is at fault, and wraps gpu.ErrNotSupported where
// the machine has no usable OpenGL.
func Open(ctx context.Context, c Config) (*Sim, error) {
	own, err := c.pipeline()
	if err != nil {
		return nil, err
	}
	run := c.Run
	if run == nil {
		run = config.Default()
	}
	if own.Scene == nil {
		var warnings []string
		done := flow.TellLong(own.Log, "making "+about(&run.Scene))
		own.Scene, warnings, err = SceneOf(ctx, run, c.Memory)
		done()
		if err != nil {
			return nil, &ConfigError{"scene", err}
		}
		for _, w := range warnings {
			own.Log.Warn(w)
		}
	}
	var astray string
	if own.Ego, astray, err = EgoOf(run, own.Scene); err != nil {
		return nil, &ConfigError{"ego", err}
	}
	if astray != "" {
		own.Log.Warn(astray)
	}
	own.Step, own.ClockRate, own.TimeSource, own.Scale = run.Time.Step, run.Time.ClockRate, run.Time.Source, run.Time.Scale
	own.Seed, own.Capacity = run.Seed, run.World.Capacity
	own.Run.Version = cmp.Or(own.Run.Version, Version())
	own.Run.Scene, own.Run.Seed = own.Scene.Name, run.Seed
	own.InstanceCodes = slices.ContainsFunc(run.Bridges, func(b config.Bridge) bool { return b.Type == "carla" })
	p, err := pipeline.New(ctx, own)
	if err != nil {
		return nil, err
	}
	s := &Sim{p}
	if err := s.connect(ctx, run); err != nil {
		return nil, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// pipeline returns what the configuration says beside its run.
func (c *Config) pipeline() (p pipeline.Config, err error) {
	p = pipeline.Config{
		Scene: c.Scene, Open: c.Open, DeviceTimeout: c.DeviceTimeout, Memory: c.Memory, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(),
		TimeSources: c.TimeSources, OutDir: c.OutDir, Run: c.About, Log: c.Log, OnProgress: c.OnProgress,
	}
	if c.Realtime {
		p.Mode = pipeline.Realtime
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Open == nil {
		if p.Open, err = c.device(p.Log); err != nil {
			return p, fmt.Errorf("choose the GPU %w", err)
		}
	}
	if c.Sensors != nil {
		if p.Sensors, err = sensors.NewRegistry(slices.Concat(sensorsall.Definitions(), c.Sensors)...); err != nil {
			return p, err
		}
	}
	if c.Bridges != nil {
		if p.Bridges, err = bridges.NewRegistry(slices.Concat(bridgesall.Factories(), c.Bridges)...); err != nil {
			return p, err
		}
	}
	p.CacheDir, _ = scene.CacheDir() // without one, the scene is built and not kept
	return p, nil
}

// device is what opens the device. A sensor with a shader of its own leaves out the host device.
func (c *Config) device(log *slog.Logger) (gpu.Opener, error) {
	at := slices.IndexFunc(c.Sensors, func(d *sensors.Definition) bool { return d.OpenGL })
	if at >= 0 && (c.GPU == "" || c.GPU == "auto") {
		log.Info("a sensor type has a shader of its own, so that OpenGL computes", "type", c.Sensors[at].ID)
		return eglctx.Open(eglctx.Options{}), nil
	}
	return Device(c.GPU, c.Host)
}

// Device returns what opens a device by its name. A number is that of a GPU that `raybridge gpu` lists. It is
// host for the host device, which needs no OpenGL, and software for OpenGL on the CPU. Auto or "" is the
// first GPU that works, else the host device, else software. The options are the host device's.
func Device(name string, host hostdev.Options) (gpu.Opener, error) {
	switch name {
	case "", "auto", gpu.HostDevice:
		if isas := hostdev.ISAs(); host.ISA != "" && host.ISA != "auto" && len(isas) > 0 && !slices.Contains(isas, host.ISA) {
			return nil, fmt.Errorf("host: instruction set %q: %s", host.ISA, fault.Want(host.ISA, append([]string{"auto"}, isas...)...))
		}
		if host.Threads < 0 {
			return nil, fmt.Errorf("host: %d threads: take 1 or more, or 0 for one each core", host.Threads)
		}
		if host.CacheDir == "" {
			host.CacheDir, _ = scene.CacheDir() // without one, each process measures
		}
		if name == gpu.HostDevice {
			return hostdev.Open(host), nil
		}
		return func() (*gpu.Context, error) { return openBest(host) }, nil
	case "software":
	default:
		if n, err := strconv.Atoi(name); err != nil || n < 0 {
			return nil, fmt.Errorf("%q isn't a number that raybridge gpu lists: %s", name, fault.Want(name, "auto", "software", "host"))
		}
	}
	host.CacheDir = "" // a GPU has no use for it
	if host != (hostdev.Options{}) {
		return nil, fmt.Errorf("%q: the instruction set and the threads are the host device's: take host", name)
	}
	return eglctx.Open(eglctx.Options{Device: name}), nil
}

// openBest opens a GPU, else the host device, else OpenGL on the CPU.
func openBest(host hostdev.Options) (*gpu.Context, error) {
	c, gpuErr := eglctx.Open(eglctx.Options{Device: "hardware"})()
	if gpuErr == nil {
		return c, nil
	}
	c, hostErr := hostdev.Open(host)()
	if hostErr == nil {
		if d, ok := c.Driver.(interface{ AddMissing(string) }); ok {
			d.AddMissing("GPU: no hardware device could be opened, the host device computes on the CPU")
		}
		return c, nil
	}
	c, err := eglctx.Open(eglctx.Options{})()
	if err != nil {
		return nil, errors.Join(err, hostErr)
	}
	return c, nil
}

// connect adds the sensors and bridges of a run.
func (s *Sim) connect(ctx context.Context, run *config.Config) error {
	if _, err := s.AddRig(&rig.Rig{Sensors: run.Sensors}); err != nil {
		return &ConfigError{"sensors", err}
	}
	if err := errors.Join(s.AddTransforms(), s.AddCommands(commands(run))); err != nil {
		return &ConfigError{"sensors", err}
	}
	added := AddsSnapshot(run)
	if added {
		if err := s.AddSnapshot(); err != nil {
			return &ConfigError{"sensors", err}
		}
	}
	for _, b := range run.Bridges {
		c := pipeline.BridgeConfig{Spec: b.Type + ":" + b.Connection, Policy: b.Policy, QoS: map[string]flow.QoS{}}
		for _, q := range b.QoS {
			c.QoS[q.Topic] = q.QoS()
		}
		if added && !worldBridges[b.Type] && b.Type != "logging" { // it is large, and was added for others
			c.Without = []string{"/snapshot"}
		}
		if err := s.AddBridge(ctx, c); err != nil {
			return &ConfigError{"bridges", err}
		}
	}
	return nil
}

// worldBridges are the types of bridges whose receivers look for the world's state, too.
var worldBridges = map[string]bool{"stream": true, "carla": true}

// AddsSnapshot reports whether a run has the world's state on /snapshot, though no sensor of its
// rig publishes it: a bridge's receivers look for it.
func AddsSnapshot(run *config.Config) bool {
	return slices.ContainsFunc(run.Bridges, func(b config.Bridge) bool { return worldBridges[b.Type] }) &&
		!slices.ContainsFunc(run.Sensors, func(c sensors.Config) bool { return c.ID == "sensor.other.snapshot" })
}

// At is a place in the frame of what carries a sensor: metres forward, to the left and up.
// The pose's angles are 0; they are degrees.
func At(x, y, z float64) sensors.Pose { return sensors.Pose{X: x, Y: y, Z: z} }

// Add adds a sensor to the vehicle. Options is a struct of the sensor's package, such as
// camera.RGB or lidar.RayCast; what is zero in it has its default. The rate is the type's
// default. AddSensor sets everything else.
//
// Any goroutine may call it up to Close, also during a run: see pipeline.Pipeline.AddSensor.
// Errors wrap sensors.ErrUnknownSensor or sensors.ErrValue.
func (s *Sim) Add(options any, name string, at sensors.Pose) (*Sensor, error) {
	return s.AddSensor(sensors.Config{Options: options, Name: name, Pose: at})
}

// Listen calls call with every message of the sensor's output that has messages of type M,
// until stop is called. The message belongs to the simulation: it may be read until call
// returns, and must not be changed. Otherwise it is pipeline.Listen, which takes an
// output's name where several have that type.
func Listen[M any](s *Sensor, call func(message M)) (stop func(), err error) {
	var outputs []string
	for _, out := range s.Outputs() {
		if out.Type == reflect.TypeFor[M]() {
			outputs = append(outputs, out.Name)
		}
	}
	if len(outputs) > 1 {
		return nil, fmt.Errorf("listen to %s as %v: %w: outputs %s have that type, name one with pipeline.Listen",
			s.Name(), reflect.TypeFor[M](), pipeline.ErrOutput, strings.Join(outputs, ", "))
	}
	return pipeline.Listen(s, strings.Join(outputs, ""), func(_ sensors.Tick, message M) { call(message) })
}

// WritePNG writes an image to a file as people see it: depth, ids, normals and optical
// flow in colours.
func WritePNG(file string, m *sample.Image) error {
	kind, err := picture.KindOf(m, false)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return errors.Join(png.Encode(f, kind.Paint(nil, m)), f.Close())
}

// SceneOf makes the scene that a run's file describes: the city, the plane or glTF files, with the
// actors that were placed in it. The ego's waypoints are its route. The content of files is
// taken from a budget, nil for no limit. Warnings are what loaders left out, for the user.
func SceneOf(ctx context.Context, c *config.Config, budget *memory.Budget) (s *scene.Scene, warnings []string, err error) {
	if s, err = base(c, budget); err != nil {
		return nil, nil, err
	}
	places := append(append([]config.Place(nil), c.Scene.Place...), c.Actors...)
	if c.Scene.File != "" {
		places = append([]config.Place{{File: c.Scene.File, Scale: 1}}, places...)
	}
	builder := composer{scene: s, memory: budget, assets: map[assetKey]*scene.Asset{}}
	if builder.labels, err = rules(&c.Scene); err != nil {
		return nil, nil, err
	}
	for i := range places {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := builder.place(ctx, &places[i]); err != nil {
			return nil, nil, err
		}
	}
	if err := builder.furnish(ctx, c); err != nil {
		return nil, nil, err
	}
	if zone := c.Scene.Projection; zone != (spatial.UTMZone{}) {
		s.Map = spatial.GridMap(zone)
	}
	if o := c.Scene.Origin; o != nil {
		s.Map = s.Map.At(spatial.Geodetic{Latitude: o.Latitude, Longitude: o.Longitude, Altitude: o.Altitude})
	}
	if route, err := loop(c.Ego.Waypoints, c.Ego.Speed, nil); err == nil { // without any, or with bad ones, which EgoOf names, it keeps its own
		s.Route, s.Ego = route, route.PoseAt(0)
	}
	return s, builder.warnings, nil
}

// about names a scene for people.
func about(c *config.Scene) string {
	switch {
	case c.Plane:
		return "the plane"
	case c.File != "":
		return "the scene of " + c.File
	case len(c.Place) > 0 && !c.City:
		return "the scene of placed files"
	}
	return "the city"
}

// rules are the labels that the configuration names or holds, nil for neither.
func rules(c *config.Scene) (*gltf.Rules, error) {
	if c.Labels != "" {
		return gltf.LoadRules(c.Labels)
	}
	if len(c.LabelRules) == 0 {
		return nil, nil
	}
	var own gltf.RulesConfig
	for _, r := range c.LabelRules {
		own.Rules = append(own.Rules, gltf.Rule{Match: r.Match, Tag: r.Tag, Actor: r.Actor})
	}
	list, err := gltf.NewRules(own)
	if err != nil {
		return nil, fmt.Errorf("scene.label_rules: %w", err)
	}
	return list, nil
}

// base is the city, the plane, or an empty scene for files. A city whose world would be refused
// isn't made. At least three quarters of its triangles stand.
func base(c *config.Config, budget *memory.Budget) (*scene.Scene, error) {
	if c.Scene.Plane {
		var middle mgl64.Vec3
		if c.Scene.Offset != nil {
			middle = c.Scene.Offset.Vec3()
		}
		return scene.Plane(middle), nil
	}
	if c.Scene.File != "" {
		return scene.New(filepath.Base(c.Scene.File)), nil
	}
	if len(c.Scene.Place) > 0 && !c.Scene.City {
		return scene.New("composed"), nil
	}
	seed := c.Scene.Seed
	if seed == 0 {
		seed = c.Seed
	}
	o := city.Options{Seed: seed, Triangles: c.Scene.Triangles, Slots: 2 * c.World.Capacity}
	if !c.World.CityModels {
		o.Slots = -1
	}
	if !c.World.HasTraffic() {
		o.Cars, o.Walkers = -1, -1
	}
	needs := scene.BuildMemory(int64(o.Triangles) * 3 / 4)
	if err := budget.Take(fmt.Sprintf("a city of %d triangles", o.Triangles), needs); err != nil {
		return nil, err
	}
	budget.Give(needs)
	return city.Generate(o)
}

// furnish gives a scene what actors from outside look like, where there may be any. As many can come while the
// others leave.
func (c *composer) furnish(ctx context.Context, run *config.Config) error {
	s := c.scene
	if len(s.Actors) == 0 && run.World.Source == "" && len(run.World.Models) == 0 {
		return fmt.Errorf("scene %s: %w: its files have no mesh in their scene", s.Name, scene.ErrEmptyScene)
	}
	if run.World.Capacity == 0 {
		return nil
	}
	if run.World.CityModels && len(s.Models) == 0 { // the city has them already
		city.Furnish(s, run.Seed)
	}
	s.Slots = 2 * run.World.Capacity
	s.AddBox()
	for _, file := range run.World.Models {
		asset, err := c.load(ctx, file, 1)
		if err != nil {
			return fmt.Errorf("world.models: %w", err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if s.Model(name) != nil {
			return fmt.Errorf("world.models: %s: the scene has a model %s already: rename the file", file, name)
		}
		slots := s.Slots
		if _, err := s.Add(asset, scene.Placement{Name: name, TypeID: name, Reserved: true}); err != nil {
			return fmt.Errorf("world.models: %s: %w", file, err)
		}
		s.Slots = slots
	}
	return nil
}

// composer places files in one scene; a file that is placed again is read once.
type composer struct {
	scene    *scene.Scene
	memory   *memory.Budget
	labels   *gltf.Rules // nil for those beside each file, or the built-in ones
	assets   map[assetKey]*scene.Asset
	warnings []string
}

type assetKey struct {
	file  string
	scale float64
}

// find says of a model's file that isn't there what may be meant.
func find(file string) error {
	_, err := os.Stat(file)
	if closest := fault.Closest(file, []string{config.SceneCity, config.ScenePlane}); closest != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no such file, did you mean %s?", file, closest)
	}
	if errors.Is(err, fs.ErrNotExist) && filepath.Ext(file) == "" {
		return fmt.Errorf("%w: a scene is city, plane, or a .gltf or .glb file", fault.File(err))
	}
	return fault.File(err)
}

// load reads a file.
func (c *composer) load(ctx context.Context, file string, scale float64) (*scene.Asset, error) {
	key := assetKey{file, scale}
	if a := c.assets[key]; a != nil {
		return a, nil
	}
	if err := find(file); err != nil {
		return nil, err
	}
	asset, err := gltf.Load(ctx, file, gltf.Options{Scale: scale, Labels: c.labels, Memory: c.memory})
	if err != nil {
		return nil, err
	}
	for _, w := range asset.Warnings {
		c.warnings = append(c.warnings, file+": "+w)
	}
	c.assets[key] = asset
	return asset, nil
}

// place puts one file into the scene.
func (c *composer) place(ctx context.Context, p *config.Place) error {
	asset, err := c.load(ctx, p.File, p.Scale)
	if err != nil {
		return err
	}
	placement := scene.Placement{Name: p.Name, TypeID: p.Type, Pose: p.Pose.Spatial()}
	if placement.Name == "" {
		placement.Name = strings.TrimSuffix(filepath.Base(p.File), filepath.Ext(p.File))
	}
	var tag scene.Tag
	if p.Tag != "" {
		if tag, err = scene.ParseTag(p.Tag); err != nil {
			return fmt.Errorf("place %s: %w", p.File, err)
		}
	}
	if len(p.Waypoints) > 0 {
		var at *sensors.Pose
		if p.Pose != (sensors.Pose{}) {
			at = &p.Pose
		}
		if placement.Motion, err = loop(p.Waypoints, p.Speed, at); err != nil {
			return fmt.Errorf("place %s: %w", p.File, err)
		}
		if beside := beside(placement.Motion, at); beside != "" {
			c.warnings = append(c.warnings, p.File+": pose: "+beside)
		}
	}
	actors, err := c.scene.Add(asset, placement)
	if err != nil {
		return fmt.Errorf("place %s: %w", p.File, err)
	}
	if p.Tag == "" {
		return nil
	}
	for _, a := range actors {
		for i := range a.Parts {
			a.Parts[i].Tag = tag
		}
	}
	return nil
}

// loop is a closed loop through waypoints at a speed, m/s. It begins at its place that is nearest to
// a pose, nil for its first waypoint.
func loop(points []config.Waypoint, speed float64, at *sensors.Pose) (scene.Motion, error) {
	list := make([]mgl64.Vec3, len(points))
	for i, p := range points {
		list[i] = p.Vec3()
	}
	route, err := scene.NewWaypointLoop(list, speed)
	if err != nil || at == nil {
		return route, err
	}
	return scene.NewWaypointLoopWith(list, speed, scene.LoopOptions{Start: route.Nearest(at.Spatial(), 0)})
}

// A start so near to a pose, metres, and so little turned away from it, degrees, is there:
// corners are rounded.
const (
	usualAside = 3
	usualTurn  = 10
)

// beside says that a loop begins elsewhere than at the pose that was given with its waypoints, "" where
// it doesn't, or for no pose. A pose without angles gives none.
func beside(loop scene.Motion, at *sensors.Pose) string {
	if at == nil {
		return ""
	}
	want, begins := at.Spatial(), loop.PoseAt(0)
	aside := want.Position.Sub(begins.Position).Len()
	turned := mgl64.RadToDeg(2 * math.Acos(min(math.Abs(want.Orientation.Dot(begins.Orientation)), 1)))
	var how string
	switch {
	case aside > usualAside:
		how = fault.Number(aside, 4) + " m beside"
	case turned > usualTurn && (at.Roll != 0 || at.Pitch != 0 || at.Yaw != 0):
		how = fmt.Sprintf("turned by %.4g degrees from", turned)
	default:
		return ""
	}
	_, _, yaw := begins.RPY()
	return fmt.Sprintf("it is %s the waypoints, and the start is at %s m, yaw %.4g", how, fault.Place(begins.Position), yaw)
}

// EgoOf makes the motion of the vehicle that carries the sensors: nil stands where the scene
// puts it, a *scene.Driven is steered by somebody else. The warning says that the vehicle begins
// elsewhere than its pose says, since that is beside the waypoints. Or it begins outside of the scene,
// where its sensors see little of it. It is "" otherwise. An error says that a sensor tells where on
// the earth it is, and the vehicle begins where the map isn't.
func EgoOf(c *config.Config, s *scene.Scene) (ego scene.Motion, warning string, err error) {
	if ego, err = motion(c, s); err != nil {
		return nil, "", err
	}
	at := s.Ego.Position
	if ego != nil {
		at = ego.PoseAt(0).Position
	}
	for i := range c.Sensors {
		if err := c.Sensors[i].Reaches(sensorsall.Registry(), s.Map, at); err != nil && c.World.Ego != config.EgoTheirs {
			return nil, "", err
		}
	}
	if warning = astray(s, at); c.Ego.Driver == config.DriverWaypoints && len(c.Ego.Waypoints) > 0 {
		if beside := beside(ego, c.Ego.Pose); beside != "" {
			warning = strings.Trim("ego.pose: "+beside+"; "+warning, "; ")
		}
	}
	return ego, warning, nil
}

func motion(c *config.Config, s *scene.Scene) (scene.Motion, error) {
	route, start := s.Route, s.Ego
	if len(c.Ego.Waypoints) > 0 {
		var err error
		if route, err = loop(c.Ego.Waypoints, c.Ego.Speed, c.Ego.Pose); err != nil {
			return nil, err
		}
	}
	if c.Ego.Pose != nil {
		start = c.Ego.Pose.Spatial()
	}
	switch {
	case c.Ego.Driver != config.DriverWaypoints:
		return scene.NewDriven(start, scene.Vehicle{CommandTimeout: commandTimeout(c)})
	case len(c.Ego.Waypoints) == 0 && c.Ego.Pose != nil:
		return standing{start}, nil
	default:
		return route, nil
	}
}

// How far beyond the scene's bounds an ego usually begins at most, metres: above it
// there may be drones.
const (
	usualMargin = 1
	usualHeight = 100
)

// astray is EgoOf's warning.
func astray(s *scene.Scene, at mgl64.Vec3) string {
	stats := s.Stats()
	low := stats.Min.Sub(mgl64.Vec3{usualMargin, usualMargin, usualMargin})
	high := stats.Max.Add(mgl64.Vec3{usualMargin, usualMargin, usualHeight})
	if stats.Instances == 0 {
		return ""
	}
	for i := range at {
		if at[i] < low[i] || at[i] > high[i] {
			return fmt.Sprintf("the vehicle begins at %s m, outside of the scene, %s to %s: see ego.pose and ego.waypoints",
				fault.Place(at), fault.Place(stats.Min), fault.Place(stats.Max))
		}
	}
	return ""
}

// commandTimeout is a scene.Vehicle's: keys are read as long as there is a window.
func commandTimeout(c *config.Config) time.Duration {
	switch {
	case c.Ego.Driver != config.DriverExternal:
		return scene.DefaultCommandTimeout
	case c.Ego.Commands.Timeout == 0:
		return -1
	default:
		return c.Ego.Commands.Timeout
	}
}

// commands returns the topics that steer the ego: none where somebody else does.
func commands(c *config.Config) pipeline.Commands {
	if c.Ego.Driver != config.DriverExternal {
		return pipeline.Commands{}
	}
	from := c.Ego.Commands
	return pipeline.Commands{Control: from.Control, Ackermann: from.Ackermann, Velocity: from.Velocity}
}

// standing is the motion of an ego that stays where it was put.
type standing struct{ pose spatial.Pose }

// PoseAt returns the same pose at any time.
func (s standing) PoseAt(simtime.Stamp) spatial.Pose { return s.pose }
