package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/bridges/coco"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/kitti"
	"github.com/raybridge/raybridge/bridges/nuscenes"
	"github.com/raybridge/raybridge/flow"
)

// writtenFormats are those whose sets bridges write.
func writtenFormats() []dataset.Format {
	return []dataset.Format{nuscenes.Format, coco.Format, kitti.Format}
}

func newDatasetMerge() *cobra.Command {
	var out, splits string
	cmd := &cobra.Command{
		Use: "merge DIR... -o DIR", Short: "Make one data set of several, and split it",
		Long: "Make one data set of several, which bridges of raybridge wrote in one format and with the same options.\n\n" +
			"A DIR without a set of its own stands for all sets below it, such as those of a sweep's cases. Scenes come in the order of their\n" +
			"runs' ids, so that the result doesn't depend on the order of the arguments. Data files are hard links to those of the sets, or\n" +
			"copies where the file system has none. nuScenes's tokens stay as they are; COCO's and KITTI's numbers are given again.\n\n" +
			"--split deals the scenes out, in an order that their tokens decide, to splits of these shares: splits.json of nuScenes,\n" +
			"instances_NAME.json and panoptic_NAME.json of COCO, ImageSets of KITTI, which has train and val.\n\n" +
			"The exit code is 2 for sets that don't fit together.",
		Example: "  raybridge dataset merge out/monday out/tuesday -o out/all\n  raybridge dataset merge out/sweep -o out/all --split train=0.8,val=0.2",
		Args:    someArgs("the folders of data sets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usage(errors.New("name the folder of the new set: -o DIR"))
			}
			return mergeDatasets(cmd, args, out, splits)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to the folder `DIR`, which is empty or not there yet")
	cmd.Flags().StringVar(&splits, "split", "", "`NAME=SHARE,...` of the scenes; one set without splits if it isn't given")
	return cmd
}

func mergeDatasets(cmd *cobra.Command, dirs []string, out, splits string) error {
	var shares []dataset.Share
	if splits != "" {
		var err error
		if shares, err = dataset.ParseShares(splits); err != nil {
			return usage(fmt.Errorf("--split: %w", err))
		}
	}
	done := flow.TellLong(newLog(cmd.ErrOrStderr(), false), "merging into "+out)
	merged, err := dataset.Merge(cmd.Context(), writtenFormats(), out, dirs, shares)
	done()
	for _, wrong := range []error{dataset.ErrMerge, dataset.ErrNoSet, dataset.ErrShares} {
		if errors.Is(err, wrong) {
			return usage(err)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", out, merged)
	return nil
}
