package groundtruth

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// report makes the messages of one kind of boxes. After Begin it belongs to Process.
type report interface {
	Begin(context.Context, *sensors.Env) error
	// publish sends the boxes of the objects that are seen, by their tallies, of which the
	// first is the first object's.
	publish(f *finding, tallies []tally)
}

// finding is a capture on its way back, with the actors that it is about.
type finding = sensors.Capture[[]object]

// detector is either sensor. Its fields are set before Begin ends, and then belong to
// the GL thread where nothing else is said.
type detector struct {
	sensors.Ring[[]object, tally]
	spec        sensors.Spec
	env         *sensors.Env
	reach, near float64  // metres
	grounded    bool     // it lies on the ground, which hides nothing from it
	picture     *picture // nil for boxes in space
	report      report

	survey survey
	caster caster
	blank  []tally
	// spare has the memory of findings that were published.
	spare chan []object
}

var _ sensors.Capturer = (*detector)(nil)

// Begin finds the targets and makes the GPU objects.
func (d *detector) Begin(ctx context.Context, env *sensors.Env) (err error) {
	d.env, d.spare = env, make(chan []object, sensors.RingSlots+1)
	if err := d.Open(&d.spec, env, d.publish); err != nil {
		return err
	}
	if err := d.report.Begin(ctx, env); err != nil {
		return err
	}
	box, ok := env.History.Box(env.Owner)
	d.grounded = ok && d.spec.Mount.Position[2] < box.Center[2]-box.Half[2]+onGround
	d.survey.env, d.survey.packer = env, scene.NewPacker(env.Geometry, env.History)
	if d.survey.targets, err = targetsOf(env); err != nil {
		return err
	}
	d.blank = make([]tally, max(len(d.survey.targets.list)+env.Scene.Slots, 1))
	for i := range d.blank {
		d.blank[i] = noPixel
	}
	if p := d.picture; p != nil {
		p.seated = make([]uint32, env.Scene.Slots)
		if p.visibility, err = camera.NewVisibility(ctx, env, p.sight); err != nil {
			return errors.Join(fmt.Errorf("begin %s: %w", d.spec.Name, err), d.End())
		}
	}
	if err := env.GL.Do(ctx, d.open); err != nil {
		return errors.Join(fmt.Errorf("begin %s: %w", d.spec.Name, err), d.End())
	}
	return nil
}

// open makes the GPU objects. GL thread.
func (d *detector) open(c *gpu.Ctx) (err error) {
	if d.picture != nil {
		if err := d.picture.open(c, d.spec.Name, d.survey.targets); err != nil {
			return err
		}
	}
	if err := d.caster.open(c, d.spec.Name, d.survey.packer, d.survey.env.Resident); err != nil {
		return err
	}
	return d.Make(c, len(d.blank))
}

// Capture counts what is seen at the due instant, if the owner is there then. GL
// thread.
func (d *detector) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	if !d.env.History.Present(d.env.Owner, at.Due) {
		return false, nil
	}
	target, err := d.Take(c, at)
	if target == nil {
		return false, err
	}
	middle := d.shutter().Middle(at.Due)
	f := finding{At: at, Header: d.header(at), Data: d.survey.look(d.memory(), d.env.Pose(d.spec.Mount, middle), middle, d)}
	if err := d.count(c, at, target); err != nil {
		return false, fmt.Errorf("%s: %w", d.spec.Name, err)
	}
	first, last := span(f.Data)
	return d.StartRange(c, f, first, last-first+1)
}

// shutter returns the picture's, and without one that of an instant.
func (d *detector) shutter() (s camera.Shutter) {
	if d.picture != nil {
		s = d.picture.sight.Shutter
	}
	return s
}

// header returns that of a message.
func (d *detector) header(at sensors.Tick) sample.Header {
	stamp := d.shutter().Stamp(at.Due)
	h := at.Header(d.spec.FrameID, d.env.Pose(d.spec.Mount, stamp))
	h.Stamp = stamp
	return h
}

// span returns the first and the last tally of the objects, which lie in the order of their
// tallies. Of no object it is the first of all, since something has to be read.
func span(objects []object) (first, last int) {
	if len(objects) == 0 {
		return 0, 0
	}
	return objects[0].place, objects[len(objects)-1].place
}

// Tune takes over how far away the actors may be. GL thread.
func (d *detector) Tune(fresh sensors.Sensor) error {
	d.reach = fresh.(*detector).reach
	return nil
}

// memory returns an empty list, used again if there is one.
func (d *detector) memory() []object {
	select {
	case list := <-d.spare:
		return list[:0]
	default:
		return nil
	}
}

// count fills a target with the tallies of an instant.
func (d *detector) count(c *gpu.Ctx, at sensors.Tick, target *gpu.Buffer) error {
	used := max(len(d.survey.targets.list)+d.survey.slots, 1)
	if err := c.WriteBuffer(target, 0, gpu.BytesOf(d.blank[:used])); err != nil {
		return err
	}
	if d.picture != nil {
		if err := d.picture.seat(c, &d.survey); err != nil {
			return err
		}
		if err := d.picture.tally(c, at, target); err != nil {
			return err
		}
	}
	return d.caster.cast(c, d, at, target)
}

// publish sends the boxes of one capture; it runs in Process.
func (d *detector) publish(f *finding, tallies readback.Lease[tally]) {
	d.report.publish(f, tallies.Slice())
	select {
	case d.spare <- f.Data:
	default:
	}
}

// End releases everything; captures under way are lost. Again it does nothing.
func (d *detector) End() error {
	err := d.Close()
	if d.picture != nil {
		d.picture.close()
	}
	d.caster.close()
	return err
}

// twistIn returns a state's velocities over ground along the axes of a sensor.
func twistIn(sensor spatial.Pose, s *scene.State) spatial.Twist {
	toBody := sensor.Orientation.Conjugate()
	return spatial.Twist{Linear: toBody.Rotate(s.Twist.Linear), Angular: toBody.Rotate(s.Twist.Angular)}
}
