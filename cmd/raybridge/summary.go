package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// formFlags are the flags that say how a result is written.
type formFlags struct{ json, markdown bool }

func (f *formFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "write a table of Markdown, for the summary of a CI job")
}

func (f *formFlags) form() (judge.Form, error) {
	switch {
	case f.json && f.markdown:
		return 0, errors.New("give either --json or --markdown, not both")
	case f.json:
		return judge.JSON, nil
	case f.markdown:
		return judge.Markdown, nil
	default:
		return judge.Table, nil
	}
}

func newSummary() *cobra.Command {
	cmd := group(&cobra.Command{Use: "summary", Short: "Judge and compare what runs did"})
	cmd.AddCommand(newSummaryCheck(), newSummaryDiff())
	return cmd
}

func newSummaryCheck() *cobra.Command {
	var limits judge.Flags
	var form formFlags
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Hold the summary of a run against limits",
		Long: "Hold the summary of a run, which run --summary wrote, against limits.\n\n" +
			"The exit code is 0 where the run kept all limits, 1 where it fell short of one, and 2 for a file that can't be read.\n" +
			"A topic that the summary hasn't is a limit that wasn't kept. raybridge run takes the same limits.",
		Example: "  raybridge summary check run.json --min-rate /lidar/points=9.9,/imu/data=99 --max-drops 0\n" +
			"  raybridge summary check run.json --max-drops peer_slow=10 --min-realtime 1 --max-latency /lidar/points=50\n" +
			"  raybridge summary check run.json --max-drops 0 --markdown >> \"$GITHUB_STEP_SUMMARY\"",
		Args: oneArg("a file that run --summary wrote"),
		RunE: func(cmd *cobra.Command, args []string) error { return checkSummary(cmd, args[0], &limits, &form) },
	}
	limits.Register(cmd.Flags())
	form.register(cmd)
	completeFlags(cmd)
	completeTopics(cmd, func(args []string) (topics []string) {
		if len(args) != 1 {
			return nil
		}
		s, err := judge.Read(args[0])
		if err != nil {
			return nil
		}
		for i := range s.Sensors {
			topics = append(topics, s.Sensors[i].Topic)
		}
		return topics
	})
	return cmd
}

func checkSummary(cmd *cobra.Command, path string, flags *judge.Flags, ff *formFlags) error {
	form, err := ff.form()
	if err != nil {
		return usage(err)
	}
	limits, err := flags.Limits()
	if err != nil {
		return usage(err)
	}
	if len(limits) == 0 {
		return usage(errors.New("nothing to check: give --min-rate, --max-drops, --min-realtime or --max-latency"))
	}
	summary, err := judge.Read(path)
	if err != nil {
		return usage(err)
	}
	verdict := limits.Judge(summary)
	return errors.Join(verdict.Write(cmd.OutOrStdout(), form), verdict.Err())
}

func newSummaryDiff() *cobra.Command {
	var form formFlags
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Compare the summaries of two runs",
		Long: "Compare the summaries of two runs: real-time factor, drops, and the rate of each topic.\n\n" +
			"The exit code is 0 whether they differ or not, since two runs in real time always do, and 2 for a file that can't be read.\n" +
			"raybridge mcap diff compares recordings message by message.",
		Example: "  raybridge summary diff main.json branch.json\n  raybridge summary diff main.json branch.json --markdown >> \"$GITHUB_STEP_SUMMARY\"",
		Args:    twoArgs("two files that run --summary wrote"),
		RunE:    func(cmd *cobra.Command, args []string) error { return diffSummaries(cmd, args[0], args[1], &form) },
	}
	form.register(cmd)
	return cmd
}

func diffSummaries(cmd *cobra.Command, a, b string, ff *formFlags) error {
	form, err := ff.form()
	if err != nil {
		return usage(err)
	}
	var both []*pipeline.Summary
	for _, path := range []string{a, b} {
		s, err := judge.Read(path)
		if err != nil {
			return usage(err)
		}
		both = append(both, s)
	}
	return judge.Compare(a, b, both[0], both[1]).Write(cmd.OutOrStdout(), form)
}

// twoArgs wants two arguments of a kind.
func twoArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage(fmt.Errorf("give %s, not %s", what, fault.Count(len(args), "argument")))
		}
		return nil
	}
}
