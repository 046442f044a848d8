//go:build peers

package ros1_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A master that answers nothing, with its connections open, is as one that is gone.
func TestTheMasterStalls(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, b, "/points")
	r.master.Stall()
	awaitStatus(t, b, bridges.UnexpectedlyDisconnected)
	assert.ErrorIs(t, out.cloud(t.Context(), bridgetest.PointCloud(0)), bridges.ErrNotConnected)
	r.master.Resume()
	awaitStatus(t, b, bridges.Connected)
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
	assert.Equal(t, bridges.Connected, b.Status())
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
	assert.Equal(t, bridges.Connected, b.Status())
}
