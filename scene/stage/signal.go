package stage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
)

// planSignal plans what a traffic light shows.
func (s *Stage) planSignal(to *world.Signal) error {
	light, ok := s.history.Light(to.Handle, to.Name)
	switch {
	case !ok:
		return s.unknownSignal(to.Ref)
	case !to.State.Known():
		return fmt.Errorf("%w: %v", world.ErrValue, to.State)
	case slices.ContainsFunc(s.plan.show, func(other showing) bool { return other.light == light }):
		return world.ErrDuplicate
	}
	s.plan.show = append(s.plan.show, showing{light, to.State})
	return nil
}

// listedLights is how many traffic lights an error lists.
const listedLights = 20

// unknownSignal is the error for a traffic light that isn't there. It lists those that are, one of each actor.
func (s *Stage) unknownSignal(ref world.Ref) error {
	var names, known []string
	for i := range s.scene.Signals {
		l := &s.scene.Signals[i]
		if first, _ := s.history.Light(l.ID, ""); first != i {
			continue
		}
		names = append(names, l.Name)
		known = append(known, strings.TrimSpace(fmt.Sprintf("%s (id %d)", l.Name, l.ID)))
	}
	if known == nil {
		return fmt.Errorf("%w: the scene has none", world.ErrUnknownSignal)
	}
	text := "there are "
	if near := fault.Closest(ref.Name, names); ref.Handle == 0 && near != "" {
		text = "did you mean " + near + "? There are "
	}
	text += strings.Join(known[:min(len(known), listedLights)], ", ")
	if more := len(known) - listedLights; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w: %s", world.ErrUnknownSignal, text)
}
