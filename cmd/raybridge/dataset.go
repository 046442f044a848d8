package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check/coco"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check/kitti"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check/nuscenes"
	"github.com/raybridge/raybridge/internal/fault"
)

// datasetFormats are those that raybridge dataset reads.
func datasetFormats() []check.Format {
	return []check.Format{nuscenes.Format, coco.Format, kitti.Format}
}

func newDataset() *cobra.Command {
	cmd := group(&cobra.Command{Use: "dataset", Short: "Look after data sets for training"})
	cmd.AddCommand(newDatasetPicture(), newDatasetCheck(), newDatasetShow(), newDatasetMerge(), newDatasetRecover())
	return cmd
}

// datasetChecking are the flags of dataset check.
type datasetChecking struct {
	json, strict, rules bool
	exclude             []string
	report              string
	frames              int
}

func newDatasetCheck() *cobra.Command {
	var f datasetChecking
	cmd := &cobra.Command{
		Use: "check DIR", Short: "Find what is wrong with a data set",
		Long: "Find what is wrong with a data set: what loaders refuse, and what they don't notice and learn wrongly.\n\n" +
			"DIR holds a set in the format of nuScenes, COCO or KITTI. Each finding has the id of the rule that is broken, the file and the row.\n" +
			"--rules lists the rules. Warnings count as findings under --strict only. --report writes a page with the findings, counts of the labels,\n" +
			"and some key frames with boxes and points drawn.\n\n" +
			"The exit code is 0 where nothing is wrong, 1 for findings, and 2 for a folder that holds no data set.",
		Example: "  raybridge dataset check out/set\n  raybridge dataset check out/set --report out/set.html\n  raybridge dataset check out/set --strict --exclude geometry,format.radar --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.rules {
				return noArgs(cmd, args)
			}
			return oneArg("the folder of a data set")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.rules {
				return printRules(cmd.OutOrStdout())
			}
			return f.run(cmd, args[0])
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "write findings and shares as JSON, for programs")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail by warnings, too")
	cmd.Flags().BoolVar(&f.rules, "rules", false, "list the rules of all formats, and check nothing")
	cmd.Flags().StringVar(&f.report, "report", "", "write the page `FILE`, HTML that needs no other file")
	cmd.Flags().IntVar(&f.frames, "frames", 5, "`N` key frames on the page")
	cmd.Flags().StringSliceVar(&f.exclude, "exclude", nil, "`RULES`, or groups of them, that aren't checked")
	return cmd
}

func printRules(out io.Writer) error {
	w := columns(out)
	fmt.Fprintln(w, "format\trule\tseverity\tholds")
	for _, format := range datasetFormats() {
		for _, r := range format.Rules {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", format.Name, r.ID, r.Severity, r.Holds)
		}
	}
	return w.Flush()
}

// datasetFolder opens the folder of a data set.
func datasetFolder(dir string) (fs.FS, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, usage(fault.File(err))
	}
	return check.Folder(dir), nil
}

// datasetError marks what keeps a folder from being checked as wrong use.
func datasetError(dir string, err error) error {
	if errors.Is(err, check.ErrNoSet) {
		if _, begun := dataset.OpenJournal(dir); begun == nil {
			return usage(fmt.Errorf("%s: the run that wrote this data set was cut off: complete it by raybridge dataset recover %[1]s", dir))
		}
		return usage(fmt.Errorf("%s: %w", dir, err))
	}
	if errors.Is(err, check.ErrNoRule) || errors.Is(err, context.Canceled) {
		return usage(err)
	}
	return err
}

func (f *datasetChecking) run(cmd *cobra.Command, dir string) error {
	root, err := datasetFolder(dir)
	if err != nil {
		return err
	}
	results, err := check.Run(cmd.Context(), root, datasetFormats(), f.exclude)
	if err != nil {
		return datasetError(dir, err)
	}
	if f.json {
		err = writeResults(cmd.OutOrStdout(), results)
	} else {
		err = printResults(cmd.OutOrStdout(), results)
	}
	if err != nil {
		return err
	}
	if f.report != "" {
		if err := writeReport(f.report, dir, root, results, f.frames); err != nil {
			return err
		}
	}
	least, failed := check.Error, 0
	if f.strict {
		least = check.Warning
	}
	for _, r := range results {
		failed += r.Total(least)
	}
	if failed > 0 {
		return fmt.Errorf("%s: %s", dir, fault.Count(failed, "finding"))
	}
	return nil
}

func writeReport(file, dir string, root fs.FS, results []*check.Result, frames int) error {
	out, err := os.Create(file)
	if err != nil {
		return usage(fault.File(err))
	}
	if err := check.WriteReport(out, filepath.Base(filepath.Clean(dir)), root, results, frames); err != nil {
		_ = out.Close() // it is cut
		return fmt.Errorf("write report: %w", err)
	}
	return out.Close()
}

func newDatasetShow() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "show DIR [N]", Short: "Draw the labels of a data set over its pictures",
		Long: "Draw the labels of a data set over its pictures: N key frames, 5 by default, evenly spread over the set.\n\n" +
			"A PNG file is written for each picture, at its own size: lines are the edges of labels, in the colour of the category. Dots are\n" +
			"points of lidars: red ones are near, blue ones far.",
		Example: "  raybridge dataset show out/set\n  raybridge dataset show out/set 50 --out out/shown",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return oneArg("the folder of a data set")(cmd, args)
			}
			return upToArgs(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 5
			if len(args) == 2 {
				var err error
				if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
					return usage(fmt.Errorf("%q: want a number of key frames above 0", args[1]))
				}
			}
			return showSet(cmd, args[0], n, to)
		},
	}
	cmd.Flags().StringVar(&to, "out", filepath.Join("out", "shown"), "`DIR` for the pictures")
	return cmd
}

// showSet writes pictures of n key frames, and prints their names.
func showSet(cmd *cobra.Command, dir string, n int, to string) error {
	root, err := datasetFolder(dir)
	if err != nil {
		return err
	}
	set, err := check.Open(cmd.Context(), root, datasetFormats())
	if err != nil {
		return datasetError(dir, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return usage(fault.File(err))
	}
	var errs []error // of pictures that can't be drawn: the others are
	for _, i := range check.Spread(set.Frames(), n) {
		if err := cmd.Context().Err(); err != nil {
			return usage(errors.Join(append(errs, err)...))
		}
		_, views := set.Views(i)
		for _, v := range views {
			file := filepath.Join(to, fmt.Sprintf("%06d_%s.png", i, strings.ReplaceAll(v.Channel, "/", "_")))
			if err := writeView(root, v, file); err != nil {
				errs = append(errs, err)
				continue
			}
			fmt.Fprintln(cmd.OutOrStdout(), fault.Printable(file))
		}
	}
	return errors.Join(errs...)
}

// writeView draws one view into a PNG file.
func writeView(root fs.FS, v check.View, file string) error {
	m, err := check.Draw(root, v, math.MaxInt)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return fault.File(err)
	}
	if err := png.Encode(out, m); err != nil {
		_ = out.Close() // it is cut
		return fault.File(err)
	}
	return out.Close()
}

// resultJSON is a set's result, for programs.
type resultJSON struct {
	Format   string          `json:"format"`
	Name     string          `json:"name,omitempty"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Rules    []ruleJSON      `json:"rules"`
	Findings []check.Finding `json:"findings"`
	Shares   []check.Share   `json:"shares"`
}

// ruleJSON is a rule and how often it is broken. Findings has the first 20.
type ruleJSON struct {
	check.Rule
	Findings int `json:"findings"`
}

func writeResults(out io.Writer, results []*check.Result) error {
	sets := make([]resultJSON, len(results))
	for i, r := range results {
		errs := r.Total(check.Error)
		sets[i] = resultJSON{r.Format, r.Name, errs, r.Total(check.Warning) - errs, []ruleJSON{}, append([]check.Finding{}, r.All()...), append([]check.Share{}, r.Shares()...)}
		for _, rule := range r.Rules() {
			sets[i].Rules = append(sets[i].Rules, ruleJSON{rule, r.Count(rule.ID)})
		}
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"sets": sets})
}

func printResults(out io.Writer, results []*check.Result) error {
	for _, r := range results {
		errs := r.Total(check.Error)
		name := r.Format
		if r.Name != "" {
			name += " " + fault.Printable(r.Name)
		}
		fmt.Fprintf(out, "%s: %s, %s by %s\n", name, fault.Count(errs, "error"),
			fault.Count(r.Total(check.Warning)-errs, "warning"), fault.Count(len(r.Rules()), "rule"))
		for _, found := range r.All() {
			place := fault.Printable(found.File)
			if found.Row != "" {
				place += " " + fault.Printable(found.Row)
			}
			fmt.Fprintf(out, "%s %s: %s: %s\n", found.Severity, found.Rule, place, fault.PrintableText(found.Message))
		}
		for _, rule := range r.Rules() {
			if more := r.Count(rule.ID) - keptOf(r, rule.ID); more > 0 {
				fmt.Fprintf(out, "%s %s: %d more\n", rule.Severity, rule.ID, more)
			}
		}
		w := columns(out)
		for _, s := range r.Shares() {
			fmt.Fprintf(w, "%s\t%s\tof %d\n", s.Name, percent(s), s.Whole)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// keptOf is how many findings of a rule are printed one by one.
func keptOf(r *check.Result, rule string) (n int) {
	for _, found := range r.All() {
		if found.Rule == rule {
			n++
		}
	}
	return n
}

func percent(s check.Share) string {
	if s.Whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(s.Part)/float64(s.Whole))
}
