package gpu

// Binding attaches one resource to a slot of a program, as its GLSL
// layout(binding = Slot) says. Exactly one of Buffer and Texture is set.
type Binding struct {
	Kind    BindingKind
	Slot    int
	Buffer  *Buffer
	Offset  int // bytes, of a buffer range
	Size    int // bytes; 0 means to the end
	Texture *Texture
	Level   int    // of an image binding
	Access  Access // of an image binding; a storage block always counts as written
}

// BindingKind is the GLSL interface that a Binding feeds.
type BindingKind uint8

// The interfaces, with the GLSL that declares them.
const (
	BindUniform BindingKind = iota + 1 // uniform block (std140)
	BindStorage                        // buffer block (std430)
	BindSampler                        // sampler2D, sampler2DArray, samplerBuffer, ...
	BindImage                          // image2D, ...
)

// ProgramDesc is the source of a program: either Compute alone, or Vertex and
// Fragment. The sources are complete GLSL with #version, includes resolved.
type ProgramDesc struct {
	Label    string
	Compute  string
	Vertex   string
	Fragment string
}

// Dispatch is one compute dispatch. The slice of bindings is read during the
// call only; callers reuse it.
type Dispatch struct {
	Program *Program
	Bind    []Binding
	Groups  [3]int // work groups; each at least 1
}

// DrawCall is one draw of a Draw: Count vertices from First, Instances times.
// gl_BaseInstance is not available in GL 4.5 core shaders: per-draw data goes
// through a uniform block that is indexed by Index, which the vertex shader
// reads as the uniform int at location 0.
type DrawCall struct {
	First, Count int
	Instances    int // 0 means 1
	Index        int
}

// Draw renders triangles without vertex attributes: the vertex shader fetches
// what it needs by gl_VertexID from texel buffers. Depth writes are on; the
// depth test is LESS, or GREATER in a framebuffer of reversed depth.
type Draw struct {
	Program     *Program
	Framebuffer *Framebuffer
	Bind        []Binding
	Viewport    [4]int // x, y, width, height; zero value: the whole framebuffer
	Calls       []DrawCall
	CullBack    bool
	DepthBias   [2]float32 // slope factor and constant units (glPolygonOffset); zero is off
}

// FramebufferDesc lists the attachments of a framebuffer.
type FramebufferDesc struct {
	Label string
	Color []*Texture
	Depth *Texture // (optional)
	Layer int      // of array textures
	// ReversedDepth makes depth run from 1 at the near plane to 0 at the far
	// one: clip space has z from 0 to w, Clear sets 0, and Draw keeps what is
	// greater. With FormatDepth32F it is as fine far away as float32 is,
	// where the usual direction is some centimetres coarse at 100 m.
	ReversedDepth bool
}

// ClearColor is what Clear writes into a colour attachment; which fields count
// follows from the attachment's format.
type ClearColor struct {
	Float [4]float32
	Uint  [4]uint32
}
