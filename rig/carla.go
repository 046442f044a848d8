package rig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// carlaReader reads the objects of CARLA's ROS bridge.
type carlaReader struct {
	*foreignReader
	vehicle string          // the ego's id
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
// there is. The vehicle's origin is taken for base_link.
func readCARLA(root doc.JSONNode, objects []doc.JSONNode, f *foreignReader) (*Rig, error) {
	r := &carlaReader{foreignReader: f, seen: map[string]bool{}}
	if err := r.knownKeys(root, "objects"); err != nil {
		return nil, err
	}
	ego, err := findVehicle(objects)
	if err != nil {
		return nil, err
	}
	if ego >= 0 {
		if r.vehicle, err = needed(objects[ego], "id"); err != nil {
			return nil, err
		}
	}
	for i, n := range objects {
		kind, err := needed(n, "type")
		if err != nil {
			return nil, err
		}
		switch {
		case i == ego:
			err = r.readVehicle(n)
		case isVehicle(kind):
			r.lose(n, "%s: a rig has one vehicle, %s; others are actors of the scene", kind, r.vehicle)
		default:
			err = r.readSensor(n, carlaParent{})
		}
		if err != nil {
			return nil, err
		}
	}
	if r.vehicle != "" && !r.tf {
		r.addFrames(objects[ego])
	}
	return r.rig, nil
}

// addFrames adds the sensor that publishes the frames, which every run has, under the
// vehicle's name.
func (r *carlaReader) addFrames(vehicle doc.JSONNode) {
	e := sensors.Config{ID: transformID, Name: r.name("tf")}
	e.PlaceAt("", vehicle)
	r.comment(&e, "what every run has")
	r.nameFrame(&e, "", vehicle)
	r.rig.Sensors = append(r.rig.Sensors, e)
}

// isVehicle tells what can carry sensors.
func isVehicle(kind string) bool {
	return strings.HasPrefix(kind, "vehicle.") || strings.HasPrefix(kind, "walker.")
}

// findVehicle returns the index of the vehicle that is taken for the ego. It is found by its id
// or role, or is the first with sensors, or the first; -1 where there is none.
func findVehicle(objects []doc.JSONNode) (int, error) {
	best, score := -1, 0
	for i, n := range objects {
		if !n.IsObject() {
			return -1, n.Errorf("%w: need an object with a type and an id", doc.ErrType)
		}
		kind, _ := n.Get("type").Text()
		if !isVehicle(kind) {
			continue
		}
		points := 1
		if items, err := n.Get("sensors").Items(); err == nil && len(items) > 0 {
			points++
		}
		for _, key := range []string{"id", "role_name"} {
			if name, _ := n.Get(key).Text(); name == "ego_vehicle" || name == "hero" {
				points += 2
			}
		}
		if points > score {
			best, score = i, points
		}
	}
	return best, nil
}

// knownKeys refuses an object's other keys.
func (r *carlaReader) knownKeys(n doc.JSONNode, known ...string) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Key) {
			if err := r.fault(e.UnknownKey(known)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *carlaReader) readVehicle(n doc.JSONNode) error {
	if err := r.knownKeys(n, "type", "id", "role_name", "spawn_point", "color", "sensors"); err != nil {
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
var carlaKeys = []string{"type", "id", "spawn_point", "attached_objects", "attributes"}

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
	r.nameFrame(e, self.path, n)
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
	kind := carlaDialect.find(name, strings.ToLower)
	if kind == nil {
		err := n.Get("type").Errorf("%w: CARLA has no sensor %q, %s", doc.ErrValue, name, fault.Hint(name, carlaDialect.names()))
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
		v, err := components(at, r.foreignReader)
		return list, sensors.Pose{X: v["x"], Y: v["y"], Z: v["z"], Roll: v["roll"], Pitch: v["pitch"], Yaw: v["yaw"]}, err
	}
}

// oldPose reads the pose as files older than carla_spawn_objects have it: in CARLA's
// own axes, which are Unreal Engine's. A spawn_point is in ROS's axes: carla_spawn_objects makes a ROS pose of it,
// which the bridge turns into CARLA's (ros-bridge pull request 423).
func (r *carlaReader) oldPose(entries []doc.JSONEntry) (sensors.Pose, error) {
	v := map[string]float64{}
	for _, e := range entries {
		if !slices.Contains(poseKeys, e.Key) || e.Value.Null() {
			continue
		}
		x, err := componentOf(e.Value)
		if err != nil {
			return sensors.Pose{}, err
		}
		v[e.Key] = x
	}
	return mirrored(v, spatial.UnrealAxes, spatial.UnrealAngles), nil
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
		return "it knows the whole world: attach it to the vehicle"
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

// nameFrame gives a sensor the frame of the ROS bridge: its path. A camera's is the
// optical one.
func (r *carlaReader) nameFrame(e *sensors.Config, path string, at doc.JSONNode) {
	frame, vehicle := strings.Join(strings.Fields(path), "_"), strings.Join(strings.Fields(r.vehicle), "_")
	switch {
	case e.ID == transformID:
		e.Frame, e.Pose, e.Parent = spatial.FrameBaseLink, sensors.Pose{}, ""
		e.Set("base_frame", vehicle, at)
	case e.ID == "sensor.other.odometry":
		e.Frame, e.Pose, e.Parent = spatial.FrameBaseLink, sensors.Pose{}, ""
		e.Set("child_frame", vehicle, at)
	case slices.Contains(onVehicle, e.ID) && vehicle != "":
		e.Frame, e.FrameID, e.Pose, e.Parent = spatial.FrameBaseLink, vehicle, sensors.Pose{}, ""
	case strings.HasPrefix(e.ID, cameraIDs):
		e.FrameID = frame
	case slices.ContainsFunc(r.rig.Sensors, func(o sensors.Config) bool { return o.Frame == frame && (o.Pose != e.Pose || o.Parent != e.Parent) }):
		e.FrameID = frame
	default:
		e.Frame = frame
	}
}

// onVehicle are the types whose data is in the vehicle's own frame.
var onVehicle = []string{"sensor.ground_truth.boxes_3d", "sensor.other.speedometer", "sensor.other.signals"}

// carlaDialect is what the sensors of CARLA's objects.json become. It has the sensors of CARLA
// 0.9.15 with their attributes and defaults, and the pseudo sensors of its ROS bridge.
var carlaDialect = &Dialect{Name: "CARLA", Types: carlaTypes()}

// carlaFrames is the rate of what has no sensor_tick: each frame of the ROS bridge's
// fixed_delta_seconds, 0.05.
var carlaFrames = simtime.Hz(20)

// carlaCommon are the attributes of every sensor.
func carlaCommon() []Parameter {
	return []Parameter{
		number("sensor_tick", "s", 0).in(0, 1000).becomes("`rate`, its inverse; 0 is each frame, 20 Hz"),
		text("role_name", "front").drawn(),
		text("ros_name", "").drawn(),
	}
}

// carlaPicture are the attributes of every camera.
func carlaPicture() []Parameter {
	return []Parameter{
		integer("image_size_x", "px", 800).same("image_size_x"),
		integer("image_size_y", "px", 600).same("image_size_y"),
		number("fov", "deg", 90).same("fov"),
		number("lens_circle_falloff", "", 5).in(0, 10).same("lens_circle_falloff"),
		number("lens_circle_multiplier", "", 0).in(0, 10).same("lens_circle_multiplier"),
		number("lens_k", "", -1).same("lens_k"),
		number("lens_kcube", "", 0).same("lens_kcube"),
		number("lens_x_size", "", 0.08).in(0, 1).same("lens_x_size"),
		number("lens_y_size", "", 0.08).in(0, 1).same("lens_y_size"),
	}
}

// carlaPostprocess are those of the colour and event cameras.
func carlaPostprocess() []Parameter {
	list := []Parameter{
		number("bloom_intensity", "", 0.675), number("lens_flare_intensity", "", 0.1),
		boolean("enable_postprocess_effects", true), number("gamma", "", 2.2),
		text("exposure_mode", "histogram").of("histogram", "manual"), number("exposure_compensation", "EV", 0),
		number("exposure_min_bright", "", 10), number("exposure_max_bright", "", 12),
		number("exposure_speed_up", "", 3), number("exposure_speed_down", "", 1),
		number("calibration_constant", "", 16), number("iso", "", 100), number("fstop", "", 1.4), number("min_fstop", "", 1.2),
		number("shutter_speed", "1/s", 200), number("focal_distance", "cm", 1000), integer("blade_count", "", 5),
		number("blur_amount", "", 1), number("blur_radius", "", 0),
		number("motion_blur_intensity", "", 0.45), number("motion_blur_max_distortion", "", 0.35),
		number("motion_blur_min_object_screen_size", "", 0.1),
		number("slope", "", 0.88), number("toe", "", 0.55), number("shoulder", "", 0.26),
		number("black_clip", "", 0), number("white_clip", "", 0.04), number("temp", "K", 6500), number("tint", "", 0),
		number("chromatic_aberration_intensity", "", 0), number("chromatic_aberration_offset", "", 0),
	}
	for i := range list {
		list[i] = list[i].same(list[i].Name)
	}
	return list
}

func carlaTypes() []*ForeignType {
	list := append(carlaCameras(), carlaLidars()...)
	list = append(list, carlaMeasuring()...)
	return append(list, carlaPseudo()...)
}

func carlaCameras() []*ForeignType {
	corner := Fixed{"principal_point", "corner"}
	camera := func(id string, own []Parameter, set ...Fixed) *ForeignType {
		return &ForeignType{
			Names: []string{id}, ID: id, output: "image", Parameters: parameters(carlaPicture(), own, carlaCommon()),
			Set: append([]Fixed{corner}, set...), finish: finishCARLARate,
		}
	}
	events := camera("sensor.camera.dvs", parameters(carlaPostprocess(), []Parameter{
		number("positive_threshold", "", 0.3).same("positive_threshold"),
		number("negative_threshold", "", 0.3).same("negative_threshold"),
		number("sigma_positive_threshold", "", 0).same("sigma_positive_threshold"),
		number("sigma_negative_threshold", "", 0).same("sigma_negative_threshold"),
		integer("refractory_period_ns", "ns", 0).same("refractory_period_ns"),
		boolean("use_log", true).same("use_log"),
		number("log_eps", "", 0.001).same("log_eps"),
	}))
	events.output, events.How = "events", "publishes events alone, no picture of them"
	return []*ForeignType{
		camera("sensor.camera.rgb", carlaPostprocess(), Fixed{"encoding", "bgra8"}),
		camera("sensor.camera.depth", nil, Fixed{"output", "metres"}),
		camera("sensor.camera.semantic_segmentation", nil, Fixed{"output", "palette_bgra8"}),
		camera("sensor.camera.instance_segmentation", nil, Fixed{"output", "carla"}),
		camera("sensor.camera.normals", nil),
		camera("sensor.camera.optical_flow", nil),
		events,
	}
}

// carlaRays are the attributes of both lidars.
func carlaRays() []Parameter {
	return []Parameter{
		integer("channels", "", 32).take("channels"),
		number("range", "m", 10).take("range"),
		integer("points_per_second", "", 56000).take("points_per_second"),
		number("rotation_frequency", "Hz", 10).take("rotation_frequency").becomes("and `rate`: a scan is a whole turn"),
		number("upper_fov", "deg", 10).take("upper_fov"),
		number("lower_fov", "deg", -30).take("lower_fov"),
		number("horizontal_fov", "deg", 360).take("horizontal_fov"),
	}
}

// carlaSeed is the seed of a sensor's noise.
func carlaSeed() Parameter { return integer("noise_seed", "", 0).same("noise_seed") }

func carlaLidars() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"sensor.lidar.ray_cast"}, ID: "sensor.lidar.ray_cast", output: "points",
			How: "scans at one instant, as there",
			Parameters: parameters(carlaRays(), []Parameter{
				number("atmosphere_attenuation_rate", "1/m", 0.004).take("atmosphere_attenuation_rate"),
				number("dropoff_general_rate", "", 0.45).take("dropoff_general_rate"),
				number("dropoff_intensity_limit", "", 0.8).take("dropoff_intensity_limit"),
				number("dropoff_zero_intensity", "", 0.4).take("dropoff_zero_intensity"),
				number("noise_stddev", "m", 0).take("noise_stddev"),
				carlaSeed(),
			}, carlaCommon()),
			Set:    []Fixed{{"preset", "uniform"}, {"rolling", false}, {"layout", "carla"}, {"intensity", "carla"}},
			finish: finishCARLALidar,
		},
		{
			Names: []string{"sensor.lidar.ray_cast_semantic"}, ID: "sensor.lidar.ray_cast_semantic", output: "points",
			How:        "scans at one instant, as there",
			Parameters: parameters(carlaRays(), carlaCommon()),
			Set:        []Fixed{{"preset", "uniform"}, {"rolling", false}, {"layout", "carla_semantic"}},
			finish:     finishCARLALidar,
		},
	}
}

func carlaMeasuring() []*ForeignType {
	plain := func(id, output string, own ...Parameter) *ForeignType {
		return &ForeignType{
			Names: []string{id}, ID: id, output: output, Parameters: parameters(own, carlaCommon()), finish: finishCARLARate,
		}
	}
	noise := func(name, unit string) Parameter { return number(name, unit, 0).same(name) }
	axes := func(name, unit string) []Parameter {
		return []Parameter{noise(name+"_x", unit), noise(name+"_y", unit), noise(name+"_z", unit)}
	}
	rates := axes("noise_gyro_bias", "rad/s")
	for _, axis := range mirroredTurns {
		rates[axis] = rates[axis].becomes("negated: CARLA's axes are left-handed")
	}
	return []*ForeignType{
		plain("sensor.other.radar", "detections",
			number("horizontal_fov", "deg", 30).same("horizontal_fov"), number("vertical_fov", "deg", 30).same("vertical_fov"),
			number("range", "m", 100).same("range"), integer("points_per_second", "", 1500).same("points_per_second"), carlaSeed()),
		plain("sensor.other.gnss", "fix",
			noise("noise_lat_bias", "deg"), noise("noise_lat_stddev", "deg"), noise("noise_lon_bias", "deg"),
			noise("noise_lon_stddev", "deg"), noise("noise_alt_bias", "m"), noise("noise_alt_stddev", "m"), carlaSeed()),
		{
			Names: []string{"sensor.other.imu"}, ID: "sensor.other.imu", output: "imu",
			Parameters: parameters(axes("noise_accel_stddev", "m/s²"), rates, axes("noise_gyro_stddev", "rad/s"), []Parameter{carlaSeed()}, carlaCommon()),
			finish:     finishCARLAImu,
		},
		plain("sensor.other.collision", "collision"),
		plain("sensor.other.lane_invasion", "lane_invasion"),
		plain("sensor.other.obstacle", "obstacle",
			number("distance", "m", 5).same("distance"), number("hit_radius", "m", 0.5).same("hit_radius"),
			boolean("only_dynamics", false).same("only_dynamics"), boolean("debug_linetrace", false).same("debug_linetrace")),
	}
}

// carlaPseudo are the ROS bridge's own sensors, which know the world instead of
// measuring it.
func carlaPseudo() []*ForeignType {
	plain := func(name, id, output, how string, set ...Fixed) *ForeignType {
		return &ForeignType{
			Names: []string{"sensor.pseudo." + name}, ID: id, output: output, How: how,
			Parameters: carlaCommon(), Set: set, finish: finishCARLARate,
		}
	}
	none := func(name, why string, own ...Parameter) *ForeignType {
		return &ForeignType{Names: []string{name}, Without: why, Parameters: lost(parameters(own, carlaCommon()))}
	}
	newer := func(name, instead string) *ForeignType {
		return &ForeignType{
			Names: []string{name}, Without: "it is newer than CARLA 0.9.15: take " + instead,
			Parameters: lost(carlaCommon()), open: true,
		}
	}
	return []*ForeignType{
		plain("tf", transformID, "", "the vehicle's frame has the vehicle's id as its name"),
		plain("odom", "sensor.other.odometry", "odometry", ""),
		plain("speedometer", "sensor.other.speedometer", "speed", ""),
		plain("objects", "sensor.ground_truth.boxes_3d", "boxes", "of all around the vehicle, hidden or not, in its frame",
			Fixed{"hidden", true}, Fixed{"max_distance", 1000.0}),
		plain("traffic_lights", "sensor.other.signals", "signals", "where it is attached to the vehicle"),
		none("sensor.pseudo.actor_list", "take sensor.other.snapshot, which has every actor at every frame"),
		none("sensor.pseudo.markers", "raybridge publishes no markers for RViz"),
		none("sensor.pseudo.opendrive_map", "raybridge's scenes have no OpenDRIVE map"),
		none("actor.pseudo.control", "an actor is not moved by poses from outside"),
		none("sensor.other.rss", "raybridge has no model of responsibility-sensitive safety"),
		none("sensor.other.v2x", "raybridge has no radio", parameters(carlaRadio(), carlaAwareness())...),
		none("sensor.other.v2x_custom", "raybridge has no radio", carlaRadio()...),
		newer("sensor.lidar.hss_lidar", "sensor.lidar.ray_cast with a horizontal_fov"),
		newer("sensor.camera.rgb_fisheye", "sensor.camera.rgb with a lens"),
		newer("sensor.camera.depth_fisheye", "sensor.camera.depth with a lens"),
		newer("sensor.camera.semantic_segmentation_fisheye", "sensor.camera.semantic_segmentation with a lens"),
		newer("sensor.camera.instance_segmentation_fisheye", "sensor.camera.instance_segmentation with a lens"),
	}
}

// carlaRadio are the attributes of the channel of both radios.
func carlaRadio() []Parameter {
	return []Parameter{
		carlaSeed(),
		number("transmit_power", "dBm", 21.5), number("receiver_sensitivity", "dBm", -99), number("frequency_ghz", "GHz", 5.9),
		number("combined_antenna_gain", "dBi", 10), list("scenario", KindText), list("path_loss_model", KindText),
		number("path_loss_exponent", "", 2.7), number("d_ref", "m", 1), number("filter_distance", "m", 500),
		boolean("use_etsi_fading", true), number("custom_fading_stddev", "", 0),
	}
}

// carlaAwareness are the attributes of the messages by which vehicles tell of
// themselves.
func carlaAwareness() []Parameter {
	own := []Parameter{number("gen_cam_min", "s", 0.1), number("gen_cam_max", "s", 1), boolean("fixed_rate", false)}
	for _, name := range []string{
		"noise_vel_stddev_x", "noise_accel_stddev_x", "noise_accel_stddev_y", "noise_accel_stddev_z",
		"noise_yawrate_bias", "noise_yawrate_stddev", "noise_lat_bias", "noise_lat_stddev", "noise_lon_bias", "noise_lon_stddev",
		"noise_alt_bias", "noise_alt_stddev", "noise_head_bias", "noise_head_stddev",
	} {
		own = append(own, number(name, "", 0))
	}
	return own
}

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
