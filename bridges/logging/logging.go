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
// The file is gzip (RFC 1952), in members of about a mebibyte of text, without
// a time of its own: equal messages in equal order give equal bytes (law T5).
// Each message is two lines of UTF-8 that end in LF: the type's name, a space
// and the topic; then one JSON object (RFC 8259). Its first keys are, but for a
// clock's, Name (the sensor), Frame, Time (the capture stamp in seconds, with
// nine decimals), StampNs (the same in nanoseconds, exact) and Sequence. After
// them come the keys that SVL has for the type, where the sample has the value,
// in SVL's order, and then what SVL has no key for:
//
//	sample           type                   keys
//	Clock            ClockData              Clock (seconds); StampNs
//	CompressedImage  ImageData              Width, Height, Bytes, Length; Format
//	Image            UncompressedImageData  Width, Height, Length, Encoding, IsBigEndian, Bytes; Step
//	CameraInfo       CameraInfoData         Width, Height, FocalLengthX, FocalLengthY, PrincipalPointX,
//	                                        PrincipalPointY, DistortionParameters (k1, k2, k3, 0 of plumb_bob);
//	                                        DistortionModel, D, K, R, P
//	PointCloud       PointCloudData         LaserCount, Transform, Points, PointCount;
//	                                        Organized, Columns, Rings, Returns, TimesNs
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
//
// These have no counterpart in SVL:
//
//	Radar            RadarData              Data: Velocity, Azimuth, Altitude, Depth, Instance, Tag each
//	DvsEvents        DvsEventsData          Width, Height, FieldOfView, Events
//	Speed            SpeedData              Speed
//	Collision        CollisionData          Actor, ActorType, Other, OtherType, NormalImpulse
//	Obstacle         ObstacleData           Actor, ActorType, Other, OtherType, Distance
//	LaneInvasion     LaneInvasionData       Actor, Marks: Id, Type, Color each
//	Snapshot         SnapshotData           FrameNumber, DeltaNs, Actors: Id, TypeId, Position, Orientation, LinearVelocity,
//	                                        AngularVelocity, Acceleration, BoxCenter, BoxHalf each; of vehicles Throttle,
//	                                        Braking, Steering, Gear, InReverse; of lights Signal, SignalElapsed, Red,
//	                                        Yellow, Green (seconds)
//
// Axes and units are the sample's (REP-103), not SVL's left-handed ones. Bytes
// are base64 (RFC 4648, section 4), of the valid bytes alone; vectors are
// {x, y, z}, quaternions {x, y, z, w}, matrices flat: Transform, the sensor in
// the map, column by column as in SVL, K, R, P and covariances row by row.
// Points is a list of [x, y, z, intensity]; Rings, Returns and TimesNs are lists
// of the same length; Events one of [x, y, nanoseconds, polarity]. An ImageData whose picture can't be read has no Width and
// Height. JSON has no NaN and no infinity: they are the strings "NaN",
// "Infinity" and "-Infinity", as in protobuf's JSON.
//
// # Reading
//
// [Open] and [Reader] read a log back, message by message, also one that was cut off; what
// becomes of the JSON is the caller's matter.
//
// # Failure
//
// A member of the file is complete when a message fills it up. When a write
// fails, the file is cut back to its last complete member; what is cut off, and
// everything after it, is counted as write_failed. So is all of a file that was removed,
// renamed, replaced or truncated, at the next member or at the end.
package logging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
)

// Factory is the bridge named "logging".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "logging", Type: "logging", Kind: bridges.KindFile,
		Summary:    "writes every message as a line of JSON to NAME.txt.gz",
		Connection: "NAME",
	}
}

// Register declares every sample under SVL's name for it.
func (Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, k := range kinds {
		errs = append(errs, k.register(p))
	}
	return errors.Join(errs...)
}

// NewInstance returns a log of one run.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env), nil }

// RegCodec lets the bridge log one more type, whose Append appends a message as JSON without
// line breaks. Of its schema only the name is used.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.Register(p, pub.Type, func(b bridges.Instance, info *bridges.PublishedTopic, _ bridges.Schema) (bridges.Send[bridges.Append], error) {
		t := b.(*instance).addTopic(info)
		return func(_ context.Context, encode bridges.Append, _ int64) error {
			return t.log(func(o *object) error {
				start := len(o.buf)
				buf, err := encode(o.buf)
				if err == nil && bytes.IndexByte(buf[start:], '\n') >= 0 {
					err = fmt.Errorf("the JSON of %s has a line break", pub.Type)
				}
				o.buf = buf
				return err
			})
		}, nil
	})
}

// RegPublication lets the bridge log one more type, as a ROS message in JSON with ROS 2's
// names.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, pub.Type, func(b bridges.Instance, info *bridges.PublishedTopic, _ string) (ros.Send, error) {
		t := b.(*instance).addTopic(info)
		var encoder encode.TreeEncoder
		return func(_ context.Context, message ros.Message, _ int64) error {
			return t.log(func(o *object) error {
				o.buf = encoder.Append(o.buf, message)
				return encoder.Err()
			})
		}, nil
	})
}

// register declares T; encode appends one message's JSON.
func register[T any](p *bridges.Plugin, typeName string, encode func(*object, *bridges.PublishedTopic, T) error) error {
	if err := bridges.AddType[T](p, typeName); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t := b.(*instance).addTopic(info)
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return t.log(func(o *object) error { return encode(o, info, msg) })
		}, nil
	})
}

// log writes the two lines of a message, whose JSON encode appends.
func (t *topic) log(encode func(*object) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines.buf = append(t.lines.buf[:0], t.prefix...)
	if err := encode(&t.lines); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.lines.buf = append(t.lines.buf, '\n')
	return t.instance.write(t, t.lines.buf)
}

const extension = ".txt.gz"

// memberSize is the text in one gzip member, bytes, from which it is closed.
const memberSize = 1 << 20

// instance logs one run. It is a bridges.Instance and a bridges.Failer.
type instance struct {
	bridges.State
	env bridges.Env
	// create makes the file to log to.
	create func(path string) (*recordfile.File, error)

	mu     sync.Mutex
	topics []*topic         // guarded by mu
	path   string           // guarded by mu
	file   *recordfile.File // guarded by mu: nil while not connected
	gzip   *gzip.Writer     // guarded by mu
	// text is the number of bytes in the open member, pending its messages;
	// guarded by mu.
	text    int
	pending []*topic
	err     error // guarded by mu: what ended the log
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	// prefix is the first line.
	prefix []byte
	// messages and bytes are in the open member, allMessages and allBytes in all that the
	// file has; guarded by instance.mu.
	messages, allMessages int
	bytes, allBytes       int64

	mu    sync.Mutex
	lines object // guarded by mu: the two lines, its memory reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func newInstance(env bridges.Env) *instance { return &instance{env: env, create: recordfile.Create} }

// Err returns what ended the last log early.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

func (i *instance) addTopic(info *bridges.PublishedTopic) *topic {
	t := &topic{instance: i, info: info, prefix: []byte(info.Wire + " " + info.Name + "\n")}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.topics = append(i.topics, t)
	return t
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := logPath(connection, i.env.OutDir)
	return err
}

// Connect begins a log.
func (i *instance) Connect(ctx context.Context, connection string) error {
	if err := i.Disconnect(ctx); err != nil {
		i.env.Log.Error("end the former log", "error", err)
	}
	path, err := logPath(connection, i.env.OutDir)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.path = nil, path
	for _, t := range i.topics {
		t.allMessages, t.allBytes = 0, 0
	}
	file, err := i.create(path)
	if err != nil {
		i.SetStatus(bridges.UnexpectedlyDisconnected)
		return err
	}
	compressor, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	i.file, i.gzip = file, compressor
	i.beginMember()
	i.SetStatus(bridges.Connected)
	return nil
}

// logPath returns the file that a connection string names.
func logPath(connection, outDir string) (string, error) {
	name, _, err := bridges.SplitOptions(connection)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, extension)
	if base := filepath.Base(name); name == "" || strings.HasSuffix(name, "/") || base == "." || base == ".." {
		return "", fmt.Errorf("%w: %q is no file name; want NAME, for NAME%s", bridges.ErrConnectionString, connection, extension)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(outDir, name)
	}
	return name + extension, nil
}

// write logs the lines of one message.
func (i *instance) write(t *topic, lines []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		if i.err != nil {
			return i.err
		}
		return bridges.ErrNotConnected
	}
	if _, err := i.gzip.Write(lines); err != nil {
		return i.fail(err)
	}
	if t.messages == 0 {
		i.pending = append(i.pending, t)
	}
	t.messages++
	t.bytes += int64(len(lines))
	t.info.Sent(len(lines))
	i.text += len(lines)
	if i.text < memberSize {
		return nil
	}
	if err := i.endMember(); err != nil {
		return i.fail(err)
	}
	i.beginMember()
	return nil
}

// beginMember begins a gzip member without a time; mu must be held.
func (i *instance) beginMember() {
	i.gzip.Reset(i.file)
	i.gzip.ModTime = time.Unix(0, 0) // the header's number 0: none
}

// endMember completes the open gzip member; mu must be held.
func (i *instance) endMember() error {
	if err := i.gzip.Close(); err != nil {
		return err
	}
	if err := i.file.Commit(); err != nil {
		return err
	}
	i.forget(false)
	return nil
}

// forget empties the open member's account, after counting its messages as lost
// if they are; mu must be held.
func (i *instance) forget(lost bool) {
	for _, t := range i.pending {
		if lost {
			t.info.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
		} else {
			t.allMessages += t.messages
			t.allBytes += t.bytes
		}
		t.messages, t.bytes = 0, 0
	}
	i.pending, i.text = i.pending[:0], 0
}

// missing counts all messages as lost if the file was removed, renamed, replaced or
// truncated; mu must be held.
func (i *instance) missing(file *recordfile.File) error {
	err := file.Place().Check()
	if err == nil {
		return nil
	}
	for _, t := range i.topics {
		if t.allMessages > 0 {
			t.info.Lost(t.allMessages, t.allBytes, flow.CauseWriteFailed)
		}
		t.allMessages, t.allBytes = 0, 0
	}
	return err
}

// fail ends the log after a failed write and cuts the file back to its last
// complete member; mu must be held.
func (i *instance) fail(cause error) error {
	file := i.file
	i.file = nil
	i.SetStatus(bridges.UnexpectedlyDisconnected)
	i.forget(true)
	if errors.Is(cause, recordfile.ErrRemoved) {
		cause = nil // missing tells
	} else {
		cause = errors.Join(cause, file.Rewind(file.Committed()))
	}
	i.err = fmt.Errorf("log to %s: %w: %w", i.path, bridges.ErrWriteFailed,
		errors.Join(cause, file.Close(), i.missing(file)))
	i.env.Log.Error("log ended early; what it had stays readable", "error", i.err)
	return i.err
}

// Disconnect completes the file. It returns again what ended a log early.
func (i *instance) Disconnect(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return i.err
	}
	i.SetStatus(bridges.Disconnecting)
	if err := i.endMember(); err != nil {
		return i.fail(err)
	}
	file := i.file
	i.file = nil
	if err := errors.Join(file.Close(), i.missing(file)); err != nil {
		i.SetStatus(bridges.UnexpectedlyDisconnected)
		i.err = fmt.Errorf("finish %s: %w: %w", i.path, bridges.ErrWriteFailed, err)
		return i.err
	}
	i.SetStatus(bridges.Disconnected)
	return nil
}
