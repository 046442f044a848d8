//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/all/alltest"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/simtime"
)

// A clock of somebody else's: it begins at clockFrom and goes on by clockStep, which has
// nothing in common with the run's frames. A frame's stamp is its time, if that lies between
// two of the clock's, and what the clock shows if frames were passed over.
const (
	clockFrom = 1_000_123_456_789
	clockStep = 17_000_001
	frame     = 10_000_000
)

// ticker is a program on Cyclone's own types that writes /clock.
type ticker struct{ *process.Process }

func startTicker(t *testing.T, domain int) ticker {
	t.Helper()
	c := process.Program(cyclonePeer(t), strconv.Itoa(domain), "clock", strconv.Itoa(clockFrom), strconv.Itoa(clockStep))
	return ticker{process.Start(t, c.With("CYCLONEDDS_URI="+peerSettings))}
}

// last returns the time that it has written last, or was about to.
func (c ticker) last(t *testing.T) int64 {
	t.Helper()
	lines := strings.Split(c.Output(), "\n")
	if len(lines) < 2 { // what follows the last line's end is none
		return 0
	}
	var e event
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-2]), &e))
	return e.AtNs
}

// TestARunFollowsAClockOfROS: with the time source ros2, a run's time is what the other
// program writes on /clock; it stands while that is stopped and after it has ended.
func TestARunFollowsAClockOfROS(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	p := alltest.NewPipeline(t, "", pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.ROS2})
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
	c := startTicker(t, domain)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, 0) }()
	defer func() {
		cancel()
		assert.NoError(t, <-done)
	}()

	goesOn := func(why string) {
		t.Helper()
		before := len(stampsOf(t, s))
		require.Eventually(t, func() bool { return len(stampsOf(t, s)) >= before+10 }, patience, 20*time.Millisecond, why)
	}
	stands := func(why string) {
		t.Helper()
		<-time.After(time.Second) // by which a clock that went on by itself would be ahead
		require.Eventually(t, func() bool { return p.Clock().Now() <= c.last(t) }, 10*time.Second, 10*time.Millisecond, why)
	}
	goesOn("time goes with the clock")
	c.Stall()
	stands("time stands while the clock is stopped")
	c.Resume()
	goesOn("time goes on with the clock")
	c.Kill()
	stands("time stands when the clock has ended")
	clocks, frames := 0, 0
	for _, stamp := range stampsOf(t, s) {
		assert.GreaterOrEqual(t, stamp, int64(clockFrom))
		assert.LessOrEqual(t, stamp, c.last(t))
		switch {
		case (stamp-clockFrom)%clockStep == 0:
			clocks++
		case stamp%frame == 0:
			frames++
		default:
			assert.Fail(t, "no time of the clock's", "%d", stamp)
		}
	}
	t.Logf("%d stamps of the clock, %d of frames between them", clocks, frames)
	assert.Positive(t, clocks, "stamps are to the nanosecond those of the clock")
	writers := s.find(func(e event) bool { return e.Event == "writer" && e.Topic == "rt/clock" })
	assert.Len(t, writers, 1, "the run publishes no clock of its own")
}

// stampsOf are those of the IMU's messages that have arrived since the first stamp of the
// clock: until then the run's time is the wall's.
func stampsOf(t *testing.T, s *subscriber) (stamps []int64) {
	t.Helper()
	for _, e := range s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt"+alltest.ImuTopic }) {
		var m stamped
		require.NoError(t, json.Unmarshal(e.Value, &m))
		if at := m.Header.Stamp.Sec*1e9 + m.Header.Stamp.Nanosec; at < 2*clockFrom {
			stamps = append(stamps, at)
		}
	}
	return stamps
}
