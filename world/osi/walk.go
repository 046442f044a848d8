package osi

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/protowalk"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// ErrDamaged says that a file or a message is not what it should be, or is cut.
var ErrDamaged = errors.New("it is damaged")

// errMessage is of what can't be read as a message.
var errMessage = fmt.Errorf("%w, or it is not a message of OSI 3", ErrDamaged)

// cursor goes through the fields of a message of OSI.
type cursor struct{ protowalk.Walk }

func over(message []byte) cursor { return cursor{protowalk.Over(message, errMessage)} }

// vector reads a Vector3d, a Dimension3d or an Orientation3d.
func (c *cursor) vector(part string, v *mgl64.Vec3) {
	in := over(c.Message())
	for in.Next() {
		if in.Field < 1 || in.Field > 3 {
			continue
		}
		x := in.Double()
		if math.IsNaN(x) || math.IsInf(x, 0) {
			in.Fail(fmt.Errorf("%w: %v", world.ErrValue, x))
		}
		v[in.Field-1] = x
	}
	c.Within(part, in.Err)
}

// identifier reads an Identifier. It returns false where it has no value.
func (c *cursor) identifier() (id uint64, ok bool) {
	in := over(c.Message())
	for in.Next() {
		if in.Field == 1 {
			id, ok = in.Varint(), true
		}
	}
	c.Within("id", in.Err)
	return id, ok
}

// groundTruth is what a GroundTruth says that we use. Its lists are used again for the next one.
type groundTruth struct {
	at             simtime.Stamp
	timed          bool
	host           uint64
	hosted         bool
	moving, static []object
	lights         [][]byte       // TrafficLights
	weather        *weather.State // nil where it isn't told
	projection     []byte         // a PROJ text, or empty
}

// object is a MovingObject or a StationaryObject.
type object struct {
	id          uint64
	named       bool
	placed      bool
	size        mgl64.Vec3
	position    mgl64.Vec3 // of the middle of the box
	orientation mgl64.Vec3 // roll, pitch and yaw, radians
	velocity    mgl64.Vec3
	moves       bool       // velocity is there
	rates       mgl64.Vec3 // of orientation
	turns       bool       // rates is there
	kind        uint64     // of a moving object: a vehicle, a pedestrian, ...
	class       uint64     // of a vehicle
	lights      world.Lights
	rear        mgl64.Vec3 // from the middle of the box to that of the rear axle
	axled       bool       // rear is there
	color       world.Color
}

// isView reports whether a message is a SensorView and not a GroundTruth. Field 7 is the ground truth of the
// one, whose field 2 is a time. It is a traffic light of the other, whose field 2 is a place.
func isView(message []byte) bool {
	for c := over(message); c.Next(); {
		if c.Field != 7 {
			continue
		}
		for in := over(c.Message()); in.Next(); {
			if in.Field != 2 {
				continue
			}
			at := over(in.Message())
			at.Next()
			at.Varint()
			return at.Err == nil
		}
	}
	return false
}

// readView reads a SensorView's ground truth. It returns false where it has none.
func (g *groundTruth) readView(message []byte) (bool, error) {
	var truth []byte
	var host uint64
	hosted := false
	c := over(message)
	for c.Next() {
		switch c.Field {
		case 7:
			truth = c.Message()
		case 8:
			host, hosted = c.identifier()
		}
	}
	if c.Err != nil || truth == nil {
		return false, c.Err
	}
	if err := g.read(truth); err != nil {
		return false, err
	}
	if hosted {
		g.host, g.hosted = host, true
	}
	return true, nil
}

// read reads a GroundTruth.
func (g *groundTruth) read(message []byte) error {
	*g = groundTruth{moving: g.moving[:0], static: g.static[:0], lights: g.lights[:0]}
	c := over(message)
	for c.Next() {
		switch c.Field {
		case 2:
			g.at, g.timed = c.timestamp(), true
		case 3:
			g.host, g.hosted = c.identifier()
		case 4:
			g.static = c.object(g.static, false)
		case 5:
			g.moving = c.object(g.moving, true)
		case 7:
			if len(g.lights) == snapshot.Most {
				c.Within("traffic lights", fmt.Errorf("%w: there are more than %d", world.ErrValue, snapshot.Most))
			}
			g.lights = append(g.lights, c.Message())
		case 12:
			g.weather = c.environment()
		case 14:
			g.projection = c.Message()
		}
	}
	if c.Err == nil && !g.timed {
		return fmt.Errorf("%w: it has no timestamp", world.ErrTime)
	}
	return c.Err
}

// timestamp reads a Timestamp. Nanos should be below a second; writers that round or add up have more,
// which count on top of the seconds.
func (c *cursor) timestamp() simtime.Stamp {
	var seconds int64
	var nanos uint64
	in := over(c.Message())
	for in.Next() {
		switch in.Field {
		case 1:
			seconds = int64(in.Varint())
		case 2:
			nanos = in.Varint()
		}
	}
	const second, most = 1_000_000_000, math.MaxInt64 / 2 / 1_000_000_000
	if nanos > math.MaxUint32 || seconds >= most-int64(nanos/second) || seconds <= -most {
		in.Fail(fmt.Errorf("%w: %d s and %d ns", world.ErrTime, seconds, nanos))
		nanos, seconds = 0, 0
	}
	c.Within("timestamp", in.Err)
	return simtime.Stamp(seconds*second + int64(nanos))
}

// object reads a MovingObject or a StationaryObject and appends it.
func (c *cursor) object(list []object, moving bool) []object {
	if len(list) == snapshot.Most {
		c.Within("objects", fmt.Errorf("%w: the limit is %d", world.ErrFull, snapshot.Most))
		return list
	}
	list = append(list, object{})
	o := &list[len(list)-1]
	in := over(c.Message())
	for in.Next() {
		switch {
		case in.Field == 1:
			o.id, o.named = in.identifier()
		case in.Field == 2:
			in.Within("base", o.readBase(in.Message(), moving))
		case in.Field == 11 && moving, in.Field == 6 && !moving:
			in.Within("color description", o.readColor(in.Message()))
		case !moving: // what follows, a StationaryObject doesn't have
		case in.Field == 3:
			o.kind = in.Varint()
		case in.Field == 5:
			in.Within("vehicle attributes", o.readAttributes(in.Message()))
		case in.Field == 6:
			in.Within("vehicle classification", o.readClassification(in.Message()))
		}
	}
	if in.Err == nil {
		in.Err = o.check()
	}
	if in.Err != nil {
		what := "stationary object"
		if moving {
			what = "moving object"
		}
		c.Within(fmt.Sprintf("%s %d", what, len(list)), in.Err)
	}
	return list
}

// check says what an object lacks.
func (o *object) check() error {
	switch {
	case !o.named:
		return fmt.Errorf("%w: it has no id", world.ErrValue)
	case !o.placed:
		return fmt.Errorf("%w: id %d has no position", world.ErrValue, o.id)
	case o.size[0] < 0 || o.size[1] < 0 || o.size[2] < 0:
		return fmt.Errorf("%w: id %d has a negative dimension", world.ErrValue, o.id)
	}
	return nil
}

// readBase reads a BaseMoving or a BaseStationary.
func (o *object) readBase(message []byte, moving bool) error {
	c := over(message)
	for c.Next() {
		switch {
		case c.Field == 1:
			c.vector("dimension", &o.size)
		case c.Field == 2:
			c.vector("position", &o.position)
			o.placed = true
		case c.Field == 3:
			c.vector("orientation", &o.orientation)
		case !moving:
		case c.Field == 4:
			c.vector("velocity", &o.velocity)
			o.moves = true
		case c.Field == 6:
			c.vector("orientation rate", &o.rates)
			o.turns = true
		}
	}
	return c.Err
}

// readAttributes reads a VehicleAttributes.
func (o *object) readAttributes(message []byte) error {
	c := over(message)
	for c.Next() {
		if c.Field == 4 {
			c.vector("bbcenter_to_rear", &o.rear)
			o.axled = true
		}
	}
	return c.Err
}

// readColor reads a ColorDescription in RGB, each from 0 to 1. Other forms of it are passed over.
func (o *object) readColor(message []byte) error {
	c := over(message)
	for c.Next() {
		if c.Field != 2 {
			continue
		}
		var rgb mgl64.Vec3
		c.vector("rgb", &rgb)
		level := func(v float64) uint8 { return uint8(math.Round(255 * mgl64.Clamp(v, 0, 1))) }
		o.color = world.Color{R: level(rgb[0]), G: level(rgb[1]), B: level(rgb[2]), Known: true}
	}
	return c.Err
}

// readClassification reads a VehicleClassification.
func (o *object) readClassification(message []byte) error {
	c := over(message)
	for c.Next() {
		switch c.Field {
		case 1:
			o.class = c.Varint()
		case 2:
			if err := o.readLights(c.Message()); err != nil {
				return err
			}
		}
	}
	return c.Err
}

// readLights reads a LightState. Most of its lights are off with 2 and on with a higher number.
func (o *object) readLights(message []byte) error {
	c := over(message)
	for c.Next() {
		switch c.Field {
		case 1:
			o.lights |= indicators[c.Varint()]
		case 4, 5:
			o.lights |= lightOn(c.Varint(), world.LightHead)
		case 6:
			o.lights |= lightOn(c.Varint(), world.LightReverse)
		case 7:
			o.lights |= lightOn(c.Varint(), world.LightBrake)
		}
	}
	return c.Err
}

// indicators are the lights of an IndicatorState.
var indicators = map[uint64]world.Lights{3: world.LightLeft, 4: world.LightRight, 5: world.LightLeft | world.LightRight}

// lightOn returns the light for a state of OSI that says it is on: one above 2, which is off.
func lightOn(state uint64, light world.Lights) world.Lights {
	if state > 2 {
		return light
	}
	return 0
}
