package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
)

// How often progress is shown: a bar that moves, or a line in a log.
const (
	barInterval  = 100 * time.Millisecond
	lineInterval = 5 * time.Second
	barWidth     = 30
)

// progressPrinter shows how far a run is: a bar on a terminal, lines elsewhere.
// Its methods are called by one goroutine at a time.
type progressPrinter struct {
	out      io.Writer
	total    time.Duration
	quiet    bool
	terminal bool
	begun    time.Time
	shown    time.Time
}

func newProgressPrinter(out io.Writer, total time.Duration, quiet bool) *progressPrinter {
	return &progressPrinter{out: out, total: total, quiet: quiet, terminal: isTerminal(out)}
}

// isTerminal reports whether somebody sees what is written as it moves.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// start says what the run works on.
func (p *progressPrinter) start(info gpu.Info, w *scene.World) {
	p.begun = time.Now()
	p.shown = p.begun
	if p.quiet {
		return
	}
	fmt.Fprintf(p.out, "scene %s: %d triangles, %d actors; OpenGL on %s (%s)\n",
		w.Scene.Name, w.Triangles(), len(w.Scene.Actors), info.Renderer, info.Device)
}

func (p *progressPrinter) update(now pipeline.Progress) {
	interval := lineInterval
	if p.terminal {
		interval = barInterval
	}
	if p.quiet || time.Since(p.shown) < interval {
		return
	}
	p.shown = time.Now()
	sim := now.Simulated
	factor := sim.Seconds() / time.Since(p.begun).Seconds()
	if !p.terminal {
		fmt.Fprintf(p.out, "%.1f s simulated, real-time factor %.2f\n", sim.Seconds(), factor)
		return
	}
	bar := ""
	if p.total > 0 {
		full := min(barWidth, int(barWidth*sim/p.total))
		bar = "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "] "
	}
	fmt.Fprintf(p.out, "\r%s%.1f s simulated, real-time factor %.2f \x1b[K", bar, sim.Seconds(), factor)
}

// stop ends the bar's line.
func (p *progressPrinter) stop() {
	if p.terminal && !p.quiet {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
