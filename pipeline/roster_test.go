package pipeline_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// TestASensorJoinsAtTheNextInstant: and fires a whole period later first, on its grid,
// as if it had been there always.
func TestASensorJoinsAtTheNextInstant(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	always := recorded(t, addScripted(t, p, plainID, "always", "20"))
	to.attach(t, p, "")
	require.NoError(t, p.Step(t.Context(), 7)) // 70 ms: the next instant is at 80 ms
	late := addScripted(t, p, laggyID, "late", "20")
	stamps := recorded(t, late)
	at, due := p.NextDue()
	assert.Equal(t, simtime.Stamp(100_000_000), at)
	assert.Len(t, due, 1)
	require.NoError(t, p.Step(t.Context(), 23))
	assert.Equal(t, millis(50, 100, 150, 200, 250, 300), *always)
	assert.Equal(t, millis(150, 200, 250, 300), *stamps)
	require.NoError(t, p.Close(t.Context()))
	assert.Equal(t, *stamps, to.stamps("/late"), "the bridge carries it")
	assert.Equal(t, *always, to.stamps("/always"))
	for i := range to.deliveries()[1:] { // in the order of time still
		assert.LessOrEqual(t, to.deliveries()[i].stamp, to.deliveries()[i+1].stamp)
	}
}

// TestSensorsComeAndGoDuringARun adds and destroys from several goroutines, while the
// loops work.
func TestSensorsComeAndGoDuringARun(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			begun, ended := map[string]int{}, map[string]int{}
			count := func(m map[string]int, name string) {
				mu.Lock()
				defer mu.Unlock()
				m[name]++
			}
			do := &script{
				begin: func(_ context.Context, name string) error { count(begun, name); return nil },
				ended: func(name string) { count(ended, name) },
			}
			to := &peer{}
			p := newScripted(t, do, pipeline.Config{Mode: mode, Bridges: to.registry()})
			recorded(t, addScripted(t, p, plainID, "constant", "100"))
			require.NoError(t, p.AddTransforms())
			to.attach(t, p, "")
			end := inBackground(t, p)
			var spawners sync.WaitGroup
			for k := range 4 {
				spawners.Go(func() {
					for n := range 8 {
						id := []string{plainID, laggyID, eachID}[n%3]
						rate := simtime.Hz(200)
						if id == eachID {
							rate = simtime.Rate{}
						}
						s, err := p.AddSensor(sensors.Config{ID: id, Name: fmt.Sprintf("s%d", k), Rate: rate})
						if !assert.NoError(t, err) {
							return
						}
						arrived := make(chan struct{})
						var once sync.Once
						hear(t, s, func(sensors.Tick, *sample.Imu) { once.Do(func() { close(arrived) }) })
						<-arrived
						p.Summary()
						p.Latencies()
						assert.NoError(t, s.Wait(t.Context()), "nobody has destroyed it")
						assert.NoError(t, s.Destroy())
						assert.NoError(t, s.Destroy(), "again")
						assert.NoError(t, s.Wait(t.Context()))
						assert.False(t, s.IsListening())
						_, err = pipeline.Listen(s, "out", func(sensors.Tick, *sample.Imu) {})
						assert.ErrorIs(t, err, pipeline.ErrNoSensor)
					}
				})
			}
			spawners.Wait()
			end()
			require.NoError(t, p.Close(t.Context()))
			for k := range 4 {
				name := fmt.Sprintf("s%d", k)
				assert.Equal(t, 8, begun[name])
				assert.Equal(t, 8, ended[name], "each is ended once")
			}
			var names []string
			for _, row := range p.Summary().Sensors {
				names = append(names, fmt.Sprint(row.Name, row.Ended))
			}
			for k := range 4 {
				assert.Contains(t, names, fmt.Sprintf("s%dtrue", k), "its counts stay")
			}
			assert.Contains(t, names, "constantfalse")
		})
	}
}

// TestACallbackMayAddAndDestroy: as the tutorial's does with actors.
func TestACallbackMayAddAndDestroy(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		for _, id := range []string{plainID, laggyID} {
			t.Run(name+" "+id, func(t *testing.T) {
				p := newScripted(t, &script{}, pipeline.Config{Mode: mode})
				calls, fifth := 0, make(chan struct{})
				var add func(s *pipeline.Sensor)
				add = func(s *pipeline.Sensor) {
					hear(t, s, func(sensors.Tick, *sample.Imu) {
						calls++
						if !assert.NoError(t, s.Destroy()) || calls == 5 {
							close(fifth)
							return
						}
						next, err := p.AddSensor(sensors.Config{ID: id, Name: fmt.Sprint("s", calls), Rate: simtime.Hz(100)})
						if assert.NoError(t, err) {
							add(next)
						}
					})
				}
				add(addScripted(t, p, id, "s", "100"))
				end := inBackground(t, p)
				<-fifth // each destroys itself and adds the next
				end()
				assert.Equal(t, 5, calls)
				require.NoError(t, p.Close(t.Context()))
				assert.Empty(t, p.Sensors())
			})
		}
	}
}

// TestASlowBeginHoldsUpNobody: the loops continue, and others come and go.
func TestASlowBeginHoldsUpNobody(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		t.Run(name, func(t *testing.T) {
			within, compiled := make(chan struct{}), make(chan struct{})
			do := &script{begin: func(_ context.Context, name string) error {
				if name == "slow" {
					close(within)
					<-compiled
				}
				return nil
			}}
			p := newScripted(t, do, pipeline.Config{Mode: mode})
			other := addScripted(t, p, laggyID, "other", "100")
			calls := make(chan struct{})
			hear(t, other, func(sensors.Tick, *sample.Imu) {
				select {
				case calls <- struct{}{}:
				default:
				}
			})
			end := inBackground(t, p)
			<-calls
			added := make(chan *pipeline.Sensor, 1)
			go func() { added <- addScripted(t, p, plainID, "slow", "100") }()
			<-within
			<-calls
			<-calls
			quick := addScripted(t, p, plainID, "quick", "100")
			_, err := p.AddSensor(sensors.Config{ID: plainID, Name: "slow"})
			require.ErrorIs(t, err, rig.ErrName, "the name is taken already")
			_, err = p.Sensor("slow")
			require.ErrorIs(t, err, pipeline.ErrNoSensor, "but not there yet")
			destroy(t, quick)
			close(compiled)
			slow := <-added
			arrived := make(chan struct{})
			var once sync.Once
			hear(t, slow, func(sensors.Tick, *sample.Imu) { once.Do(func() { close(arrived) }) })
			<-arrived
			end()
		})
	}
}

// TestWhatCantBeAddedLeavesNothing: names, topics and frames are free afterwards.
func TestWhatCantBeAddedLeavesNothing(t *testing.T) {
	var failing error
	var ended []string
	do := &script{
		begin: func(context.Context, string) error { return failing },
		ended: func(name string) { ended = append(ended, name) },
		owner: func(name string, _ sensors.Owner) error {
			if name == "picky" {
				return errBroken
			}
			return nil
		},
	}
	to := &peer{}
	p := newScripted(t, do, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "base", "10")
	to.attach(t, p, "")
	require.NoError(t, p.Step(t.Context(), 1))
	add := func(c sensors.Config) error {
		_, err := p.AddSensor(c)
		return err
	}
	failing = errBroken
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "x"}), errBroken)
	_, err := p.AddRig(&rig.Rig{Sensors: []sensors.Config{{ID: plainID, Name: "y"}, {ID: plainID, Name: "z"}}})
	require.ErrorIs(t, err, errBroken)
	failing = nil
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "picky"}), errBroken)
	to.refuse = "/refused"
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "refused"}), bridges.ErrTopicName)
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "base"}), rig.ErrName)
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "x", Topic: "/base"}), pipeline.ErrTopic)
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "x", Parent: "y"}), rig.ErrParent)
	require.ErrorIs(t, add(sensors.Config{ID: plainID, Name: "x", AttachTo: 77}), scene.ErrNoActor)
	require.ErrorIs(t, add(sensors.Config{ID: eachID, Name: "x", Rate: simtime.Hz(10)}), simtime.ErrRate)
	require.ErrorIs(t, add(sensors.Config{ID: "sensor.test.plane", Name: "x"}), sensors.ErrUnknownSensor)
	assert.Len(t, p.Sensors(), 1)
	assert.Empty(t, ended, "nothing of it had begun")
	to.refuse = ""
	for _, name := range []string{"x", "y", "z", "refused"} {
		require.NoError(t, add(sensors.Config{ID: plainID, Name: name, Rate: simtime.Hz(100)}))
	}
	require.NoError(t, p.Step(t.Context(), 5))
	require.NoError(t, p.Close(t.Context()))
	assert.Len(t, to.stamps("/x"), 4)
	assert.Equal(t, to.stamps("/x"), to.stamps("/refused"))
}

// TestDestroyCompletesWhatWasBegun: in a stepped run nothing of an instant that was
// begun is missing, and what a bridge was given is sent.
func TestDestroyCompletesWhatWasBegun(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, _ string, _ simtime.Stamp) error {
		time.Sleep(100 * time.Microsecond) // so that there is a queue
		return nil
	}}
	p := newUnclocked(t, &script{}, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "other", "100")
	s := addScripted(t, p, laggyID, "s", "100")
	to.attach(t, p, "")
	heard := 0
	done := make(chan error, 1)
	hear(t, s, func(sensors.Tick, *sample.Imu) {
		if heard++; heard == 20 {
			assert.NoError(t, s.Destroy())
			go func() { done <- s.Wait(context.Background()) }()
		}
	})
	end := inBackground(t, p)
	require.NoError(t, <-done)
	sent := to.stamps("/s")
	assert.GreaterOrEqual(t, len(sent), 20)
	everyMs(t, 10, sent)
	assert.LessOrEqual(t, heard, len(sent), "listeners are left out at once")
	assert.Zero(t, s.Drops()["closed"])
	to.awaitStamp(t, "/other", simtime.Stamp(sent[len(sent)-1]+50_000_000))
	assert.Len(t, to.stamps("/s"), len(sent), "none came after")
	_, err := p.Sensor("s")
	require.ErrorIs(t, err, pipeline.ErrNoSensor)
	again := recorded(t, addScripted(t, p, laggyID, "s", "100"))
	to.awaitStamp(t, "/s", simtime.Stamp(sent[len(sent)-1]+50_000_000))
	end()
	require.NoError(t, p.Close(t.Context()))
	assert.NotEmpty(t, *again)
	i := slices.IndexFunc(p.Summary().Sensors, func(row carry.SensorSummary) bool { return row.Ended })
	require.GreaterOrEqual(t, i, 0)
	assert.EqualValues(t, len(sent), p.Summary().Sensors[i].Messages)
}

func TestASensorThatCarriesOthersStays(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	mast := addScripted(t, p, plainID, "mast", "10")
	eye, err := p.AddSensor(sensors.Config{ID: plainID, Name: "eye", Parent: "mast"})
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "ear", Parent: "mast"})
	require.NoError(t, err)
	err = mast.Destroy()
	require.ErrorIs(t, err, pipeline.ErrMounted)
	require.EqualError(t, err, "destroy sensor mast: other sensors are mounted on it: eye, ear")
	destroy(t, eye) // also before the start
	require.ErrorIs(t, mast.Destroy(), pipeline.ErrMounted)
	twin, err := p.AddSensor(sensors.Config{ID: plainID, Name: "twin", Frame: "mast"})
	require.NoError(t, err)
	destroy(t, mast) // the frame stays
	require.ErrorIs(t, twin.Destroy(), pipeline.ErrMounted)
	require.NoError(t, p.Close(t.Context()))
	destroy(t, twin) // the pipeline's end was its own
}

// TestManySensorsTakeLittle: a rig of a few kilobytes doesn't hold much memory before anything
// is published.
func TestManySensorsTakeLittle(t *testing.T) {
	const sensors = 200
	text := ""
	for i := range sensors {
		text += fmt.Sprintf("- {id: sensor.other.imu, name: s%d}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	topics, err := check(text)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Len(t, topics, sensors)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/sensors, uint64(50_000))
}
