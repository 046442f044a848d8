package pipeline_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestWaitWaitsForTheCallback: what the callback uses may be freed then.
func TestWaitWaitsForTheCallback(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	within, leave := make(chan struct{}), make(chan struct{})
	var calls, ended int
	listener, err := pipeline.Listen(s, "out", func(sensors.Tick, *sample.Imu) {
		calls++
		close(within)
		<-leave
		ended++
	})
	require.NoError(t, err)
	listener.Wait() // for none
	assert.True(t, s.IsListening())
	end := inBackground(t, p)
	<-within
	listener.Stop() // doesn't wait
	assert.False(t, s.IsListening())
	waited := make(chan struct{})
	go func() {
		listener.Wait()
		assert.Equal(t, 1, ended, "it waited")
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("Wait has returned while the callback runs")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	<-waited
	listener.Stop() // again
	end()
	assert.Equal(t, 1, calls, "none came after")
}

// TestStopInsideTheCallback: of its own listener, and of another whose callback stops
// this one.
func TestStopInsideTheCallback(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stop func()
	calls, others := 0, 0
	stop = hear(t, s, func(sensors.Tick, *sample.Imu) {
		calls++
		if calls == 3 {
			stop()
			s.Stop()
		}
	})
	hear(t, s, func(sensors.Tick, *sample.Imu) { others++ })
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.Equal(t, 3, calls)
	assert.LessOrEqual(t, others, 3)
	assert.False(t, s.IsListening())
}

// TestCallbacksThatStopEachOther run on two goroutines, and neither waits for the other.
func TestCallbacksThatStopEachOther(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime})
	a, b := addScripted(t, p, plainID, "a", "100"), addScripted(t, p, laggyID, "b", "100")
	var both sync.WaitGroup
	both.Add(2)
	var onceA, onceB sync.Once
	hear(t, a, func(at sensors.Tick, _ *sample.Imu) {
		if at.Seq > 0 { // b is captured once a has ticked
			onceA.Do(func() { both.Done(); both.Wait(); b.Stop() })
		}
	})
	hear(t, b, func(sensors.Tick, *sample.Imu) {
		onceB.Do(func() { both.Done(); both.Wait(); a.Stop() })
	})
	require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
	assert.False(t, a.IsListening() || b.IsListening())
}

// TestAListenersPanicIsCounted: and costs nobody else anything.
func TestAListenersPanicIsCounted(t *testing.T) {
	for _, id := range []string{plainID, laggyID} {
		for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
			t.Run(name+" "+id, func(t *testing.T) {
				var log strings.Builder
				p := newScripted(t, &script{}, pipeline.Config{Mode: mode, Log: slog.New(slog.NewTextHandler(&log, nil))})
				s := addScripted(t, p, id, "s", "100")
				calls, others := 0, 0
				hear(t, s, func(sensors.Tick, *sample.Imu) {
					if calls++; calls == 2 {
						panic("no more")
					}
				})
				hear(t, s, func(sensors.Tick, *sample.Imu) { others++ })
				require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
				require.NoError(t, p.Close(t.Context()))
				assert.GreaterOrEqual(t, calls, 3, "it is called again")
				assert.Equal(t, calls, others)
				assert.EqualValues(t, 1, s.Drops()["callback_failed"])
				assert.Contains(t, log.String(), "no more")
				assert.Contains(t, log.String(), "TestAListenersPanicIsCounted", "where it came from")
			})
		}
	}
}

func TestAListenerCostsNoMemory(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	hear(t, s, func(sensors.Tick, *sample.Imu) {})
	require.NoError(t, p.Step(t.Context(), 1))
	out, message := s.Port("out"), &sample.Imu{}
	assert.Zero(t, testing.AllocsPerRun(100, func() { out.TryQueue(sensors.Tick{}, message) }))
}
