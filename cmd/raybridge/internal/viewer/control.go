package viewer

import (
	"cmp"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/window"
)

// command is something that a key does.
type command struct {
	keys, does string // for the help
	driving    string // the keys that are left where others drive; "" for all
	codes      []window.Key
	repeats    bool // while the key is held
	do         func(v *Viewer, shift bool)
}

// commands are the keys that always work; what drives the vehicle goes before them.
var commands = []command{
	{"space", "pause, go on", "", codes(' '), false, (*Viewer).togglePause},
	{"n, right arrow", "one step while paused; with shift ten", "n", codes('N', window.KeyRight), true, (*Viewer).step},
	{"tab, c", "enlarge the next pane; with shift the one before", "", codes(window.KeyTab, 'C'), false, (*Viewer).cycle},
	{"v", "colour clouds by height, intensity, label or return", "", codes('V'), false, (*Viewer).recolor},
	{"r", "look at clouds as in the beginning", "", codes('R'), false, (*Viewer).resetViews},
	{"s, p", "save the enlarged picture; with shift the window", "p", codes('S', 'P'), false, (*Viewer).save},
	{"f11", "fill the screen, and go back", "", codes(window.KeyF11), false, (*Viewer).toggleFull},
	{"h", "show or hide this list", "", codes('H'), false, (*Viewer).toggleHelp},
	{"q, escape", "end the run", "", codes('Q', window.KeyEscape), false, (*Viewer).quit},
}

func codes(list ...window.Key) []window.Key { return list }

// helpLine is one line of the help.
type helpLine struct{ keys, does string }

func (v *Viewer) helpLines() []helpLine {
	var lines []helpLine
	if v.driver.steer != nil {
		lines = append(lines, helpLine{"w a s d, arrows", "drive the vehicle"})
	}
	for i := range commands {
		c := &commands[i]
		line := helpLine{c.keys, c.does}
		if v.driver.steer != nil && c.driving != "" {
			line.keys = c.driving
		}
		lines = append(lines, line)
	}
	return append(lines,
		helpLine{"click", "enlarge a pane"},
		helpLine{"drag, wheel", "turn or move a cloud, and zoom; right button moves"},
	)
}

// mouse is what the mouse does.
type mouse struct {
	at     image.Point // outside before the first move
	x, y   float64
	held   *pane // under the cursor when a button went down
	button window.Button
	moved  float64 // pixels since then
}

// clickReach is how far a click may move, pixels.
const clickReach = 4

// Handle follows one input of the user.
func (v *Viewer) Handle(e window.Event) {
	switch e.Kind {
	case window.KeyDown, window.KeyRepeat:
		v.key(e)
	case window.KeyUp:
		v.driver.release(e.Key)
	case window.MouseDown:
		v.point(e)
		v.mouse.held, v.mouse.button, v.mouse.moved = v.paneAt(v.mouse.at), e.Button, 0
	case window.MouseUp:
		v.point(e)
		v.release()
	case window.MouseMove:
		v.drag(e)
	case window.Scroll:
		v.point(e)
		if p := v.paneAt(v.mouse.at); p != nil {
			v.move(p, func(m movable) { m.zoom(e.ScrollY) })
		}
	case window.Resize:
		v.changed = true
	}
}

// key runs what a key does.
func (v *Viewer) key(e window.Event) {
	if v.driver.press(e.Key) {
		return
	}
	if v.help && e.Key == window.KeyEscape {
		v.toggleHelp(false)
		return
	}
	for i := range commands {
		c := &commands[i]
		for _, code := range c.codes {
			if code == e.Key && (e.Kind == window.KeyDown || c.repeats) {
				c.do(v, e.Mods&window.ModShift != 0)
				v.changed = true
				return
			}
		}
	}
}

// point remembers where the cursor is.
func (v *Viewer) point(e window.Event) {
	v.mouse.x, v.mouse.y = e.X, e.Y
	v.mouse.at = image.Pt(int(math.Floor(e.X)), int(math.Floor(e.Y)))
	v.changed = true // the caption under the cursor
}

// drag moves the view that the mouse holds.
func (v *Viewer) drag(e window.Event) {
	dx, dy := e.X-v.mouse.x, e.Y-v.mouse.y
	v.point(e)
	if v.mouse.held == nil {
		return
	}
	v.mouse.moved += math.Hypot(dx, dy)
	v.move(v.mouse.held, func(m movable) { m.drag(dx, dy, v.mouse.button != window.ButtonLeft) })
}

// release ends a drag, or makes it a click.
func (v *Viewer) release() {
	held := v.mouse.held
	v.mouse.held = nil
	if held == nil || v.mouse.moved > clickReach {
		return
	}
	for k, p := range v.panes {
		if p == held {
			v.enlarge(k)
		}
	}
}

// move changes a pane's view, if that can be moved.
func (v *Viewer) move(p *pane, change func(movable)) {
	if m, ok := p.view.(movable); ok {
		change(m)
		p.stale, v.changed = true, true
	}
}

// paneAt returns the pane whose content is at a place, nil where there is none.
func (v *Viewer) paneAt(at image.Point) *pane {
	for _, p := range v.panes {
		if at.In(p.bounds) {
			return p
		}
	}
	return nil
}

// enlarge makes a pane the large one.
func (v *Viewer) enlarge(k int) {
	if k == v.selected {
		return
	}
	v.selected = k
	if v.canvas != nil {
		v.arrange()
	}
}

// started says whether time has begun: the run begins it, not the user.
func (v *Viewer) started() bool { return v.options.Clock.Now() > 0 && !v.ending }

func (v *Viewer) togglePause(bool) {
	switch {
	case !v.started():
	case v.options.Clock.Paused():
		v.options.Clock.Resume()
	default:
		v.options.Clock.Pause()
	}
}

// manySteps is how many steps shift makes of one.
const manySteps = 10

// step moves a paused clock on, and pauses one that runs.
func (v *Viewer) step(many bool) {
	if !v.started() {
		return
	}
	if !v.options.Clock.Paused() {
		v.options.Clock.Pause()
		return
	}
	d := int64(v.options.Step)
	if many {
		d *= manySteps
	}
	if err := v.options.Clock.Step(d); err != nil {
		v.say(err.Error())
	}
}

func (v *Viewer) cycle(back bool) {
	n := len(v.panes)
	if n == 0 {
		return
	}
	next := 1
	if back {
		next = n - 1
	}
	v.enlarge((v.selected + next) % n)
}

func (v *Viewer) recolor(back bool) {
	next := 1
	if back {
		next = int(colorings) - 1
	}
	var clouds []*cloud
	for _, s := range v.sources {
		if c, ok := s.(*cloud); ok {
			clouds = append(clouds, c)
		}
	}
	v.coloring = coloring((int(v.coloring) + next) % int(colorings))
	if v.coloring == byReturn && !slices.ContainsFunc(clouds, (*cloud).hasReturns) {
		v.coloring = coloring((int(v.coloring) + next) % int(colorings))
	}
	for _, c := range clouds {
		c.colorBy(v.coloring)
	}
	v.markStale()
}

func (v *Viewer) resetViews(bool) {
	for _, p := range v.panes {
		v.move(p, movable.reset)
	}
}

func (v *Viewer) toggleHelp(bool) {
	v.help = !v.help
	v.changed = true
}

func (v *Viewer) toggleFull(bool) { v.full = !v.full }

func (v *Viewer) quit(bool) {
	if v.options.Quit != nil {
		v.options.Quit()
	}
}

// How the keys drive: gently, as with a pedal.
const (
	speedUp       = 3.0  // m/s² while forwards is held
	brake         = 7.0  // m/s² against the movement
	rollOut       = 1.0  // m/s² with no key
	topSpeed      = 20.0 // m/s
	reverseSpeed  = 4.0  // m/s
	steerRate     = 0.9  // rad/s towards the key's side, and back
	topSteering   = 0.55 // rad
	sideways      = 4.0  // m/s² that steering may ask for
	driveWheel    = 2.8  // metres between the axles, a Driven's default
	longestUpdate = 0.2  // seconds that one update may cover
)

// driver turns held keys into commands.
type driver struct {
	steer           func(scene.Command) error // nil: nobody drives by keys
	held            [4]int                    // keys down for each direction
	down            map[window.Key]bool
	speed, steering float64
	beforeNs        int64
}

// Directions of driver.held.
const (
	ahead = iota
	back
	left
	right
)

var directions = map[window.Key]int{
	'W': ahead, window.KeyUpArrow: ahead, 'S': back, window.KeyDownArrow: back,
	'A': left, window.KeyLeft: left, 'D': right, window.KeyRight: right,
}

// press reports whether the key drives.
func (d *driver) press(key window.Key) bool {
	direction, ok := directions[key]
	if d.steer == nil || !ok {
		return false
	}
	if d.down == nil {
		d.down = map[window.Key]bool{}
	}
	if !d.down[key] {
		d.down[key] = true
		d.held[direction]++
	}
	return true
}

func (d *driver) release(key window.Key) {
	if d.down[key] {
		delete(d.down, key)
		d.held[directions[key]]--
	}
}

// update sends the command for a simulation time. It must be called several
// times within scene.DefaultCommandTimeout, or the vehicle stops.
func (d *driver) update(nowNs int64) error {
	if d.steer == nil || nowNs <= d.beforeNs {
		return nil
	}
	seconds := min(longestUpdate, float64(nowNs-d.beforeNs)*1e-9)
	d.beforeNs = nowNs
	d.speed = d.pedals(seconds)
	most := topSteering
	if v := math.Abs(d.speed); v > 1 {
		most = min(most, math.Atan(sideways*driveWheel/(v*v)))
	}
	want := most * float64(min(d.held[left], 1)-min(d.held[right], 1))
	d.steering = approach(d.steering, want, steerRate*seconds)
	d.steering = max(-most, min(most, d.steering))
	return d.steer(scene.Command{BySpeed: true, Speed: d.speed, Steering: d.steering})
}

// pedals returns the speed to be had after some seconds.
func (d *driver) pedals(seconds float64) float64 {
	switch {
	case d.held[ahead] > 0 && d.held[back] == 0 && d.speed < 0, d.held[back] > 0 && d.speed > 0:
		return approach(d.speed, 0, brake*seconds)
	case d.held[ahead] > 0 && d.held[back] == 0:
		return approach(d.speed, topSpeed, speedUp*seconds)
	case d.held[back] > 0 && d.held[ahead] == 0:
		return approach(d.speed, -reverseSpeed, speedUp*seconds)
	default:
		return approach(d.speed, 0, rollOut*seconds)
	}
}

// approach moves from x towards a goal by at most step.
func approach(x, goal, step float64) float64 {
	return x + max(-step, min(step, goal-x))
}

// save writes a PNG in the background: the enlarged pane's picture in its own
// size, or the whole window.
func (v *Viewer) save(window bool) {
	if v.canvas == nil {
		return
	}
	name, from, stamp := "window", v.canvas, v.options.Clock.Now()
	if !window && len(v.panes) > 0 {
		p := v.panes[v.selected]
		name, from = p.name, within(v.canvas, p.content())
		if c, ok := p.view.(*camera); ok {
			if c.picture == nil || c.err != nil {
				v.say(name + " has no picture to save")
				return
			}
			from, stamp = c.picture, c.shown.Stamp
		}
	}
	// The original is drawn over while the copy is being written.
	picture := image.NewRGBA(image.Rectangle{Max: from.Rect.Size()})
	draw.Draw(picture, picture.Rect, from, from.Rect.Min, draw.Src)
	file := fmt.Sprintf("%s_%.3f.png", strings.ReplaceAll(name, string(filepath.Separator), "_"), float64(stamp)*1e-9)
	path := filepath.Join(v.options.SaveDir, file)
	v.saving.Go(func() {
		text := "saved " + path
		if err := writePNG(path, picture); err != nil {
			text = err.Error()
		}
		select {
		case v.saved <- text:
		default: // so many at once: the latest toasts say enough
		}
	})
}

// writePNG writes a picture so that the file is whole when it appears.
func writePNG(path string, picture image.Image) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save picture: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".picture-*")
	if err != nil {
		return fmt.Errorf("save picture: %w", err)
	}
	err = cmp.Or(png.Encode(f, picture), f.Close(), os.Chmod(f.Name(), 0o644))
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says what is wrong
		return fmt.Errorf("save picture: %w", err)
	}
	return nil
}
