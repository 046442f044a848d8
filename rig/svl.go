package rig

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// svlSensor is one sensor of an SVL vehicle.
type svlSensor struct {
	node   doc.JSONNode
	kind   *ForeignType
	name   string
	parent doc.JSONNode // its name
	above  *svlSensor   // nil for the vehicle
	pose   sensors.Pose // in above, in our axes

	made   *conversion // nil until it is converted
	entry  int         // in the rig, -1 for none
	second int         // another entry, -1 for none
	frame  string      // as the user wrote it
}

// svlReader reads an SVL vehicle's sensors.
type svlReader struct {
	*foreignReader
	sensors []*svlSensor
}

// readSVL reads the sensors of an SVL vehicle: one, or a list. The transforms'
// origin, the vehicle's, is taken for base_link.
func readSVL(list []doc.JSONNode, f *foreignReader) (*Rig, error) {
	r := &svlReader{foreignReader: f}
	for _, n := range list {
		s, err := r.head(n)
		if err != nil {
			return nil, err
		}
		r.sensors = append(r.sensors, s)
	}
	if err := r.findParents(); err != nil {
		return nil, err
	}
	for _, s := range r.sensors {
		if err := r.body(s); err != nil {
			return nil, err
		}
	}
	r.nameFrames()
	for _, s := range r.sensors {
		r.mount(s)
	}
	return r.rig, nil
}

// svlKeys are the keys of a sensor. It may have those of the web interface, too.
var (
	svlKeys          = []string{"type", "name", "params", "parent", "transform"}
	svlInterfaceKeys = []string{"plugin", "pluginId", "sortKey"}
)

// unknownSVL is the type of sensors that are put up with: others may be mounted in them.
var unknownSVL = &ForeignType{Anchor: true, Open: true}

// head reads all of a sensor but its parameters.
func (r *svlReader) head(n doc.JSONNode) (*svlSensor, error) {
	if _, err := r.entries(n, svlKeys, svlInterfaceKeys...); err != nil {
		return nil, err
	}
	kind, err := needed(n, "type")
	if err != nil {
		return nil, err
	}
	s := &svlSensor{node: n, kind: svlDialect().find(kind, svlPlain), parent: n.Get("parent"), entry: -1, second: -1}
	if s.kind == nil {
		s.kind = unknownSVL
		err := n.Get("type").Errorf("%w: SVL has no sensor %q, %s", doc.ErrValue, kind, fault.Hint(kind, svlDialect().names()))
		if err := r.fault(err); err != nil {
			return nil, err
		}
	}
	if s.name = kind; !n.Get("name").Null() {
		if s.name, err = n.Get("name").Text(); err != nil {
			return nil, err
		}
	}
	v, err := r.pose(n.Get("transform")) // metres and degrees in Unity's axes
	s.pose = mirrored(v, spatial.UnityAxes, spatial.UnityAngles)
	return s, err
}

// svlPlain brings the names of one type to one form: SVL's documents say
// "CAN-Bus", its later vehicles CanBusSensor.
func svlPlain(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	return strings.TrimSuffix(plain, "sensor")
}

// mirrored returns a pose of left-handed axes in ours.
func mirrored(v map[string]float64, to spatial.AxesMirror, turned spatial.AngleMirror) sensors.Pose {
	at := to.In(mgl64.Vec3{v["x"], v["y"], v["z"]})
	a := turned.In(spatial.Angles{Roll: v["roll"], Pitch: v["pitch"], Yaw: v["yaw"]})
	return sensors.Pose{X: at[0], Y: at[1], Z: at[2], Roll: a.Roll, Pitch: a.Pitch, Yaw: a.Yaw}
}

// poseKeys are the components of a pose in every dialect.
var poseKeys = []string{"x", "y", "z", "roll", "pitch", "yaw"}

// farthest is how far from the vehicle a sensor may be mounted, metres.
const farthest = 1e6

// pose reads the six numbers of a pose.
func (f *foreignReader) pose(n doc.JSONNode) (map[string]float64, error) {
	entries, err := n.Entries()
	if err != nil {
		return nil, err
	}
	return components(entries, func(e doc.JSONEntry) error { return f.fault(e.UnknownKey(poseKeys)) })
}

// components reads a pose's numbers from an object's entries; those that aren't given are 0. It calls other for every
// other entry, whose error ends the reading.
func components(entries []doc.JSONEntry, other func(doc.JSONEntry) error) (map[string]float64, error) {
	v := map[string]float64{}
	for _, e := range entries {
		if !slices.Contains(poseKeys, e.Key) {
			if err := other(e); err != nil {
				return nil, err
			}
			continue
		}
		if e.Value.Null() {
			continue
		}
		x, err := numberOf(e.Value)
		if err == nil && math.Abs(x) > farthest {
			err = e.Value.Errorf("%w: %v, the range is %v to %v", doc.ErrRange, x, -farthest, farthest)
		}
		if err != nil {
			return nil, err
		}
		v[e.Key] = x
	}
	return v, nil
}

// findParents looks the parents up by their names.
func (r *svlReader) findParents() error {
	named := map[string][]*svlSensor{}
	var names []string
	for _, s := range r.sensors {
		named[s.name] = append(named[s.name], s)
		names = append(names, s.name)
	}
	for _, s := range r.sensors {
		if s.parent.Null() {
			continue
		}
		parent, err := s.parent.Text()
		if err != nil {
			return err
		}
		if parent == "" {
			continue
		}
		switch len(named[parent]) {
		case 0:
			return s.parent.Errorf("%w: no sensor is named %q, %s", ErrParent, parent, fault.Hint(parent, names))
		case 1:
			s.above = named[parent][0]
		default:
			return s.parent.Errorf("%w: %d sensors are named %q", ErrParent, len(named[parent]), parent)
		}
	}
	for _, s := range r.sensors {
		depth := 0
		for p := s.above; p != nil; p = p.above {
			if depth++; depth > len(r.sensors) {
				return s.parent.Errorf("%w: the parents of %q form a circle", ErrParent, s.name)
			}
		}
	}
	return nil
}

// body converts a sensor and adds it to the rig.
func (r *svlReader) body(s *svlSensor) error {
	params, err := s.node.Get("params").Entries()
	if err != nil {
		return err
	}
	if s.made, err = r.convert(s.kind, s.node, params); err != nil {
		return err
	}
	if s.kind.Driver != "" && !slices.Contains(r.rig.Drivers, s.kind.Driver) {
		r.rig.Drivers = append(r.rig.Drivers, s.kind.Driver)
		slices.Sort(r.rig.Drivers)
	}
	switch {
	case s.kind.Driver != "" && s.kind.ID == "":
		return r.control(s)
	case s.kind.Anchor:
		return nil
	case s.kind.ID == "":
		r.lose(s.node, "%s %q: %s", s.kind.Names[0], s.name, s.kind.Without)
		return nil
	case s.made.entry == nil:
		return nil // the type's own reason to leave it out
	}
	r.add(s)
	return nil
}

// add adds what a sensor became to the rig.
func (r *svlReader) add(s *svlSensor) {
	e := s.made.entry
	e.Name = r.name(s.name)
	r.comment(e, fmt.Sprintf("%s %q", s.kind.Names[0], s.name))
	if slices.ContainsFunc(r.sensors, func(o *svlSensor) bool { return o != s && o.entry >= 0 && o.name == s.name }) {
		r.note(s.node.Errorf("two sensors are named %q: this one becomes %s", s.name, e.Name))
	}
	if topic := strings.TrimSpace(s.made.text("Topic")); topic != "" && s.made.output != "" {
		s.made.topic(s.made.output, topic, "Topic")
	}
	s.frame = r.plainFrame(s.made.text("Frame"), s.made.place("Frame"))
	s.entry = len(r.rig.Sensors)
	r.rig.Sensors = append(r.rig.Sensors, *e)
	r.sendPackets(s.made)
	if second := s.made.second; second != nil {
		second.Name = r.name(s.name + "_corrected")
		r.comment(second, r.rig.comments[e.Name]+", corrected")
		second.FrameID = r.plainFrame(s.made.text("CorrectedFrame"), s.made.place("CorrectedFrame"))
		s.second = len(r.rig.Sensors)
		r.rig.Sensors = append(r.rig.Sensors, *second)
	}
}

// nameFrames gives each sensor a frame of its own. It is the one that the user named, if it is
// free or stands at the same place, else the sensor's name.
func (r *svlReader) nameFrames() {
	owner := map[string]*svlSensor{}
	for _, s := range r.sensors {
		if s.entry >= 0 && s.frame != "" {
			r.nameFrame(s, owner)
		}
	}
	for _, s := range r.sensors {
		if s.entry < 0 {
			continue
		}
		e := &r.rig.Sensors[s.entry]
		if e.Frame != "" {
			continue
		}
		own := e.Name
		for owner[own] != nil || slices.Contains(vehicleFrames, own) || own == e.FrameID {
			own += "_frame" // a camera's FrameID is its optical frame
		}
		owner[own] = s
		if own != e.Name {
			e.Frame = own
		}
	}
}

// vehicleFrames are REP-105's, which no sensor places.
var vehicleFrames = []string{spatial.FrameBaseLink, spatial.FrameOdom, spatial.FrameMap, spatial.FrameEarth}

// nameFrame takes a sensor's frame from what the user wrote. What messages name is
// always that.
func (r *svlReader) nameFrame(s *svlSensor, owner map[string]*svlSensor) {
	e := &r.rig.Sensors[s.entry]
	first := owner[s.frame]
	switch {
	case strings.HasPrefix(e.ID, cameraIDs):
		e.FrameID = s.frame // the frame of the picture, not of the body
		for _, o := range r.sensors {
			if o == s {
				break
			}
			if o.entry >= 0 && o.frame == s.frame && (o.above != s.above || o.pose != s.pose) {
				r.note(s.made.errorf("Frame", "frame %q is also that of %q, which is mounted elsewhere: /tf has one of them", s.frame, o.name))
				break
			}
		}
	case s.frame == spatial.FrameBaseLink && s.above == nil && s.pose == sensors.Pose{}:
		e.Frame = spatial.FrameBaseLink
	case slices.Contains(vehicleFrames, s.frame):
		e.FrameID = s.frame
		if s.above != nil || s.pose != (sensors.Pose{}) {
			r.note(s.made.errorf("Frame", "frame %q is the vehicle's: the messages name it, as in SVL, though %q is mounted elsewhere; /tf has it as %s", s.frame, s.name, e.Name))
		}
	case first == nil:
		owner[s.frame], e.Frame = s, s.frame
	case first.above == s.above && first.pose == s.pose:
		e.Frame = s.frame
	default:
		e.FrameID = s.frame
		r.note(s.made.errorf("Frame", "frame %q is that of %q, mounted elsewhere: the messages name it, as in SVL; /tf has %q as %s", s.frame, first.name, s.name, e.Name))
	}
}

// cameraIDs begin the ids of cameras.
const cameraIDs = "sensor.camera."

// mount places a sensor's frame in its parent's: through those that became nothing.
func (r *svlReader) mount(s *svlSensor) {
	if s.entry < 0 {
		return
	}
	e := &r.rig.Sensors[s.entry]
	e.Pose, e.Parent = s.pose, ""
	above := s.above
	for ; above != nil && above.entry < 0; above = above.above {
		e.Pose = poseOf(above.pose.Spatial().Compose(e.Pose.Spatial()))
	}
	if above != nil {
		e.Parent = frameName(&r.rig.Sensors[above.entry])
	}
	if s.second >= 0 {
		r.rig.Sensors[s.second].Pose, r.rig.Sensors[s.second].Parent = e.Pose, e.Parent
	}
}

// frameName is the name of an entry's own frame.
func frameName(e *sensors.Config) string {
	if e.Frame != "" {
		return e.Frame
	}
	return e.Name
}

// poseOf is Pose.Spatial's inverse. Straight up and straight down, where roll and yaw
// turn about one axis, it is all yaw.
func poseOf(p spatial.Pose) sensors.Pose {
	roll, pitch, yaw := p.RPY()
	if math.Abs(pitch) > 90-1e-4 {
		m := p.Mat4()
		roll, yaw = 0, mgl64.RadToDeg(math.Atan2(-m.At(0, 1), m.At(1, 1)))
	}
	return sensors.Pose{X: p.Position[0], Y: p.Position[1], Z: p.Position[2], Roll: roll, Pitch: pitch, Yaw: yaw}
}

// svlElevations are the elevations of SVL's even lasers, degrees up, the lowest first. They are
// fieldOfView / lasers apart, centred (except for the missing last step) centerAngle below the
// horizon. One laser looks along the centre.
func svlElevations(lasers int, fieldOfView, centerAngle float64) []float64 {
	if lasers == 1 {
		return []float64{0 - centerAngle}
	}
	list := make([]float64, lasers)
	for i := range list {
		list[i] = float64(i)*fieldOfView/float64(lasers) - centerAngle - fieldOfView/2
	}
	return list
}

// horizontalFOV is the horizontal field of view of a picture, all in degrees.
func horizontalFOV(vertical float64, width, height int) float64 {
	return mgl64.RadToDeg(2 * math.Atan(math.Tan(mgl64.DegToRad(vertical)/2)*float64(width)/float64(height)))
}

// svlDialect is what the sensors of an SVL Simulator vehicle become.
var svlDialect = sync.OnceValue(func() *Dialect {
	return dialectOf("svl.yaml", map[string]func(*conversion) error{
		"camera": finishSVLCamera, "lidar": finishSVLLidar, "velodyne": finishSVLVelodyne, "imu": finishSVLImu,
		"clock": finishSVLClock, "truth": finishSVLTruth, "comfort": finishSVLComfort, "calibration": finishSVLCalibration,
	})
})

// control takes the topic of the first sensor that drives by commands.
func (r *svlReader) control(s *svlSensor) error {
	topic := strings.TrimSpace(s.made.text("Topic"))
	if s.kind.Driver != DriverExternal || topic == "" || r.rig.ControlTopic != "" {
		return nil
	}
	topic, err := absolute(topic)
	if err != nil {
		return s.node.Errorf("Topic: %w", err)
	}
	r.rig.ControlTopic = topic
	return nil
}

// finishSVLCamera turns the vertical field of view into a horizontal one, and chooses
// the lens.
func finishSVLCamera(c *conversion) error {
	c.fieldOfView()
	if topic := c.text("CameraInfoTopic"); topic != "" {
		c.topic("camera_info", topic, "CameraInfoTopic")
	}
	if c.entry.ID == "sensor.camera.depth" {
		c.set("max_depth", c.number("MaxDistance"), "MaxDistance") // white, as there
	}
	if c.kind.parameter("InstanceSegmentationTags") != nil {
		c.set("jpeg_quality", int64(100), "")
		if len(c.texts("InstanceSegmentationTags")) > 0 {
			c.entry.ID = "sensor.camera.instance_segmentation"
		}
	} else {
		c.set("jpeg_quality", int64(max(c.integer("JpegQuality"), 1)), "JpegQuality")
	}
	return c.chooseLens()
}

// fieldOfView sets the horizontal one.
func (c *conversion) fieldOfView() {
	c.set("fov", horizontalFOV(c.number("FieldOfView"), c.integer("Width"), c.integer("Height")), "FieldOfView")
}

// chooseLens is SVL's choice: a lens of its own counts only where Distorted is true.
func (c *conversion) chooseLens() error {
	distortion := c.numbers("DistortionParameters")
	if n := len(distortion); n != 0 && n != 4 {
		return c.errorf("DistortionParameters", "%w: %d numbers, need none or 4", doc.ErrValue, n)
	}
	if !c.boolean("Distorted") {
		if c.boolean("Fisheye") {
			c.reader.note(c.errorf("Fisheye", "Fisheye counts only where Distorted is true, as in SVL"))
		}
		return nil
	}
	if c.boolean("Fisheye") {
		c.set("lens", "svl_fisheye", "Fisheye")
		c.set("xi", c.number("Xi"), "Xi")
	} else {
		c.set("lens", "svl", "Distorted")
	}
	if len(distortion) > 0 {
		c.set("distortion", distortion, "DistortionParameters")
	}
	return nil
}

// finishSVLTruth is for what sees pictures without publishing them.
func finishSVLTruth(c *conversion) error {
	c.fieldOfView()
	return nil
}

// svlSteps is how many physics steps SVL makes in a second.
const svlSteps = 100

// finishSVLComfort makes rates of the changes that SVL allows in one physics step.
func finishSVLComfort(c *conversion) error {
	for _, p := range []struct{ name, attribute string }{{"MaxBrakeAllowed", "max_braking"}, {"MaxSuddenSteerAllowed", "max_steering_rate"}} {
		if _, given := c.given[p.name]; given {
			c.set(p.attribute, c.number(p.name)*svlSteps, p.name)
		}
	}
	return nil
}

// svlState has the keys of one state of SVL's Control Calibration, with the list that takes each.
var svlState = []struct{ key, attribute string }{
	{"min_velocity", "min_speed"}, {"max_velocity", "max_speed"}, {"throttle", "throttle"}, {"brakes", "brake"},
	{"steering", "steering"}, {"gear", "reverse"}, {"duration", "duration"},
}

// finishSVLCalibration turns the list of states into a list for each of their keys.
func finishSVLCalibration(c *conversion) error {
	states, given := c.given["states"]
	if !given {
		return nil
	}
	items, err := states.Items()
	if err != nil {
		return err
	}
	lists := make([][]float64, len(svlState))
	for _, item := range items {
		if err := c.readState(item, lists); err != nil {
			return err
		}
	}
	for i, k := range svlState {
		c.set(k.attribute, lists[i], "states")
	}
	return nil
}

// readState appends one state to the lists. What it doesn't give is 0, and its gear forward.
func (c *conversion) readState(item doc.JSONNode, lists [][]float64) error {
	var known []string
	for _, k := range svlState {
		known = append(known, k.key)
	}
	_, err := c.reader.entries(item, known)
	if err != nil {
		return err
	}
	for i, k := range svlState {
		value := 0.0
		switch v := item.Get(k.key); {
		case v.Null():
		case k.key == "gear":
			if value, err = svlGear(v); err != nil {
				return err
			}
		default:
			if value, err = numberOf(v); err != nil {
				return err
			}
		}
		lists[i] = append(lists[i], value)
	}
	return nil
}

// svlGear reads a gear: 1 is reverse.
func svlGear(n doc.JSONNode) (float64, error) {
	switch gear, err := n.Text(); {
	case err != nil:
		return 0, err
	case gear == "forward":
		return 0, nil
	case gear == "reverse":
		return 1, nil
	default:
		return 0, n.Errorf("%w: %q, known are forward, reverse", doc.ErrValue, gear)
	}
}

// finishSVLLidar gives a lidar its lasers and columns. A lidar whose message is a
// LaserScan becomes a planar one.
func finishSVLLidar(c *conversion) error {
	lasers := c.integer("LaserCount")
	angles := c.numbers("VerticalRayAngles")
	if len(angles) > 0 {
		lasers = len(angles)
	}
	if c.text("MessageType") == "LaserScan" {
		if lasers == 1 {
			return c.planar(angles)
		}
		c.reader.note(c.errorf("MessageType", "a LaserScan needs one laser, not %d: it stays a PointCloud2, as in SVL", lasers))
	}
	if len(angles) > 0 {
		c.set("elevations", angles, "VerticalRayAngles")
	} else {
		c.set("elevations", svlElevations(lasers, c.number("FieldOfView"), c.number("CenterAngle")), "LaserCount")
	}
	columns := math.Floor(float64(c.integer("MeasurementsPerRotation")) * c.number("HorizontalAngle") / 360)
	if columns < 1 {
		return c.errorf("HorizontalAngle", "%w: %v deg leave no measurement of %d a rotation", doc.ErrRange, c.number("HorizontalAngle"), c.integer("MeasurementsPerRotation"))
	}
	c.set("columns", int64(columns), "MeasurementsPerRotation")
	return nil
}

// planar makes the entry that of a planar lidar.
func (c *conversion) planar(angles []float64) error {
	center := c.number("CenterAngle")
	if len(angles) == 1 {
		center = 0 - angles[0]
	}
	c.entry.ID, c.output, c.entry.Attributes = "sensor.lidar.laser_scan", "scan", nil
	c.set("center_angle", center, "CenterAngle")
	c.set("range_min", c.number("MinDistance"), "MinDistance")
	c.set("range", c.number("MaxDistance"), "MaxDistance")
	c.set("measurements_per_rotation", int64(c.integer("MeasurementsPerRotation")), "MeasurementsPerRotation")
	c.set("forward_angle", c.number("ForwardAngle"), "ForwardAngle")
	c.set("horizontal_fov", c.number("HorizontalAngle"), "HorizontalAngle")
	c.set("rolling", false, "")
	c.set("intensity", "svl", "")
	return nil
}

// finishSVLVelodyne takes the preset of the device.
func finishSVLVelodyne(c *conversion) error {
	presets := map[string]string{"VLP_16": "VelodyneVLP16", "VLP_32C": "VelodyneVLP32C", "VLS_128": "VelodyneVLS128"}
	if preset, ok := presets[c.text("VelodyneLidarType")]; ok {
		c.set("preset", preset, "VelodyneLidarType")
	}
	for _, p := range []struct{ name, attribute string }{{"MinDistance", "range_min"}, {"MaxDistance", "range"}} {
		if c.values[p.name] != nil {
			c.set(p.attribute, c.number(p.name), p.name)
		}
	}
	if strings.TrimSpace(c.text("HostName")) != "" && velodyneTurns(c.entry.Rate) && c.entry.Rate != simtime.Hz(10) {
		// The bridge sends scans of 18,000 columns a second alone, as the presets have at 10 Hz.
		c.set("columns", int64(math.Round(18000/c.entry.Rate.Float64())), "HostName")
	}
	return nil
}

// velodyneTurns reports whether Velodyne's devices turn at a rate.
func velodyneTurns(rate simtime.Rate) bool { return rate.Float64() >= 5 && rate.Float64() <= 20 }

// sendPackets adds the bridge that sends the packets of a lidar that has a host for them, or tells why none can.
func (r *svlReader) sendPackets(c *conversion) {
	switch host := strings.TrimSpace(c.text("HostName")); {
	case host == "":
	case c.entry.Attributes["preset"] == nil: // of a lenient reader
		r.note(c.errorf("HostName", "no bridge can send the packets: VelodyneLidarType is %s, and there are those of a VLP_16, a VLP_32C and a VLS_128", c.text("VelodyneLidarType")))
	case !velodyneTurns(c.entry.Rate):
		r.note(c.errorf("HostName", "no bridge can send the packets: a Velodyne turns at 5 to 20 Hz, and RotationFrequency is %v", c.entry.Rate))
	default:
		address := net.JoinHostPort(host, strconv.Itoa(c.integer("UDPPortData")))
		r.rig.Bridges = append(r.rig.Bridges, Bridge{
			Type:       "velodyne",
			Connection: fmt.Sprintf("%s?position=%d&sensor=%s", address, c.integer("UDPPortPosition"), url.QueryEscape(c.entry.Name)),
			place:      c.place("HostName"),
		})
	}
}

// finishSVLImu makes SVL's second message of an IMU, the corrected one, which has
// the first one's values: another IMU with its topic and frame.
func finishSVLImu(c *conversion) error {
	topic := c.text("CorrectedTopic")
	if topic == "" {
		return nil
	}
	c.second = &sensors.Config{ID: c.entry.ID, Rate: c.entry.Rate, Topics: map[string]string{c.output: topic}}
	c.second.PlaceAt("", c.node)
	c.second.PlaceAt("topics."+c.output, c.place("CorrectedTopic"))
	return nil
}

// finishSVLClock leaves the clock out where every run publishes it anyway.
func finishSVLClock(c *conversion) error {
	if topic := c.text("Topic"); topic == "" || topic == "/clock" || topic == "clock" {
		c.reader.note(c.node.Errorf("every run publishes /clock: the clock is left out"))
		c.entry = nil
	}
	return nil
}
