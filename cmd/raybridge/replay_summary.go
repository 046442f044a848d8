package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/pipeline"
)

// replaySummary is what a replay did, as --summary writes it.
type replaySummary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	// ReplayedS is recorded time, WallS this machine's.
	ReplayedS float64                  `json:"replayed_s"`
	WallS     float64                  `json:"wall_s"`
	Topics    []replayRow              `json:"topics"`
	Skipped   []skippedRow             `json:"skipped"`
	Damaged   []damagedRow             `json:"damaged"`
	Bridges   []pipeline.BridgeSummary `json:"bridges"`
}

type replayRow struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
}

type skippedRow struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
	Cause    string `json:"cause"`
}

// damagedRow is a part of a recording that couldn't be read.
type damagedRow struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	// FromNs and ToNs are log times, as the recording has them.
	FromNs int64 `json:"from_ns"`
	ToNs   int64 `json:"to_ns"`
	// Messages were in it, -1 if that isn't known.
	Messages int64  `json:"messages"`
	Cause    string `json:"cause"`
}

// summarySchema is the version of replaySummary's form.
const summarySchema = 1

// summary returns the counts up to now.
func (s *replaySession) summary() *replaySummary {
	sum := &replaySummary{
		Schema: summarySchema, Version: version, Topics: []replayRow{}, Skipped: []skippedRow{}, Damaged: []damagedRow{}, Bridges: []pipeline.BridgeSummary{},
	}
	if !s.begun.IsZero() {
		sum.WallS = time.Since(s.begun).Seconds()
		sum.ReplayedS = max(time.Duration(s.lastNs-s.startNs), 0).Seconds()
	}
	for _, t := range s.order {
		sum.Topics = append(sum.Topics, replayRow{t.name, t.sample.String(), t.messages})
	}
	for _, k := range s.reader.Skipped() {
		sum.Skipped = append(sum.Skipped, skippedRow{k.Topic, k.Type, k.Messages, k.Err.Error()})
	}
	for _, d := range s.reader.Damaged() {
		sum.Damaged = append(sum.Damaged, damagedRow{d.Path, d.Offset, d.Bytes, d.FromNs, d.ToNs, d.Lost, d.Err.Error()})
	}
	for _, b := range s.bridges {
		sum.Bridges = append(sum.Bridges, pipeline.SummaryOf(b))
	}
	return sum
}

// printEndpoints says where receivers connect to.
func (s *replaySession) printEndpoints() {
	if s.flags.quiet {
		return
	}
	var list []pipeline.BridgeSummary
	for _, b := range s.bridges {
		list = append(list, pipeline.SummaryOf(b))
	}
	printEndpoints(s.errOut, list)
}

// print writes the final tables.
func (sum *replaySummary) print(s *replaySession) {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ntopic\tmessages\ttype")
	for _, t := range sum.Topics {
		fmt.Fprintf(w, "%s\t%d\t%s\n", t.Topic, t.Messages, t.Type)
	}
	if len(sum.Skipped) > 0 {
		fmt.Fprintln(w, "\nleft out\tmessages\tcause")
	}
	for _, k := range sum.Skipped {
		fmt.Fprintf(w, "%s\t%d\t%s\n", k.Topic, k.Messages, k.Cause)
	}
	printDamaged(w, sum.Damaged)
	printBridges(w, sum.Bridges)
	_ = w.Flush() // a terminal that is gone needs no table
	printFared(s.out, sum.Bridges)
	fmt.Fprintf(s.out, "\n%.2f s of the recording in %.2f s\n", sum.ReplayedS, sum.WallS)
}

// printDamaged lists what couldn't be read of recordings.
func printDamaged(w io.Writer, list []damagedRow) {
	if len(list) > 0 {
		fmt.Fprintln(w, "\ndamaged\tfrom byte\tbytes\tfrom\tto\tmessages lost")
	}
	for _, d := range list {
		lost := "unknown"
		if d.Messages >= 0 {
			lost = strconv.FormatInt(d.Messages, 10)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.3f s\t%.3f s\t%s\n", d.File, d.Offset, d.Bytes, float64(d.FromNs)/1e9, float64(d.ToNs)/1e9, lost)
	}
}

// conclude prints the table and decides the exit code.
func (s *replaySession) conclude(err error) error {
	sum := s.summary()
	if !s.flags.quiet {
		sum.print(s)
	}
	if s.flags.summary != "" {
		err = errors.Join(err, sum.write(s.flags.summary))
	}
	if err != nil {
		return err
	}
	if err := incomplete(sum.Bridges, s.registry); err != nil {
		return err
	}
	if len(sum.Damaged) > 0 {
		return &exitError{exitIncomplete, fmt.Errorf("finished without %s of the recording", count(len(sum.Damaged), "damaged part"))}
	}
	if !slices.ContainsFunc(sum.Topics, func(t replayRow) bool { return t.Messages > 0 }) && len(sum.Skipped) > 0 {
		return &exitError{exitIncomplete, errors.New("finished, but none of the messages could be read: see what was left out")}
	}
	return nil
}

func (sum *replaySummary) write(path string) error {
	data, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write summary: %w", filefault.Explain(err))
	}
	return nil
}
