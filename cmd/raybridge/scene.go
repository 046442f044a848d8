package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// sceneUsage describes the flag --scene.
const sceneUsage = "`SCENE`: city, plane, or a .gltf or .glb file"

func newScene() *cobra.Command {
	cmd := group(&cobra.Command{Use: "scene", Short: "Look into scenes"})
	var seed uint64
	var triangles int
	var limit memoryLimit
	info := &cobra.Command{
		Use:   "info FILE|city|plane",
		Short: "Print triangles, instances, labels, bounds and traffic lights",
		Args:  oneArg("a .gltf or .glb file, city, or plane"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := config.Default()
			c.Seed, c.Scene.Triangles = seed, triangles
			c.Scene.Choose(args[0])
			if c.Scene.File != "" { // what it holds is told, without those who may come into it
				c.World.Capacity = 0
			}
			log := newLog(cmd.ErrOrStderr(), false)
			done := flow.TellLong(log, "reading scene "+args[0])
			s, warnings, err := raybridge.SceneOf(cmd.Context(), c, limit.budget())
			done()
			if err != nil {
				return usage(err)
			}
			printScene(cmd.OutOrStdout(), s)
			for _, w := range warnings {
				log.Warn(w)
			}
			return nil
		},
	}
	addMemoryLimit(info, &limit)
	info.Flags().Uint64Var(&seed, "seed", 1, "seed of the city")
	info.Flags().IntVar(&triangles, "triangles", config.Default().Scene.Triangles, "triangles of the city")
	cmd.AddCommand(info)
	return cmd
}

// printScene writes what a scene holds.
func printScene(out io.Writer, s *scene.Scene) {
	stats := s.Stats()
	w := columns(out)
	fmt.Fprintf(w, "scene\t%s\n", s.Name)
	fmt.Fprintf(w, "triangles\t%d (%d stored)\n", stats.Triangles, stats.Stored)
	fmt.Fprintf(w, "instances\t%d, %d of them move; %d models of actors that may come\n", stats.Instances, stats.Moving, stats.Models)
	fmt.Fprintf(w, "meshes\t%d\nmaterials\t%d\ntextures\t%d\n", stats.Meshes, stats.Materials, stats.Textures)
	fmt.Fprintf(w, "bounds\t%s to %s m\n", point(stats.Min), point(stats.Max))
	fmt.Fprintln(w, "\ntag\tinstances\ttriangles")
	for _, t := range stats.Tags {
		fmt.Fprintf(w, "%d %s\t%d\t%d\n", t.Tag, t.Tag, t.Instances, t.Triangles)
	}
	if names := materialNames(s); len(names) > 0 {
		fmt.Fprintf(w, "\nnames of materials\n%s\n", strings.Join(names, ", "))
	}
	if len(s.Signals) > 0 {
		fmt.Fprintln(w, "\ntraffic light\tid\tplace")
	}
	for i := range s.Signals {
		fmt.Fprintf(w, "%s\t%d\t%s m\n", s.Signals[i].Name, s.Signals[i].ID, point(s.Signals[i].Pose.Position))
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// materialNames are the names by which a file of materials knows the scene's, sorted.
func materialNames(s *scene.Scene) (names []string) {
	for i := range s.Materials {
		if name := s.Materials[i].Name; name != "" {
			names = append(names, fault.Printable(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func point(p mgl64.Vec3) string { return fmt.Sprintf("(%.2f, %.2f, %.2f)", p[0], p[1], p[2]) }
