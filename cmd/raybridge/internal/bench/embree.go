// Lidars are measured here beside Embree, which traces the same rays of the same triangles.

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
)

// embreeCase is a lidar in a city of so many triangles.
type embreeCase struct {
	scan      scanCase
	rolling   bool
	triangles int
	cutouts   bool // a tenth of them have holes
}

func (b embreeCase) title() string {
	window := "still"
	if b.rolling {
		window = "rolling"
	}
	return fmt.Sprintf("%s_%s_%d", b.scan.name, window, b.triangles) + setSuffix(b.cutouts)
}

// setSuffix ends the names of a set's cases.
func setSuffix(cutouts bool) string {
	if cutouts {
		return "_cutouts"
	}
	return ""
}

// embreeCases lists a set of cases. SVL's Lidar64 has the elevations of a Velodyne HDL-64E.
func embreeCases(cutouts bool) (list []embreeCase) {
	for _, triangles := range []int{sensorTriangles, bvhTriangles} {
		for _, preset := range []string{"VelodyneVLS128", "Lidar64"} {
			scan := presetCase(preset)
			list = append(list, embreeCase{scan, false, triangles, cutouts}, embreeCase{scan, true, triangles, cutouts})
		}
	}
	return list
}

// embreeExtras lists the cases that are in no geometric mean: a lidar of few rays, whose costs beside
// the rays count.
func embreeExtras() []embreeCase {
	scan := presetCase("VelodyneVLP16")
	return []embreeCase{{scan, false, sensorTriangles, false}, {scan, true, sensorTriangles, false}}
}

var embreeMethod = strings.TrimSpace(`
embree: rays by the CPU time of all threads, with all fields, noise and drop-off. Embree finds the nearest hit of the same rays,
right after, with the instruction set that it chooses itself. It has what stands and each actor that moves as instances. The
rays of a rolling scan are those of a still one there. Ranges are compared without noise and drop-off. In cutouts a tenth of the
triangles has holes: plants. Embree sees these triangles as solid, which is less work: its rays end where raybridge's continue. Ranges aren't compared there.
A geometric mean is that of all cases of a set, run by run. VelodyneVLP16 is in none.`)

// Embree measures lidars by CPU time, and Embree beside them, by the program Beside of the
// configuration. A missing program is an error that wraps ErrConfig. It appends to the report.
func Embree(ctx context.Context, config Config, report *Report) error {
	if _, err := exec.LookPath(config.Beside); err != nil {
		return fmt.Errorf("%w: no program of Embree at %q: make bench WHAT=embree builds it: %w", ErrConfig, config.Beside, err)
	}
	cases := slices.Concat(embreeCases(false), embreeCases(true), embreeExtras())
	if config.Quick && len(config.Cases) == 0 { // the first two
		cases = cases[:2]
	}
	b := caseBench[embreeCase]{"embree", cases, func(cfg *Config, k embreeCase) ([]Result, error) { return k.measure(ctx, cfg) }, embreeMethod}
	if err := b.run(config, report); err != nil {
		return err
	}
	report.addFigures(append(means(report.Results, false), means(report.Results, true)...))
	return nil
}

// means returns the geometric means of a set's ratios, run by run. It returns none of ratios that
// a case of the set lacks.
func means(results []Result, cutouts bool) (rows []Result) {
	set := embreeCases(cutouts)
ratios:
	for _, name := range []string{"lidar.ratio_to_rtcIntersect1", "lidar.ratio_to_rtcIntersect16"} {
		mean := Result{name, "geometric_mean" + setSuffix(cutouts), "times", nil, fmt.Sprintf("of %d cases", len(set))}
		for _, b := range set {
			i := slices.IndexFunc(results, func(r Result) bool { return r.Name == name && r.Case == b.title() })
			if i < 0 {
				continue ratios
			}
			if mean.Runs == nil {
				mean.Runs = slices.Repeat([]float64{1}, len(results[i].Runs))
			}
			for run, v := range results[i].Runs {
				mean.Runs[run] *= math.Pow(v, 1/float64(len(set)))
			}
		}
		rows = append(rows, mean)
	}
	return rows
}

// cutOut gives a tenth of a scene's triangles a chessboard of holes: trees and other plants, mesh by
// mesh. Their texture coordinates are a metre to the unit.
func cutOut(s *scene.Scene) {
	board := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for i := range board.Pix {
		board.Pix[i] = 255
		if x, y := i/4%64, i/256; i%4 == 3 && (x/8+y/8)%2 == 0 {
			board.Pix[i] = 0
		}
	}
	holes := len(s.Materials)
	s.Materials = append(s.Materials, scene.Material{
		Name: "holes", BaseColor: mgl32.Vec4{1, 1, 1, 1}, BaseColorTexture: len(s.Textures), Roughness: 1,
		MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture,
		AlphaMode: scene.AlphaMask, AlphaCutoff: 0.5, Reflectance: 0.5,
	})
	s.Textures = append(s.Textures, scene.Texture{Name: "holes", Image: board})
	uses := make([]int, len(s.Meshes))
	all := 0
	for i := range s.Actors {
		for _, p := range s.Actors[i].Parts {
			all += len(s.Meshes[p.Mesh].Indices) / 3
			if p.Tag == scene.TagVegetation {
				uses[p.Mesh]++
			}
		}
	}
	given := 0
	for i := range s.Meshes {
		m := &s.Meshes[i]
		if uses[i] == 0 || given >= all/10 {
			continue
		}
		given += uses[i] * len(m.Indices) / 3
		m.Groups, m.UVs = []scene.Group{{Count: len(m.Indices), Material: holes}}, nil
		for _, p := range m.Positions {
			m.UVs = append(m.UVs, mgl32.Vec2{p[0] + p[2], p[1] + p[2]})
		}
	}
}

func (b *embreeCase) measure(ctx context.Context, config *Config) (rows []Result, err error) {
	cfg := *config
	cfg.Triangles = cmp.Or(cfg.Triangles, b.triangles)
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the dump: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.Dump, err = NewDump(dir); err != nil {
		return nil, err
	}
	if load := cfg.Source.Load; b.cutouts {
		cfg.Source.Load = func(ctx context.Context, triangles int) (*scene.Scene, error) {
			s, err := load(ctx, triangles)
			if err == nil {
				cutOut(s)
			}
			return s, err
		}
	}
	st, err := openStage(ctx, &cfg, b.triangles)
	if err != nil {
		return nil, err
	}
	defer st.close()
	short := cfg
	short.Runs, short.RunTime = 1, 1
	st.cfg = &short
	if _, err := st.scan(ctx, b.scan); err != nil { // which is dumped
		return nil, err
	}
	st.cfg = &cfg
	settings := map[string]any{"rolling": b.rolling, "noise_stddev": 0.02, "dropoff_general_rate": 0.1, "dropoff_zero_intensity": 0.4}
	maps.Copy(settings, b.scan.settings)
	rates, err := st.cpuRates(ctx, lidarMember("lidar", settings))
	if err != nil {
		return nil, err
	}
	rays := float64(len(b.scan.device.Rays(period)))
	theirs, err := b.embree(ctx, &cfg, dir)
	if err != nil {
		return nil, err
	}
	rows = append([]Result{{"lidar.rays_per_cpu_s", b.title(), "rays/CPU s", times(rays, rates), "all fields"}}, theirs...)
	for _, f := range theirs {
		if of, ok := strings.CutSuffix(f.Name, ".rays_per_cpu_s"); ok && len(f.Runs) == len(rates) {
			rows = append(rows, Result{"lidar.ratio_to_" + of, b.title(), "times", ratios(rows[0].Runs, f.Runs), "by CPU time"})
		}
	}
	return rows, nil
}

// cpuRates returns the scans of a second of CPU time, one value a run.
func (st *stage) cpuRates(ctx context.Context, m member) (rates []float64, err error) {
	r, err := st.rigUp(ctx, []member{m}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	took, err := r.run(ctx, warmUp)
	if err != nil {
		return nil, err
	}
	scans := max(calibrated, int(st.cfg.RunTime*warmUp/max(took, 1)))
	for range st.cfg.Runs {
		before := cpuTime()
		if _, err := r.run(ctx, scans); err != nil {
			return nil, err
		}
		rates = append(rates, float64(scans)/max(cpuTime()-before, time.Microsecond).Seconds())
	}
	return rates, nil
}

// cpuTime is what all threads of this process have computed, in the kernel too (getrusage(2)).
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// embree runs the program, whose lines of figures are "figure NAME VALUE".
func (b *embreeCase) embree(ctx context.Context, cfg *Config, dir string) (rows []Result, err error) {
	seconds := strconv.FormatFloat(cfg.RunTime.Seconds(), 'f', -1, 64)
	cmd := exec.CommandContext(ctx, cfg.Beside, dir, "", strconv.Itoa(cfg.Runs), seconds)
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive") // a thread that waits takes no CPU time
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", cfg.Beside, err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "figure" {
			continue
		}
		value, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, fmt.Errorf("read what %s printed: %w", cfg.Beside, err)
		}
		if n := len(rows); n == 0 || rows[n-1].Name != f[1] {
			unit := "rays/CPU s"
			switch {
			case strings.HasSuffix(f[1], "_percent"):
				unit = "%"
			case strings.HasSuffix(f[1], "_um"):
				unit = "µm"
			}
			rows = append(rows, Result{Name: f[1], Case: b.title(), Unit: unit})
		}
		rows[len(rows)-1].Runs = append(rows[len(rows)-1].Runs, value)
	}
	return rows, nil
}
