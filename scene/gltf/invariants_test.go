package gltf_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
)

// checkAsset fails the test unless the asset keeps what package scene says of
// assets.
func checkAsset(t testing.TB, a *scene.Asset) {
	t.Helper()
	require.NoError(t, assetFault(a))
}

func assetFault(a *scene.Asset) error {
	for i := range a.Meshes {
		if err := meshFault(&a.Meshes[i], len(a.Materials)); err != nil {
			return fmt.Errorf("mesh %d: %w", i, err)
		}
	}
	for i, m := range a.Materials {
		for _, texture := range []int{m.BaseColorTexture, m.MetalRoughTexture, m.EmissiveTexture} {
			if texture < scene.NoTexture || texture >= len(a.Textures) {
				return fmt.Errorf("material %d: texture %d", i, texture)
			}
		}
	}
	for i, tex := range a.Textures {
		if want := 4 * tex.Image.Rect.Dx() * tex.Image.Rect.Dy(); len(tex.Image.Pix) != want || want == 0 {
			return fmt.Errorf("texture %d: %d bytes for %v", i, len(tex.Image.Pix), tex.Image.Rect)
		}
	}
	for i, n := range a.Nodes {
		s := n.Local.Scale
		if n.Parent >= i || n.Parent < -1 || n.Mesh >= len(a.Meshes) || n.Tag >= scene.TagCount || s[0]*s[1]*s[2] < 0 {
			return fmt.Errorf("node %d: %+v", i, n)
		}
		if d := n.Local.Rotation.Len() - 1; math.Abs(d) > 1e-9 || !finite(n.Local.Translation[:]...) || !finite(s[:]...) {
			return fmt.Errorf("node %d: %+v", i, n)
		}
	}
	for i, animation := range a.Animations {
		for j, c := range animation.Channels {
			if err := channelFault(&c, len(a.Nodes)); err != nil {
				return fmt.Errorf("animation %d, channel %d: %w", i, j, err)
			}
		}
	}
	_, err := new(scene.Scene).Add(a, scene.Placement{})
	return err
}

func meshFault(m *scene.Mesh, materials int) error {
	if len(m.Normals) != len(m.Positions) || m.UVs != nil && len(m.UVs) != len(m.Positions) {
		return fmt.Errorf("%d positions, %d normals, %d uvs", len(m.Positions), len(m.Normals), len(m.UVs))
	}
	for i := range m.Positions {
		p, n := wide(m.Positions[i]), wide(m.Normals[i])
		if !finite(p[:]...) || math.Abs(n.Len()-1) > 1e-5 {
			return fmt.Errorf("vertex %d: %v, normal %v", i, p, n)
		}
		if m.UVs != nil && !finite(float64(m.UVs[i][0]), float64(m.UVs[i][1])) {
			return fmt.Errorf("vertex %d: uv %v", i, m.UVs[i])
		}
	}
	for _, v := range m.Indices {
		if int(v) >= len(m.Positions) {
			return fmt.Errorf("index %d of %d", v, len(m.Positions))
		}
	}
	next := 0
	for _, g := range m.Groups {
		if g.First != next || g.Count <= 0 || g.Count%3 != 0 || g.Material < 0 || g.Material >= materials {
			return fmt.Errorf("group %+v after %d", g, next)
		}
		next += g.Count
	}
	if next != len(m.Indices) {
		return fmt.Errorf("groups end at %d of %d", next, len(m.Indices))
	}
	return nil
}

func channelFault(c *scene.Channel, nodes int) error {
	per := 3
	if c.Path == scene.PathRotation {
		per = 4
	}
	if c.Interpolation == scene.InterpolationCubicSpline {
		per *= 3
	}
	if c.Node < 0 || c.Node >= nodes || len(c.TimesNs) == 0 || len(c.Values) != per*len(c.TimesNs) || !finite(c.Values...) {
		return fmt.Errorf("%+v", c)
	}
	for i := range c.TimesNs {
		if i > 0 && c.TimesNs[i] <= c.TimesNs[i-1] {
			return fmt.Errorf("times %v", c.TimesNs)
		}
	}
	return nil
}

func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
