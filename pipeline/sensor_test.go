package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// recorded notes the stamps of a sensor's messages. It is read between runs.
func recorded(t testing.TB, s *pipeline.Sensor) *[]int64 {
	stamps := new([]int64)
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { *stamps = append(*stamps, int64(m.Stamp)) })
	return stamps
}

func millis(list ...int64) []int64 {
	for i := range list {
		list[i] *= 1_000_000
	}
	return list
}

// TestWaitEndsWithItsContext: and the sensor's end comes all the same.
func TestWaitEndsWithItsContext(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	within, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hear(t, s, func(sensors.Tick, *sample.Imu) {
		once.Do(func() { close(within); <-leave })
	})
	end := inBackground(t, p)
	<-within
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.NoError(t, s.Destroy())
	err := s.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, errors.Is(err, context.Cause(ctx)))
	close(leave)
	destroy(t, s)
	end()
}

// TestEachFrameComesFirst: at every instant, before all others, also if it was added
// after them; frames count the instants.
func TestEachFrameComesFirst(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		t.Run(name, func(t *testing.T) {
			p := newScripted(t, &script{}, pipeline.Config{Mode: mode})
			type firing struct {
				sensor string
				at     sensors.Tick
			}
			var list []firing
			listen := func(s *pipeline.Sensor) {
				hear(t, s, func(at sensors.Tick, _ *sample.Imu) { list = append(list, firing{s.Name(), at}) })
			}
			listen(addScripted(t, p, plainID, "a", "30"))
			listen(addScripted(t, p, plainID, "b", "100"))
			listen(addScripted(t, p, eachID, "each", ""))
			require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
			listen(addScripted(t, p, eachID, "late", ""))
			require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))

			var frames, before uint64
			last := sensors.Tick{}
			for i, f := range list {
				switch f.sensor {
				case "each":
					if frames > 0 && mode == pipeline.Stepped {
						assert.Equal(t, before+1, f.at.Frame, "every instant has one")
					}
					assert.Equal(t, f.at.Due-last.Due, simtime.Stamp(f.at.PeriodNs))
					frames++
					before, last = f.at.Frame, f.at
				case "late":
					assert.Equal(t, "each", list[i-1].sensor)
					assert.Equal(t, before, f.at.Frame)
				default:
					assert.Equal(t, before, f.at.Frame, "%s at %v comes after each", f.sensor, time.Duration(f.at.Due))
				}
			}
			if mode == pipeline.Stepped {
				// Every 10 ms, and 30 Hz where those don't meet.
				assert.EqualValues(t, 30+6, frames)
				assert.EqualValues(t, 35, last.Frame)
				assert.Equal(t, "late", list[len(list)-3].sensor)
			}
		})
	}
}

func TestFramesRiseOverJumps(t *testing.T) {
	p := newUnclocked(t, &script{}, pipeline.Config{TimeSource: simtime.SS2, Mode: pipeline.Realtime})
	arrived := make(chan sensors.Tick, 1000)
	hear(t, addScripted(t, p, plainID, "grid", "100"), func(sensors.Tick, *sample.Imu) {})
	hear(t, addScripted(t, p, eachID, "each", ""), func(at sensors.Tick, _ *sample.Imu) { arrived <- at })
	end := inBackground(t, p)
	limit := time.After(20 * time.Second)
	var last sensors.Tick
	for _, to := range []int64{10, 20, 30, 5000, 5010, 40, 50} { // far ahead, and back
		require.NoError(t, p.Clock().Set(to/1000, uint32(to%1000*ms)))
		for last.Due != simtime.Stamp(to*ms) {
			before := last
			select {
			case last = <-arrived:
			case <-limit:
				t.Fatalf("nothing at %d ms", to)
			}
			if before.Due != 0 {
				assert.Greater(t, last.Frame, before.Frame)
				assert.Equal(t, before.Seq+1, last.Seq)
			}
			assert.LessOrEqual(t, last.PeriodNs, int64(10*ms), "nothing happened between before a jump and after")
			assert.GreaterOrEqual(t, last.PeriodNs, int64(0))
		}
	}
	end()
}

// TestFramesAreTheSameInEveryRun: they don't depend on who listens, or on machines.
func TestFramesAreTheSameInEveryRun(t *testing.T) {
	run := func(deaf bool) (list []string) {
		p := newScripted(t, &script{}, pipeline.Config{})
		a, b := addScripted(t, p, laggyID, "a", "13.4"), addScripted(t, p, plainID, "b", "7")
		if !deaf {
			hear(t, a, func(sensors.Tick, *sample.Imu) {})
		}
		hear(t, b, func(at sensors.Tick, _ *sample.Imu) { list = append(list, fmt.Sprint(at.Frame, at.Due)) })
		for range 10 {
			require.NoError(t, p.Run(t.Context(), 150*time.Millisecond))
		}
		return list
	}
	first := run(false)
	assert.Len(t, first, 10)
	assert.Equal(t, first, run(false))
	assert.Equal(t, first, run(true))
}

func TestARateForWhatFiresEachFrameIsRefused(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err := p.AddSensor(sensors.Config{ID: eachID, Name: "s", Rate: simtime.Hz(10)})
	require.ErrorIs(t, err, simtime.ErrRate)
	require.EqualError(t, err, "sensor s: rate: invalid rate: a sensor.test.each fires each frame: leave the rate out")
	s := addScripted(t, p, eachID, "s", "")
	assert.Zero(t, s.Rate())
}

// TestPreTickComesBeforeTheSceneMoves: once for each firing, before its Tick and after
// the Tick before, whatever goroutines they run on.
func TestPreTickComesBeforeTheSceneMoves(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		for _, id := range []string{plainID, eachID} {
			t.Run(name+" "+id, func(t *testing.T) {
				var notes []string
				var p *pipeline.Pipeline
				note := func(step string, at sensors.Tick) {
					_, newest, _ := p.History().Span()
					if step == "pre" {
						assert.Less(t, newest, at.Due, "the scene has not moved yet")
					} else {
						assert.GreaterOrEqual(t, newest, at.Due)
					}
					notes = append(notes, fmt.Sprint(step, at.Seq))
				}
				do := &script{
					pretick: func(_ string, at sensors.Tick) { note("pre", at) },
					tick: func(_ string, at sensors.Tick) error {
						note("tick", at)
						return nil
					},
				}
				p = newScripted(t, do, pipeline.Config{Mode: mode})
				rate := "100"
				if id == eachID {
					rate = ""
				}
				hear(t, addScripted(t, p, id, "s", rate), func(sensors.Tick, *sample.Imu) {})
				require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
				require.NotEmpty(t, notes)
				for k := 0; k+1 < len(notes); k += 2 {
					assert.Equal(t, "pre", notes[k][:3])
					assert.Equal(t, "tick"+notes[k][3:], notes[k+1])
				}
			})
		}
	}
}

// TestAHearerIsToldOfItsListeners: of the first and of the last, and while there is
// none nothing is computed.
func TestAHearerIsToldOfItsListeners(t *testing.T) {
	for _, id := range []string{plainID, laggyID, eachID} {
		t.Run(id, func(t *testing.T) {
			var notes []string
			note := func(_ string, at sensors.Tick) error {
				notes = append(notes, fmt.Sprint("work", at.Due/1_000_000))
				return nil
			}
			do := &script{capture: note, heard: func(_ string, listening bool) { notes = append(notes, fmt.Sprint(listening)) }}
			if id != laggyID {
				do.tick, do.capture = note, nil
			}
			p := newUnclocked(t, do, pipeline.Config{})
			rate := "50"
			if id == eachID {
				rate = ""
			}
			s := addScripted(t, p, id, "s", rate)
			step := func(want ...string) {
				t.Helper()
				notes = nil
				require.NoError(t, p.Step(t.Context(), 2))
				assert.Equal(t, want, notes)
			}
			both := func(at int, tell ...string) []string { // 20 ms, in which one fires each 10 ms
				if id == eachID {
					tell = append(tell, fmt.Sprint("work", at-10))
				}
				return append(tell, fmt.Sprint("work", at))
			}
			step()
			stop := hear(t, s, func(sensors.Tick, *sample.Imu) {})
			step(both(40, "true")...)
			also := hear(t, s, func(sensors.Tick, *sample.Imu) {})
			step(both(60)...)
			stop()
			step(both(80)...)
			also()
			step("false")
			step()
			hear(t, s, func(sensors.Tick, *sample.Imu) {})
			step(both(140, "true")...)
		})
	}
}

// TestTheSnapshotIsFirst: also of those that fire each frame, though it was added last.
func TestTheSnapshotIsFirst(t *testing.T) {
	do := &script{with: []*sensors.Definition{groundtruth.SnapshotDefinition}}
	p := newScripted(t, do, pipeline.Config{})
	var order []string
	note := func(s *pipeline.Sensor) {
		hear(t, s, func(sensors.Tick, *sample.Imu) { order = append(order, s.Name()) })
	}
	note(addScripted(t, p, plainID, "grid", "100"))
	note(addScripted(t, p, eachID, "each", ""))
	require.NoError(t, p.AddOnce(snapshot))
	note(addScripted(t, p, eachID, "other", ""))
	s, err := p.Sensor("snapshot")
	require.NoError(t, err)
	_, err = pipeline.Listen(s, "snapshot", func(sensors.Tick, *sample.Snapshot) { order = append(order, "snapshot") })
	require.NoError(t, err)
	want := []string{"snapshot", "each", "other", "grid"}
	_, due := p.NextDue()
	var named []string
	for _, s := range due {
		named = append(named, s.Name())
	}
	assert.Equal(t, want, named)
	require.NoError(t, p.Step(t.Context(), 2))
	assert.Equal(t, append(want, want...), order)
}
