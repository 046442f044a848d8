package scene

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/world"
)

// Resident is a Geometry's tables in GPU memory, for any number of sensors.
type Resident struct {
	Geometry *Geometry
	bindings []gpu.Binding
	closers  []interface{ Close() }
	// The tables that shapes and visits change, by their slots. GL thread.
	tables    map[int]*gpu.Buffer
	shapes    []*reshaped
	occupants []occupant // what the rows of each of the scene's slots have
	lit       []lit      // of the traffic lights
	lamps     []byte     // one, scratch
}

// occupant is an actor in a slot, and the lamps that are on.
type occupant struct {
	visit *visit
	lamps world.Lights
}

// lit is what the table of movers has of a traffic light's lamps.
type lit struct {
	light  int   // the first of its actor, among the scene's Signals
	places []int // of bytes in the table
	on     world.Lights
}

// newLit finds the lights whose lamps cameras see.
func newLit(g *Geometry) (all []lit) {
	seen := map[uint32]bool{0: true} // of a light without an actor
	for i := range g.Scene.Signals {
		a := g.Scene.Actor(g.Scene.Signals[i].Actor)
		if a == nil || seen[a.ID] {
			continue
		}
		seen[a.ID] = true
		l := lit{light: i, places: []int{g.standingLamps(a.ID)}}
		for k := range g.Movers[:g.own] {
			if g.Movers[k].Actor == a {
				l.places = append(l.places, moverBytes*k+7) // the highest of its label
			}
		}
		all = append(all, l)
	}
	return all
}

// Upload copies the world's tables and textures to the GPU. GL thread only. It
// fails with ErrTooLarge where a table has more texels than the driver's
// texture buffers can hold. The caller closes the Resident before the thread.
func (g *Geometry) Upload(c *gpu.Ctx) (*Resident, error) {
	r := &Resident{Geometry: g, tables: map[int]*gpu.Buffer{}, occupants: make([]occupant, g.Scene.Slots), lit: newLit(g)}
	for _, s := range g.shaped {
		r.shapes = append(r.shapes, newReshaped(g, s))
	}
	if err := r.upload(c); err != nil {
		r.Close()
		return nil, fmt.Errorf("upload scene %q: %w", g.Scene.Name, err)
	}
	return r, nil
}

func (r *Resident) upload(c *gpu.Ctx) error {
	g := r.Geometry
	colors, data := g.Scene.pictures()
	for _, t := range []struct {
		name   string
		slot   int
		format gpu.Format
		data   []byte
	}{
		{"nodes", shaders.SlotNodes, gpu.FormatRGBA32F, gpu.BytesOf(g.Nodes)},
		{"triangles", shaders.SlotTriangles, gpu.FormatRGBA32F, gpu.BytesOf(g.Planes)},
		{"vertices", shaders.SlotVertices, gpu.FormatRGBA32F, gpu.BytesOf(g.Vertices)},
		{"attributes", shaders.SlotAttributes, gpu.FormatRGBA32UI, gpu.BytesOf(g.Attributes)},
		{"materials", shaders.SlotMaterials, gpu.FormatRGBA32F, gpu.BytesOf(g.Scene.materialRecords(colors, data))},
		{"movers", shaders.SlotMovers, gpu.FormatRGBA32UI, gpu.BytesOf(g.moverRecords())},
	} {
		if err := r.addTable(c, "scene "+t.name, t.slot, t.format, t.data); err != nil {
			return err
		}
	}
	if err := r.addPictures(c, shaders.SlotColorTextures, colors); err != nil {
		return err
	}
	return r.addPictures(c, shaders.SlotDataTextures, data)
}

// addTable makes a texture buffer of data; an empty table gets one zero texel,
// since a buffer can't be empty.
func (r *Resident) addTable(c *gpu.Ctx, label string, slot int, format gpu.Format, data []byte) error {
	texels, limit := len(data)/format.PixelBytes(), c.Info().Limits.MaxTextureBufferTexels
	if texels > limit {
		return fmt.Errorf("%w: its %s need %d texels, the driver's texture buffers hold %d: use fewer triangles", ErrTooLarge, label, texels, limit)
	}
	if len(data) == 0 {
		data = make([]byte, format.PixelBytes())
	}
	b, err := c.NewBuffer(gpu.BufferDesc{Label: label, Size: len(data), Data: data})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, b)
	r.tables[slot] = b
	t, err := c.NewTexture(gpu.TextureDesc{Label: label + " view", Kind: gpu.TextureBuffer, Format: format, Buffer: b})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, t)
	r.bind(slot, t)
	return nil
}

func (r *Resident) bind(slot int, t *gpu.Texture) {
	r.bindings = append(r.bindings, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: t})
}

// addPictures makes one array of pictures, with mipmaps; without pictures, one white pixel that
// nothing reads. Shaders filter them: see lib/scene.glsl.
func (r *Resident) addPictures(c *gpu.Ctx, slot int, p *pictures) error {
	if limit := c.Info().Limits.MaxTextureLayers; len(p.order) > limit {
		return fmt.Errorf("%w: %d textures, the driver's arrays hold %d", ErrTooLarge, len(p.order), limit)
	}
	t, err := c.NewTexture(gpu.TextureDesc{
		Label: "scene pictures", Kind: gpu.Texture2DArray, Format: gpu.FormatRGBA8,
		Width: p.size, Height: p.size, Layers: max(len(p.order), 1), Levels: bits.Len(uint(p.size)),
		Filter: gpu.FilterNearest, Wrap: gpu.WrapRepeat,
	})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, t)
	r.bind(slot, t)
	err = p.eachLayer(func(layer int, levels []mipmap) error {
		for level, m := range levels {
			if err := c.WriteTexture(t, gpu.TextureRegion{Layer: layer, Level: level, Width: m.w, Height: m.h}, m.pixels); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(p.order) == 0 {
		return c.WriteTexture(t, gpu.TextureRegion{}, []byte{255, 255, 255, 255})
	}
	return nil
}

// Bindings appends the bindings of the scene's tables to dst, all but the
// per-capture ones (PlacementBuffer, MotionBuffer). Any goroutine may call it.
func (r *Resident) Bindings(dst []gpu.Binding) []gpu.Binding { return append(dst, r.bindings...) }

// Close queues the deletion of the GPU objects (law G3). Any goroutine may call
// it, more than once, and on a nil Resident.
func (r *Resident) Close() {
	if r == nil {
		return
	}
	for _, x := range r.closers {
		x.Close()
	}
}

// moverRow is a row of the table of movers: two texels, of moverBytes.
type moverRow [8]uint32

const moverBytes, texelBytes = 32, 16

// moverRecords returns the table of movers, of which the slots' rows wait for writeOccupants. Behind them it
// has a byte of lamps for each of the scene's own actors, those of id 0 in the last texel.
func (g *Geometry) moverRecords() []moverRow {
	records := make([]moverRow, g.Rows()+g.lampRows())
	for i := range g.Movers[:g.own] {
		records[i] = g.moverRecord(&g.Movers[i], g.Movers[i].Actor)
	}
	return records
}

// lampRows is how many rows hold a byte for each of the scene's own actors.
func (g *Geometry) lampRows() int {
	most := uint32(0)
	for _, a := range g.Scene.Actors {
		most = max(most, a.ID)
	}
	return int(most/moverBytes) + 1
}

// standingLamps returns the place in the table of movers of the lamps of one of the scene's own actors.
func (g *Geometry) standingLamps(id uint32) int {
	return moverBytes*(g.Rows()+g.lampRows()) - texelBytes*(int(id/texelBytes)+1) + int(id%texelBytes)
}

// moverRecord returns the record of a mover that somebody has.
func (g *Geometry) moverRecord(m *Mover, a *Actor) moverRow {
	row := moverRow{uint32(m.Root), label(a, a.Parts[m.Part].Tag), uint32(m.First)}
	if m.shape != nil {
		row[3] = uint32(m.First + (previousCopy-m.Copy)*m.Count)
	}
	if a.Paint != nil {
		for i, level := range a.Paint {
			row[4+i] = math.Float32bits(srgbCurve().light[level])
		}
		row[7] = 1
	}
	return row
}

// writeOccupants brings those who are in the slots, last in a window, into the table of movers, and what the
// lights show at its end. Little changes from one capture to the next. GL thread only.
func (r *Resident) writeOccupants(c *gpu.Ctx, p *Packer, w Window) error {
	for slot := range p.history.slotsInUse() {
		now := p.history.lastOccupant(p.history.firstSlot+slot, w)
		v := now.visit
		if v == nil || now == r.occupants[slot] {
			continue
		}
		of := r.Geometry.models[v.model]
		p.records = p.records[:0]
		for k := range of.count {
			record := r.Geometry.moverRecord(&r.Geometry.Movers[of.first+k], v.actor)
			record[1] |= uint32(now.lamps) << 24
			p.records = append(p.records, record)
		}
		if err := c.WriteBuffer(r.tables[shaders.SlotMovers], r.Geometry.slotRow(slot)*moverBytes, gpu.BytesOf(p.records)); err != nil {
			return fmt.Errorf("show actor %d (%s): %w", v.actor.ID, v.actor.Name, err)
		}
		r.occupants[slot] = now
	}
	for i := range r.lit {
		l := &r.lit[i]
		state, _ := p.history.Signal(l.light, w.EndNs)
		on := signalLamps[state]
		if on == l.on {
			continue
		}
		r.lamps = append(r.lamps[:0], byte(on))
		for _, at := range l.places {
			if err := c.WriteBuffer(r.tables[shaders.SlotMovers], at, r.lamps); err != nil {
				return fmt.Errorf("show traffic light %d: %w", r.Geometry.Scene.Signals[l.light].ID, err)
			}
		}
		l.on = on
	}
	return nil
}

// Flags of a material record.
const (
	flagRetro           = 1
	flagDoubleSided     = 2
	flagUnlit           = 4
	flagColored         = 8
	flagLamp            = 16 // times the lamps, up to 255
	flagPaint           = 4096
	flagReflectsAsClass = 8192
)

// Colored returns, per material, whether a mesh shows it with colours of its vertices.
func (s *Scene) Colored() []bool {
	colored := make([]bool, len(s.Materials))
	for i := range s.Meshes {
		if s.Meshes[i].Colors == nil {
			continue
		}
		for _, g := range s.Meshes[i].Groups {
			colored[g.Material] = true
		}
	}
	return colored
}

// rows returns the transform as the shaders read it.
func (t UVTransform) rows() []Row {
	if t == (UVTransform{}) {
		t = UVTransform{{1, 0, 0}, {0, 1, 0}}
	}
	return []Row{{t[0][0], t[0][1], t[0][2], 0}, {t[1][0], t[1][1], t[1][2], 0}}
}

// materialRecords returns the table of materials. Behind the materials are the records of the
// pictures, and behind those the transforms of textures that have their own.
func (s *Scene) materialRecords(colors, data *pictures) []Row {
	rows := make([]Row, 0, 4*len(s.Materials))
	colored := s.Colored()
	firstColor := 4 * len(s.Materials)
	firstData := firstColor + len(colors.order)
	for i := range s.Materials {
		m := &s.Materials[i]
		rows = append(rows,
			Row(m.BaseColor),
			Row{m.Emissive[0], m.Emissive[1], m.Emissive[2], m.cutoff()},
			Row{m.Metallic, m.Roughness, m.Reflectance, m.flags(colored[i])},
			Row{colors.record(m.BaseColorTexture, firstColor), data.record(m.MetalRoughTexture, firstData), colors.record(m.EmissiveTexture, firstColor), 0},
		)
	}
	rows = append(append(rows, colors.records()...), data.records()...)
	for i := range s.Materials {
		if m := &s.Materials[i]; m.MetalRoughUV != (UVTransform{}) || m.EmissiveUV != (UVTransform{}) {
			rows[4*i+3][3] = float32(len(rows))
			rows = append(rows, append(m.MetalRoughUV.rows(), m.EmissiveUV.rows()...)...)
		}
	}
	return rows
}

// flags returns a material's flags; colored says that some of its vertices have colours.
func (m *Material) flags(colored bool) float32 {
	flags := flagLamp * float32(m.Lamps)
	for _, f := range []struct {
		on   bool
		flag float32
	}{
		{m.Retro, flagRetro}, {m.DoubleSided, flagDoubleSided}, {m.Unlit, flagUnlit}, {colored, flagColored}, {m.Paint, flagPaint},
		{m.ReflectsAsClass, flagReflectsAsClass},
	} {
		if f.on {
			flags += f.flag
		}
	}
	return flags
}

// cutoff returns the alpha below which the surface is absent, 0 for never. Below 0 the alpha is
// the share by which it is there, and minus that the least alpha of what casts a shadow.
func (m *Material) cutoff() float32 {
	switch m.AlphaMode {
	case AlphaMask:
		return m.AlphaCutoff
	case AlphaBlend:
		return -0.5
	default:
		return 0
	}
}

// enlargement bounds by how much planeRows enlarges a triangle whose coordinates reach up to
// extent, in metres. It is some steps of float32 there, and not less than a ray from 100 m away
// needs. More would be seen: rays that pass a silhouette hit it.
func enlargement(extent float64) float64 { return max(2e-5, 2.5e-7*extent) }

// maxEnlargement keeps slivers from growing long tips.
const maxEnlargement = 0.02

// planeRows returns a triangle's plane and barycentric rows (Baldwin and Weber, Fast
// Ray-Triangle Intersections by Coordinate Transformation, JCGT 2016). The triangle is enlarged
// about its incentre by margin on every side: float32 rounding then leaves no gap between
// neighbours.
func planeRows(a, b, c Row, margin float64) (plane, u, v Row, corners [3]mgl64.Vec3) {
	p0, p1, p2 := vec64(a), vec64(b), vec64(c)
	n := p1.Sub(p0).Cross(p2.Sub(p0))
	twice := n.Len()
	if twice == 0 { // only a Shape makes such: no ray hits it
		return plane, u, v, [3]mgl64.Vec3{p0, p1, p2}
	}
	n = n.Mul(1 / twice)

	l0, l1, l2 := p2.Sub(p1).Len(), p0.Sub(p2).Len(), p1.Sub(p0).Len()
	perimeter := l0 + l1 + l2
	centre := p0.Mul(l0).Add(p1.Mul(l1)).Add(p2.Mul(l2)).Mul(1 / perimeter)
	radius := twice / perimeter
	grow := 1 + min(margin/radius, maxEnlargement)
	for i, p := range [3]mgl64.Vec3{p0, p1, p2} {
		corners[i] = centre.Add(p.Sub(centre).Mul(grow))
	}

	p0 = corners[0]
	e1, e2 := corners[1].Sub(p0), corners[2].Sub(p0)
	area := grow * grow * twice
	ru := e2.Cross(n).Mul(1 / area)
	rv := n.Cross(e1).Mul(1 / area)
	return row(n, centre), row(ru, p0), row(rv, p0), corners
}

// row rounds a row to float32 and then takes its offset so that the rounded
// row is zero at p.
func row(r, p mgl64.Vec3) Row {
	x := Row{float32(r[0]), float32(r[1]), float32(r[2])}
	x[3] = float32(-vec64(x).Dot(p))
	return x
}

// boxOf returns the box of the enlarged corners and the margin, rounded outwards.
func boxOf(corners *[3]mgl64.Vec3, margin float64) (lo, hi [3]float32) {
	for a := range 3 {
		l := min(corners[0][a], corners[1][a], corners[2][a]) - margin
		h := max(corners[0][a], corners[1][a], corners[2][a]) + margin
		lo[a] = math.Nextafter32(float32(l), -math.MaxFloat32)
		hi[a] = math.Nextafter32(float32(h), math.MaxFloat32)
	}
	return lo, hi
}
