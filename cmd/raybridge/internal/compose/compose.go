// Package compose makes the scene that a configuration describes: the city or
// glTF files, with the actors that were placed in it.
package compose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/spatial"
)

// Scene makes the scene, with files' content taken from a budget, nil for no limit. Warnings
// are what loaders left out, for the user.
func Scene(ctx context.Context, c *config.Config, budget *memory.Budget) (s *scene.Scene, warnings []string, err error) {
	if s, err = base(c); err != nil {
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
		if err := builder.place(&places[i]); err != nil {
			return nil, nil, err
		}
	}
	if o := c.Scene.Origin; o != nil {
		s.Origin = scene.Origin{Latitude: o.Latitude, Longitude: o.Longitude, Altitude: o.Altitude}
	}
	return s, builder.warnings, nil
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

// base is the city, or an empty scene for files.
func base(c *config.Config) (*scene.Scene, error) {
	if c.Scene.File != "" {
		return outdoors(filepath.Base(c.Scene.File)), nil
	}
	if len(c.Scene.Place) > 0 && !c.Scene.City {
		return outdoors("composed"), nil
	}
	seed := c.Scene.Seed
	if seed == 0 {
		seed = c.Seed
	}
	return city.Generate(city.Options{Seed: seed, Triangles: c.Scene.Triangles})
}

// outdoors is an empty scene under an afternoon sun.
func outdoors(name string) *scene.Scene {
	s := scene.New(name)
	s.Light = scene.Light{
		SunDirection: mgl32.Vec3{-0.5, -0.6, 0.75}.Normalize(),
		SunColor:     mgl32.Vec3{3.2, 3.0, 2.7},
		SkyZenith:    mgl32.Vec3{0.22, 0.42, 0.85},
		SkyHorizon:   mgl32.Vec3{0.75, 0.85, 0.95},
		Ground:       mgl32.Vec3{0.3, 0.28, 0.25},
		Exposure:     1,
	}
	return s
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

// cityName is what stands for the procedural city where a file may be named.
const cityName = "city"

// find says of a model's file that isn't there what may be meant.
func find(file string) error {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) && closest.Name(file, []string{cityName}) != "" {
		return fmt.Errorf("%s: no such file, did you mean %s?", file, cityName)
	}
	return fault.File(err)
}

// load reads a file.
func (c *composer) load(file string, scale float64) (*scene.Asset, error) {
	key := assetKey{file, scale}
	if a := c.assets[key]; a != nil {
		return a, nil
	}
	if err := find(file); err != nil {
		return nil, err
	}
	asset, err := gltf.Load(file, gltf.Options{Scale: scale, Labels: c.labels, Memory: c.memory})
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
func (c *composer) place(p *config.Place) error {
	asset, err := c.load(p.File, p.Scale)
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
		if placement.Motion, err = Loop(p.Waypoints, p.Speed); err != nil {
			return fmt.Errorf("place %s: %w", p.File, err)
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

// Loop is a closed loop through waypoints at a speed, m/s.
func Loop(points []config.Waypoint, speed float64) (scene.Motion, error) {
	list := make([]mgl64.Vec3, len(points))
	for i, p := range points {
		list[i] = mgl64.Vec3{p.X, p.Y, p.Z}
	}
	return scene.NewWaypointLoop(list, speed)
}

// Ego is the motion of the vehicle that carries the sensors: nil for the scene's
// own route, a *scene.Driven where somebody else steers.
func Ego(c *config.Config, s *scene.Scene) (scene.Motion, error) {
	start := s.Ego
	if c.Ego.Pose != nil {
		start = c.Ego.Pose.Spatial()
	}
	if c.Ego.Driver != config.DriverWaypoints {
		return scene.NewDriven(start, scene.Vehicle{CommandTimeout: commandTimeout(c)})
	}
	switch {
	case len(c.Ego.Waypoints) > 0:
		return Loop(c.Ego.Waypoints, c.Ego.Speed)
	case c.Ego.Pose != nil:
		return standing{start}, nil
	default:
		return s.Route, nil
	}
}

// How far beyond the scene's bounds an ego usually begins at most, metres: above it
// there may be drones.
const (
	usualMargin = 1
	usualHeight = 100
)

// Astray says that an ego begins outside of the scene, where its sensors see little of it;
// "" if it doesn't. A nil motion is a vehicle that stands where the scene puts it.
func Astray(s *scene.Scene, ego scene.Motion) string {
	at := s.Ego.Position
	if ego != nil {
		at = ego.PoseAt(0).Position
	}
	stats := s.Stats()
	low := stats.Min.Sub(mgl64.Vec3{usualMargin, usualMargin, usualMargin})
	high := stats.Max.Add(mgl64.Vec3{usualMargin, usualMargin, usualHeight})
	if stats.Instances == 0 {
		return ""
	}
	for i := range at {
		if at[i] < low[i] || at[i] > high[i] {
			return fmt.Sprintf("the vehicle begins at (%.4g, %.4g, %.4g) m, outside of the scene, which reaches from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g): see ego.pose and ego.waypoints",
				at[0], at[1], at[2], stats.Min[0], stats.Min[1], stats.Min[2], stats.Max[0], stats.Max[1], stats.Max[2])
		}
	}
	return ""
}

// commandTimeout is a scene.Vehicle's: keys are read as long as there is a window.
func commandTimeout(c *config.Config) time.Duration {
	switch {
	case c.Ego.Driver != config.DriverExternal:
		return scene.DefaultCommandTimeout
	case c.Ego.Commands.Timeout == 0:
		return -1
	default:
		return c.Ego.Commands.Timeout
	}
}

// Commands returns the topics that steer the ego: none where somebody else does.
func Commands(c *config.Config) pipeline.Commands {
	if c.Ego.Driver != config.DriverExternal {
		return pipeline.Commands{}
	}
	from := c.Ego.Commands
	return pipeline.Commands{Control: from.Control, Ackermann: from.Ackermann, Velocity: from.Velocity}
}

// standing is the motion of an ego that stays where it was put.
type standing struct{ pose spatial.Pose }

// PoseAt returns the same pose at any time.
func (s standing) PoseAt(int64) spatial.Pose { return s.pose }
