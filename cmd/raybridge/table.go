package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	sensorsall "github.com/raybridge/raybridge/sensors/all"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
)

// columns returns a writer of a table: a tab ends a cell, and Flush writes all.
func columns(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// section writes rows below a head, in a table's cells; nothing without rows.
func section[T any](w io.Writer, head string, rows []T, cells func(*T) string) {
	if len(rows) > 0 {
		fmt.Fprintln(w, "\n"+head)
	}
	for i := range rows {
		fmt.Fprintln(w, cells(&rows[i]))
	}
}

// printSummary writes the final tables.
func printSummary(out io.Writer, s *pipeline.Summary) {
	w := columns(out)
	fmt.Fprintln(w, "\ntopic\tmessages\twanted Hz\tHz\tp50 ms\tp99 ms\tdrops")
	for i := range s.Sensors {
		r := &s.Sensors[i]
		if r.Idle {
			fmt.Fprintf(w, "%s\tidle\t%s\t-\t-\t-\t-\n", topicOf(r), wantedRate(r))
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%s\n", topicOf(r), r.Messages, wantedRate(r), hertz(r.RateHz), r.LatencyP50Ms, r.LatencyP99Ms, drops(r.Drops))
	}
	printBridges(w, s.Bridges)
	_ = w.Flush() // a terminal that is gone needs no table
	printConnections(out, s.Bridges)
	printInputs(out, s.Inputs)
	printMetrics(out, s.Metrics)
	fmt.Fprintf(out, "\n%.2f s simulated in %.2f s: real-time factor %.2f (start-up %.2f s) on %s\n",
		s.SimS, s.WallS, s.RealTimeFactor, s.StartupS, s.GPU.Renderer)
}

// topicOf is the topic of a row, or what the row sums up.
func topicOf(r *carry.SensorSummary) string {
	if r.Others > 0 {
		return fault.Count(r.Others, "other topic") + " of " + r.Type
	}
	return r.Topic
}

// printConnections writes what bridges received, and what went wrong with their connections.
func printConnections(out io.Writer, list []carry.BridgeSummary) {
	for i := range list {
		b := &list[i]
		var received []string
		for _, r := range b.Received {
			received = append(received, fmt.Sprintf("%d on %s", r.Messages, r.Topic))
		}
		if len(received) > 0 {
			fmt.Fprintf(out, "%s:%s received messages: %s\n", b.Name, b.Connection, strings.Join(received, ", "))
		}
		if b.Altered > 0 {
			fmt.Fprintf(out, "%s:%s replaced NaN or infinities in %s\n", b.Name, b.Connection, fault.Count(b.Altered, "message"))
		}
		if b.LastError != "" {
			complaints := ""
			if b.Complaints > 0 {
				complaints = ", " + fault.Count(b.Complaints, "complaint") + " of the peer"
			}
			refused := ""
			if len(b.Refused) > 0 {
				refused = " (not let in: " + drops(b.Refused) + ")"
			}
			fmt.Fprintf(out, "%s:%s %s, %s%s, %s that it could not read%s; the last error: %s\n", b.Name, b.Connection,
				fault.Count(b.Connections, "connection"), fault.Count(b.Failures, "failure"), refused, fault.Count(b.Malformed, "message"), complaints, b.LastError)
		}
	}
}

// printMetrics writes the figures of the drive.
func printMetrics(out io.Writer, metrics map[string]float64) {
	w := columns(out)
	section(w, "metric\tvalue", slices.Sorted(maps.Keys(metrics)), func(name *string) string {
		return strings.TrimSpace(fmt.Sprintf("%s\t%s %s", *name, fault.Number(metrics[*name], 4), pipeline.MetricUnit(*name)))
	})
	_ = w.Flush() // a terminal that is gone needs no table
}

// printInputs writes which messages sensors were brought and didn't take.
func printInputs(out io.Writer, list []carry.InputSummary) {
	for i := range list {
		if in := &list[i]; len(in.Drops) > 0 {
			fmt.Fprintf(out, "sensor %s did not take messages of %s: %s\n", in.Name, in.Topic, drops(in.Drops))
		}
	}
}

// printBridges writes the table of bridges, in a table's cells.
func printBridges(w io.Writer, list []carry.BridgeSummary) {
	section(w, "bridge\tstatus\tsent\tMB\tdrops", list, func(b *carry.BridgeSummary) string {
		return fmt.Sprintf("%s:%s\t%s\t%d\t%.1f\t%s", b.Name, b.Connection, statusText(b), b.Sent, float64(b.Bytes)/1e6, drops(b.Drops))
	})
}

// wantedRate is how often a topic's messages are to come, "-" where once is enough.
func wantedRate(r *carry.SensorSummary) string {
	switch {
	case latched(r):
		return "-"
	case r.RateWantedHz == 0:
		return eachFrame
	default:
		return hertz(r.RateWantedHz)
	}
}

// hertz is a rate, for people.
func hertz(rate float64) string { return fault.Number(rate, 4) }

// latched reports whether receivers that come later get a topic's last message, which
// is then sent when it changes. A topic that the rig has renamed is not recognized.
func latched(r *carry.SensorSummary) bool {
	d, err := sensorsall.Registry().Get(r.Type)
	return err == nil && slices.ContainsFunc(d.Outputs, func(out sensors.OutputSpec) bool {
		return out.QoS.Durability == flow.TransientLocal && strings.HasSuffix(r.Topic, strings.TrimPrefix(out.Suffix, "/"))
	})
}

// statusText is a bridge's status. What was closed in order at the end is not trouble. A file
// which has everything is written; a connection ended, or was lost where the peer wasn't there
// any more. One that was refused got connections, and none of them held.
func statusText(b *carry.BridgeSummary) string {
	file := isFile(bridgeRegistry(), b.Name, b.Connection) // the API isn't, which has no plugin
	switch {
	case b.Status != flow.Disconnected.String():
		return b.Status
	case !b.EverConnected && b.Connections > 0:
		return "refused"
	case !b.EverConnected:
		return "never connected"
	case !file && b.StatusAtEnd != flow.Connected.String():
		return "lost"
	case !file:
		return "ended"
	case len(b.Drops) == 0:
		return "written"
	default:
		return b.Status
	}
}

// drops lists counts by cause, "-" for none.
func drops[C ~string](counts map[C]int64) string {
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", cause, counts[cause]))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// withoutTopics makes one endpoint of those of a server whose clients ask itself what it
// has: all at one address, and found without a token.
func withoutTopics(list []bridges.Endpoint) []bridges.Endpoint {
	if len(list) < 2 || slices.ContainsFunc(list, func(e bridges.Endpoint) bool { return e.Token != "" || e.Address != list[0].Address }) {
		return list
	}
	return []bridges.Endpoint{{Address: list[0].Address, Topic: fmt.Sprintf("all %d", len(list))}}
}

// printEndpoints writes where receivers find the topics of bridges that they connect
// to. What no bridge has is left out.
func printEndpoints(out io.Writer, list []carry.BridgeSummary) {
	if c := consoleOn(out); c.records != nil {
		tellEndpoints(c, list)
		return
	}
	rows := [][]string{{"receivers connect to", "bridge", "stream", "topic", "token"}}
	for i := range list {
		for _, e := range withoutTopics(list[i].Endpoints) {
			number := ""
			if e.Stream != 0 {
				number = fmt.Sprint(e.Stream)
			}
			rows = append(rows, []string{e.Address, list[i].Name, number, e.Topic, e.Token})
		}
	}
	if len(rows) == 1 {
		return
	}
	w := columns(out)
	for _, row := range rows {
		var cells []string
		for column, cell := range row {
			if slices.ContainsFunc(rows[1:], func(r []string) bool { return r[column] != "" }) {
				cells = append(cells, cmp.Or(cell, "-"))
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// tellEndpoints writes them as records, one each.
func tellEndpoints(c *console, list []carry.BridgeSummary) {
	for i := range list {
		for _, e := range list[i].Endpoints {
			attributes := []any{"address", e.Address, "bridge", list[i].Name, "topic", e.Topic}
			if e.Stream != 0 {
				attributes = append(attributes, "stream", e.Stream)
			}
			if e.Token != "" {
				attributes = append(attributes, "token", e.Token)
			}
			c.tell("receivers connect here", attributes...)
		}
	}
}
