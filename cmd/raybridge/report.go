package main

import (
	"fmt"
	"io"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/report"
	"github.com/raybridge/raybridge/pipeline"
)

// reportView writes report.html at the end of a run.
type reportView struct {
	report report.Report
	folder string
	out    io.Writer // where its path is told; nil for nowhere
}

func (v *reportView) attach(p *pipeline.Pipeline) error { return v.report.Attach(p) }

func (v *reportView) finish(p *pipeline.Pipeline) error {
	path, err := v.report.Write(v.folder, p)
	if err == nil && v.out != nil {
		fmt.Fprintf(v.out, "\nreport: %s\n", path)
	}
	return err
}

// views attaches what shows the run: the report, and a window's view if there is one.
func (pl *plan) views(p *pipeline.Pipeline, extra view) ([]view, error) {
	var list []view
	if pl.flags.report {
		v := &reportView{folder: pl.flags.out}
		if !pl.flags.quiet {
			v.out = pl.progress.out
		}
		list = append(list, v)
	}
	if extra != nil {
		list = append(list, extra)
	}
	for _, v := range list {
		if err := v.attach(p); err != nil {
			return nil, err
		}
	}
	return list, nil
}
