package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/world"
)

// mostTurned bounds values of joints, radians or metres: wheels turn on and on.
const mostTurned = 1e9

// checkJoints says what is wrong with a state's values of joints. A box that stands for a model has
// none of them, and takes any.
func (a *actor) checkJoints(s *world.State) error {
	if named := len(s.JointNames); named > 0 && named != len(s.Joints) {
		return fmt.Errorf("%w: %s and %s of joints", world.ErrValue, fault.Count(len(s.Joints), "value"), fault.Count(named, "name"))
	}
	if len(s.Joints) > len(a.joints) && !a.boxed {
		return fmt.Errorf("%w: %s, the model has %s", world.ErrUnknownJoint, fault.Count(len(s.Joints), "value"), fault.Count(len(a.joints), "joint"))
	}
	for k, value := range s.Joints {
		if !(math.Abs(value) <= mostTurned) {
			return fmt.Errorf("%w: value %d of joints is %v, the range is %v to %v", world.ErrValue, k, value, -mostTurned, mostTurned)
		}
		if a.joint(s, k) < 0 && !a.boxed {
			return fmt.Errorf("%w: %q: want %s", world.ErrUnknownJoint, s.JointNames[k], strings.Join(a.jointNames(), ", "))
		}
	}
	return nil
}

func (a *actor) jointNames() (names []string) {
	for _, j := range a.joints {
		names = append(names, j.Name)
	}
	return names
}

// joint returns which joint a state's value is of, -1 for one that the model doesn't have.
func (a *actor) joint(s *world.State, value int) int {
	if len(s.JointNames) == 0 {
		return value
	}
	return slices.IndexFunc(a.joints, func(j scene.Joint) bool { return j.Name == s.JointNames[value] })
}

// turn turns the joints to a state's values by the end of the actor's way.
func (a *actor) turn(s *world.State) {
	if a.boxed {
		return
	}
	for k, value := range s.Joints {
		a.motion.Turn(a.joint(s, k), value)
	}
}
