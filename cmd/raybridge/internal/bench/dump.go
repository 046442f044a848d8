package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Dump writes what was measured into a folder, as little-endian arrays without
// headers, and a README.txt that explains them. It belongs to one goroutine.
type Dump struct {
	dir     string
	world   *stageFrame // set with the first capture
	entries []dumpEntry // what was written, in order
	written map[string]bool
	scanned bool  // a lidar has taken the names without a suffix
	err     error // the first one; nothing is written after it
}

// dumpEntry is one file's line in the README.
type dumpEntry struct{ name, shape, text string }

// stageFrame says what coordinates mean.
type stageFrame struct {
	scene  string
	anchor mgl64.Vec3
	count  int // triangles
	// Where the camera and the lidar stand.
	camera, lidar spatial.Pose
}

// NewDump makes the folder, and fails where nothing can be written into it.
func NewDump(dir string) (*Dump, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the dump's folder: %w", err)
	}
	d := &Dump{dir: dir, written: map[string]bool{}}
	// The README is complete in the end; until then it says what is missing.
	if err := d.file("README.txt", []byte("unfinished: the bench was interrupted\n")); err != nil {
		return nil, err
	}
	return d, nil
}

// Dir returns the dump's folder.
func (d *Dump) Dir() string { return d.dir }

// Close writes the README. Again it does nothing new.
func (d *Dump) Close() error { return d.file("README.txt", d.readme()) }

func (d *Dump) file(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(d.dir, name), data, 0o644); err != nil {
		return fmt.Errorf("write the dump: %w", err)
	}
	return nil
}

// put writes an array of numbers once, unless something failed before; captures
// of one shape are equal, since the scene stands still.
func put[T float32 | uint32 | uint8](d *Dump, name, shape, text string, values []T) {
	if d.err != nil || d.written[name] {
		return
	}
	d.written[name] = true
	d.entries = append(d.entries, dumpEntry{name, shape, text})
	d.err = d.file(name, gpu.BytesOf(values))
}

// triangles writes the scene, once.
func (d *Dump) triangles(st *stage) {
	if d.world != nil {
		return
	}
	t := st.triangles()
	n := len(t.tags)
	d.world = &stageFrame{
		scene: st.geometry.Scene.Name, anchor: st.geometry.Anchor, count: n,
		camera: st.pose(cameraMount), lidar: st.pose(lidarMount),
	}
	put(d, "triangles.f32", shape(n, 3, 3), "corners of each triangle: x, y, z in metres", t.corners)
	put(d, "triangle_instances.u32", shape(n), "instance id of each triangle's actor", t.instances)
	put(d, "triangle_tags.u8", shape(n), "CARLA's semantic tag of each triangle", t.tags)
	put(d, "triangle_movers.u8", shape(n), "1 where the triangle's actor moves, as a whole or in parts", t.movers)
	if t.holes {
		put(d, "triangle_cutouts.u8", shape(n), "1 where a texture's alpha may cut holes, which rays pass through", t.cut)
	}
}

// scan writes a lidar's last scan. The first lidar's files have the plain names,
// the others' end in the case.
func (d *Dump) scan(st *stage, k *scanCase, cloud *sample.PointCloud) error {
	d.triangles(st)
	suffix := "_" + k.name
	if !d.scanned {
		d.scanned, suffix = true, ""
	}
	n := len(cloud.Points)
	var rays, limits, ranges, intensities []float32
	var instances []uint32
	var tags []uint8
	pose := st.pose(lidarMount)
	for i, r := range k.device.Rays(period) {
		p := &cloud.Points[i]
		rays = appendRay(rays, pose, r.Origin, r.Direction)
		limits = append(limits, float32(r.MinM), float32(r.MaxM))
		ranges = append(ranges, p.Distance)
		intensities = append(intensities, p.Intensity)
		instances = append(instances, p.Instance)
		tags = append(tags, p.Tag)
	}
	of := k.name + ": "
	put(d, "rays"+suffix+".f32", shape(n, 6), of+"origin and unit direction of each ray, column by column", rays)
	put(d, "limits"+suffix+".f32", shape(n, 2), of+"least and greatest range of each ray in metres", limits)
	put(d, "ranges"+suffix+".f32", shape(n), of+"measured metres along the ray, +Inf for no hit within the limits", ranges)
	put(d, "intensities"+suffix+".f32", shape(n), of+"measured, 0 to 100 diffuse, 101 to 255 retroreflectors", intensities)
	put(d, "instances"+suffix+".u32", shape(n), of+"measured instance id, 0 for no hit", instances)
	put(d, "tags"+suffix+".u8", shape(n), of+"measured semantic tag, 0 for no hit", tags)
	return d.err
}

func appendRay(dst []float32, pose spatial.Pose, origin, direction mgl64.Vec3) []float32 {
	o, v := pose.Apply(origin), pose.Rotate(direction)
	return append(dst, float32(o[0]), float32(o[1]), float32(o[2]), float32(v[0]), float32(v[1]), float32(v[2]))
}

// pictures writes a camera's last frame, and the rays through its pixels.
func (d *Dump) pictures(st *stage, k *pictureCase, kept map[string]any) error {
	d.triangles(st)
	size := fmt.Sprintf("_%dx%d", k.width, k.height)
	rays, err := pixelRays(st.pose(cameraMount), k)
	if err != nil {
		return err
	}
	put(d, "rays"+size+".f32", shape(k.height, k.width, 6), "origin and unit direction through each pixel's centre, row 0 at the top", rays)
	for _, camera := range k.cameras {
		picture, ok := kept[camera.ID].(*sample.Image)
		if !ok {
			return fmt.Errorf("%w: %s published no picture", ErrConfig, camera.ID)
		}
		if err := d.picture(picture, size); err != nil {
			return err
		}
	}
	return d.err
}

// picture writes one picture by its encoding.
func (d *Dump) picture(m *sample.Image, size string) error {
	h, w := m.Height, m.Width
	switch m.Encoding {
	case sample.EncodingRGB8:
		put(d, "rgb"+size+".u8", shape(h, w, 3), "measured colour, sRGB", pixels(m, 3))
	case sample.Encoding32FC1:
		put(d, "depth"+size+".f32", shape(h, w), "measured metres along the optical axis, +Inf beyond 1000 m and for the sky", pixels(m, 4))
	case sample.EncodingMono8:
		put(d, "tags"+size+".u8", shape(h, w), "measured semantic tag", pixels(m, 1))
	case sample.Encoding16UC1:
		put(d, "instances"+size+".u16", shape(h, w), "measured instance id, 0 for the sky", pixels(m, 2))
	default:
		return fmt.Errorf("%w: pictures in %s can't be dumped", ErrConfig, m.Encoding)
	}
	return d.err
}

// pixels returns a picture's bytes without the padding of its rows.
func pixels(m *sample.Image, pixelBytes int) []byte {
	data := make([]byte, 0, m.Height*m.Width*pixelBytes)
	for row := range m.Height {
		data = append(data, m.Data[row*m.Step:row*m.Step+m.Width*pixelBytes]...)
	}
	return data
}

// pixelRays are the rays through a picture's pixels in the world frame.
func pixelRays(pose spatial.Pose, k *pictureCase) ([]float32, error) {
	lens, err := camera.NewLens(k.width, k.height, cameraFov)
	if err != nil {
		return nil, err
	}
	optical := pose.Compose(spatial.OpticalInBody())
	rays := make([]float32, 0, 6*k.width*k.height)
	for v := range k.height {
		for u := range k.width {
			rays = appendRay(rays, optical, mgl64.Vec3{}, lens.Ray(float64(u), float64(v)).Normalize())
		}
	}
	return rays, nil
}

// shape writes an array's dimensions, the outermost first.
func shape(dims ...int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(dims)), " x "), "[]")
}

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

const readmeHead = `Measured by raybridge bench: scene %s, %d triangles, standing still at time 0.

Frame: metres, right-handed, x forward, y left, z up (REP-103). %s

Files are arrays without a header, little-endian, the last dimension running fastest. The end of a name is the
type: f32 is an IEEE single, u8, u16 and u32 are unsigned integers.

`

const readmeTail = `
To compare another ray caster, trace rays.f32 against triangles.f32, from the lower to the upper of limits.f32.
Both sides of a triangle count. Compare the distances with ranges.f32. A hit beyond the limits isn't a hit here.
Both should agree within 1 mm + 1e-5 of the range, except where a ray passes within a
fraction of a millimetre of an edge. If there is a file triangle_cutouts.u8, its triangles have holes.
Triangles with 1 in triangle_movers.u8 move with the others of their id in triangle_instances.u32.
The rays of a camera are rays_WIDTHxHEIGHT.f32. A depth is the distance along the ray times the
cosine between the ray and the optical axis, which is (%.9f, %.9f, %.9f).

In Python:
    import numpy as np
    triangles = np.fromfile("triangles.f32", "<f4").reshape(-1, 3, 3)
    rays = np.fromfile("rays.f32", "<f4").reshape(-1, 6)
    limits = np.fromfile("limits.f32", "<f4").reshape(-1, 2)
    ranges = np.fromfile("ranges.f32", "<f4")
`
