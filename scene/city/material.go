package city

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
)

// material indexes palette, and so the scene's Materials.
type material int

// The materials of the town. Those from firstWall to lastWall are walls that
// also exist with windows painted on them: see painted.
const (
	asphalt material = iota
	asphaltPatch
	asphaltOld
	paving
	pavingWarm
	kerbStone
	gravelPath
	soil
	lawn
	meadow
	field
	forest
	lineWhite
	ironCover
	water

	brickRed
	brickBrown
	brickOrange
	brickBuff
	brickGrey
	brickWhite
	plasterWhite
	plasterCream
	plasterYellow
	plasterPink
	plasterBlue
	plasterGreen
	plasterGrey
	plasterTerracotta
	ashlarSand
	ashlarGrey
	concreteGrey
	concreteLight
	claddingDark
	claddingBlue

	trimWhite
	trimStone
	trimDark
	trimGreen
	trimBrown
	paneClassic
	paneModern
	paneShop
	glassPlain
	doorRed
	doorGreen
	doorBlue
	doorWood

	tilesRed
	tilesBrown
	slate
	roofGravel
	roofTar
	zinc
	copper

	woodLight
	woodDark
	bark
	barkPale
	leafBright
	leafMid
	leafDark
	leafOlive
	leafYellow
	needles
	blossomPink
	blossomWhite
	flowerRed
	flowerYellow
	flowerViolet

	ironDark
	ironGreen
	steel
	aluminium
	paintRed
	paintYellow
	paintBlue
	plasticBlack
	plasticGreen
	canvasRed
	canvasGreen
	canvasBlue
	canvasCream
	canvasOrange

	signFace
	signBack
	shopSign
	licensePlate
	lampGlow
	lightRed
	lightAmber
	lightGreen
	lensOff
	headLamp
	tailLamp
	indicatorLamp

	carWhite
	carBlack
	carSilver
	carGraphite
	carBlue
	carRed
	carGreen
	carBeige
	carYellow
	carOrange
	carSky
	carGlass
	carTrim
	tyre
	rim
	chrome

	skinLight
	skinMid
	skinDark
	hairBlack
	hairBrown
	hairBlond
	hairGrey
	clothWhite
	clothBlack
	clothRed
	clothBlue
	clothNavy
	clothGreen
	clothYellow
	clothGrey
	clothDenim
	clothBeige
	clothPurple
	clothTeal
	leather

	namedMaterials // how many there are

	firstWall  = brickRed
	lastWall   = claddingBlue
	firstPaint = carWhite
	lastPaint  = carSky
)

// painting is how windows are painted on a wall that has none as geometry.
type painting int

const (
	paintedHouse painting = iota
	paintedOffice
	paintings // how many there are
)

// painted returns the wall with windows painted on it, four bays by four
// storeys a tile.
func painted(wall material, p painting) material {
	return namedMaterials + (wall-firstWall)*material(paintings) + material(p)
}

// finish is how a surface meets light: what many materials share.
type finish struct {
	roughness, metallic float32
	reflectance         float32 // at 905 nm, 0..1
}

// Reflectances are typical figures for near infrared: fresh asphalt 0.15,
// concrete 0.35, brick 0.4, leaves 0.5 and more, dark paint and rubber 0.05.
var (
	asphaltFinish = finish{0.95, 0, 0.16}
	stoneFinish   = finish{0.9, 0, 0.38}
	earthFinish   = finish{1, 0, 0.3}
	leafFinish    = finish{0.9, 0, 0.52}
	lineFinish    = finish{0.7, 0, 0.75}
	plasterFinish = finish{0.92, 0, 0.55}
	brickFinish   = finish{0.93, 0, 0.4}
	trimFinish    = finish{0.6, 0, 0.5}
	glassFinish   = finish{0.08, 0, 0.08}
	woodFinish    = finish{0.75, 0, 0.4}
	paintFinish   = finish{0.45, 0, 0.4}
	metalFinish   = finish{0.4, 0.8, 0.45}
	clothFinish   = finish{0.95, 0, 0.45}
	lampFinish    = finish{0.3, 0, 0.3}
	carFinish     = finish{0.28, 0.1, 0.35}
	darkFinish    = finish{0.8, 0, 0.06}
)

// surfaceLook is one entry of the palette.
type surfaceLook struct {
	name     string
	color    uint32 // sRGB, 0xRRGGBB
	finish   finish
	texture  picture
	tile     float64 // metres a texture repeat; 0 for untextured faces
	emissive float32 // times the colour
	retro    bool
	thin     bool // seen from both sides
}

// palette holds every material of the town. It is never written after start-up.
var palette = withPaintedWalls(namedPalette())

// withPaintedWalls appends what painted returns.
func withPaintedWalls(p []surfaceLook) []surfaceLook {
	pictures := [paintings]picture{picHouseWall, picOfficeWall}
	for w := firstWall; w <= lastWall; w++ {
		for k, pic := range pictures {
			look := p[w]
			look.name = fmt.Sprintf("%s_windows_%d", look.name, k)
			look.texture, look.tile = pic, 12
			look.finish.roughness = 0.7
			p = append(p, look)
		}
	}
	return p
}

// materials returns the palette as the scene's materials; texture indices are
// those of picture.
func materials() []scene.Material {
	out := make([]scene.Material, len(palette))
	for i := range palette {
		l := &palette[i]
		c := linear(l.color)
		m := scene.Material{
			Name: l.name, BaseColor: c.Vec4(1), BaseColorTexture: scene.NoTexture,
			Metallic: l.finish.metallic, Roughness: l.finish.roughness,
			MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture,
			Emissive: c.Mul(l.emissive), Reflectance: l.finish.reflectance, Retro: l.retro, DoubleSided: l.thin,
		}
		if l.texture != noPicture {
			m.BaseColorTexture = int(l.texture)
		}
		out[i] = m
	}
	return out
}

// linear returns an sRGB colour (IEC 61966-2-1) as linear RGB.
func linear(rgb uint32) mgl32.Vec3 {
	var out mgl32.Vec3
	for i := range out {
		c := float64(rgb>>(16-8*i)&0xff) / 255
		if c <= 0.04045 {
			out[i] = float32(c / 12.92)
		} else {
			out[i] = float32(math.Pow((c+0.055)/1.055, 2.4))
		}
	}
	return out
}
