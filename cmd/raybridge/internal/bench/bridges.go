package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges/bridgebench"
)

// Bytes of a run.
const (
	bridgeBytes      = 256 << 20
	quickBridgeBytes = 64 << 20
)

// Bridges measures bridges beside the plain writers of their protocols. It needs no GL
// and appends to the report.
func Bridges(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	contests := bridgebench.Contests()
	var names []string
	for i := range contests {
		names = append(names, contests[i].Name)
	}
	if err := cfg.checkCases(names); err != nil {
		return err
	}
	bytes := int64(bridgeBytes)
	if cfg.Quick {
		bytes = quickBridgeBytes
	}
	for i := range contests {
		c := &contests[i]
		if !cfg.wants(c.Name) {
			continue
		}
		fmt.Fprintf(cfg.Progress, "bridges %s\n", c.Name)
		r, err := c.Run(ctx, bridgebench.Config{Runs: cfg.Runs, Bytes: bytes})
		if err != nil {
			return fmt.Errorf("bridges: %w", err)
		}
		report.addFigures(contestResults(c, &r))
	}
	report.explain(bridgesMethod)
	return nil
}

// contestResults are the rows of one contest.
func contestResults(c *bridgebench.Contest, r *bridgebench.Result) []Result {
	row := func(name, unit, note string, runs []float64) Result {
		return Result{Name: name, Case: c.Name, Unit: unit, Note: note, Runs: runs}
	}
	size := fmt.Sprintf("messages of %.2f MB", float64(r.Size)/1e6)
	ratio := "run by run"
	if c.Want > 0 {
		ratio += fmt.Sprintf("; wanted %g", c.Want)
	}
	return []Result{
		row("bridge.messages_per_s", "messages/s", size, r.Messages),
		row("bridge.bytes_per_s", "bytes/s", "", r.Bridge),
		row("plain.bytes_per_s", "bytes/s", c.Plain, r.Plain),
		row("bridge.ratio", "times plain", ratio, r.Ratios),
		row("bridge.allocs_per_message", "allocations", "of the whole process", r.Allocs),
	}
}

// bridgesMethod says what the figures mean.
var bridgesMethod = strings.TrimSpace(`
bridges: a bridge publishes the same sample again and again to a receiver on this machine that throws it away; the plain
writer of the protocol sends as many bytes, encoded once before, to the same kind of receiver, right after it in each
run. A run is timed from the first message to the receiver's last byte. The bridge converts, encodes, queues and counts
besides. Ratios are of bytes a second; rosbridge_bson_over_json's and rosbridge_json's are of messages a second, the
former of clouds that a server has decoded. 'make
bench-ros2dds' measures ros2dds, beside a program in C.
`)
