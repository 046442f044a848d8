package sumo

import (
	"net"
	"testing"

	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// Process returns the process of a source's own SUMO, 0 for none.
func Process(s world.Source) int {
	if c := s.(*source).child; c != nil {
		return c.cmd.Process.Pid
	}
	return 0
}

// Decode reads the answer to a step and returns how many objects it has.
func Decode(message []byte) (int, error) {
	s := situation{lights: []light{{id: "J7", link: 2}}}
	err := s.read(message)
	return len(s.objects), err
}

// Frames returns a function that makes a frame of each answer to a step. It returns how many
// actors move.
func Frames() func(t testing.TB, message []byte) int {
	s := &source{talk: conversation{failed: net.ErrClosed}, step: 0.1, track: snapshot.NewTrack(0), actors: map[bool]map[string]*actor{false: {}, true: {}}, colors: map[string]world.Color{}}
	return func(t testing.TB, message []byte) int {
		if err := s.now.read(message); err != nil {
			t.Fatal(err)
		}
		s.steps++
		first := len(s.actors[false]) == 0
		// Nobody answers what is new.
		if err := s.meet(t.Context()); err != nil && !first {
			t.Fatal(err)
		}
		if err := s.tell(0); err != nil {
			t.Fatal(err)
		}
		return len(s.frame.Spawn) + len(s.frame.Actors)
	}
}
