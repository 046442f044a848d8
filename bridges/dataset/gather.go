package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Bounds of what waits for the rest of its key frame.
const (
	mostWaiting = 32      // key frames
	mostBytes   = 1 << 30 // of their samples
)

// recording is one connection's work on a set. The instance's lock guards it.
type recording struct {
	instance    *instance
	set         *Set
	all         any
	options     *Options
	keys        simtime.Rate
	rules       Categories
	assignments *Map
	head        Head
	writer      Writer
	sweeps      SweepWriter // nil for a format without
	journal     *bridges.File

	// The rig as it is now.
	changed   bool // since sensors was worked out
	sensors   []*Sensor
	reference *Sensor    // whose samples the key frames lie at
	required  [][]*input // by sensor
	snapshots *input
	out       []string // the sensors without a channel
	told      string   // what was logged of the rig

	scene   *Scene // of the next key frame
	written *Scene // whose row is in the journal
	number  int    // of the next key frame of written
	numbers map[string]int
	scenes  int // in the set
	frames  int // in the set

	began   bool          // a snapshot has come since time began
	since   simtime.Stamp // its stamp: no key frame is earlier
	done    simtime.Stamp // of the last key frame that was begun
	state   *sample.Snapshot
	waiting []*gathering // by rising stamp
	bytes   int64        // that they hold
	unknown map[string]bool
	losses  flow.Journal
	pool    pool
}

// gathering is a key frame that waits for samples.
type gathering struct {
	at       simtime.Stamp
	scene    *Scene
	required [][]*input
	inputs   *input // of snapshots
	parts    []part // by sensor
	state    *sample.Snapshot
	sweeps   [][]*sweepSlot // by sensor
	bytes    int64
	messages []held
}

// held is a message that a key frame holds, which is lost with it.
type held struct {
	in    *input
	bytes int64
}

// part is what a key frame has of one sensor.
type part struct {
	image, instances, semantics *sample.Image
	info                        *sample.CameraInfo
	boxes                       *sample.Detections2D
	cloud                       *sample.PointCloud
	radar                       *sample.Radar
}

// header returns that of the part's sample of a role, nil where there is none.
func (p *part) header(r role) *sample.Header {
	switch {
	case r == roleImage && p.image != nil:
		return &p.image.Header
	case r == roleInfo && p.info != nil:
		return &p.info.Header
	case r == roleInstances && p.instances != nil:
		return &p.instances.Header
	case r == roleSemantics && p.semantics != nil:
		return &p.semantics.Header
	case r == roleBoxes && p.boxes != nil:
		return &p.boxes.Header
	case r == roleCloud && p.cloud != nil:
		return &p.cloud.Header
	case r == roleRadar && p.radar != nil:
		return &p.radar.Header
	}
	return nil
}

// sweepSlot is a sweep that a job writes.
type sweepSlot struct {
	set *Set
	row any
}

// take takes a message. Its error ends the recording.
func (r *recording) take(in *input, m message) error {
	h := m.SampleHeader()
	if in.seen && h.Stamp < in.last {
		r.restart()
	}
	if r.changed {
		r.turn(h.Stamp)
	}
	in.seen, in.last = true, h.Stamp
	var bytes int64
	switch {
	case !in.used:
	case in.role == roleSnapshot:
		r.snapshot(in, m.(*sample.Snapshot))
	default:
		bytes = r.sample(in, m, h)
	}
	in.topic.Sent(int(bytes))
	return r.advance()
}

// restart ends the scene, because time has gone back: the key frames that wait can't become complete.
func (r *recording) restart() {
	r.drop()
	for _, in := range r.instance.inputs {
		in.seen = false
	}
	r.scene, r.began, r.since, r.state, r.done = nil, false, 0, nil, 0
}

// drop forgets the key frames that wait.
func (r *recording) drop() {
	for _, g := range r.waiting {
		r.release(g)
	}
	r.waiting = nil
}

// turn takes the rig as it is from now on, and begins another scene.
func (r *recording) turn(now simtime.Stamp) {
	r.changed, r.scene = false, nil
	sensors, err := r.rig(r.instance.inputs)
	if err != nil {
		r.set.Log.Warn("the data set waits for sensors", "set", r.set.Dir, "error", err)
	}
	sensors = slices.DeleteFunc(sensors, func(s *Sensor) bool { return r.incomplete(s, r.instance.inputs) != "" })
	r.sensors, r.required, r.reference, r.snapshots = sensors, make([][]*input, len(sensors)), nil, nil
	for i, s := range sensors {
		for _, in := range r.instance.inputs {
			if in.role != roleNone && in.role != roleSnapshot && in.of == s.Name {
				r.required[i] = append(r.required[i], in)
			}
		}
		if r.reference == nil || s.Modality == Lidar && r.reference.Modality != Lidar {
			r.reference = s
		}
		if r.began { // its first sample is a period away
			r.since = max(r.since, now+simtime.Stamp(2*s.Rate.Period()))
		}
	}
	for _, in := range r.instance.inputs {
		if in.role == roleSnapshot {
			r.snapshots = in
		}
	}
	use(r.instance.inputs, sensors)
	r.tell()
}

// use tells inputs whether they are of a rig's sensors: nothing is computed for the others.
func use(inputs []*input, rig []*Sensor) {
	for _, in := range inputs {
		in.used = in.role == roleSnapshot || in.role != roleNone && slices.ContainsFunc(rig, func(s *Sensor) bool { return s.Name == in.of })
	}
}

// tell logs what is left out of the run.
func (r *recording) tell() {
	if text := strings.Join(r.out, " "); text != "" && text != r.told {
		r.told = text
		r.set.Log.Info("the data set leaves some sensors out", "set", r.set.Dir, "sensors", text)
	}
}

// instant returns key frame n's stamp: the reference's that is nearest to n periods of key frames.
func (r *recording) instant(n int64) simtime.Stamp {
	t, rate := r.keys.At(n), r.reference.Rate
	k := rate.IndexAt(t)
	before, after := rate.At(k), rate.At(k+1)
	if t-before <= after-t {
		return before
	}
	return after
}

// frame returns the key frame at an instant, nil for one that isn't to be: it is past, or before the set's beginning.
func (r *recording) frame(at simtime.Stamp) *gathering {
	for _, g := range r.waiting {
		if g.at == at {
			return g
		}
	}
	if !r.began || at < r.since || at <= r.done && r.done != 0 {
		return nil
	}
	if r.scene == nil || at-r.scene.Start >= simtime.Stamp(r.options.Scene) {
		id := r.instance.Env.Run.ID
		r.scene = &Scene{Run: id, Number: r.numbers[id], Index: r.scenes, Start: at, Sensors: r.sensors}
		r.numbers[id]++
		r.scenes++
	}
	g := &gathering{at: at, scene: r.scene, required: r.required, inputs: r.snapshots, parts: make([]part, len(r.sensors)), sweeps: make([][]*sweepSlot, len(r.sensors))}
	r.waiting, r.done = append(r.waiting, g), at
	return g
}

// snapshot takes the world's state at an instant. Key frames between two have what lies between.
func (r *recording) snapshot(in *input, m *sample.Snapshot) {
	if !r.began {
		r.began, r.since = true, max(r.since, m.Stamp, 1)
	}
	if r.reference == nil {
		return
	}
	for n := r.keys.IndexAt(m.Stamp) - 1; ; n++ {
		at := r.instant(n)
		if at > m.Stamp {
			break
		}
		if n < 1 || r.state == nil && at != m.Stamp || r.state != nil && at <= r.state.Stamp {
			continue
		}
		if g := r.frame(at); g != nil && g.state == nil {
			g.state = new(sample.Snapshot)
			sample.Copy(g.state, m)
			if at != m.Stamp {
				between(g.state, r.state, at)
			}
		}
	}
	if r.state == nil {
		r.state = new(sample.Snapshot)
	}
	sample.Copy(r.state, m)
}

// between takes a state back to an instant between an earlier one and itself. Actors that came since stay where they are.
func between(s, before *sample.Snapshot, at simtime.Stamp) {
	t := float64(at-before.Stamp) / float64(s.Stamp-before.Stamp)
	known := map[uint32]*sample.ActorState{}
	for i := range before.Actors {
		known[before.Actors[i].ID] = &before.Actors[i]
	}
	for i := range s.Actors {
		if a := known[s.Actors[i].ID]; a != nil {
			s.Actors[i].Pose = spatial.Interpolate(a.Pose, s.Actors[i].Pose, t)
		}
	}
	s.Stamp = at
}

// sample takes a sensor's message, and returns how many bytes of it were kept.
func (r *recording) sample(in *input, m message, h *sample.Header) int64 {
	place := slices.IndexFunc(r.sensors, func(s *Sensor) bool { return s.Name == in.of })
	if place < 0 || r.reference == nil {
		return 0
	}
	period := simtime.Stamp(r.sensors[place].Rate.Period())
	half := period/2 + 1
	n := max(r.keys.IndexAt(h.Stamp)-1, 1)
	for ; ; n++ {
		at := r.instant(n)
		if at-half > h.Stamp {
			break
		}
		if h.Stamp-at > half {
			continue
		}
		g := r.frame(at)
		if g == nil || place >= len(g.parts) || g.scene.Sensors[place] != r.sensors[place] || g.parts[place].header(in.role) != nil {
			continue
		}
		bytes := r.keep(&g.parts[place], m, in.role)
		g.bytes += bytes
		r.bytes += bytes
		g.messages = append(g.messages, held{in, bytes})
		return bytes
	}
	if r.sweeps == nil || in.role != roleImage && in.role != roleCloud && in.role != roleRadar {
		return 0
	}
	at := r.instant(n)
	for at <= h.Stamp { // the key frame behind it
		n++
		at = r.instant(n)
	}
	if g := r.frame(at); g != nil && g.scene.Sensors[place] == r.sensors[place] {
		r.sweep(g, place, m)
	}
	return 0
}

// keep copies a sample into a part, and returns its size.
func (r *recording) keep(p *part, m message, as role) (bytes int64) {
	switch m := m.(type) {
	case *sample.Image:
		image := r.pool.image(m)
		switch as {
		case roleImage:
			p.image = image
		case roleInstances:
			p.instances = image
		default:
			p.semantics = image
		}
		return m.SizeBytes()
	case *sample.CameraInfo:
		p.info = new(sample.CameraInfo)
		sample.Copy(p.info, m)
	case *sample.Detections2D:
		p.boxes = new(sample.Detections2D)
		sample.Copy(p.boxes, m)
	case *sample.PointCloud:
		p.cloud = r.pool.cloud(m)
		return m.SizeBytes()
	case *sample.Radar:
		p.radar = new(sample.Radar)
		sample.Copy(p.radar, m)
	}
	return 0
}

// sweep has a job write a sample that is part of no key frame.
func (r *recording) sweep(g *gathering, place int, m message) {
	var p part
	sensor := g.scene.Sensors[place]
	h := m.SampleHeader()
	sweep := &Sweep{Capture: capture(sensor, h, r.state), Scene: g.scene, Set: r.set.beside()}
	switch m := m.(type) {
	case *sample.Image:
		r.keep(&p, m, roleImage)
		sweep.Picture = &Picture{Capture: sweep.Capture, Image: p.image}
	case *sample.PointCloud:
		r.keep(&p, m, roleCloud)
		sweep.Cloud = &Cloud{sweep.Capture, p.cloud}
	case *sample.Radar:
		r.keep(&p, m, roleRadar)
		sweep.Radar = &RadarSweep{sweep.Capture, p.radar}
	}
	slot := &sweepSlot{set: sweep.Set}
	g.sweeps[place] = append(g.sweeps[place], slot)
	r.set.Go(func() (err error) {
		defer r.pool.release(&p)
		if slot.row, err = r.sweeps.WriteSweep(sweep); err != nil {
			return fmt.Errorf("%s of %s: %w", sensor.Modality, sensor.Name, err)
		}
		return nil
	})
}

// capture describes a sample, with the world as it was at about that time.
func capture(s *Sensor, h *sample.Header, world *sample.Snapshot) Capture {
	c := Capture{Sensor: s, Stamp: h.Stamp, Ego: h.Pose.Compose(s.Mount.Inverse())}
	if world != nil && len(world.Actors) > 0 && world.Actors[0].ID == 0 {
		c.Twist = world.Actors[0].Twist
	}
	return c
}

// advance writes the key frames that are complete, oldest first.
func (r *recording) advance() error {
	for len(r.waiting) > 0 {
		g := r.waiting[0]
		complete, missing := g.lacks()
		switch over := len(r.waiting) > mostWaiting || r.bytes > mostBytes; {
		case missing != nil:
			r.giveUp(g, flow.CauseConvertFailed, missing)
		case complete:
			if err := r.commit(g); err != nil {
				return err
			}
		case over:
			r.giveUp(g, flow.CauseQueueFull, g.late())
		default:
			return nil
		}
		r.waiting = slices.Delete(r.waiting, 0, 1)
		r.release(g)
	}
	return nil
}

// lacks reports whether a key frame has all samples, or else one that won't come: its topic has brought a later one or is gone.
func (g *gathering) lacks() (complete bool, missing *input) {
	complete = g.state != nil
	for i, required := range g.required {
		for _, in := range required {
			if g.parts[i].header(in.role) != nil {
				continue
			}
			complete = false
			half := simtime.Stamp(g.scene.Sensors[i].Rate.Period())/2 + 1
			if in.gone || in.seen && in.last > g.at+half {
				return false, in
			}
		}
	}
	if g.state == nil && g.inputs != nil && (g.inputs.gone || g.inputs.seen && g.inputs.last > g.at) {
		return false, g.inputs
	}
	return complete, nil
}

// late returns an input that a key frame waits for.
func (g *gathering) late() *input {
	for i, required := range g.required {
		for _, in := range required {
			if g.parts[i].header(in.role) == nil {
				return in
			}
		}
	}
	return g.inputs
}

// giveUp counts a key frame that can't become complete.
func (r *recording) giveUp(g *gathering, cause flow.Cause, missing *input) {
	topic := "/snapshot"
	if missing != nil {
		topic = missing.topic.Name
	}
	if untold, ok := r.losses.Tell(time.Now()); ok {
		r.set.Log.Warn("a key frame is lost: a topic brought nothing for it", "set", r.set.Dir, "time", fault.Seconds(int64(g.at)), "topic", topic, "lost_before", untold)
	}
	for _, m := range g.messages {
		m.in.topic.Lost(1, m.bytes, cause)
	}
}

// release lets a key frame's memory go.
func (r *recording) release(g *gathering) {
	r.bytes -= g.bytes
	for i := range g.parts {
		r.pool.release(&g.parts[i])
	}
}

// flush forgets samples that have no key frame yet, at the recording's end.
func (r *recording) flush() { r.drop() }

// commit writes a key frame and its row.
func (r *recording) commit(g *gathering) error {
	var lines []any
	if r.written != g.scene {
		row, err := r.writer.WriteScene(g.scene)
		if err != nil {
			return err
		}
		data, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		lines = append(lines, Row{Scene: &SceneRow{Run: g.scene.Run, Number: g.scene.Number, Data: data}})
		r.written, r.number = g.scene, 0
	}
	frame := r.assemble(g)
	frame.Number, frame.Index = r.number, r.frames
	row, err := r.writer.WriteFrame(frame)
	files, _, jobs := r.set.settle()
	if err = errors.Join(err, jobs); err != nil {
		return err
	}
	out := &FrameRow{Number: frame.Number, Files: files}
	if out.Data, err = json.Marshal(row); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	for _, slots := range g.sweeps {
		for _, slot := range slots {
			data, err := json.Marshal(slot.row)
			if err != nil {
				return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			out.Sweeps, out.Files = append(out.Sweeps, data), append(out.Files, slot.set.files...)
		}
	}
	slices.Sort(out.Files)
	r.number++
	r.frames++
	return r.write(append(lines, Row{Frame: out})...)
}

// write commits lines of the journal.
func (r *recording) write(lines ...any) error {
	for _, line := range lines {
		data, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		if _, err := r.journal.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return r.journal.Commit()
}
