package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

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
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRun(), newReplay(), newListen(), newGPU(), newScene(), newConfig(), newRig(), newSensors(), newBridges(), newMCAP(), newBench(), newVersion())
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

// newVersion is --version as a command, where others look for it.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "raybridge version %s\n", version)
			return err
		},
	}
}

// flagError marks an error of the flags as wrong use, and says what a duration lacks.
func flagError(_ *cobra.Command, err error) error {
	var invalid interface {
		error
		GetValue() string
	}
	if argument, _, bare := strings.Cut(err.Error(), ": time: missing unit in duration"); bare && errors.As(err, &invalid) {
		err = fmt.Errorf("%s: missing unit, such as %ss", argument, invalid.GetValue())
	}
	return usage(err)
}

// oneArg wants one argument, and names it where it is missing.
func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(fmt.Errorf("give %s", what))
		}
		if len(args) > 1 {
			return usage(fmt.Errorf("give one only: %s", what))
		}
		return nil
	}
}

// someArgs wants arguments of one kind, and names it where there are none.
func someArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(fmt.Errorf("give %s", what))
		}
		return nil
	}
}

// exactArgs is cobra.ExactArgs with the exit code of wrong use.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return usage(cobra.ExactArgs(n)(cmd, args)) }
}
