package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// lidarMount is where the demo rig has its lidar.
var lidarMount = spatial.FromRPY(mgl64.Vec3{0.9, 0, 1.9}, 0, 0, 0)

// scanCase is one lidar to measure.
type scanCase struct {
	name     string
	device   lidar.Device
	settings map[string]any
}

// The uniform lidar: 64 lasers over 40 degrees.
const (
	uniformLasers  = 64
	uniformColumns = 1800
	uniformFov     = 20.0  // degrees up and down
	uniformRange   = 100.0 // metres
)

func scanCases() ([]scanCase, error) {
	var list []scanCase
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		d, ok := lidar.Preset(preset)
		if !ok {
			return nil, fmt.Errorf("%w: no lidar preset %s", ErrConfig, preset)
		}
		list = append(list, scanCase{preset, d, map[string]any{"preset": preset}})
	}
	return append(list, scanCase{
		name:   fmt.Sprintf("uniform_%dx%d", uniformColumns, uniformLasers),
		device: lidar.UniformDevice(uniformLasers, uniformColumns, uniformFov, -uniformFov, 360),
		settings: map[string]any{
			"preset": lidar.Uniform, "channels": uniformLasers, "columns": uniformColumns,
			"upper_fov": uniformFov, "lower_fov": -uniformFov, "range": uniformRange,
		},
	}), nil
}

// Lidar measures lidar.rays_per_s: the rays of complete scans over the wall time
// of dispatch and readback, all fields of all rays. A scan is of one instant and
// without noise. It appends to the report.
func Lidar(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases, err := scanCases()
	if err != nil {
		return err
	}
	if cases, err = wanted(&cfg, cases, func(k *scanCase) string { return k.name }); err != nil {
		return err
	}
	memory := watchMemory()
	s, err := cfg.load(ctx, sensorTriangles)
	if err != nil {
		return err
	}
	st, err := openStage(ctx, cfg.GL, s)
	if err != nil {
		return err
	}
	defer st.close()
	var results []Result
	for i := range cases {
		fmt.Fprintf(cfg.Progress, "lidar %s\n", cases[i].name)
		result, err := st.scan(ctx, &cfg, &cases[i])
		if err != nil {
			return fmt.Errorf("lidar %s: %w", cases[i].name, err)
		}
		results = append(results, result)
	}
	report.add(describeScene(cfg.Source.Name, s), append(results, memory.result("lidar")...))
	return nil
}

// scan measures one lidar.
func (st *stage) scan(ctx context.Context, cfg *Config, k *scanCase) (result Result, err error) {
	k.settings["rolling"], k.settings["organized"] = false, true
	k.settings["dropoff_general_rate"], k.settings["dropoff_zero_intensity"] = 0, 0
	r, err := st.rigUp(ctx, []member{{name: "lidar", definition: lidar.RayCastDefinition, mount: lidarMount, settings: k.settings}})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	t, err := r.measure(ctx, cfg)
	if err != nil {
		return Result{}, err
	}
	if err := r.snapshot(ctx); err != nil {
		return Result{}, err
	}
	cloud := r.kept["lidar"].(*sample.PointCloud)
	rays, hits := len(cloud.Points), 0
	for i := range cloud.Points {
		if cloud.Points[i].Return != sample.ReturnUnknown {
			hits++
		}
	}
	result = Result{
		Name: "lidar.rays_per_s", Case: k.name, Unit: "rays/s",
		Note: fmt.Sprintf("%d rays a scan, %.0f %% hit, %d scans a run", rays, 100*float64(hits)/float64(rays), t.frames),
	}
	for _, rate := range t.rates {
		result.Runs = append(result.Runs, rate*float64(rays))
	}
	if cfg.Dump != nil {
		err = cfg.Dump.scan(st, k, cloud)
	}
	return result, err
}
