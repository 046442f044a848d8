// Package mcap is the bridge that records to MCAP files, and the reader of such
// recordings.
//
// # Connection
//
// "mcap:FILE.mcap" writes that file. "mcap:FOLDER", with any other name, writes a
// rosbag2 folder: FOLDER/NAME_0.mcap and FOLDER/metadata.yaml, with NAME the
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
// Files are then NAME_0.mcap, NAME_1.mcap and so on. Each is complete in itself: it has all
// schemas and channels. It begins with the last messages of latched topics (transient local,
// such as /tf_static), which keep their number and their publish time, at the log time of the
// split. A file ends with the chunk that makes it as large as split, so it is larger by up to a
// chunk and the summary.
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
// A chunk is closed when it has its size, or when a message comes a second of log time after
// its first. It then goes to the operating system, so that a killed process loses the open
// chunk alone. flush bounds that in wall time too, for runs that are slower than time or
// paused. The first message that comes so long after a chunk's first closes it. Such a
// recording's bytes depend on how fast the machine was, so it is off by default. [Open] reads
// what a killed process leaves, and [Recover] finishes it.
//
// When a write fails the file is cut back to its last complete chunk and finished there: it
// stays readable. Messages after that are counted as lost (write_failed), the bridge's status is
// unexpectedly_disconnected, and Err says what happened. The same holds for a file that was
// removed, which the next chunk finds, and for files that are not at their place at the end.
//
// # Reading
//
// [Open] gives a recording's messages as samples, in the order of their log times. It reads all
// three profiles, and other programs' files as far as the types are known, without chunks or a
// summary too. A cloud is read by its fields. Data that the messages don't carry is lost: the
// pose of the sensor, a cloud's lasers that gave no return, an actor's type. A message that
// several samples are written as is read as the most common one: nav_msgs/Odometry as Odometry,
// Foxglove's SceneUpdate as boxes. If the definition of a ROS 2 message differs from ours, only
// its decoding can tell: it fails, and is counted.
package mcap

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Factory is the bridge named "mcap".
type Factory struct {
	// Open makes what is written to in the place of the file at path: memory, a device,
	// nothing at all. A rosbag2 folder's metadata.yaml still goes to the folder, which must be
	// there. It is called by Connect, and by publishers where a recording is split. (optional;
	// nil makes files)
	Open func(path string) (bridges.Target, error)
}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "mcap", Type: "mcap", Kind: bridges.KindFile,
		Summary:    "records to MCAP files or a rosbag2 folder, as ROS 2, ROS 1 or Foxglove messages",
		Connection: "FILE.mcap|FOLDER", Options: bridges.OptionsOf(options{}),
	}
}

// Register declares the message of every sample that ROS has one for. Other types are recorded
// as their mirrors. In ROS 2 boxes are vision_msgs', which RViz and Foxglove show, in ROS 1
// lgsvl_msgs'. Types are listed by their ROS 2 names; a recording of another profile has its own
// in the statistics.
func (f Factory) Register(p *bridges.Plugin) error {
	svl := map[reflect.Type]ros.Publication{}
	for _, pub := range rossample.SVL() {
		svl[pub.Sample] = pub
	}
	var errs []error
	for _, pub := range rossample.Standard() {
		ros1 := pub
		if strings.HasPrefix(pub.Type, "vision_msgs/") { // version 4, which is ROS 2's alone
			ros1 = svl[pub.Sample]
		}
		errs = append(errs, register(p, pub, rowsOf(pub, ros1)))
	}
	return errors.Join(append(errs, ros.CarryMirrors(p, f))...)
}

// RegPublication lets the bridge record one more type: as a ROS 1 message in profile ros1,
// in the others as a ROS 2 message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return register(p, pub, rowsOf(pub, pub))
}

// CodecEncoding says that recordings have messages of any encoding.
func (Factory) CodecEncoding() string { return "" }

// RegCodec lets the bridge record one more type, equally in all profiles.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return register(p, pub, func(string) (row, error) { return pub, nil })
}

// NewInstance returns a recorder of one run.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	begun := time.Now()
	i := &instance{now: func() int64 { return int64(time.Since(begun)) }}
	i.Env, i.Read, i.Open = env, i.read, f.Open
	return i, nil
}

// instance records one run.
type instance struct {
	bridges.Recorder[*series]
	// now is the wall clock, in nanoseconds from any origin; recordings with a flush
	// time alone read it.
	now    func() int64
	topics []*topic // guarded by the lock: in the order of addition, which numbers the channels
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	rows     rows
	// carrier is the topic's in the recording: that of the last one while there is none,
	// nil before the first.
	carrier  atomic.Pointer[carrier]
	channel  int       // guarded by the instance's lock: the recorder's index
	sequence uint32    // guarded by the instance's lock: of the last message
	latest   []latched // guarded by the instance's lock: what later files repeat

	mu  sync.Mutex
	buf []byte // guarded by mu: the encoded message, reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

// read reads a connection string; what it returns makes the first file, with all topics.
func (i *instance) read(connection string) (begin func() (*series, error), err error) {
	opts, err := parseConnection(connection, i.Env.OutDir)
	return func() (*series, error) {
		if err := opts.removeFormer(); err != nil {
			return nil, err
		}
		for _, t := range i.topics {
			t.sequence, t.latest = 0, nil
			if err := t.setCarrier(opts.Profile); err != nil {
				return nil, err
			}
		}
		rec := &series{opts: opts, create: i.Create, run: i.Env.Run, now: i.now, topics: slices.Clone(i.topics)}
		return rec, rec.begin()
	}, err
}

// addTopic makes a topic and adds it to the recording if there is one.
func (i *instance) addTopic(info *bridges.PublishedTopic, rows rows) (*topic, error) {
	t := &topic{instance: i, info: info, rows: rows}
	i.Lock()
	defer i.Unlock()
	if rec, err := i.Recording(); err == nil {
		if err := t.setCarrier(rec.opts.Profile); err != nil {
			return nil, err
		}
		if err := rec.add(t); err != nil {
			_ = i.Fail(err) // which the topic's publisher returns
		}
	}
	i.topics = append(i.topics, t)
	return t, nil
}

// setCarrier decides how the topic is recorded; the instance's lock must be held.
func (t *topic) setCarrier(profile string) error {
	if err := checkTopic(profile, t.info.Name); err != nil {
		return err
	}
	row, err := t.rows(profile)
	if err != nil {
		return fmt.Errorf("record %q: %w", t.info.Name, err)
	}
	t.carrier.Store(&carrier{row, row.Converter()})
	t.info.SetWire(row.Schema.Name)
	return nil
}

// publish records one sample.
func (t *topic) publish(ctx context.Context, sample simtime.Stamped) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := t.carrier.Load()
	if c == nil {
		return flow.ErrNotConnected
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	encode, err := c.convert(sample)
	if err != nil {
		return err
	}
	data, err := encode(t.buf[:0])
	if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.buf = data
	stamp := sample.Captured()
	return t.write(c, int64(t.instance.Env.HandedOver(stamp)), int64(stamp), data)
}

// write records the message of a topic, which its carrier has encoded. Times are nanoseconds.
func (t *topic) write(c *carrier, logTime, publishTime int64, data []byte) error {
	if logTime < 0 || publishTime < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: MCAP has no negative times", bridges.ErrConvert, logTime, publishTime)
	}
	i := t.instance
	i.Lock()
	defer i.Unlock()
	rec, err := i.Recording()
	if err != nil {
		return err
	}
	if t.carrier.Load() != c { // somebody connected again meanwhile
		return flow.ErrNotConnected
	}
	if err := rec.write(t, uint64(logTime), uint64(publishTime), data); err != nil {
		return i.Fail(err)
	}
	return nil
}

// Profiles are what a recording's messages are, by the name in a connection string.
const (
	profileROS2     = "ros2"
	profileROS1     = "ros1"
	profileFoxglove = "foxglove"
)

// header is a profile's name in a file's header. What Foxglove's schemas are used in
// has no name of its own (MCAP's registry, "Profiles").
func header(profile string) string {
	if profile == profileFoxglove {
		return ""
	}
	return profile
}

// nameOfROS1 is a topic of ROS 1 (wiki.ros.org/Names), as bridge ros1 has them.
var nameOfROS1 = regexp.MustCompile(`^/[A-Za-z]\w*(/\w+)*$`)

// checkTopic returns an error that wraps bridges.ErrTopicName for a topic that a profile's
// programs couldn't play or read back. MCAP itself, and Foxglove, allow any name.
func checkTopic(profile, name string) error {
	switch {
	case profile == profileROS1 && !nameOfROS1.MatchString(name):
		return fmt.Errorf("%w %q: profile=ros1 wants ROS 1's /name or /space/name of letters, digits and underscores, a letter first", bridges.ErrTopicName, name)
	case profile == profileROS2 && !ros.ValidTopic(name):
		return fmt.Errorf("%w %q: ROS 2 wants /name or /space/name of letters, digits and single underscores, no digit first", bridges.ErrTopicName, name)
	default:
		return nil
	}
}

// row is a type of sample with the encoded message that carries it. The recorder knows no other
// kind, whatever the profile and whatever its source.
type row = bridges.Publication[bridges.Append, bridges.Schema]

// rows makes the row that a type of sample has in a recording of a profile.
type rows func(profile string) (row, error)

// rowsOf returns the rows of a type of sample that ROS messages carry, in ROS 1 perhaps
// another one.
func rowsOf(standard, ros1 ros.Publication) rows {
	return func(profile string) (row, error) {
		switch profile {
		case profileROS1:
			return encode.ROS1.Publication(ros1)
		case profileFoxglove:
			if r, ok := foxgloveRows()[standard.Sample]; ok {
				return r, nil
			}
		}
		return encode.CDR.Publication(standard)
	}
}

// foxgloveRows has Foxglove's messages, and ROS 2's where it has none, by type of sample.
var foxgloveRows = sync.OnceValue(func() map[reflect.Type]row {
	table := map[reflect.Type]row{}
	for _, pub := range foxglovemsg.Publications() {
		table[pub.Sample] = bridges.PublishAs(pub, pub.Schema, func() func(foxglovemsg.Message) bridges.Append {
			return bridges.Appending(func(dst []byte, m foxglovemsg.Message) ([]byte, error) { return m.Append(dst) })
		})
	}
	return table
})

// register declares a type of sample, by the name that pub has for its message. The profile
// of each recording decides on the row.
func register[M, S any](p *bridges.Plugin, pub bridges.Publication[M, S], rows rows) error {
	return pub.RegisterSample(p, pub.Type, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		t, err := b.(*instance).addTopic(info, rows)
		if err != nil {
			return nil, err
		}
		return t.publish, nil
	})
}

// carrier is what carries a topic's messages in one recording.
type carrier struct {
	row
	convert bridges.Convert[bridges.Append]
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
		"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Score", "Boxes.Pixels", "Boxes.Twist.Linear", "Boxes.Twist.Angular",
	}},
	"foxglove.SceneUpdate": {detections3D: {
		"Boxes.Tag", "Boxes.Score", "Boxes.Twist.Linear", "Boxes.Twist.Angular", "Boxes.Acceleration",
	}},
	"apollo.common.Detection2DArray":        {detections2D: {"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation"}},
	"apollo.perception.PerceptionObstacles": {detections3D: obstaclesLack},
	"pb_msgs/msg/PerceptionObstacles":       {detections3D: obstaclesLack},
	"sensor_msgs/msg/PointCloud2":           {reflect.TypeFor[*sample.Radar](): {"Detections.Instance", "Detections.Tag"}},
	"carla_msgs/msg/CarlaCollisionEvent":    {reflect.TypeFor[*sample.Collision](): {"Actor", "ActorType", "OtherType"}},
	"carla_msgs/msg/CarlaLaneInvasionEvent": {reflect.TypeFor[*sample.LaneInvasion](): {"Actor", "Marks.ID", "Marks.Color"}},
}

// obstaclesLack has what Apollo's obstacles have no field for: their type and subtype are kinds.
var obstaclesLack = []string{"Boxes.TypeID", "Boxes.Tag", "Boxes.Occlusion", "Boxes.Twist.Angular"}

var (
	detections2D = reflect.TypeFor[*sample.Detections2D]()
	detections3D = reflect.TypeFor[*sample.Detections3D]()
)

// Lacks returns the fields of a sample of ground truth that a message of the named type has no
// place for. They are zero in what is read of it. The type is ROS 2's, ROS 1's, Foxglove's or Apollo's. A
// field of a list's items is named as in Boxes.Tag. Samples of other types, and their headers, aren't looked at.
func Lacks(messageType string, sampleType reflect.Type) []string {
	if space, name, ok := strings.Cut(messageType, "/"); ok && !strings.Contains(name, "/") {
		messageType = space + "/msg/" + name
	}
	return slices.Clone(lacking[messageType][sampleType])
}
