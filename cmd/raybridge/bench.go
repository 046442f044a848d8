package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// benchFlags are the flags of `raybridge bench` and what is below it.
type benchFlags struct {
	scene     string
	triangles int
	seed      uint64
	device    deviceFlags
	json      string
	dump      string
	runs      int
	plot      string
	clockTime time.Duration
	cases     []string
	rigs      []string
	beside    string
	quick     bool
}

// measurement is one bench.
type measurement func(context.Context, bench.Config, *bench.Report) error

// subject is what a command measures.
type subject struct {
	measure []measurement
	needsGL bool
	draws   bool // it has charts
}

// Runs of --quick.
const (
	quickRuns    = 3
	quickRunTime = 200 * time.Millisecond
)

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure sensors, scenes, readback, dispatcher, clock, streams, bridges, steps, growth, kernels, whole runs, live pages, scrapes, sweeps and data sets",
		Long: "Measure sensors, scenes, the readback pool, the dispatcher, the clock, streams, bridges, steps of a world, growth, kernels, whole runs, live pages, scrapes, sweeps and data sets.\n\n" +
			"The command alone measures everything except Python. Leave the machine idle meanwhile.",
		Example: "  raybridge bench --json out/bench.json\n" +
			"  raybridge bench readback --plot out/readback.html\n" +
			"  raybridge bench lidar --triangles 1000000 --dump out/dump",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := []measurement{bench.Lidar, bench.Camera, bench.BVH, bench.Readback, bench.Dispatch, bench.Clock, bench.Stream, bench.Bridges, bench.World, bench.Growth, bench.Kernels, bench.Demo, bench.RealTime, bench.View, bench.Metrics, bench.Sweep, bench.Dataset}
			return runBench(cmd, &f, subject{measure: all, needsGL: true, draws: true})
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.scene, "scene", config.SceneCity, sceneUsage)
	flags.IntVar(&f.triangles, "triangles", 0, "triangles of the city; 0 is 100000, for bvh and kernels 1000000, and several sizes for growth and embree")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the city")
	f.device.register(flags)
	flags.StringVar(&f.json, "json", "", "write the figures to `FILE.json`")
	flags.StringVar(&f.plot, "plot", "", "draw frame times and histograms into `FILE.png`, .svg or .html; a .html has the figures too")
	flags.StringVar(&f.dump, "dump", "", "write the measurements of lidars and cameras to `DIR`, to compare other programs with")
	flags.IntVar(&f.runs, "runs", 0, "`N` runs a figure is the median of; 0 is 5, with --quick 3")
	flags.BoolVar(&f.quick, "quick", false, "short runs, for a first look")
	completeFlags(cmd)
	for _, b := range []struct {
		name, short string
		measure     measurement
		gl, draws   bool
		cases       bool
	}{
		{"lidar", "Measure rays per second of whole scans", bench.Lidar, true, false, true},
		{"camera", "Measure frames per second with all their pictures", bench.Camera, true, false, true},
		{"readback", "Measure frame times of blocking and asynchronous readback", bench.Readback, true, true, true},
		{"dispatch", "Measure the dispatcher against a plain channel", bench.Dispatch, false, true, true},
		{"clock", "Measure how late the clock's publisher is", bench.Clock, true, true, true},
		{"stream", "Measure the stream server and client against a bare TCP connection", bench.Stream, false, false, true},
		{"bridges", "Measure bridges against the plain writers of their protocols", bench.Bridges, false, false, true},
		{"world", "Measure steps of a world by Go, the stream and JSON", bench.World, false, false, true},
		{"python", "Measure steps and pictures by the package of Python", bench.Python, false, false, true},
		{"growth", "Measure how the time of scans and frames grows with what is in them", bench.Growth, true, true, true},
		{"embree", "Measure lidars by CPU time, and Embree beside them", bench.Embree, true, false, true},
		{"kernels", "Measure the device's own time of each kernel", bench.Kernels, false, false, true},
		{"demo", "Measure how much faster than real time whole runs record", bench.Demo, false, false, true},
		{"realtime", "Measure whether a large rig keeps up with real time", bench.RealTime, false, false, true},
		{"metrics", "Measure what a scrape of a run's metrics costs", bench.Metrics, false, false, true},
		{"sweep", "Measure how many cases a sweep runs a minute, and what it adds to them", bench.Sweep, false, false, true},
		{"dataset", "Measure how fast a data set is written, beside a recording, and its memory", bench.Dataset, false, false, true},
		{"view", "Measure what live pages cost a run", bench.View, false, false, false},
		{"bvh", "Measure how long a scene takes to be built, and to be loaded from the cache", bench.BVH, false, false, false},
	} {
		s := subject{[]measurement{b.measure}, b.gl, b.draws}
		c := &cobra.Command{
			Use: b.name, Short: b.short, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd, &f, s) },
		}
		if b.cases {
			c.Flags().StringArrayVar(&f.cases, "case", nil, "measure only the case `NAME`; repeatable")
		}
		switch b.name {
		case "demo":
			c.Flags().StringArrayVar(&f.rigs, "rig", nil, "run the rig of `FILE`, too; repeatable")
		case "embree":
			c.Flags().StringVar(&f.beside, "program", filepath.Join("bin", "embree_check"), "`PROGRAM` of Embree, which make bench WHAT=embree builds")
		case "clock":
			c.Flags().DurationVar(&f.clockTime, "duration", 0, "length of a run; 0 is 10s, with --quick 1s")
		case "realtime":
			c.Flags().DurationVar(&f.clockTime, "duration", 0, "length of the run; 0 is 1m, with --quick 2s")
		}
		cmd.AddCommand(c)
	}
	return cmd
}

// runBench measures and writes the figures. Whatever can't be written is found
// before anything is measured.
func runBench(cmd *cobra.Command, f *benchFlags, s subject) (err error) {
	open, err := f.device.opener()
	if err != nil {
		return usage(err)
	}
	if err := f.checkPlot(s.draws); err != nil {
		return usage(err)
	}
	c, err := f.config()
	if err != nil {
		return usage(err)
	}
	c.Progress, c.Open = cmd.ErrOrStderr(), open
	report := &bench.Report{Machine: bench.ThisMachine()}
	if s.needsGL {
		if c.GL, err = gpu.Start(open); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.GL.Close()) }()
		info := c.GL.Info()
		report.Machine.Device = strings.Join([]string{info.Renderer, info.Version, info.Device}, "; ")
	}
	var refused error
	for _, measure := range s.measure {
		err := measure(cmd.Context(), c, report)
		if cmd.Context().Err() != nil {
			return &exitError{exitInterrupted, errors.New("interrupted: nothing was measured to its end")}
		}
		if errors.Is(err, bench.ErrConfig) {
			return usage(err)
		}
		if errors.Is(err, bench.ErrRefused) { // the other figures count
			refused = errors.Join(refused, err)
			continue
		}
		if err != nil {
			return sceneFault(err)
		}
	}
	report.Machine.End()
	if err := errors.Join(report.WriteText(cmd.OutOrStdout()), f.write(report, c.Dump)); err != nil {
		return errors.Join(err, refused)
	}
	return refusedFigures(refused)
}

// refusedFigures is the error of a bench whose other figures are written. A loop that was only too slow beside
// another doesn't fail it.
func refusedFigures(refused error) error {
	if refused == nil || errors.Is(refused, bench.ErrWrongData) {
		return refused
	}
	return &exitError{exitIncomplete, refused}
}

// write writes the files that were asked for.
func (f *benchFlags) write(report *bench.Report, dump *bench.Dump) (err error) {
	if dump != nil {
		err = dump.Close()
	}
	if f.plot != "" {
		err = errors.Join(err, report.WritePlot(f.plot))
	}
	if f.json == "" {
		return err
	}
	var figures bytes.Buffer
	if failed := report.WriteJSON(&figures); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, fault.File(os.WriteFile(f.json, figures.Bytes(), 0o644)))
}

// checkPlot tells whether --plot names a picture that can be made.
func (f *benchFlags) checkPlot(charts bool) error {
	if f.plot == "" {
		return nil
	}
	if err := bench.CheckPlot(f.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	if !charts && !strings.EqualFold(filepath.Ext(f.plot), ".html") {
		return fmt.Errorf("--plot %s: %w of these figures; name it .html to get them as a page", f.plot, bench.ErrNoCharts)
	}
	return nil
}

// config reads the flags.
func (f *benchFlags) config() (bench.Config, error) {
	program, err := os.Executable()
	if err != nil {
		return bench.Config{}, fmt.Errorf("find the program itself: %w", err)
	}
	c := bench.Config{
		Program: program, Device: f.device.name(), RigFiles: f.rigs, DemoRig: string(demoYAML), Beside: f.beside, Triangles: f.triangles, Runs: f.runs, Cases: f.cases, Source: f.source(), ClockTime: f.clockTime, Quick: f.quick,
	}
	if name := f.device.name(); f.device.isAuto() || name == gpu.HostDevice {
		c.Threads = func(n int) gpu.Opener { return hostdev.Open(hostdev.Options{ISA: f.device.host.ISA, Threads: n}) }
	}
	if f.runs < 0 || f.triangles < 0 || f.clockTime < 0 {
		return c, fmt.Errorf("--runs %d, --triangles %d, --duration %v: none may be negative", f.runs, f.triangles, f.clockTime)
	}
	if f.quick {
		c.RunTime = quickRunTime
		if c.Runs == 0 {
			c.Runs = quickRuns
		}
	}
	for flag, path := range map[string]string{"--json": f.json, "--plot": f.plot} {
		if path == "" {
			continue
		}
		if err := proveFile(flag, path); err != nil {
			return c, err
		}
	}
	if f.dump == "" {
		return c, nil
	}
	c.Dump, err = bench.NewDump(f.dump)
	return c, err
}

// source makes the scene that --scene names.
func (f *benchFlags) source() bench.Source {
	return bench.Source{
		Name: filepath.Base(f.scene), Sized: f.scene == config.SceneCity,
		Load: func(ctx context.Context, triangles int) (*scene.Scene, error) {
			c := config.Default()
			c.Seed, c.Scene.Triangles = f.seed, triangles
			c.Scene.Choose(f.scene)
			if c.Scene.File != "" { // what it holds is measured, without those who may come into it
				c.World.Capacity = 0
			}
			s, _, err := raybridge.SceneOf(ctx, c, nil)
			return s, usage(err)
		},
	}
}
