package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
)

// replayFlags are the flags of `raybridge replay`.
type replayFlags struct {
	bridges         []string
	rate            float64
	fast            bool
	start, duration time.Duration
	loop            bool
	strict          bool
	topics          []string
	noClock         bool
	wait            time.Duration
	policy          string
	out             string
	quiet           bool
	summary         string
	memory          memoryLimit
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay RECORDING...",
		Short: "Send a recording through bridges, at its own times",
		Long: "Send a recording through bridges, at its own times.\n\n" +
			"RECORDING is an MCAP file, a rosbag2 folder with MCAP files, or the name without number of a split recording.\n" +
			"Several are replayed as one, by the times at which their messages were recorded; gaps between them stay.\n" +
			"Messages are those that raybridge records, of ROS 2, ROS 1 or Foxglove; what it has no type for is left out and told.\n" +
			"Stamps stay as they were recorded. /clock is the recording's, or made of its log times where it has none.\n" +
			"Ctrl-C ends it.",
		Example: "  raybridge replay out/drive/recording --bridge foxglove:\n" +
			"  raybridge replay drive.mcap --bridge rosbridge:localhost --rate 0.5 --start 10s --loop\n" +
			"  raybridge replay drive_*.mcap --bridge foxglove: --topics '/lidar/*,/tf*'\n" +
			"  raybridge replay drive.mcap --bridge 'mcap:ros1.mcap?profile=ros1' --fast",
		Args: someArgs("a recording, such as drive.mcap or a rosbag2 folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newReplaySession(cmd, args, &f)
			if err != nil {
				return usage(err)
			}
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.bridges, "bridge", nil, "`TYPE:CONNECTION` of a bridge, such as foxglove: or mcap:copy.mcap; repeatable")
	flags.Float64Var(&f.rate, "rate", 1, "recorded seconds per second; 0 is as fast as the bridges take it")
	flags.BoolVar(&f.fast, "fast", false, "the same as --rate 0")
	flags.DurationVar(&f.start, "start", 0, "begin so long after the first message of all")
	flags.DurationVar(&f.duration, "duration", 0, "end after so much recorded time; 0 is the recording's end")
	flags.BoolVar(&f.loop, "loop", false, "begin again at the end, with the stamps of before")
	flags.BoolVar(&f.strict, "strict", false, "end where a part of a recording is damaged, rather than leave it out")
	flags.StringSliceVar(&f.topics, "topics", nil, "only `TOPICS` of these names or patterns, such as '/points,/camera/*'")
	flags.BoolVar(&f.noClock, "no-clock", false, "publish no /clock where the recording has none")
	flags.DurationVar(&f.wait, "wait", 10*time.Second, "wait so long for the bridges to connect")
	flags.StringVar(&f.policy, "policy", "", "`POLICY` of full queues: block, drop_newest or drop_oldest")
	flags.StringVar(&f.out, "out", defaultOut, "`DIR` for the recordings of file bridges")
	flags.BoolVar(&f.quiet, "quiet", false, "print errors only")
	flags.StringVar(&f.summary, "summary", "", "write what was replayed to `FILE.json`")
	addMemoryLimit(cmd, &f.memory)
	completeFlags(cmd)
	return cmd
}

// check reads what the flags mean.
func (f *replayFlags) check(cmd *cobra.Command) error {
	switch {
	case len(f.bridges) == 0:
		return errors.New("nowhere to send it: give --bridge, such as mcap:copy.mcap")
	case !(f.rate >= 0 && f.rate <= maxRate): // nor is NaN in it
		return fmt.Errorf("--rate %v: the range is 0 to %d", f.rate, maxRate)
	case f.fast && cmd.Flags().Changed("rate") && f.rate != 0:
		return errors.New("give either --fast or --rate, not both")
	case f.start < 0:
		return fmt.Errorf("--start %v is negative", f.start)
	case f.duration < 0:
		return fmt.Errorf("--duration %v is negative", f.duration)
	case f.wait < 0:
		return fmt.Errorf("--wait %v is negative", f.wait)
	}
	var list []config.Bridge
	for _, spec := range f.bridges {
		b, err := parseBridge(spec)
		if err != nil {
			return err
		}
		list = append(list, b)
	}
	if err := checkTwice(list); err != nil {
		return err
	}
	if f.fast {
		f.rate = 0
	}
	for _, pattern := range f.topics {
		if _, err := path.Match(pathless(pattern), ""); err != nil {
			return fmt.Errorf("--topics: bad pattern %q: %w", pattern, err)
		}
	}
	if f.policy != "" {
		if _, err := flow.ParsePolicy(f.policy); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	return nil
}

// maxRate is as much as a rate may be; above it there is --fast.
const maxRate = 1000

// wants reports whether a topic is to be replayed.
func (f *replayFlags) wants(topic string) bool {
	if len(f.topics) == 0 {
		return true
	}
	for _, pattern := range f.topics {
		// The pattern was checked.
		if ok, _ := path.Match(pathless(pattern), pathless(topic)); ok {
			return true
		}
	}
	return false
}

// topicList is for messages.
func topicList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
