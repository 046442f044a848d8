package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"maps"

	"github.com/raybridge/raybridge/pipeline"
)

// printSummary writes the final tables.
func printSummary(out io.Writer, s *pipeline.Summary) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ntopic\tmessages\twanted Hz\tHz\tp50 ms\tp99 ms\tdrops")
	for i := range s.Sensors {
		r := &s.Sensors[i]
		if r.Idle {
			fmt.Fprintf(w, "%s\tidle\t%.4g\t-\t-\t-\t-\n", r.Topic, r.RateWantedHz)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%.4g\t%.4g\t%.1f\t%.1f\t%s\n", r.Topic, r.Messages, r.RateWantedHz, r.RateHz, r.LatencyP50Ms, r.LatencyP99Ms, drops(r.Drops))
	}
	if len(s.Bridges) > 0 {
		fmt.Fprintln(w, "\nbridge\tstatus\tsent\tMB\tdrops")
	}
	for i := range s.Bridges {
		b := &s.Bridges[i]
		fmt.Fprintf(w, "%s:%s\t%s\t%d\t%.1f\t%s\n", b.Type, b.Connection, b.Status, b.Sent, float64(b.Bytes)/1e6, drops(b.Drops))
	}
	_ = w.Flush() // a terminal that is gone needs no table
	fmt.Fprintf(out, "\n%.2f s simulated in %.2f s: real-time factor %.2f (start-up %.2f s) on %s\n",
		s.SimS, s.WallS, s.RealTimeFactor, s.StartupS, s.GPU.Renderer)
}

// drops lists counts by cause, "-" for none.
func drops(counts map[string]int64) string {
	if len(counts) == 0 {
		return "-"
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", cause, counts[cause]))
	}
	return strings.Join(parts, ", ")
}

// printEndpoints writes where receivers find the topics of bridges that they connect to.
func printEndpoints(out io.Writer, list []pipeline.BridgeSummary) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	begun := false
	for i := range list {
		for _, e := range list[i].Endpoints {
			if !begun {
				fmt.Fprintln(w, "receivers connect to\tbridge\tstream\ttopic\ttoken")
				begun = true
			}
			number := "-"
			if e.Stream != 0 {
				number = fmt.Sprint(e.Stream)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Address, list[i].Type, number, orDash(e.Topic), orDash(e.Token))
		}
	}
	_ = w.Flush() // a terminal that is gone needs no table
}
