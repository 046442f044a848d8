package worldtest

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// TestCheckFinds: the suite notices what a pipeline would refuse, and a world that isn't the one
// that was played.
func TestCheckFinds(t *testing.T) {
	for name, spoil := range map[string]func(*world.Frame){
		"":                        func(*world.Frame) {},
		"time that stands":        func(f *world.Frame) { f.Until = start },
		"another time":            func(f *world.Frame) { f.Until++ },
		"nobody removed":          func(f *world.Frame) { f.Remove = []world.Ref{{Name: "nobody"}} },
		"no name":                 func(f *world.Frame) { f.Spawn[0].Name = "" },
		"no model":                func(f *world.Frame) { f.Spawn[0].Model = "" },
		"spawned twice":           func(f *world.Frame) { f.Spawn[1].Name = "a" },
		"spawned nowhere":         func(f *world.Frame) { f.Spawn[0].State.Pose.Position[1] = math.NaN() },
		"without an orientation":  func(f *world.Frame) { f.Actors[0].Pose.Orientation = mgl64.Quat{} },
		"listed and not there":    func(f *world.Frame) { f.Actors[0].Name = "c" },
		"listed twice":            func(f *world.Frame) { f.Actors[0].Name = "b" },
		"one who is missing":      func(f *world.Frame) { f.Actors = f.Actors[:1] },
		"one who is at a wrong x": func(f *world.Frame) { f.Actors[1].Pose.Position[0] += 0.1 },
		"one who is turned":       func(f *world.Frame) { f.Actors[1].Pose = spatial.FromRPY(f.Actors[1].Pose.Position, 0, 0, 10) },
		"moves that are infinite": func(f *world.Frame) { f.Actors[1].Velocity[2] = math.Inf(1) },
	} {
		w := drive(2)
		f := &world.Frame{Until: start + 100_000_000, Complete: true}
		for i, name := range []string{"a", "b"} {
			s := world.State{Pose: spatial.FromRPY(mgl64.Vec3{w.Instants[1].Actors[i].X, w.Instants[1].Actors[i].Y}, 0, 0, mgl64.RadToDeg(w.Instants[1].Actors[i].Yaw))}
			f.Spawn = append(f.Spawn, world.Spawn{Name: name, Model: "m", State: s})
			f.Actors = append(f.Actors, world.Actor{Ref: world.Ref{Name: name}, State: s})
		}
		spoil(f)
		r := &reader{world: w, present: map[string]bool{}, until: start, next: 1}
		if err := r.check(f); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
