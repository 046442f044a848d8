package scene

import (
	"image"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
)

// Texture is an 8-bit RGBA picture with its sampling rule.
type Texture struct {
	Name  string
	Image *image.NRGBA
	Wrap  Wrap
}

// Wrap is what happens to texture coordinates outside [0, 1].
type Wrap uint8

// The wraps (glTF 2.0, section 5.26).
const (
	WrapRepeat Wrap = iota
	WrapClamp
	WrapMirror
)

// AlphaMode is how a material's alpha is used.
type AlphaMode uint8

const (
	// AlphaOpaque ignores alpha.
	AlphaOpaque AlphaMode = iota
	// AlphaMask says that a surface point whose alpha is below the cutoff is not there.
	AlphaMask
	// AlphaBlend is treated as AlphaMask with cutoff 0.5: sensors see the
	// nearest surface only.
	AlphaBlend
)

// NoTexture is the texture index of a material without that texture.
const NoTexture = -1

// Material is a metallic-roughness surface (glTF 2.0, section 3.9). Colours
// are linear RGB, 0..1; texture fields index the asset's (or scene's) Textures.
type Material struct {
	Name              string
	BaseColor         mgl32.Vec4
	BaseColorTexture  int // sRGB, alpha in A
	Metallic          float32
	Roughness         float32
	MetalRoughTexture int // linear; roughness in G, metallic in B
	Emissive          mgl32.Vec3
	EmissiveTexture   int // sRGB
	AlphaMode         AlphaMode
	AlphaCutoff       float32
	DoubleSided       bool
	// Reflectance is the diffuse reflectance at the lidar's wavelength,
	// 0..1; negative means: the luminance of the base colour.
	Reflectance float32
	// Retro is true for retroreflectors (signs, plates): intensities 101..255.
	Retro bool
}

// Mesh is an indexed triangle mesh in its own frame, metres, REP-103 axes,
// counter-clockwise front faces. Normals has Positions' length, unit vectors;
// UVs has it too, or is nil.
type Mesh struct {
	Name      string
	Positions []mgl32.Vec3
	Normals   []mgl32.Vec3
	UVs       []mgl32.Vec2
	Indices   []uint32
	// Groups cover Indices without overlap, in order.
	Groups []Group
}

// Group is a run of a mesh's triangles with one material.
type Group struct {
	First, Count int // in Indices; multiples of 3
	Material     int // into the asset's (or scene's) Materials
}

// TRS is a node's local transform: scale, then rotation, then translation
// (glTF 2.0, section 3.5.3).
type TRS struct {
	Translation mgl64.Vec3
	Rotation    mgl64.Quat
	Scale       mgl64.Vec3
}

// IdentityTRS returns the transform that maps every point to itself.
func IdentityTRS() TRS {
	return TRS{Rotation: mgl64.QuatIdent(), Scale: mgl64.Vec3{1, 1, 1}}
}

// Mat4 returns the transform as a matrix.
func (t TRS) Mat4() mgl64.Mat4 {
	return mgl64.Translate3D(t.Translation[0], t.Translation[1], t.Translation[2]).
		Mul4(t.Rotation.Mat4()).
		Mul4(mgl64.Scale3D(t.Scale[0], t.Scale[1], t.Scale[2]))
}

// Node is one node of an asset's hierarchy.
type Node struct {
	Name   string
	Parent int // index, or -1; always less than the node's own index
	Local  TRS
	Mesh   int // index into Meshes, or -1
	// Tag is the node's semantic tag, TagUnlabeled to inherit the parent's.
	Tag Tag
	// Actor is true where the node and all below it are one actor.
	Actor bool
}

// Path is the property of a node that a Channel animates.
type Path uint8

// The properties.
const (
	PathTranslation Path = iota
	PathRotation
	PathScale
)

// Interpolation is how a Channel's values are joined (glTF 2.0, appendix C).
type Interpolation uint8

// The interpolations, by glTF's names.
const (
	InterpolationLinear Interpolation = iota
	InterpolationStep
	InterpolationCubicSpline
)

// Channel animates one property of one node. Values holds 3 (translation,
// scale) or 4 (rotation: x, y, z, w) numbers a key, three times that for cubic
// splines (in-tangent, value, out-tangent).
type Channel struct {
	Node          int
	Path          Path
	Interpolation Interpolation
	TimesNs       []int64 // strictly increasing
	Values        []float64
}

// Animation is a set of channels that loop together over its duration.
type Animation struct {
	Name       string
	DurationNs int64
	Channels   []Channel
}

// Asset is what a loader or a generator makes: a node hierarchy with what it
// refers to, in REP-103 axes and metres. Indices are local to the asset.
type Asset struct {
	Name       string
	Textures   []Texture
	Materials  []Material
	Meshes     []Mesh
	Nodes      []Node
	Animations []Animation
	// Warnings are what the loader left out, for the user to read.
	Warnings []string
}
