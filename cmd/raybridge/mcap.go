package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

func newMCAP() *cobra.Command {
	cmd := group(&cobra.Command{Use: "mcap", Short: "Look after recordings in MCAP files"})
	var to string
	var limit memoryLimit
	restore := &cobra.Command{
		Use: "recover RECORDING", Short: "Finish a recording whose process was killed",
		Long: "Finish a recording whose process was killed.\n\n" +
			"RECORDING is an MCAP file or a rosbag2 folder. All that is complete in it is written again, with the summary that\n" +
			"readers look for, and a folder's metadata.yaml. RECORDING itself stays as it is.",
		Example: "  raybridge mcap recover drive.mcap\n  raybridge mcap recover out/drive/recording --out out/drive/whole",
		Args:    oneArg("an MCAP file or a rosbag2 folder"),
		RunE:    func(cmd *cobra.Command, args []string) error { return recoverRecording(cmd, args[0], to, &limit) },
	}
	restore.Flags().StringVar(&to, "out", "", "`FILE` or folder to write; NAME_recovered beside the recording without it")
	addMemoryLimit(restore, &limit)
	cmd.AddCommand(restore)
	return cmd
}

// leftOut says that damaged parts were.
func leftOut(parts int) string {
	were := " were left out"
	if parts == 1 {
		were = " was left out"
	}
	return fault.Count(parts, "damaged part") + were
}

func recoverRecording(cmd *cobra.Command, from, to string, limit *memoryLimit) error {
	done := flow.TellLong(newLog(cmd.ErrOrStderr(), false), "reading "+from)
	files, err := mcap.Reading{Memory: limit.budget()}.Recover(from, to)
	done()
	if err != nil {
		for _, fault := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, mcap.ErrNotMCAP} {
			if errors.Is(err, fault) {
				return usage(err)
			}
		}
		return err
	}
	w := columns(cmd.OutOrStdout())
	fmt.Fprintln(w, "file\tmessages\tbytes lost\tbefore")
	unreadable := 0
	var damaged []damagedRow
	for _, f := range files {
		name, before := f.To, "not finished"
		switch {
		case f.Err != nil:
			name, before = f.From, f.Err.Error()+": left out"
			unreadable++
		case f.Complete:
			before = "complete"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", name, f.Messages, f.LostBytes, before)
		for _, d := range f.Damaged {
			damaged = append(damaged, damagedRow{d.Path, d.Offset, d.Bytes, d.FromNs, d.ToNs, d.Lost, d.Err.Error()})
		}
	}
	printDamaged(w, damaged)
	if err := w.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if unreadable > 0 {
		return &exitError{exitIncomplete, fmt.Errorf("of %d of %d files nothing could be kept", unreadable, len(files))}
	}
	if len(damaged) > 0 {
		return &exitError{exitIncomplete, errors.New(leftOut(len(damaged)))}
	}
	return nil
}
