package camera

import (
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
)

// Shadow maps. The static world's is made once for a place and holds as long as the ego stays
// there. The movers' is made again for each instant, and is small.
const (
	staticMapSize = 3072  // texels
	moverMapSize  = 1024  // texels
	staticReach   = 90.0  // metres around the centre, at most
	moverReach    = 32.0  // metres around the ego
	staticStride  = 30.0  // metres that the ego may go before the static map follows
	staticBias    = 0.025 // metres towards the sun: what is thinner, as paint on a road, throws no shadow
	moverSlope    = 2.0   // glPolygonOffset: keeps a mover out of its own shadow
	moverUnits    = 4.0   // smallest steps of the map's depth
	sunTowers     = 1000. // metres above the map's centre that can throw a shadow into it
)

// sunMap is one shadow map: an orthographic picture of depth from the sun.
type sunMap struct {
	size        int
	reach       float64    // half the side, metres
	bias        [2]float32 // glPolygonOffset
	depth       *gpu.Texture
	framebuffer *gpu.Framebuffer
	frames      *frameTable
	list        drawList
	toSun       []mgl64.Mat4 // scratch: from each frame to the map
	// fromWorld leads from the world to the map: each axis from -1 to 1.
	fromWorld mgl64.Mat4
	drawn     bool
	center    mgl64.Vec3
	stamp     simtime.Stamp
}

// newSunMap makes a map for a number of the scene's frames. Sampled through a
// linear filter it compares depths itself.
func newSunMap(c *gpu.Ctx, label string, size, frames int, filter gpu.Filter) (*sunMap, error) {
	m := &sunMap{size: size}
	var err error
	m.depth, err = c.NewTexture(gpu.TextureDesc{
		Label: label, Kind: gpu.Texture2D, Format: gpu.FormatDepth32F, Width: size, Height: size,
		Filter: filter, Wrap: gpu.WrapClampToEdge, DepthCompare: filter != gpu.FilterNearest,
	})
	if err == nil {
		m.framebuffer, err = c.NewFramebuffer(gpu.FramebufferDesc{Label: label, Depth: m.depth})
	}
	if err == nil {
		m.frames, err = newFrameTable(c, label, frames, shaders.SunFrameTexels)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *sunMap) Close() {
	m.frames.Close()
	m.framebuffer.Close()
	m.depth.Close()
}

// texel returns the size of a texel in metres.
func (m *sunMap) texel() float64 { return 2 * m.reach / float64(m.size) }

// perMetre returns how the map's depth, from 0 to 1, changes in a metre away from the sun.
func (m *sunMap) perMetre() float64 { return 1 / (sunTowers + 2*m.reach) }

// slope returns what slopeIn of camera_shade.comp takes.
func (m *sunMap) slope() float64 {
	across := 1 / (2 * m.reach) // the map's coordinates in a metre
	return m.perMetre() * m.perMetre() / (across * across) / float64(m.size)
}

// lookAt points the map at a centre. The centre is rounded to whole texels, so
// that the edges of shadows stand still while the map follows the ego.
func (m *sunMap) lookAt(sun *sunFrame, center mgl64.Vec3) {
	at := sun.axes.Mul3x1(center)
	for i := range 2 {
		at[i] = math.Round(at[i]/m.texel()) * m.texel()
	}
	// The third axis points away from the sun: depth grows from what is near it.
	low, high := at[2]-sunTowers, at[2]+2*m.reach
	scale := mgl64.Vec3{1 / m.reach, 1 / m.reach, 2 / (high - low)}
	mid := mgl64.Vec3{at[0], at[1], (low + high) / 2}
	for row := range 3 {
		a := sun.axes.Row(row).Mul(scale[row])
		m.fromWorld.SetRow(row, a.Vec4(-mid[row]*scale[row]))
	}
	m.fromWorld.SetRow(3, mgl64.Vec4{0, 0, 0, 1})
}

// sunFrame is the direction of the light: the rows of axes are right, up and away
// from the sun, in the world frame.
type sunFrame struct{ axes mgl64.Mat3 }

func newSunFrame(toSun mgl64.Vec3) sunFrame {
	away := toSun.Mul(-1)
	side := mgl64.Vec3{0, 0, 1}
	if math.Abs(away[2]) > 0.99 {
		side = mgl64.Vec3{1, 0, 0}
	}
	right := side.Cross(away).Normalize()
	return sunFrame{mgl64.Mat3FromRows(right, away.Cross(right), away)}
}

// sunBox is what a map sees, in its own coordinates.
var sunBox = region{
	{mgl64.Vec3{1, 0, 0}, 1}, {mgl64.Vec3{-1, 0, 0}, 1},
	{mgl64.Vec3{0, 1, 0}, 1}, {mgl64.Vec3{0, -1, 0}, 1},
	{mgl64.Vec3{0, 0, 1}, 1}, {mgl64.Vec3{0, 0, -1}, 1},
}

// sunlight is the light of the sun and both its shadow maps.
type sunlight struct {
	shines bool
	light  scene.Light
	toSun  mgl64.Vec3
	frame  sunFrame
	static *sunMap
	movers *sunMap
	// outdoors is the light in the weather of the latest picture that had one.
	outdoors outdoors
	// drawnStatic counts how often the static map was made.
	drawnStatic int64
}

// daylight is a clear day, the sun 50 degrees high in the south-west. A road has
// about five times the light in the sun that it has in the shade.
var daylight = scene.Light{
	SunDirection: mgl32.Vec3{-0.455, -0.455, 0.766},
	SunColor:     mgl32.Vec3{3.9, 3.65, 3.2},
	SkyZenith:    mgl32.Vec3{0.075, 0.155, 0.32},
	SkyHorizon:   mgl32.Vec3{0.4, 0.5, 0.62},
	Ground:       mgl32.Vec3{0.18, 0.165, 0.14},
	Exposure:     1,
}

// lightOf returns a scene's light: daylight where it says nothing, and exposure 1
// where it leaves that out, since a black picture helps nobody.
func lightOf(s *scene.Scene) scene.Light {
	l := s.Light
	if l == (scene.Light{}) {
		return daylight
	}
	if l.Exposure == 0 {
		l.Exposure = 1
	}
	return l
}

func newSunlight(c *gpu.Ctx, g *scene.Geometry) (*sunlight, error) {
	l := lightOf(g.Scene)
	s := &sunlight{light: l, toSun: mgl64.Vec3{float64(l.SunDirection[0]), float64(l.SunDirection[1]), float64(l.SunDirection[2])}}
	if s.toSun.Len() > 0 {
		s.toSun = s.toSun.Normalize()
	}
	s.shines = s.toSun[2] > 0 && l.SunColor.Len() > 0
	if s.shines {
		s.frame = newSunFrame(s.toSun)
	}
	var err error
	if s.static, err = newSunMap(c, "shadows of the static world", staticMapSize, 1, gpu.FilterNearest); err != nil {
		return nil, err
	}
	if s.movers, err = newSunMap(c, "shadows of the movers", moverMapSize, rowFrame(g.Rows()), gpu.FilterLinear); err != nil {
		s.static.Close()
		return nil, err
	}
	s.static.reach, s.movers.reach = staticReach, moverReach
	s.movers.bias = [2]float32{moverSlope, moverUnits}
	return s, nil
}

func (s *sunlight) Close() {
	s.static.Close()
	s.movers.Close()
}

// update draws what the maps lack for an instant. Where the maps lie follows
// from the ego's position alone, so that equal runs give equal pictures (law T5).
func (s *sunlight) update(c *gpu.Ctx, r *renderer, at *stage) error {
	if !s.shines {
		return nil
	}
	ego := at.ego.Position
	center := mgl64.Vec3{}
	for i := range center {
		center[i] = math.Round(ego[i]/staticStride) * staticStride
	}
	if m := s.static; !m.drawn || m.center != center {
		m.lookAt(&s.frame, center)
		m.list.reset()
		m.list.addStatic(r.drawing, sunBox, &m.fromWorld)
		m.frames.add(&m.fromWorld)
		if err := s.draw(c, r, m); err != nil {
			return err
		}
		m.drawn, m.center = true, center
		s.drawnStatic++
	}
	if m := s.movers; !m.drawn || m.stamp != at.stamp {
		m.lookAt(&s.frame, ego)
		m.toSun = m.toSun[:0]
		for i := range at.places {
			m.toSun = append(m.toSun, m.fromWorld.Mul4(at.places[i]))
			m.frames.add(&m.toSun[i])
		}
		m.list.reset()
		m.list.addMovers(r, sunBox, m.toSun)
		if err := s.draw(c, r, m); err != nil {
			return err
		}
		m.drawn, m.stamp = true, at.stamp
	}
	return nil
}

func (s *sunlight) draw(c *gpu.Ctx, r *renderer, m *sunMap) error {
	if err := m.frames.write(c); err != nil {
		return err
	}
	if err := c.Clear(m.framebuffer); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	bind = append(bind, m.frames.binding())
	r.scratch = bind
	return drawParts(c, &m.list, gpu.Draw{
		Framebuffer: m.framebuffer, Bind: bind, DepthBias: m.bias,
	}, r.programs.shadow, r.programs.shadowCut)
}

// sunlit is what the sun reaches of what a view sees, found by tracing: a byte for each point
// that is seen. It belongs to the GL thread.
type sunlit struct {
	tracing *tracing
	reached *gpu.Texture // 1 where a ray arrives at the sun
}

// sunBlock is camera_sun.comp's uniform block (std140).
type sunBlock struct {
	size  [2]int32
	_     [2]int32
	toSun [4]float32
}

// openSunlit makes what traced shadows need, unless another camera of the view has. GL thread.
func (v *view) openSunlit(c *gpu.Ctx, r *renderer) (err error) {
	if v.sunlit != nil {
		return nil
	}
	l, s := v.key.seen(), &sunlit{}
	if s.reached, err = c.NewTexture(l.target("camera sunlit", gpu.FormatR8)); err != nil {
		return err
	}
	block := sunBlock{size: [2]int32{int32(l.Width), int32(l.Height)}, toSun: vec4of(r.sun.toSun)}
	s.tracing, err = newTracing(c, r, v.rays(&shaders.CameraSun), gpu.BytesOf([]sunBlock{block}),
		imageBinding(s.reached), v.visibleBinding(), v.frames.binding())
	if err != nil {
		s.reached.Close()
		return err
	}
	v.sunlit = s
	return nil
}

func (s *sunlit) close() {
	s.tracing.close()
	s.reached.Close()
}

// sampling returns the rows that lead from the optical frame to the map's texture
// coordinates and depth, each from 0 to 1.
func (m *sunMap) sampling(fromOptical mgl64.Mat4) [3][4]float32 {
	half := mgl64.Translate3D(0.5, 0.5, 0.5).Mul4(mgl64.Scale3D(0.5, 0.5, 0.5))
	all := half.Mul4(m.fromWorld).Mul4(fromOptical)
	var rows [3][4]float32
	for i := range rows {
		row := all.Row(i)
		rows[i] = [4]float32{float32(row[0]), float32(row[1]), float32(row[2]), float32(row[3])}
	}
	return rows
}

// horizonShare is the horizon's share of a sky's mean radiance, weighted by the cosine. The radiance at height h (the sine
// of the elevation) is horizon + (zenith - horizon) (1 - 2^(-4.5 h)), as lib/shade.glsl draws it. The share is
// the integral of 2 h 2^(-4.5 h) from 0 to 1.
var horizonShare = func() float32 {
	const a = 4.5 * math.Ln2
	return float32(2 / (a * a) * (1 - (1+a)*math.Exp(-a)))
}()

// skyMean returns the irradiance of an upward surface by the sky, over pi.
func skyMean(l *scene.Light) mgl32.Vec3 {
	return l.SkyHorizon.Mul(horizonShare).Add(l.SkyZenith.Mul(1 - horizonShare))
}

// around returns the irradiance of an upward surface by sky and surroundings, over pi.
func around(l *scene.Light) mgl32.Vec3 { return greyed(skyMean(l)) }

// greyed takes half of the sky's colour: it is lost to the grey of what stands around.
func greyed(sky mgl32.Vec3) mgl32.Vec3 {
	grey := sky.Dot(mgl32.Vec3{0.2126, 0.7152, 0.0722})
	return sky.Add(mgl32.Vec3{grey, grey, grey}).Mul(0.5)
}
