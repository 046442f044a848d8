package stage

import (
	"fmt"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// Apply does what Check has planned, which can't fail. It returns the handles of the actors that came, in the order
// of the frame's Spawn. boxed are those of their models for which a box stands: the scene doesn't have them, or none
// nearly as long.
func (s *Stage) Apply(p *Plan) (spawned []uint32, boxed []string) {
	for _, a := range p.leave {
		s.leave(a, p)
	}
	stayed := len(p.move) < len(s.actors)
	for i := range p.come {
		c := &p.come[i]
		s.spawn(c, p)
		spawned = append(spawned, c.actor.handle)
		if model := c.as.TypeID; c.actor.boxed && !slices.Contains(boxed, model) {
			boxed = append(boxed, model)
		}
	}
	for i := range p.move {
		s.move(&p.move[i], p)
	}
	if stayed {
		for _, a := range s.actors {
			if a.told != s.checked {
				a.motion.Stand(p.now, p.frame.Until)
			}
		}
	}
	for _, light := range p.show {
		s.history.SetSignal(light.light, light.state)
	}
	if w := p.frame.Weather; w != nil {
		s.setWeather(*w)
	}
	s.moveEgo(p)
	s.counts.Most = max(s.counts.Most, len(s.actors))
	s.counts.Frames++
	s.begun = true
	p.frame = nil // it is the caller's, with what it holds
	clear(p.come)
	clear(p.move)
	return spawned, boxed
}

// setWeather sets a frame's weather, which wins over the run's own.
func (s *Stage) setWeather(w weather.State) {
	own := s.history.Weather().Coming()
	if !s.begun && own != (weather.State{}) && own != w {
		s.log.Warn("the world's weather takes the place of the one that the run was to begin with", "own", own.String(), "world", w.String())
	}
	_ = s.history.Weather().Set(w) // it was checked
}

// leave takes an actor away. One that leaves at the step's end keeps its velocity up to there.
func (s *Stage) leave(a *actor, p *Plan) {
	if p.frame.AtEnd {
		a.motion.Coast(p.now, p.frame.Until)
		_ = s.history.RemoveAt(a.handle, p.frame.Until) // it is there
	} else {
		_ = s.history.Remove(a.handle)
	}
	s.Forget(a.handle)
}

// spawn lets an actor come.
func (s *Stage) spawn(c *coming, p *Plan) {
	a, until := c.actor, p.frame.Until
	at := s.placed(a, c.at, nil)
	stays := at
	stays.Stamp = until
	a.lead(stays, stays, c.first)
	if c.then != nil {
		to, _ := waypoint(c.then, until) // it was checked
		a.onGround = a.onGround && !c.then.HeightKnown
		a.lead(at, s.placed(a, to, &at), c.then)
	}
	if p.frame.AtEnd {
		c.as.Since = until
	}
	own, _ := s.history.SpawnActor(c.model, c.as, a.motion) // the room was counted
	a.handle, a.name = own.ID, own.Name
	s.actors[a.handle] = a
	if c.as.Name != "" || s.names[a.name] == nil { // a name of its model and a number may be another's
		s.names[a.name] = a
	}
	if a.boxed {
		s.tellOfBox(c)
	}
}

// move leads an actor to where the frame has it.
func (s *Stage) move(m *moving, p *Plan) {
	a := m.actor
	a.onGround = a.onGround && !m.state.HeightKnown
	from := a.motion.At(p.now)
	to := s.placed(a, m.to, &from)
	if m.state.Jump || !a.ability.reaches(a.motion, &from, &to) {
		_ = s.history.Jumped(a.handle) // it is there
		to = s.placed(a, m.to, nil)
		from = to
	}
	a.lead(from, to, m.state)
}

// lead leads an actor from one waypoint to another, and its joints to the values of a state.
func (a *actor) lead(from, to scene.Waypoint, s *world.State) {
	a.motion.Lead(from, to)
	a.turn(s)
}

// placed returns the waypoint of an actor's origin, given its reference point's. If its angular velocity isn't
// known, it turns as it did since another waypoint, which may be nil.
func (s *Stage) placed(a *actor, at scene.Waypoint, since *scene.Waypoint) scene.Waypoint {
	arm, spin := at.Pose.Rotate(a.offset), at.AngularVelocity
	if !at.AngularVelocityKnown && since != nil && at.Stamp > since.Stamp {
		spin = world.SpinBetween(since.Pose.Orientation, at.Pose.Orientation, at.Stamp-since.Stamp)
	}
	at.Pose.Position = at.Pose.Position.Add(arm)
	at.Velocity = at.Velocity.Add(spin.Cross(arm))
	if a.onGround {
		x := at.Pose.Position
		if z, ok := s.geometry.Ground(x[0], x[1], x[2]); ok {
			at.Pose.Position[2] = z
		}
	}
	s.tellFar(at.Pose.Position)
	return at
}

// coarse is the grain of the scene's numbers, in metres, from which on users are warned. It begins 65 km from the
// scene.
const coarse = 1.0 / 256

// tellFar logs, once, that a frame has something far from the scene.
func (s *Stage) tellFar(at mgl64.Vec3) {
	if grain := s.geometry.Grain(at); !s.far && grain > coarse {
		s.far = true
		s.log.Warn(fmt.Sprintf("(%.0f, %.0f, %.0f) is far from the scene, so that ranges and pictures are only exact to %s m there: "+
			"put the scene where the world is, such as a plane by scene.offset", at[0], at[1], at[2], fault.Number(grain, 2)))
	}
}

// moveEgo moves the vehicle that carries the sensors, if the frame does.
func (s *Stage) moveEgo(p *Plan) {
	f := p.frame
	if f.Ego == nil {
		if s.ego != nil {
			s.ego.Stand(p.now, f.Until) // where the last frame put it
		}
		return
	}
	to, _ := waypoint(f.Ego, f.Until) // it was checked
	if s.ego == nil {
		own := s.Ego(p.now)
		at, _ := waypoint(&own, p.now)
		s.ego = &scene.Guided{}
		s.ego.Lead(at, at)
		_ = s.history.SetMotion(scene.EgoID, s.ego) // the ego is there
	}
	s.tellFar(to.Pose.Position)
	from := s.ego.At(p.now)
	if f.Ego.Jump || !egoAbility.reaches(s.ego, &from, &to) {
		from = to
	}
	s.ego.Lead(from, to)
}
