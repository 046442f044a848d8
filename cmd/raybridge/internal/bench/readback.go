package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/simtime"
)

// ErrRefused is wrapped by the error of a bench some of whose figures don't count
// and were left out. The report has all others, and says why.
var ErrRefused = errors.New("figures were left out")

// readbackCase is the sensors whose data is read back.
type readbackCase struct {
	name    string
	members []member
	pace    pace
	long    bool // left out of a quick bench
}

// firstChart is the case whose charts come first.
const firstChart = "1280x720"

// The beat of a simulator's loop, and of a camera on a vehicle.
const (
	pacedFrames   = 60 // a second
	pacedCaptures = 10 // a second
)

func readbackCases() []readbackCase {
	flatOut := pace{every: 1}
	var list []readbackCase
	for _, size := range [][2]int{{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}} {
		list = append(list, readbackCase{
			name: fmt.Sprintf("%dx%d", size[0], size[1]), members: fourPictures(size[0], size[1]), pace: flatOut, long: size[0] > 1280,
		})
	}
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		list = append(list, readbackCase{name: preset, pace: flatOut, long: preset != "VelodyneVLP16", members: []member{{
			name: "lidar", definition: lidar.RayCast, mount: lidarMount, settings: map[string]any{"preset": preset, "rolling": false},
		}}})
	}
	return append(list, readbackCase{
		name: fmt.Sprintf("1280x720_%dhz", pacedCaptures), members: fourPictures(1280, 720), long: true,
		pace: pace{period: time.Second / pacedFrames, every: pacedFrames / pacedCaptures},
	})
}

// fourPictures are the pictures of one camera.
func fourPictures(width, height int) []member {
	var list []member
	for _, d := range []*sensors.Definition{camera.RGB, camera.Depth, camera.Semantic, camera.Instance} {
		list = append(list, member{name: d.ID, definition: d, mount: cameraMount, settings: map[string]any{
			"image_size_x": width, "image_size_y": height, "fov": cameraFov,
		}})
	}
	return list
}

// wantedReadbacks returns the cases to measure, and whether the bare pool is measured, too.
func (c *Config) wantedReadbacks() (list []readbackCase, bare bool, err error) {
	var names []string
	for _, k := range readbackCases() {
		names = append(names, k.name)
		if c.wants(k.name) && !(c.Quick && k.long && len(c.Cases) == 0) {
			list = append(list, k)
		}
	}
	return list, len(c.Cases) == 0, c.checkCases(names)
}

// Readback measures the frame times of a loop that reads back blocking, and of one
// that reads back through the pool; where the time of a capture goes; and how fast
// the bare pool is beside memcpy. It appends to the report.
//
// An asynchronous loop that lost, changed or reordered data, or made fewer
// captures a second than 0.9 of the blocking loop's, has no figures; the error then
// wraps ErrRefused.
func Readback(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases, bare, err := cfg.wantedReadbacks()
	if err != nil {
		return err
	}
	s, err := cfg.load(ctx, sensorTriangles)
	if err != nil {
		return err
	}
	st, err := openStage(ctx, cfg.GL, s)
	if err != nil {
		return err
	}
	defer st.close()
	measured, err := st.readbacks(ctx, &cfg, cases)
	if err != nil {
		return err
	}
	var results []Result
	if bare {
		fmt.Fprintln(cfg.Progress, "readback of buffers")
		if results, err = bareReadback(ctx, &cfg); err != nil {
			return fmt.Errorf("readback of buffers: %w", err)
		}
	}
	report.addScene(describeScene(cfg.Source.Name, s))
	report.explain(readbackMethod)
	var refused error
	for _, f := range measured {
		report.addFigures(f.results())
		if f.refused != nil {
			report.explain(fmt.Sprintf("Readback %s: the asynchronous loop's figures were left out: %v.", f.name, f.refused))
			refused = errors.Join(refused, fmt.Errorf("readback %s: %w: %w", f.name, ErrRefused, f.refused))
		}
	}
	report.addFigures(results)
	report.Charts = append(report.Charts, readbackCharts(measured)...)
	return refused
}

// readbacks measures the loops of all cases. They run as a loop in real time does,
// on a thread that goes first where the system allows it, with more processors for
// Go's scheduler than there are cores: a frame that is to be short would otherwise
// wait for software OpenGL, workers and the garbage collector.
func (st *stage) readbacks(ctx context.Context, cfg *Config, cases []readbackCase) ([]*readbackFigures, error) {
	priority, release := simtime.TakeThread()
	defer release()
	defer simtime.ReserveProcs()()
	work := calibrateWork(frameWork)
	var measured []*readbackFigures
	for i := range cases {
		fmt.Fprintf(cfg.Progress, "readback %s\n", cases[i].name)
		f, err := st.readback(ctx, cfg, &cases[i], work)
		if err != nil {
			return nil, fmt.Errorf("readback %s: %w", cases[i].name, err)
		}
		if f.refused == nil {
			f.refused = compareRates(f.rates(f.blocking), f.rates(f.async))
		}
		f.priority = priority
		measured = append(measured, f)
	}
	return measured, nil
}

// readback measures the two loops of one case, in turn. Data of the asynchronous
// loop that isn't the blocking one's ends it and is in refused; nothing else is.
func (st *stage) readback(ctx context.Context, cfg *Config, k *readbackCase, work computation) (f *readbackFigures, err error) {
	out, err := openDelivery(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	r, err := st.rigUpFor(ctx, k.members, out.connect)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	l := newFrameLoop(r, out, work, k.pace)
	captures, err := l.captures(ctx, cfg.RunTime)
	if err != nil {
		return nil, err
	}
	f = &readbackFigures{name: k.name, captures: captures}
	for range cfg.Runs {
		if err := f.run(ctx, l); err != nil {
			return nil, err
		}
		if f.refused != nil {
			break
		}
	}
	return f, nil
}

// Captures of a run: fewer say nothing of a loop, more only take longer.
const (
	leastCaptures = 12
	mostCaptures  = 60
	// frameRuns is how much longer a run of frames is than one of a rate: the
	// longest of a few frames says little.
	frameRuns = 3
)

// captures warms the loop up and returns how many captures make a run.
func (l *frameLoop) captures(ctx context.Context, runTime time.Duration) (int, error) {
	if _, err := l.blocking(ctx, warmUp); err != nil {
		return 0, err
	}
	p, err := l.blocking(ctx, calibrated)
	if err != nil {
		return 0, err
	}
	return min(max(int(frameRuns*runTime*calibrated/p.took), leastCaptures), mostCaptures), nil
}

// run makes one run of each loop; what is wrong with the asynchronous one is in
// f.refused.
func (f *readbackFigures) run(ctx context.Context, l *frameLoop) error {
	blocking, err := l.blocking(ctx, f.captures)
	if err != nil {
		return err
	}
	before := l.rig.readbackBuckets()
	async, err := l.asynchronous(ctx, f.captures)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.blocking, f.async = append(f.blocking, blocking), append(f.async, async)
	if err == nil {
		err = compareStreams(blocking.streams, async.streams, f.captures)
	}
	if err == nil {
		f.stages = append(f.stages, async.stages(before, l.rig.readbackBuckets()))
	}
	f.refused = err
	return nil
}
