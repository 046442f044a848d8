package gpu

// Format is the storage format of a texture or the layout of its pixels in a
// buffer; the names are OpenGL's sized internal formats.
type Format uint8

// Formats that raybridge uses. Every one can be a texture; those marked
// "texel buffer" can also view a Buffer as a samplerBuffer or usamplerBuffer.
const (
	FormatNone     Format = iota
	FormatR8              // 1 byte, normalised
	FormatRGBA8           // 4 bytes, normalised, linear; texel buffer
	FormatSRGB8A8         // 4 bytes, colour decoded from sRGB when sampled
	FormatR32F            // 4 bytes; texel buffer
	FormatRG32F           // 8 bytes; texel buffer
	FormatRGBA16F         // 8 bytes
	FormatRGBA32F         // 16 bytes; texel buffer
	FormatR32UI           // 4 bytes; texel buffer
	FormatRG32UI          // 8 bytes; texel buffer
	FormatRGBA32UI        // 16 bytes; texel buffer
	FormatDepth32F        // 4 bytes, depth attachment
)

// PixelBytes returns the size of one pixel of format f in bytes.
func (f Format) PixelBytes() int {
	switch f {
	case FormatR8:
		return 1
	case FormatRGBA8, FormatSRGB8A8, FormatR32F, FormatR32UI, FormatDepth32F:
		return 4
	case FormatRG32F, FormatRGBA16F, FormatRG32UI:
		return 8
	case FormatRGBA32F, FormatRGBA32UI:
		return 16
	default:
		return 0
	}
}

// BufferUsage says who touches a buffer's memory and how.
type BufferUsage uint8

const (
	// UsageDevice buffers live in device memory; the host writes them with
	// WriteBuffer only.
	UsageDevice BufferUsage = iota
	// UsageReadback buffers are persistently and coherently mapped for
	// reading in host memory: the destination of copies.
	UsageReadback
)

// BufferDesc describes a buffer to be made.
type BufferDesc struct {
	Label string // for debug output and leak reports
	Size  int    // bytes, > 0
	Usage BufferUsage
	Data  []byte // (optional) first contents, at most Size bytes; only read during the call
}

// TextureKind is the dimensionality of a texture.
type TextureKind uint8

// The kinds of textures.
const (
	Texture2D TextureKind = iota
	Texture2DArray
	// TextureBuffer views a Buffer through texelFetch: the fastest way to read
	// large tables on software OpenGL, and free on GPUs.
	TextureBuffer
)

// Filter is how a texture is sampled.
type Filter uint8

// The filters.
const (
	FilterNearest   Filter = iota
	FilterLinear           // bilinear, no mipmaps
	FilterTrilinear        // needs Levels > 1
)

// Wrap is what happens to texture coordinates outside [0, 1].
type Wrap uint8

// The wraps, by OpenGL's names.
const (
	WrapRepeat Wrap = iota
	WrapClampToEdge
	WrapMirroredRepeat
)

// TextureDesc describes a texture to be made.
type TextureDesc struct {
	Label         string
	Kind          TextureKind
	Format        Format
	Width, Height int     // pixels, > 0 (not for TextureBuffer)
	Layers        int     // of a Texture2DArray, else 0
	Levels        int     // mipmap levels; 0 means 1
	Filter        Filter  // minification and magnification
	Wrap          Wrap    // both axes
	Buffer        *Buffer // of a TextureBuffer: what it views, whole
	DepthCompare  bool    // sampled as a shadow map (sampler2DShadow), LEQUAL
}

// bytes is what the texture holds, all levels and layers; 0 of a view of a buffer.
func (d *TextureDesc) bytes() int64 {
	if d.Kind == TextureBuffer {
		return 0
	}
	sum := int64(0)
	for level := range max(d.Levels, 1) {
		sum += int64(max(d.Width>>level, 1)) * int64(max(d.Height>>level, 1))
	}
	return sum * int64(max(d.Layers, 1)) * int64(d.Format.PixelBytes())
}

// Access is how a shader uses an image binding.
type Access uint8

// The accesses.
const (
	ReadOnly Access = iota
	WriteOnly
	ReadWrite
)

// BarrierBits says which later uses must see what shaders wrote before
// (glMemoryBarrier). BarrierFor chooses them for copies.
type BarrierBits uint32

const (
	// BarrierStorage is for later shader storage buffer accesses.
	BarrierStorage BarrierBits = 1 << iota
	// BarrierImage is for later image loads and stores.
	BarrierImage
	// BarrierTextureFetch is for later texture and texel buffer fetches.
	BarrierTextureFetch
	// BarrierBufferUpdate is for later copies of buffers, maps and sub-data calls.
	BarrierBufferUpdate
	// BarrierTextureUpdate is for later glGetTextureImage and texture uploads.
	BarrierTextureUpdate
	// BarrierPixelBuffer is for later pixel transfers into or out of a buffer.
	BarrierPixelBuffer
	// BarrierClientMapped is for later host reads through a persistent map that is not coherent.
	BarrierClientMapped
	// BarrierFramebuffer is for later reads or writes through a framebuffer.
	BarrierFramebuffer
	// BarrierUniform is for later uniform block reads.
	BarrierUniform
	// BarrierCommand is for later indirect draws and dispatches.
	BarrierCommand
)

// BarrierFor returns the barrier that must stand between shader writes into a
// source and the copy of that source into a readback buffer (GL 4.5 core,
// section 7.13.2): this is the one place that decides it.
func BarrierFor(source SourceKind) BarrierBits {
	switch source {
	case SourceBuffer:
		return BarrierBufferUpdate
	case SourceTexture:
		return BarrierTextureUpdate | BarrierPixelBuffer | BarrierFramebuffer
	default:
		return 0
	}
}

// SourceKind is what a readback copies from.
type SourceKind uint8

// The kinds of sources.
const (
	SourceBuffer SourceKind = iota + 1
	SourceTexture
)
