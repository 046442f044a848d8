package groundtruth_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// light stands somewhere and looks along a yaw, in degrees.
func light(id uint32, x, y, yaw float64) scene.TrafficLight {
	return scene.TrafficLight{
		ID: id, Pose: spatial.FromRPY(mgl64.Vec3{x, y, 5}, 0, 0, yaw), Size: mgl64.Vec3{0.3, 0.4, 1.1},
		Green: 4e9, Yellow: 1e9, Red: 5e9,
	}
}

// crossing is seen by an ego at (10, 20) that looks north.
func crossing() *scene.Scene {
	return &scene.Scene{
		Ego: spatial.FromRPY(mgl64.Vec3{10, 20, 0}, 0, 0, 90),
		Signals: []scene.TrafficLight{
			light(1, 7, 80, -90),    // ahead, looks south: for the ego
			light(2, 12, 50, -90),   // nearer
			light(3, 12, -10, -90),  // behind
			light(4, 6, 55, 90),     // ahead, for those who come from the north
			light(5, 14, 52, 180),   // ahead, for those who come from the west
			light(6, 10, 121, -90),  // too far: 101 m
			light(7, 16, 52, -45),   // at an angle: still for the ego
			light(8, 10, 20.5, -90), // 5 m above its nose, and before it
			light(9, 90, 70, -90),   // of a street beside: 50 m ahead and 80 m to the right
			light(10, 18, 24, -90),  // close: 4 m ahead and 8 m to the right
		},
	}
}

func ids(m *sample.Signals) (list []uint32) {
	for i := range m.Signals {
		list = append(list, m.Signals[i].ID)
	}
	return list
}

func TestLightsForTheOwner(t *testing.T) {
	h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{Scene: crossing()})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Signals](h, "signals")
	assert.Equal(t, []uint32{8, 10, 2, 7, 1}, ids(m), "the nearest first")
	assert.Equal(t, "under_test", m.FrameID)

	// Light 2 is 30 m ahead and 2 m to the right, looks back, in the owner's frame.
	second := m.Signals[2]
	assert.InDeltaSlice(t, []float64{30, -2, 5}, second.Pose.Position[:], 1e-9)
	looks := second.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	assert.InDeltaSlice(t, []float64{-1, 0, 0}, looks[:], 1e-9)
	assert.Equal(t, mgl64.Vec3{0.3, 0.4, 1.1}, second.Size)
	assert.EqualValues(t, 1, second.Score)
}

func TestSignalsMaxDistance(t *testing.T) {
	assert.Equal(t, 100.0, groundtruth.SignalsDefinition.NewSettings().Value("max_distance"))
	assert.Equal(t, "1", groundtruth.SignalsDefinition.Rate.String())
	for distance, want := range map[float64][]uint32{4: nil, 40: {8, 10, 2, 7}, 102: {8, 10, 2, 7, 1, 6}} {
		h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{
			Scene: crossing(), Attributes: map[string]any{"max_distance": distance},
		})
		h.Fire(1e9)
		require.Len(t, h.Messages["signals"], 1, "an empty list is sent too")
		assert.Equal(t, want, ids(sensortest.Last[*sample.Signals](h, "signals")), "%v m", distance)
	}
}

// TestSignalsMountMovesTheFrameOnly: which lights there are is the owner's matter.
func TestSignalsMountMovesTheFrameOnly(t *testing.T) {
	h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{
		Scene: crossing(), Mount: spatial.FromRPY(mgl64.Vec3{2, 0, 1}, 0, 0, 180),
	})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Signals](h, "signals")
	assert.Equal(t, []uint32{8, 10, 2, 7, 1}, ids(m))
	assert.InDeltaSlice(t, []float64{-28, 2, 4}, m.Signals[2].Pose.Position[:], 1e-9)
}

func TestSignalsPhases(t *testing.T) {
	dark := light(2, 30, 0, 180)
	dark.Green, dark.Yellow, dark.Red = 0, 0, 0
	late := light(3, 40, 0, 180)
	late.OffsetNs = 2e9
	town := &scene.Scene{Ego: spatial.Identity(), Signals: []scene.TrafficLight{light(1, 20, 0, 180), dark, late}}
	h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{Scene: town, StepNs: 1e9})
	for _, c := range []struct {
		stamp  simtime.Stamp
		labels []string
		state  world.SignalState // of the first
	}{
		{1e9, []string{"green", "off", "red"}, world.SignalGreen},
		{3_999_999_999, []string{"green", "off", "green"}, world.SignalGreen},
		{4e9, []string{"yellow", "off", "green"}, world.SignalYellow},
		{5e9, []string{"red", "off", "green"}, world.SignalRed},
		{6e9, []string{"red", "off", "yellow"}, world.SignalRed},
		{10e9, []string{"green", "off", "red"}, world.SignalGreen},
	} {
		h.Fire(c.stamp)
		m := sensortest.Last[*sample.Signals](h, "signals")
		var shown []string
		for i := range m.Signals {
			shown = append(shown, m.Signals[i].Label)
		}
		assert.Equal(t, c.labels, shown, "at %d ns", c.stamp)
		assert.Equal(t, c.state, m.Signals[0].State)
	}
}

// TestSignalsThatAreSet: they are told as they were at the due instant.
func TestSignalsThatAreSet(t *testing.T) {
	town := &scene.Scene{Ego: spatial.Identity(), Signals: []scene.TrafficLight{light(1, 20, 0, 180), light(2, 30, 0, 180)}}
	h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{Scene: town, StepNs: 1e9})
	h.Fire(1e9)
	h.Env.History.SetSignal(1, world.SignalOff)
	var shown [][]world.SignalState
	for stamp := simtime.Stamp(2e9); stamp <= 5e9; stamp += 1e9 {
		h.Fire(stamp)
		m := sensortest.Last[*sample.Signals](h, "signals")
		require.Len(t, m.Signals, 2)
		shown = append(shown, []world.SignalState{m.Signals[0].State, m.Signals[1].State})
	}
	assert.Equal(t, [][]world.SignalState{
		{world.SignalGreen, world.SignalOff}, {world.SignalGreen, world.SignalOff}, {world.SignalYellow, world.SignalOff}, {world.SignalRed, world.SignalOff},
	}, shown)
}

func TestSignalsRidesOnItsOwner(t *testing.T) {
	town := crossing()
	town.Actors = []*scene.Actor{{
		ID: 7, Name: "bus", TypeID: "vehicle.bus", Pose: spatial.FromRPY(mgl64.Vec3{8, 90, 0}, 0, 0, -90),
	}}
	h := sensortest.New(t, groundtruth.SignalsDefinition, sensortest.Options{Scene: town, Owner: 7})
	h.Fire(1e9)
	assert.Equal(t, []uint32{4}, ids(sensortest.Last[*sample.Signals](h, "signals")), "the one for those who come from the north")
}
