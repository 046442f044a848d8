package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
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
}

// shade makes one batch's pictures out of the ids.
func (v *view) shade(c *gpu.Ctx, r *renderer, index int, fromOptical mgl64.Mat4) error {
	b := &v.batches[index]
	block := []shadeBlock{v.block(r, b, fromOptical)}
	if index == len(v.uniforms) {
		buffer, err := c.NewBuffer(gpu.BufferDesc{Label: "camera view", Size: len(rawBytes(block))})
		if err != nil {
			return err
		}
		v.uniforms = append(v.uniforms, buffer)
	}
	if err := c.WriteBuffer(v.uniforms[index], 0, rawBytes(block)); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	sampler := func(slot int, t *gpu.Texture) {
		bind = append(bind, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: t})
	}
	bind = append(bind, v.frames.binding(), v.lensBinding(), gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: v.uniforms[index]})
	sampler(shaders.SlotVisible, v.ids)
	sampler(shaders.SlotStaticShadow, r.sun.static.depth)
	sampler(shaders.SlotMoverShadow, r.sun.movers.depth)
	sampler(shaders.SlotPalette, r.palette.texture)
	what := shading{samples: v.key.samples, lens: v.key.lens.constant()}
	for k, member := range b {
		if member != nil {
			what.what |= member.options.form.picture
			what.graded = what.graded || member.options.grade.active()
			bind = append(bind, gpu.Binding{Kind: gpu.BindStorage, Slot: k, Buffer: member.target})
		}
	}
	r.scratch = bind
	program, err := r.programs.shade(c, what)
	if err != nil {
		return err
	}
	l := v.key.lens
	return c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: shaders.CameraShade.Groups(l.Width, l.Height, 1)})
}

// block fills in the uniform block of a batch.
func (v *view) block(r *renderer, b *batch, fromOptical mgl64.Mat4) shadeBlock {
	block := shadeBlock{size: [2]int32{int32(v.key.lens.Width), int32(v.key.lens.Height)}}
	for _, member := range b {
		if member != nil {
			member.options.describe(&block)
		}
	}
	s := r.sun
	block.exposure *= s.light.Exposure
	toOptical := fromOptical.Mat3().Transpose()
	block.up = vec4of(toOptical.Mul3x1(mgl64.Vec3{0, 0, 1}))
	block.toSun = vec4of(toOptical.Mul3x1(s.toSun))
	color := func(dst *[4]float32, c [3]float32) { copy(dst[:], c[:]) }
	color(&block.zenith, s.light.SkyZenith)
	color(&block.horizon, s.light.SkyHorizon)
	color(&block.ground, s.light.Ground)
	color(&block.around, around(&s.light))
	if s.shines {
		color(&block.sun, s.light.SunColor)
		block.staticMap = s.static.sampling(fromOptical)
		block.moverMap = s.movers.sampling(fromOptical)
	}
	block.offsets = [4]float32{
		float32(s.static.texel()), float32(s.movers.texel()), 1 / float32(s.static.size), 0,
	}
	return block
}

// describe adds a camera's part to the uniform block.
func (o *options) describe(b *shadeBlock) {
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
