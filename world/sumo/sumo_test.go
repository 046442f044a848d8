package sumo_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/sumo"
)

// at is the state of something that stands.
func at(x, y, yaw float64) world.State {
	return world.State{Pose: spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, yaw)}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// leavesNothing fails the test if goroutines are left at its end.
func leavesNothing(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, time.Millisecond,
			"goroutines are left") // Eventually's own is one
	})
}

func connect(t *testing.T, w *town, options string, o world.Options) world.Source {
	t.Helper()
	s, err := sumo.Kind.Open(t.Context(), w.listen(t)+options, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// begun is connect, with the traffic that is there at the beginning taken.
func begun(t *testing.T, w *town, options string, o world.Options) world.Source {
	t.Helper()
	s := connect(t, w, options, o)
	assert.Equal(t, o.Start, next(t, s).Until)
	return s
}

func next(t *testing.T, s world.Source) *world.Frame {
	t.Helper()
	f, err := s.Next(t.Context(), at(0, 0, 0))
	require.NoError(t, err)
	return f
}

func TestFramesAreSUMOsTraffic(t *testing.T) {
	leavesNothing(t)
	none := -1073741824.0
	w := newTown(func(step int) []car {
		bus := car{id: "7", class: "bus", x: 110 + float64(step), y: 40, z: 3, angle: 90, slope: 30, speed: 10, top: 20}
		walker := car{id: "7", person: true, class: "pedestrian", x: 105, y: 45, angle: 0, speed: 1, top: 2}
		rider := car{id: "r", person: true, class: "pedestrian", rides: "7", x: 110, y: 40}
		lost := car{id: "lost", class: "passenger", x: none, y: none, z: none}
		late := car{id: "late", class: "tram", x: 100, y: 60, angle: 180, speed: 5, top: 10}
		switch step {
		case 0, 1:
			return []car{bus, walker, rider, lost}
		case 2:
			return []car{bus, late}
		default:
			late.x += 30
			return []car{late}
		}
	})
	s := connect(t, w, "?offset=100,40&ego=off", world.Options{Start: 1e9})

	f := next(t, s)
	assert.Equal(t, simtime.Stamp(1e9), f.Until, "what is there at the beginning")
	assert.True(t, f.Complete)
	assert.Nil(t, f.Ego)
	require.Len(t, f.Spawn, 2)
	assert.Empty(t, f.Actors)
	walker, bus := f.Spawn[0], f.Spawn[1]
	assert.Equal(t, "7", bus.Name)
	assert.Equal(t, "vehicle.bus", bus.Model)
	assert.Equal(t, world.FrontBumper, bus.Reference)
	assert.Equal(t, mgl64.Vec3{4.5, 1.75, 1.5}, bus.Size)
	assert.False(t, bus.OnGround, "it has a height")
	assert.Equal(t, mgl64.Vec3{10, 0, 3}, bus.State.Pose.Position, "it was there before the first step")
	roll, pitch, yaw := bus.State.Pose.RPY()
	assert.InDeltaSlice(t, []float64{0, -30, 0}, []float64{roll, pitch, yaw}, 1e-9, "uphill is nose up")
	assert.True(t, bus.State.VelocityKnown)
	assert.InDelta(t, 0, bus.State.Velocity.Sub(mgl64.Vec3{10 * math.Cos(math.Pi/6), 0, 5}).Len(), 1e-9)
	assert.Equal(t, "person/7", walker.Name)
	assert.Equal(t, "walker.pedestrian.0001", walker.Model)
	assert.False(t, walker.OnGround, "the net has heights")
	assert.InDelta(t, 0, walker.State.Velocity.Sub(mgl64.Vec3{0, 1, 0}).Len(), 1e-9, "0 degrees is +y")

	f = next(t, s)
	assert.Equal(t, simtime.Stamp(11e8), f.Until)
	require.Len(t, f.Actors, 2)
	assert.Equal(t, world.Ref{Name: "7"}, f.Actors[0].Ref)
	assert.Equal(t, mgl64.Vec3{11, 0, 3}, f.Actors[0].Pose.Position)
	assert.False(t, f.Actors[0].Jump)

	f = next(t, s)
	assert.Equal(t, simtime.Stamp(12e8), f.Until)
	require.Len(t, f.Spawn, 1)
	assert.Equal(t, "late", f.Spawn[0].Name)
	assert.Equal(t, "vehicle.tram", f.Spawn[0].Model)
	assert.Equal(t, mgl64.Vec3{0, 20, 0}, f.Spawn[0].State.Pose.Position)
	assert.True(t, f.AtEnd, "it was not there before")
	require.Len(t, f.Actors, 1)

	f = next(t, s)
	assert.Empty(t, f.Spawn)
	require.Len(t, f.Actors, 1)
	assert.Equal(t, mgl64.Vec3{30, 20, 0}, f.Actors[0].Pose.Position)
	assert.Zero(t, s.Gaps())
}

// TestHeightsOfANet: who came where the net has z 0 climbs with the road, and comes down to 0 again. In
// a net without any height all stand on the ground.
func TestHeightsOfANet(t *testing.T) {
	heights := []float64{0, 0, 1.5, 0}
	w := newTown(func(step int) []car {
		return []car{{id: "a", class: "passenger", x: float64(step), z: heights[step], top: 50},
			{id: "e", class: "passenger", x: 50, z: heights[step], top: 50}, {id: "b", class: "passenger", x: 90}}
	})
	s := connect(t, w, "?ego=e", world.Options{EgoTheirs: true})
	high := world.State{Pose: spatial.Identity()}
	high.Pose.Position[2] = 7
	for step, z := range heights {
		f, err := s.Next(t.Context(), high)
		require.NoError(t, err)
		if step == 0 {
			assert.True(t, f.Spawn[0].OnGround)
			continue
		}
		for i, want := range []float64{z, 0} {
			assert.Equal(t, want, f.Actors[i].Pose.Position[2], "step %d", step)
			assert.Equal(t, step >= 2, f.Actors[i].HeightKnown, "step %d", step)
		}
		want := z
		if step < 2 {
			want = 7 // the ego keeps its own
		}
		assert.Equal(t, want, f.Ego.Pose.Position[2], "step %d", step)
	}
}

// TestVehiclesThatTurn: SUMO tells how fast the front bumper is. On a circle the rear axle follows the heading, and
// the bumper goes along its own circle.
func TestVehiclesThatTurn(t *testing.T) {
	const axle, length, rate = 10.0, 4.5, 0.5 // metres, rad/s
	arm := 0.77 * length
	speed := rate * math.Hypot(axle, arm)
	w := newTown(func(step int) []car {
		turn := rate * 0.1 * float64(step)
		sin, cos := math.Sincos(turn)
		on := car{class: "passenger", x: axle*sin + arm*cos, y: -axle*cos + arm*sin, angle: 90 - mgl64.RadToDeg(turn), speed: speed, top: 50}
		ego := on
		on.id, ego.id = "a", "e"
		return []car{on, ego}
	})
	s := begun(t, w, "?ego=e", world.Options{EgoTheirs: true})
	for range 3 {
		f := next(t, s)
		front := f.Actors[0]
		want := mgl64.Vec3{0, 0, rate}.Cross(front.Pose.Position)
		assert.InDelta(t, 0, front.Velocity.Sub(want).Len(), 1e-6)
		assert.InDelta(t, 0, f.Ego.Velocity.Sub(f.Ego.Pose.Rotate(mgl64.Vec3{rate * axle})).Len(), 1e-6)
	}
}

// One that leaves and comes again is spawned again.
func TestActorsComeAgain(t *testing.T) {
	w := newTown(func(step int) []car {
		if step == 2 {
			return nil
		}
		return []car{{id: "a", class: "passenger"}}
	})
	s := connect(t, w, "?ego=off", world.Options{})
	assert.Len(t, next(t, s).Spawn, 1)
	assert.Len(t, next(t, s).Actors, 1)
	assert.Empty(t, next(t, s).Actors)
	f := next(t, s)
	assert.Len(t, f.Spawn, 1)
	assert.Empty(t, f.Actors)
	f = next(t, s)
	assert.Empty(t, f.Spawn)
	assert.Len(t, f.Actors, 1)
}

func TestStepsOfOthersAreGaps(t *testing.T) {
	w := standing(1)
	w.now = func(step int) float64 { return 7 + 0.3*float64(step) }
	s := begun(t, w, "", world.Options{})
	assert.Equal(t, simtime.Stamp(3e8), next(t, s).Until)
	assert.Equal(t, simtime.Stamp(6e8), next(t, s).Until)
	assert.EqualValues(t, 4, s.Gaps())
}

// What is sent, byte by byte as the protocol's pages have it.
func TestCommandsAreTraCI(t *testing.T) {
	w := standing(1)
	s := begun(t, w, "?order=258&offset=1000,-50", world.Options{})
	state := at(20, 30, 90)
	state.Velocity, state.VelocityKnown = mgl64.Vec3{0, 10, 0}, true
	_, err := s.Next(t.Context(), state)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	hexes := func(id byte) (all []string) {
		for _, c := range w.commands(id) {
			all = append(all, hex.EncodeToString(c))
		}
		return all
	}
	always := "c1d0000000000000c1d0000000000000"
	assert.Equal(t, []string{"00"}, hexes(0x00))
	assert.Equal(t, []string{"0300000102"}, hexes(0x03))
	assert.Equal(t, []string{"020000000000000000"}, hexes(0x02))
	assert.Equal(t, []string{"7f"}, hexes(0x7F))
	assert.Equal(t, []string{"db" + always + "00000000" + "02" + "667d"}, hexes(0xDB))
	assert.ElementsMatch(t, []string{
		"89" + always + "000000024a31" + "a4" + "412e848000000000" + "05" + "394336405b",
		"89" + always + "000000024a31" + "ae" + "412e848000000000" + "05" + "39433640c3",
	}, hexes(0x89))
	text := func(s string) string { return "0c" + hex.EncodeToString(beText(s)) }
	id := hex.EncodeToString(beText("ego"))
	sent := hexes(0xC4)
	require.Len(t, sent, 2)
	assert.Equal(t, "c485"+id+"0f0000000e"+text("")+text("DEFAULT_VEHTYPE")+text("now")+text("first")+text("base")+text("0")+
		text("current")+text("max")+text("current")+text("")+text("")+text("")+"0900000000"+"0900000000", sent[0])
	move := w.commands(0xC4)[1]
	assert.Equal(t, "c4b4"+id+"0f00000007"+text("")+"0900000000"+"0b", hex.EncodeToString(move[:25]))
	number := func(from int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(move[from:])) }
	assert.InDelta(t, 1020, number(25), 1e-9)
	assert.InDelta(t, -50+30+0.77*5+1, number(34), 1e-9, "the front bumper, where it is a step later")
	assert.InDelta(t, 0, number(43), 1e-9, "north")
	assert.Equal(t, "0802"+"0b"+hex.EncodeToString(beFloat(100)), hex.EncodeToString(move[51:]))
}

func TestOurEgoIsNotTraffic(t *testing.T) {
	w := standing(1)
	w.traffic = func(step int) []car {
		return []car{{id: "ego", class: "passenger", x: float64(step)}, {id: "b", class: "passenger"}}
	}
	s := begun(t, w, "", world.Options{})
	f := next(t, s)
	require.Len(t, f.Actors, 1)
	assert.Equal(t, "b", f.Actors[0].Name)
	assert.Nil(t, f.Ego)
}

// SUMO forgets a vehicle at its route's end. It gets another one.
func TestOurEgoIsAddedAgain(t *testing.T) {
	w := standing(1)
	s := begun(t, w, "?ego=me", world.Options{})
	next(t, s)
	next(t, s)
	w.mu.Lock()
	delete(w.own, "me")
	w.mu.Unlock()
	next(t, s)
	var order []byte
	for _, c := range w.commands(0xC4) {
		order = append(order, c[1])
	}
	assert.Equal(t, []byte{0x85, 0xB4, 0xB4, 0xB4, 0x85, 0xB4}, order, "add, move, move, move that fails, add, move")
}

func TestTheirEgoCarriesTheSensors(t *testing.T) {
	w := newTown(func(step int) []car {
		if step < 2 {
			return nil
		}
		return []car{{id: "e", class: "passenger", x: float64(step), y: 10, z: float64(max(0, step-2)), angle: 90, speed: 10, top: 50}}
	})
	var told [][]any
	s := begun(t, w, "?ego=e", world.Options{EgoTheirs: true, Warn: func(_ string, args ...any) { told = append(told, args) }})
	assert.Empty(t, told)
	assert.Nil(t, next(t, s).Ego)
	assert.Equal(t, [][]any{{"id", "e"}}, told, "it isn't there yet")
	high := world.State{Pose: spatial.Identity()}
	high.Pose.Position[2] = 3
	f, err := s.Next(t.Context(), high)
	require.NoError(t, err)
	require.NotNil(t, f.Ego)
	assert.Empty(t, f.Actors)
	assert.Empty(t, f.Spawn)
	assert.True(t, f.Ego.Jump, "it comes")
	assert.InDelta(t, 0, f.Ego.Pose.Position.Sub(mgl64.Vec3{2 - 0.77*4.5, 10, 3}).Len(), 1e-9, "the rear axle, at the height that it has")
	f = next(t, s)
	assert.False(t, f.Ego.Jump)
	assert.InDelta(t, 1, f.Ego.Pose.Position[2], 1e-9, "SUMO's own height")
	assert.Empty(t, w.commands(0xC4))
}

func TestClassesHaveModels(t *testing.T) {
	for class, want := range map[string]string{
		"passenger": "vehicle.sedan", "private": "vehicle.sedan", "custom1": "vehicle.sedan", "truck": "vehicle.truck", "trailer": "vehicle.truck",
		"bus": "vehicle.bus", "motorcycle": "vehicle.motorcycle", "bicycle": "vehicle.bicycle", "taxi": "vehicle.taxi", "rail": "vehicle.rail",
	} {
		w := newTown(func(int) []car { return []car{{id: "x", class: class}} })
		assert.Equal(t, want, next(t, connect(t, w, "", world.Options{})).Spawn[0].Model, class)
	}
}

func TestAFrameOfManyActors(t *testing.T) {
	s := connect(t, standing(4096), "", world.Options{})
	assert.Len(t, next(t, s).Spawn, 4096)
	f := next(t, s)
	assert.Len(t, f.Actors, 4096)
	assert.Empty(t, f.Spawn)
}

func TestFaultsOfSUMO(t *testing.T) {
	in := func(id byte, change func(answer []byte) ([]byte, bool)) func(byte, int, []byte) ([]byte, bool) {
		return func(command byte, step int, answer []byte) ([]byte, bool) {
			if command != id || id == 0x02 && step < 3 {
				return answer, true
			}
			return change(answer)
		}
	}
	again := func(b []byte) []byte { return append(be32(len(b)+4), b...) }
	for name, c := range map[string]struct {
		town  func(*town)
		fault func(byte, int, []byte) ([]byte, bool)
		want  error
		text  string
	}{
		"an old version":    {town: func(w *town) { w.version = 19 }, want: sumo.ErrVersion, text: "SUMO of the test has 19, want 20 or later"},
		"steps of nothing":  {town: func(w *town) { w.step = 0 }, want: sumo.ErrMalformed, text: "steps of 0 s"},
		"refusal":           {fault: in(0xDB, func([]byte) ([]byte, bool) { return again(refusal(0xDB, "no such thing")), true }), want: sumo.ErrRefused, text: "no such thing"},
		"half a message":    {fault: in(0x02, func(b []byte) ([]byte, bool) { return b[:len(b)/2], false }), want: sumo.ErrEnded, text: "step 3"},
		"half a length":     {fault: in(0x02, func(b []byte) ([]byte, bool) { return b[:2], false }), want: sumo.ErrEnded},
		"death":             {fault: in(0x02, func([]byte) ([]byte, bool) { return nil, false }), want: sumo.ErrEnded},
		"too long":          {fault: in(0x02, func([]byte) ([]byte, bool) { return []byte{1, 0, 0, 12}, true }), want: sumo.ErrMalformed, text: "16777224 bytes, want 7 to 16777216"},
		"negative length":   {fault: in(0x02, func([]byte) ([]byte, bool) { return []byte{255, 255, 255, 255}, true }), want: sumo.ErrMalformed},
		"no length":         {fault: in(0x02, func([]byte) ([]byte, bool) { return []byte{0, 0, 0, 0}, true }), want: sumo.ErrMalformed},
		"another protocol":  {fault: in(0x00, func([]byte) ([]byte, bool) { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true }), want: sumo.ErrMalformed},
		"another's status":  {fault: in(0x02, func([]byte) ([]byte, bool) { return again(status(0x03)), true }), want: sumo.ErrMalformed, text: "status"},
		"no results":        {fault: in(0x02, func([]byte) ([]byte, bool) { return again(status(0x02)), true }), want: sumo.ErrMalformed},
		"too few results":   {fault: in(0x02, func(b []byte) ([]byte, bool) { b[14]++; return b, true }), want: sumo.ErrMalformed},
		"too many results":  {fault: in(0x02, func(b []byte) ([]byte, bool) { b[11] = 0x7F; return b, true }), want: sumo.ErrMalformed, text: "announced"},
		"an unknown result": {fault: in(0x02, func(b []byte) ([]byte, bool) { b[16] = 0x42; return b, true }), want: sumo.ErrMalformed, text: "0x42"},
		"time stands":       {town: func(w *town) { w.now = func(int) float64 { return 7 } }, want: world.ErrTime},
		"time goes back":    {town: func(w *town) { w.now = func(step int) float64 { return 7 - float64(step) } }, want: world.ErrTime},
		"time is not a number": {town: func(w *town) {
			w.now = func(step int) float64 { return math.Log(float64(-step)) }
		}, want: world.ErrTime},
		"an unknown vehicle": {fault: in(0xA4, func([]byte) ([]byte, bool) {
			return again(bytes.Repeat(refusal(0xA4, "who?"), 5)), true
		}), want: sumo.ErrRefused, text: "who?"},
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			w := standing(3)
			if c.town != nil {
				c.town(w)
			}
			w.fault = c.fault
			err := untilItFails(t, w.listen(t))
			require.ErrorIs(t, err, c.want)
			assert.ErrorContains(t, err, c.text)
			assert.NotErrorIs(t, err, io.EOF, "that is a world's good end")
		})
	}
}

// TestSUMOsMemoryIsBounded: what SUMO sends is taken from the run's memory. A crowd that no run has room for is
// refused before anything is kept of it.
func TestSUMOsMemoryIsBounded(t *testing.T) {
	leavesNothing(t)
	open := func(w *town, o world.Options) error {
		s, err := sumo.Kind.Open(t.Context(), w.listen(t)+"?ego=off", o)
		if err == nil {
			_, err = s.Next(t.Context(), world.State{})
			assert.NoError(t, s.Close())
		}
		return err
	}
	budget := memory.New(1 << 20)
	require.NoError(t, open(standing(100), world.Options{Memory: budget}))
	assert.Zero(t, budget.Held(), "what was taken is given back")
	err := open(standing(20_000), world.Options{Memory: budget})
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "a message of SUMO needs")
	assert.Zero(t, budget.Held())

	crowd := standing(1<<16 + 1)
	require.ErrorIs(t, open(crowd, world.Options{}), world.ErrFull)
	assert.Empty(t, crowd.commands(0xA4), "nobody was asked about")
	long := standing(2)
	long.traffic = func(int) []car { return []car{{id: strings.Repeat("x", 2000), class: "passenger"}} }
	require.ErrorIs(t, open(long, world.Options{}), sumo.ErrMalformed)
}

// untilItFails steps a source until an error, which stays.
func untilItFails(t *testing.T, address string) error {
	t.Helper()
	s, err := sumo.Kind.Open(t.Context(), address+"?ego=off", world.Options{})
	if err != nil {
		assert.Nil(t, s)
		return err
	}
	for range 5 {
		if _, err = s.Next(t.Context(), world.State{}); err != nil {
			break
		}
	}
	_, second := s.Next(t.Context(), world.State{})
	assert.Equal(t, err, second)
	assert.NoError(t, s.Close())
	assert.NoError(t, s.Close())
	return err
}

func TestSilenceLastsUntilTheContextsEnd(t *testing.T) {
	leavesNothing(t)
	w := standing(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.fault = func(command byte, step int, answer []byte) ([]byte, bool) {
		if command == 0x02 && step == 2 {
			cancel()
			return nil, true
		}
		return answer, true
	}
	s := begun(t, w, "", world.Options{})
	_, err := s.Next(ctx, at(0, 0, 0))
	require.NoError(t, err)
	_, err = s.Next(ctx, at(0, 0, 0))
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpenWaitsForALateSUMO(t *testing.T) {
	leavesNothing(t)
	address := "127.0.0.1:" + freePort(t)
	listening := make(chan net.Listener, 1)
	warned := 0
	o := world.Options{Warn: func(string, ...any) {
		warned++
		l, err := net.Listen("tcp", address)
		if assert.NoError(t, err) {
			listening <- l
		}
	}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		l := <-listening
		defer l.Close()
		if conn, err := l.Accept(); err == nil {
			_ = standing(1).serve(conn)
		}
	}()
	s, err := sumo.Kind.Open(t.Context(), address, o)
	require.NoError(t, err)
	next(t, s)
	require.NoError(t, s.Close())
	<-served
	assert.Equal(t, 1, warned)
}

func TestOpenEndsWithItsContext(t *testing.T) {
	leavesNothing(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := sumo.Kind.Open(ctx, "127.0.0.1:"+freePort(t), world.Options{Warn: func(string, ...any) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"":                            "want HOST:PORT or FILE.sumocfg",
		"localhost":                   "want HOST:PORT or FILE.sumocfg",
		"localhost:http":              "want HOST:PORT or FILE.sumocfg",
		"localhost:99999":             "want HOST:PORT or FILE.sumocfg",
		"127.0.0.1:1?egg=off":         "did you mean ego?",
		"127.0.0.1:1?offset=1":        "want two numbers",
		"127.0.0.1:1?offset=1,NaN":    "want two numbers",
		"127.0.0.1:1?offset=1,2,3":    "want two numbers",
		"127.0.0.1:1?order=x":         "want a number",
		"127.0.0.1:1?order=-1":        "want a number",
		"127.0.0.1:1?%zz":             "options",
		"a.sumocfg?order=1":           "--num-clients",
		"nowhere/to/be/found.sumocfg": "no folder nowhere/to/be",
	} {
		asSUMO(t, "deaf")
		_, err := sumo.Kind.Open(t.Context(), address, world.Options{})
		assert.ErrorContains(t, err, want, address)
	}
}

// configuration writes one, and its net.
func configuration(t *testing.T, config, net string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.net.xml"), []byte(net), 0o600))
	path := filepath.Join(dir, "a.sumocfg")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	return path
}

const (
	plainConfig = `<configuration><input><net-file value="a.net.xml"/></input></configuration>`
	plainNet    = `<?xml version="1.0" encoding="ISO-8859-1"?><net><location netOffset="10.5,-20" convBoundary="0,0,1,1"/>`
)

func TestAProgramOfOurOwn(t *testing.T) {
	leavesNothing(t)
	asSUMO(t, "serves")
	s, err := sumo.Kind.Open(t.Context(), configuration(t, plainConfig, plainNet), world.Options{})
	require.NoError(t, err)
	pid := sumo.Process(s)
	f := next(t, s)
	require.Len(t, f.Spawn, 2)
	assert.Equal(t, mgl64.Vec3{1 - 10.5, 20, 0}, f.Spawn[1].State.Pose.Position, "the net's offset is off")
	next(t, s)
	next(t, s)
	next(t, s)
	_, err = s.Next(t.Context(), at(0, 0, 0))
	require.ErrorIs(t, err, io.EOF, "nobody but our ego is left")
	require.NoError(t, s.Close())
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "it has ended and was waited for")
}

func TestAProgramThatDiesInAStep(t *testing.T) {
	leavesNothing(t)
	asSUMO(t, "dies")
	s, err := sumo.Kind.Open(t.Context(), configuration(t, plainConfig, plainNet), world.Options{})
	require.NoError(t, err)
	pid := sumo.Process(s)
	next(t, s)
	next(t, s)
	_, err = s.Next(t.Context(), at(0, 0, 0))
	require.ErrorIs(t, err, sumo.ErrEnded)
	assert.ErrorContains(t, err, "exit status 3: Vehicle 'car1' has no valid route.")
	assert.NotContains(t, err.Error(), "it is late")
	assert.NotContains(t, err.Error(), "not known", "what it answered to us")
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	require.NoError(t, s.Close())
}

func TestAProgramThatDoesNotStart(t *testing.T) {
	leavesNothing(t)
	config := configuration(t, plainConfig, plainNet)
	asSUMO(t, "broken")
	_, err := sumo.Kind.Open(t.Context(), config, world.Options{})
	require.ErrorIs(t, err, sumo.ErrEnded)
	assert.ErrorContains(t, err, "exit status 1: The net is broken In file 'x.net.xml'")

	_, err = sumo.Kind.Open(t.Context(), filepath.Join(filepath.Dir(config), "absent.sumocfg"), world.Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "no such file")

	t.Setenv("PATH", t.TempDir())
	t.Setenv("SUMO_HOME", "")
	_, err = sumo.Kind.Open(t.Context(), config, world.Options{})
	assert.ErrorContains(t, err, "apt-get install sumo")
}

func TestAProgramThatNeverListensIsEnded(t *testing.T) {
	leavesNothing(t)
	asSUMO(t, "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := sumo.Kind.Open(ctx, configuration(t, plainConfig, plainNet), world.Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAProgramThatDoesNotEndIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("waits two seconds for the program")
	}
	leavesNothing(t)
	asSUMO(t, "stuck")
	s, err := sumo.Kind.Open(t.Context(), configuration(t, plainConfig, plainNet), world.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.ErrorIs(t, syscall.Kill(sumo.Process(s), 0), syscall.ESRCH)
}

func TestOffsetsOfNets(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(plainNet))
	require.NoError(t, errors.Join(err, z.Close()))
	for name, c := range map[string]struct {
		config, net, options string
		want                 mgl64.Vec3
		warning              string
	}{
		"plain":           {plainConfig, plainNet, "", mgl64.Vec3{1 - 10.5, 20, 0}, ""},
		"compressed":      {plainConfig, packed.String(), "", mgl64.Vec3{1 - 10.5, 20, 0}, ""},
		"short":           {`<configuration><n v="a.net.xml"/></configuration>`, plainNet, "", mgl64.Vec3{1 - 10.5, 20, 0}, ""},
		"by option":       {plainConfig, plainNet, "&offset=1,2", mgl64.Vec3{0, -2, 0}, ""},
		"option alone":    {`<configuration/>`, plainNet, "&offset=1,2", mgl64.Vec3{0, -2, 0}, ""},
		"no net":          {`<configuration/>`, plainNet, "", mgl64.Vec3{1, 0, 0}, "found no net-file"},
		"no location":     {plainConfig, `<net/>`, "", mgl64.Vec3{1, 0, 0}, "found no location"},
		"not two numbers": {plainConfig, `<net><location netOffset="1;2"/></net>`, "", mgl64.Vec3{1, 0, 0}, "want two numbers"},
		"not XML":         {plainConfig, `<net <`, "", mgl64.Vec3{1, 0, 0}, "a.net.xml"},
	} {
		t.Run(name, func(t *testing.T) {
			asSUMO(t, "serves")
			var warned []string
			o := world.Options{Warn: func(_ string, args ...any) { warned = append(warned, args[1].(error).Error()) }}
			s, err := sumo.Kind.Open(t.Context(), configuration(t, c.config, c.net)+"?ego=off"+c.options, o)
			require.NoError(t, err)
			assert.Equal(t, c.want, next(t, s).Spawn[1].State.Pose.Position)
			require.NoError(t, s.Close())
			assert.Equal(t, c.warning != "", len(warned) == 1)
			assert.Contains(t, strings.Join(warned, ""), c.warning)
		})
	}
}

// TestTheNetsProjection: the projection of the map that a net was made from is told, where its
// coordinates are the map's.
func TestTheNetsProjection(t *testing.T) {
	const utm = "+proj=utm +zone=32 +ellps=WGS84 +datum=WGS84 +units=m +no_defs"
	net := func(proj string) string {
		return `<net><location netOffset="-450000,-5400000" projParameter="` + proj + `"/></net>`
	}
	for name, c := range map[string]struct {
		net, options string
		want         []string
	}{
		"UTM": {net(utm), "", []string{utm}}, "none": {net("!"), "", nil}, "unsaid": {plainNet, "", nil}, "an offset by option": {net(utm), "&offset=1,2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			asSUMO(t, "serves")
			var told []string
			o := world.Options{Projected: func(proj string) { told = append(told, proj) }}
			s, err := sumo.Kind.Open(t.Context(), configuration(t, plainConfig, c.net)+"?ego=off"+c.options, o)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			assert.Equal(t, c.want, told)
		})
	}
}

// answerOf is what a town says after its first step.
func answerOf(w *town) []byte { return w.obey([]byte{0x02, 0, 0, 0, 0, 0, 0, 0, 0}) }

func FuzzDecode(f *testing.F) {
	f.Add(answerOf(standing(2)))
	f.Add(answerOf(newTown(func(int) []car {
		return []car{{id: "a", person: true, rides: "b"}, {id: "b", class: "bus", x: -1073741824}, {id: "c", person: true}}
	})))
	f.Add(refusal(0x02, "no"))
	lit := standing(1)
	lit.watched = []tls{{"J7", []string{"rGy"}}}
	f.Add(answerOf(lit))
	f.Add(join(status(2), be32(1), framed(join([]byte{0x99}, beText("J"), []byte{0xA4, 1}, be32(1), beText("a"), []byte{0x39, 0, 0x0E}, be32(1), beText("x")))))
	f.Add(join(status(2), be32(1), []byte{0, 0xFF, 0xFF, 0xFF, 0xFF, 0x99}))
	f.Fuzz(func(t *testing.T, message []byte) {
		n, err := sumo.Decode(message)
		if err != nil && !errors.Is(err, sumo.ErrMalformed) && !errors.Is(err, sumo.ErrRefused) {
			t.Errorf("an error without a name: %v", err)
		}
		if err == nil && 24*n > len(message) {
			t.Errorf("%d objects with a place in %d bytes", n, len(message))
		}
	})
}

// BenchmarkDecode is the answer to a step with 300 vehicles.
func BenchmarkDecode(b *testing.B) {
	message := answerOf(standing(300))
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	frame := sumo.Frames()
	for b.Loop() {
		if n := frame(b, message); n != 300 {
			b.Fatalf("%d actors, want 300", n)
		}
	}
}

// TestSignalsAreLights: each signal of SUMO that we show, alone and together.
func TestSignalsAreLights(t *testing.T) {
	const both = world.LightLeft | world.LightRight
	for signals, want := range map[int]world.Lights{
		0: 0, 1: world.LightRight, 2: world.LightLeft, 4: both, 8: world.LightBrake, 16: world.LightHead, 64: world.LightHead, 128: world.LightReverse,
		1 | 8 | 16: world.LightRight | world.LightBrake | world.LightHead, 32 | 256 | 4096: 0, // fog, wipers, a flash
	} {
		w := newTown(func(int) []car { return []car{{id: "a", class: "passenger", x: 5, top: 50, signals: signals}} })
		assert.Equal(t, want, next(t, connect(t, w, "?ego=off", world.Options{})).Spawn[0].State.Lights, "signals %b", signals)
	}
}

// TestTrafficLightsAreSignals: lights of the scene show the states of SUMO's links.
func TestTrafficLightsAreSignals(t *testing.T) {
	w := standing(1)
	w.lights = []tls{{"J7", []string{"rGy", "Grs", "yuO", "goY"}}, {"J8", []string{"G"}}, {"a:b", []string{"x", "r"}}}
	var told [][]any
	s := connect(t, w, "?ego=off", world.Options{
		Lights: func() []string { return []string{"J7", "J7:1", "J7:2", "J7:3", "J9", "J9:1", "J7:x", "17", "a:b"} },
		Warn:   func(_ string, args ...any) { told = append(told, args) },
	})
	for step, want := range []map[string]world.SignalState{
		{"J7": world.SignalRed, "J7:1": world.SignalGreen, "J7:2": world.SignalYellow},
		{"J7": world.SignalGreen, "J7:1": world.SignalRed, "J7:2": world.SignalRed, "a:b": world.SignalRed},
		{"J7": world.SignalYellow, "J7:1": world.SignalRed, "J7:2": world.SignalOff, "a:b": world.SignalRed},
		{"J7": world.SignalGreen, "J7:1": world.SignalYellow, "J7:2": world.SignalYellow, "a:b": world.SignalRed},
	} {
		shown := map[string]world.SignalState{}
		f := next(t, s)
		for _, signal := range f.Signals {
			shown[signal.Name] = signal.State
		}
		assert.Equal(t, want, shown, "step %d", step)
		assert.Len(t, f.Signals, len(want))
		assert.Len(t, f.Actors, min(step, 1))
	}
	assert.Equal(t, [][]any{{"id", "J8"}}, told, "what the scene doesn't have is told once")
	for _, c := range w.commands(0x89) {
		assert.Contains(t, string(c), "\x00\x00\x00\x02J1", "the traffic is that around a junction")
	}
	assert.Len(t, w.commands(0xD2), 2, "each light is asked for once, and those alone that the scene has")

	w = standing(1)
	s = connect(t, w, "?ego=off", world.Options{Lights: func() []string { return []string{"J7"} }})
	assert.Empty(t, next(t, s).Signals)
}

// TestColorsOfVehicles: a vehicle has its own colour, or else its type's, which is asked for once.
// Yellow, SUMO's own, counts as no colour.
func TestColorsOfVehicles(t *testing.T) {
	yellow := [4]byte{255, 255, 0, 255}
	cars := []car{
		{id: "own", class: "passenger", color: [4]byte{30, 144, 255, 255}, kind: "painted"}, {id: "black", class: "passenger", color: [4]byte{3: 255}},
		{id: "yellow", class: "passenger", color: yellow}, {id: "painted", class: "passenger", color: yellow, kind: "painted"},
		{id: "late", class: "passenger", color: yellow, kind: "painted"},
	}
	for i := range cars {
		cars[i].x, cars[i].top = float64(9*i), 50
	}
	w := newTown(func(step int) []car { return cars[:min(4+step, 5)] })
	painted := world.Color{R: 1, G: 2, B: 3, Known: true}
	want := map[string]world.Color{"own": {R: 30, G: 144, B: 255, Known: true}, "black": {Known: true}, "yellow": {}, "painted": painted, "late": painted}
	s := connect(t, w, "?ego=off", world.Options{})
	spawned := slices.Clone(next(t, s).Spawn)
	spawned = append(spawned, next(t, s).Spawn...)
	require.Len(t, spawned, len(want))
	for _, spawn := range spawned {
		assert.Equal(t, want[spawn.Name], spawn.Color, spawn.Name)
	}
	assert.Len(t, w.commands(0xA5), 2)
}
