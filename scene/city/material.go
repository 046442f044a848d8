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

// namedPalette returns the materials in the order of their constants.
func namedPalette() []surfaceLook {
	p := make([]surfaceLook, namedMaterials)
	for _, table := range [][]namedLook{groundLooks, wallLooks, facadeLooks, roofLooks, plantLooks, streetLooks, vehicleLooks, personLooks} {
		for _, l := range table {
			p[l.id] = l.surfaceLook
		}
	}
	return p
}

type namedLook struct {
	id material
	surfaceLook
}

// look returns an untextured palette entry.
func look(id material, name string, color uint32, f finish) namedLook {
	return namedLook{id, surfaceLook{name: name, color: color, finish: f, texture: noPicture}}
}

// with returns the entry with a texture that repeats every tile metres.
func (l namedLook) with(p picture, tile float64) namedLook {
	l.texture, l.tile = p, tile
	return l
}

func (l namedLook) glowing(times float32) namedLook { l.emissive = times; return l }

// sheet marks a material that thin things are made of: it is seen from both sides.
func (l namedLook) sheet() namedLook { l.thin = true; return l }

func (l namedLook) retroreflective() namedLook { l.retro = true; return l }

var groundLooks = []namedLook{
	look(asphalt, "asphalt", 0xb4b4b6, asphaltFinish).with(picAsphalt, 5),
	look(asphaltPatch, "asphalt_patch", 0x8e8e92, asphaltFinish).with(picAsphalt, 5),
	look(asphaltOld, "asphalt_old", 0xc6c4c0, asphaltFinish).with(picAsphalt, 5),
	look(paving, "paving", 0xd2cec6, stoneFinish).with(picPaving, 3),
	look(pavingWarm, "paving_warm", 0xd8c2a6, stoneFinish).with(picPaving, 3),
	look(kerbStone, "kerb", 0xb8b6b0, stoneFinish).with(picPlaster, 4),
	look(gravelPath, "gravel_path", 0xe6d2ac, earthFinish).with(picGravel, 2),
	look(soil, "soil", 0x6a5240, earthFinish).with(picGravel, 2),
	look(lawn, "lawn", 0xa4c46a, leafFinish).with(picGrass, 4),
	look(meadow, "meadow", 0xa6ba6c, leafFinish).with(picGrass, 40),
	look(field, "field", 0xdcc882, earthFinish).with(picGrass, 40),
	look(forest, "forest", 0x5c7a48, leafFinish).with(picLeaves, 40),
	look(lineWhite, "line_white", 0xe8e8e4, lineFinish),
	look(ironCover, "iron_cover", 0x4c4a48, finish{0.6, 0.6, 0.2}),
	look(water, "water", 0x2c5a62, finish{0.05, 0, 0.02}),
}

var wallLooks = []namedLook{
	look(brickRed, "brick_red", 0xb87462, brickFinish).with(picBrick, 2),
	look(brickBrown, "brick_brown", 0xa07c68, brickFinish).with(picBrick, 2),
	look(brickOrange, "brick_orange", 0xcc8e6c, brickFinish).with(picBrick, 2),
	look(brickBuff, "brick_buff", 0xdcbc8c, brickFinish).with(picBrick, 2),
	look(brickGrey, "brick_grey", 0x86827e, brickFinish).with(picBrick, 2),
	look(brickWhite, "brick_white", 0xe6e0d6, brickFinish).with(picBrick, 2),
	look(plasterWhite, "plaster_white", 0xf0ece2, plasterFinish).with(picPlaster, 4),
	look(plasterCream, "plaster_cream", 0xf2e2bc, plasterFinish).with(picPlaster, 4),
	look(plasterYellow, "plaster_yellow", 0xecc878, plasterFinish).with(picPlaster, 4),
	look(plasterPink, "plaster_pink", 0xe6b6a2, plasterFinish).with(picPlaster, 4),
	look(plasterBlue, "plaster_blue", 0xa6bece, plasterFinish).with(picPlaster, 4),
	look(plasterGreen, "plaster_green", 0xb4c8a4, plasterFinish).with(picPlaster, 4),
	look(plasterGrey, "plaster_grey", 0xc2c0bc, plasterFinish).with(picPlaster, 4),
	look(plasterTerracotta, "plaster_terracotta", 0xd29a78, plasterFinish).with(picPlaster, 4),
	look(ashlarSand, "ashlar_sand", 0xdcc8a0, stoneFinish).with(picAshlar, 4),
	look(ashlarGrey, "ashlar_grey", 0xc0bcb4, stoneFinish).with(picAshlar, 4),
	look(concreteGrey, "concrete_grey", 0xb2b0ac, stoneFinish).with(picConcrete, 6),
	look(concreteLight, "concrete_light", 0xdcdad4, stoneFinish).with(picConcrete, 6),
	look(claddingDark, "cladding_dark", 0x5a6068, finish{0.5, 0.3, 0.25}).with(picConcrete, 6),
	look(claddingBlue, "cladding_blue", 0x7e96a8, finish{0.5, 0.3, 0.3}).with(picConcrete, 6),
}

var facadeLooks = []namedLook{
	look(trimWhite, "trim_white", 0xeeeae2, trimFinish),
	look(trimStone, "trim_stone", 0xcabea8, stoneFinish),
	look(trimDark, "trim_dark", 0x3a3c40, trimFinish),
	look(trimGreen, "trim_green", 0x3c5c4a, trimFinish),
	look(trimBrown, "trim_brown", 0x6a4a34, woodFinish),
	look(paneClassic, "pane_classic", 0xffffff, finish{0.15, 0, 0.12}).with(picHousePanes, 1),
	look(paneModern, "pane_modern", 0xffffff, finish{0.1, 0, 0.1}).with(picModernPanes, 1),
	look(paneShop, "pane_shop", 0xffffff, finish{0.12, 0, 0.12}).with(picShops, 1),
	look(glassPlain, "glass", 0x9cbcc4, glassFinish),
	look(doorRed, "door_red", 0x8a2c26, trimFinish),
	look(doorGreen, "door_green", 0x24523c, trimFinish),
	look(doorBlue, "door_blue", 0x27446e, trimFinish),
	look(doorWood, "door_wood", 0x6e4a2c, woodFinish),
}

var roofLooks = []namedLook{
	look(tilesRed, "roof_tiles_red", 0xc26a4c, brickFinish).with(picRoofTiles, 3),
	look(tilesBrown, "roof_tiles_brown", 0x8e6654, brickFinish).with(picRoofTiles, 3),
	look(slate, "roof_slate", 0x767c86, stoneFinish).with(picRoofTiles, 3),
	look(roofGravel, "roof_gravel", 0xb8b0a4, stoneFinish).with(picGravel, 2),
	look(roofTar, "roof_tar", 0x6c6c6e, asphaltFinish).with(picAsphalt, 5),
	look(zinc, "zinc", 0x98a2a8, finish{0.45, 0.5, 0.35}).sheet(),
	look(copper, "copper", 0x7eb09a, finish{0.6, 0.3, 0.35}).sheet(),
}

var plantLooks = []namedLook{
	look(woodLight, "wood_light", 0xb48a5a, woodFinish),
	look(woodDark, "wood_dark", 0x7a5234, woodFinish),
	look(bark, "bark", 0x7c6650, woodFinish).with(picPlaster, 1),
	look(barkPale, "bark_pale", 0xa89c86, woodFinish).with(picPlaster, 1),
	look(leafBright, "leaf_bright", 0x9cc054, leafFinish).with(picLeaves, 2.5),
	look(leafMid, "leaf_mid", 0x7eaa4c, leafFinish).with(picLeaves, 2.5),
	look(leafDark, "leaf_dark", 0x5e8c46, leafFinish).with(picLeaves, 2.5),
	look(leafOlive, "leaf_olive", 0x98a456, leafFinish).with(picLeaves, 2.5),
	look(leafYellow, "leaf_yellow", 0xd0b048, leafFinish).with(picLeaves, 2.5),
	look(needles, "needles", 0x4e7654, leafFinish).with(picLeaves, 2.5),
	look(blossomPink, "blossom_pink", 0xee9cb4, leafFinish).with(picPlaster, 1),
	look(blossomWhite, "blossom_white", 0xf6cfd8, leafFinish).with(picPlaster, 1),
	look(flowerRed, "flower_red", 0xd04640, leafFinish).with(picLeaves, 1),
	look(flowerYellow, "flower_yellow", 0xf0c83c, leafFinish).with(picLeaves, 1),
	look(flowerViolet, "flower_violet", 0x9a64b4, leafFinish).with(picLeaves, 1),
}

var streetLooks = []namedLook{
	look(ironDark, "iron_dark", 0x3c4044, metalFinish),
	look(ironGreen, "iron_green", 0x2c4a3e, paintFinish),
	look(steel, "steel", 0xa0a4a8, metalFinish),
	look(aluminium, "aluminium", 0xc8ccce, finish{0.35, 0.9, 0.6}),
	look(paintRed, "paint_red", 0xc82c22, paintFinish),
	look(paintYellow, "paint_yellow", 0xf0b81c, paintFinish).sheet(),
	look(paintBlue, "paint_blue", 0x2456a0, paintFinish),
	look(plasticBlack, "plastic_black", 0x222326, darkFinish).sheet(),
	look(plasticGreen, "plastic_green", 0x3c7a48, paintFinish),
	look(canvasRed, "canvas_red", 0xb83a34, clothFinish).sheet(),
	look(canvasGreen, "canvas_green", 0x3c7050, clothFinish).sheet(),
	look(canvasBlue, "canvas_blue", 0x34608e, clothFinish).sheet(),
	look(canvasCream, "canvas_cream", 0xf0e4c8, clothFinish).sheet(),
	look(canvasOrange, "canvas_orange", 0xe08a3a, clothFinish).sheet(),
	look(signFace, "sign_face", 0xffffff, finish{0.4, 0, 0.8}).with(picSigns, 1).retroreflective(),
	look(signBack, "sign_back", 0x9ea2a6, metalFinish),
	look(shopSign, "shop_sign", 0xffffff, paintFinish).with(picSigns, 1),
	look(licensePlate, "license_plate", 0xffffff, finish{0.4, 0, 0.8}).with(picSigns, 1).retroreflective(),
	look(lampGlow, "lamp_glow", 0xfff2d8, lampFinish).glowing(0.6),
	look(lightRed, "light_red", 0xff2a1c, lampFinish).glowing(3),
	look(lightAmber, "light_amber", 0xffa81c, lampFinish).glowing(3),
	look(lightGreen, "light_green", 0x28ff9a, lampFinish).glowing(2.5),
	look(lensOff, "lens_off", 0x26221e, lampFinish),
	look(headLamp, "head_lamp", 0xf4f6f8, lampFinish).glowing(0.5),
	look(tailLamp, "tail_lamp", 0xb81418, lampFinish).glowing(0.35),
	look(indicatorLamp, "indicator_lamp", 0xe88a1c, lampFinish).glowing(0.2),
}

var vehicleLooks = []namedLook{
	look(carWhite, "car_white", 0xeeeeec, carFinish),
	look(carBlack, "car_black", 0x1c1d20, finish{0.25, 0.1, 0.08}),
	look(carSilver, "car_silver", 0xb6babf, finish{0.3, 0.5, 0.45}),
	look(carGraphite, "car_graphite", 0x54585e, finish{0.3, 0.4, 0.2}),
	look(carBlue, "car_blue", 0x24508e, carFinish),
	look(carRed, "car_red", 0xac2420, carFinish),
	look(carGreen, "car_green", 0x2c5844, carFinish),
	look(carBeige, "car_beige", 0xccb894, carFinish),
	look(carYellow, "car_yellow", 0xf2be24, carFinish),
	look(carOrange, "car_orange", 0xda6c26, carFinish),
	look(carSky, "car_sky", 0x7eb0d0, carFinish),
	look(carGlass, "car_glass", 0x26323a, glassFinish),
	look(carTrim, "car_trim", 0x2a2b2e, darkFinish),
	look(tyre, "tyre", 0x232323, darkFinish),
	look(rim, "rim", 0xd8dade, metalFinish).with(picSigns, 1),
	look(chrome, "chrome", 0xd4d8da, finish{0.15, 1, 0.6}),
}

var personLooks = []namedLook{
	look(skinLight, "skin_light", 0xe8b898, clothFinish),
	look(skinMid, "skin_mid", 0xc08a62, clothFinish),
	look(skinDark, "skin_dark", 0x7a4e34, clothFinish),
	look(hairBlack, "hair_black", 0x26201e, darkFinish),
	look(hairBrown, "hair_brown", 0x5a3c26, darkFinish),
	look(hairBlond, "hair_blond", 0xc89e5a, clothFinish),
	look(hairGrey, "hair_grey", 0xa6a29c, clothFinish),
	look(clothWhite, "cloth_white", 0xf0eee8, clothFinish),
	look(clothBlack, "cloth_black", 0x2c2c30, clothFinish),
	look(clothRed, "cloth_red", 0xc23a34, clothFinish),
	look(clothBlue, "cloth_blue", 0x3c74b8, clothFinish),
	look(clothNavy, "cloth_navy", 0x28344e, clothFinish),
	look(clothGreen, "cloth_green", 0x4c8a56, clothFinish),
	look(clothYellow, "cloth_yellow", 0xecc044, clothFinish),
	look(clothGrey, "cloth_grey", 0x8c8e92, clothFinish),
	look(clothDenim, "cloth_denim", 0x4a6488, clothFinish),
	look(clothBeige, "cloth_beige", 0xcdb896, clothFinish),
	look(clothPurple, "cloth_purple", 0x7c4c8c, clothFinish),
	look(clothTeal, "cloth_teal", 0x2c8a8c, clothFinish),
	look(leather, "leather", 0x4a3022, darkFinish),
}
