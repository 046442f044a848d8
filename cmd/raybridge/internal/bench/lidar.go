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
	named
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

func scanCases() (list []scanCase) {
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		d, _ := lidar.Preset(preset) // one that isn't there is refused by the sensor
		list = append(list, scanCase{named{preset}, d, map[string]any{"preset": preset}})
	}
	return append(list, scanCase{
		named:  named{fmt.Sprintf("uniform_%dx%d", uniformColumns, uniformLasers)},
		device: lidar.UniformDevice(uniformLasers, uniformColumns, uniformFov, -uniformFov, 360),
		settings: map[string]any{
			"preset": lidar.Uniform, "channels": uniformLasers, "columns": uniformColumns,
			"upper_fov": uniformFov, "lower_fov": -uniformFov, "range": uniformRange,
		},
	})
}

// Lidar measures lidar.rays_per_s: the rays of complete scans over the wall time
// of dispatch and readback, all fields of all rays. A scan is of one instant and
// without noise. It appends to the report.
func Lidar(ctx context.Context, config Config, report *Report) error {
	b := sensorBench[scanCase]{"lidar", scanCases(), (*stage).scan}
	return b.run(ctx, config, report)
}

// scan measures one lidar.
func (st *stage) scan(ctx context.Context, k scanCase) (result Result, err error) {
	k.settings["rolling"], k.settings["organized"] = false, true
	k.settings["dropoff_general_rate"], k.settings["dropoff_zero_intensity"] = 0, 0
	r, err := st.rigUp(ctx, []member{{name: "lidar", definition: lidar.RayCastDefinition, mount: lidarMount, settings: k.settings}}, nil)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	rates, scans, err := r.measure(ctx, st.cfg)
	if err == nil {
		err = r.snapshot(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	cloud := r.kept["lidar"].(*sample.PointCloud)
	rays, hits := float64(len(cloud.Points)), 0.0
	for i := range cloud.Points {
		if cloud.Points[i].Return != sample.ReturnUnknown {
			hits++
		}
	}
	if st.cfg.Dump != nil {
		err = st.cfg.Dump.scan(st, &k, cloud)
	}
	note := fmt.Sprintf("%.0f rays a scan, %.0f %% hit, %d scans a run", rays, 100*hits/rays, scans)
	return Result{"lidar.rays_per_s", k.name, "rays/s", times(rays, rates), note}, err
}
