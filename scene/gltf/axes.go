package gltf

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
)

// axes turns the model's axes and units into REP-103's: a signed permutation
// of coordinates that is always a rotation, then a uniform scale.
type axes struct {
	from  [3]int     // which model axis each of ours is
	sign  [3]float64 // and which way it points
	scale float64    // metres per unit
}

// newAxes reads the options; see Options.
func newAxes(up, forward string, scale float64) (axes, error) {
	u, err := parseAxis("up", up, "+y")
	if err != nil {
		return axes{}, err
	}
	f, err := parseAxis("forward", forward, "+z")
	if err != nil {
		return axes{}, err
	}
	if u.Dot(f) != 0 {
		return axes{}, faultf(ErrOptions, "up %q and forward %q must be different axes", up, forward)
	}
	if scale == 0 {
		scale = 1
	}
	if scale <= 0 || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return axes{}, faultf(ErrOptions, "scale %v must be a positive number of metres per unit", scale)
	}
	a := axes{scale: scale}
	for row, v := range [3]mgl64.Vec3{f, u.Cross(f), u} {
		for col, x := range v {
			if x != 0 {
				a.from[row], a.sign[row] = col, x
			}
		}
	}
	return a, nil
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

// direction turns a direction.
func (a *axes) direction(v mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{a.sign[0] * v[a.from[0]], a.sign[1] * v[a.from[1]], a.sign[2] * v[a.from[2]]}
}

// point turns and scales a position or translation.
func (a *axes) point(v mgl64.Vec3) mgl64.Vec3 { return a.direction(v).Mul(a.scale) }

// scaling permutes a node's scale factors, which have no direction.
func (a *axes) scaling(v mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{v[a.from[0]], v[a.from[1]], v[a.from[2]]}
}

// rotation turns a quaternion: its axis is a direction, as axes is a rotation.
func (a *axes) rotation(q mgl64.Quat) mgl64.Quat {
	return mgl64.Quat{W: q.W, V: a.direction(q.V)}
}

func (a *axes) trs(t scene.TRS) scene.TRS {
	return scene.TRS{Translation: a.point(t.Translation), Rotation: a.rotation(t.Rotation), Scale: a.scaling(t.Scale)}
}
