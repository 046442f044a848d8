package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
						p.Stages()
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

func TestLookUp(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	for _, name := range []string{"front", "front_left", "rear"} {
		addScripted(t, p, plainID, name, "10")
	}
	addScripted(t, p, laggyID, "top", "10")
	s, err := p.Sensor("rear")
	require.NoError(t, err)
	assert.Equal(t, "rear", s.Name())
	_, err = p.Sensor("raer")
	require.ErrorIs(t, err, pipeline.ErrNoSensor)
	require.EqualError(t, err, `no such sensor: "raer", did you mean rear?`)
	for pattern, want := range map[string]string{
		"front*": "[front front_left]", "sensor.test.*": "[front front_left rear top]", laggyID: "[top]", "x": "[]", "[": "[]",
	} {
		names := []string{}
		for _, s := range p.SensorsOf(pattern) {
			names = append(names, s.Name())
		}
		assert.Equal(t, want, fmt.Sprint(names), pattern)
	}
}

// fleet is a scene of a static house, a bus, and a model of cars of which two may come.
func fleet(t testing.TB) *scene.Scene {
	b := scenetest.NewBuilder("fleet")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("house", scenetest.Box(10, 10, 10), grey, scenetest.At(50, 0, 0, scene.TagBuilding)).TypeID = "building.house"
	bus := b.Put("bus", scenetest.Box(10, 3, 3), grey, scene.Placement{Tag: scene.TagBus, Motion: driving{mgl64.Vec3{0, 10, 0}, 1}})
	bus.TypeID = "vehicle.bus"
	b.Scene.Reserve(&scene.Actor{TypeID: "vehicle.sedan", Parts: bus.Parts}, 2)
	return b.Scene
}

// driving is a motion along x, metres a second.
type driving struct {
	from  mgl64.Vec3
	speed float64
}

func (d driving) PoseAt(stamp simtime.Stamp) spatial.Pose {
	p := spatial.Identity()
	p.Position = d.from.Add(mgl64.Vec3{d.speed * float64(stamp) / 1e9, 0, 0})
	return p
}

// TestSensorsRideOnActors: their owner, box and pose are the actor's, children ride with
// them, and they end with it.
func TestSensorsRideOnActors(t *testing.T) {
	owners := map[string]sensors.Owner{}
	do := &script{owner: func(name string, o sensors.Owner) error {
		owners[name] = o
		return nil
	}}
	p := newScriptedIn(t, fleet(t), do, pipeline.Config{ClockRate: simtime.Hz(100)})
	bus := only(t, p.Actors("vehicle.bus"))
	busTop, err := p.AddSensor(sensors.Config{ID: plainID, Name: "bus_top", Rate: simtime.Hz(100), AttachTo: bus.ID(), Pose: sensors.Pose{Z: 3}})
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_top", AttachTo: 3})
	require.ErrorIs(t, err, scene.ErrNoActor)
	own := recorded(t, addScripted(t, p, plainID, "own", "100"))
	require.NoError(t, p.Step(t.Context(), 10))

	sedan, err := p.SpawnActor("vehicle.sedan", driving{mgl64.Vec3{0, -5, 0}, 2})
	require.NoError(t, err)
	assert.Equal(t, "vehicle.sedan", sedan.TypeID())
	onSedan, err := p.AddSensor(sensors.Config{ID: laggyID, Name: "sedan_top", Rate: simtime.Hz(100), AttachTo: sedan.ID(), Pose: sensors.Pose{Z: 1}})
	require.NoError(t, err)
	child, err := p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_mast", Rate: simtime.Hz(100), Parent: "sedan_top", Pose: sensors.Pose{Z: 1}})
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "torn", Parent: "sedan_top", AttachTo: bus.ID()})
	require.ErrorIs(t, err, rig.ErrParent)
	stamps, more := recorded(t, onSedan), recorded(t, child)
	assert.Equal(t, []uint32{bus.ID(), sedan.ID(), sedan.ID()}, []uint32{busTop.Owner(), onSedan.Owner(), child.Owner()})
	assert.Equal(t, mgl64.Vec3{0, 0, 2}, child.Mount().Position)
	assert.Equal(t, "vehicle.sedan", owners["sedan_mast"].TypeID)
	assert.Equal(t, scene.EgoTypeID, owners["own"].TypeID)
	assert.Len(t, sedan.Sensors(), 2)

	require.NoError(t, p.Step(t.Context(), 10)) // to 200 ms
	assert.InDelta(t, 0.4, sedan.Pose().Position.X(), 1e-9)
	assert.InDelta(t, 0.2, bus.Pose().Position.X(), 1e-9)
	assert.Equal(t, millis(120, 130, 140, 150, 160, 170, 180, 190, 200), *stamps)
	assert.Equal(t, *stamps, *more)

	require.NoError(t, sedan.Destroy())
	assert.False(t, sedan.Present())
	_, err = p.Actor(sedan.ID())
	require.ErrorIs(t, err, scene.ErrAbsent)
	require.ErrorIs(t, sedan.Destroy(), scene.ErrAbsent)
	require.NoError(t, p.Step(t.Context(), 5))
	assert.Len(t, *stamps, 9, "its sensors went with it")
	assert.Len(t, *more, 9)
	for _, gone := range []*pipeline.Sensor{onSedan, child} {
		require.NoError(t, gone.Wait(t.Context()))
		require.NoError(t, gone.Destroy(), "that they are gone is not an error")
	}
	assert.Len(t, p.Sensors(), 2)
	assert.Len(t, *own, 25, "others don't notice")

	back, err := p.SpawnActor("vehicle.*", scene.Standing(spatial.Identity()))
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_top", AttachTo: back.ID()})
	require.NoError(t, err, "the name is free again")
}

// only returns the one actor of a list.
func only(t testing.TB, list []*pipeline.Actor) *pipeline.Actor {
	require.Len(t, list, 1)
	return list[0]
}

func TestActorsAreLookedUp(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{ClockRate: simtime.Hz(100)})
	names := func(pattern string) (list []string) {
		for _, a := range p.Actors(pattern) {
			list = append(list, fmt.Sprintf("%d %s", a.ID(), a.TypeID()))
		}
		return list
	}
	assert.Equal(t, []string{"0 vehicle.ego", "1 building.house", "2 vehicle.bus"}, names("*"))
	_, err := p.Actor(99)
	require.ErrorIs(t, err, scene.ErrNoActor)
	_, err = p.Actor(3)
	require.ErrorIs(t, err, scene.ErrNoActor, "it comes below")
	first, err := p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"0 vehicle.ego", "2 vehicle.bus", "3 vehicle.sedan"}, names("vehicle.*"), "at once")
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.ErrorIs(t, err, scene.ErrReserveEmpty)
	_, err = p.SpawnActor("vehicle.tram", nil)
	require.ErrorIs(t, err, scene.ErrNoActor)
	require.ErrorContains(t, err, "world.city_models and world.models say which there are")
	_, there := first.State()
	assert.False(t, there, "from the next instant on")
	require.NoError(t, p.Step(t.Context(), 1))
	_, there = first.State()
	assert.True(t, there)
	house, err := p.Actor(1)
	require.NoError(t, err)
	require.ErrorIs(t, house.Destroy(), scene.ErrPermanent)
	ego, err := p.Actor(scene.EgoID)
	require.NoError(t, err)
	require.ErrorIs(t, ego.Destroy(), scene.ErrPermanent)
	assert.True(t, ego.Present())
	assert.Equal(t, "ego", ego.Name())
}

// TestASensorIsNotLeftOnAnActorThatWent, however the actor was removed.
func TestASensorIsNotLeftOnAnActorThatWent(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{ClockRate: simtime.Hz(100)})
	s, err := p.AddSensor(sensors.Config{ID: plainID, Name: "s", Rate: simtime.Hz(100), AttachTo: 2})
	require.NoError(t, err)
	stamps := recorded(t, s)
	require.NoError(t, p.Step(t.Context(), 3))
	require.NoError(t, p.History().Remove(2))
	list, err := p.StepSensors(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, flow.CauseClosed, list[0].Missing)
	destroy(t, s)
	assert.Len(t, *stamps, 3)
	assert.Empty(t, p.Sensors())
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

// snapshot is a sensor that a run brings.
var snapshot = sensors.Config{ID: "sensor.other.snapshot", Name: "snapshot", Topic: "/snapshot"}

func TestAddOnce(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	require.ErrorIs(t, p.AddOnce(snapshot), sensors.ErrUnknownSensor)
	assert.Empty(t, p.Sensors())

	do := &script{with: []*sensors.Definition{groundtruth.SnapshotDefinition}}
	p = newScriptedIn(t, fleet(t), do, pipeline.Config{ClockRate: simtime.Hz(100)})
	imu := addScripted(t, p, plainID, "imu", "10")
	require.NoError(t, p.AddOnce(snapshot))
	require.NoError(t, p.AddOnce(snapshot), "there is one")
	require.Len(t, p.Sensors(), 2)
	s, err := p.Sensor("snapshot")
	require.NoError(t, err)
	assert.Equal(t, []string{"/snapshot"}, s.Topics())
	var order []string
	_, err = pipeline.Listen(s, "snapshot", func(_ sensors.Tick, m *sample.Snapshot) { order = append(order, fmt.Sprint("snapshot ", m.Frame)) })
	require.NoError(t, err)
	hear(t, imu, func(_ sensors.Tick, m *sample.Imu) { order = append(order, fmt.Sprint("imu ", m.Frame)) })
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Len(t, order, 11)
	assert.Equal(t, []string{"snapshot 9", "imu 9"}, order[9:])
}

func check(text string) ([]string, error) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n"+text))
	if err != nil {
		return nil, err
	}
	registry := sensors.Must(sensors.NewRegistry(motion.IMUDefinition, motion.OdometryDefinition, lidar.RayCastDefinition))
	return pipeline.CheckRig(r, registry)
}

func TestCheckRigListsTopics(t *testing.T) {
	topics, err := check("- {id: sensor.lidar.ray_cast, name: top}\n- {id: sensor.other.imu, name: imu, topic: /a}")
	require.NoError(t, err)
	assert.Equal(t, []string{"/top/points", "/a/data"}, topics)
}

// TestCheckRigNamesThePlace covers what only a pipeline knows: rates, the
// constructors' own checks, and topics.
func TestCheckRigNamesThePlace(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"- {id: sensor.other.imu, name: a, rate: fast}", `r.yaml:2:41: sensors[0].rate: invalid rate: "fast" is not a decimal number of at most 9 decimals`, simtime.ErrRate},
		{"- {id: sensor.other.imu, name: a, rate: 0}", "r.yaml:2:41: sensors[0].rate: invalid rate: 0 Hz is outside (0, 1000000000]", simtime.ErrRate},
		{"- {id: sensor.lidar.ray_cast, name: a, range: 1, range_min: 2}", "r.yaml:2:3: sensors[0]: bad attribute value: range_min 2 is not below range 1", sensors.ErrValue},
		{"- {id: sensor.other.imu, name: a, topic: /t}\n- {id: sensor.other.imu, name: b, topic: /t}", "r.yaml:3:42: sensors[1].topic: topic is used twice: /t/data of sensor a, and of this one as *sample.Imu", pipeline.ErrTopic},
	} {
		_, err := check(c.text)
		require.ErrorIs(t, err, c.is, c.text)
		assert.EqualError(t, err, c.message)
	}
}

// TestPlacesOnTheEarthNeedAMap: a sensor that tells of them isn't added to an actor beyond the
// map's reach.
func TestPlacesOnTheEarthNeedAMap(t *testing.T) {
	at := mgl64.Vec3{450_000, 5_400_000, 100}
	for name, c := range map[string]struct {
		place  spatial.MapFrame
		id     string
		refuse bool
	}{
		"flat":                 {spatial.TangentMap(spatial.Geodetic{Latitude: 48}), "sensor.other.gnss", true},
		"nowhere":              {spatial.MapFrame{}, "sensor.other.gps_odometry", true},
		"on a grid":            {spatial.GridMap(spatial.UTMZone{Number: 32}), "sensor.other.gnss", false},
		"of no place on earth": {spatial.MapFrame{}, "sensor.other.imu", false},
	} {
		t.Run(name, func(t *testing.T) {
			world := scenetest.MovingWall(30, 5)
			world.Ego.Position, world.Map = at, c.place
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: world, Open: gputest.NewFake().Open,
				Sensors: sensors.Must(sensors.NewRegistry(motion.GNSSDefinition, motion.GPSOdometryDefinition, motion.IMUDefinition)),
			})
			require.NoError(t, err)
			_, err = p.AddSensor(sensors.Config{ID: c.id, Name: "receiver"})
			if c.refuse {
				require.ErrorIs(t, err, spatial.ErrBeyondMap)
				assert.ErrorContains(t, err, "sensor receiver: "+c.id+": no place on the earth: (450000, 5400000) is 5419 km")
				assert.Empty(t, p.Sensors())
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, p.Close(t.Context()))
		})
	}
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

// framed is a sensor with a frame below its own, as a camera is.
type framed struct {
	plain
	spec sensors.Spec
}

func (f *framed) Frames() []sample.Transform {
	return []sample.Transform{{
		Header: sample.Header{FrameID: f.spec.BodyFrame()}, ChildFrameID: f.spec.OpticalFrame(), Relative: spatial.OpticalInBody(),
	}}
}

// fixedFrames runs a rig and returns /tf_static as child and parent, in order.
func fixedFrames(t *testing.T, list ...sensors.Config) []string {
	t.Helper()
	do := &script{}
	plainDefinition, err := do.registry().Get(plainID)
	require.NoError(t, err)
	eye := *plainDefinition
	eye.ID = "sensor.test.framed"
	eye.New = func(spec sensors.Spec) (sensors.Sensor, error) {
		return &framed{plain{script: do, name: spec.Name}, spec}, nil
	}
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open,
		Sensors: sensors.Must(sensors.NewRegistry(plainDefinition, &eye, motion.TransformDefinition)), ClockRate: simtime.Hz(100),
	})
	require.NoError(t, err)
	for _, c := range list {
		_, err := p.AddSensor(c)
		require.NoError(t, err)
	}
	require.NoError(t, p.AddTransforms())
	var frames []string
	sensors := p.Sensors()
	_, err = pipeline.Listen(sensors[len(sensors)-1], "tf_static", func(_ tick, m *sample.Transforms) {
		for _, f := range m.Transforms {
			frames = append(frames, f.ChildFrameID+" in "+f.FrameID)
		}
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	return frames
}

type tick = sensors.Tick

func TestFixedFramesAreATree(t *testing.T) {
	up := sensors.Pose{Z: 1}
	for name, c := range map[string]struct {
		list []sensors.Config
		want []string
	}{
		"cameras share a frame": {
			[]sensors.Config{
				{ID: "sensor.test.framed", Name: "front", Pose: up},
				{ID: "sensor.test.framed", Name: "front_depth", Frame: "front", Pose: up},
			},
			[]string{"odom in map", "front in base_link", "front_optical in front"},
		},
		"a camera shares another's body": {
			[]sensors.Config{
				{ID: plainID, Name: "imu", Frame: "head", Pose: up},
				{ID: "sensor.test.framed", Name: "eye", Frame: "head", Pose: up},
			},
			[]string{"odom in map", "head in base_link", "head_optical in head"},
		},
		"a frame in a frame": {
			[]sensors.Config{
				{ID: plainID, Name: "mast"},
				{ID: "sensor.test.framed", Name: "eye", Parent: "mast"},
			},
			[]string{"odom in map", "mast in base_link", "eye in mast", "eye_optical in eye"},
		},
		"messages that name other frames": {
			[]sensors.Config{
				{ID: plainID, Name: "lidar", FrameID: "base_link", Pose: up},
				{ID: "sensor.test.framed", Name: "eye", FrameID: "camera", Pose: up},
				{ID: "sensor.test.framed", Name: "other", FrameID: "camera"},
				{ID: "sensor.test.framed", Name: "third", FrameID: "mast"},
				{ID: plainID, Name: "mast"},
			},
			[]string{
				"odom in map", "lidar in base_link", "eye in base_link", "other in base_link", "third in base_link", "mast in base_link",
				"camera in eye",
			},
		},
		"named like a frame of REP-105": {
			[]sensors.Config{{ID: plainID, Name: "odom"}, {ID: plainID, Name: "a"}},
			[]string{"odom in map", "a in base_link"},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, fixedFrames(t, c.list...)) })
	}
}

func TestFixedFramesComeAfterTheirParents(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte(`sensors:
  - {id: sensor.test.plain, name: eye, parent: mast, topic: /eye}
  - {id: sensor.test.plain, name: mast, topic: /mast}
`))
	require.NoError(t, err)
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err = p.AddRig(r)
	require.NoError(t, err)
	require.NoError(t, p.AddTransforms())
	var frames []string
	_, err = pipeline.Listen(p.Sensors()[2], "tf_static", func(_ tick, m *sample.Transforms) {
		for _, f := range m.Transforms {
			frames = append(frames, f.ChildFrameID)
		}
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.Equal(t, []string{"odom", "mast", "eye"}, frames)
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
