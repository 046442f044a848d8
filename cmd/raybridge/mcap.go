package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

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
	cmd.AddCommand(restore, newMCAPDiff())
	return cmd
}

func newMCAPDiff() *cobra.Command {
	var limit memoryLimit
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Compare two recordings, message by message",
		Long: "Compare two recordings, message by message.\n\n" +
			"A and B are MCAP files or rosbag2 folders. Each topic has a row with its counts and the first message that differs: when it was\n" +
			"captured, and the field with both values, or the recording that lacks it. Data and log times are compared of messages with one publish time.\n" +
			"Several of one time are taken in their order. If a topic's times fall, as after a reset, a new series begins: the first series of A is\n" +
			"compared with the first of B, and so on.\n" +
			"The exit code is 0 where all is equal, 1 where something differs, and 2 for a recording that can't be read to its end.",
		Example: "  raybridge mcap diff main.mcap branch.mcap\n  raybridge mcap diff out/one/recording out/two/recording",
		Args:    twoArgs("two MCAP files or rosbag2 folders"),
		RunE:    func(cmd *cobra.Command, args []string) error { return diffRecordings(cmd, args[0], args[1], &limit) },
	}
	addMemoryLimit(cmd, &limit)
	return cmd
}

func diffRecordings(cmd *cobra.Command, a, b string, limit *memoryLimit) error {
	log := newLog(cmd.ErrOrStderr(), false)
	done := flow.TellLong(log, "comparing "+a+" and "+b)
	topics, unfinished, err := mcap.Reading{Memory: limit.budget()}.Diff(cmd.Context(), a, b)
	done()
	if err != nil {
		return usage(err)
	}
	for _, path := range unfinished {
		log.Warn("the recording was not finished: it is compared up to its last complete chunk", "file", path)
	}
	differ := 0
	w := columns(cmd.OutOrStdout())
	fmt.Fprintln(w, "topic\ttype\tmessages of A\tof B\tfirst difference")
	for i := range topics {
		t := &topics[i]
		if !t.Equal() {
			differ++
		}
		fmt.Fprintln(w, differenceRow(t))
	}
	if err := w.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if differ > 0 {
		return fmt.Errorf("the recordings differ in %d of %s", differ, fault.Count(len(topics), "topic"))
	}
	return nil
}

// differenceRow is a topic's, in a table's cells.
func differenceRow(t *mcap.TopicDiff) string {
	topic, result := cmp.Or(t.A, t.B), "equal"
	countA, countB := strconv.FormatInt(t.MessagesA, 10), strconv.FormatInt(t.MessagesB, 10)
	switch m := t.First; {
	case t.A == nil:
		countA, result = "-", "only in B"
	case t.B == nil:
		countB, result = "-", "only in A"
	case m != nil:
		result = fmt.Sprintf("message %d, at %s s: ", m.Number, fault.NineDecimals(int64(m.Stamp)))
		switch {
		case !m.InA:
			result += "missing in A"
		case !m.InB:
			result += "missing in B"
		default:
			result += fmt.Sprintf("%s is %s in A, %s in B", fault.Printable(m.Name), m.FieldDiff.A, m.FieldDiff.B)
		}
	}
	return strings.Join([]string{fault.Printable(topic.Name), fault.Printable(topic.Type), countA, countB, result}, "\t")
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
