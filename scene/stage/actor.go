package stage

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
)

// actor is one that a frame spawned.
type actor struct {
	handle   uint32
	name     string
	motion   *scene.Guided
	offset   mgl64.Vec3 // of the actor's origin from its reference point, in its frame
	onGround bool
	joints   []scene.Joint // of its model
	ability  ability
	boxed    bool   // a box stands for its model
	told     uint64 // the number of the last checked frame that names it
}
