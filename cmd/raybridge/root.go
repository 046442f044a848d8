package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/internal/closest"
)

// version is set by the linker in releases.
var version = "dev"

// newRoot makes the command tree. Results go to out, messages to errOut.
func newRoot(out, errOut io.Writer) *cobra.Command {
	root := group(&cobra.Command{
		Use:           "raybridge",
		Short:         "Camera and lidar data of a 3-D scene, for robot software",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newRun(), newListen(), newGPU(), newScene(), newConfig(), newRig(), newSensors(), newBridges(), newBench())
	return root
}

// group makes cmd one that only has commands below it: alone it prints its help,
// and an unknown command is wrong use.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		return usage(fmt.Errorf("unknown command %q for %q, %s", args[0], cmd.CommandPath(), closest.Hint(args[0], names)))
	}
	return cmd
}

// exactArgs is cobra.ExactArgs with the exit code of wrong use.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return usage(cobra.ExactArgs(n)(cmd, args)) }
}
