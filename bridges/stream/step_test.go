package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// compiled is step.proto.
var compiled = sync.OnceValues(func() (linker.Files, error) {
	return (&protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}).Compile(context.Background(), "step.proto")
})

// schema returns a message of step.proto, made by somebody else's protobuf.
func schema(t testing.TB, name, text string) *dynamicpb.Message {
	t.Helper()
	files, err := compiled()
	require.NoError(t, err)
	m := dynamicpb.NewMessage(files[0].Messages().ByName(protoreflect.Name(name)))
	require.NoError(t, prototext.Unmarshal([]byte(text), m))
	return m
}

// places are the reference for a frame, in text.
const places = `
until: 1500000000
spawn {name: "a" model: "vehicle.sedan" size: [4, 2, 1.5] reference: REAR_AXLE on_ground: true color: 0x1e90ff
  state {flags: 4 values: [1, 2, 3, 0, 0, 0, 1] joints: [0.5, -0.25] joint_names: ["door", "wheel"]}}
remove {handle: 9}
remove {name: "old"}
actors {handle: 7 flags: 3 values: [1, 2, 3, 0, 0, 0.6, 0.8, 4, 5, 6, 7, 8, 9] joints: [0.125]}
actors {name: "b" flags: 1538 values: [-1, -2, -3, 0, 0, 0, 1, 0.5, 0.25, 0.125]}
complete: true
ego {flags: 1 values: [10, 20, 0, 0, 0, 0, 1, 3, 0, 0]}
wait: NONE
signals {id: 3 state: YELLOW}
signals {name: "J7" state: OFF}
signals {name: "J8"}
`

func placesFrame() *world.Frame {
	at := func(x, y, z, qz, qw float64) spatial.Pose {
		return spatial.Pose{Position: mgl64.Vec3{x, y, z}, Orientation: mgl64.Quat{V: mgl64.Vec3{0, 0, qz}, W: qw}}
	}
	return &world.Frame{
		Until: 1_500_000_000, Complete: true, Wait: world.None,
		Spawn: []world.Spawn{{
			Name: "a", Model: "vehicle.sedan", Size: mgl64.Vec3{4, 2, 1.5}, Reference: world.RearAxle, OnGround: true,
			Color: world.Color{R: 0x1e, G: 0x90, B: 0xff, Known: true},
			State: world.State{Pose: at(1, 2, 3, 0, 1), Jump: true, Joints: []float64{0.5, -0.25}, JointNames: []string{"door", "wheel"}},
		}},
		Remove: []world.Ref{{Handle: 9}, {Name: "old"}},
		Actors: []world.Actor{
			{Ref: world.Ref{Handle: 7}, State: world.State{
				Pose: at(1, 2, 3, 0.6, 0.8), Velocity: mgl64.Vec3{4, 5, 6}, AngularVelocity: mgl64.Vec3{7, 8, 9}, VelocityKnown: true, AngularVelocityKnown: true,
				Joints: []float64{0.125},
			}},
			{Ref: world.Ref{Name: "b"}, State: world.State{
				Pose: at(-1, -2, -3, 0, 1), AngularVelocity: mgl64.Vec3{0.5, 0.25, 0.125}, AngularVelocityKnown: true,
				Lights: world.LightBrake | world.LightLeft,
			}},
		},
		Ego: &world.State{Pose: at(10, 20, 0, 0, 1), Velocity: mgl64.Vec3{3, 0, 0}, VelocityKnown: true},
		Signals: []world.Signal{
			{Ref: world.Ref{Handle: 3}, State: world.SignalYellow}, {Ref: world.Ref{Name: "J7"}, State: world.SignalOff}, {Ref: world.Ref{Name: "J8"}},
		},
	}
}

// Steps are read and written as protobuf has them.
func TestStepIsProtobuf(t *testing.T) {
	reference := schema(t, "Step", places)
	b, err := proto.Marshal(reference)
	require.NoError(t, err)
	var reader stream.StepReader
	for range 2 { // in the same memory
		f, duration, err := reader.Read(b)
		require.NoError(t, err)
		assert.Equal(t, placesFrame(), f)
		assert.Zero(t, duration)
	}
	written := schema(t, "Step", "")
	require.NoError(t, proto.Unmarshal(stream.AppendStep(nil, placesFrame()), written))
	assert.True(t, proto.Equal(reference, written), "%v", written)

	to := schema(t, "Step", `to: "front" complete: true`)
	b, err = proto.Marshal(to)
	require.NoError(t, err)
	f, _, err := reader.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "front", f.To)
	written = schema(t, "Step", "")
	require.NoError(t, proto.Unmarshal(stream.AppendStep(nil, &world.Frame{To: "front", Complete: true}), written))
	assert.True(t, proto.Equal(to, written), "%v", written)

	b, err = proto.Marshal(schema(t, "Step", "duration: 100 actors {handle: 1 values: [0, 0, 0, 0, 0, 0, 1]}"))
	require.NoError(t, err)
	f, duration, err := reader.Read(b)
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(100), duration)
	assert.Empty(t, f.To)
	assert.Equal(t, &world.Frame{Spawn: f.Spawn[:0], Remove: f.Remove[:0], Signals: f.Signals[:0], Actors: []world.Actor{
		{Ref: world.Ref{Handle: 1}, State: world.State{Pose: spatial.Pose{Orientation: mgl64.Quat{W: 1}}}},
	}}, f, "nothing of the step before is left")
}

// Unpacked doubles, fields out of order and unknown ones are protobuf, too.
func TestStepTakesAllOfProtobuf(t *testing.T) {
	single := "\x09\x00\x00\x00\x00\x00\x00\xf0\x3f" // 1.0 in field 1: not known in an actor... a varint is
	var reader stream.StepReader
	_, _, err := reader.Read([]byte("\x11\x01\x00\x00\x00\x00\x00\x00\x00" + "\x2a\x09" + single))
	require.ErrorIs(t, err, stream.ErrMalformed, "another wire type")

	values := ""
	for _, v := range []string{"\x00\x00", "\x00\x00", "\x00\x00", "\x00\x00", "\x00\x00", "\x00\x00", "\xf0\x3f"} {
		values += "\x11\x00\x00\x00\x00\x00\x00" + v
	}
	unknown := "\xf8\x07\x05" + "\xf2\x07\x02hi" // fields 127 and 126
	actor := values + unknown + "\x1d\x07\x00\x00\x00"
	f, _, err := reader.Read([]byte("\x2a" + string(rune(len(actor))) + actor + unknown + "\x11\x01\x00\x00\x00\x00\x00\x00\x00"))
	require.NoError(t, err)
	require.Len(t, f.Actors, 1)
	assert.Equal(t, world.Actor{Ref: world.Ref{Handle: 7}, State: world.State{Pose: spatial.Pose{Orientation: mgl64.Quat{W: 1}}}}, f.Actors[0])
}

func TestStepIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "until, a duration or the sensor",
		"until: 1 duration: 1":              "until, a duration or the sensor",
		`until: 1 to: "front"`:              "until, a duration or the sensor",
		`duration: 1 to: "front"`:           "until, a duration or the sensor",
		`reset: 5 to: "front"`:              "a reset has nothing else",
		"until: 1 actors {values: [1, 2]}":  "actors[0]: malformed frame: a state of flags 0 has 7 values, not 2",
		"until: 1 ego {flags: 3 values: 1}": "ego: malformed frame: a state of flags 3 has 13 values, not 1",
		"until: 1 actors {handle: 3 values: [0,0,0,0,0,0,1,2,3,4,5,6,7,8]}":           "actors[0] (actor 3): malformed frame: a state of flags 0 has 7 values, not 14",
		`until: 1 spawn {name: "x" state {values: [0,0,0,0,0,0,1]} size: [1]}`:        `spawn[0] (actor "x"): malformed frame: a size of 1 numbers`,
		`until: 1 spawn {name: "x" reference: 17 state {values: [0,0,0,0,0,0,1]}}`:    `spawn[0] (actor "x"): malformed frame: reference 17`,
		`until: 1 spawn {name: "x" color: 0x1000000 state {values: [0,0,0,0,0,0,1]}}`: `spawn[0] (actor "x"): malformed frame: value is not usable: color 0x1000000`,
		"until: 1 wait: 900":                                          "wait 255",
		"until: 1 reset: 0":                                           "a reset has nothing else",
		"reset: 5 signals {id: 1}":                                    "a reset has nothing else",
		"reset: 5 wait: 1":                                            "a reset has nothing else",
		`reset: 5 weather {preset: "fog"}`:                            "a reset has nothing else",
		"reset: 5 ego {flags: 0 values: [0,0,0,0,0,0,1]}":             "a reset has nothing else",
		`until: 1 signals {name: "J7"} signals {name: "J8" state: 4}`: `signals[1] (light "J8"): malformed frame: state 4`,
		`until: 1 signals {id: 3 state: 256}`:                         "signals[0] (light 3): malformed frame: state 255",
	} {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(schema(t, "Step", text)) // in the fields' order
		require.NoError(t, err)
		_, _, err = new(stream.StepReader).Read(b)
		require.ErrorIs(t, err, stream.ErrMalformed, text)
		assert.ErrorContains(t, err, want)
	}
	whole, err := proto.Marshal(schema(t, "Step", places))
	require.NoError(t, err)
	for cut := range whole { // half a frame: an error, or less of a frame, and no panic
		_, _, err := new(stream.StepReader).Read(whole[:cut])
		if err != nil {
			require.ErrorIs(t, err, stream.ErrMalformed)
		}
	}
	_, _, err = new(stream.StepReader).Read([]byte(strings.Repeat("\x22\x00", 1<<16+1)))
	assert.ErrorIs(t, err, stream.ErrTooLarge, "more entries than memory is taken for")
	b, err := proto.Marshal(schema(t, "Step", `until: 1 actors {handle: 3 values: [0,0,0,0,0,0,1] joint_names: "`+strings.Repeat("n", 1<<20)+`"}`))
	require.NoError(t, err)
	_, _, err = new(stream.StepReader).Read(b)
	assert.ErrorIs(t, err, world.ErrValue)
	assert.ErrorContains(t, err, "a name has more than 256 bytes")
	joints := strings.Repeat("\x32\x00", 1<<16+1)
	_, _, err = new(stream.StepReader).Read(protowire.AppendBytes([]byte("\x2a"), []byte(joints)))
	assert.ErrorIs(t, err, stream.ErrTooLarge, "more names than memory is taken for")
	_, _, err = new(stream.StepReader).Read([]byte("\x22\x04\x22\x02\xff\xfe"))
	assert.ErrorContains(t, err, "not UTF-8")
}

func TestStepResultIsProtobuf(t *testing.T) {
	reference := schema(t, "StepResult", `time: 5 frame: 3 spawned: [7, 8]
		deliveries {sensor: "front" sequence: 2 due: 4 messages: 1}
		deliveries {sensor: "lidar" due: 5 missing: "idle"}
		deliveries {sensor: "imu" due: 6 messages: 90 missing: "peer_slow" more: 99 lost: 10}
		ego {flags: 3 values: [1, 2, 3, 0, 0, 0, 1, 4, 5, 6, 7, 8, 9]}`)
	want := world.StepResult{
		Stamp: 5, Frame: 3, Spawned: []uint32{7, 8},
		Deliveries: []world.Delivery{
			{Sensor: "front", Seq: 2, Due: 4, Messages: 1}, {Sensor: "lidar", Due: 5, Missing: "idle"},
			{Sensor: "imu", Due: 6, Messages: 90, Missing: "peer_slow", More: 99, Lost: 10},
		},
		Ego: world.State{
			Pose:     spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.Quat{W: 1}},
			Velocity: mgl64.Vec3{4, 5, 6}, AngularVelocity: mgl64.Vec3{7, 8, 9}, VelocityKnown: true, AngularVelocityKnown: true,
		},
	}
	b, err := proto.Marshal(reference)
	require.NoError(t, err)
	got, err := stream.ReadStepResult(b)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	written := schema(t, "StepResult", "")
	require.NoError(t, proto.Unmarshal(stream.AppendStepResult(nil, &want, nil), written))
	assert.True(t, proto.Equal(reference, written), "%v", written)
}

// An error arrives as what it is, with the server's words and its place.
func TestStepErrorsArrive(t *testing.T) {
	place := &world.ActorError{List: "actors", Index: 3, Actor: world.Ref{Handle: 9}, Err: fmt.Errorf("%w: position", world.ErrValue)}
	for _, sent := range []error{
		world.ErrBusy, world.ErrMode, world.ErrTime, world.ErrUnknownActor, world.ErrDuplicate, world.ErrFull, stream.ErrMalformed, place,
		&world.ActorError{List: "spawn", Actor: world.Ref{Name: "x"}, Err: world.ErrFull},
		&world.ActorError{List: world.ListSignals, Index: 2, Actor: world.Ref{Name: "J7"}, Err: world.ErrUnknownSignal},
	} {
		_, err := stream.ReadStepResult(stream.AppendStepResult(nil, nil, fmt.Errorf("step to 5 ns: %w", sent)))
		assert.EqualError(t, err, "step to 5 ns: "+sent.Error())
		kind, actor, got := sent, (*world.ActorError)(nil), (*world.ActorError)(nil)
		if errors.As(sent, &actor) {
			kind = errors.Unwrap(actor)
			if deeper := errors.Unwrap(kind); deeper != nil {
				kind = deeper
			}
			require.ErrorAs(t, err, &got)
			assert.Equal(t, []any{actor.List, actor.Index, actor.Actor}, []any{got.List, got.Index, got.Actor})
		}
		assert.ErrorIs(t, err, kind)
	}
	_, err := stream.ReadStepResult(stream.AppendStepResult(nil, nil, errors.New("disk full")))
	assert.EqualError(t, err, "disk full")
	assert.NotErrorIs(t, err, world.ErrUnfinished)
}

// TestAnUnfinishedStepArrives with what it brought, in any order of the fields.
func TestAnUnfinishedStepArrives(t *testing.T) {
	want := world.StepResult{Stamp: 5, Frame: 3, Spawned: []uint32{7}, Ego: world.State{Pose: spatial.Identity()}}
	for _, why := range []error{world.ErrMode, world.ErrEnded, errors.New("disk full")} {
		sent := fmt.Errorf("%w: %w", world.ErrUnfinished, why)
		b := stream.AppendStepResult(nil, &want, sent)
		message := schema(t, "StepResult", "")
		require.NoError(t, proto.Unmarshal(b, message))
		sorted, err := proto.MarshalOptions{Deterministic: true}.Marshal(message) // the error comes last
		require.NoError(t, err)
		require.NotEqual(t, b, sorted)
		for _, answer := range [][]byte{b, sorted} {
			got, err := stream.ReadStepResult(answer)
			assert.Equal(t, want, got)
			assert.EqualError(t, err, sent.Error())
			require.ErrorIs(t, err, world.ErrUnfinished)
			assert.Equal(t, why != world.ErrMode, !errors.Is(err, world.ErrMode)) //nolint:errorlint // this one
		}
	}
}

// crowd is a step of n actors by their handles.
func crowd(n int) []byte {
	f := &world.Frame{Until: 1}
	for i := range n {
		f.Actors = append(f.Actors, world.Actor{Ref: world.Ref{Handle: uint32(i + 1)}, State: placesFrame().Actors[0].State})
	}
	return stream.AppendStep(nil, f)
}

func TestReadingStepsAllocatesNothing(t *testing.T) {
	var reader stream.StepReader
	named, err := proto.Marshal(schema(t, "Step", places))
	require.NoError(t, err)
	jointed := &world.Frame{Until: 1, Actors: slices.Repeat([]world.Actor{{Ref: world.Ref{Handle: 1}, State: placesFrame().Spawn[0].State}}, 200)}
	for _, b := range [][]byte{crowd(200), named, stream.AppendStep(nil, jointed)} {
		assert.Zero(t, testing.AllocsPerRun(50, func() {
			if _, _, err := reader.Read(b); err != nil {
				t.Fatal(err)
			}
		}))
	}
	assert.Less(t, len(crowd(4096)), stream.MaxStep, "as many as a world may have")
}

func BenchmarkReadStep(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var reader stream.StepReader
			step := crowd(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := reader.Read(step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzStep reads anything as a step. What is one is the same when it is written again.
func FuzzStep(f *testing.F) {
	whole, err := proto.Marshal(schema(f, "Step", places))
	require.NoError(f, err)
	f.Add(whole)
	f.Add(crowd(2))
	f.Add([]byte(snowyStep))
	f.Fuzz(func(t *testing.T, b []byte) {
		var reader, again stream.StepReader
		frame, duration, err := reader.Read(b)
		if err != nil || duration != 0 {
			return
		}
		first := stream.AppendStep(nil, frame)
		second, _, err := again.Read(first)
		require.NoError(t, err)
		require.Equal(t, first, stream.AppendStep(nil, second))
	})
}

// FuzzStepResult reads anything as the answer to a step.
func FuzzStepResult(f *testing.F) {
	f.Add(stream.AppendStepResult(nil, &world.StepResult{Spawned: []uint32{1}, Deliveries: []world.Delivery{{Sensor: "a"}}}, nil))
	f.Add([]byte("\x32\x00")) // a failure that says nothing
	f.Add(stream.AppendStepResult(nil, nil, &world.ActorError{List: "ego", Err: world.ErrValue}))
	f.Add(stream.AppendStepResult(nil, &world.StepResult{Stamp: 1}, world.ErrUnfinished))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := stream.ReadStepResult(b)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		_, err = stream.ReadStepResult(stream.AppendStepResult(nil, &r, nil))
		require.NoError(t, err)
	})
}
