// Package mcap is the bridge that records to MCAP files, and the reader of such
// recordings.
//
// # Connection
//
// "mcap:PATH" with PATH ending in .mcap writes that file. Any other PATH is a
// rosbag2 folder: PATH/NAME_0.mcap and PATH/metadata.yaml, with NAME the
// folder's own name, as `ros2 bag record` lays it out. Relative paths lie below
// the run's output folder; folders are made as needed; an older recording of
// the same name is replaced. After a question mark:
//
//	profile=ros2|ros1|foxglove  what the messages are, ros2 by default
//	split=SIZE              a new file when one has this size, such as 500MB
//	split_time=TIME         a new file when one covers this simulation time, such as 60s
//	metadata=5|9            form of metadata.yaml: 5 (default) is read by ROS 2
//	                        Humble and later, 9 by Jazzy and later; it decides
//	                        on the form of the offered QoS in the file too
//	compression=zstd|lz4|none   of the chunks; zstd by default
//	chunk=SIZE              size from which a chunk is closed, 1MiB by default
//	flush=TIME              close chunks that are older, by the wall clock
//
// # Profiles
//
// ros2 is what rosbag2 writes: CDR with ros2msg schemas, the offered quality of
// service in each channel's metadata. ros1 is ROS 1's serialisation with its
// definitions and md5 sums; boxes are lgsvl_msgs' there, all else is as in
// ROS 2. foxglove is protobuf with Foxglove's own schemas, and ROS 2 messages
// for samples that they have no schema for. A rosbag2 folder is always ros2.
//
// # Split recordings
//
// Files are then NAME_0.mcap, NAME_1.mcap and so on. Each is complete in itself:
// it has all schemas and channels, and begins with what latched topics
// (transient local, such as /tf_static) had published last, with its number and
// its own publish time, at the log time of the split. A file ends with the chunk
// that makes it as large as split, so it is larger by up to a chunk and the
// summary.
//
// # Times
//
// A message's log time is the simulation time at which it was handed over
// (bridges.Env.Now), its publish time the capture stamp. Its sequence counts
// the topic's recorded messages from 1. Channels are numbered in the order in
// which publishers were added. Equal messages in equal order give equal bytes
// (law T5).
//
// # Failure
//
// A chunk is closed when it has its size, or when a message comes a second of
// log time after its first; it then goes to the operating system, so that a
// killed process loses the open chunk alone. flush bounds that in wall time too,
// for runs that are slower than time or paused: the first message that comes so
// long after a chunk's first closes it. Such a recording's bytes depend on how
// fast the machine was, so it is off by default. [Open] reads what a killed
// process leaves, and [Recover] finishes it.
//
// When a write fails the file is cut back to its last complete chunk and
// finished there: it stays readable. Messages after that are counted lost
// (write_failed), the bridge's status is unexpectedly_disconnected, and Err
// tells what happened. It is the same for a file that was removed, which the next chunk
// tells, and for files that are not at their place at the end.
//
// # Reading
//
// [Open] gives a recording's messages as samples, in the order of their log
// times: of all three profiles, of other programs' files as far as the types are
// known, without chunks or a summary too. A cloud is read by its fields. What a
// message doesn't carry is lost: the pose of the sensor, a cloud's lasers that
// gave no return, an actor's type. What carries several samples is read as the
// most common one: nav_msgs/Odometry as Odometry, Foxglove's SceneUpdate as boxes.
// Of a ROS 2 message whose definition differs from ours nothing but its decoding
// tells: it fails, and is counted.
package mcap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Factory is the bridge named "mcap".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "mcap", Type: "mcap", Kind: bridges.KindFile,
		Summary:    "records to MCAP files or a rosbag2 folder, as ROS 2, ROS 1 or Foxglove messages",
		Connection: "FILE.mcap|FOLDER", Options: known,
	}
}

// Register declares the message of every sample that ROS has one for. What it has no
// type for (InsStatus, Obstacle, Snapshot) isn't recorded. In ROS 2 boxes are
// vision_msgs', which RViz and Foxglove show, in ROS 1 lgsvl_msgs'. Types are listed by
// their ROS 2 names; a recording of another profile has its own in the statistics.
func (Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, c := range messages() {
		errs = append(errs, c.register(p))
	}
	return errors.Join(errs...)
}

// RegPublication lets the bridge record one more type: as a ROS 1 message in profile ros1,
// in the others as a ROS 2 message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return carriers{pub, pub}.register(p)
}

// NewInstance returns a recorder of one run.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env), nil }

// Target is what a recording is written to; *os.File is one. One goroutine uses
// it at a time. It is empty when the recording begins, and closed at its end.
// Truncate and Seek cut a recording back that the target refuses to take more of.
type Target interface {
	io.Writer
	io.Seeker
	io.Closer
	Truncate(size int64) error
}

// FactoryOn is the factory of recorders that write to targets of one's own
// instead of files: memory, a device, nothing at all. A rosbag2 folder's
// metadata.yaml still goes to the folder, which must be there.
type FactoryOn struct {
	Factory
	// Open makes the target of the recording that would have gone to path. It is
	// called by Connect, and by publishers where a recording is split. (optional; nil
	// makes files, as Factory does)
	Open func(path string) (Target, error)
}

// NewInstance returns a recorder that writes to the factory's targets.
func (f FactoryOn) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env)
	if f.Open == nil {
		return i, nil
	}
	i.create = func(path string) (*recordfile.File, error) {
		target, err := f.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open target of the recording: %w", err)
		}
		return recordfile.New(target), nil
	}
	return i, nil
}

// RegCodec lets the bridge record one more type, equally in all profiles.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.RegisterSample(p, pub.Type, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		convert := pub.Converter()
		own := &format{schema: pub.Schema, encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			encode, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return encode(dst)
		}}
		t, err := b.(*instance).addTopic(info, func(profile) (*format, error) { return own, nil })
		if err != nil {
			return nil, err
		}
		return t.publish, nil
	})
}

// instance records one run. It is a bridges.Instance and a bridges.Failer.
type instance struct {
	bridges.State
	env bridges.Env
	// create makes the file to record to.
	create func(path string) (*recordfile.File, error)
	// now is the wall clock, in nanoseconds from any origin; recordings with a flush
	// time alone read it.
	now func() int64

	mu     sync.Mutex
	topics []*topic // guarded by mu: in the order of addition, which numbers the channels
	rec    *series  // guarded by mu: nil while not connected
	opts   options  // guarded by mu
	err    error    // guarded by mu: what ended the recording
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	formats  formats
	// format is how the topic stands in the recording: that of the last one while
	// there is none, nil before the first.
	format   atomic.Pointer[format]
	channel  int       // guarded by instance.mu: the recorder's index
	sequence uint32    // guarded by instance.mu: of the last message
	latest   []latched // guarded by instance.mu: what later files repeat

	mu  sync.Mutex
	buf []byte // guarded by mu: the encoded message, reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func newInstance(env bridges.Env) *instance {
	begun := time.Now()
	return &instance{env: env, create: recordfile.Create, now: func() int64 { return int64(time.Since(begun)) }}
}

// Err returns what ended the last recording early.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parseConnection(connection, i.env.OutDir)
	return err
}

// Connect begins a recording.
func (i *instance) Connect(ctx context.Context, connection string) error {
	if err := i.Disconnect(ctx); err != nil {
		i.env.Log.Error("end the former recording", "error", err)
	}
	opts, err := parseConnection(connection, i.env.OutDir)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.opts = nil, opts
	if err := i.open(); err != nil {
		i.SetStatus(bridges.UnexpectedlyDisconnected)
		return err
	}
	i.SetStatus(bridges.Connected)
	return nil
}

// open makes the first file with all topics; mu must be held.
func (i *instance) open() error {
	if err := i.opts.removeFormer(); err != nil {
		return err
	}
	rec := &series{opts: i.opts, create: i.create, run: i.env.Run, now: i.now}
	for _, t := range i.topics {
		t.sequence, t.latest = 0, nil
		if err := t.setFormat(i.opts.profile); err != nil {
			return err
		}
	}
	rec.topics = i.topics[:len(i.topics):len(i.topics)]
	if err := rec.begin(); err != nil {
		return err
	}
	i.rec = rec
	return nil
}

// addTopic makes a topic and adds it to the recording if there is one.
func (i *instance) addTopic(info *bridges.PublishedTopic, formats formats) (*topic, error) {
	t := &topic{instance: i, info: info, formats: formats}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec != nil {
		if err := t.setFormat(i.opts.profile); err != nil {
			return nil, err
		}
		if err := i.rec.add(t); err != nil {
			_ = i.fail(err) // which the topic's publisher returns
		}
	}
	i.topics = append(i.topics, t)
	return t, nil
}

// setFormat decides how the topic is recorded; instance.mu must be held.
func (t *topic) setFormat(p profile) error {
	if err := p.checkTopic(t.info.Name); err != nil {
		return err
	}
	f, err := t.formats(p)
	if err != nil {
		return fmt.Errorf("record %q: %w", t.info.Name, err)
	}
	t.format.Store(f)
	t.info.SetWire(f.schema.Name)
	return nil
}

// publish records one sample.
func (t *topic) publish(ctx context.Context, sample bridges.Stamped) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := t.format.Load()
	if f == nil {
		return bridges.ErrNotConnected
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := f.encode(t.buf[:0], sample)
	if errors.Is(err, bridges.ErrConvert) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.buf = data
	stamp := sample.Stamp()
	return t.write(f, t.instance.env.HandedOver(stamp), stamp, data)
}

// write records the message of a topic, encoded in a format. Times are nanoseconds.
func (t *topic) write(f *format, logTime, publishTime int64, data []byte) error {
	if logTime < 0 || publishTime < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: MCAP has no negative times", bridges.ErrConvert, logTime, publishTime)
	}
	i := t.instance
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec == nil || t.format.Load() != f { // or somebody connected anew meanwhile
		if i.err != nil {
			return i.err
		}
		return bridges.ErrNotConnected
	}
	if err := i.rec.write(t, uint64(logTime), uint64(publishTime), data); err != nil {
		return i.fail(err)
	}
	return nil
}

// fail ends the recording after a failed write, keeping what is complete; mu
// must be held.
func (i *instance) fail(cause error) error {
	rec := i.rec
	i.rec = nil
	i.SetStatus(bridges.UnexpectedlyDisconnected)
	if errors.Is(cause, recordfile.ErrRemoved) {
		cause = nil // missing tells of all files
	}
	i.err = fmt.Errorf("record to %s: %w: %w", i.opts.path(rec.number), bridges.ErrWriteFailed,
		errors.Join(cause, rec.salvage(), rec.missing(), i.writeMetadata(rec)))
	i.env.Log.Error("recording ended early; its complete chunks stay readable", "error", i.err)
	return i.err
}

// Disconnect finishes the recording. It returns again what ended a recording
// early.
func (i *instance) Disconnect(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec == nil {
		return i.err
	}
	i.SetStatus(bridges.Disconnecting)
	rec := i.rec
	if err := rec.end(); err != nil {
		return i.fail(err)
	}
	i.rec = nil
	if err := errors.Join(rec.missing(), i.writeMetadata(rec)); err != nil {
		i.SetStatus(bridges.UnexpectedlyDisconnected)
		i.err = fmt.Errorf("finish %s: %w: %w", i.opts.path(rec.number), bridges.ErrWriteFailed, err)
		return i.err
	}
	i.SetStatus(bridges.Disconnected)
	return nil
}

// writeMetadata writes the rosbag2 folder's metadata.yaml; mu must be held.
func (i *instance) writeMetadata(rec *series) error {
	if i.opts.folder == "" || len(rec.former) == 0 {
		return nil
	}
	path := filepath.Join(i.opts.folder, metadataFile)
	if err := os.WriteFile(path, []byte(rec.metadata().yaml()), 0o666); err != nil {
		return fmt.Errorf("write metadata: %w", err)
	}
	return nil
}

// profile is what a recording's messages are, by the name in a connection string.
type profile string

// Profiles.
const (
	profileROS2     profile = "ros2"
	profileROS1     profile = "ros1"
	profileFoxglove profile = "foxglove"
)

// header is the profile's name in a file's header. What Foxglove's schemas are used in
// has no name of its own (MCAP's registry, "Profiles").
func (p profile) header() string {
	if p == profileFoxglove {
		return ""
	}
	return string(p)
}

// nameOfROS1 is a topic of ROS 1 (wiki.ros.org/Names), as bridge ros1 has them.
var nameOfROS1 = regexp.MustCompile(`^/[A-Za-z]\w*(/\w+)*$`)

// checkTopic returns an error that wraps bridges.ErrTopicName for a topic that the profile's
// programs couldn't play or read back. MCAP itself, and Foxglove, allow any name.
func (p profile) checkTopic(name string) error {
	switch {
	case p == profileROS1 && !nameOfROS1.MatchString(name):
		return fmt.Errorf("%w %q: profile=ros1 wants ROS 1's /name or /space/name of letters, digits and underscores, a letter first", bridges.ErrTopicName, name)
	case p == profileROS2 && !ros.ValidTopic(name):
		return fmt.Errorf("%w %q: ROS 2 wants /name or /space/name of letters, digits and single underscores, no digit first", bridges.ErrTopicName, name)
	default:
		return nil
	}
}

// format is how the messages of one topic stand in one recording.
type format struct {
	schema bridges.Schema
	// md5 is ROS 1's sum of the message's definition, empty for others.
	md5 string
	// encode appends a sample's message; it is called by one goroutine at a time.
	encode func(dst []byte, sample bridges.Stamped) ([]byte, error)
}

// formats makes a topic's format for a recording of a profile.
type formats func(p profile) (*format, error)

// format makes a topic's format for a recording of a profile.
func (c carriers) format(p profile) (*format, error) {
	switch p {
	case profileROS1:
		return ros1Format(c.ros1)
	case profileFoxglove:
		if f, ok := foxgloveFormat(c.standard.Sample); ok {
			return f, nil
		}
	}
	return ros2Format(c.standard)
}

// ros1Format is ROS 1's serialisation, with its definitions.
func ros1Format(pub ros.Publication) (*format, error) {
	text, err := ros.ROS1.Definition(pub.Type)
	if err != nil {
		return nil, err
	}
	sum, err := ros.MD5(pub.Type)
	if err != nil {
		return nil, err
	}
	convert, encoder := pub.Converter(), encode.ROS1.Encoder()
	return &format{
		schema: bridges.Schema{Name: ros.ROS1.TypeName(pub.Type), Encoding: "ros1msg", Data: []byte(text), MessageEncoding: "ros1"},
		md5:    sum,
		encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return encoder.Append(dst, message), encoder.Err()
		},
	}, nil
}

// foxgloveFormat is protobuf with Foxglove's schema of the sample, if there is one.
func foxgloveFormat(sampleType reflect.Type) (*format, bool) {
	for _, pub := range foxglovemsg.Publications() {
		if pub.Sample != sampleType || pub.Schema.Encoding != "protobuf" {
			continue
		}
		convert := pub.Converter()
		return &format{schema: pub.Schema, encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return message.Append(dst)
		}}, true
	}
	return nil, false
}

// ros2Format is CDR with ROS 2's definitions.
func ros2Format(pub ros.Publication) (*format, error) {
	text, err := ros.ROS2.Definition(pub.Type)
	if err != nil {
		return nil, err
	}
	convert, encoder := pub.Converter(), encode.CDR.Encoder()
	return &format{
		schema: bridges.Schema{Name: pub.Type, Encoding: "ros2msg", Data: []byte(text), MessageEncoding: "cdr"},
		encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return encoder.Append(dst, message), nil
		},
	}, nil
}

// carriers are the messages of one type of sample, by profile.
type carriers struct{ standard, ros1 ros.Publication }

// register declares the type of sample.
func (c carriers) register(p *bridges.Plugin) error {
	return c.standard.RegisterSample(p, c.standard.Type, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		t, err := b.(*instance).addTopic(info, c.format)
		if err != nil {
			return nil, err
		}
		return t.publish, nil
	})
}

// messages returns what carries each type of sample. Boxes are vision_msgs 4, which is
// ROS 2's alone: ROS 1's users have lgsvl_msgs'.
func messages() []carriers {
	svl := map[reflect.Type]ros.Publication{}
	for _, pub := range rossample.SVL() {
		svl[pub.Sample] = pub
	}
	var list []carriers
	for _, pub := range rossample.Standard() {
		c := carriers{pub, pub}
		if strings.HasPrefix(pub.Type, "vision_msgs/") {
			c.ros1 = svl[pub.Sample]
		}
		list = append(list, c)
	}
	return list
}

// lacking has the fields of ground truth that messages have no place for, by the message's
// type in ROS 2's words. A test holds it against what comes back from a recording.
var lacking = map[string]map[reflect.Type][]string{
	"vision_msgs/msg/Detection2DArray": {detections2D: {
		"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation", "Boxes.Twist.Linear", "Boxes.Twist.Angular",
	}},
	"vision_msgs/msg/Detection3DArray": {detections3D: {
		"Boxes.TypeID", "Boxes.Tag", "Boxes.Occlusion", "Boxes.Twist.Linear", "Boxes.Twist.Angular", "Boxes.Acceleration",
	}},
	"lgsvl_msgs/msg/Detection2DArray": {detections2D: {"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation"}},
	"lgsvl_msgs/msg/Detection3DArray": {detections3D: {"Boxes.TypeID", "Boxes.Tag", "Boxes.Occlusion", "Boxes.Acceleration"}},
	"foxglove.ImageAnnotations": {detections2D: {
		"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Score", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation", "Boxes.Twist.Linear", "Boxes.Twist.Angular",
	}},
	"foxglove.SceneUpdate": {detections3D: {
		"Boxes.Tag", "Boxes.Score", "Boxes.Occlusion", "Boxes.Twist.Linear", "Boxes.Twist.Angular", "Boxes.Acceleration",
	}},
	"sensor_msgs/msg/PointCloud2":           {reflect.TypeFor[*sample.Radar](): {"Detections.Instance", "Detections.Tag"}},
	"carla_msgs/msg/CarlaCollisionEvent":    {reflect.TypeFor[*sample.Collision](): {"Actor", "ActorType", "OtherType"}},
	"carla_msgs/msg/CarlaLaneInvasionEvent": {reflect.TypeFor[*sample.LaneInvasion](): {"Actor", "Marks.ID", "Marks.Color"}},
}

var (
	detections2D = reflect.TypeFor[*sample.Detections2D]()
	detections3D = reflect.TypeFor[*sample.Detections3D]()
)

// Lacks returns the fields of a sample of ground truth that a message of the named type has no
// place for. They are zero in what is read of it. The type is ROS 2's, ROS 1's or Foxglove's. A
// field of a list's items is named as in Boxes.Tag. Samples of other types, and their headers, aren't looked at.
func Lacks(messageType string, sampleType reflect.Type) []string {
	if space, name, ok := strings.Cut(messageType, "/"); ok && !strings.Contains(name, "/") {
		messageType = space + "/msg/" + name
	}
	return slices.Clone(lacking[messageType][sampleType])
}
