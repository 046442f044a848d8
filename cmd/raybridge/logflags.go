package main

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/internal/fault"
)

// logFormats and logLevels are what --log and --log-level may be.
var (
	logFormats = []string{"text", "json"}
	logLevels  = []string{"debug", "info", "warn", "error"}
)

// addLogFlags gives a command --log and --log-level. They count before it runs.
func addLogFlags(cmd *cobra.Command) {
	var format, level string
	cmd.Flags().StringVar(&format, "log", logFormats[0], "`FORMAT` of what is written to standard error: text for people, or json, an object a line")
	cmd.Flags().StringVar(&level, "log-level", "info", "`LEVEL` from which on the log is written: debug, info, warn or error")
	for flag, values := range map[string][]string{"log": logFormats, "log-level": logLevels} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag is completed twice
		}
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for flag, given := range map[string]struct {
			value  string
			values []string
		}{"log": {format, logFormats}, "log-level": {level, logLevels}} {
			if !slices.Contains(given.values, given.value) {
				return usage(fmt.Errorf("--%s %q: %s", flag, given.value, fault.Want(given.value, given.values...)))
			}
		}
		c := consoleOn(cmd.ErrOrStderr())
		cmd.SetErr(c)
		if cmd.Flags().Changed("log-level") {
			c.level = new(slog.Level)
			if err := c.level.UnmarshalText([]byte(level)); err != nil {
				return usage(fmt.Errorf("--log-level: %w", err))
			}
		}
		if format == "json" {
			c.writeJSON()
		}
		return nil
	}
}

// asksForJSON reports whether a command line asks for --log json, also one that has not been understood.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--log=json", arg == "--log" && slices.Equal(args[i+1:min(i+2, len(args))], []string{"json"}):
			return true
		}
	}
	return false
}
