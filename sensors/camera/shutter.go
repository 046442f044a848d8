package camera

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ShutterOptions are the options that say when the lines of a picture are exposed. Attributes of
// this group that belong to a rolling shutter count for nothing with a global one.
type ShutterOptions struct {
	Shutter      string   `attribute:"shutter" default:"global" enum:"global,rolling" doc:"global: the picture shows the instant at which it is due. rolling: it is read line by line, each seen at a time of its own, and the last line's exposure ends when it is due"`
	LineTime     *float64 `attribute:"line_time" unit:"s" default:"2e-05" max:"1" usual:"0 0.0001" doc:"of a rolling shutter: time from the exposure of one line to that of the next"`
	Readout      string   `attribute:"readout" default:"top_down" enum:"top_down,bottom_up,left_right,right_left" doc:"of a rolling shutter: the order in which the lines are read, rows or columns"`
	ExposureTime *float64 `attribute:"exposure_time" unit:"s" default:"0.005" min:"1e-6" max:"100" usual:"0.0001 0.05" doc:"how long a line is exposed: 1 / shutter_speed where a camera has that, and one of the two is enough. A line is seen in the middle of its exposure, or with motion_blur throughout"`
	Stamp        string   `attribute:"stamp" default:"first_row_mid" enum:"first_row_start,first_row_mid,mid_row_mid" doc:"of a rolling shutter: the time that a message's stamp and pose are of. first_row_start is when the exposure of the line that is read first begins, first_row_mid its middle, mid_row_mid the middle of the exposure of the middle line"`
}

// Shutter says when the pixels of a picture are exposed. The zero value is that of pictures of
// one instant. It is a plain value that never changes.
type Shutter struct {
	exposure
	before simtime.Stamp // how long before it is due a picture's stamp is
}

// exposure is what cameras that see the same have in common of their shutters.
type exposure struct {
	readout  string // of a rolling shutter, else ""
	lines    int
	lineTime float64 // seconds
	time     float64 // seconds that a line is exposed
	blurred  bool    // the points of a pixel are spread over it
}

// Resolve makes the shutter of a sensor that sees through a lens. It fails for pictures that are
// under way for longer than the sensor's period. Errors wrap sensors.ErrValue.
func (v *ShutterOptions) Resolve(spec *sensors.Spec, l Lens) (Shutter, error) {
	seconds, err := v.exposureTime(spec)
	if err != nil || v.Shutter != shutterRolling {
		return Shutter{}, err
	}
	s := Shutter{exposure: exposure{readout: v.Readout, lines: l.Height, lineTime: *v.LineTime, time: seconds}}
	if s.across() {
		s.lines = l.Width
	}
	stamped := 0.0 // after the first line's exposure began
	switch v.Stamp {
	case stampFirstRowMid:
		stamped = s.time / 2
	case stampMidRowMid:
		stamped = s.lineTime*float64(s.lines-1)/2 + s.time/2
	}
	s.before = s.length() - nanoseconds(stamped)
	return s, s.fits(spec)
}

// exposureTime returns how long a line is exposed.
func (v *ShutterOptions) exposureTime(spec *sensors.Spec) (seconds float64, err error) {
	seconds = *v.ExposureTime
	given := spec.Settings != nil && spec.Settings.IsSet("exposure_time")
	if spec.Settings != nil && spec.Settings.IsSet("shutter_speed") {
		speed := spec.Settings.Value("shutter_speed").(float64)
		if given && math.Abs(seconds*speed-1) > 1e-6 {
			return 0, fmt.Errorf("%w: exposure_time is %v s and shutter_speed %v /s, and one is to be 1 over the other: leave one of them out",
				sensors.ErrValue, seconds, speed)
		}
		seconds = 1 / speed
	}
	if given {
		return *v.ExposureTime, exposure{lines: 1, time: *v.ExposureTime}.fits(spec)
	}
	return seconds, nil
}

// fits refuses pictures that take longer than the period.
func (e exposure) fits(spec *sensors.Spec) error {
	if spec.Rate.IsZero() {
		return nil
	}
	period := spec.Rate.Period()
	text := func(seconds float64) string { return fault.Number(seconds, 4) }
	if nanoseconds(e.time) > simtime.Stamp(period) {
		return fmt.Errorf("%w: an exposure of %s s is longer than the period, %s s: shorten exposure_time (1 / shutter_speed), or lower the rate",
			sensors.ErrValue, text(e.time), text(period.Seconds()))
	}
	if e.length() > simtime.Stamp(period) {
		return fmt.Errorf("%w: a line_time of %s s makes a picture of %d lines, exposed for %s s each, last %s s, longer than the period, %s s: shorten line_time or exposure_time, or lower the rate",
			sensors.ErrValue, text(e.lineTime), e.lines, text(e.time), text(float64(e.length())*1e-9), text(period.Seconds()))
	}
	return nil
}

// blur spreads the points of a pixel over the exposure of its line.
func (s *Shutter) blur(seconds float64) {
	if s.exposure == (exposure{}) {
		s.lines, s.time = 1, seconds
	}
	s.blurred = true
}

// Stamp returns the time that the stamp and the pose of a picture are of which is due at an instant.
func (s Shutter) Stamp(due simtime.Stamp) simtime.Stamp { return max(due-s.before, 0) }

// Middle returns the middle of the time that a picture takes which is due at an instant.
func (e exposure) Middle(due simtime.Stamp) simtime.Stamp { return max(due-e.length()/2, 0) }

// timed tells whether pixels have times of their own.
func (e exposure) timed() bool { return e != exposure{} }

// length is the time from the beginning of the first line's exposure to the end of the last one's.
func (e exposure) length() simtime.Stamp {
	return nanoseconds(e.lineTime*float64(max(e.lines-1, 0)) + e.time)
}

func nanoseconds(seconds float64) simtime.Stamp { return simtime.Stamp(math.Round(seconds * 1e9)) }

// across tells whether the lines are columns.
func (e exposure) across() bool {
	return e.readout == readoutLeftRight || e.readout == readoutRightLeft
}

// window returns the time of a picture and who sees it.
func (k *viewKey) window(due simtime.Stamp) scene.Window {
	return scene.Window{
		Parent: k.owner, Mount: k.mount.Compose(spatial.OpticalInBody()), StartNs: due - k.shutter.length(), EndNs: due,
	}
}

// shutterBlock is lib/shutter.glsl's uniform block (std140).
type shutterBlock struct {
	lines  [4]float32
	points [4][4]float32
}

// block returns when each of the grid x grid points of the pixels is seen.
func (e exposure) block(grid int) shutterBlock {
	b := shutterBlock{lines: [4]float32{3: float32(grid)}}
	axis, step := 1, e.lineTime
	if e.across() {
		axis = 0
	}
	if e.readout == readoutBottomUp || e.readout == readoutRightLeft {
		b.lines[2], step = float32(e.lineTime*float64(e.lines-1)), -step
	}
	b.lines[axis] = float32(step)
	for k := range grid * grid {
		share := 0.5
		if e.blurred {
			share = (float64(blurOrder[grid][k]) + 0.5) / float64(grid*grid)
		}
		b.points[k/4][k%4] = float32(e.time * share)
	}
	return b
}

// blurOrder is the order in time of a pixel's points, row by row. Every column has the same mean
// time, and of 9 and 16 points, which are magic squares, every row too: so the time of a point
// says nothing of its place, and a thing that moves has no edge that slants.
var blurOrder = [5][]int{
	1: {0},
	2: {0, 2, 3, 1},
	3: {1, 6, 5, 8, 4, 0, 3, 2, 7},
	4: {15, 2, 1, 12, 4, 9, 10, 7, 8, 5, 6, 11, 3, 14, 13, 0},
}

// openShutter makes lib/shutter.glsl's block, where pixels have times of their own.
func (v *view) openShutter(c *gpu.Ctx) (err error) {
	if !v.key.shutter.timed() {
		return nil
	}
	block := gpu.BytesOf([]shutterBlock{v.key.shutter.block(v.key.grid)})
	v.shutter, err = c.NewBuffer(gpu.BufferDesc{Label: "camera shutter", Size: len(block), Data: block})
	return err
}

// shutterBindings appends what a program reads that is compiled with ROLLING.
func (v *view) shutterBindings(bind []gpu.Binding) []gpu.Binding {
	if v.shutter == nil {
		return bind
	}
	return append(bind, v.tracing.motion.Binding(), gpu.Binding{Kind: gpu.BindUniform, Slot: shaders.SlotShutter, Buffer: v.shutter})
}

// middle returns the firing of the instant that a view's frames and the sun's maps are of: its own, or the
// middle of the picture.
func (v *view) middle(at sensors.Tick) sensors.Tick {
	if v.key.shutter.timed() {
		at.Due = v.key.shutter.Middle(at.Due)
	}
	return at
}

// show brings what moves in a picture's time into the scene's tables. GL thread.
func (v *view) show(c *gpu.Ctx, at sensors.Tick) error {
	if !v.key.shutter.timed() {
		return nil
	}
	return v.tracing.motion.Write(c, v.key.window(at.Due))
}

// sample returns what messages say of the shutter.
func (s Shutter) sample() sample.Shutter {
	if s.readout == "" {
		return sample.Shutter{}
	}
	return sample.Shutter{
		Readout: s.readout, LineTime: s.lineTime, ExposureTime: s.time,
		FirstNs: int64(s.before - s.length()),
	}
}

// Values of the shutter's attributes.
const (
	shutterRolling   = "rolling"
	readoutBottomUp  = "bottom_up"
	readoutLeftRight = "left_right"
	readoutRightLeft = "right_left"
	stampFirstRowMid = "first_row_mid"
	stampMidRowMid   = "mid_row_mid"
)
