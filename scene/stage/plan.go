package stage

import (
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Plan is a frame that was checked and can be applied.
type Plan struct {
	frame *world.Frame
	now   simtime.Stamp
	leave []*actor
	come  []coming
	move  []moving
	show  []showing
}

// coming is an actor that comes.
type coming struct {
	actor  *actor
	model  *scene.Actor
	as     scene.Actor
	at     scene.Waypoint
	length float64      // of the actor
	misfit float64      // the model's length if it differs too much, so that a box stands for it
	first  *world.State // at the step's beginning
	then   *world.State // at the step's end; nil stays
}

// moving is where an actor is at the step's end.
type moving struct {
	actor *actor
	to    scene.Waypoint
	state *world.State
}

// showing is what a traffic light of the scene shows.
type showing struct {
	light int
	state world.SignalState
}

// comingAs returns the actor of a name that comes with the frame, nil for none.
func (p *Plan) comingAs(ref world.Ref) *coming {
	if ref.Handle != 0 || ref.Name == "" {
		return nil
	}
	for i := range p.come {
		if p.come[i].actor.name == ref.Name {
			return &p.come[i]
		}
	}
	return nil
}
