//go:build cgo

package glcore

import (
	"fmt"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
)

// pixels names a format to OpenGL. It says how the format is stored (GL 4.5 core, table 8.12).
// It says how the format's pixels lie in client memory or a pixel buffer (tables 8.2 to 8.5).
type pixels struct {
	internal, format, dataType uint32
}

var formats = map[gpu.Format]pixels{
	gpu.FormatR8:       {glR8, glRED, glUNSIGNED_BYTE},
	gpu.FormatRGBA8:    {glRGBA8, glRGBA, glUNSIGNED_BYTE},
	gpu.FormatSRGB8A8:  {glSRGB8_ALPHA8, glRGBA, glUNSIGNED_BYTE},
	gpu.FormatR32F:     {glR32F, glRED, glFLOAT},
	gpu.FormatRG32F:    {glRG32F, glRG, glFLOAT},
	gpu.FormatRGBA16F:  {glRGBA16F, glRGBA, glHALF_FLOAT},
	gpu.FormatRGBA32F:  {glRGBA32F, glRGBA, glFLOAT},
	gpu.FormatR32UI:    {glR32UI, glRED_INTEGER, glUNSIGNED_INT},
	gpu.FormatRG32UI:   {glRG32UI, glRG_INTEGER, glUNSIGNED_INT},
	gpu.FormatRGBA32UI: {glRGBA32UI, glRGBA_INTEGER, glUNSIGNED_INT},
	gpu.FormatDepth32F: {glDEPTH_COMPONENT32F, glDEPTH_COMPONENT, glFLOAT},
}

// integer tells the formats that are cleared by glClearNamedFramebufferuiv.
func (p pixels) integer() bool { return p.dataType == glUNSIGNED_INT }

// barrierBits is glMemoryBarrier's name of each gpu.BarrierBits bit.
var barrierBits = []struct {
	bit gpu.BarrierBits
	gl  uint32
}{
	{gpu.BarrierStorage, glSHADER_STORAGE_BARRIER_BIT},
	{gpu.BarrierImage, glSHADER_IMAGE_ACCESS_BARRIER_BIT},
	{gpu.BarrierTextureFetch, glTEXTURE_FETCH_BARRIER_BIT},
	{gpu.BarrierBufferUpdate, glBUFFER_UPDATE_BARRIER_BIT},
	{gpu.BarrierTextureUpdate, glTEXTURE_UPDATE_BARRIER_BIT},
	{gpu.BarrierPixelBuffer, glPIXEL_BUFFER_BARRIER_BIT},
	{gpu.BarrierClientMapped, glCLIENT_MAPPED_BUFFER_BARRIER_BIT},
	{gpu.BarrierFramebuffer, glFRAMEBUFFER_BARRIER_BIT},
	{gpu.BarrierUniform, glUNIFORM_BARRIER_BIT},
	{gpu.BarrierCommand, glCOMMAND_BARRIER_BIT},
}

// memoryBarrierBits translates a set of bits.
func memoryBarrierBits(bits gpu.BarrierBits) uint32 {
	var out uint32
	for _, b := range barrierBits {
		if bits&b.bit != 0 {
			out |= b.gl
		}
	}
	return out
}

// CreateTexture implements gpu.Driver.
func (d *Driver) CreateTexture(desc gpu.TextureDesc, buffer gpu.Handle) (gpu.Handle, error) {
	px, ok := formats[desc.Format]
	if !ok {
		return 0, fmt.Errorf("format %v has no OpenGL counterpart", desc.Format)
	}
	d.keepErrors()
	t, err := d.storeTexture(&desc, px, buffer)
	if err == nil {
		err = drainErrors()
	}
	if err != nil {
		glDeleteTextures(1, &t)
		return 0, err
	}
	label(glTEXTURE, t, desc.Label)
	if desc.Kind != gpu.TextureBuffer {
		setSampling(t, &desc)
	}
	return gpu.Handle(t), nil
}

func (d *Driver) storeTexture(desc *gpu.TextureDesc, px pixels, buffer gpu.Handle) (t uint32, err error) {
	w, h := int32(desc.Width), int32(desc.Height)
	switch desc.Kind {
	case gpu.Texture2D:
		if err := d.checkSize(desc); err != nil {
			return 0, err
		}
		glCreateTextures(glTEXTURE_2D, 1, &t)
		glTextureStorage2D(t, int32(desc.Levels), px.internal, w, h)
	case gpu.Texture2DArray:
		if err := d.checkSize(desc); err != nil {
			return 0, err
		}
		glCreateTextures(glTEXTURE_2D_ARRAY, 1, &t)
		glTextureStorage3D(t, int32(desc.Levels), px.internal, w, h, int32(desc.Layers))
	case gpu.TextureBuffer:
		texels := desc.Buffer.Size() / desc.Format.PixelBytes()
		if limit := d.info.Limits.MaxTextureBufferTexels; texels > limit {
			return 0, fmt.Errorf("a view of %d texels is over this driver's limit of %d", texels, limit)
		}
		glCreateTextures(glTEXTURE_BUFFER, 1, &t)
		glTextureBuffer(t, px.internal, uint32(buffer))
	default:
		return 0, fmt.Errorf("unknown kind %d of texture", desc.Kind)
	}
	return t, nil
}

func (d *Driver) checkSize(desc *gpu.TextureDesc) error {
	l := &d.info.Limits
	if max(desc.Width, desc.Height) > l.MaxTextureSize || desc.Layers > l.MaxTextureLayers {
		return fmt.Errorf("%dx%d pixels with %d layers are over this driver's limits of %d and %d",
			desc.Width, desc.Height, desc.Layers, l.MaxTextureSize, l.MaxTextureLayers)
	}
	return nil
}

var (
	minFilters = map[gpu.Filter]int32{
		gpu.FilterNearest: glNEAREST, gpu.FilterLinear: glLINEAR, gpu.FilterTrilinear: glLINEAR_MIPMAP_LINEAR,
	}
	magFilters = map[gpu.Filter]int32{
		gpu.FilterNearest: glNEAREST, gpu.FilterLinear: glLINEAR, gpu.FilterTrilinear: glLINEAR,
	}
	wraps = map[gpu.Wrap]int32{
		gpu.WrapRepeat: glREPEAT, gpu.WrapClampToEdge: glCLAMP_TO_EDGE, gpu.WrapMirroredRepeat: glMIRRORED_REPEAT,
	}
)

func setSampling(t uint32, desc *gpu.TextureDesc) {
	glTextureParameteri(t, glTEXTURE_MIN_FILTER, minFilters[desc.Filter])
	glTextureParameteri(t, glTEXTURE_MAG_FILTER, magFilters[desc.Filter])
	glTextureParameteri(t, glTEXTURE_WRAP_S, wraps[desc.Wrap])
	glTextureParameteri(t, glTEXTURE_WRAP_T, wraps[desc.Wrap])
	if desc.DepthCompare {
		glTextureParameteri(t, glTEXTURE_COMPARE_MODE, glCOMPARE_REF_TO_TEXTURE)
		glTextureParameteri(t, glTEXTURE_COMPARE_FUNC, glLEQUAL)
	}
}

// WriteTexture implements gpu.Driver.
func (d *Driver) WriteTexture(h gpu.Handle, desc *gpu.TextureDesc, r gpu.TextureRegion, data []byte) error {
	px := formats[desc.Format]
	level, x, y, w, ht := int32(r.Level), int32(r.X), int32(r.Y), int32(r.Width), int32(r.Height)
	p := unsafe.Pointer(&data[0])
	if desc.Kind == gpu.Texture2DArray {
		glTextureSubImage3D(uint32(h), level, x, y, int32(r.Layer), w, ht, 1, px.format, px.dataType, p)
	} else {
		glTextureSubImage2D(uint32(h), level, x, y, w, ht, px.format, px.dataType, p)
	}
	return nil
}

// GenerateMipmaps implements gpu.Driver.
func (d *Driver) GenerateMipmaps(h gpu.Handle) error {
	glGenerateTextureMipmap(uint32(h))
	return nil
}

// ReadTexture implements gpu.Driver.
func (d *Driver) ReadTexture(h gpu.Handle, level int, format gpu.Format, dst []byte) error {
	px := formats[format]
	glMemoryBarrier(glTEXTURE_UPDATE_BARRIER_BIT | glFRAMEBUFFER_BARRIER_BIT)
	glGetTextureImage(uint32(h), int32(level), px.format, px.dataType, int32(len(dst)), unsafe.Pointer(&dst[0]))
	return nil
}

// CopyTextureToBuffer implements gpu.Driver by glGetTextureImage into the bound pixel pack
// buffer. The offset goes through PACK_SKIP_PIXELS. As a "pointer" it would be a small number
// in a Go frame, which the runtime rejects when it moves the stack.
func (d *Driver) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, offset, size int) error {
	px, ok := formats[format]
	if !ok {
		return fmt.Errorf("format %v has no OpenGL counterpart", format)
	}
	glBindBuffer(glPIXEL_PACK_BUFFER, uint32(dst))
	glPixelStorei(glPACK_SKIP_PIXELS, int32(offset/format.PixelBytes()))
	glGetTextureImage(uint32(src), int32(level), px.format, px.dataType, int32(offset+size), nil)
	glPixelStorei(glPACK_SKIP_PIXELS, 0)
	glBindBuffer(glPIXEL_PACK_BUFFER, 0)
	return nil
}
