package rig

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// carlaReader reads the objects of CARLA's ROS bridge, and the vehicle of CARLA's own ROS 2.
type carlaReader struct {
	*foreignReader
	vehicle string          // the ego's id
	stack   bool            // the file is one of CARLA's own ROS 2
	tf      bool            // there is a sensor that publishes the frames
	seen    map[string]bool // parent, type and id
}

// carlaParent is what a sensor is attached to.
type carlaParent struct {
	path  string       // "ego_vehicle", "ego_vehicle/lidar"; "" for the world
	frame string       // of ours
	at    sensors.Pose // in frame: where something stands that has no frame of its own
}

// place returns the mounting pose in the parent's frame of what stands at a pose on it.
func (p carlaParent) place(pose sensors.Pose) sensors.Pose {
	if p.at == (sensors.Pose{}) {
		return pose
	}
	return poseOf(p.at.Spatial().Compose(pose.Spatial()))
}

// readCARLA reads the sensors of one vehicle of objects.json, and lists what else
// there is. The vehicle's origin is taken for base_link. Files older than that are one vehicle's sensors.
// The stack.json of CARLA's own ROS 2 is one vehicle.
func readCARLA(root doc.JSONNode, objects []doc.JSONNode, f *foreignReader) (*Rig, error) {
	r := &carlaReader{foreignReader: f, seen: map[string]bool{}}
	vehicle := root
	var err error
	switch {
	case isVehicle(root):
		err = r.readStack(root)
	case root.Get("objects").Null():
		err = r.readOlder(root, objects)
	default:
		vehicle, err = r.readObjects(root, objects)
	}
	if err != nil {
		return nil, err
	}
	if r.vehicle != "" && !r.tf {
		r.addFrames(vehicle)
	}
	return r.rig, nil
}

// readObjects reads objects.json, and returns the vehicle that carries the sensors.
func (r *carlaReader) readObjects(root doc.JSONNode, objects []doc.JSONNode) (vehicle doc.JSONNode, err error) {
	if _, err := r.entries(root, []string{"objects"}); err != nil {
		return vehicle, err
	}
	ego, err := findVehicle(objects)
	if err != nil {
		return vehicle, err
	}
	if ego >= 0 {
		vehicle = objects[ego]
		if r.vehicle, err = needed(vehicle, "id"); err != nil {
			return vehicle, err
		}
	}
	for i, n := range objects {
		kind, err := needed(n, "type")
		if err != nil {
			return vehicle, err
		}
		switch {
		case i == ego:
			err = r.readVehicle(n)
		case isVehicle(n):
			r.lose(n, "%s: a rig has one vehicle, %s; others are actors of the scene", kind, r.vehicle)
		default:
			err = r.readSensor(n, carlaParent{})
		}
		if err != nil {
			return vehicle, err
		}
	}
	return vehicle, nil
}

// olderVehicle is the role of the vehicle that carries the sensors of an older file.
const olderVehicle = "ego_vehicle"

// readOlder reads the file of carla_ego_vehicle, which has a list of sensors in place of
// objects.
func (r *carlaReader) readOlder(root doc.JSONNode, list []doc.JSONNode) error {
	r.vehicle = olderVehicle
	if _, err := r.entries(root, []string{"sensors"}); err != nil {
		return err
	}
	return r.readAttached(list, carlaParent{path: r.vehicle, frame: spatial.FrameBaseLink})
}

// readStack reads a file of CARLA's own ROS 2, as its example ros2_native.py takes it: the vehicle
// that carries the sensors. Their ids are the names of topics and frames.
func (r *carlaReader) readStack(vehicle doc.JSONNode) (err error) {
	r.stack = true
	if r.vehicle, err = needed(vehicle, "id"); err != nil {
		return err
	}
	return r.readVehicle(vehicle)
}

// addFrames adds the sensor that publishes the frames, which every run has, under the
// vehicle's name.
func (r *carlaReader) addFrames(vehicle doc.JSONNode) {
	e := sensors.Config{ID: transformID, Name: r.name("tf")}
	e.PlaceAt("", vehicle)
	r.comment(&e, "what every run has")
	r.inVehicle(&e, "base_frame", vehicle)
	r.rig.Sensors = append(r.rig.Sensors, e)
}

// isVehicle tells by its type what can carry sensors.
func isVehicle(n doc.JSONNode) bool {
	kind, err := n.Get("type").Text()
	return err == nil && (strings.HasPrefix(kind, "vehicle.") || strings.HasPrefix(kind, "walker."))
}

// findVehicle returns the index of the vehicle that is taken for the ego. It is found by its id
// or role, or is the first with sensors, or the first; -1 where there is none.
func findVehicle(objects []doc.JSONNode) (int, error) {
	best, score := -1, 0
	for i, n := range objects {
		if !n.IsObject() {
			return -1, n.Errorf("%w: need an object with a type and an id", doc.ErrType)
		}
		if !isVehicle(n) {
			continue
		}
		points := 1
		if items, err := n.Get("sensors").Items(); err == nil && len(items) > 0 {
			points++
		}
		for _, at := range []doc.JSONNode{n.Get("id"), n.Get("role_name"), n.Get("attributes").Get("role_name")} {
			if name, _ := at.Text(); name == "ego_vehicle" || name == "hero" {
				points += 2
			}
		}
		if points > score {
			best, score = i, points
		}
	}
	return best, nil
}

// vehicleKeys are the keys of a vehicle.
var vehicleKeys = []string{"type", "id", "role_name", "spawn_point", "color", "attributes", "sensors"}

func (r *carlaReader) readVehicle(n doc.JSONNode) error {
	if _, err := r.entries(n, vehicleKeys); err != nil {
		return err
	}
	if at := n.Get("spawn_point"); !at.Null() {
		r.lose(at, "where the vehicle starts is the configuration's ego.pose")
	}
	items, err := n.Get("sensors").Items()
	if err != nil {
		return err
	}
	return r.readAttached(items, carlaParent{path: r.vehicle, frame: spatial.FrameBaseLink})
}

func (r *carlaReader) readAttached(items []doc.JSONNode, parent carlaParent) error {
	for _, item := range items {
		if err := r.readSensor(item, parent); err != nil {
			return err
		}
	}
	return nil
}

// carlaKeys are the keys of a sensor that are no attributes of it.
var carlaKeys = []string{"type", "id", "spawn_point", "attached_objects", "attributes", "frame_id"}

// readSensor reads a sensor and what is attached to it.
func (r *carlaReader) readSensor(n doc.JSONNode, parent carlaParent) error {
	kind, id, err := r.typeAndID(n, parent)
	if err != nil {
		return err
	}
	attributes, pose, err := r.attributes(n)
	if err != nil {
		return err
	}
	attached, err := n.Get("attached_objects").Items()
	if err != nil {
		return err
	}
	pose = parent.place(pose)
	self := carlaParent{path: strings.TrimPrefix(parent.path+"/"+id, "/"), frame: parent.frame, at: pose}
	if kind == nil {
		return r.readAttached(attached, self)
	}
	c, err := r.convert(kind, n, attributes)
	if err != nil {
		return err
	}
	if why := r.without(kind, parent); why != "" {
		r.lose(n, "%s %q: %s", kind.Names[0], id, why)
		return r.readAttached(attached, self)
	}
	e := c.entry
	e.Name = r.carlaName(id, parent)
	r.comment(e, fmt.Sprintf("%s %q", kind.Names[0], id))
	e.Pose, e.Parent = pose, parent.frame
	if e.Parent == spatial.FrameBaseLink {
		e.Parent = ""
	}
	r.nameTopics(c, "/carla/"+self.path)
	if err := r.nameFrame(e, self.path, n); err != nil {
		return err
	}
	if own := frameName(e); own != spatial.FrameBaseLink {
		self.frame, self.at = own, sensors.Pose{}
	}
	r.rig.Sensors = append(r.rig.Sensors, *e)
	return r.readAttached(attached, self)
}

// typeAndID reads a sensor's; a nil type is an unknown one that is put up with.
func (r *carlaReader) typeAndID(n doc.JSONNode, parent carlaParent) (*ForeignType, string, error) {
	if !n.IsObject() {
		return nil, "", n.Errorf("%w: need an object with a type and an id", doc.ErrType)
	}
	name, err := needed(n, "type")
	if err != nil {
		return nil, "", err
	}
	kind := carlaDialect().find(name, strings.ToLower)
	if kind == nil {
		err := n.Get("type").Errorf("%w: CARLA has no sensor %q, %s", doc.ErrValue, name, fault.Hint(name, carlaDialect().names()))
		if err := r.fault(err); err != nil {
			return nil, "", err
		}
	}
	id, err := needed(n, "id")
	if err != nil {
		return nil, "", err
	}
	key := parent.path + " " + name + " " + id
	if r.seen[key] {
		return nil, "", n.Get("id").Errorf("%w: two sensors of type %s are named %q", ErrName, name, id)
	}
	r.seen[key] = true
	return kind, id, nil
}

// attributes tells a sensor's attributes from its other keys, and reads its pose. They
// stand beside the other keys, or in an object of their own.
func (r *carlaReader) attributes(n doc.JSONNode) (list []doc.JSONEntry, pose sensors.Pose, err error) {
	entries, err := n.Entries()
	if err != nil {
		return nil, sensors.Pose{}, err
	}
	old := false // the form that has a pose's components beside the other keys
	for _, e := range entries {
		switch {
		case slices.Contains(poseKeys, e.Key):
			old = true
		case !slices.Contains(carlaKeys, e.Key):
			list = append(list, e)
		}
	}
	more, err := n.Get("attributes").Entries()
	if err != nil {
		return nil, sensors.Pose{}, err
	}
	list = append(list, more...)
	at := n.Get("spawn_point")
	switch {
	case old && !at.Null():
		return nil, sensors.Pose{}, at.Errorf("%w: the sensor has a pose beside spawn_point too: leave one out", doc.ErrValue)
	case old:
		pose, err = r.oldPose(entries)
		return list, pose, err
	default:
		v, err := r.pose(at)
		return list, sensors.Pose{X: v["x"], Y: v["y"], Z: v["z"], Roll: v["roll"], Pitch: v["pitch"], Yaw: v["yaw"]}, err
	}
}

// oldPose reads the pose as files older than carla_spawn_objects have it: in CARLA's
// own axes, which are Unreal Engine's. A spawn_point is in ROS's axes: carla_spawn_objects makes a ROS pose of it,
// which the bridge turns into CARLA's (ros-bridge pull request 423).
func (r *carlaReader) oldPose(entries []doc.JSONEntry) (sensors.Pose, error) {
	v, err := components(entries, func(doc.JSONEntry) error { return nil })
	return mirrored(v, spatial.UnrealAxes, spatial.UnrealAngles), err
}

// without says why a sensor becomes nothing, "" where it becomes something.
func (r *carlaReader) without(kind *ForeignType, parent carlaParent) string {
	world := parent.path == ""
	pseudo := strings.Contains(kind.Names[0], ".pseudo.")
	switch {
	case kind.ID == "":
		return kind.Without
	case world && kind.ID == "sensor.ground_truth.boxes_3d":
		return "" // what is around the vehicle, under the world's topic
	case world && pseudo:
		return "it isn't attached to a vehicle: move it under the vehicle's sensors"
	case world:
		return "it stands in the world, and a rig's sensors ride on the vehicle"
	case kind.ID == transformID && r.tf:
		return "another one publishes the frames already"
	}
	r.tf = r.tf || kind.ID == transformID
	return ""
}

// carlaName is the sensor's id, with that of what it is attached to where two have one.
func (r *carlaReader) carlaName(id string, parent carlaParent) string {
	if r.names[id] && parent.path != "" {
		return r.name(strings.ReplaceAll(parent.path, "/", "_") + "_" + id)
	}
	return r.name(id)
}

// nameTopics gives a sensor the topics of the ROS bridge.
func (r *carlaReader) nameTopics(c *conversion, topic string) {
	c.entry.Topic = topic
	switch {
	case c.output == "":
		c.entry.Topic = ""
	case c.output == "events":
		c.topic(c.output, topic+"/events", "")
	case strings.HasPrefix(c.entry.ID, cameraIDs):
		c.topic(c.output, topic+"/image", "")
		c.topic("camera_info", topic+"/camera_info", "")
	default:
		c.topic(c.output, topic, "")
	}
}

// frameOf returns the frame that a sensor's messages name, and whether the file says it. Else it is the
// ROS bridge's, the sensor's path, or that of CARLA's own ROS 2, its id.
func (r *carlaReader) frameOf(path string, sensor doc.JSONNode) (frame string, given bool, err error) {
	if at := sensor.Get("frame_id"); !at.Null() {
		if frame, err = at.Text(); err != nil {
			return "", false, err
		}
		if plain := r.plainFrame(frame, at); plain != "" {
			return plain, true, nil
		}
	}
	if r.stack {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return strings.Join(strings.Fields(path), "_"), false, nil
}

// nameFrame gives a sensor the frame that its messages name. A camera's is the
// optical one.
func (r *carlaReader) nameFrame(e *sensors.Config, path string, at doc.JSONNode) error {
	frame, given, err := r.frameOf(path, at)
	if err != nil {
		return err
	}
	elsewhere := func(o sensors.Config) bool { return o.Frame == frame && (o.Pose != e.Pose || o.Parent != e.Parent) }
	keys := map[string]string{transformID: "base_frame", "sensor.other.odometry": "child_frame"}
	switch key := keys[e.ID]; {
	case key != "":
		r.inVehicle(e, key, at)
		if given {
			r.lose(at.Get("frame_id"), "its frames are the vehicle's")
		}
	case slices.Contains(onVehicle, e.ID) && r.vehicle != "":
		e.Frame, e.FrameID, e.Pose, e.Parent = spatial.FrameBaseLink, r.vehicleFrame(), sensors.Pose{}, ""
		if given {
			e.FrameID = frame
		}
	case strings.HasPrefix(e.ID, cameraIDs):
		if e.FrameID = frame; frame == e.Name {
			e.Frame = frame + "_frame"
		}
	case frame == spatial.FrameBaseLink && e.Parent == "" && e.Pose == sensors.Pose{}:
		e.Frame = frame
	case slices.Contains(vehicleFrames, frame), slices.ContainsFunc(r.rig.Sensors, elsewhere):
		e.FrameID = frame
		if given {
			r.note(at.Get("frame_id").Errorf("frame %q lies elsewhere: the messages name it, as in CARLA, and /tf has %q by its own name", frame, e.Name))
		}
	default:
		e.Frame = frame
	}
	return nil
}

// inVehicle puts a sensor at the vehicle, whose frame is the value of a key.
func (r *carlaReader) inVehicle(e *sensors.Config, key string, at doc.JSONNode) {
	e.Frame, e.Pose, e.Parent = spatial.FrameBaseLink, sensors.Pose{}, ""
	e.Set(key, r.vehicleFrame(), at)
}

// vehicleFrame is the vehicle's frame: its id.
func (r *carlaReader) vehicleFrame() string { return strings.Join(strings.Fields(r.vehicle), "_") }

// onVehicle are the types whose data is in the vehicle's own frame.
var onVehicle = []string{"sensor.ground_truth.boxes_3d", "sensor.other.speedometer", "sensor.other.signals"}

// carlaDialect is what the sensors of CARLA's objects.json become.
var carlaDialect = sync.OnceValue(func() *Dialect {
	return dialectOf("carla.yaml", map[string]func(*conversion) error{
		"rate": finishCARLARate, "imu": finishCARLAImu, "lidar": finishCARLALidar, "solid": finishCARLASolidState,
	})
})

// carlaFrames is the rate of what has no sensor_tick: each frame of the ROS bridge's
// fixed_delta_seconds, 0.05.
var carlaFrames = simtime.Hz(20)

// transformID publishes the frames; a run has one.
const transformID = "sensor.other.transform"

// finishCARLARate is the rate of sensor_tick.
func finishCARLARate(c *conversion) error {
	switch tick := c.number("sensor_tick"); {
	case slices.Contains(eachFrame, c.entry.ID): // they have none
	case tick >= shortestTick:
		return c.period(tick, "sensor_tick")
	default:
		c.entry.Rate = carlaFrames
	}
	return nil
}

// mirroredTurns are the axes, of x, y and z, about which CARLA's angular rates have the other
// sign. Mirroring y makes (-x, y, -z) of an axial vector.
var mirroredTurns = [...]int{0, 2}

// finishCARLAImu brings the biases of the angular rate into our axes.
func finishCARLAImu(c *conversion) error {
	for _, axis := range mirroredTurns {
		name := "noise_gyro_bias_" + string("xyz"[axis])
		if _, given := c.given[name]; given {
			c.set(name, 0-c.number(name), name)
		}
	}
	return finishCARLARate(c)
}

// shortestTick is a nanosecond: what is shorter is each frame.
const shortestTick = 1e-9

// eachFrame are the types that look at every frame and have no rate.
var eachFrame = []string{"sensor.other.collision", "sensor.other.lane_invasion"}

// finishCARLALidar is a scan for each turn, or less often where sensor_tick says so.
func finishCARLALidar(c *conversion) error {
	hz := c.number("rotation_frequency")
	if hz <= 0 {
		return c.errorf("rotation_frequency", "%w: %v Hz, need more than 0", doc.ErrRange, hz)
	}
	if tick := c.number("sensor_tick"); tick > 0 && 1/tick < hz {
		return c.period(tick, "sensor_tick")
	}
	return c.rate(decimalRate(hz), "rotation_frequency")
}

// finishCARLASolidState gives a lidar that doesn't turn the columns of its field of view.
func finishCARLASolidState(c *conversion) error {
	const name = "horizontal_resolution"
	step := c.number(name)
	if step <= 0 {
		return c.errorf(name, "%w: %v deg, need more than 0", doc.ErrRange, step)
	}
	c.set("columns", int64(math.Round(min(c.number("horizontal_fov")/step, math.MaxInt32))), name)
	return finishCARLARate(c)
}
