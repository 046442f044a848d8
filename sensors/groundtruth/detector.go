package groundtruth

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Captures in flight: the pool's slots bound them (law R4), and two targets are
// enough to write one while the other waits to be copied.
const (
	slots        = 4
	tallyBuffers = 2
)

// report makes the messages of one kind of boxes. It belongs to Process.
type report interface {
	open(*sensors.Env) error
	// publish sends the boxes of the objects that are seen, by their tallies.
	publish(f *finding, tallies []tally)
}

// finding travels with a capture (law R3).
type finding struct {
	at      sensors.Tick
	header  sample.Header
	objects []object
}

// detector is either sensor. Its fields are set before Begin ends, and then belong to
// the GL thread where nothing else is said.
type detector struct {
	spec        sensors.Spec
	env         *sensors.Env
	reach, near float64  // metres
	picture     *picture // nil for boxes in space
	report      report

	survey survey
	caster caster
	blank  []tally
	ring   [tallyBuffers]*gpu.Buffer
	next   int
	pool   *readback.Pool[finding, tally]
	// spare has the memory of findings that were published.
	spare chan []object
	ended bool // guarded by the pipeline's order of calls
}

var _ sensors.Capturer = (*detector)(nil)

// Begin finds the targets and makes the GPU objects.
func (d *detector) Begin(ctx context.Context, env *sensors.Env) (err error) {
	d.env, d.spare = env, make(chan []object, slots+1)
	if env.GL == nil {
		return fmt.Errorf("begin %s: %w", d.spec.Name, &gpu.UnsupportedError{Feature: "OpenGL", Need: "a pipeline with a GL thread"})
	}
	if err := d.report.open(env); err != nil {
		return err
	}
	d.survey.env, d.survey.packer = env, scene.NewPacker(env.World, env.History)
	if d.survey.targets, err = targetsOf(env); err != nil {
		return err
	}
	d.blank = make([]tally, max(len(d.survey.targets.list), 1))
	for i := range d.blank {
		d.blank[i] = noPixel
	}
	d.pool, err = readback.New(readback.Config{
		Label: d.spec.Name, Slots: slots, MaxElements: len(d.blank), Notify: env.Completed,
	}, d.complete)
	if err != nil {
		return err
	}
	if p := d.picture; p != nil {
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
	if err := d.caster.open(c, d.spec.Name, d.survey.packer); err != nil {
		return err
	}
	for i := range d.ring {
		d.ring[i], err = c.NewBuffer(gpu.BufferDesc{Label: d.spec.Name + " tallies", Size: len(d.blank) * tallyBytes})
		if err != nil {
			return err
		}
	}
	return d.pool.Prepare(c)
}

// Tick does nothing: the capture needs no announcement.
func (d *detector) Tick(sensors.Tick) error { return nil }

// Capture counts what is seen at the due instant, if the owner is there then. GL
// thread.
func (d *detector) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	if !d.env.History.Present(d.env.Owner, at.TimeNs) {
		return false, nil
	}
	target := d.ring[d.next]
	err = d.pool.Begin(c)
	if errors.Is(err, readback.ErrFull) || (err == nil && d.pool.Holds(target)) {
		d.env.Dropped(flow.CauseReadbackFull, 1)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d.next = (d.next + 1) % tallyBuffers
	pose := d.env.Pose(d.spec.Mount, at.TimeNs)
	f := finding{at: at, header: at.Header(d.spec.FrameID, pose), objects: d.survey.look(d.memory(), pose, at.TimeNs, d)}
	if err := d.count(c, at, target); err != nil {
		return false, fmt.Errorf("%s: %w", d.spec.Name, err)
	}
	capture, err := d.pool.Start(c, readback.Buffer(target), at.TimeNs)
	if err != nil {
		return false, err
	}
	capture.Data = f
	return true, nil
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
	if err := c.WriteBuffer(target, 0, gpu.BytesOf(d.blank)); err != nil {
		return err
	}
	if d.picture != nil {
		if err := d.picture.tally(c, at, target); err != nil {
			return err
		}
	}
	return d.caster.cast(c, d, at, target)
}

// complete publishes one capture; it runs in Process.
func (d *detector) complete(k *readback.Capture[finding, tally], lease readback.Lease[tally], err error) {
	defer lease.Release()
	switch {
	case errors.Is(err, readback.ErrClosed):
		d.env.Dropped(flow.CauseClosed, 1)
	case err != nil:
		d.env.Dropped(flow.CauseReadbackFailed, 1)
		d.env.Log.Warn("ground truth: capture lost", "sensor", d.spec.Name, "err", err)
	default:
		d.report.publish(&k.Data, lease.Slice())
	}
	select {
	case d.spare <- k.Data.objects:
	default:
	}
}

// Poll moves finished readbacks on. GL thread.
func (d *detector) Poll(c *gpu.Ctx) { d.pool.Poll(c) }

// Process publishes finished captures up to the instant through.
func (d *detector) Process(through int64) int { return d.pool.ProcessThrough(through) }

// Pending returns how many captures are under way.
func (d *detector) Pending() int { return d.pool.Pending() }

// ReadbackStats returns how the counts came back.
func (d *detector) ReadbackStats() readback.Stats { return d.pool.Stats() }

// End releases everything; captures under way are lost. Again it does nothing.
func (d *detector) End() error {
	if d.ended || d.pool == nil {
		return nil
	}
	d.ended = true
	err := d.pool.Close()
	if d.picture != nil {
		d.picture.close()
	}
	d.caster.close()
	for _, b := range d.ring {
		if b != nil {
			b.Close()
		}
	}
	return err
}

// twistIn returns a state's velocities over ground along the axes of a sensor.
func twistIn(sensor spatial.Pose, s *scene.State) spatial.Twist {
	toBody := sensor.Orientation.Conjugate()
	return spatial.Twist{Linear: toBody.Rotate(s.Twist.Linear), Angular: toBody.Rotate(s.Twist.Angular)}
}
