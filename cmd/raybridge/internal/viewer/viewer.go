package viewer

import (
	"image"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Clock is what the window asks and tells the simulation's clock; *simtime.Clock
// is one.
type Clock interface {
	Now() int64
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
	// Labels says that a mono8 image holds semantic tags.
	Labels bool
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
	c := &camera{labels: s.Labels}
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

// PictureBounds returns where in the window the named camera's picture is, and
// whether it is shown pixel for pixel.
func (v *Viewer) PictureBounds(name string) (bounds image.Rectangle, unscaled bool) {
	for _, p := range v.panes {
		if c, ok := p.view.(*camera); ok && p.name == name && c.picture != nil {
			return c.drawn, c.drawn.Size() == c.picture.Rect.Size()
		}
	}
	return image.Rectangle{}, false
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

// refresh takes what has arrived, and arranges anew if a picture's size has changed.
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
	v.spoil()
	fill(v.canvas, v.canvas.Rect, colorBackground)
}

// spoil has everything drawn again.
func (v *Viewer) spoil() {
	for _, p := range v.panes {
		p.stale = true
	}
	v.changed = true
}

// paint draws what is stale, and the texts.
func (v *Viewer) paint() {
	covering := v.help || v.ending || v.toast.text != ""
	if covering || v.covered { // what lies over panes and gaps can't be taken away
		v.spoil()
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
