package camera

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// capture is a picture on its way back.
type capture = sensors.Capture[thresholds]

// camera is one camera sensor.
type camera struct {
	sensors.Ring[thresholds, uint32]
	spec    sensors.Spec
	options setup
	frameID string
	off     float64 // pixels that CameraInfo is from the picture at most, 0 for none

	env        *sensors.Env
	renderer   *renderer
	view       *view
	image      *sensors.Output[*sample.Image]
	compressed *sensors.Output[*sample.CompressedImage] // nil where there is none
	info       *sensors.Output[*sample.CameraInfo]
	encoder    *encoder     // nil where nothing is compressed
	events     *eventCamera // of a DVS camera, nil for others

	// Owned by Process: messages that are used again, since outputs copy what
	// they keep. Of the calibration the header alone changes.
	picture     sample.Image
	calibration sample.CameraInfo
	// compressing counts the captures that this Process handed to the encoder.
	compressing int

	unseen   unseen       // captures without a picture
	encoding atomic.Int64 // captures handed to the encoder and not yet published
	ended    bool
}

var _ sensors.Capturer = (*camera)(nil)

// Tune takes over the exposure and the noise of events. GL thread.
func (s *camera) Tune(fresh sensors.Sensor) error {
	o := &fresh.(interface{ self() *camera }).self().options
	s.options.gain, s.options.thresholds = o.gain, o.thresholds
	return nil
}

// self is the camera in a sensor that has more.
func (s *camera) self() *camera { return s }

// Begin opens the outputs and makes the camera's place on the GPU.
func (s *camera) Begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	if err := s.Open(&s.spec, env, s.publish); err != nil {
		return err
	}
	if err := s.openOutputs(); err != nil {
		return err
	}
	if s.renderer, err = rendererOf(ctx, env); err != nil {
		return err
	}
	rays := s.renderer.rays.table(s.options.lens) // here, where nothing waits for it
	defer s.renderer.rays.release(s.options.lens, rays)
	if err := env.GL.Do(ctx, s.open); err != nil {
		return errors.Join(fmt.Errorf("begin camera %s: %w", s.spec.Name, err), s.release())
	}
	if s.options.compressed != "" {
		s.encoder = startEncoder(s)
	}
	s.say()
	return nil
}

// say tells what there is to know of the lens.
func (s *camera) say() {
	log := s.env.Log.With("camera", s.spec.Name)
	if s.calibration.K[0] == 0 {
		log.Warn("camera: CameraInfo says uncalibrated, since no model of OpenCV's draws this lens within half a pixel: docs/lenses.md has its formula")
	}
	l := &s.options.lens
	if s.off > 0 && l.constant() == lensTable {
		log.Info("camera: CameraInfo has the model of OpenCV's that is nearest to the lens", "model", s.calibration.DistortionModel, "pixels off", fault.Number(s.off, 2))
	}
	if l.distortion == nil {
		return
	}
	if end := l.Span().End; end > 0 {
		log.Warn("camera: the lens ends within the picture, where it turns back or sees nothing: pixels beyond are black", "degrees from the axis", fault.Number(end, 4))
	}
}

// LensSummary is Lens.Summary of a camera that isn't a plain pinhole, else "".
func (s *camera) LensSummary() string {
	if s.options.lens.distortion == nil && !s.options.measured {
		return ""
	}
	return s.options.lens.Summary()
}

// Derived tells what a calibration file says.
func (s *camera) Derived() map[string]any {
	if !s.options.measured {
		return nil
	}
	return s.options.lens.Attributes()
}

// Attributes are the lens as attributes of a camera say it: size, field of view, focal lengths and principal point, by name.
func (l *Lens) Attributes() map[string]any {
	return map[string]any{
		"image_size_x": int64(l.Width), "image_size_y": int64(l.Height), "fov": l.pinholeFov(),
		"fx": l.Fx, "fy": l.Fy, "cx": l.Cx, "cy": l.Cy, "skew": l.Skew,
	}
}

func (s *camera) openOutputs() (err error) {
	if s.events != nil {
		err = s.events.open(s.env)
	} else {
		s.image, err = sensors.OutputOf[*sample.Image](s.env, OutputImage)
	}
	if err != nil {
		return err
	}
	if s.options.compressed != "" {
		if s.compressed, err = sensors.OutputOf[*sample.CompressedImage](s.env, OutputCompressed); err != nil {
			return err
		}
	}
	s.info, err = sensors.OutputOf[*sample.CameraInfo](s.env, OutputInfo)
	return err
}

// open makes the view and the targets. GL thread.
func (s *camera) open(c *gpu.Ctx) (err error) {
	o := &s.options
	s.view, err = s.renderer.view(c, viewKey{s.env.Owner, s.spec.Mount, o.lens, o.grid, o.near, o.far, o.shutter.exposure})
	o.traced = o.traced && s.renderer.sun.shines
	if err == nil && o.traced {
		err = s.view.openSunlit(c, s.renderer)
	}
	if err != nil {
		return err
	}
	return s.Make(c, o.step()*o.lens.Height/4)
}

// wanted reports whether somebody listens to the pictures.
func (s *camera) wanted() bool {
	if s.events != nil {
		return s.events.out.Listening()
	}
	return (s.options.raw && s.image.Listening()) || (s.compressed != nil && s.compressed.Listening())
}

// Tick announces the capture, so that all cameras of one view are drawn
// together; where only the calibration is listened to, nothing is.
func (s *camera) Tick(at sensors.Tick) error {
	if s.wanted() {
		s.view.announce(s, at)
	} else {
		s.unseen.expect(at.Due)
	}
	return nil
}

// Capture has the view draw everything announced for the instant, if no camera
// before it has, and starts reading the picture back. GL thread.
func (s *camera) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	target, err := s.view.capture(c, s.renderer, s, at)
	k := capture{At: at, Header: s.header(at), Data: s.options.thresholds}
	if err == nil && target == nil { // no target is free, or it is unseen: Tick expected this one
		return s.unseen.add(k), nil
	}
	if err == nil {
		issued, err = s.Start(c, k)
	}
	if err != nil {
		return false, fmt.Errorf("camera %s: %w", s.spec.Name, err)
	}
	return issued, nil
}

// header returns that of a picture's messages.
func (s *camera) header(at sensors.Tick) sample.Header {
	stamp := s.options.shutter.Stamp(at.Due)
	h := at.Header(s.frameID, s.env.Pose(s.spec.Mount, stamp))
	h.Stamp = stamp
	return h
}

// Publishes reports which outputs the settings leave: the others need no topic.
func (s *camera) Publishes(output string) bool {
	switch output {
	case OutputImage:
		return s.options.raw
	case OutputCompressed:
		return s.options.compressed != ""
	default:
		return true
	}
}

// FieldOfView is the picture's, of a pinhole with the lens's focal length.
func (s *camera) FieldOfView() sensors.FieldOfView { return s.options.lens.FieldOfView() }

// Frames returns the optical frame, in the sensor's body frame (REP-103).
func (s *camera) Frames() []sample.Transform {
	return []sample.Transform{{
		Header: sample.Header{FrameID: s.spec.BodyFrame()}, ChildFrameID: s.frameID, Relative: spatial.OpticalInBody(),
	}}
}

// Process publishes finished captures up to the instant through. A capture with
// a compressed picture counts when that is published.
func (s *camera) Process(through simtime.Stamp) int {
	n := 0
	for k, ok := s.unseen.take(through); ok; k, ok = s.unseen.take(through) {
		s.publishInfo(&k)
		n++
	}
	s.compressing = 0
	n += s.Ring.Process(through)
	n -= s.compressing
	if s.encoder != nil {
		n += s.encoder.publish(through)
	}
	return n
}

// Pending returns how many captures are under way.
func (s *camera) Pending() int {
	return s.Ring.Pending() + int(s.encoding.Load()) + s.unseen.pending()
}

// End stops the camera; captures under way are lost. Again it does nothing.
func (s *camera) End() error {
	if s.ended || s.view == nil {
		return nil
	}
	s.ended = true
	s.view.forget(s)
	err := s.Close()
	if s.encoder != nil {
		s.encoder.close()
	}
	return errors.Join(err, s.release())
}

// release gives the GPU objects back.
func (s *camera) release() error {
	if s.view != nil {
		s.renderer.leave(s.view)
	}
	return s.Close()
}

// publish sends one capture; it runs in Process.
func (s *camera) publish(k *capture, lease readback.Lease[uint32]) {
	s.publishInfo(k)
	if s.events != nil {
		if err := s.events.publish(k, lease.Slice()); err != nil {
			s.notConverted(k.At, err)
		}
	} else if s.options.raw && s.image.Listening() {
		o := &s.options
		s.picture = sample.Image{
			Header: k.Header, Width: o.lens.Width, Height: o.lens.Height,
			Step: o.step(), Encoding: o.form.encoding, FovDeg: o.lens.pinholeFov(), Shutter: o.shutter.sample(), Data: gpu.BytesOf(lease.Slice()),
		}
		s.image.TryQueue(k.At, &s.picture)
		s.picture.Data = nil // the lease ends
	}
	if s.encoder == nil || !s.compressed.Listening() {
		return
	}
	if kept, ok := lease.Retain(); ok {
		s.compressing++
		s.encoder.start(job{at: k.At, header: k.Header, lease: kept})
	}
}

// notConverted counts a picture that was seen, but can't be published as asked.
func (s *camera) notConverted(at sensors.Tick, err error) {
	s.env.Dropped(at, flow.CauseConvertFailed)
	s.env.Log.Warn("camera: picture not converted", "camera", s.spec.Name, "err", err)
}

func (s *camera) publishInfo(k *capture) {
	if !s.info.Listening() {
		return
	}
	s.calibration.Header = k.Header
	s.info.TryQueue(k.At, &s.calibration)
}

// unseen are captures of which only the calibration is listened to: nothing is
// drawn, but they are published in their turn, by Process. Its methods may be called
// from any goroutine.
type unseen struct {
	mu       sync.Mutex
	expected []simtime.Stamp // guarded by mu: instants of captures that Tick announced
	ready    []capture       // guarded by mu, oldest first
}

// expect says that the capture of an instant will have no picture.
func (u *unseen) expect(stamp simtime.Stamp) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.expected) == maxAnnounced {
		u.expected = slices.Delete(u.expected, 0, 1)
	}
	u.expected = append(u.expected, stamp)
}

// add keeps a capture for Process, if it was expected; earlier ones are not any more.
func (u *unseen) add(k capture) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	expected := slices.Contains(u.expected, k.At.Due)
	u.expected = slices.DeleteFunc(u.expected, func(t simtime.Stamp) bool { return t <= k.At.Due })
	if expected {
		u.ready = append(u.ready, k)
	}
	return expected
}

// take returns the oldest capture, if it is not later than an instant.
func (u *unseen) take(through simtime.Stamp) (capture, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ready) == 0 || u.ready[0].At.Due > through {
		return capture{}, false
	}
	k := u.ready[0]
	u.ready = append(u.ready[:0], u.ready[1:]...)
	return k, true
}

func (u *unseen) pending() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ready)
}
