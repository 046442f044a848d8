package viewer

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"time"
)

// How often the figures change, and over what time the real-time factor is taken.
const (
	figuresInterval = 250 * time.Millisecond
	factorSpan      = 2 * time.Second
)

// moment is a wall time with its simulation time.
type moment struct {
	wall time.Time
	sim  int64
}

// figures are what the header and the footer tell.
type figures struct {
	taken time.Time
	shown
	factor   float64 // real-time factor, NaN while not known
	moments  []moment
	readings []reading // of the meters
}

// shown are the figures of the vehicle and the clock.
type shown struct {
	simNs  int64
	paused bool
	speed  float64 // m/s
}

// update takes the figures again if it is time, and reports whether they have changed.
func (f *figures) update(v *Viewer) bool {
	now := v.now()
	clock := v.options.Clock
	if now.Sub(f.taken) < figuresInterval && clock.Paused() == f.paused {
		return false
	}
	before, factor := f.shown, f.factor
	f.taken = now
	f.simNs, f.paused = int64(clock.Now()), clock.Paused()
	f.measure(moment{now, f.simNs})
	if v.options.EgoSpeed != nil {
		f.speed = v.options.EgoSpeed(f.simNs)
	}
	changed := f.shown != before || f.factor != factor && !math.IsNaN(f.factor)
	for k, m := range v.meters {
		r := m.read(f.simNs)
		if k == len(f.readings) {
			f.readings = append(f.readings, reading{})
			changed = true
		}
		changed = changed || r != f.readings[k]
		f.readings[k] = r
	}
	return changed
}

// measure works out the real-time factor over the latest moments; after a pause it begins
// again.
func (f *figures) measure(m moment) {
	if f.paused {
		f.moments = f.moments[:0]
	}
	f.moments = append(f.moments, m)
	for len(f.moments) > 2 && m.wall.Sub(f.moments[0].wall) > factorSpan {
		f.moments = f.moments[1:]
	}
	f.factor = math.NaN()
	if first := f.moments[0]; m.wall.After(first.wall) {
		f.factor = float64(m.sim-first.sim) * 1e-9 / m.wall.Sub(first.wall).Seconds()
	}
}

// state is what the run is doing, and the colour to say it in.
func (v *Viewer) state() (string, color.RGBA) {
	switch {
	case v.ending:
		return "ENDING", colorWarning
	case v.figures.simNs == 0:
		return "STARTING", colorAccent
	case v.figures.paused:
		return "PAUSED", colorWarning
	default:
		return "RUNNING", colorGood
	}
}

// paintHeader draws the upper line.
func (v *Viewer) paintHeader() {
	bar := image.Rect(0, 0, v.canvas.Rect.Dx(), headerHeight-gap)
	fill(v.canvas, bar, colorPanel)
	dst := within(v.canvas, bar)
	face, y := v.fonts.regular, (bar.Dy()-v.fonts.regular.height)/2
	at := v.fonts.bold.draw(dst, image.Pt(gap+textInset, y), "raybridge", colorText)
	at = face.draw(dst, at.Add(image.Pt(2*textInset, 0)), v.options.Title, colorDim).Add(image.Pt(3*textInset, 0))
	state, c := v.state()
	at = v.pill(dst, at, state, c).Add(image.Pt(3*textInset, 0))
	for _, text := range v.headline() {
		if at.X+v.fonts.mono.width(text) > bar.Max.X-textInset {
			return
		}
		v.fonts.mono.draw(dst, at.Add(image.Pt(0, 1)), text, colorText)
		at.X += v.fonts.mono.width(text) + 3*textInset
	}
	const hint = "h  help"
	right := bar.Max.X - gap - textInset - face.width(hint)
	if right < at.X {
		return
	}
	face.draw(dst, image.Pt(right, y), hint, colorDim)
	right -= 3 * textInset
	name := face.fit(v.options.GPU, right-at.X)
	face.draw(dst, image.Pt(right-face.width(name), y), name, colorDim)
}

// headline is the run in figures; the texts keep their widths.
func (v *Viewer) headline() []string {
	f := &v.figures
	list := []string{fmt.Sprintf("sim %.3f s", float64(f.simNs)*1e-9)}
	if math.IsNaN(f.factor) || f.paused {
		list = append(list, "  -.--× real time")
	} else {
		list = append(list, fmt.Sprintf("%6.2f× real time", f.factor))
	}
	if v.options.EgoSpeed != nil {
		list = append(list, fmt.Sprintf("%5.1f m/s", f.speed))
	}
	return list
}

// pill draws a word on a ground of its colour.
func (v *Viewer) pill(dst *image.RGBA, at image.Point, text string, c color.RGBA) image.Point {
	face := v.fonts.bold
	ground := image.Rect(at.X-textInset, at.Y-1, at.X+face.width(text)+textInset, at.Y+face.height+1)
	fill(dst, ground, color.RGBA{c.R / 5, c.G / 5, c.B / 5, 255})
	return face.draw(dst, at, text, c)
}

// The footer's cells, one a sensor: its name and its figures.
const (
	cellHeight  = 20
	footerInset = 6
	longestName = 160 // pixels; a longer name is cut
	lostDigits  = 10  // of a count of losses, with its word
)

// cellFigures has the widest figures of a cell.
const cellFigures = "1000.0 Hz 10000 ms"

// cellSizes returns the widths of a cell and of its name, pixels.
func (v *Viewer) cellSizes() (width, name int) {
	for _, m := range v.meters {
		name = max(name, v.fonts.regular.width(m.name))
	}
	name = min(name, longestName) + 2*textInset
	digit := v.fonts.mono.width("0")
	return name + (len(cellFigures)+lostDigits)*digit + 4*textInset, name
}

// footerRows is how many rows the cells take, as many in each but the last column.
func (v *Viewer) footerRows() int {
	width, _ := v.cellSizes()
	columns := max(1, (v.canvas.Rect.Dx()-2*gap)/width)
	return (len(v.meters) + columns - 1) / columns
}

func (v *Viewer) footerHeight() int {
	rows := v.footerRows()
	if rows == 0 {
		return gap
	}
	return gap + rows*cellHeight + 2*footerInset
}

// paintFooter draws the sensors' figures.
func (v *Viewer) paintFooter() {
	rows := v.footerRows()
	if rows == 0 {
		return
	}
	bounds := v.canvas.Rect
	bar := image.Rect(0, bounds.Max.Y-v.footerHeight()+gap, bounds.Max.X, bounds.Max.Y)
	fill(v.canvas, bar, colorPanel)
	width, name := v.cellSizes()
	for k, m := range v.meters {
		if k >= len(v.figures.readings) {
			return
		}
		at := image.Pt(gap+k/rows*width, bar.Min.Y+footerInset+k%rows*cellHeight)
		cell := image.Rectangle{Min: at, Max: at.Add(image.Pt(width, cellHeight))}
		v.paintCell(within(v.canvas, cell), name, m, &v.figures.readings[k])
		if k%rows == 0 && k > 0 {
			fill(v.canvas, image.Rect(at.X-textInset, bar.Min.Y+footerInset, at.X-textInset+1, bar.Max.Y-footerInset), colorBorder)
		}
	}
}

// paintCell draws one sensor's name, rate, latency and losses.
func (v *Viewer) paintCell(dst *image.RGBA, nameWidth int, m *Meter, r *reading) {
	face, mono := v.fonts.regular, v.fonts.mono
	at := image.Pt(dst.Rect.Min.X+textInset, dst.Rect.Min.Y+(cellHeight-face.height)/2)
	face.draw(dst, at, face.fit(m.name, nameWidth-textInset), colorDim)
	figures, c := fmt.Sprintf("%6.1f Hz %5.0f ms", r.rateHz, float64(r.latency)/1e6), colorText
	switch {
	case r.rateHz == 0:
		figures, c = "     - Hz     - ms", colorDim
	case m.wanted > 0 && r.rateHz < slow*m.wanted:
		c = colorWarning
	}
	at = mono.draw(dst, at.Add(image.Pt(nameWidth, 1)), figures, c).Add(image.Pt(textInset, 0))
	if r.lost > 0 {
		mono.draw(dst, at, fmt.Sprintf("%d lost", r.lost), colorBad)
	}
}

// slow is the part of its rate below which a sensor's figures warn.
const slow = 0.9

// toastLife is how long a short message stays.
const toastLife = 3 * time.Second

// toast is a short message at the lower edge; its text is "" where there is none.
type toast struct {
	text string
	ends time.Time
}

func (t *toast) say(text string, now time.Time) { t.text, t.ends = text, now.Add(toastLife) }

// update takes messages about saved pictures, removes an old one and reports
// whether the text has changed.
func (t *toast) update(now time.Time, saved <-chan string) bool {
	select {
	case text := <-saved:
		t.say(text, now)
		return true
	default:
	}
	if t.text != "" && now.After(t.ends) {
		t.text = ""
		return true
	}
	return false
}

// say shows a short message.
func (v *Viewer) say(text string) {
	v.toast.say(text, v.now())
	v.changed = true
}

// paintCovers draws what lies over the panes.
func (v *Viewer) paintCovers() {
	switch {
	case v.ending:
		v.paintBanner("finishing what is queued; the window closes when recordings are complete")
	case v.toast.text != "":
		v.paintBanner(v.toast.text)
	}
	if v.help {
		v.paintHelp()
	}
}

// paintBanner writes a message over the lower edge of the panes.
func (v *Viewer) paintBanner(text string) {
	face := v.fonts.regular
	text = face.fit(text, v.canvas.Rect.Dx()-6*textInset)
	size := image.Pt(face.width(text)+4*textInset, face.height+2*textInset)
	box := centred(size, v.canvas.Rect)
	box = box.Add(image.Pt(0, v.canvas.Rect.Max.Y-v.footerHeight()-4*gap-box.Max.Y))
	veil(v.canvas, box, colorTitle, 235)
	outline(v.canvas, box, colorAccent)
	face.draw(v.canvas, box.Min.Add(image.Pt(2*textInset, textInset)), text, colorText)
}

// paintHelp lists the keys.
func (v *Viewer) paintHelp() {
	lines := v.helpLines()
	const keyWidth, lineHeight, inset = 170, 22, 20
	width := 0
	for _, l := range lines {
		width = max(width, keyWidth+v.fonts.regular.width(l.does))
	}
	veil(v.canvas, image.Rect(0, headerHeight-gap, v.canvas.Rect.Dx(), v.canvas.Rect.Dy()-v.footerHeight()+gap), colorBackground, 150)
	box := centred(image.Pt(width+2*inset, (len(lines)+1)*lineHeight+2*inset), v.canvas.Rect)
	veil(v.canvas, box, colorPanel, 245)
	outline(v.canvas, box, colorBorder)
	at := box.Min.Add(image.Pt(inset, inset))
	v.fonts.bold.draw(v.canvas, at, "Keys and mouse", colorText)
	for _, l := range lines {
		at.Y += lineHeight
		v.fonts.regular.draw(v.canvas, at, l.keys, colorAccent)
		v.fonts.regular.draw(v.canvas, at.Add(image.Pt(keyWidth, 0)), l.does, colorText)
	}
}
