package raybridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// SceneOf makes the scene that a run's file describes: the city, the plane or glTF files, with the
// actors that were placed in it. The ego's waypoints are its route. The content of files is
// taken from a budget, nil for no limit. Warnings are what loaders left out, for the user.
func SceneOf(ctx context.Context, c *config.Config, budget *memory.Budget) (s *scene.Scene, warnings []string, err error) {
	if s, err = base(c, budget); err != nil {
		return nil, nil, err
	}
	places := append(append([]config.Place(nil), c.Scene.Place...), c.Actors...)
	if c.Scene.File != "" {
		places = append([]config.Place{{File: c.Scene.File, Scale: 1}}, places...)
	}
	builder := composer{scene: s, memory: budget, assets: map[assetKey]*scene.Asset{}}
	if builder.labels, err = rules(&c.Scene); err != nil {
		return nil, nil, err
	}
	for i := range places {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := builder.place(ctx, &places[i]); err != nil {
			return nil, nil, err
		}
	}
	if err := builder.furnish(ctx, c); err != nil {
		return nil, nil, err
	}
	if zone := c.Scene.Projection; zone != (spatial.UTMZone{}) {
		s.Map = spatial.GridMap(zone)
	}
	if o := c.Scene.Origin; o != nil {
		s.Map = s.Map.At(spatial.Geodetic(*o))
	}
	if route, err := loop(c.Ego.Waypoints, c.Ego.Speed, nil); err == nil { // without any, or with bad ones, which EgoOf names, it keeps its own
		s.Route, s.Ego = route, route.PoseAt(0)
	}
	return s, builder.warnings, nil
}

// about names a scene for people.
func about(c *config.Scene) string {
	switch {
	case c.Plane:
		return "the plane"
	case c.File != "":
		return "the scene of " + c.File
	case len(c.Place) > 0 && !c.City:
		return "the scene of placed files"
	}
	return "the city"
}

// rules are the labels that the configuration names or holds, nil for neither.
func rules(c *config.Scene) (*gltf.Rules, error) {
	if c.Labels != "" {
		return gltf.LoadRules(c.Labels)
	}
	if len(c.LabelRules) == 0 {
		return nil, nil
	}
	var own gltf.RulesConfig
	for _, r := range c.LabelRules {
		own.Rules = append(own.Rules, gltf.Rule{Match: r.Match, Tag: r.Tag, Actor: r.Actor})
	}
	list, err := gltf.NewRules(own)
	if err != nil {
		return nil, fmt.Errorf("scene.label_rules: %w", err)
	}
	return list, nil
}

// base is the city, the plane, or an empty scene for files. A city whose world would be refused
// isn't made. At least three quarters of its triangles stand.
func base(c *config.Config, budget *memory.Budget) (*scene.Scene, error) {
	if c.Scene.Plane {
		var middle mgl64.Vec3
		if c.Scene.Offset != nil {
			middle = c.Scene.Offset.Vec3()
		}
		return scene.Plane(middle), nil
	}
	if c.Scene.File != "" {
		return scene.New(filepath.Base(c.Scene.File)), nil
	}
	if len(c.Scene.Place) > 0 && !c.Scene.City {
		return scene.New("composed"), nil
	}
	seed := c.Scene.Seed
	if seed == 0 {
		seed = c.Seed
	}
	o := city.Options{Seed: seed, Triangles: c.Scene.Triangles, Slots: 2 * c.World.Capacity}
	if !c.World.CityModels {
		o.Slots = -1
	}
	if !c.World.HasTraffic() {
		o.Cars, o.Walkers = -1, -1
	}
	needs := scene.BuildMemory(int64(o.Triangles) * 3 / 4)
	if err := budget.Take(fmt.Sprintf("a city of %d triangles", o.Triangles), needs); err != nil {
		return nil, err
	}
	budget.Give(needs)
	o.CacheDir, _ = scene.CacheDir() // without one, the pictures are painted and not kept
	return city.Generate(o)
}

// composer places files in one scene; a file that is placed again is read once.
type composer struct {
	scene    *scene.Scene
	memory   *memory.Budget
	labels   *gltf.Rules // nil for those beside each file, or the built-in ones
	assets   map[assetKey]*scene.Asset
	warnings []string
}

type assetKey struct {
	file  string
	scale float64
}

// furnish gives a scene what actors from outside look like, where there may be any. As many can come while the
// others leave.
func (c *composer) furnish(ctx context.Context, run *config.Config) error {
	s := c.scene
	if len(s.Actors) == 0 && run.World.Source == "" && len(run.World.Models) == 0 {
		return fmt.Errorf("scene %s: %w: its files have no mesh in their scene", s.Name, scene.ErrEmptyScene)
	}
	if run.World.Capacity == 0 {
		return nil
	}
	if run.World.CityModels && len(s.Models) == 0 { // the city has them already
		city.Furnish(s, run.Seed)
	}
	s.Slots = 2 * run.World.Capacity
	s.AddBox()
	for _, file := range run.World.Models {
		asset, err := c.load(ctx, file, 1)
		if err != nil {
			return fmt.Errorf("world.models: %w", err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if s.Model(name) != nil {
			return fmt.Errorf("world.models: %s: the scene has a model %s already: rename the file", file, name)
		}
		slots := s.Slots
		if _, err := s.Add(asset, scene.Placement{Name: name, TypeID: name, Reserved: true}); err != nil {
			return fmt.Errorf("world.models: %s: %w", file, err)
		}
		s.Slots = slots
	}
	return nil
}

// find returns an error that suggests the closest name if the file does not exist.
func find(file string) error {
	_, err := os.Stat(file)
	if closest := fault.Closest(file, []string{config.SceneCity, config.ScenePlane}); closest != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no such file, did you mean %s?", file, closest)
	}
	if errors.Is(err, fs.ErrNotExist) && filepath.Ext(file) == "" {
		return fmt.Errorf("%w: a scene is city, plane, or a .gltf or .glb file", fault.File(err))
	}
	return fault.File(err)
}

// load reads a file.
func (c *composer) load(ctx context.Context, file string, scale float64) (*scene.Asset, error) {
	key := assetKey{file, scale}
	if a := c.assets[key]; a != nil {
		return a, nil
	}
	if err := find(file); err != nil {
		return nil, err
	}
	asset, err := gltf.Load(ctx, file, gltf.Options{Scale: scale, Labels: c.labels, Memory: c.memory})
	if err != nil {
		return nil, err
	}
	for _, w := range asset.Warnings {
		c.warnings = append(c.warnings, file+": "+w)
	}
	c.assets[key] = asset
	return asset, nil
}

// place puts one file into the scene.
func (c *composer) place(ctx context.Context, p *config.Place) error {
	asset, err := c.load(ctx, p.File, p.Scale)
	if err != nil {
		return err
	}
	placement := scene.Placement{Name: p.Name, TypeID: p.Type, Pose: p.Pose.Spatial()}
	if placement.Name == "" {
		placement.Name = strings.TrimSuffix(filepath.Base(p.File), filepath.Ext(p.File))
	}
	var tag scene.Tag
	if p.Tag != "" {
		if tag, err = scene.ParseTag(p.Tag); err != nil {
			return fmt.Errorf("place %s: %w", p.File, err)
		}
	}
	if len(p.Waypoints) > 0 {
		var at *sensors.Pose
		if p.Pose != (sensors.Pose{}) {
			at = &p.Pose
		}
		if placement.Motion, err = loop(p.Waypoints, p.Speed, at); err != nil {
			return fmt.Errorf("place %s: %w", p.File, err)
		}
		if beside := beside(placement.Motion, at); beside != "" {
			c.warnings = append(c.warnings, p.File+": pose: "+beside)
		}
	}
	actors, err := c.scene.Add(asset, placement)
	if err != nil {
		return fmt.Errorf("place %s: %w", p.File, err)
	}
	if p.Tag == "" {
		return nil
	}
	for _, a := range actors {
		for i := range a.Parts {
			a.Parts[i].Tag = tag
		}
	}
	return nil
}
