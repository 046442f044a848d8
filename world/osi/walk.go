package osi

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// ErrDamaged says that a file or a message is not what it should be, or is cut.
var ErrDamaged = errors.New("it is damaged")

// cursor goes through the fields of a protobuf message. It allocates nothing.
type cursor struct {
	rest  []byte
	field protowire.Number
	kind  protowire.Type
	bits  uint64 // of a field that is a number
	bytes []byte // of a field that is a message
	err   error
}

// next goes to the next field. It is false at the end, and where there is no field in what follows.
func (c *cursor) next() bool {
	if len(c.rest) == 0 || c.err != nil {
		return false
	}
	field, kind, n := protowire.ConsumeTag(c.rest)
	if n < 0 {
		return c.cut(n)
	}
	c.field, c.kind, c.bits, c.bytes, c.rest = field, kind, 0, nil, c.rest[n:]
	switch kind {
	case protowire.VarintType:
		c.bits, n = protowire.ConsumeVarint(c.rest)
	case protowire.Fixed64Type:
		c.bits, n = protowire.ConsumeFixed64(c.rest)
	case protowire.BytesType:
		c.bytes, n = protowire.ConsumeBytes(c.rest)
	default:
		n = protowire.ConsumeFieldValue(field, kind, c.rest)
	}
	if n < 0 {
		return c.cut(n)
	}
	c.rest = c.rest[n:]
	return true
}

func (c *cursor) cut(n int) bool {
	c.err = fmt.Errorf("%w: %w", ErrDamaged, protowire.ParseError(n))
	return false
}

// fail keeps the first error.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// is reports whether the field has the type that OSI gives it.
func (c *cursor) is(kind protowire.Type) bool {
	if c.kind != kind {
		c.fail(fmt.Errorf("%w: field %d has wire type %d, want %d: is it a message of OSI 3?", ErrDamaged, c.field, c.kind, kind))
	}
	return c.kind == kind
}

// message returns the content of a field that is a message.
func (c *cursor) message() []byte {
	c.is(protowire.BytesType)
	return c.bytes
}

// number returns a field that is an integer or a value of an enumeration.
func (c *cursor) number() uint64 {
	c.is(protowire.VarintType)
	return c.bits
}

// keep keeps the error of a message inside, and says of which part it is.
func (c *cursor) keep(part string, err error) {
	if err != nil {
		c.fail(fmt.Errorf("%s: %w", part, err))
	}
}

// vector reads a Vector3d, a Dimension3d or an Orientation3d.
func (c *cursor) vector(part string, v *mgl64.Vec3) {
	in := cursor{rest: c.message()}
	for in.next() {
		if in.field < 1 || in.field > 3 || !in.is(protowire.Fixed64Type) {
			continue
		}
		x := math.Float64frombits(in.bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			in.fail(fmt.Errorf("%w: %v", world.ErrValue, x))
		}
		v[in.field-1] = x
	}
	c.keep(part, in.err)
}

// identifier reads an Identifier. It returns false where it has no value.
func (c *cursor) identifier() (id uint64, ok bool) {
	in := cursor{rest: c.message()}
	for in.next() {
		if in.field == 1 {
			id, ok = in.number(), true
		}
	}
	c.keep("id", in.err)
	return id, ok
}

// groundTruth is what a GroundTruth says that we use. Its lists are used again for the next one.
type groundTruth struct {
	at             simtime.Stamp
	timed          bool
	host           uint64
	hosted         bool
	moving, static []object
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
	for c := (cursor{rest: message}); c.next(); {
		if c.field != 7 {
			continue
		}
		for in := (cursor{rest: c.bytes}); in.next(); {
			if in.field != 2 {
				continue
			}
			at := cursor{rest: in.bytes}
			return at.next() && at.kind == protowire.VarintType
		}
	}
	return false
}

// readView reads a SensorView's ground truth. It returns false where it has none.
func (g *groundTruth) readView(message []byte) (bool, error) {
	var truth []byte
	var host uint64
	hosted := false
	c := cursor{rest: message}
	for c.next() {
		switch c.field {
		case 7:
			truth = c.message()
		case 8:
			host, hosted = c.identifier()
		}
	}
	if c.err != nil || truth == nil {
		return false, c.err
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
	*g = groundTruth{moving: g.moving[:0], static: g.static[:0]}
	c := cursor{rest: message}
	for c.next() {
		switch c.field {
		case 2:
			g.at, g.timed = c.timestamp(), true
		case 3:
			g.host, g.hosted = c.identifier()
		case 4:
			g.static = c.object(g.static, false)
		case 5:
			g.moving = c.object(g.moving, true)
		}
	}
	if c.err == nil && !g.timed {
		return fmt.Errorf("%w: it has no timestamp", world.ErrTime)
	}
	return c.err
}

// timestamp reads a Timestamp.
func (c *cursor) timestamp() simtime.Stamp {
	var seconds int64
	var nanos uint64
	in := cursor{rest: c.message()}
	for in.next() {
		switch in.field {
		case 1:
			seconds = int64(in.number())
		case 2:
			nanos = in.number()
		}
	}
	const second, most = 1_000_000_000, math.MaxInt64 / 2 / 1_000_000_000
	if nanos >= second || seconds >= most || seconds <= -most {
		in.fail(fmt.Errorf("%w: %d s and %d ns", world.ErrTime, seconds, nanos))
		nanos, seconds = 0, 0
	}
	c.keep("timestamp", in.err)
	return simtime.Stamp(seconds*second + int64(nanos))
}

// object reads a MovingObject or a StationaryObject and appends it.
func (c *cursor) object(list []object, moving bool) []object {
	if len(list) == snapshot.Most {
		c.keep("objects", fmt.Errorf("%w: the limit is %d", world.ErrFull, snapshot.Most))
		return list
	}
	list = append(list, object{})
	o := &list[len(list)-1]
	in := cursor{rest: c.message()}
	for in.next() {
		switch {
		case in.field == 1:
			o.id, o.named = in.identifier()
		case in.field == 2:
			in.keep("base", o.readBase(in.message(), moving))
		case in.field == 11 && moving, in.field == 6 && !moving:
			in.keep("color description", o.readColor(in.message()))
		case !moving: // what follows, a StationaryObject doesn't have
		case in.field == 3:
			o.kind = in.number()
		case in.field == 5:
			in.keep("vehicle attributes", o.readAttributes(in.message()))
		case in.field == 6:
			in.keep("vehicle classification", o.readClassification(in.message()))
		}
	}
	if in.err == nil {
		in.err = o.check()
	}
	if in.err != nil {
		what := "stationary object"
		if moving {
			what = "moving object"
		}
		c.keep(fmt.Sprintf("%s %d", what, len(list)), in.err)
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
	c := cursor{rest: message}
	for c.next() {
		switch {
		case c.field == 1:
			c.vector("dimension", &o.size)
		case c.field == 2:
			c.vector("position", &o.position)
			o.placed = true
		case c.field == 3:
			c.vector("orientation", &o.orientation)
		case !moving:
		case c.field == 4:
			c.vector("velocity", &o.velocity)
			o.moves = true
		case c.field == 6:
			c.vector("orientation rate", &o.rates)
			o.turns = true
		}
	}
	return c.err
}

// readAttributes reads a VehicleAttributes.
func (o *object) readAttributes(message []byte) error {
	c := cursor{rest: message}
	for c.next() {
		if c.field == 4 {
			c.vector("bbcenter_to_rear", &o.rear)
			o.axled = true
		}
	}
	return c.err
}

// readColor reads a ColorDescription in RGB, each from 0 to 1. Other forms of it are passed over.
func (o *object) readColor(message []byte) error {
	c := cursor{rest: message}
	for c.next() {
		if c.field != 2 {
			continue
		}
		var rgb mgl64.Vec3
		c.vector("rgb", &rgb)
		level := func(v float64) uint8 { return uint8(math.Round(255 * mgl64.Clamp(v, 0, 1))) }
		o.color = world.Color{R: level(rgb[0]), G: level(rgb[1]), B: level(rgb[2]), Known: true}
	}
	return c.err
}

// readClassification reads a VehicleClassification.
func (o *object) readClassification(message []byte) error {
	c := cursor{rest: message}
	for c.next() {
		switch c.field {
		case 1:
			o.class = c.number()
		case 2:
			if err := o.readLights(c.message()); err != nil {
				return err
			}
		}
	}
	return c.err
}

// readLights reads a LightState. Most of its lights are off with 2 and on with a higher number.
func (o *object) readLights(message []byte) error {
	c := cursor{rest: message}
	for c.next() {
		switch c.field {
		case 1:
			o.lights |= indicators[c.number()]
		case 4, 5:
			o.lights |= lightOn(c.number(), world.LightHead)
		case 6:
			o.lights |= lightOn(c.number(), world.LightReverse)
		case 7:
			o.lights |= lightOn(c.number(), world.LightBrake)
		}
	}
	return c.err
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
