// How the time of a capture grows with what it is made of is measured here, as exponents of power
// laws.

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/gpu"
)

// growthCase is a quantity that grows, all else staying as it is.
type growthCase struct {
	named
	of    string // what is timed, for people
	sizes []int
	// measure returns captures a second at one size, one value a run.
	measure func(*growth, context.Context, int) ([]float64, error)
}

// Sizes of the growing quantities. Quick measures the first three of each.
var (
	growingTriangles = []int{40_000, 100_000, 250_000, 500_000, 1_000_000} // the city has at least 40,000
	growingLasers    = []int{4, 16, 64, 256}
	growingWidths    = []int{320, 640, 1280, 1920} // of pictures, whose height is 9/16 of it
	growingSensors   = []int{1, 2, 4, 8, 16}
)

const quickSizes = 3

var growthMethod = strings.TrimSpace(`
growth: milliseconds of a complete capture over one quantity at a time. The scans have 64 lasers in 1800 columns in a city of
100,000 triangles where nothing else is said. growth.exponent is k of the power law time = c * size^k. It is fitted to each
run by least squares of the logarithms, so that the runs tell its spread.`)

// growth holds what is opened once for several sizes.
type growth struct {
	cfg   *Config
	stage *stage // of the default number of triangles
}

// growthCases lists what grows. Threads do where the device lets them be chosen.
func growthCases(cfg *Config) []growthCase {
	list := []growthCase{
		{named{"rays"}, "a scan", lasersTimes(uniformColumns), (*growth).rays},
		{named{"pixels"}, "a frame of four pictures", pixelsOf(growingWidths), (*growth).pixels},
		{named{"sensors"}, "a scan of each lidar of 16x900 rays", growingSensors, (*growth).lidars},
	}
	if cfg.Source.Sized {
		list = append([]growthCase{{named{"triangles"}, "a scan", growingTriangles, (*growth).triangles}}, list...)
	}
	if cfg.Threads != nil {
		list = append(list, growthCase{named{"threads"}, "a scan", doubling(runtime.NumCPU()), (*growth).threads})
	}
	return list
}

func lasersTimes(columns int) (rays []int) {
	for _, n := range growingLasers {
		rays = append(rays, n*columns)
	}
	return rays
}

func pixelsOf(widths []int) (pixels []int) {
	for _, w := range widths {
		pixels = append(pixels, w*w*9/16)
	}
	return pixels
}

// doubling returns 1, 2, 4 ... and the most itself.
func doubling(most int) (list []int) {
	for n := 1; n < most; n *= 2 {
		list = append(list, n)
	}
	return append(list, most)
}

// Growth measures how the time of scans and frames grows over triangles, rays, pixels and
// sensors. Threads come last, where the configuration can open a device with a number of them.
// It appends times, exponents and a chart of each to the report.
func Growth(ctx context.Context, config Config, report *Report) (err error) {
	cfg, cases, err := begin(config, growthCases(&config))
	if err != nil {
		return err
	}
	g := &growth{cfg: &cfg}
	if g.stage, err = openStage(ctx, &cfg, sensorTriangles); err != nil {
		return err
	}
	defer g.stage.close()
	err = measureCases(&cfg, "growth", cases, func(k growthCase) error {
		points, err := g.points(ctx, &k)
		if err == nil {
			report.addGrowth(&k, points)
		}
		return err
	})
	if err != nil {
		return err
	}
	report.addScene(g.stage.describe())
	report.explain(growthMethod)
	return nil
}

// growthPoint is the times of captures at one size.
type growthPoint struct {
	size int
	ms   []float64 // a value a run
}

func (g *growth) points(ctx context.Context, k *growthCase) (list []growthPoint, err error) {
	sizes := k.sizes
	if g.cfg.Quick {
		sizes = sizes[:min(quickSizes, len(sizes))]
	}
	for _, size := range sizes {
		rates, err := k.measure(g, ctx, size)
		if err != nil {
			return nil, fmt.Errorf("%s of %d: %w", k.name, size, err)
		}
		list = append(list, growthPoint{size, each(rates, func(rate float64) float64 { return 1000 / rate })})
	}
	return list, nil
}

// addGrowth adds the times of a quantity's sizes, the exponents and the chart.
func (r *Report) addGrowth(k *growthCase, points []growthPoint) {
	drawn := chart.Chart{
		Title: "Milliseconds of " + k.of + " over " + k.name, X: k.name, Y: "ms", LogX: true, LogY: true,
		Series: []chart.Series{{Name: "median"}, {}},
	}
	line, fit := &drawn.Series[0], &drawn.Series[1]
	var rows []Result
	for _, p := range points {
		rows = append(rows, Result{"growth." + k.name, strconv.Itoa(p.size), "ms", p.ms, k.of})
		line.X, line.Y = append(line.X, float64(p.size)), append(line.Y, median(p.ms))
	}
	if len(points) > 1 {
		exponents := make([]float64, len(points[0].ms))
		for run := range exponents {
			var y []float64
			for _, p := range points {
				y = append(y, p.ms[run])
			}
			exponents[run], _ = powerLaw(line.X, y)
		}
		note := fmt.Sprintf("%s, %d to %d", k.of, points[0].size, points[len(points)-1].size)
		rows = append(rows, Result{"growth.exponent", k.name, "", exponents, note})
		exponent, factor := powerLaw(line.X, line.Y)
		fit.Name = fmt.Sprintf("%s to the power of %.2f", k.name, exponent)
		for _, x := range line.X {
			fit.X, fit.Y = append(fit.X, x), append(fit.Y, factor*math.Pow(x, exponent))
		}
	}
	r.addFigures(rows)
	r.Charts = append(r.Charts, drawn)
}

// powerLaw fits y = factor * x^exponent by least squares of the logarithms. There are at least
// two different x; all values are positive.
func powerLaw(x, y []float64) (exponent, factor float64) {
	var sx, sy, sxx, sxy float64
	for i := range x {
		u, v := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+u, sy+v, sxx+u*u, sxy+u*v
	}
	n := float64(len(x))
	exponent = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return exponent, math.Exp((sy - exponent*sx) / n)
}

// evenLidars are lidars with evenly spread lasers, where the demo rig has its one.
func evenLidars(count, lasers, columns int) (list []member) {
	for i := range count {
		list = append(list, lidarMember("lidar"+strconv.Itoa(i), uniformSettings(lasers, columns)))
	}
	return list
}

// rate measures captures a second of some sensors.
func (st *stage) rate(ctx context.Context, members []member) (rates []float64, err error) {
	r, err := st.rigUp(ctx, members, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	rates, _, err = r.measure(ctx, st.cfg)
	return rates, err
}

func (g *growth) triangles(ctx context.Context, size int) ([]float64, error) {
	cfg := *g.cfg
	cfg.Triangles = size
	return scanRate(ctx, &cfg)
}

// scanRate measures scans a second on a stage of its own.
func scanRate(ctx context.Context, cfg *Config) ([]float64, error) {
	st, err := openStage(ctx, cfg, sensorTriangles)
	if err != nil {
		return nil, err
	}
	defer st.close()
	return st.rate(ctx, evenLidars(1, uniformLasers, uniformColumns))
}

func (g *growth) rays(ctx context.Context, size int) ([]float64, error) {
	return g.stage.rate(ctx, evenLidars(1, size/uniformColumns, uniformColumns))
}

func (g *growth) pixels(ctx context.Context, size int) ([]float64, error) {
	width := int(math.Round(math.Sqrt(float64(size) * 16 / 9)))
	return g.stage.rate(ctx, cameras(width, size/width, fourPictures...))
}

func (g *growth) lidars(ctx context.Context, size int) ([]float64, error) {
	return g.stage.rate(ctx, evenLidars(size, 16, 900))
}

// threads measures on a device of its own, which has so many.
func (g *growth) threads(ctx context.Context, size int) (rates []float64, err error) {
	cfg := *g.cfg
	if cfg.GL, err = gpu.Start(cfg.Threads(size)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cfg.GL.Close()) }()
	return scanRate(ctx, &cfg)
}
