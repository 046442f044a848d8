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

func (k pictureCase) title() string { return fmt.Sprintf("%dx%d_%s", k.width, k.height, k.outputs) }

// fourPictures are those of one visibility pass.
var fourPictures = []*sensors.Definition{camera.RGBDefinition, camera.DepthDefinition, camera.SemanticDefinition, camera.InstanceDefinition}

// Camera measures camera.frames_per_s: frames with all their pictures over the
// wall time, shadows and textures on. It appends to the report.
func Camera(ctx context.Context, config Config, report *Report) error {
	const all = "rgb_depth_semantic_instance"
	b := sensorBench[pictureCase]{"camera", []pictureCase{
		{640, 480, all, fourPictures}, {1280, 720, all, fourPictures},
		{640, 480, "rgb", fourPictures[:1]}, {1280, 720, "rgb", fourPictures[:1]},
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
