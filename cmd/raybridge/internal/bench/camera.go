package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
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

func (k *pictureCase) name() string { return fmt.Sprintf("%dx%d_%s", k.width, k.height, k.outputs) }

func pictureCases() []pictureCase {
	all := []*sensors.Definition{camera.RGBDefinition, camera.DepthDefinition, camera.SemanticDefinition, camera.InstanceDefinition}
	const allOutputs = "rgb_depth_semantic_instance"
	return []pictureCase{
		{640, 480, allOutputs, all},
		{1280, 720, allOutputs, all},
		{640, 480, "rgb", all[:1]},
		{1280, 720, "rgb", all[:1]},
	}
}

// Camera measures camera.frames_per_s: frames with all their pictures over the
// wall time, shadows and textures on. It appends to the report.
func Camera(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases, err := wanted(&cfg, pictureCases(), (*pictureCase).name)
	if err != nil {
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
		name := cases[i].name()
		fmt.Fprintf(cfg.Progress, "camera %s\n", name)
		result, err := st.picture(ctx, &cfg, &cases[i])
		if err != nil {
			return fmt.Errorf("camera %s: %w", name, err)
		}
		results = append(results, result)
	}
	report.add(describeScene(cfg.Source.Name, s), append(results, memory.result("camera")...))
	return nil
}

// picture measures one set of pictures.
func (st *stage) picture(ctx context.Context, cfg *Config, k *pictureCase) (result Result, err error) {
	var members []member
	for _, d := range k.cameras {
		members = append(members, member{name: d.ID, definition: d, mount: cameraMount, settings: map[string]any{
			"image_size_x": k.width, "image_size_y": k.height, "fov": cameraFov,
		}})
	}
	r, err := st.rigUp(ctx, members)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	t, err := r.measure(ctx, cfg)
	if err != nil {
		return Result{}, err
	}
	result = Result{
		Name: "camera.frames_per_s", Case: k.name(), Unit: "frames/s", Runs: t.rates,
		Note: fmt.Sprintf("%d pictures a frame, %d frames a run", len(k.cameras), t.frames),
	}
	if cfg.Dump == nil {
		return result, nil
	}
	if err := r.snapshot(ctx); err != nil {
		return Result{}, err
	}
	return result, cfg.Dump.pictures(st, k, r.kept)
}
