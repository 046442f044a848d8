package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
)

// How often progress is shown: a line that moves, or one more line in a log.
const (
	moveInterval = 100 * time.Millisecond
	lineInterval = 5 * time.Second
)

// progressPrinter shows how far a run is: a line that moves on a terminal, lines
// elsewhere. Its methods are called by one goroutine at a time.
type progressPrinter struct {
	out   *console
	total time.Duration // of simulated time, 0 for no end
	done  string        // what is done to time: "simulated"
	quiet bool
	now   func() time.Time
	shown time.Time
	pace  pace
}

func newProgressPrinter(out io.Writer, total time.Duration, quiet bool) *progressPrinter {
	return &progressPrinter{out: consoleOn(out), total: total, done: "simulated", quiet: quiet, now: time.Now, shown: time.Now()}
}

// newReplayProgress is for so many nanoseconds of a recording.
func newReplayProgress(out io.Writer, totalNs int64, quiet bool) *progressPrinter {
	p := newProgressPrinter(out, time.Duration(totalNs), quiet)
	p.done = "replayed"
	return p
}

// start says what the run works on.
func (p *progressPrinter) start(info gpu.Info, w *scene.World) {
	p.shown = p.now()
	if p.quiet {
		return
	}
	fmt.Fprintf(p.out, "scene %s: %d triangles, %d actors; OpenGL on %s (%s)\n",
		w.Scene.Name, w.Triangles(), len(w.Scene.Actors), info.Renderer, info.Device)
}

// update shows how far the run is, if that wasn't shown a moment ago.
func (p *progressPrinter) update(at pipeline.Progress) {
	p.pace.add(at)
	interval := lineInterval
	if p.out.moves {
		interval = moveInterval
	}
	if p.quiet || p.now().Sub(p.shown) < interval {
		return
	}
	p.shown = p.now()
	if p.out.moves {
		p.out.move(p.line(at))
	} else {
		fmt.Fprintln(p.out, p.text(at))
	}
}

// text says how far the run is: "45 %, 4.5 of 10.0 s simulated, real-time factor 2.31, 2s left".
func (p *progressPrinter) text(at pipeline.Progress) string {
	factor := p.pace.factor()
	if p.total <= 0 {
		return fmt.Sprintf("%.1f s %s, real-time factor %.2f", at.Simulated.Seconds(), p.done, factor)
	}
	text := fmt.Sprintf("%d %%, %.1f of %.1f s %s, real-time factor %.2f",
		100*min(at.Simulated, p.total)/p.total, at.Simulated.Seconds(), p.total.Seconds(), p.done, factor)
	if left := p.total - at.Simulated; factor > 0 && left > 0 {
		if wait := left.Seconds() / factor; wait < maxWait.Seconds() {
			text += fmt.Sprintf(", %v left", time.Duration(wait*float64(time.Second)).Round(time.Second))
		}
	}
	return text
}

// maxWait is the longest time left that is worth telling.
const maxWait = 1000 * time.Hour

// The bar beside the text, where the terminal has room for it.
const (
	barWidth    = 30
	minBarWidth = 5
	usualWidth  = 80 // of a terminal that doesn't tell
)

// line is the text with a bar before it, both together no longer than the terminal is wide.
func (p *progressPrinter) line(at pipeline.Progress) string {
	columns := p.out.columns()
	if columns == 0 {
		columns = usualWidth
	}
	columns-- // a full line would wrap on some
	text := p.text(at)
	room := min(barWidth, columns-utf8.RuneCountInString(text)-len("[] "))
	if p.total <= 0 || room < minBarWidth {
		return text[:max(0, min(len(text), columns))] // it is ASCII
	}
	full := max(0, min(room, int(time.Duration(room)*at.Simulated/p.total)))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "] " + text
}

// stop takes the line away that moves.
func (p *progressPrinter) stop() { p.out.move("") }

// paceSpan is how far back a pace looks, at least, once so much time has passed.
const paceSpan = 5 * time.Second

// pace is how fast simulated time went lately. The zero value is ready.
type pace struct {
	// last is the latest progress; before and between are the beginnings of the span that
	// counts and of the one that will.
	before, between, last pipeline.Progress
}

func (p *pace) add(at pipeline.Progress) {
	p.last = at
	if at.Wall-p.between.Wall >= paceSpan {
		p.before, p.between = p.between, at
	}
}

// factor is simulated time by the time that it took, 0 where none has passed.
func (p *pace) factor() float64 {
	wall := p.last.Wall - p.before.Wall
	if wall <= 0 {
		return 0
	}
	return (p.last.Simulated - p.before.Simulated).Seconds() / wall.Seconds()
}
