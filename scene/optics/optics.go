// Package optics says how surfaces meet light that cameras don't see: what a lidar's wavelength is
// reflected by, and what retroreflectors send back. A material file gives it by semantic class and by
// the names of a scene's materials; docs/materials.md has its form and the defaults.
package optics

import (
	"fmt"
	"maps"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// Surface has the properties of a surface. What is nil isn't known.
type Surface struct {
	// Reflectance905 and Reflectance1550 are the diffuse reflectances at 905 and 1550 nm, 0 to 1.
	Reflectance905  *float64 `yaml:"reflectance_905" min:"0" max:"1" doc:"diffuse reflectance at 905 nm"`
	Reflectance1550 *float64 `yaml:"reflectance_1550" min:"0" max:"1" doc:"diffuse reflectance at 1550 nm"`
	// Retro is the coefficient of retroreflection R_A (CIE 54.2), cd/(lx m2): of a class that of the
	// materials that the scene calls retroreflective, of a material its own.
	Retro *float64 `yaml:"retro" min:"0" max:"2000" doc:"coefficient of retroreflection, cd/(lx m2)"`
	// Beads is the same of all surfaces of a class, such as markings with glass beads.
	Beads *float64 `yaml:"beads" min:"0" max:"2000" doc:"coefficient of retroreflection of all surfaces, cd/(lx m2)"`
	// Emissivity is that at 8 to 14 um, 0 to 1, and Temperature the surface's, kelvin. They are read and checked;
	// no sensor measures them yet.
	Emissivity  *float64 `yaml:"emissivity" min:"0" max:"1" doc:"emissivity at 8 to 14 um"`
	Temperature *float64 `yaml:"temperature" min:"0" max:"3000" doc:"temperature, K"`
}

// over returns o with what it doesn't know from base.
func (o Surface) over(base Surface) Surface {
	for _, p := range [][2]**float64{
		{&o.Reflectance905, &base.Reflectance905}, {&o.Reflectance1550, &base.Reflectance1550}, {&o.Retro, &base.Retro}, {&o.Beads, &base.Beads},
		{&o.Emissivity, &base.Emissivity}, {&o.Temperature, &base.Temperature},
	} {
		if *p[0] == nil {
			*p[0] = *p[1]
		}
	}
	return o
}

// Table has the properties of surfaces by class and by material. It isn't changed once it is made: any
// goroutine may read it.
type Table struct {
	Classes map[scene.Tag]Surface
	// Given is what the file alone says of classes.
	Given     map[scene.Tag]Surface
	Materials map[string]Surface
}

// maxSize is the size of the largest file, bytes.
const maxSize = 4 << 20

// Read reads a material file over the defaults. "" is the defaults alone. Errors have their places in the file
// (*doc.Error), or are the file's own.
func Read(path string) (*Table, error) {
	if path == "" {
		return Defaults(), nil
	}
	data, err := fault.ReadUpTo(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read materials: %w", err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("read materials: %s has more than %d MiB", path, maxSize>>20)
	}
	return Parse(path, data)
}

// Parse is Read of a text; file names it in errors.
func Parse(file string, data []byte) (*Table, error) {
	t := Defaults()
	n, err := doc.ParseYAML(file, data)
	if err != nil {
		return nil, fmt.Errorf("read materials: %w", err)
	}
	if err := n.Decode(t); err != nil {
		return nil, fmt.Errorf("read materials: %w", err)
	}
	return t, nil
}

// DecodeYAML reads the keys classes and materials over what the table has.
func (t *Table) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	var faults doc.Faults
	for _, e := range entries {
		switch e.Key {
		case "classes":
			err = t.decodeClasses(e.Value)
		case "materials":
			err = t.decodeMaterials(e.Value)
		default:
			err = e.UnknownKey([]string{"classes", "materials"})
		}
		if faults.Add(err) {
			break
		}
	}
	return faults.Err()
}

func (t *Table) decodeClasses(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	var faults doc.Faults
	for _, e := range entries {
		tag, err := scene.ParseTag(e.Key)
		if err != nil {
			err = e.Place.Errorf("%w", err)
		}
		var own Surface
		if err == nil {
			err = e.Value.Decode(&own)
		}
		if faults.Add(err) {
			break
		}
		t.Given[tag], t.Classes[tag] = own, own.over(t.Classes[tag])
	}
	return faults.Err()
}

func (t *Table) decodeMaterials(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	var faults doc.Faults
	for _, e := range entries {
		var own Surface
		err := e.Value.Decode(&own)
		if err == nil && own.Beads != nil {
			err = e.Value.Errorf("beads are those of a class: give a material its retro")
		}
		if faults.Add(err) {
			break
		}
		t.Materials[e.Key] = own
	}
	return faults.Err()
}

// Defaults returns the table of docs/materials.md.
func Defaults() *Table {
	return &Table{Classes: maps.Clone(defaults), Given: map[scene.Tag]Surface{}, Materials: map[string]Surface{}}
}

// of makes the properties of a class.
func of(at905, at1550, retro, beads float64) Surface {
	return Surface{Reflectance905: &at905, Reflectance1550: &at1550, Retro: &retro, Beads: &beads}
}

// defaults are, where a material is named, directional-hemispherical reflectances of the ECOSTRESS
// library (JHU), and else assumed from the ranges of docs/materials.md. R_A is that of new sheeting of classes RA1, for plates
// and vehicles, and RA2, for signs (EN 12899-1). Beads are those of a worn marking, 100 mcd/(lx m2).
var defaults = map[scene.Tag]Surface{
	scene.TagRoads:        of(0.277, 0.361, 70, 0), // asphaltic concrete
	scene.TagSidewalks:    of(0.40, 0.40, 70, 0),
	scene.TagBuilding:     of(0.35, 0.35, 70, 0),
	scene.TagWall:         of(0.35, 0.35, 70, 0),
	scene.TagFence:        of(0.591, 0.818, 70, 0), // aluminium
	scene.TagPole:         of(0.591, 0.818, 70, 0), // aluminium
	scene.TagTrafficLight: of(0.20, 0.20, 70, 0),
	scene.TagTrafficSign:  of(0.591, 0.818, 250, 0), // aluminium behind the sheeting
	scene.TagVegetation:   of(0.554, 0.242, 70, 0),  // deciduous tree
	scene.TagTerrain:      of(0.508, 0.232, 70, 0),  // green grass
	scene.TagPedestrian:   of(0.35, 0.25, 70, 0),
	scene.TagRider:        of(0.35, 0.25, 70, 0),
	scene.TagCar:          of(0.30, 0.30, 70, 0),
	scene.TagTruck:        of(0.30, 0.30, 70, 0),
	scene.TagBus:          of(0.30, 0.30, 70, 0),
	scene.TagTrain:        of(0.30, 0.30, 70, 0),
	scene.TagMotorcycle:   of(0.20, 0.20, 70, 0),
	scene.TagBicycle:      of(0.20, 0.20, 70, 0),
	scene.TagStatic:       of(0.30, 0.30, 70, 0),
	scene.TagDynamic:      of(0.30, 0.30, 70, 0),
	scene.TagOther:        of(0.30, 0.30, 70, 0),
	scene.TagWater:        of(0.02, 0.01, 70, 0),
	scene.TagRoadLine:     of(0.65, 0.55, 70, 0.1),
	scene.TagGround:       of(0.277, 0.361, 70, 0), // asphaltic concrete
	scene.TagBridge:       of(0.40, 0.40, 70, 0),
	scene.TagRailTrack:    of(0.30, 0.30, 70, 0),
	scene.TagGuardRail:    of(0.591, 0.818, 70, 0), // aluminium
}
