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
	contests, err := wanted(&cfg, bridgebench.Contests(), func(c *bridgebench.Contest) string { return c.Name })
	if err != nil {
		return err
	}
	bytes := int64(bridgeBytes)
	if cfg.Quick {
		bytes = quickBridgeBytes
	}
	for i := range contests {
		c := &contests[i]
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

// picture is a size of picture that is streamed, in pixels of 4 bytes.
type picture struct{ width, height int }

func (p picture) name() string { return fmt.Sprintf("%dx%d_rgba", p.width, p.height) }

// pictures lists the cases; the first is measured with Quick too.
var pictures = []picture{{1920, 1080}, {640, 480}}

// Frames of a run.
const (
	streamFrames      = 200
	quickStreamFrames = 40
)

// Stream measures the stream server and client on this machine against a bare TCP
// connection. It needs no GL and appends to the report.
func Stream(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases, frames := pictures, streamFrames
	if cfg.Quick {
		cases, frames = pictures[:1], quickStreamFrames
	}
	cases, err = wanted(&cfg, cases, func(p *picture) string { return p.name() })
	if err != nil {
		return err
	}
	for _, p := range cases {
		fmt.Fprintf(cfg.Progress, "stream %s\n", p.name())
		c, err := measureStream(ctx, streamConfig{Width: p.width, Height: p.height, Frames: frames, Runs: cfg.Runs})
		if err != nil {
			return fmt.Errorf("stream %s: %w", p.name(), err)
		}
		report.addFigures(p.results(&c))
	}
	report.explain(streamMethod)
	return nil
}

func (p picture) results(c *streamComparison) []Result {
	size := float64(4 * p.width * p.height)
	row := func(name, unit, note string, scale float64, runs []float64) Result {
		r := Result{Name: name, Case: p.name(), Unit: unit, Note: note}
		for _, v := range runs {
			r.Runs = append(r.Runs, v*scale)
		}
		return r
	}
	const bare, small = "a bare connection", "a bare connection with the stream's send buffer"
	return []Result{
		row("stream.frames_per_s", "frames/s", "server and client in one process", 1, c.Stream.Rates),
		row("stream.bytes_per_s", "bytes/s", "", size, c.Stream.Rates),
		row("tcp.bytes_per_s", "bytes/s", bare, size, c.TCP.Rates),
		row("tcp_small_buffer.bytes_per_s", "bytes/s", small, size, c.SmallTCP.Rates),
		row("stream.ratio", "times tcp", bare+", run by run", 1, c.Ratios),
		row("stream.small_buffer_ratio", "times tcp", small+", run by run", 1, c.SmallRatios),
		row("stream.allocs_per_frame", "allocations", "of the whole process", 1, c.Stream.Allocs),
	}
}

// streamMethod says what the figures mean.
var streamMethod = strings.TrimSpace(`
stream: pictures of 4 bytes a pixel go from a publisher through the server, over 127.0.0.1, and through the client to
its callback. A bare connection's sender writes one buffer again and again, its receiver reads into one buffer: as many
bytes, timed alike, each run right after the stream's. The stream copies each picture once, so that the publisher may
overwrite it; its buffers together are larger than a cache. Its send buffer is smaller than what the kernel chooses by
itself, which is why it may be faster than a bare connection that leaves that to the kernel.
`)
