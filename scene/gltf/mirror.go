package gltf

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
)

// A node whose scale mirrors turns its meshes' triangles round (glTF 2.0,
// section 3.7.4). The asset has no such node: with R the reflection that
// negates our x, a transform T that mirrors is T = (T R) R, where T R doesn't,
// and R goes on to the meshes and the children of the node. A child's
// transform C then becomes R C, or R C R if it doesn't mirror back. On
// translation, rotation and scale this only changes signs.

// mirrors reports whether a scale turns triangles round.
func mirrors(scale mgl64.Vec3) bool { return scale[0]*scale[1]*scale[2] < 0 }

// mirror applies R to a vector where on is true.
func mirror(on bool, v mgl64.Vec3) mgl64.Vec3 {
	if on {
		v[0] = -v[0]
	}
	return v
}

// mirrorRotation is R Q R where on is true: the axis is reflected and the
// angle turned round.
func mirrorRotation(on bool, q mgl64.Quat) mgl64.Quat {
	if on {
		q.V[1], q.V[2] = -q.V[1], -q.V[2]
	}
	return q
}

// mirrorScale is S with R on either side where it is needed.
func (p *placement) mirrorScale(s mgl64.Vec3) mgl64.Vec3 {
	return mirror(p.parentMirrored != p.mirrored, s)
}

// unmirror takes the reflections out of a node's transform, in our axes.
func (p *placement) unmirror(t scene.TRS) scene.TRS {
	return scene.TRS{
		Translation: mirror(p.parentMirrored, t.Translation),
		Rotation:    mirrorRotation(p.parentMirrored, t.Rotation),
		Scale:       p.mirrorScale(t.Scale),
	}
}
