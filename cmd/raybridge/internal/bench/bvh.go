package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/raybridge/raybridge/scene"
)

// bvhTriangles is the size of the city whose hierarchies are built.
const bvhTriangles = 1_000_000

// BVH measures making a Geometry of a scene: flattening it and building the hierarchies on all
// cores (bvh.build_s). It also measures reading the same from the on-disk cache, the hash of
// its content and the check of the file included (bvh.load_s). The scene itself is there
// already. It appends to the report.
func BVH(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	memory := watchMemory()
	fmt.Fprintf(cfg.Progress, "bvh: making the scene\n")
	s, err := cfg.load(ctx, bvhTriangles)
	if err != nil {
		return err
	}
	name := cfg.sceneName(s, bvhTriangles)
	fmt.Fprintf(cfg.Progress, "bvh %s: building\n", name)
	build, err := cfg.timeBuilds(ctx, s, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(cfg.Progress, "bvh %s: loading\n", name)
	load, err := cfg.timeLoads(ctx, s, name)
	if err != nil {
		return err
	}
	report.add(describeScene(cfg.Source.Name, s), append([]Result{build, load}, memory.result("bvh")...))
	return nil
}

// timeBuilds builds the geometry again each run.
func (c *Config) timeBuilds(ctx context.Context, s *scene.Scene, name string) (Result, error) {
	runs, g, err := c.timeGeometries(ctx, s, scene.BuildOptions{})
	if err != nil {
		return Result{}, err
	}
	note := fmt.Sprintf("%d triangles, %d nodes, %d goroutines", g.Triangles(), len(g.Nodes), runtime.GOMAXPROCS(0))
	return Result{"bvh.build_s", name, "s", runs, note}, nil
}

// timeGeometries makes a geometry again each run. It returns the seconds of each, and the last geometry.
func (c *Config) timeGeometries(ctx context.Context, s *scene.Scene, opts scene.BuildOptions) (runs []float64, g *scene.Geometry, err error) {
	for range c.Runs {
		runtime.GC() // the geometry of the run before
		begun := time.Now()
		if g, err = scene.Build(ctx, s, opts); err != nil {
			return nil, nil, err
		}
		runs = append(runs, time.Since(begun).Seconds())
		if opts.CacheDir != "" && !g.FromCache {
			return nil, nil, errors.Join(errNotCached, g.CacheErr)
		}
	}
	return runs, g, nil
}

// errNotCached: the cache didn't have what was just put there.
var errNotCached = errors.New("the geometry was not read from the cache")

// timeLoads reads the geometry from a cache of its own, which the system has in
// memory since it was just written.
func (c *Config) timeLoads(ctx context.Context, s *scene.Scene, name string) (r Result, err error) {
	r = Result{Name: "bvh.load_s", Case: name, Unit: "s", Note: "from the cache, file in the system's memory"}
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return r, fmt.Errorf("make a folder for the cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opts := scene.BuildOptions{CacheDir: dir}
	g, err := scene.Build(ctx, s, opts)
	if err == nil {
		err = g.CacheErr
	}
	if err == nil {
		r.Runs, _, err = c.timeGeometries(ctx, s, opts)
	}
	return r, err
}

// describeScene is a scene's line in a report.
func describeScene(name string, s *scene.Scene) string {
	stats := s.Stats()
	return fmt.Sprintf("%s: %d triangles, %d actors, %d of them move, %d textures", name, stats.Triangles, stats.Instances, stats.Moving, stats.Textures)
}
