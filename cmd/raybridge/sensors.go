package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	sensorsall "github.com/raybridge/raybridge/sensors/all"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/reference"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
)

func newSensors() *cobra.Command {
	cmd := group(&cobra.Command{Use: "sensors", Short: "Show the types of sensors and their attributes"})
	cmd.AddCommand(&cobra.Command{
		Use: "list [PATTERN]", Short: "List the types of sensors, or those whose id or tag matches, such as 'sensor.lidar.*' or camera",
		Args: upToArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) == 1 {
				pattern = args[0]
			}
			found, err := findSensors(pattern)
			if err != nil {
				return usage(err)
			}
			reference.ListSensors(cmd.OutOrStdout(), found)
			return nil
		},
	}, &cobra.Command{
		Use: "show ID", Short: "Show a type's outputs and attributes; ID may be a pattern or a tag, such as 'sensor.camera.*'",
		Args: oneArg("the id of a sensor, such as sensor.camera.rgb"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findSensors(args[0])
			if err != nil {
				return usage(err)
			}
			for i, d := range found {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				reference.ShowSensor(cmd.OutOrStdout(), d)
			}
			return nil
		},
	})
	return cmd
}

// findSensors returns the types that an id, a pattern or a tag means.
func findSensors(id string) ([]*sensors.Definition, error) {
	registry := sensorsall.Registry()
	if found := registry.Match(id); len(found) > 0 {
		return found, nil
	}
	var tags []string
	for _, d := range registry.Match("*") {
		tags = append(tags, d.Tags...)
		tags = append(tags, d.ID[strings.LastIndex(d.ID, ".")+1:])
	}
	if near := fault.Closest(id, tags); near != "" && len(registry.Match(near)) > 0 {
		return nil, fmt.Errorf("no sensor matches %s, did you mean %s?", id, near)
	}
	if strings.ContainsAny(id, "*?[") {
		return nil, fmt.Errorf("no sensor matches %s: raybridge sensors list has them all", id)
	}
	d, err := registry.Get(id)
	return []*sensors.Definition{d}, err
}
