package main

import (
	"io"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases.
var version = "dev"

// newRoot makes the command tree. Results go to out, messages to errOut.
func newRoot(out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "raybridge",
		Short:         "Camera and lidar data of a 3-D scene, for robot software",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newRun(), newGPU(), newScene(), newConfig())
	return root
}

// exactArgs is cobra.ExactArgs with the exit code of wrong use.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return usage(cobra.ExactArgs(n)(cmd, args)) }
}
