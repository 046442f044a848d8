package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/window"
)

// The window's size at the start: two rows of panes around a picture of 640x480.
const (
	windowWidth  = 1280
	windowHeight = 840
)

// runWindowed runs the plan with a window as one more listener. Closing the window ends the
// run as Ctrl-C does.
func runWindowed(cmd *cobra.Command, pl *plan, open gpu.Opener) error {
	w, err := window.Open(window.Options{Title: "raybridge", Width: windowWidth, Height: windowHeight})
	if errors.Is(err, gpu.ErrNotSupported) {
		return fmt.Errorf("%w (raybridge run --headless needs no display)", err)
	}
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, quit := context.WithCancel(cmd.Context())
	watching := make(chan struct{})
	defer func() { <-watching }()
	defer quit()
	go func() {
		defer close(watching)
		select {
		case <-w.Closed():
			quit()
		case <-ctx.Done():
		}
	}()
	return pl.execute(ctx, cmd, open, &windowView{
		config: pl.config, saveDir: pl.saveDir(cmd), window: w, ending: ctx.Done(), quit: quit,
	})
}

// windowView shows a run in a window.
type windowView struct {
	config  *config.Config
	saveDir string
	window  *window.Window
	ending  <-chan struct{} // closed when the run is to end
	quit    func()

	stop    context.CancelFunc
	showing sync.WaitGroup
	err     error // of showing; read after showing
}

// attach listens to all sensors and begins to show them.
func (w *windowView) attach(p *pipeline.Pipeline) error {
	driven, err := w.driven(p)
	if err != nil {
		return err
	}
	options := viewer.Options{
		Title: p.World().Scene.Name, GPU: p.GPU().Renderer, Clock: p.Clock(), Step: w.config.Time.Step,
		SaveDir: w.saveDir, Quit: w.quit, Drive: driven,
		EgoSpeed: func(nowNs int64) float64 {
			state, _ := p.History().State(scene.EgoID, nowNs)
			return state.Twist.Linear.Len()
		},
	}
	v, err := viewer.New(options)
	if err != nil {
		return err
	}
	if err := v.Watch(p); err != nil {
		return err
	}
	// The window outlives the run: it says that recordings are being completed.
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.showing.Go(func() { w.err = v.Show(ctx, w.ending, w.window) })
	return nil
}

// driven returns what the keys steer, nil where something else drives.
func (w *windowView) driven(p *pipeline.Pipeline) (func(scene.Command) error, error) {
	if w.config.Ego.Driver != config.DriverKeys {
		return nil, nil
	}
	d, ok := p.Ego().(*scene.Driven)
	if !ok {
		return nil, fmt.Errorf("drive by keys: the vehicle follows a %T", p.Ego())
	}
	return d.SetCommand, nil
}

// saveDir is where pictures go: the output folder where it was named or the run
// has one, else the working directory.
func (pl *plan) saveDir(cmd *cobra.Command) string {
	if len(pl.config.Bridges) > 0 || pl.flags.report || cmd.Flags().Changed("out") {
		return pl.flags.out
	}
	return "."
}

// finish ends the showing.
func (w *windowView) finish(*pipeline.Pipeline) error {
	w.stop()
	w.showing.Wait()
	if err := cmp.Or(w.err, w.window.Err()); err != nil {
		return fmt.Errorf("show the window: %w", err)
	}
	return nil
}
