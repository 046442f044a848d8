package control_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// streaming is a paused run with an IMU of 100 Hz whose API has a port.
func streaming(t testing.TB, capacity int) (h http.Handler, address string) {
	t.Helper()
	p, run := ported(t, capacity)
	_, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)}) // before the run begins, else it joins at the first instant
	require.NoError(t, err)
	begin(t, p)
	return serveAPI(t, run)
}

// streamingBy is a paused run without sensors that is stepped by a function.
func streamingBy(t *testing.T, step func(*pipeline.Pipeline, context.Context, *world.Frame) (world.StepResult, error)) (address string) {
	t.Helper()
	p, run := portedRun(t, 4)
	run.StepTo = func(ctx context.Context, f *world.Frame) (world.StepResult, error) { return step(p, ctx, f) }
	_, address = serveAPI(t, run)
	return address
}

// portedRun makes a paused run with a port.
func portedRun(t testing.TB, capacity int) (*pipeline.Pipeline, control.Run) {
	t.Helper()
	p, run := ported(t, capacity)
	begin(t, p)
	return p, run
}

// ported is a run with a port that has not begun.
func ported(t testing.TB, capacity int) (*pipeline.Pipeline, control.Run) {
	t.Helper()
	port := stream.NewPort(&net.TCPAddr{}, nil)
	registry, err := bridges.NewRegistry(port)
	require.NoError(t, err)
	p := newRun(t, pipeline.Config{Capacity: capacity, Bridges: registry})
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: stream.PortName + ":"}))
	run := runOf(p)
	run.Port = port
	return p, run
}

// serveAPI serves a run's API.
func serveAPI(t testing.TB, run control.Run) (h http.Handler, address string) {
	t.Helper()
	h = control.NewHandler(run)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.URL
}

// The API's port has the stream protocol: a client gets the step's data, then the answer.
func TestStreamOfTheAPI(t *testing.T) {
	h, address := streaming(t, 4)
	c, err := stream.Dial(t.Context(), address, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	stamps := make(chan simtime.Stamp, 100)
	require.NoError(t, c.Listen(t.Context(), c.Streams()[len(c.Streams())-1].Name, func(d *stream.Data) { stamps <- d.Stamp() }))
	r, err := c.Step(t.Context(), &world.Frame{Until: 25_000_000, Spawn: []world.Spawn{{
		Name: "a", Model: "vehicle.tank", Size: [3]float64{7, 3, 2}, State: world.State{Pose: at(10)},
	}}})
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(25_000_000), r.Stamp)
	require.Len(t, r.Spawned, 1)
	assert.Equal(t, []string{"vehicle.tank"}, r.Boxed)
	require.Len(t, r.Deliveries, 2)
	assert.Equal(t, world.Delivery{Sensor: "imu", Seq: 1, Due: 20_000_000, Messages: 1}, r.Deliveries[1])
	assert.Equal(t, []simtime.Stamp{10_000_000, 20_000_000}, []simtime.Stamp{<-stamps, <-stamps})

	_, err = c.Step(t.Context(), &world.Frame{Until: 50_000_000, Actors: []world.Actor{{Ref: world.Ref{Handle: 77}, State: world.State{Pose: at(0)}}}})
	require.ErrorIs(t, err, world.ErrUnknownActor)
	var actor *world.ActorError
	require.ErrorAs(t, err, &actor)
	assert.Equal(t, uint32(77), actor.Actor.Handle)

	for _, body := range []string{"", `{"steps": 2, "wait": "none"}`} {
		status, answer := ask(t, h, "POST", "/v1/step", body)
		assert.Equal(t, http.StatusConflict, status)
		assert.Contains(t, fmt.Sprint(answer), "a connection of /v1/stream steps this run until it closes")
	}
}

// A connection that ends within a step ends the step, too, and leaves the run to others.
func TestStreamLeftWithinAStep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two signs of life")
	}
	begun, endless := make(chan *simtime.Clock, 1), true
	address := streamingBy(t, func(p *pipeline.Pipeline, ctx context.Context, f *world.Frame) (world.StepResult, error) {
		if endless {
			endless = false
			assert.NoError(t, p.Clock().Step(1e18)) // that the run never gets to
			begun <- p.Clock()
			<-ctx.Done()
			return world.StepResult{}, ctx.Err()
		}
		return p.StepRunning(ctx, f)
	})
	first, err := stream.Dial(t.Context(), address, stream.Options{})
	require.NoError(t, err)
	left := make(chan error, 1)
	go func() {
		_, err := first.Step(t.Context(), &world.Frame{Until: 10_000_000})
		left <- err
	}()
	clock := <-begun
	first.Close()
	require.Error(t, <-left)
	second, err := stream.Dial(t.Context(), address, stream.Options{})
	require.NoError(t, err)
	t.Cleanup(second.Close)
	require.Eventually(t, func() bool {
		_, err := second.Step(t.Context(), &world.Frame{Until: clock.Pace() + 10_000_000})
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// TestStreamsAreBounded as requests are.
func TestStreamsAreBounded(t *testing.T) {
	_, address := streaming(t, 4)
	c, err := stream.Dial(t.Context(), address, stream.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	spawn := world.Spawn{Name: "a", Model: "vehicle.tank", State: world.State{Pose: at(10)}}
	far, long := spawn, spawn
	far.State.Pose, long.Name = at(1e300), strings.Repeat("a", 257)
	for want, f := range map[string]*world.Frame{
		"the most is 1000000":    {Until: math.MaxInt64},
		"position is 1e+300":     {Until: 1, Spawn: []world.Spawn{far}},
		"more than 256 bytes":    {Until: 1, Spawn: []world.Spawn{long}},
		"spawn[4] (actor \"a\")": {Until: 1, Spawn: slices.Repeat([]world.Spawn{spawn}, 30_000)},
	} {
		_, err := c.Step(t.Context(), f)
		assert.ErrorContains(t, err, want)
	}
}

// A step whose data a bridge still has is made: its answer says so.
func TestStreamTellsOfAStepThatWasMade(t *testing.T) {
	address := streamingBy(t, func(p *pipeline.Pipeline, ctx context.Context, f *world.Frame) (world.StepResult, error) {
		result, err := p.StepRunning(ctx, f)
		return result, errors.Join(err, pipeline.ErrUndelivered)
	})
	c, err := stream.Dial(t.Context(), address, stream.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	r, err := c.Step(t.Context(), &world.Frame{Until: 25_000_000})
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(25_000_000), r.Stamp)
}

// Who doesn't ask for the upgrade is told what to send.
func TestStreamNeedsAnUpgrade(t *testing.T) {
	_, address := streaming(t, 4)
	for _, header := range []map[string]string{{}, {"Connection": "Upgrade", "Upgrade": "websocket"}, {"Upgrade": stream.Upgrade}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+stream.UpgradePath, http.NoBody)
		require.NoError(t, err)
		for name, value := range header {
			request.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusUpgradeRequired, answer.StatusCode)
		assert.Equal(t, stream.Upgrade, answer.Header.Get("Upgrade"))
	}
}

func at(x float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{x, 0, 0}, 0, 0, 0) }

// BenchmarkStreamStep makes steps in which nothing is due, from a client in Go.
func BenchmarkStreamStep(b *testing.B) {
	for _, n := range []int{0, 200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, address := streaming(b, max(n, 1))
			c, err := stream.Dial(b.Context(), address, stream.Options{})
			require.NoError(b, err)
			b.Cleanup(c.Close)
			f := &world.Frame{Until: 1}
			for range n {
				f.Spawn = append(f.Spawn, world.Spawn{Model: "vehicle.tank", State: world.State{Pose: at(10)}})
			}
			r, err := c.Step(b.Context(), f)
			require.NoError(b, err)
			f.Spawn = nil
			for _, handle := range r.Spawned {
				f.Actors = append(f.Actors, world.Actor{Ref: world.Ref{Handle: handle}, State: world.State{Pose: at(10)}})
			}
			b.ReportAllocs()
			for b.Loop() {
				f.Until++
				if _, err := c.Step(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A step across the end of a run is answered with that, and the time of the end, before the connection ends.
func TestStreamAcrossTheRunsEnd(t *testing.T) {
	for range 8 {
		p, run := ported(t, 4)
		_, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)})
		require.NoError(t, err)
		_, address := serveAPI(t, run)
		p.Clock().Pause()
		closed := make(chan error, 1)
		go func() { closed <- errors.Join(p.Run(context.Background(), time.Second), p.Close(context.Background())) }()
		c, err := stream.Dial(t.Context(), address, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		r, err := c.Step(t.Context(), &world.Frame{Until: 1_200_000_000})
		assert.ErrorIs(t, err, world.ErrEnded)
		assert.ErrorIs(t, err, world.ErrUnfinished)
		assert.Equal(t, simtime.Stamp(1e9), r.Stamp)
		require.NoError(t, <-closed)
	}
}
