package control

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/world"
)

// modelAnswer is a model that actors may have, with its length, width and height in metres. Paint says
// that a color shows. The joints are in the order of their values.
type modelAnswer struct {
	Name   string        `json:"name"`
	Size   []float64     `json:"size"`
	Paint  bool          `json:"paint"`
	Joints []jointAnswer `json:"joints"`
}

// jointAnswer is a joint, and the unit of its values: rad or m.
type jointAnswer struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

type modelList struct {
	Models []modelAnswer `json:"models"`
}

// models lists what actors may look like.
func (h *handler) models(http.ResponseWriter, *http.Request) (any, error) {
	s := h.run.Pipeline.Geometry().Scene
	list := modelList{Models: []modelAnswer{}}
	for _, m := range s.Models {
		size := s.BoxOf(m).Half.Mul(2)
		answer := modelAnswer{m.TypeID, size[:], s.HasPaint(m), []jointAnswer{}}
		for _, j := range m.Joints {
			unit := "rad"
			if j.Slides {
				unit = "m"
			}
			answer.Joints = append(answer.Joints, jointAnswer{j.Name, unit})
		}
		list.Models = append(list.Models, answer)
	}
	return list, nil
}

// actorAnswer is an actor at the latest instant, by its own origin. Own says that it is the scene's own, which
// frames don't move.
type actorAnswer struct {
	Handle uint32 `json:"handle"`
	Name   string `json:"name"`
	Model  string `json:"model"`
	Own    bool   `json:"own"`
	state
}

type actorList struct {
	Actors []actorAnswer `json:"actors"`
}

// actors lists who is there and may move.
func (h *handler) actors(http.ResponseWriter, *http.Request) (any, error) {
	list := actorList{Actors: []actorAnswer{}}
	own := h.run.Pipeline.Geometry().Scene
	for _, a := range h.run.Pipeline.Actors("*") {
		known := own.Actor(a.ID())
		s, ok := a.State()
		if a.ID() == scene.EgoID || known != nil && known.Static() || !ok { // those that aren't there yet have no state
			continue
		}
		list.Actors = append(list.Actors, actorAnswer{a.ID(), a.Name(), a.TypeID(), known != nil, stateOf(world.State{
			Pose: s.Pose, Velocity: s.Twist.Linear, AngularVelocity: s.Twist.Angular,
		})})
	}
	return list, nil
}

// placeAnswer is a place on the ground; yaw is in degrees.
type placeAnswer struct {
	Position []float64 `json:"position"`
	Yaw      float64   `json:"yaw"`
}

type placeList struct {
	SpawnPoints []placeAnswer `json:"spawn_points"`
}

// spawnPoints lists places where actors may begin.
func (h *handler) spawnPoints(http.ResponseWriter, *http.Request) (any, error) {
	list := placeList{SpawnPoints: []placeAnswer{}}
	for _, p := range h.run.Pipeline.Geometry().Scene.SpawnPoints {
		_, _, yaw := p.RPY()
		list.SpawnPoints = append(list.SpawnPoints, placeAnswer{p.Position[:], yaw})
	}
	return list, nil
}

// spawn lets an actor come in the next step.
func (h *handler) spawn(w http.ResponseWriter, r *http.Request) (any, error) {
	var request spawnRequest
	if err := read(w, r, &request); err != nil {
		return nil, advise(err, `{"name": "a", "model": "vehicle.sedan", "position": [10, 2, 0], "yaw": 90}`)
	}
	return h.frame(w, r, &stepRequest{Spawn: []spawnRequest{request}})
}

// remove lets an actor go in the next step.
func (h *handler) remove(w http.ResponseWriter, r *http.Request, _ nothing) (any, error) {
	ref := actorRef{Name: r.PathValue("actor")}
	if handle, err := strconv.ParseUint(ref.Name, 10, 32); err == nil {
		ref = actorRef{Handle: uint32(handle)}
	}
	return h.frame(w, r, &stepRequest{Remove: []actorRef{ref}})
}

// driveRequest are pedals, 0 to 1, and a wheel, -1 to 1 and positive to the right.
type driveRequest struct {
	Throttle float64 `json:"throttle"`
	Brake    float64 `json:"brake"`
	Steering float64 `json:"steering"`
}

// drive steers a vehicle that obeys commands. A command holds as one of a bridge does.
func (h *handler) drive(r driveRequest) error {
	for _, v := range []struct {
		name       string
		value, low float64
	}{{"throttle", r.Throttle, 0}, {"brake", r.Brake, 0}, {"steering", r.Steering, -1}} {
		if v.value < v.low || v.value > 1 {
			return refuse(http.StatusBadRequest, "%s is %v, the range is %v to 1", v.name, v.value, v.low)
		}
	}
	vehicle, ok := h.run.Pipeline.Ego().(*scene.Driven)
	if !ok {
		return fmt.Errorf("drive the ego: %w: ego.driver has to be external, and no frame may have moved it", motion.ErrNotDriven)
	}
	command := sample.VehicleControl{Acceleration: r.Throttle, Braking: r.Brake, Steering: r.Steering}
	return vehicle.SetCommand(motion.ControlCommand(&command, vehicle.Vehicle()))
}
