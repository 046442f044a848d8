package logging

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/jpeg" // so that image.DecodeConfig knows a picture's size
	_ "image/png"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// message appends the JSON of one message of a topic.
type message func(o *object, topic *bridges.PublishedTopic) error

// row is a type with the JSON that carries it, under the type's name in the log.
type row = bridges.Publication[message, string]

// kind is one type of samples.
type kind struct {
	row
	// write appends msg's JSON object, unless msg is of another type.
	write func(o *object, topic *bridges.PublishedTopic, msg any) bool
}

// kinds has every sample, with SVL's name for it.
var kinds = []kind{
	kindOf("ClockData", writeClock),
	headed("UncompressedImageData", writeImage),
	headed("ImageData", writeCompressedImage),
	headed("CameraInfoData", writeCameraInfo),
	headed("PointCloudData", writePointCloud),
	headed("ImuData", writeImu),
	headed("GpsData", writeGnssFix),
	headed("GpsOdometryData", writeOdometry),
	kindOf("TransformsData", writeTransforms),
	headed("LaserScanData", writeLaserScan),
	headed("UltrasonicData", writeRange),
	headed("RadarData", writeRadar),
	headed("DetectedRadarObjectData", writeRadarObjects),
	headed("DvsEventsData", writeDvsEvents),
	headed("SpeedData", writeSpeed),
	headed("CanBusData", writeCanBus),
	headed("VehicleOdometryData", writeVehicleOdometry),
	headed("GpsOdometryData", writeGpsOdometry),
	headed("GpsInsData", writeInsStatus),
	headed("Detected2DObjectData", writeDetections2D),
	headed("Detected3DObjectData", writeDetections3D),
	headed("SignalDataArray", writeSignals),
	headed("CollisionData", writeCollision),
	headed("ObstacleData", writeObstacle),
	headed("LaneInvasionData", writeLaneInvasion),
	headed("LaneMarksData", writeLaneMarks),
	headed("LaneLinesData", writeLaneLines),
	headed("SnapshotData", writeSnapshot),
}

// kindOf makes the kind of samples T, whose object write fills.
func kindOf[T simtime.Stamped](typeName string, write func(*object, *bridges.PublishedTopic, T)) kind {
	encode := func(o *object, topic *bridges.PublishedTopic, src T) error {
		o.begin()
		write(o, topic, src)
		o.end()
		return nil
	}
	return kind{
		row: bridges.Publish(typeName, typeName, func(bridges.Instance) func(T) (message, error) {
			box := boxed(encode)
			return func(src T) (message, error) { return box(src), nil }
		}),
		write: func(o *object, topic *bridges.PublishedTopic, msg any) bool {
			m, ok := msg.(T)
			return ok && encode(o, topic, m) == nil
		},
	}
}

// headed is kindOf for samples with a header, whose keys begin the object.
func headed[T interface {
	simtime.Stamped
	SampleHeader() *sample.Header
}](typeName string, write func(*object, T)) kind {
	return kindOf(typeName, func(o *object, topic *bridges.PublishedTopic, m T) {
		h := m.SampleHeader()
		o.text("Name", topic.Sensor)
		o.text("Frame", h.FrameID)
		o.seconds("Time", h.Stamp)
		o.integer("StampNs", int64(h.Stamp))
		o.integer("Sequence", int64(h.Seq))
		write(o, m)
	})
}

// boxed returns a function that makes the message of an M, the same one for each: nothing is
// allocated.
func boxed[M any](encode func(*object, *bridges.PublishedTopic, M) error) func(M) message {
	var last M
	encodeLast := func(o *object, topic *bridges.PublishedTopic) error { return encode(o, topic, last) }
	return func(m M) message {
		last = m
		return encodeLast
	}
}

// AppendJSON appends a pointer to a sample as the log writes it: one JSON object, without
// the lines' ends. sensor is who made it. It may be called from any goroutine and keeps
// no hold of msg. Of types that are no samples it appends nothing, and the error wraps
// bridges.ErrNoConverter.
func AppendJSON(dst []byte, sensor string, msg any) ([]byte, error) {
	o := object{buf: dst}
	topic := bridges.PublishedTopic{Topic: bridges.Topic{Sensor: sensor}}
	for _, k := range kinds {
		if k.write(&o, &topic, msg) {
			return o.buf, nil
		}
	}
	return dst, fmt.Errorf("append JSON: %w: %T", bridges.ErrNoConverter, msg)
}

// object appends one JSON object to buf, key by key.
type object struct {
	buf []byte
}

func (o *object) begin() { o.buf = append(o.buf, '{') }

func (o *object) end() { o.buf = append(o.buf, '}') }

// key appends the key, after a comma unless it is the object's first.
func (o *object) key(name string) {
	o.comma()
	o.buf = append(o.buf, '"')
	o.buf = append(o.buf, name...)
	o.buf = append(o.buf, '"', ':')
}

// comma appends a comma unless an object or a list has just begun.
func (o *object) comma() {
	if last := o.buf[len(o.buf)-1]; last != '{' && last != '[' {
		o.buf = append(o.buf, ',')
	}
}

func (o *object) text(name, v string) {
	o.key(name)
	o.buf = appendString(o.buf, v)
}

func (o *object) integer(name string, v int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

func (o *object) boolean(name string, v bool) {
	o.key(name)
	o.buf = strconv.AppendBool(o.buf, v)
}

func (o *object) number(name string, v float64) {
	o.key(name)
	o.buf = appendFloat(o.buf, v, 64)
}

func (o *object) number32(name string, v float32) {
	o.key(name)
	o.buf = appendFloat(o.buf, float64(v), 32)
}

// seconds writes nanoseconds as seconds with nine decimals, exactly.
func (o *object) seconds(name string, at simtime.Stamp) {
	o.key(name)
	abs := uint64(at)
	if at < 0 {
		o.buf = append(o.buf, '-')
		abs = -abs
	}
	o.buf = strconv.AppendUint(o.buf, abs/1e9, 10)
	// A leading 1 keeps the zeros of the fraction; the point takes its place.
	point := len(o.buf)
	o.buf = strconv.AppendUint(o.buf, 1e9+abs%1e9, 10)
	o.buf[point] = '.'
}

func (o *object) bytes(name string, v []byte) {
	o.key(name)
	o.buf = append(o.buf, '"')
	o.buf = base64.StdEncoding.AppendEncode(o.buf, v)
	o.buf = append(o.buf, '"')
}

func (o *object) numbers(name string, v ...float64) {
	o.key(name)
	floats(o, v, 64)
}

func (o *object) numbers32(name string, v []float32) {
	o.key(name)
	floats(o, v, 32)
}

// floats writes a list of numbers of so many bits.
func floats[F float32 | float64](o *object, numbers []F, bits int) {
	o.buf = append(o.buf, '[')
	for _, v := range numbers {
		o.comma()
		o.buf = appendFloat(o.buf, float64(v), bits)
	}
	o.buf = append(o.buf, ']')
}

func (o *object) vector(name string, v mgl64.Vec3) {
	o.key(name)
	o.xyz(v)
}

func (o *object) xyz(v mgl64.Vec3) {
	o.begin()
	o.number("x", v[0])
	o.number("y", v[1])
	o.number("z", v[2])
	o.end()
}

func (o *object) quaternion(name string, q mgl64.Quat) {
	o.key(name)
	o.begin()
	o.number("x", q.V[0])
	o.number("y", q.V[1])
	o.number("z", q.V[2])
	o.number("w", q.W)
	o.end()
}

// list writes a list, by write for each element. The elements escape to the heap.
func list[E any](o *object, name string, elements []E, write func(*E)) {
	o.key(name)
	o.buf = append(o.buf, '[')
	for i := range elements {
		o.comma()
		write(&elements[i])
	}
	o.buf = append(o.buf, ']')
}

// objects writes a list of objects, of which write writes the keys of each.
func objects[E any](o *object, name string, elements []E, write func(*E)) {
	list(o, name, elements, func(e *E) {
		o.begin()
		write(e)
		o.end()
	})
}

// appendFloat appends the shortest decimal that reads back as v of so many bits.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendString appends s in quotes; what isn't UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func writeClock(o *object, _ *bridges.PublishedTopic, m *sample.Clock) {
	o.seconds("Clock", m.Stamp)
	o.integer("StampNs", int64(m.Stamp))
}

func writeCompressedImage(o *object, m *sample.CompressedImage) {
	if size, _, err := image.DecodeConfig(bytes.NewReader(m.Data)); err == nil {
		o.integer("Width", int64(size.Width))
		o.integer("Height", int64(size.Height))
	}
	o.bytes("Bytes", m.Data)
	o.integer("Length", int64(len(m.Data)))
	o.text("Format", m.Format)
}

func writeImage(o *object, m *sample.Image) {
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.integer("Length", int64(len(m.Data)))
	o.text("Encoding", m.Encoding)
	o.boolean("IsBigEndian", false)
	o.bytes("Bytes", m.Data)
	o.integer("Step", int64(m.Step))
}

func writeCameraInfo(o *object, m *sample.CameraInfo) {
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.number("FocalLengthX", m.K[0])
	o.number("FocalLengthY", m.K[4])
	o.number("PrincipalPointX", m.K[2])
	o.number("PrincipalPointY", m.K[5])
	// SVL's four are plumb_bob's radial ones; ROS keeps the third of them at D[4], after
	// the two tangential ones.
	var radial [4]float64
	if m.DistortionModel == "plumb_bob" && len(m.D) > 4 {
		radial = [4]float64{m.D[0], m.D[1], m.D[4]}
	}
	o.numbers("DistortionParameters", radial[:]...)
	o.text("DistortionModel", m.DistortionModel)
	o.numbers("D", m.D...)
	o.numbers("K", m.K[:]...)
	o.numbers("R", m.R[:]...)
	o.numbers("P", m.P[:]...)
}

func writePointCloud(o *object, m *sample.PointCloud) {
	o.integer("LaserCount", int64(m.Rings))
	transform := m.Pose.Mat4()
	o.numbers("Transform", transform[:]...)
	list(o, "Points", m.Points, func(p *sample.Point) {
		floats(o, []float32{p.X, p.Y, p.Z, p.Intensity}, 32)
	})
	o.integer("PointCount", int64(len(m.Points)))
	o.boolean("Organized", m.Organized)
	o.integer("Columns", int64(m.Columns))
	list(o, "Rings", m.Points, func(p *sample.Point) { o.buf = strconv.AppendUint(o.buf, uint64(p.Ring), 10) })
	list(o, "Returns", m.Points, func(p *sample.Point) { o.buf = strconv.AppendUint(o.buf, uint64(p.Return), 10) })
	list(o, "TimesNs", m.Points, func(p *sample.Point) { o.buf = strconv.AppendUint(o.buf, uint64(p.TimeNs), 10) })
	if m.Returns.Points() > 1 {
		o.text("ReturnMode", string(m.Returns))
		list(o, "Rays", m.Points, func(p *sample.Point) { o.buf = strconv.AppendUint(o.buf, uint64(p.Ray), 10) })
	}
}

func writeImu(o *object, m *sample.Imu) {
	o.vector("Position", m.Pose.Position)
	o.quaternion("Orientation", m.Orientation)
	o.vector("Acceleration", m.LinearAcceleration)
	o.vector("AngularVelocity", m.AngularVelocity)
	o.numbers("OrientationCovariance", m.OrientationCovariance[:]...)
	o.numbers("AngularVelocityCovariance", m.AngularVelocityCovariance[:]...)
	o.numbers("AccelerationCovariance", m.LinearAccelerationCovariance[:]...)
}

func writeGnssFix(o *object, m *sample.GnssFix) {
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.numbers("PositionCovariance", m.PositionCovariance[:]...)
	o.quaternion("Orientation", m.Pose.Orientation)
	o.integer("Status", int64(m.Status))
	o.integer("Service", int64(m.Service))
	o.integer("PositionCovarianceType", int64(m.PositionCovarianceType))
}

func writeOdometry(o *object, m *sample.Odometry) {
	o.text("ChildFrame", m.ChildFrameID)
	o.quaternion("Orientation", m.BodyPose.Orientation)
	o.number("ForwardSpeed", m.Twist.Linear[0])
	o.vector("Velocity", m.Twist.Linear)
	o.vector("AngularVelocity", m.Twist.Angular)
	o.vector("Position", m.BodyPose.Position)
	o.numbers("PoseCovariance", m.PoseCovariance[:]...)
	o.numbers("TwistCovariance", m.TwistCovariance[:]...)
}

func writeTransforms(o *object, topic *bridges.PublishedTopic, m *sample.Transforms) {
	o.text("Name", topic.Sensor)
	o.seconds("Time", m.Stamp)
	o.integer("StampNs", int64(m.Stamp))
	o.boolean("Static", m.Static)
	objects(o, "Data", m.Transforms, func(t *sample.Transform) {
		o.text("Frame", t.FrameID)
		o.text("ChildFrame", t.ChildFrameID)
		o.seconds("Time", t.Stamp)
		o.integer("StampNs", int64(t.Stamp))
		o.vector("Position", t.Relative.Position)
		o.quaternion("Orientation", t.Relative.Orientation)
	})
}

func writeLaserScan(o *object, m *sample.LaserScan) {
	o.number32("MinAngle", m.AngleMin)
	o.number32("MaxAngle", m.AngleMax)
	o.number32("AngleStep", m.AngleIncrement)
	o.number32("RangeMin", m.RangeMin)
	o.number32("RangeMax", m.RangeMax)
	o.number32("TimeIncrement", m.TimeIncrement)
	o.number32("ScanTime", m.ScanTime)
	transform := m.Pose.Mat4()
	o.numbers("Transform", transform[:]...)
	o.numbers32("Ranges", m.Ranges)
	o.numbers32("Intensities", m.Intensities)
}

func writeRange(o *object, m *sample.Range) {
	o.number32("MinimumDistance", m.Range)
	o.integer("Radiation", int64(m.RadiationType))
	o.number32("FieldOfView", m.FieldOfView)
	o.number32("RangeMin", m.MinRange)
	o.number32("RangeMax", m.MaxRange)
}

func writeRadar(o *object, m *sample.Radar) {
	objects(o, "Data", m.Detections, func(d *sample.RadarDetection) {
		o.number32("Velocity", d.Velocity)
		o.number32("Azimuth", d.Azimuth)
		o.number32("Altitude", d.Altitude)
		o.number32("Depth", d.Depth)
		o.integer("Instance", int64(d.Instance))
		o.integer("Tag", int64(d.Tag))
	})
}

func writeDvsEvents(o *object, m *sample.DvsEvents) {
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.number("FieldOfView", m.FovDeg)
	list(o, "Events", m.Events, func(e *sample.DvsEvent) {
		polarity := int64(0)
		if e.Polarity {
			polarity = 1
		}
		o.buf = append(o.buf, '[')
		for _, v := range [4]int64{int64(e.X), int64(e.Y), int64(e.TimeNs), polarity} {
			o.comma()
			o.buf = strconv.AppendInt(o.buf, v, 10)
		}
		o.buf = append(o.buf, ']')
	})
}

func writeSpeed(o *object, m *sample.Speed) {
	o.number("Speed", m.MetresPerSecond)
}

func writeCanBus(o *object, m *sample.CanBus) {
	o.number("Speed", m.Speed)
	o.number("Throttle", m.Throttle)
	o.number("Braking", m.Braking)
	o.number("Steering", m.Steering)
	o.boolean("ParkingBrake", m.ParkingBrake)
	o.boolean("HighBeamSignal", m.HighBeam)
	o.boolean("LowBeamSignal", m.LowBeam)
	o.boolean("HazardLights", m.HazardLights)
	o.boolean("FogLights", m.FogLights)
	o.boolean("LeftTurnSignal", m.LeftTurn)
	o.boolean("RightTurnSignal", m.RightTurn)
	o.boolean("Wipers", m.Wipers)
	o.boolean("InReverse", m.Reverse)
	o.integer("Gear", int64(m.Gear))
	o.boolean("EngineOn", m.EngineOn)
	o.number("EngineRPM", m.EngineRPM)
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.quaternion("Orientation", m.Orientation)
	o.vector("Velocity", m.Velocity)
}

func writeVehicleOdometry(o *object, m *sample.VehicleOdometry) {
	o.number("Speed", m.Velocity)
	o.number("SteeringAngleFront", m.FrontWheelAngle)
	o.number("SteeringAngleBack", m.RearWheelAngle)
}

func writeGpsOdometry(o *object, m *sample.GpsOdometry) {
	o.text("ChildFrame", m.ChildFrameID)
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.number("Northing", m.Northing)
	o.number("Easting", m.Easting)
	o.quaternion("Orientation", m.Orientation)
	o.number("ForwardSpeed", m.ForwardSpeed)
	o.vector("Velocity", m.Velocity)
	o.vector("AngularVelocity", m.AngularVelocity)
	o.number("WheelAngle", m.WheelAngle)
}

func writeInsStatus(o *object, m *sample.InsStatus) {
	o.integer("Status", int64(m.Status))
	o.integer("PositionType", int64(m.PositionType))
}

func (o *object) twist(t spatial.Twist) {
	o.vector("LinearVelocity", t.Linear)
	o.vector("AngularVelocity", t.Angular)
}

// plane writes a point or a size of a picture.
func (o *object) plane(name string, x, y float32) {
	o.key(name)
	o.begin()
	o.number32("x", x)
	o.number32("y", y)
	o.end()
}

func writeDetections2D(o *object, m *sample.Detections2D) {
	objects(o, "Data", m.Boxes, func(b *sample.Box2D) {
		o.integer("Id", int64(b.ID))
		o.text("Label", b.Label)
		o.number32("Score", b.Score)
		o.plane("Position", b.CenterX, b.CenterY)
		o.plane("Scale", b.Width, b.Height)
		o.twist(b.Twist)
		o.text("TypeId", b.TypeID)
		o.integer("Tag", int64(b.Tag))
		o.integer("Pixels", int64(b.Pixels))
		o.number32("Occlusion", b.Occlusion)
		o.number32("Truncation", b.Truncation)
	})
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
}

func writeDetections3D(o *object, m *sample.Detections3D) {
	objects(o, "Data", m.Boxes, func(b *sample.Box3D) {
		o.integer("Id", int64(b.ID))
		o.text("Label", b.Label)
		o.number32("Score", b.Score)
		o.vector("Position", b.Pose.Position)
		o.quaternion("Rotation", b.Pose.Orientation)
		o.vector("Scale", b.Size)
		o.twist(b.Twist)
		o.vector("Acceleration", b.Acceleration)
		o.text("TypeId", b.TypeID)
		o.integer("Tag", int64(b.Tag))
		o.number32("Occlusion", b.Occlusion)
	})
}

func writeRadarObjects(o *object, m *sample.RadarObjects) {
	objects(o, "Data", m.Objects, func(r *sample.RadarObject) {
		state := int64(1)
		if r.Moving {
			state = 0
		}
		o.integer("Id", int64(r.ID))
		o.vector("RelativePosition", r.Position)
		o.vector("RelativeVelocity", r.Velocity)
		o.vector("ColliderSize", r.Size)
		o.integer("State", state)
		o.boolean("NewDetection", r.New)
	})
}

func writeSignals(o *object, m *sample.Signals) {
	objects(o, "Data", m.Signals, func(s *sample.Signal) {
		o.integer("Id", int64(s.ID))
		o.text("Label", s.Label)
		o.number32("Score", s.Score)
		o.vector("Position", s.Pose.Position)
		o.quaternion("Rotation", s.Pose.Orientation)
		o.vector("Scale", s.Size)
	})
}

// pair writes who met whom.
func (o *object) pair(actor uint32, actorType string, other uint32, otherType string) {
	o.integer("Actor", int64(actor))
	o.text("ActorType", actorType)
	o.integer("Other", int64(other))
	o.text("OtherType", otherType)
}

func writeCollision(o *object, m *sample.Collision) {
	o.pair(m.Actor, m.ActorType, m.Other, m.OtherType)
	o.vector("NormalImpulse", m.NormalImpulse)
}

func writeObstacle(o *object, m *sample.Obstacle) {
	o.pair(m.Actor, m.ActorType, m.Other, m.OtherType)
	o.number32("Distance", m.Distance)
}

func writeLaneInvasion(o *object, m *sample.LaneInvasion) {
	o.integer("Actor", int64(m.Actor))
	objects(o, "Marks", m.Marks, func(mark *sample.CrossedMark) {
		o.integer("Id", int64(mark.ID))
		o.integer("Type", int64(mark.Type))
		o.integer("Color", int64(mark.Color))
	})
}

func writeLaneMarks(o *object, m *sample.LaneMarks) {
	objects(o, "Marks", m.Marks, func(mark *sample.LaneMark) {
		o.integer("Id", int64(mark.ID))
		o.integer("Type", int64(mark.Type))
		o.integer("Color", int64(mark.Color))
		list(o, "Points", mark.Points, func(at *mgl64.Vec3) { o.xyz(*at) })
	})
}

func writeLaneLines(o *object, m *sample.LaneLines) {
	objects(o, "Lines", m.Lines, func(l *sample.LaneLine) {
		o.number("LineWidth", l.Width)
		o.integer("Type", int64(l.Type))
		o.integer("PositionType", int64(l.Place))
		o.key("Curve")
		o.begin()
		o.number("MinX", l.MinX)
		o.number("MaxX", l.MaxX)
		for k, name := range [...]string{"C0", "C1", "C2", "C3"} {
			o.number(name, l.C[k])
		}
		o.end()
	})
}

func writeSnapshot(o *object, m *sample.Snapshot) {
	o.integer("FrameNumber", int64(m.Frame))
	o.integer("DeltaNs", m.DeltaNs)
	objects(o, "Actors", m.Actors, func(a *sample.ActorState) { writeActor(o, a) })
}

func writeActor(o *object, a *sample.ActorState) {
	o.integer("Id", int64(a.ID))
	o.text("TypeId", a.TypeID)
	o.vector("Position", a.Pose.Position)
	o.quaternion("Orientation", a.Pose.Orientation)
	o.twist(a.Twist)
	o.vector("Acceleration", a.Acceleration)
	o.vector("BoxCenter", a.BoxCenter)
	o.vector("BoxHalf", a.BoxHalf)
	switch a.Kind {
	case sample.KindVehicle:
		o.number32("Throttle", a.Throttle)
		o.number32("Braking", a.Braking)
		o.number32("Steering", a.Steering)
		o.integer("Gear", int64(a.Gear))
		o.boolean("InReverse", a.Reverse)
	case sample.KindTrafficLight:
		o.integer("Signal", int64(a.Signal))
		o.number32("SignalElapsed", a.SignalElapsed)
		o.number32("Red", a.Red)
		o.number32("Yellow", a.Yellow)
		o.number32("Green", a.Green)
	}
}
