// Package logging is the bridge that writes messages as text, for scripts that
// want no robotics library: SVL's logging bridge, with its names.
//
// # Connection
//
// "logging:NAME" writes NAME.txt.gz, below the run's output folder unless NAME
// is an absolute path; folders are made as needed, an older file is replaced.
//
// # Format
//
// The file is gzip (RFC 1952), in members of about a mebibyte of text, without a time of its
// own. So equal messages in equal order give equal bytes (law T5). Each message is two lines of
// UTF-8 that end in LF: the type's name, a space and the topic; then one JSON object (RFC 8259).
// Its first keys are Name (the sensor), Frame, Time (the capture stamp in seconds, with nine
// decimals), StampNs (the same in nanoseconds, exact) and Sequence. A clock has none of these.
// After them come the keys that SVL has for the type, where the sample has the value, in SVL's
// order. Then come the keys that SVL doesn't have:
//
//	sample           type                   keys
//	Clock            ClockData              Clock (seconds); StampNs
//	CompressedImage  ImageData              Width, Height, Bytes, Length; Format
//	Image            UncompressedImageData  Width, Height, Length, Encoding, IsBigEndian, Bytes; Step
//	CameraInfo       CameraInfoData         Width, Height, FocalLengthX, FocalLengthY, PrincipalPointX,
//	                                        PrincipalPointY, DistortionParameters (k1, k2, k3, 0 of plumb_bob);
//	                                        DistortionModel, D, K, R, P
//	PointCloud       PointCloudData         LaserCount, Transform, Points, PointCount;
//	                                        Organized, Columns, Rings, Returns, TimesNs; ReturnMode and Rays
//	                                        where a firing has several points
//	Imu              ImuData                Position, Orientation, Acceleration, AngularVelocity;
//	                                        OrientationCovariance, AngularVelocityCovariance, AccelerationCovariance
//	GnssFix          GpsData                Latitude, Longitude, Altitude, PositionCovariance, Orientation;
//	                                        Status, Service, PositionCovarianceType
//	Odometry         GpsOdometryData        ChildFrame, Orientation, ForwardSpeed, Velocity, AngularVelocity;
//	                                        Position, PoseCovariance, TwistCovariance
//	Transforms       TransformsData         Static, Data: Frame, ChildFrame, Time, StampNs, Position, Orientation each
//	LaserScan        LaserScanData          MinAngle, MaxAngle, AngleStep, RangeMin, RangeMax, TimeIncrement, ScanTime,
//	                                        Transform; Ranges, Intensities
//	Range            UltrasonicData         MinimumDistance; Radiation, FieldOfView, RangeMin, RangeMax
//	RadarObjects     DetectedRadarObjectData Data: Id, RelativePosition, RelativeVelocity, ColliderSize, State, NewDetection each
//	CanBus           CanBusData             Speed, Throttle, Braking, Steering, ParkingBrake, HighBeamSignal, LowBeamSignal,
//	                                        HazardLights, FogLights, LeftTurnSignal, RightTurnSignal, Wipers, InReverse, Gear,
//	                                        EngineOn, EngineRPM, Latitude, Longitude, Altitude, Orientation, Velocity
//	VehicleOdometry  VehicleOdometryData    Speed, SteeringAngleFront, SteeringAngleBack (radians, positive to the left)
//	GpsOdometry      GpsOdometryData        ChildFrame, Latitude, Longitude, Altitude, Northing, Easting, Orientation,
//	                                        ForwardSpeed, Velocity, AngularVelocity, WheelAngle
//	InsStatus        GpsInsData             Status, PositionType
//	Detections2D     Detected2DObjectData   Data: Id, Label, Score, Position, Scale, LinearVelocity, AngularVelocity;
//	                                        TypeId, Tag, Pixels, Occlusion, Truncation each; Width, Height
//	Detections3D     Detected3DObjectData   Data: Id, Label, Score, Position, Rotation, Scale, LinearVelocity,
//	                                        AngularVelocity, Acceleration; TypeId, Tag, Occlusion each
//	Signals          SignalDataArray        Data: Id, Label, Score, Position, Rotation, Scale each
//	LaneLines        LaneLinesData          Lines: LineWidth, Type, PositionType, Curve: MinX, MaxX, C0 to C3 each
//
// These have no counterpart in SVL:
//
//	Radar            RadarData              Data: Velocity, Azimuth, Altitude, Depth, Instance, Tag each
//	DvsEvents        DvsEventsData          Width, Height, FieldOfView, Events
//	Speed            SpeedData              Speed
//	Collision        CollisionData          Actor, ActorType, Other, OtherType, NormalImpulse
//	Obstacle         ObstacleData           Actor, ActorType, Other, OtherType, Distance
//	LaneInvasion     LaneInvasionData       Actor, Marks: Id, Type, Color each
//	LaneMarks        LaneMarksData          Marks: Id, Type, Color, Points each
//	Snapshot         SnapshotData           FrameNumber, DeltaNs, Actors: Id, TypeId, Position, Orientation, LinearVelocity,
//	                                        AngularVelocity, Acceleration, BoxCenter, BoxHalf each; of vehicles Throttle,
//	                                        Braking, Steering, Gear, InReverse; of lights Signal, SignalElapsed, Red,
//	                                        Yellow, Green (seconds)
//
// Axes and units are the sample's (REP-103), not SVL's left-handed ones. Bytes are base64 (RFC
// 4648, section 4), of the valid bytes alone. Vectors are {x, y, z} and quaternions {x, y, z, w}.
// Matrices are flat: Transform, the sensor in the map, column by column as in SVL, K, R, P and
// covariances row by row. Points is a list of [x, y, z, intensity]. Rings, Returns and TimesNs are
// lists of the same length, Events one of [x, y, nanoseconds, polarity]. An ImageData whose picture
// can't be read has no Width and Height. JSON has no NaN and no infinity: they are the strings
// "NaN", "Infinity" and "-Infinity", as in protobuf's JSON.
//
// # Reading
//
// [Open] and [Reader] read a log back, message by message, also one that was cut off; what
// becomes of the JSON is the caller's matter.
//
// # Failure
//
// A member of the file is complete when a message fills it up. When a write fails, the file is
// cut back to its last complete member. Messages that are cut off, and all after them, are
// counted as write_failed. If the file was removed, renamed, replaced or truncated, the next
// member or the end finds that, and all its messages count so.
package logging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// Factory is the bridge named "logging".
type Factory struct {
	// Open makes what is written to in the place of the file at path. (optional; nil makes
	// files)
	Open func(path string) (bridges.Target, error)
}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "logging", Type: "logging", Kind: bridges.KindFile,
		Summary:    "writes every message as a line of JSON to NAME.txt.gz",
		Connection: "NAME",
	}
}

// Register declares every sample under SVL's name for it.
func (f Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, k := range kinds {
		errs = append(errs, k.Register(p, k.Type, open))
	}
	return errors.Join(append(errs, ros.CarryMirrors(p, f))...)
}

// NewInstance returns a log of one run.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := &instance{}
	i.Env, i.Read, i.Open = env, i.read, f.Open
	return i, nil
}

// CodecEncoding says that a schema's encoding isn't looked at.
func (Factory) CodecEncoding() string { return "" }

// RegCodec lets the bridge log one more type, whose Append appends a message as JSON without
// line breaks. Of its schema only the name is used.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return bridges.PublishAs(pub, pub.Type, func() func(bridges.Append) message {
		return boxed(func(o *object, _ *bridges.PublishedTopic, encode bridges.Append) error {
			start := len(o.buf)
			buf, err := encode(o.buf)
			if err == nil && bytes.IndexByte(buf[start:], '\n') >= 0 {
				err = fmt.Errorf("the JSON of %s has a line break", pub.Type)
			}
			o.buf = buf
			return err
		})
	}).Register(p, pub.Type, open)
}

// RegPublication lets the bridge log one more type, as a ROS message in JSON with ROS 2's
// names.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return bridges.PublishAs(pub, pub.Type, func() func(ros.Message) message {
		var encoder encode.TreeEncoder
		return boxed(func(o *object, _ *bridges.PublishedTopic, m ros.Message) error {
			o.buf = encoder.Append(o.buf, m)
			return encoder.Err()
		})
	}).Register(p, pub.Type, open)
}

// open adds a topic to the log.
func open(i bridges.Instance, info *bridges.PublishedTopic, _ string) (bridges.Send[message], error) {
	t := i.(*instance).addTopic(info)
	return func(_ context.Context, m message, _ simtime.Stamp) error { return t.log(m) }, nil
}

// log writes the two lines of a message. It is called by one goroutine at a time.
func (t *topic) log(encode message) error {
	t.lines.buf = append(t.lines.buf[:0], t.prefix...)
	if err := encode(&t.lines, t.info); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.lines.buf = append(t.lines.buf, '\n')
	return t.instance.write(t, t.lines.buf)
}

const extension = ".txt.gz"

// memberSize is the text in one gzip member, bytes, from which it is closed.
const memberSize = 1 << 20

// instance logs one run.
type instance struct {
	bridges.Recorder[*log]
	topics []*topic // guarded by the lock
}

// log is the file of one connection. The instance's lock guards it.
type log struct {
	*bridges.File
	instance *instance
	gzip     *gzip.Writer
	text     int      // bytes in the open member
	pending  []*topic // those with messages in the open member
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	// prefix is the first line.
	prefix []byte
	// messages and bytes are in the open member, allMessages and allBytes in all that the
	// file has; guarded by the instance's lock.
	messages, allMessages int
	bytes, allBytes       int64
	lines                 object // the two lines of a message, its memory reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func (i *instance) addTopic(info *bridges.PublishedTopic) *topic {
	t := &topic{instance: i, info: info, prefix: []byte(info.Wire + " " + info.Name + "\n")}
	i.Lock()
	defer i.Unlock()
	i.topics = append(i.topics, t)
	return t
}

// read reads a connection string; what it returns begins the log.
func (i *instance) read(connection string) (begin func() (*log, error), err error) {
	path, err := logPath(connection, i.Env.OutDir)
	return func() (*log, error) {
		for _, t := range i.topics {
			t.allMessages, t.allBytes = 0, 0
		}
		file, err := i.Create(path)
		if err != nil {
			return nil, err
		}
		l := &log{File: file, instance: i}
		if l.gzip, err = gzip.NewWriterLevel(file, gzip.BestSpeed); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		l.beginMember()
		return l, nil
	}, err
}

// logPath returns the file that a connection string names.
func logPath(connection, outDir string) (string, error) {
	name, _, err := bridges.ReadOptions(connection, &struct{}{})
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, extension), ".txt")
	if base := filepath.Base(name); name == "" || strings.HasSuffix(name, "/") || base == "." || base == ".." {
		return "", fmt.Errorf("%w: %q is not a file name; want NAME, for NAME%s", bridges.ErrConnectionString, connection, extension)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(outDir, name)
	}
	return name + extension, nil
}

// write logs the lines of one message.
func (i *instance) write(t *topic, lines []byte) error {
	i.Lock()
	defer i.Unlock()
	l, err := i.Recording()
	if err != nil {
		return err
	}
	if err := l.write(t, lines); err != nil {
		return i.Fail(err)
	}
	return nil
}

func (l *log) write(t *topic, lines []byte) error {
	if _, err := l.gzip.Write(lines); err != nil {
		return err
	}
	if t.messages == 0 {
		l.pending = append(l.pending, t)
	}
	t.messages++
	t.bytes += int64(len(lines))
	t.info.Sent(len(lines))
	l.text += len(lines)
	if l.text < memberSize {
		return nil
	}
	if err := l.End(); err != nil {
		return err
	}
	l.beginMember()
	return nil
}

// beginMember begins a gzip member without a time.
func (l *log) beginMember() {
	l.gzip.Reset(l.File)
	l.gzip.ModTime = time.Unix(0, 0) // the header's number 0: none
}

// End completes the open gzip member.
func (l *log) End() error {
	if err := l.gzip.Close(); err != nil {
		return err
	}
	if err := l.Commit(); err != nil {
		return err
	}
	l.forget(false)
	return nil
}

// forget empties the open member's account, after counting its messages as lost
// if they are.
func (l *log) forget(lost bool) {
	for _, t := range l.pending {
		if lost {
			t.info.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
		} else {
			t.allMessages += t.messages
			t.allBytes += t.bytes
		}
		t.messages, t.bytes = 0, 0
	}
	l.pending, l.text = l.pending[:0], 0
}

// Salvage cuts the file back to its last complete member, and counts the messages of the open
// one as lost.
func (l *log) Salvage() error {
	l.forget(true)
	return l.File.Salvage()
}

// Settle closes the file, and counts all messages as lost if it isn't at its place.
func (l *log) Settle() error {
	err := l.File.Settle()
	if !errors.Is(err, bridges.ErrRemoved) {
		return err
	}
	for _, t := range l.instance.topics {
		if t.allMessages > 0 {
			t.info.Lost(t.allMessages, t.allBytes, flow.CauseWriteFailed)
		}
		t.allMessages, t.allBytes = 0, 0
	}
	return err
}
