package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// recorded notes the stamps of a sensor's messages. It is read between runs.
func recorded(t testing.TB, s *pipeline.Sensor) *[]int64 {
	stamps := new([]int64)
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { *stamps = append(*stamps, m.StampNs) })
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
	assert.Equal(t, int64(100_000_000), at)
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
						rate := "200"
						if id == eachID {
							rate = ""
						}
						s, err := p.AddSensor(pipeline.SensorConfig{ID: id, Name: fmt.Sprintf("s%d", k), Rate: rate})
						if !assert.NoError(t, err) {
							return
						}
						arrived := make(chan struct{})
						var once sync.Once
						hear(t, s, func(sensors.Tick, *sample.Imu) { once.Do(func() { close(arrived) }) })
						<-arrived
						p.Summary()
						p.Stages()
						assert.NoError(t, s.Destroy(t.Context()))
						assert.NoError(t, s.Destroy(t.Context()), "again")
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
						if !assert.NoError(t, s.Destroy(context.Background())) || calls == 5 {
							close(fifth)
							return
						}
						next, err := p.AddSensor(pipeline.SensorConfig{ID: id, Name: fmt.Sprint("s", calls), Rate: "100"})
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

// TestASlowBeginHoldsUpNobody: the loops go on, and others come and go.
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
			_, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "slow"})
			require.ErrorIs(t, err, rig.ErrName, "the name is taken already")
			_, err = p.Sensor("slow")
			require.ErrorIs(t, err, pipeline.ErrNoSensor, "but not there yet")
			require.NoError(t, quick.Destroy(t.Context()))
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
	add := func(c pipeline.SensorConfig) error {
		_, err := p.AddSensor(c)
		return err
	}
	failing = errBroken
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "x"}), errBroken)
	_, err := p.AddRig(&rig.Rig{Sensors: []rig.Entry{{ID: plainID, Name: "y"}, {ID: plainID, Name: "z"}}})
	require.ErrorIs(t, err, errBroken)
	failing = nil
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "picky"}), errBroken)
	to.refuse = "/refused"
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "refused"}), bridges.ErrTopicName)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "base"}), rig.ErrName)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "x", Topic: "/base"}), pipeline.ErrTopic)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "x", Parent: "y"}), rig.ErrParent)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: plainID, Name: "x", AttachTo: 77}), scene.ErrNoActor)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: eachID, Name: "x", Rate: "10"}), simtime.ErrRate)
	require.ErrorIs(t, add(pipeline.SensorConfig{ID: "sensor.test.plane", Name: "x"}), sensors.ErrUnknownSensor)
	assert.Len(t, p.Sensors(), 1)
	assert.Empty(t, ended, "nothing of it had begun")
	to.refuse = ""
	for _, name := range []string{"x", "y", "z", "refused"} {
		require.NoError(t, add(pipeline.SensorConfig{ID: plainID, Name: name, Rate: "100"}))
	}
	require.NoError(t, p.Step(t.Context(), 5))
	require.NoError(t, p.Close(t.Context()))
	assert.Len(t, to.stamps("/x"), 4)
	assert.Equal(t, to.stamps("/x"), to.stamps("/refused"))
}

// TestDestroyCompletesWhatWasBegun: in a stepped run nothing of an instant that was
// begun is missing, and what a bridge was given is sent.
func TestDestroyCompletesWhatWasBegun(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, _ string, _ int64) error {
		time.Sleep(100 * time.Microsecond) // so that there is a queue
		return nil
	}}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), ClockHz: -1})
	addScripted(t, p, plainID, "other", "100")
	s := addScripted(t, p, laggyID, "s", "100")
	to.attach(t, p, "")
	heard := 0
	done := make(chan error, 1)
	hear(t, s, func(sensors.Tick, *sample.Imu) {
		if heard++; heard == 20 {
			go func() { done <- s.Destroy(context.Background()) }()
		}
	})
	end := inBackground(t, p)
	require.NoError(t, <-done)
	sent := to.stamps("/s")
	assert.GreaterOrEqual(t, len(sent), 20)
	everyMs(t, 10, sent)
	assert.LessOrEqual(t, heard, len(sent), "listeners are left out at once")
	assert.Zero(t, s.Drops()["closed"])
	to.awaitStamp(t, "/other", sent[len(sent)-1]+50_000_000)
	assert.Len(t, to.stamps("/s"), len(sent), "none came after")
	_, err := p.Sensor("s")
	require.ErrorIs(t, err, pipeline.ErrNoSensor)
	again := recorded(t, addScripted(t, p, laggyID, "s", "100"))
	to.awaitStamp(t, "/s", sent[len(sent)-1]+50_000_000)
	end()
	require.NoError(t, p.Close(t.Context()))
	assert.NotEmpty(t, *again)
	i := slices.IndexFunc(p.Summary().Sensors, func(row pipeline.SensorSummary) bool { return row.Ended })
	require.GreaterOrEqual(t, i, 0)
	assert.EqualValues(t, len(sent), p.Summary().Sensors[i].Messages)
}

func TestASensorThatCarriesOthersStays(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	mast := addScripted(t, p, plainID, "mast", "10")
	eye, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "eye", Parent: "mast"})
	require.NoError(t, err)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "ear", Parent: "mast"})
	require.NoError(t, err)
	err = mast.Destroy(t.Context())
	require.ErrorIs(t, err, pipeline.ErrMounted)
	require.EqualError(t, err, "destroy sensor mast: other sensors are mounted on it: eye, ear")
	require.NoError(t, eye.Destroy(t.Context()), "also before the start")
	require.ErrorIs(t, mast.Destroy(t.Context()), pipeline.ErrMounted)
	twin, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "twin", Frame: "mast"})
	require.NoError(t, err)
	require.NoError(t, mast.Destroy(t.Context()), "the frame stays")
	require.ErrorIs(t, twin.Destroy(t.Context()), pipeline.ErrMounted)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, twin.Destroy(t.Context()), "the pipeline's end was its own")
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

// fleet is a scene of a static house, two cars of which one waits in reserve, and a bus.
func fleet(t testing.TB) *scene.Scene {
	b := scenetest.NewBuilder("fleet")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("house", scenetest.Box(10, 10, 10), grey, scenetest.At(50, 0, 0, scene.TagBuilding)).TypeID = "building.house"
	bus := b.Put("bus", scenetest.Box(10, 3, 3), grey, scene.Placement{Tag: scene.TagBus, Motion: driving{mgl64.Vec3{0, 10, 0}, 1}})
	bus.TypeID = "vehicle.bus"
	_, err := b.Scene.Reserve(&scene.Actor{TypeID: "vehicle.sedan", Parts: bus.Parts}, 2)
	require.NoError(t, err)
	return b.Scene
}

// driving is a motion along x, metres a second.
type driving struct {
	from  mgl64.Vec3
	speed float64
}

func (d driving) PoseAt(tNs int64) spatial.Pose {
	p := spatial.Identity()
	p.Position = d.from.Add(mgl64.Vec3{d.speed * float64(tNs) / 1e9, 0, 0})
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
	p := newScriptedIn(t, fleet(t), do, pipeline.Config{})
	bus := only(t, p.Actors("vehicle.bus"))
	busTop, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "bus_top", Rate: "100", AttachTo: bus.ID(), Pose: rig.Pose{Z: 3}})
	require.NoError(t, err)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "sedan_top", AttachTo: 3})
	require.ErrorIs(t, err, scene.ErrAbsent)
	own := recorded(t, addScripted(t, p, plainID, "own", "100"))
	require.NoError(t, p.Step(t.Context(), 10))

	sedan, err := p.SpawnActor("vehicle.sedan", driving{mgl64.Vec3{0, -5, 0}, 2})
	require.NoError(t, err)
	assert.Equal(t, "vehicle.sedan", sedan.TypeID())
	onSedan, err := p.AddSensor(pipeline.SensorConfig{ID: laggyID, Name: "sedan_top", Rate: "100", AttachTo: sedan.ID(), Pose: rig.Pose{Z: 1}})
	require.NoError(t, err)
	child, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "sedan_mast", Rate: "100", Parent: "sedan_top", Pose: rig.Pose{Z: 1}})
	require.NoError(t, err)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "torn", Parent: "sedan_top", AttachTo: bus.ID()})
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
		require.NoError(t, gone.Destroy(t.Context()), "it waits for their end, and that they are gone is not an error")
	}
	assert.Len(t, p.Sensors(), 2)
	assert.Len(t, *own, 25, "others don't notice")

	back, err := p.SpawnActor("vehicle.*", scene.Standing(spatial.Identity()))
	require.NoError(t, err)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "sedan_top", AttachTo: back.ID()})
	require.NoError(t, err, "the name is free again")
}

// only returns the one actor of a list.
func only(t testing.TB, list []*pipeline.Actor) *pipeline.Actor {
	require.Len(t, list, 1)
	return list[0]
}

func TestActorsAreLookedUp(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{})
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
	require.ErrorIs(t, err, scene.ErrAbsent)
	first, err := p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"0 vehicle.ego", "2 vehicle.bus", "3 vehicle.sedan"}, names("vehicle.*"), "at once")
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.ErrorIs(t, err, scene.ErrReserveEmpty)
	_, err = p.SpawnActor("vehicle.tram", nil)
	require.ErrorIs(t, err, scene.ErrNoActor)
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

// TestASensorIsNotLeftOnAnActorThatWent, whoever removed it.
func TestASensorIsNotLeftOnAnActorThatWent(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{})
	s, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "s", Rate: "100", AttachTo: 2})
	require.NoError(t, err)
	stamps := recorded(t, s)
	require.NoError(t, p.Step(t.Context(), 3))
	require.NoError(t, p.History().Remove(2))
	list, err := p.StepSensors(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, flow.CauseClosed, list[0].Missing)
	require.NoError(t, s.Destroy(t.Context()))
	assert.Len(t, *stamps, 3)
	assert.Empty(t, p.Sensors())
}

// TestDestroyWaitsNoLongerThanItMay: and the end comes all the same.
func TestDestroyWaitsNoLongerThanItMay(t *testing.T) {
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
	err := s.Destroy(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, errors.Is(err, context.Cause(ctx)))
	close(leave)
	require.NoError(t, s.Destroy(t.Context()))
	end()
}
