package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Where the demo rig has its camera, and its horizontal field of view in degrees.
var cameraMount = spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.55}, 0, 0, 0)

const cameraFov = 80.0

// pictureCase is one set of pictures to measure.
type pictureCase struct {
	width, height int
	outputs       string // the definitions' names, as in the case's name
	cameras       []*sensors.Definition
}

func (k pictureCase) title() string { return fmt.Sprintf("%dx%d_%s", k.width, k.height, k.outputs) }

// fourPictures are those of one visibility pass.
var fourPictures = []*sensors.Definition{camera.RGBDefinition, camera.DepthDefinition, camera.SemanticDefinition, camera.InstanceDefinition}

// Camera measures camera.frames_per_s: frames with all their pictures over the
// wall time, shadows and textures on. It appends to the report.
func Camera(ctx context.Context, config Config, report *Report) error {
	const all = "rgb_depth_semantic_instance"
	b := sensorBench[pictureCase]{"camera", []pictureCase{
		{640, 480, all, fourPictures}, {1280, 720, all, fourPictures},
		{640, 480, "rgb_depth_semantic", fourPictures[:3]}, {640, 480, "rgb", fourPictures[:1]}, {1280, 720, "rgb", fourPictures[:1]},
	}, (*stage).pictures}
	return b.run(ctx, config, report)
}

// pictures measures one set of pictures.
func (st *stage) pictures(ctx context.Context, k pictureCase) (result Result, err error) {
	r, err := st.rigUp(ctx, cameras(k.width, k.height, k.cameras...), nil)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	rates, frames, err := r.measure(ctx, st.cfg)
	if err != nil {
		return Result{}, err
	}
	result = Result{"camera.frames_per_s", k.title(), "frames/s", rates, fmt.Sprintf("%d pictures a frame, %d frames a run", len(k.cameras), frames)}
	if st.cfg.Dump == nil {
		return result, nil
	}
	if err := r.snapshot(ctx); err != nil {
		return Result{}, err
	}
	return result, st.cfg.Dump.pictures(st, &k, r.kept)
}

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

func presetCase(preset string) scanCase {
	d, _ := lidar.Preset(preset) // one that isn't there is refused by the sensor
	return scanCase{named{preset}, d, map[string]any{"preset": preset}}
}

func scanCases() []scanCase {
	return []scanCase{presetCase("VelodyneVLP16"), presetCase("VelodyneVLS128"), {
		named:    named{fmt.Sprintf("uniform_%dx%d", uniformColumns, uniformLasers)},
		device:   lidar.UniformDevice(uniformLasers, uniformColumns, uniformFov, -uniformFov, 360),
		settings: uniformSettings(uniformLasers, uniformColumns),
	}}
}

// uniformSettings are those of a lidar whose lasers are evenly spread.
func uniformSettings(lasers, columns int) map[string]any {
	return map[string]any{
		"preset": lidar.Uniform, "channels": lasers, "columns": columns, "upper_fov": uniformFov, "lower_fov": -uniformFov, "range": uniformRange,
	}
}

// lidarMember is a lidar where the demo rig has its one. Its scans are of one instant and have all
// their rays, unless the settings say otherwise.
func lidarMember(name string, settings map[string]any) member {
	all := map[string]any{"rolling": false, "organized": true, "dropoff_general_rate": 0, "dropoff_zero_intensity": 0}
	maps.Copy(all, settings)
	return member{name: name, definition: lidar.RayCastDefinition, mount: lidarMount, settings: all}
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
	r, err := st.rigUp(ctx, []member{lidarMember("lidar", k.settings)}, nil)
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
