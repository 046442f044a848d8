package stage_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// shows is what a light of a name is to show.
func shows(name string, state world.SignalState) world.Signal {
	return world.Signal{Ref: world.Ref{Name: name}, State: state}
}

// TestAnUnknownLightListsTheLights: as many as one reads, and how many more there are.
func TestAnUnknownLightListsTheLights(t *testing.T) {
	shows := func(s *scene.Scene, ref world.Ref) string {
		err := playIn(t, s, 2).refused(t, world.Frame{Until: tick, Signals: []world.Signal{{Ref: ref, State: world.SignalRed}}})
		require.ErrorIs(t, err, world.ErrUnknownSignal)
		return err.Error()
	}
	s := scenetest.Plaza(2)
	s.Signals = nil
	assert.Contains(t, shows(s, world.Ref{Name: "J9"}), "no such traffic light: the scene has none")
	for id := range uint32(50) {
		s.Signals = append(s.Signals, scene.TrafficLight{ID: id + 1, Name: fmt.Sprintf("north %d", id+1)})
	}
	s.Signals[1].Name = ""
	text := shows(s, world.Ref{Name: "zebra crossing"})
	assert.Contains(t, text, "no such traffic light: there are north 1 (id 1), (id 2), north 3 (id 3), ")
	assert.Contains(t, text, "north 20 (id 20) and 30 more")
	assert.Contains(t, shows(s, world.Ref{Name: "nort 44"}), "did you mean north 44? There are north 1 (id 1)")
	assert.Contains(t, shows(s, world.Ref{Handle: 77}), "(light 77): no such traffic light: there are north 1 (id 1)")
}

// TestSignalsOfAFrame: lights show what a frame says on the whole way to its end, and afterwards. So
// do all of one actor.
func TestSignalsOfAFrame(t *testing.T) {
	p := plaza(t, 1)
	step := func(until simtime.Stamp, complete bool, signals ...world.Signal) {
		t.Helper()
		p.step(t, world.Frame{Until: until, Signals: signals, Complete: complete})
	}
	step(10e6, false)
	step(40e6, false, world.Signal{Ref: world.Ref{Handle: 5}, State: world.SignalYellow}, shows("J8", world.SignalGreen))
	step(50e6, false, shows("J8", world.SignalRed))
	step(60e6, true)
	for stamp, want := range map[simtime.Stamp][3]world.SignalState{
		10e6: {world.SignalGreen, world.SignalGreen, world.SignalOff}, // by themselves
		20e6: {world.SignalYellow, world.SignalYellow, world.SignalGreen},
		40e6: {world.SignalYellow, world.SignalYellow, world.SignalGreen},
		50e6: {world.SignalYellow, world.SignalYellow, world.SignalRed},
		60e6: {world.SignalYellow, world.SignalYellow, world.SignalRed},
	} {
		for light := range want {
			state, _ := p.history.Signal(light, stamp)
			assert.Equal(t, want[light], state, "light %d at %d", light, stamp)
		}
	}
	p.history.Restart()
	p.Restart()
	p.now = 0
	step(10e6, false)
	for light, want := range []world.SignalState{world.SignalGreen, world.SignalGreen, world.SignalOff} {
		state, _ := p.history.Signal(light, 10e6)
		assert.Equal(t, want, state, "light %d is as in the beginning", light)
	}
	for _, state := range []world.SignalState{world.SignalRed, world.SignalYellow, world.SignalGreen, world.SignalOff} {
		parsed, err := world.ParseSignal(state.String())
		require.NoError(t, err)
		assert.Equal(t, state, parsed)
	}
	_, err := world.ParseSignal("blue")
	assert.ErrorIs(t, err, world.ErrValue)
	assert.ErrorContains(t, err, `state "blue": want red, yellow, green or off`)
}
