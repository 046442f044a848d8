package camera

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/camera/calibration"
)

// lensTable is the value of LENS for lenses whose rays are read from a table.
const lensTable = 4

// least is the smallest side of a table: what an interpolation takes. Entries beyond the picture are
// NaN.
const least = 4

// rayTable is what lib/lens.glsl reads of a lens: two numbers a pixel, row 0 the top. They are the
// point that it sees at z = 1, or, of a lens that is wide, its angle from the axis in radians along
// each axis of the picture. NaN where the lens sees nothing.
type rayTable struct {
	width, height int
	wide          bool
	entries       []float32
}

// beyondFlat is the cosine of the angle from which on a lens is wide: 80 degrees.
var beyondFlat = math.Cos(80 * math.Pi / 180)

// rays works the table out, on all processors.
func (l Lens) rays() *rayTable {
	t := &rayTable{width: max(l.Width, least), height: max(l.Height, least), wide: l.wide()}
	t.entries = make([]float32, 2*t.width*t.height)
	var rows sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		rows.Go(func() {
			for y := w; y < t.height; y += workers {
				for x := range t.width {
					a, b := l.entry(x, y, t.wide)
					t.entries[2*(y*t.width+x)], t.entries[2*(y*t.width+x)+1] = float32(a), float32(b)
				}
			}
		})
	}
	rows.Wait()
	return t
}

// wide reports whether the lens sees 80 degrees from its axis and beyond: at the picture's edges, or
// at one of its rows and columns in between.
func (l Lens) wide() bool {
	const stride = 8
	for y := -1; y <= l.Height; y++ {
		across := 1
		if y > 0 && y < l.Height-1 {
			across = max(l.Width-1, 1)
			if y%stride == 0 {
				across = stride
			}
		}
		for x := 0; x < l.Width; x += across {
			if ray := l.Ray(float64(x), float64(y)); ray[2] < beyondFlat*ray.Len() {
				return true
			}
		}
	}
	return false
}

// Fisheye reports whether near and far clipping, which are planar for other lenses, are distances:
// whether the lens is svl_fisheye, or one of those without a formula of their own that sees 80 degrees
// from its axis.
func (l Lens) Fisheye() bool {
	_, fisheye := l.distortion.(svlFisheye)
	return fisheye || l.constant() == lensTable && l.wide()
}

// entry returns what a table has of a pixel.
func (l Lens) entry(x, y int, wide bool) (a, b float64) {
	if x >= l.Width || y >= l.Height {
		return math.NaN(), math.NaN()
	}
	ray := l.Ray(float64(x), float64(y))
	if !wide {
		return ray[0] / ray[2], ray[1] / ray[2]
	}
	if math.IsNaN(ray[0]) {
		return math.NaN(), math.NaN()
	}
	return outwards(ray, angleOf(ray))
}

// block is lib/lens.glsl's, of a view that sees grid points across a pixel.
func (t *rayTable) block(grid int) lensBlock {
	b := lensBlock{shape: [4]float32{0, 1 / float32(grid)}}
	if t.wide {
		b.shape[0] = 1
	}
	return b
}

// sharedTable is a lens's table on the device.
type sharedTable struct {
	once    sync.Once
	rays    *rayTable    // entries are nil once they are in the texture
	texture *gpu.Texture // nil before the first view; the GL thread's
	uses    int          // guarded by rayTables.mu
}

// rayTables are those that views read, by their lenses: equal ones have one.
type rayTables struct {
	mu     sync.Mutex
	lenses map[Lens]*sharedTable // guarded by mu
}

// table returns a lens's table, which release gives back, and works it out for the first who asks; nil
// for a lens that needs none. Any goroutine; the GL thread asks for what somebody holds already.
func (r *rayTables) table(l Lens) *sharedTable {
	if l.constant() != lensTable {
		return nil
	}
	r.mu.Lock()
	t := r.lenses[l]
	if t == nil {
		t = &sharedTable{}
		if r.lenses == nil {
			r.lenses = map[Lens]*sharedTable{}
		}
		r.lenses[l] = t
	}
	t.uses++
	r.mu.Unlock()
	t.once.Do(func() { t.rays = l.rays() })
	return t
}

// release gives a table back; it takes nil. Any goroutine.
func (r *rayTables) release(l Lens, t *sharedTable) {
	if t == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.uses--; t.uses == 0 {
		delete(r.lenses, l)
		t.texture.Close()
	}
}

// upload makes the texture, unless a view has done so. GL thread.
func (t *sharedTable) upload(c *gpu.Ctx) (err error) {
	if t.texture != nil {
		return nil
	}
	t.texture, err = c.NewTexture(gpu.TextureDesc{
		Label: "camera rays", Kind: gpu.Texture2D, Format: gpu.FormatRG32F, Width: t.rays.width, Height: t.rays.height,
	})
	if err != nil {
		return err
	}
	err = c.WriteTexture(t.texture, gpu.TextureRegion{Width: t.rays.width, Height: t.rays.height}, gpu.BytesOf(t.rays.entries))
	t.rays.entries = nil
	return err
}

// across returns the angle in degrees that the lens sees between two points of the picture, which lie on
// opposite sides of a third: from one to that, and on to the other.
func (l Lens) across(from, over, to [2]float64) float64 {
	middle := l.Ray(over[0], over[1])
	turn := func(end [2]float64) float64 {
		ray := l.Ray(end[0], end[1])
		if math.IsNaN(ray[0]) {
			ray = l.lastSeen(over, end)
		}
		return math.Atan2(middle.Cross(ray).Len(), middle.Dot(ray))
	}
	return mgl64.RadToDeg(turn(from) + turn(to))
}

// lastSeen returns the last ray on the way from a point that the lens sees to one that it doesn't.
func (l Lens) lastSeen(from, to [2]float64) mgl64.Vec3 {
	way := func(k float64) mgl64.Vec3 { return l.Ray(from[0]+k*(to[0]-from[0]), from[1]+k*(to[1]-from[1])) }
	return way(bisect(func(k float64) float64 {
		if math.IsNaN(way(k)[0]) {
			return -1
		}
		return 1
	}, 0, 1))
}

// Span is what a lens really sees, in degrees from edge to edge: of a fisheye more than FieldOfView,
// which is the pinhole's.
type Span struct {
	Horizontal, Vertical, Diagonal float64 // through the picture's middle
	// End is the smallest angle from the axis at which the lens ends within the picture, because it turns
	// back or sees nothing there; 0 where it fills the picture.
	End float64
}

// Span returns what the lens sees across its picture.
func (l Lens) Span() Span {
	right, bottom := float64(l.Width)-0.5, float64(l.Height)-0.5
	middle := [2]float64{(right - 0.5) / 2, (bottom - 0.5) / 2}
	s := Span{
		Horizontal: l.across([2]float64{-0.5, middle[1]}, middle, [2]float64{right, middle[1]}),
		Vertical:   l.across([2]float64{middle[0], -0.5}, middle, [2]float64{middle[0], bottom}),
		Diagonal:   l.across([2]float64{-0.5, -0.5}, middle, [2]float64{right, bottom}),
	}
	const steps = 64
	for i := range steps + 1 {
		k := float64(i) / steps
		x, y := k*(right+0.5)-0.5, k*(bottom+0.5)-0.5
		for _, edge := range [][2]float64{{x, -0.5}, {x, bottom}, {-0.5, y}, {right, y}} {
			if !math.IsNaN(l.Ray(edge[0], edge[1])[0]) {
				continue
			}
			if end := mgl64.RadToDeg(angleOf(l.lastSeen(middle, edge))); s.End == 0 || end < s.End {
				s.End = end
			}
		}
	}
	return s
}

// name returns the lens's, as the attribute lens has it.
func (l Lens) name() string {
	switch d := l.distortion.(type) {
	case plumbBob:
		return calibration.PlumbBob
	case rational:
		if d.numbers == 12 {
			return calibration.ThinPrism
		}
		return calibration.Rational
	case equidistant:
		return calibration.Equidistant
	case mei:
		return calibration.Mei
	case fTheta:
		return calibration.FTheta
	case doubleSphere:
		return calibration.DoubleSphere
	case svl:
		return lensSVL
	case svlFisheye:
		return lensSVLFisheye
	case tabled:
		return lensOwn
	}
	return calibration.Pinhole
}

// Summary says in a line what the lens is, what it sees across, down and from corner to corner, and where it
// ends.
func (l Lens) Summary() string {
	s := l.Span()
	text := fmt.Sprintf("lens %s, %dx%d pixels, sees %s degrees across, %s down and %s from corner to corner", l.name(), l.Width, l.Height,
		fault.Number(s.Horizontal, 4), fault.Number(s.Vertical, 4), fault.Number(s.Diagonal, 4))
	if s.End > 0 {
		text += fmt.Sprintf("; it ends within the picture, from %s degrees from its axis on", fault.Number(s.End, 4))
	}
	return text
}
