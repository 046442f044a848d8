//go:build peers

package ros1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const patience = bridgetest.Patience

// network is a rosmaster of Debian's with the environment of its nodes.
type network struct {
	port   int
	env    []string
	master *bridgetest.Process
}

// modules is whether Python finds what the programs need: without one of them each test
// would wait for a subscriber in vain.
var modules = sync.OnceValue(func() error {
	output, err := exec.Command("/usr/bin/python3", "-c", "import rospy, rosbag, rosmaster, rosnode, rosservice, rostopic, "+
		"geometry_msgs, nav_msgs, rosgraph_msgs, sensor_msgs, std_srvs, tf2_msgs").CombinedOutput()
	if err != nil {
		return fmt.Errorf("import ROS 1's modules: %w%s: %s", err, bridgetest.SetupHint(err.Error()+string(output)), output)
	}
	return nil
})

func startRos(t *testing.T) *network {
	t.Helper()
	require.NoError(t, modules())
	r := &network{port: bridgetest.FreePort(t)}
	home := t.TempDir()
	r.env = []string{
		"ROS_MASTER_URI=http://127.0.0.1:" + strconv.Itoa(r.port), "ROS_IP=127.0.0.1", "PYTHONUNBUFFERED=1",
		"ROS_HOME=" + home, "ROS_LOG_DIR=" + filepath.Join(home, "log"),
	}
	r.start(t)
	return r
}

// start starts the master, again at the same port, and waits until it answers.
func (r *network) start(t *testing.T) {
	t.Helper()
	r.master = bridgetest.StartProcess(t, bridgetest.Program("/usr/bin/rosmaster", "--core", "-p", strconv.Itoa(r.port)).With(r.env...))
	require.Eventually(t, func() bool {
		_, err := node(r.address()).GetPid()
		return err == nil
	}, patience, 20*time.Millisecond, "rosmaster answers")
}

func (r *network) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)) }

// run starts a tool.
func (r *network) run(t *testing.T, name string, args ...string) *bridgetest.Process {
	t.Helper()
	return bridgetest.StartProcess(t, bridgetest.Program(name, args...).With(r.env...))
}

// script starts a program of testdata/peers.
func (r *network) script(t *testing.T, name string, args ...string) *bridgetest.Process {
	t.Helper()
	return bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/"+name, args...).With(r.env...))
}

// connected opens a bridge with further topics of raw messages and waits for the master.
func (r *network) connected(t *testing.T, options string, types map[string]string) *bridges.Bridge {
	t.Helper()
	b := openBridge(t, r.address()+options, types)
	require.NoError(t, b.Connect(t.Context()))
	awaitStatus(t, b, flow.Connected)
	return b
}

func awaitStatus(t *testing.T, b *bridges.Bridge, want flow.Status) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Status() == want }, patience, 10*time.Millisecond, "status %v", want)
}

func awaitListening(t *testing.T, b *bridges.Bridge, topic string) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Listening(topic) }, patience, 10*time.Millisecond, "somebody subscribes to %s", topic)
}

// filled has topics with messages of every type that the bridge publishes, all fields set,
// edge values among them.
type filled struct {
	types    map[string]string // by topic
	messages map[string][]ros.Message
}

func fill(perType int) filled {
	f := filled{map[string]string{}, map[string][]ros.Message{}}
	for _, pub := range rossample.SVL() {
		topic := "/fill/" + strings.ReplaceAll(pub.Type, "/msg/", "/")
		f.types[topic] = pub.Type
		if len(f.messages[topic]) > 0 { // two samples may have one type of message
			continue
		}
		for _, m := range bridgetest.EveryMessage() {
			if m.TypeName() != pub.Type {
				continue
			}
			for i := range perType {
				one := bridgetest.NewMessage(m)
				bridgetest.FillMessage(one, uint64(i+1))
				f.messages[topic] = append(f.messages[topic], one)
			}
		}
	}
	return f
}

func (f filled) topics() []string {
	var list []string
	for topic := range f.types {
		list = append(list, topic)
	}
	return list
}

// publish adds the topics; the result sends all messages once each has a subscriber.
func (f filled) publish(t *testing.T, b *bridges.Bridge) (send func()) {
	t.Helper()
	publishers := map[string]bridges.Publisher[*raw]{}
	for topic := range f.types {
		publish, err := bridges.AddPublisher[*raw](b, bridges.Topic{Name: topic})
		require.NoError(t, err, topic)
		publishers[topic] = publish
	}
	return func() {
		for topic, publish := range publishers {
			awaitListening(t, b, topic)
			for _, m := range f.messages[topic] {
				require.NoError(t, publish(t.Context(), &raw{m}), topic)
			}
		}
	}
}

// line is what the programs print of a message.
type line struct {
	Topic, Type, Latching, Caller string
	Debian                        bool
	Values                        any
	Bytes, Seq                    int
}

func parseLine(t *testing.T, text string) line {
	t.Helper()
	var l line
	require.NoError(t, json.Unmarshal([]byte(text), &l), text)
	return l
}

// check holds the lines of messages against what was published.
func (f filled) check(t *testing.T, lines []line) {
	t.Helper()
	got := map[string][]line{}
	for _, l := range lines {
		got[l.Topic] = append(got[l.Topic], l)
	}
	for topic, messages := range f.messages {
		require.Len(t, got[topic], len(messages), topic)
		for i, m := range messages {
			assert.Equal(t, strings.Replace(f.types[topic], "/msg/", "/", 1), got[topic][i].Type)
			assert.Equal(t, plain(m), got[topic][i].Values, "%s, message %d", topic, i)
		}
	}
}

func TestRospyReadsEveryType(t *testing.T) {
	const perType = 12
	r := startRos(t)
	f := fill(perType)
	b := r.connected(t, "", f.types)
	send := f.publish(t, b)
	subscriber := r.script(t, "subscriber.py", f.topics()...)
	subscriber.Expect(t, "ready")
	send()
	var lines []line
	debian := map[string]bool{}
	for range len(f.messages) * perType {
		l := parseLine(t, subscriber.Expect(t, `"values"`))
		assert.Equal(t, "/raybridge", l.Caller)
		assert.Equal(t, "0", l.Latching)
		debian[l.Type] = l.Debian
		lines = append(lines, l)
	}
	f.check(t, lines)
	for _, typ := range []string{"sensor_msgs/PointCloud2", "nav_msgs/Odometry", "tf2_msgs/TFMessage", "rosgraph_msgs/Clock"} {
		assert.True(t, debian[typ], "%s was read by Debian's class", typ)
	}
	assert.Contains(t, debian, "lgsvl_msgs/Detection3DArray")
}

// TestRospyReadsMirrors: what ROS has no message for is read by classes that rospy makes of the
// definition that the node sends.
func TestRospyReadsMirrors(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*sample.Snapshot](), reflect.TypeFor[*sample.Obstacle](), reflect.TypeFor[*sample.InsStatus](),
		reflect.TypeFor[*sample.LaneMarks](), reflect.TypeFor[*sample.LaneLines](),
	} {
		topic := "/mirror/" + typ.Elem().Name()
		publish, err := bridges.AddPublisherOf(b, typ, bridges.Topic{Name: topic})
		require.NoError(t, err)
		subscriber := r.script(t, "subscriber.py", topic)
		subscriber.Expect(t, "ready")
		awaitListening(t, b, topic)
		m := bridgetest.Filled(typ)
		require.NoError(t, publish(t.Context(), m))
		l := parseLine(t, subscriber.Expect(t, `"values"`))
		mirror, err := ros.NewMirror(typ.Elem())
		require.NoError(t, err)
		require.NoError(t, mirror.Show(m))
		assert.Equal(t, "raybridge_msgs/"+typ.Elem().Name(), l.Type)
		assert.Equal(t, plain(mirror), l.Values, topic)
	}
}

func TestRosbagRecordsAndReadsBack(t *testing.T) {
	const perType = 5
	r := startRos(t)
	f := fill(perType)
	b := r.connected(t, "", f.types)
	send := f.publish(t, b)
	bag := filepath.Join(t.TempDir(), "a.bag")
	// It ends by itself when it has so many messages of each topic.
	record := r.run(t, "/usr/lib/rosbag/record", append([]string{"--buffsize", "0", "-l", strconv.Itoa(perType), "-O", bag}, f.topics()...)...)
	send()
	require.NoError(t, b.Close(t.Context()), "what was queued is delivered")
	assert.EqualValues(t, len(f.messages)*perType, b.Statistics().Messages)
	assert.Zero(t, b.Statistics().Drops.Total())
	record.Wait(t)
	var lines []line
	for _, text := range strings.Split(strings.TrimSpace(r.script(t, "bag.py", bag).Wait(t)), "\n") {
		lines = append(lines, parseLine(t, text))
	}
	f.check(t, lines)
	info := r.run(t, "/usr/bin/rosbag", "info", bag).Wait(t)
	assert.Contains(t, info, fmt.Sprintf("messages:    %d", len(lines)))
	r.run(t, "/usr/bin/rosbag", "check", bag).Wait(t)
}

func TestToolsOfRos(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	scan, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/lidar/points"})
	require.NoError(t, err)
	speed, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	require.Eventually(t, func() bool {
		return strings.Contains(r.run(t, "/usr/bin/rostopic", "list", "-v").Wait(t), "/cmd_vel")
	}, patience, 50*time.Millisecond)
	list := r.run(t, "/usr/bin/rostopic", "list", "-v").Wait(t)
	assert.Contains(t, list, "* /lidar/points [sensor_msgs/PointCloud2] 1 publisher")
	assert.Contains(t, list, "* /cmd_vel [geometry_msgs/Twist] 1 subscriber")

	echo := r.run(t, "/usr/bin/rostopic", "echo", "-n", "1", "/imu")
	awaitListening(t, b, "/imu")
	info := r.run(t, "/usr/bin/rostopic", "info", "/imu").Wait(t)
	assert.Contains(t, info, "* /raybridge (http://127.0.0.1:")
	assert.Contains(t, info, "* /rostopic_")
	nodeInfo := r.run(t, "/usr/bin/rosnode", "info", "/raybridge").Wait(t)
	assert.Contains(t, nodeInfo, "* topic: /imu")
	assert.Contains(t, nodeInfo, "direction: outbound")
	assert.NotContains(t, nodeInfo, "cannot contact")
	imu := &sample.Imu{Header: sample.Header{Stamp: 3_000_000_007, Seq: 41, FrameID: "imu_link"}}
	imu.Orientation.W = 1
	imu.LinearAcceleration[2] = 9.80665
	require.NoError(t, speed(t.Context(), imu))
	text := echo.Wait(t)
	for _, want := range []string{"seq: 41", "secs: 3", "nsecs:         7", `frame_id: "imu_link"`, "z: 9.80665", "w: 1.0"} {
		assert.Contains(t, text, want)
	}

	hz := r.run(t, "/usr/bin/rostopic", "hz", "-w", "20", "/lidar/points")
	awaitListening(t, b, "/lidar/points")
	seq := 0
	require.Eventually(t, func() bool {
		seq++
		return assert.NoError(t, scan(t.Context(), bridgetest.PointCloud(seq))) && strings.Contains(hz.Output(), "average rate: ")
	}, patience, 50*time.Millisecond, "rostopic hz tells the rate")
	t.Log(hz.Output())
	ping := r.run(t, "/usr/bin/rosnode", "ping", "-c", "1", "/raybridge").Wait(t)
	assert.Contains(t, ping, "xmlrpc reply from http://127.0.0.1:")
}

func TestCommandsOfRospyArrive(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	controls, twists := make(chan sample.VehicleControl, 1000), make(chan sample.VelocityCommand, 1000)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(m *sample.VehicleControl) { controls <- *m }))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { twists <- *m }))
	definition, md5, err := ros1.Definition("lgsvl_msgs/msg/VehicleControlData")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "VehicleControlData")
	require.NoError(t, os.WriteFile(file, []byte(definition), 0o600))
	first := r.script(t, "publisher.py", file)
	first.Expect(t, "ready "+md5)
	twist, control := receive(t, twists), receive(t, controls)
	assert.Equal(t, 1.5, twist.Twist.Linear[0])
	assert.Equal(t, -0.25, twist.Twist.Angular[2])
	assert.Equal(t, "base_link", control.FrameID)
	assert.EqualValues(t, simtime.Stamp(12_000_000_345), control.Stamp)
	assert.Equal(t, 0.5, control.Acceleration)
	assert.Equal(t, 0.25, control.Braking)
	assert.Equal(t, -0.125, control.SteeringAngle)

	first.Kill()
	for len(twists) > 0 {
		<-twists
	}
	second := r.script(t, "publisher.py", file)
	second.Expect(t, "ready")
	receive(t, twists)
	assert.EqualValues(t, 0, b.Diagnosis().Malformed)
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.Fail(t, "nothing arrived")
	}
	panic("unreachable")
}

// current publishes clouds at 100 Hz until the test ends.
type current struct {
	bridge *bridges.Bridge
	topic  string
	cloud  bridges.Publisher[*sample.PointCloud]
	seq    int
}

func newCurrent(t *testing.T, b *bridges.Bridge, topic string) *current {
	t.Helper()
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: topic})
	require.NoError(t, err)
	return &current{bridge: b, topic: topic, cloud: publish}
}

// until publishes until a program prints another message of the topic.
func (f *current) until(t *testing.T, subscriber *bridgetest.Process) {
	t.Helper()
	seen := strings.Count(subscriber.Output(), f.topic)
	require.Eventually(t, func() bool {
		m := bridgetest.PointCloud(f.seq)
		m.Seq = uint64(f.seq)
		f.seq++
		_ = f.cloud(t.Context(), m) // counted by the bridge
		return strings.Count(subscriber.Output(), f.topic) > seen
	}, patience, 10*time.Millisecond, "messages arrive on %s", f.topic)
}

func TestTheMasterIsStartedAnew(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, b, "/points")
	commands := make(chan sample.VelocityCommand, 1000)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { commands <- *m }))
	before := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, before)
	pub := r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 2.5}}")
	assert.Equal(t, 2.5, receive(t, commands).Twist.Linear[0])

	r.master.Kill()
	awaitStatus(t, b, flow.UnexpectedlyDisconnected)
	assert.ErrorIs(t, out.cloud(t.Context(), bridgetest.PointCloud(0)), flow.ErrNotConnected)
	r.start(t)
	awaitStatus(t, b, flow.Connected)
	out.until(t, before) // its connection stood all the time
	after := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, after)
	for len(commands) > 0 {
		<-commands
	}
	receive(t, commands) // the publisher's connection stands too, though the master doesn't list it
	pub.Kill()
	again := r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 3.5}}")
	require.Eventually(t, func() bool { return receive(t, commands).Twist.Linear[0] == 3.5 }, patience, time.Millisecond)
	again.Kill()
	d := b.Diagnosis()
	assert.GreaterOrEqual(t, d.Connections, int64(2))
	assert.Positive(t, d.Failures)
	assert.Error(t, d.LastError)
}

func TestASubscriberIsKilledAndComesAgain(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	out := newCurrent(t, b, "/points")
	other := r.script(t, "subscriber.py", "--count", "/points")
	first := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, first)
	first.Kill()
	out.until(t, other)
	second := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, second)
	assert.Equal(t, flow.Connected, b.Status())
}

func TestAStalledSubscriberCostsOthersNothing(t *testing.T) {
	const messages = 150
	r := startRos(t)
	b := r.connected(t, "?bytes=8388608", nil)
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	stalled := r.script(t, "subscriber.py", "--count", "/image")
	healthy := r.script(t, "subscriber.py", "--count", "/image")
	image := &sample.Image{Width: 512, Height: 512, Step: 2048, Encoding: sample.Encoding32FC1, Data: make([]byte, 1<<20)}
	offered := 0
	send := func() {
		image.Seq, image.Stamp = uint64(offered), simtime.Stamp(offered)
		offered++
		require.NoError(t, publish(t.Context(), image))
	}
	awaitListening(t, b, "/image")
	for _, p := range []*bridgetest.Process{stalled, healthy} {
		require.Eventually(t, func() bool { send(); return strings.Contains(p.Output(), `"topic"`) }, patience, 20*time.Millisecond)
	}
	paced := func() { // one after the other, so that the load on the machine doesn't matter
		send()
		healthy.Expect(t, fmt.Sprintf(`"seq": %d}`, offered-1))
	}
	stalled.Stall()
	for range messages {
		paced()
	}
	stalled.Resume()
	resumed := offered
	for parseLine(t, stalled.Expect(t, `"topic"`)).Seq < resumed { // it continues with what is new
		paced()
	}
	require.NoError(t, b.Close(t.Context()))
	row := b.Statistics().Topics[0]
	assert.Positive(t, row.Drops[flow.CausePeerSlow], "what the stalled one lost is counted")
	had := map[int]bool{}
	for _, p := range []*bridgetest.Process{stalled, healthy} {
		for text := range strings.Lines(p.Output()) {
			if strings.HasPrefix(text, `{"topic"`) && strings.HasSuffix(text, "}\n") {
				had[parseLine(t, text).Seq] = true
			}
		}
	}
	assert.EqualValues(t, len(had), row.Messages, "what somebody had is counted")
	assert.GreaterOrEqual(t, len(had), messages)
}

func TestServicesOfRos(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	on := make(chan bool, 10)
	require.NoError(t, bridges.AddService(b, "/raybridge/lights", func(_ context.Context, request sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		on <- request.Data
		return sample.SetBoolResponse{Success: true, Message: "the lights are <on>"}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/raybridge/fail", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("no such luck")
	}))
	require.NoError(t, bridges.AddService(b, "/raybridge/nothing", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}))
	require.Eventually(t, func() bool {
		return strings.Contains(r.run(t, "/usr/bin/rosservice", "list").Wait(t), "/raybridge/nothing")
	}, patience, 50*time.Millisecond)
	assert.Contains(t, r.run(t, "/usr/bin/rosservice", "type", "/raybridge/lights").Wait(t), "std_srvs/SetBool")
	answer := r.run(t, "/usr/bin/rosservice", "call", "/raybridge/lights", "data: true").Wait(t)
	assert.Contains(t, answer, "success: True")
	assert.Contains(t, answer, "the lights are <on>")
	assert.True(t, receive(t, on))
	r.run(t, "/usr/bin/rosservice", "call", "/raybridge/nothing").Wait(t)
	failing := r.run(t, "/usr/bin/rosservice", "call", "/raybridge/fail")
	failing.Expect(t, "no such luck")
}

func TestTwoNodesAndRosnodeKill(t *testing.T) {
	r := startRos(t)
	first := r.connected(t, "?retry=200ms", nil)
	newCurrent(t, first, "/first")
	list := func() string { return r.run(t, "/usr/bin/rosnode", "list").Wait(t) }
	require.Eventually(t, func() bool { return strings.Contains(list(), "/raybridge") }, patience, 50*time.Millisecond)
	second := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, second, "/second")
	require.Eventually(t, func() bool { return strings.Contains(list(), "/raybridge_2") }, patience, 50*time.Millisecond)
	named := openBridge(t, r.address()+"?retry=200ms&node=raybridge", nil)
	require.NoError(t, named.Connect(t.Context()))
	require.Eventually(t, func() bool { return named.Diagnosis().Failures > 0 }, patience, 10*time.Millisecond)
	assert.ErrorContains(t, named.Diagnosis().LastError, "another node is /raybridge")
	assert.Equal(t, flow.Connecting, named.Status())
	assert.Equal(t, flow.Connected, first.Status())
	require.NoError(t, first.Close(t.Context()))
	awaitStatus(t, named, flow.Connected)

	before := second.Diagnosis().Connections
	r.run(t, "/usr/bin/rosnode", "kill", "/raybridge_2").Wait(t)
	require.Eventually(t, func() bool { return second.Diagnosis().Connections > before }, patience, 10*time.Millisecond, "it comes again")
	subscriber := r.script(t, "subscriber.py", "--count", "/second")
	out.until(t, subscriber)
	require.NoError(t, second.Close(t.Context()))
	require.NoError(t, named.Close(t.Context()))
	assert.NotContains(t, list(), "/raybridge", "nothing stays behind at the master")
}

// A master that answers nothing, with its connections open, is as one that is gone.
func TestTheMasterStalls(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, b, "/points")
	r.master.Stall()
	awaitStatus(t, b, flow.UnexpectedlyDisconnected)
	assert.ErrorIs(t, out.cloud(t.Context(), bridgetest.PointCloud(0)), flow.ErrNotConnected)
	r.master.Resume()
	awaitStatus(t, b, flow.Connected)
	out.until(t, r.script(t, "subscriber.py", "--count", "/points"))
}

// rosbag record, which is roscpp, is stopped and killed while it writes; another gets all
// the same, and the next one, too.
func TestRosbagIsStoppedKilledAndComesAgain(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	out := newCurrent(t, b, "/points")
	other := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, other)

	first := filepath.Join(t.TempDir(), "first.bag")
	record := r.run(t, "/usr/lib/rosbag/record", "--buffsize", "0", "--chunksize", "1", "-O", first, "/points")
	require.Eventually(t, func() bool {
		_ = out.cloud(t.Context(), bridgetest.PointCloud(0)) // counted by the bridge
		info, err := os.Stat(first + ".active")
		return err == nil && info.Size() > 100_000 // far more than its header
	}, patience, 10*time.Millisecond, "rosbag writes")
	record.Stall()
	for range 20 {
		out.until(t, other)
	}
	record.Kill()
	out.until(t, other)

	second := filepath.Join(t.TempDir(), "second.bag")
	again := r.run(t, "/usr/lib/rosbag/record", "--buffsize", "0", "-l", "5", "-O", second, "/points")
	require.Eventually(t, func() bool {
		_ = out.cloud(t.Context(), bridgetest.PointCloud(0)) // likewise
		_, err := os.Stat(second)
		return err == nil
	}, patience, 10*time.Millisecond, "the next one has all that it wanted")
	again.Wait(t)
	assert.Equal(t, flow.Connected, b.Status())
}

// A node that publishes another type on the commands' topic is told from one that
// publishes commands, and costs it nothing.
func TestAPublisherOfAnotherType(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "?retry=200ms", nil)
	commands := make(chan sample.VelocityCommand, 1000)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { commands <- *m }))
	r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "std_msgs/String", "data: rubbish")
	require.Eventually(t, func() bool { return b.Diagnosis().Failures > 0 }, patience, 10*time.Millisecond, "it is noticed")
	assert.ErrorContains(t, b.Diagnosis().LastError, "/cmd_vel")
	r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 2.5}}")
	assert.Equal(t, 2.5, receive(t, commands).Twist.Linear[0])
	assert.Equal(t, flow.Connected, b.Status())
}
