package gltf

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// modelAxes turns the model's axes and units into REP-103's, the axes first.
type modelAxes struct {
	spatial.AxesRotation         // Out leads from the model's axes to ours
	scale                float64 // metres per unit
}

// newAxes reads the options; see Options.
func newAxes(up, forward string, scale float64) (modelAxes, error) {
	u, err := parseAxis("up", up, "+y")
	if err != nil {
		return modelAxes{}, err
	}
	f, err := parseAxis("forward", forward, "+z")
	if err != nil {
		return modelAxes{}, err
	}
	if u.Dot(f) != 0 {
		return modelAxes{}, faultf(ErrOptions, "up %q and forward %q must be different axes", up, forward)
	}
	if scale == 0 {
		scale = 1
	}
	if scale <= 0 || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return modelAxes{}, faultf(ErrOptions, "scale %v must be a positive number of metres per unit", scale)
	}
	return modelAxes{spatial.NewAxesRotation(f, u.Cross(f), u), scale}, nil
}

// parseAxis reads "+y", "y" or "-y".
func parseAxis(option, s, fallback string) (mgl64.Vec3, error) {
	if s == "" {
		s = fallback
	}
	sign, letter := 1.0, s
	switch s[0] {
	case '+':
		letter = s[1:]
	case '-':
		sign, letter = -1, s[1:]
	}
	switch letter {
	case "x", "X":
		return mgl64.Vec3{sign, 0, 0}, nil
	case "y", "Y":
		return mgl64.Vec3{0, sign, 0}, nil
	case "z", "Z":
		return mgl64.Vec3{0, 0, sign}, nil
	}
	return mgl64.Vec3{}, faultf(ErrOptions, "%s %q is no axis: give +x, -x, +y, -y, +z or -z", option, s)
}

// point turns and scales a position or translation.
func (a *modelAxes) point(v mgl64.Vec3) mgl64.Vec3 { return a.Out(v).Mul(a.scale) }

func (a *modelAxes) trs(t scene.TRS) scene.TRS {
	return scene.TRS{Translation: a.point(t.Translation), Rotation: a.OutRotation(t.Rotation), Scale: a.OutSize(t.Scale)}
}
