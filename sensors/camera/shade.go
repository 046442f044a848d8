package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Bits of shadeBlock.how, as camera_shade.comp has them.
const (
	howSwapRed uint32 = 1 << iota
	howToneCurve
	howFilmCurve
	howLinear
	howSVLPalette
)

// shadeBlock is camera_shade.comp's uniform block (std140).
type shadeBlock struct {
	size                         [2]int32
	how                          uint32
	exposure                     float32
	depthRange                   [4]float32
	up, toSun                    [4]float32
	sun, zenith, horizon, ground [4]float32
	around                       [4]float32
	staticMap, moverMap          [3][4]float32
	offsets                      [4]float32
	grade                        gradeBlock
	air                          airBlock // where WEATHER
}

// shade makes one batch's pictures out of the ids.
func (v *view) shade(c *gpu.Ctx, r *renderer, index int, fromOptical mgl64.Mat4) error {
	b := &v.batches[index]
	block := []shadeBlock{v.block(r, b, fromOptical)}
	if index == len(v.uniforms) {
		buffer, err := c.NewBuffer(gpu.BufferDesc{Label: "camera view", Size: len(gpu.BytesOf(block))})
		if err != nil {
			return err
		}
		v.uniforms = append(v.uniforms, buffer)
	}
	if err := c.WriteBuffer(v.uniforms[index], 0, gpu.BytesOf(block)); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	sampler := func(slot int, t *gpu.Texture) {
		bind = append(bind, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: t})
	}
	bind = append(v.bindLens(bind), v.frames.binding(), gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: v.uniforms[index]})
	bind = append(bind, v.visibleBinding())
	sampler(shaders.SlotStaticShadow, r.sun.static.depth)
	sampler(shaders.SlotMoverShadow, r.sun.movers.depth)
	sampler(shaders.SlotPalette, r.palette.texture)
	what := shading{grid: v.key.grid, lens: v.key.lens.constant(), rolling: v.key.shutter.timed()}
	bind = v.shutterBindings(bind)
	if light := b.light(); light != nil {
		what.weather = felt(light.weather())
		if what.traced = light.by.options.traced; what.traced {
			sampler(shaders.SlotSunlit, v.sunlit.reached)
		}
	}
	for k, s := range b {
		if s != nil {
			what.what |= s.by.options.form.picture
			what.graded = what.graded || s.by.options.grade.active()
			bind = append(bind, gpu.Binding{Kind: gpu.BindStorage, Slot: k, Buffer: s.target})
		}
	}
	r.scratch = bind
	program, err := r.programs.shade(c, what)
	if err != nil {
		return err
	}
	return c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: v.groups})
}

// block fills in the uniform block of a batch.
func (v *view) block(r *renderer, b *batch, fromOptical mgl64.Mat4) shadeBlock {
	block := shadeBlock{size: [2]int32{int32(v.key.lens.Width), int32(v.key.lens.Height)}}
	for _, s := range b {
		if s != nil {
			s.by.options.describe(&block)
		}
	}
	s := r.sun
	outside := outdoors{light: s.light, around: around(&s.light)}
	if light := b.light(); light != nil && felt(light.weather()) {
		outside = *s.in(light.weather())
		block.air = outside.block()
		if light.by.options.metered {
			block.exposure /= outside.left
		}
	}
	block.exposure *= outside.light.Exposure
	toOptical := fromOptical.Mat3().Transpose()
	if v.key.shutter.timed() { // light is along the world's axes
		toOptical = mgl64.Ident3()
	}
	block.up = vec4of(toOptical.Mul3x1(mgl64.Vec3{0, 0, 1}))
	block.toSun = vec4of(toOptical.Mul3x1(s.toSun))
	color := func(dst *[4]float32, c [3]float32) { copy(dst[:], c[:]) }
	color(&block.zenith, outside.light.SkyZenith)
	color(&block.horizon, outside.light.SkyHorizon)
	color(&block.ground, outside.light.Ground)
	color(&block.around, outside.around)
	if s.shines {
		color(&block.sun, outside.light.SunColor)
		block.staticMap = s.static.sampling(fromOptical)
		block.moverMap = s.movers.sampling(fromOptical)
	}
	block.offsets = [4]float32{
		float32(staticBias * s.static.perMetre()), float32(s.movers.texel()), 1 / float32(s.static.size), float32(s.static.slope()),
	}
	return block
}

// describe adds a camera's part to the uniform block.
func (o *setup) describe(b *shadeBlock) {
	switch o.kind {
	case kindRGB, kindDVS:
		if o.form.encoding == sample.EncodingBGR8 {
			b.how |= howSwapRed
		}
		if o.toneCurve {
			b.how |= howToneCurve
		}
		b.how |= o.grade.how()
		b.grade = o.grade.block()
		b.exposure = float32(o.gain)
	case kindDepth:
		b.depthRange = [4]float32{float32(o.minDepth), float32(o.maxDepth), float32(1 / o.far)}
	case kindSemantic:
		if o.svlPalette {
			b.how |= howSVLPalette
		}
	}
}

// pictures is a set of the forms that camera_shade.comp can write.
type pictures uint16

// pictureNames are the constants that ask for them, in the order of the bits.
var pictureNames = [...]string{
	"COLOR", "WIDE_COLOR", "LUMINANCE", "DEPTH", "DEPTH_CODES", "DEPTH_GREYS", "TAGS", "TAG_COLORS", "WIDE_TAG_COLORS", "WIDE_TAGS",
	"INSTANCES", "WIDE_INSTANCES", "INSTANCE_CODES", "INSTANCE_COLORS", "NORMALS", "FLOW",
}

const (
	pictureColor pictures = 1 << iota
	pictureWideColor
	pictureLuminance
	pictureDepth
	pictureDepthCodes
	pictureDepthGreys
	pictureTags
	pictureTagColors
	pictureWideTagColors
	pictureWideTags
	pictureInstances
	pictureWideInstances
	pictureInstanceCodes
	pictureInstanceColors
	pictureNormals
	pictureFlow
)

// form is how a camera's pixels are written down.
type form struct {
	name         string // in messages
	picture      pictures
	encoding     string
	compressions []string // the formats of a compressed picture that keep its meaning
}

// Values of the attribute output.
const (
	outputCARLA = "carla"
	outputSVL   = "svl"
)

// What JPEG may be made of: pictures for the eye. Codes and labels would be lost.
var (
	anyFormat = []string{"jpeg", "png"}
	lossless  = []string{"png"}
)

// forms are those of each kind, by the attribute that chooses. That is encoding of a colour
// camera, output of the others, and none for the kinds that have only one.
var forms = [kinds]map[string]form{
	kindRGB: {
		sample.EncodingRGB8:  {"colour", pictureColor, sample.EncodingRGB8, anyFormat},
		sample.EncodingBGR8:  {"colour", pictureColor, sample.EncodingBGR8, anyFormat},
		sample.EncodingBGRA8: {"colour", pictureWideColor, sample.EncodingBGRA8, anyFormat},
	},
	kindDepth: {
		"metres":    {"depth", pictureDepth, sample.Encoding32FC1, nil},
		outputCARLA: {"depth", pictureDepthCodes, sample.EncodingBGRA8, lossless},
		outputSVL:   {"depth", pictureDepthGreys, sample.EncodingMono8, anyFormat},
	},
	kindSemantic: {
		"tag":           {"semantic", pictureTags, sample.EncodingMono8, lossless},
		"palette":       {"semantic", pictureTagColors, sample.EncodingRGB8, anyFormat},
		"palette_bgra8": {"semantic", pictureWideTagColors, sample.EncodingBGRA8, anyFormat},
		outputCARLA:     {"semantic", pictureWideTags, sample.EncodingBGRA8, lossless},
		outputSVL:       {"semantic", pictureTagColors, sample.EncodingRGB8, anyFormat},
	},
	kindInstance: {
		outputCARLA: {"instance", pictureInstanceCodes, sample.EncodingBGRA8, lossless},
		outputSVL:   {"instance", pictureInstanceColors, sample.EncodingRGB8, anyFormat},
	},
	kindNormals: {"": {"normals", pictureNormals, sample.Encoding32FC3, nil}},
	kindFlow:    {"": {"flow", pictureFlow, sample.Encoding32FC2, nil}},
	kindDVS:     {"": {"luminance", pictureLuminance, sample.Encoding32SC1, nil}},
}

// idForms are those of instance ids, by the attribute encoding.
var idForms = map[string]form{
	sample.Encoding16UC1: {"instance", pictureInstances, sample.Encoding16UC1, lossless},
	sample.Encoding32SC1: {"instance", pictureWideInstances, sample.Encoding32SC1, nil},
}

// pixelBytes is the size of a pixel in each encoding.
var pixelBytes = map[string]int{
	sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1,
	sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
}

// step returns the bytes of a row: padded to whole words, as the shader writes
// them.
func (o *setup) step() int {
	return (o.lens.Width*pixelBytes[o.form.encoding] + 3) / 4 * 4
}

// OpticalFlow is the camera of motion over the picture. A pixel's two numbers say how far the
// surface point that it sees has moved since the sensor's previous firing. One is to the right
// as a share of the picture's width, the other down as a share of its height. They are exact
// for one point, not a match of pictures. The point is followed back with its actor, what bends
// it, and the camera. The numbers are neither bounded nor rounded, where CARLA bounds them to [-2, 2].
// Times the size in pixels they are pixels; over the period, pixels a second.
//
// The sky is infinitely far: the camera's rotation alone moves it. A point that lay behind the
// camera or beyond what its lens shows was nowhere in the picture: NaN. So was one on an actor
// that was not there. At the first firing, and at the first after time went back, nothing has
// moved.
type OpticalFlow = Options[OpticalFlowOwn]

// OpticalFlowOwn are the options that a camera of motion has beside those of all cameras: none.
type OpticalFlowOwn struct{}

func (OpticalFlowOwn) read(*setup, *sensors.Spec) error { return nil }

// OpticalFlowDefinition describes sensor.camera.optical_flow.
var OpticalFlowDefinition = define[OpticalFlowOwn](kindFlow,
	"optical flow: how far what each pixel sees moved since the firing before, right and down, as shares of the picture's size")

// weather returns that of the shot, which it has as a whole.
func (s *shot) weather() weather.State { return s.by.env.Weather(s.at.Due) }

// previousNs returns when the camera's firing before the shot was, but not before anything was recorded.
func (s *shot) previousNs(r *renderer) simtime.Stamp {
	oldest, _, _ := r.history.Span()
	return min(max(s.at.Due-simtime.Stamp(s.at.PeriodNs), oldest), s.at.Due)
}

// writePrevious writes where the points of each frame of the scene were at an
// instant, as lib/flow.glsl reads it. It follows look, at an instant that is not
// earlier, whose fromOptical it is given. GL thread.
func (v *view) writePrevious(c *gpu.Ctx, r *renderer, fromOptical mgl64.Mat4, stamp simtime.Stamp) error {
	if err := r.resident.ShowPrevious(c, stamp); err != nil {
		return err
	}
	toOptical := r.pose(v.key.owner, v.key.mount, stamp).Compose(spatial.OpticalInBody()).Mat4().Inv()
	v.previous = r.packer.Places(append(v.previous[:0], mgl64.Ident4()), r.stage.cast, stamp)
	for i := range v.previous {
		// From the optical frame of now to that of then, with the frame.
		back := fromOptical
		if i != worldFrame {
			back = v.toOptical[i].Inv()
		}
		m := toOptical.Mul4(v.previous[i]).Mul4(back).Sub(mgl64.Ident4())
		v.frames.add(&m)
	}
	return v.frames.writeFrom(c, r.frameCount()*shaders.FrameTexels)
}

// The classes of SVL Simulator's segmentation cameras, by their colours. Its
// Curb and Player have no counterpart among CARLA's tags.
var (
	svlBlack        = [3]uint8{0x00, 0x00, 0x00}
	svlCar          = [3]uint8{0x12, 0x0e, 0x97}
	svlRoad         = [3]uint8{0x7a, 0x3f, 0x83}
	svlSidewalk     = [3]uint8{0xba, 0x83, 0x50}
	svlVegetation   = [3]uint8{0x71, 0xc0, 0x2f}
	svlObstacle     = [3]uint8{0xff, 0xff, 0xff}
	svlTrafficLight = [3]uint8{0xff, 0xff, 0x00}
	svlBuilding     = [3]uint8{0x23, 0x86, 0x88}
	svlSign         = [3]uint8{0xc0, 0xc0, 0x00}
	svlShoulder     = [3]uint8{0xff, 0x00, 0xff}
	svlPedestrian   = [3]uint8{0xff, 0x00, 0x00}
	svlLaneLine     = [3]uint8{0x4e, 0x80, 0xff}
	svlSky          = [3]uint8{0xb5, 0xc2, 0xd9}
)

// svlColors are the colours of CARLA's tags: those of the class of SVL that such
// things belong to. What stands in the way and has no class of its own is an Obstacle;
// ground beside the road is its Shoulder.
var svlColors = [scene.TagCount][3]uint8{
	scene.TagUnlabeled: svlBlack,
	scene.TagRoads:     svlRoad, scene.TagRoadLine: svlLaneLine, scene.TagSidewalks: svlSidewalk,
	scene.TagGround: svlShoulder, scene.TagRailTrack: svlShoulder,
	scene.TagTerrain: svlVegetation, scene.TagVegetation: svlVegetation,
	scene.TagBuilding: svlBuilding, scene.TagBridge: svlBuilding,
	scene.TagWall: svlObstacle, scene.TagFence: svlObstacle, scene.TagPole: svlObstacle, scene.TagGuardRail: svlObstacle,
	scene.TagStatic: svlObstacle, scene.TagDynamic: svlObstacle, scene.TagOther: svlObstacle, scene.TagWater: svlObstacle,
	scene.TagTrafficLight: svlTrafficLight, scene.TagTrafficSign: svlSign,
	scene.TagPedestrian: svlPedestrian, scene.TagRider: svlPedestrian,
	scene.TagCar: svlCar, scene.TagTruck: svlCar, scene.TagBus: svlCar, scene.TagTrain: svlCar,
	scene.TagMotorcycle: svlCar, scene.TagBicycle: svlCar,
	scene.TagSky: svlSky,
}

// svlColor returns a tag's colour, as Tag.Color does for CARLA's palette.
func svlColor(t scene.Tag) [3]uint8 { return svlColors[t%scene.TagCount] }
