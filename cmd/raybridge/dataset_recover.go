package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/internal/fault"
)

func newDatasetRecover() *cobra.Command {
	return &cobra.Command{
		Use: "recover DIR", Short: "Complete a data set whose run was killed",
		Long: "Complete a data set whose run was killed, or whose disk was full: up to the last key frame that was finished, it becomes what a\n" +
			"run of as many key frames would have written, byte by byte. A set that is complete stays as it is.\n\n" +
			"The exit code is 2 for a folder that holds no set of raybridge's.",
		Example: "  raybridge dataset recover out/set",
		Args:    oneArg("the folder of a data set"),
		RunE: func(cmd *cobra.Command, args []string) error {
			frames, err := dataset.Recover(args[0], writtenFormats())
			if errors.Is(err, dataset.ErrNoSet) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], fault.Count(frames, "key frame"))
			return nil
		},
	}
}
