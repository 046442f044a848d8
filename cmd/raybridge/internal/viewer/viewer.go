// Package viewer is the window of `raybridge run --window`: the cameras, the
// lidars from above and in three dimensions, and a line of live figures.
//
// # Usage
//
// A Viewer is told which sensors there are by Watch, which listens to a
// pipeline, or by AddCamera and AddCloud. Show then runs it in a window until
// its context ends:
//
//	v, err := viewer.New(viewer.Options{Clock: p.Clock(), Quit: cancel})
//	err = v.Watch(p)
//	err = v.Show(ctx, ending, window)
//
// # Concurrency
//
// What Watch, AddCamera and AddCloud listen with may be called from any
// goroutine: it copies the message and never waits. Everything else belongs to
// one goroutine, Show's while it runs.
//
// # Pictures
//
// The window's picture is composed on the CPU, so that Compose and Handle need
// neither OpenGL nor a display. A camera's picture is shown pixel for pixel
// wherever its pane has room for it. The window shows one picture at a time, in an
// OpenGL context of its own: a slow display holds up nothing else.
package viewer

import (
	"context"
	"fmt"
	"image"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/window"
)

// Clock is what the window asks and tells the simulation's clock; *simtime.Clock
// is one.
type Clock interface {
	Now() simtime.Stamp
	Paused() bool
	Pause()
	Resume()
	// Step moves a paused clock on by nanoseconds.
	Step(d int64) error
}

// Options are what a Viewer works with.
type Options struct {
	// Title names the scene, GPU what it is drawn on; both are only shown.
	Title, GPU string
	Clock      Clock
	// Step is how far one step goes; 0 means 10 ms.
	Step time.Duration
	// EgoSpeed returns the vehicle's speed in m/s at a simulation time. (optional)
	EgoSpeed func(nowNs int64) float64
	// Drive steers the vehicle by the keys; nil where something else does.
	Drive func(scene.Command) error
	// SaveDir is where pictures are saved; "" is the working directory.
	SaveDir string
	// Quit is called when the user wants to end. It must not wait for the window.
	Quit func()
}

// Viewer composes the window's picture and follows the user. See the package
// documentation for who may call what.
type Viewer struct {
	options Options
	fonts   typefaces
	panes   []*pane
	sources []source
	meters  []*Meter
	arrived atomic.Bool // something has, since the last Compose

	canvas   *image.RGBA
	selected int
	figures  figures
	coloring coloring
	mouse    mouse
	driver   driver
	help     bool
	full     bool // the window is to fill the screen
	ending   bool
	covered  bool // the last picture had something over the panes
	changed  bool // something else than the panes must be drawn again
	toast    toast
	saving   sync.WaitGroup
	saved    chan string // what became of a saved picture, for a toast
	now      func() time.Time
}

// source takes what has arrived of one sensor.
type source interface{ refresh() bool }

// view draws what a pane shows.
type view interface {
	// natural is the size at which nothing is scaled; zero: any.
	natural() image.Point
	// draw fills dst.
	draw(dst *image.RGBA, fonts *typefaces)
	// caption is a few words for the title bar; cursor is the mouse's place in
	// the window, or outside.
	caption(cursor image.Point) string
}

// movable is a view that the mouse moves.
type movable interface {
	// drag follows the mouse by pixels; move asks to shift rather than turn.
	drag(dx, dy float64, move bool)
	zoom(steps float64)
	reset()
}

// outside is a cursor that is not over a pane.
var outside = image.Pt(-1, -1)

// pane is one framed view.
type pane struct {
	name, topic string
	view        view
	source      source
	cloud       *cloud // nil for a camera's
	bounds      image.Rectangle
	stale       bool
}

// content is the part of a pane inside its border, below its title.
func (p *pane) content() image.Rectangle {
	r := p.bounds.Inset(border)
	r.Min.Y += titleHeight
	if r.Empty() {
		return image.Rectangle{}
	}
	return r
}

// New returns a Viewer without panes. It can only fail for lack of its fonts.
func New(options Options) (*Viewer, error) {
	if options.Step <= 0 {
		options.Step = 10 * time.Millisecond
	}
	v := &Viewer{options: options, saved: make(chan string, 16), now: time.Now, changed: true}
	v.driver.steer = options.Drive
	v.mouse.at = outside
	var err error
	v.fonts, err = newTypefaces(13)
	return v, err
}

// Sensor names a sensor for its pane and its figures.
type Sensor struct {
	Name, Topic string
	// TypeID is its type, which says what a mono8 image means.
	TypeID string
	// RateHz is the rate it should have, 0 where that is not known.
	RateHz float64
	// Mount is where it is in base_link.
	Mount spatial.Pose
	// Drops counts its lost messages by cause; any goroutine. (optional)
	Drops func() flow.Drops
}

// AddCamera adds a camera's pane; the functions take its images and, for a
// camera that publishes no others, compressed images.
func (v *Viewer) AddCamera(s Sensor) (hearImage func(sensors.Tick, *sample.Image), hearCompressed func(sensors.Tick, *sample.CompressedImage)) {
	c := &camera{typeID: s.TypeID}
	v.sources = append(v.sources, c)
	// Cameras stand before clouds.
	at := 0
	for at < len(v.panes) && v.panes[at].cloud == nil {
		at++
	}
	v.panes = append(v.panes[:at:at], append([]*pane{{name: s.Name, topic: s.Topic, view: c, source: c}}, v.panes[at:]...)...)
	m := v.AddMeter(s)
	return hear(v, m, &c.images), hear(v, m, &c.compressed)
}

// AddCloud adds a lidar's two panes; the function takes its scans.
func (v *Viewer) AddCloud(s Sensor) func(sensors.Tick, *sample.PointCloud) {
	c := &cloud{mount: s.Mount}
	v.sources = append(v.sources, c)
	v.panes = append(v.panes,
		&pane{name: s.Name, topic: s.Topic, view: newOrbit(c), source: c, cloud: c},
		&pane{name: s.Name, topic: s.Topic, view: newTop(c), source: c, cloud: c})
	return hear(v, v.AddMeter(s), &c.scans)
}

// AddMeter adds a sensor to the figures alone.
func (v *Viewer) AddMeter(s Sensor) *Meter {
	m := &Meter{name: s.Name, wanted: s.RateHz, drops: s.Drops}
	v.meters = append(v.meters, m)
	return m
}

// Compose brings the window's picture up to date and reports whether it has
// changed. The picture belongs to the Viewer and holds until the next Compose.
func (v *Viewer) Compose(size image.Point) (picture *image.RGBA, changed bool) {
	changed = v.changed
	v.changed = false
	if v.arrived.Swap(false) {
		changed = v.refresh() || changed
	}
	if v.canvas == nil || v.canvas.Rect.Size() != size {
		v.canvas = image.NewRGBA(image.Rectangle{Max: size})
		v.arrange()
		changed = true
	}
	changed = v.figures.update(v) || changed
	changed = v.toast.update(v.now(), v.saved) || changed
	if changed {
		v.paint()
	}
	return v.canvas, changed
}

// refresh takes what has arrived, and arranges again if a picture's size has changed.
func (v *Viewer) refresh() bool {
	fresh := map[source]bool{}
	before := make([]image.Point, len(v.panes))
	for k, p := range v.panes {
		before[k] = p.view.natural()
	}
	for _, s := range v.sources {
		fresh[s] = s.refresh()
	}
	any, resized := false, false
	for k, p := range v.panes {
		p.stale = p.stale || fresh[p.source]
		any = any || p.stale
		resized = resized || p.view.natural() != before[k]
	}
	if resized && v.canvas != nil {
		v.arrange()
	}
	return any
}

// arrange gives the panes their places.
func (v *Viewer) arrange() {
	area := image.Rect(gap, headerHeight, v.canvas.Rect.Dx()-gap, v.canvas.Rect.Dy()-v.footerHeight())
	places := make([]place, len(v.panes))
	for k, p := range v.panes {
		places[k] = place{natural: p.view.natural(), cloud: p.cloud != nil}
	}
	for k, r := range arrange(area, places, v.selected) {
		v.panes[k].bounds = r
	}
	v.markStale()
	fill(v.canvas, v.canvas.Rect, colorBackground)
}

// markStale has everything drawn again.
func (v *Viewer) markStale() {
	for _, p := range v.panes {
		p.stale = true
	}
	v.changed = true
}

// paint draws what is stale, and the texts.
func (v *Viewer) paint() {
	covering := v.help || v.ending || v.toast.text != ""
	if covering || v.covered { // what lies over panes and gaps can't be taken away
		v.markStale()
		fill(v.canvas, v.canvas.Rect, colorBackground)
	}
	for _, p := range v.panes {
		if content := p.content(); p.stale && !content.Empty() {
			p.view.draw(within(v.canvas, content), &v.fonts)
		}
		p.stale = false
	}
	for k, p := range v.panes {
		v.paintTitle(p, k == v.selected)
	}
	v.covered = covering
	if len(v.panes) == 0 {
		area := image.Rect(0, headerHeight, v.canvas.Rect.Dx(), v.canvas.Rect.Dy()-v.footerHeight())
		notice(within(v.canvas, area), &v.fonts, "this rig has neither a camera nor a lidar")
	}
	v.paintHeader()
	v.paintFooter()
	v.paintCovers()
	v.changed = false
}

// textInset is the distance of text from the edge of what it stands in.
const textInset = 8

// paintTitle draws a pane's border and title bar.
func (v *Viewer) paintTitle(p *pane, selected bool) {
	if p.bounds.Empty() {
		return
	}
	edge := colorBorder
	if selected {
		edge = colorFaint
	}
	outline(v.canvas, p.bounds, edge)
	bar := p.bounds.Inset(border)
	bar.Max.Y = min(bar.Min.Y+titleHeight, bar.Max.Y)
	fill(v.canvas, bar, colorTitle)
	dst := within(v.canvas, bar)
	face := v.fonts.regular
	y := bar.Min.Y + (titleHeight-face.height)/2
	if selected {
		fill(v.canvas, image.Rect(bar.Min.X, bar.Min.Y, bar.Min.X+3, bar.Max.Y), colorAccent)
	}
	at := image.Pt(bar.Min.X+textInset+2, y)
	end := bar.Max.X - textInset
	name := v.fonts.bold.fit(p.name, end-at.X)
	at = v.fonts.bold.draw(dst, at, name, colorText).Add(image.Pt(textInset, 0))
	cursor := outside
	if v.mouse.at.In(p.content()) {
		cursor = v.mouse.at
	}
	caption := p.view.caption(cursor)
	if width := face.width(caption); width > 0 && at.X+width <= end {
		face.draw(dst, image.Pt(end-width, y), caption, colorDim)
		end -= width + 2*textInset
	}
	face.draw(dst, at, face.fit(p.topic, max(0, end-at.X)), colorDim)
}

// Sizes of the window's furniture, pixels.
const (
	gap          = 6  // between panes, and around them
	titleHeight  = 24 // of a pane's title bar
	headerHeight = 34
	border       = 1

	minSide = 260 // width that the pane beside the enlarged one gets at least
	minRow  = 120 // height that the row of small panes gets at least
	tooLow  = 90  // a row of small panes lower than this is left out
)

// place is a pane to be arranged.
type place struct {
	// natural is the size at which its content is shown unscaled; zero: any.
	natural image.Point
	// cloud says that it shows a cloud, not a camera.
	cloud bool
}

// outer is a pane's size around its natural content.
func (p *place) outer() image.Point {
	return p.natural.Add(image.Pt(2*border, titleHeight+2*border))
}

// arrange gives each pane its rectangle: the selected one is large, beside it
// stands one of the other kind, the rest in rows below. A pane without
// room gets the empty rectangle.
func arrange(area image.Rectangle, panes []place, selected int) []image.Rectangle {
	out := make([]image.Rectangle, len(panes))
	if len(panes) == 0 || area.Empty() {
		return out
	}
	beside, rest := pickBeside(panes, selected)
	if beside < 0 || area.Dx() < 2*minSide {
		out[selected] = area
		return out
	}
	height := area.Dy()
	if len(rest) > 0 {
		height = topHeight(area.Dy(), &panes[selected], &panes[beside])
	}
	if area.Dy()-height-gap < tooLow {
		height = area.Dy()
	}
	split := area.Min.X + topWidth(area.Dx(), height, &panes[selected], &panes[beside])
	out[selected] = image.Rect(area.Min.X, area.Min.Y, split, area.Min.Y+height)
	out[beside] = image.Rect(split+gap, area.Min.Y, area.Max.X, area.Min.Y+height)
	if height < area.Dy() {
		below := image.Rect(area.Min.X, area.Min.Y+height+gap, area.Max.X, area.Max.Y)
		for k, r := range grid(below, len(rest)) {
			out[rest[k]] = r
		}
	}
	return out
}

// pickBeside chooses the pane beside the selected one, -1 for none, and lists the rest.
func pickBeside(panes []place, selected int) (beside int, rest []int) {
	beside = -1
	for k := range panes {
		if k != selected && (beside < 0 || panes[beside].cloud == panes[selected].cloud && panes[k].cloud != panes[selected].cloud) {
			beside = k
		}
	}
	for k := range panes {
		if k != selected && k != beside {
			rest = append(rest, k)
		}
	}
	return beside, rest
}

// topHeight is the upper row's height. It is enough for the pictures' own size, at least half
// of the window, and leaves room for the row below.
func topHeight(height int, selected, beside *place) int {
	want := height * 56 / 100
	for _, p := range []*place{selected, beside} {
		if p.natural.Y > 0 {
			want = max(want, p.outer().Y)
		}
	}
	return min(want, max(height-gap-minRow, height*62/100))
}

// topWidth is the selected pane's width in a row of a height.
func topWidth(width, height int, selected, beside *place) int {
	most := width - gap - minSide
	switch {
	case selected.natural.X > 0 && selected.outer().Y <= height && selected.outer().X <= most:
		return max(selected.outer().X, min(width*45/100, most))
	case selected.natural.X > 0:
		content := height - titleHeight - 2*border
		scaled := content*selected.natural.X/selected.natural.Y + 2*border
		return max(min(scaled, most), width/3)
	case beside.natural.X > 0 && beside.outer().X <= width/2:
		return width - gap - beside.outer().X
	default:
		return min(width*58/100, most)
	}
}

// grid divides an area into n equal cells, in as many columns as leave them
// closest to the shape of a picture.
func grid(area image.Rectangle, n int) []image.Rectangle {
	if n == 0 {
		return nil
	}
	best, bestArea := 1, 0
	for columns := 1; columns <= n; columns++ {
		size := cell(area, columns, n)
		// What a picture of 4 by 3 gets of the cell.
		width := min(size.X, (size.Y-titleHeight)*4/3)
		if width > 0 && width*width > bestArea {
			best, bestArea = columns, width*width
		}
	}
	size := cell(area, best, n)
	out := make([]image.Rectangle, n)
	for k := range out {
		at := area.Min.Add(image.Pt(k%best*(size.X+gap), k/best*(size.Y+gap)))
		out[k] = image.Rectangle{Min: at, Max: at.Add(size)}
		if k%best == best-1 {
			out[k].Max.X = area.Max.X // what the division left over
		}
	}
	return out
}

func cell(area image.Rectangle, columns, n int) image.Point {
	rows := (n + columns - 1) / columns
	return image.Pt((area.Dx()-gap*(columns-1))/columns, (area.Dy()-gap*(rows-1))/rows)
}

// Window is where the picture is shown; *window.Window is one.
type Window interface {
	Events() <-chan window.Event
	Size() (width, height int)
	// Show returns when the picture may be changed again.
	Show(picture *image.RGBA) error
	SetFullScreen(on bool)
}

// frameInterval is the time between pictures: thirty a second.
const frameInterval = time.Second / 30

// Show runs the viewer in a window until ctx ends. Once ending is closed the window says
// that the run is finishing. The error is of showing the picture.
func (v *Viewer) Show(ctx context.Context, ending <-chan struct{}, w Window) error {
	s := &screen{window: w, shown: make(chan error, 1)}
	defer v.saving.Wait()
	defer s.wait()
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ending:
			ending = nil
			v.ending, v.changed = true, true
		case e := <-w.Events():
			v.follow(e, w)
		case err := <-s.shown:
			s.busy = false
			if err != nil {
				v.quit(false)
				return err
			}
		case <-ticker.C:
			if err := v.driver.update(int64(v.options.Clock.Now())); err != nil {
				v.say(err.Error())
			}
			v.followAll(w)
			v.frame(s)
		}
	}
}

// follow handles one input, and has the window follow.
func (v *Viewer) follow(e window.Event, w Window) {
	before := v.full
	if v.Handle(e); v.full != before {
		w.SetFullScreen(v.full)
	}
}

// followAll handles what has come. A picture may take longer to compose than the next event to
// come: if each picture were followed by one event, events would pile up until some are dropped.
func (v *Viewer) followAll(w Window) {
	for {
		select {
		case e := <-w.Events():
			v.follow(e, w)
		default:
			return
		}
	}
}

// frame composes a picture and shows it if it has changed.
func (v *Viewer) frame(s *screen) {
	width, height := s.window.Size()
	if s.busy || width == 0 || height == 0 {
		return
	}
	if picture, changed := v.Compose(image.Pt(width, height)); changed {
		s.show(picture)
	}
}

// screen shows pictures, one at a time, beside the viewer's own work: a display may be slow.
type screen struct {
	window Window
	shown  chan error // the answer to each show
	busy   bool       // the answer is yet to come
}

// show begins to show a picture, which must not be changed until the answer has come.
func (s *screen) show(picture *image.RGBA) {
	s.busy = true
	go func() { s.shown <- s.window.Show(picture) }()
}

// wait waits for the picture under way.
func (s *screen) wait() {
	if s.busy {
		<-s.shown //nolint:errcheck // nobody will see whether the last picture was shown
	}
}

// Watch adds those of a pipeline's sensors that the window can show, and
// listens to them. It comes before Show.
func (v *Viewer) Watch(p *pipeline.Pipeline) error {
	for _, s := range p.Sensors() {
		if err := v.watch(s); err != nil {
			return fmt.Errorf("show sensor %s: %w", s.Name(), err)
		}
	}
	return nil
}

// watch listens to the first of a sensor's outputs that means something here: to
// compressed images only where a camera publishes no others.
func (v *Viewer) watch(s *pipeline.Sensor) error {
	outputs := s.Outputs()
	for k := range outputs {
		listen, ok := listeners[outputs[k].Type]
		if !ok {
			continue
		}
		return listen(v, s, outputs[k].Name, Sensor{
			Name: s.Name(), Topic: s.Topics()[k], TypeID: s.TypeID(),
			RateHz: s.Rate().Float64(), Mount: s.Mount(), Drops: s.Drops,
		})
	}
	return nil
}

// listeners has the outputs that are worth a pane or a figure, by message type.
var listeners = map[reflect.Type]func(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error{
	reflect.TypeFor[*sample.Image]():           listenImages,
	reflect.TypeFor[*sample.CompressedImage](): listenCompressed,
	reflect.TypeFor[*sample.PointCloud]():      listenCloud,
	reflect.TypeFor[*sample.Imu]():             listenMeter[*sample.Imu],
	reflect.TypeFor[*sample.GnssFix]():         listenMeter[*sample.GnssFix],
	reflect.TypeFor[*sample.Odometry]():        listenMeter[*sample.Odometry],
}

func listenImages(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	hear, _ := v.AddCamera(about)
	_, err := pipeline.Listen(s, output, hear)
	return err
}

func listenCompressed(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	_, hear := v.AddCamera(about)
	_, err := pipeline.Listen(s, output, hear)
	return err
}

func listenCloud(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	_, err := pipeline.Listen(s, output, v.AddCloud(about))
	return err
}

func listenMeter[M any](v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	m := v.AddMeter(about)
	_, err := pipeline.Listen(s, output, func(at sensors.Tick, _ M) { m.Note(at) })
	return err
}
