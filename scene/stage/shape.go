package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// WhichModels ends the texts about a model that isn't known.
const WhichModels = "world.city_models and world.models say which there are"

// usualSize is the size in metres of a box of which nothing is known.
var usualSize = mgl64.Vec3{4.5, 1.8, 1.5}

// shape finds the shape of an actor that comes: the model's, or a box.
func (s *Stage) shape(c *coming, spawn *world.Spawn) error {
	c.as = scene.Actor{Name: spawn.Name, TypeID: spawn.Model}
	if spawn.Color.Known {
		c.as.Paint = &[3]uint8{spawn.Color.R, spawn.Color.G, spawn.Color.B}
	}
	if spawn.Model != scene.BoxModel {
		c.model = s.scene.Model(spawn.Model)
	}
	size, usual := spawn.Size, usualSize
	var box scene.Box
	if c.model != nil {
		box = s.history.ModelBox(c.model)
		usual = box.Half.Mul(2)
	}
	for i := range size {
		if size[i] == 0 {
			size[i] = usual[i]
		}
	}
	longer := stretchOf(spawn.Model, size[0], usual[0])
	if c.model == nil || !(longer >= 1/mostStretch && longer <= mostStretch) {
		if c.model != nil {
			c.length, c.misfit = size[0], usual[0]
		}
		return s.shapeBox(c, spawn, size)
	}
	if longer != 1 {
		c.as.Stretch = longer
		box.Center[0] *= longer
	}
	c.actor.joints = c.model.Joints
	// The middles of both undersides are one.
	underside := mgl64.Vec3{box.Center[0], box.Center[1], box.Center[2] - box.Half[2]}
	c.actor.offset = spawn.Reference.InBox(size).Add(underside).Mul(-1)
	return nil
}

// shapeBox makes an actor that comes a box of a size.
func (s *Stage) shapeBox(c *coming, spawn *world.Spawn, size mgl64.Vec3) error {
	if c.model = s.scene.Model(scene.BoxModel); c.model == nil {
		return fmt.Errorf("%w: model %q: the scene has no such model, and no box either: %s", world.ErrUnknownActor, spawn.Model, WhichModels)
	}
	c.as.Parts = scaled(c.model, size, tagOf(spawn.Model))
	c.actor.boxed = spawn.Model != scene.BoxModel
	c.actor.offset = spawn.Reference.InBox(size).Mul(-1)
	return nil
}

// mostStretch is how much longer or shorter than its model an actor may be and still look like it.
const mostStretch = 1.3

// stretchOf returns how many times as long as its model an actor is. It is 1 if they differ by a centimetre, and for
// people: sources give the room that a person takes.
func stretchOf(model string, length, own float64) float64 {
	if strings.HasPrefix(model, "walker.") || math.Abs(length-own) <= 0.01 {
		return 1
	}
	return length / own
}

// scaled returns the parts of a model of a metre's size at another size.
func scaled(model *scene.Actor, size mgl64.Vec3, tag scene.Tag) []scene.Part {
	parts := slices.Clone(model.Parts)
	scale := mgl64.Scale3D(size[0], size[1], size[2])
	for i := range parts {
		at := scale.Mul4(parts[i].Local)
		parts[i].Tag, parts[i].Local, parts[i].Joints = tag, at, func(simtime.Stamp) mgl64.Mat4 { return at }
	}
	return parts
}

// tagOf returns the semantic tag of a box that stands for a model.
func tagOf(model string) scene.Tag {
	for _, known := range []struct {
		prefix string
		tag    scene.Tag
	}{
		{"vehicle.truck", scene.TagTruck}, {"vehicle.bus", scene.TagBus}, {"vehicle.motorcycle", scene.TagMotorcycle},
		{"vehicle.bicycle", scene.TagBicycle}, {"vehicle.train", scene.TagTrain}, {"vehicle.", scene.TagCar}, {"walker.", scene.TagPedestrian},
		{"static.", scene.TagStatic},
	} {
		if strings.HasPrefix(model, known.prefix) {
			return known.tag
		}
	}
	return scene.TagDynamic
}

// Bounds of what the log says of models for which a box stands.
const (
	toldBoxes  = 20      // models with a line each
	knownBoxes = 4 << 10 // models that are told apart
)

// tellOfBox logs each model once for which a box stands. After many it logs their number now and then, because a
// client may make up names without end.
func (s *Stage) tellOfBox(c *coming) {
	key := fmt.Sprintf("%.256s", c.as.TypeID)
	if _, known := s.boxes[key]; known || len(s.boxes) == knownBoxes {
		return
	}
	s.boxes[key] = struct{}{}
	attributes := []any{"model", key, "actor", fmt.Sprintf("%.256s", c.actor.name)}
	switch {
	case len(s.boxes) > toldBoxes:
		if more, ok := s.boxLines.Tell(time.Now()); ok {
			s.log.Warn("further models of actors are boxes, too", append(attributes, "models", len(s.boxes), "more", more)...)
		}
	case c.misfit > 0:
		s.log.Warn("an actor is much longer or shorter than its model, so that it is a box", append(attributes, "length", c.length, "model_length", c.misfit)...)
	default:
		s.log.Warn("the model of an actor is not known, so that it is a box: "+WhichModels, attributes...)
	}
}
