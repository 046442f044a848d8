package bench

import (
	"bytes"
	"fmt"
	"text/tabwriter"
)

// readme explains the files.
func (d *Dump) readme() []byte {
	var b bytes.Buffer
	if d.world == nil {
		return []byte("Nothing was dumped: neither a lidar nor a camera was measured.\n")
	}
	fmt.Fprintf(&b, readmeHead, d.world.scene, d.world.count, d.frame())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range d.entries {
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.name, e.shape, e.text)
	}
	_ = t.Flush() // into memory
	axis := d.world.camera.Rotate([3]float64{1, 0, 0})
	fmt.Fprintf(&b, readmeTail, axis[0], axis[1], axis[2])
	return b.Bytes()
}

// frame says where coordinates are counted from.
func (d *Dump) frame() string {
	a := d.world.anchor
	text := "Its origin is the map frame's."
	if a.Len() > 0 {
		text = fmt.Sprintf("Its origin is (%g, %g, %g) in the map frame.", a[0], a[1], a[2])
	}
	for _, place := range []struct {
		what string
		at   [3]float64
	}{{"lidar", d.world.lidar.Position}, {"camera", d.world.camera.Position}} {
		text += fmt.Sprintf("\nThe %s stands at (%.4f, %.4f, %.4f).", place.what, place.at[0], place.at[1], place.at[2])
	}
	return text
}

const readmeHead = `What raybridge bench measured: scene %s, %d triangles, standing still at time 0.

Frame: metres, right-handed, x forward, y left, z up (REP-103). %s

Files are arrays without a header, little-endian, the last dimension running fastest. The end of a name is the
type: f32 is an IEEE single, u8, u16 and u32 are unsigned integers.

`

const readmeTail = `
Holding another ray caster beside it: trace rays.f32 against triangles.f32, both sides of a triangle count, from
the lower to the upper of limits.f32, and compare the distances with ranges.f32. A hit beyond the limits
is no hit here. Both should agree within 1 mm + 1e-5 of the range, except where a ray passes within a
fraction of a millimetre of an edge. Where there is a file triangle_cutouts.u8, its triangles have holes.
The rays of a camera are rays_WIDTHxHEIGHT.f32; a depth is the distance along the ray times the
cosine between the ray and the optical axis, which is (%.9f, %.9f, %.9f).

In Python:
    import numpy as np
    triangles = np.fromfile("triangles.f32", "<f4").reshape(-1, 3, 3)
    rays = np.fromfile("rays.f32", "<f4").reshape(-1, 6)
    limits = np.fromfile("limits.f32", "<f4").reshape(-1, 2)
    ranges = np.fromfile("ranges.f32", "<f4")
`
