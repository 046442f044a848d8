package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// newDemo is the run that people begin with.
func newDemo() *cobra.Command {
	f := runFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Record ten seconds of the city, with a report, or show it in a browser",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			one := newRun()
			one.SilenceUsage, one.SilenceErrors = true, true
			one.SetOut(cmd.OutOrStdout())
			one.SetErr(cmd.ErrOrStderr())
			if f.view {
				return watch(cmd, one, &f)
			}
			one.SetArgs(append(f.demoArguments(),
				"--scene", "city", "--duration", f.duration.String(), "--out", f.out, "--bridge", "mcap:recording", "--report"))
			if err := one.ExecuteContext(cmd.Context()); err != nil {
				return err
			}
			report, err := filepath.Abs(filepath.Join(f.out, "report.html"))
			if err != nil {
				return err
			}
			recording := filepath.Join(f.out, "recording")
			fmt.Fprintf(cmd.OutOrStdout(), "\nOpen file://%s in a browser.\n"+
				"%s is a rosbag2: ros2 bag play %s, or open its .mcap file in Foxglove.\n", report, recording, recording)
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.view, "view", false, "show the city in a browser in place of that: prints the page's address, and runs until Ctrl-C\nunless --duration is given")
	cmd.Flags().StringVar(&f.out, "out", filepath.Join("out", "demo"), "`DIR` for the recording and the report")
	cmd.Flags().DurationVar(&f.duration, "duration", 10*time.Second, "simulated time to run")
	addWeather(cmd.Flags(), &f.weather)
	addSettings(cmd.Flags(), &f.settings)
	f.device.register(cmd.Flags())
	return cmd
}

// demoArguments are those of a run that has the demo's device, weather and settings.
func (f *runFlags) demoArguments() []string {
	arguments := f.device.arguments()
	if f.weather != "" {
		arguments = append(arguments, "--weather="+string(f.weather))
	}
	for _, text := range f.settings {
		arguments = append(arguments, "--set="+text)
	}
	return arguments
}

// watch shows the city in real time, and records nothing.
func watch(cmd, one *cobra.Command, f *runFlags) error {
	if cmd.Flags().Changed("out") {
		return usage(errors.New("--out: with --view nothing is recorded: leave one of them out"))
	}
	args := append(f.demoArguments(), "--scene", "city", "--realtime", "--view")
	if cmd.Flags().Changed("duration") {
		args = append(args, "--duration", f.duration.String())
	}
	one.SetArgs(args)
	return one.ExecuteContext(cmd.Context())
}
