// Package report makes report.html of a run: pictures of each camera, views of
// each cloud from above and as ranges, latencies by stage, and the tables. It is one
// file that needs no network.
package report

import (
	"bytes"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// File is the report's name in the output folder.
const File = "report.html"

//go:embed report.tmpl
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"png":    pngURL,
	"number": func(v float64) string { return fmt.Sprintf("%.4g", v) },
	"fixed":  func(v float64) string { return fmt.Sprintf("%.2f", v) },
	"ms":     func(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d)/1e6) },
	"mega":   func(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) },
}).Parse(pageSource))

// Report collects the first and the latest message of every camera of a run, and
// the latest of every lidar. Its
// methods may be called from any goroutine.
type Report struct {
	mu     sync.Mutex
	shots  []*shot
	scans  []*scan
	detach []func()
}

// shot is what one camera saw first and last.
type shot struct {
	name, topic, typeID string
	first, last         sample.Image // guarded by Report.mu
	seen                int          // guarded by Report.mu: pictures so far
}

// scan is the latest cloud of one lidar.
type scan struct {
	name, topic string
	message     sample.PointCloud // guarded by Report.mu
	seen        bool
}

// Attach listens to all outputs that can be drawn.
func (r *Report) Attach(p *pipeline.Pipeline) error {
	for _, s := range p.Sensors() {
		for i, out := range s.Outputs() {
			stop, err := r.listen(s, out.Name, s.Topics()[i], out.New())
			if err != nil {
				return fmt.Errorf("report on sensor %s: %w", s.Name(), err)
			}
			if stop != nil {
				r.detach = append(r.detach, stop)
			}
		}
	}
	return nil
}

// listen keeps the latest message of one output if it can be drawn. example is a
// message of the output's type.
func (r *Report) listen(s *pipeline.Sensor, output, topic string, example any) (stop func(), err error) {
	switch example.(type) {
	case *sample.Image:
		kept := &shot{name: s.Name(), topic: topic, typeID: s.TypeID()}
		r.shots = append(r.shots, kept)
		return pipeline.Listen(s, output, func(_ sensors.Tick, m *sample.Image) {
			r.mu.Lock()
			defer r.mu.Unlock()
			m.CopyToCache(&kept.last)
			if kept.seen++; kept.seen == 1 {
				m.CopyToCache(&kept.first)
			}
		})
	case *sample.PointCloud:
		kept := &scan{name: s.Name(), topic: topic}
		r.scans = append(r.scans, kept)
		return pipeline.Listen(s, output, func(_ sensors.Tick, m *sample.PointCloud) {
			r.mu.Lock()
			defer r.mu.Unlock()
			m.CopyToCache(&kept.message)
			kept.seen = true
		})
	}
	return nil, nil
}

// figure is one picture of the page.
type figure struct {
	Title, Caption string
	Image          image.Image
	Wide           bool
}

// figure draws one picture of a camera.
func (s *shot) figure(m *sample.Image) figure {
	shown, caption := drawImage(m, s.typeID)
	return figure{
		Title: s.name + " · " + s.topic, Caption: fmt.Sprintf("at %.2f s; %s", float64(m.StampNs)/1e9, caption), Image: shown,
	}
}

// contents is what the page shows.
type contents struct {
	Summary  pipeline.Summary
	Cameras  []figure
	Clouds   []figure
	Latency  []bar
	Timeline []pipeline.Stage
}

// Write writes the report into a folder, when the run is over, and returns its path.
func (r *Report) Write(folder string, p *pipeline.Pipeline) (string, error) {
	for _, stop := range r.detach {
		stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := contents{Summary: p.Summary(), Timeline: p.Stages()}
	for _, s := range r.shots {
		if s.seen > 0 {
			c.Cameras = append(c.Cameras, s.figure(&s.first))
		}
	}
	for _, s := range r.shots {
		if s.seen > 1 {
			c.Cameras = append(c.Cameras, s.figure(&s.last))
		}
	}
	for _, s := range r.scans {
		if !s.seen {
			continue
		}
		m := &s.message
		c.Clouds = append(c.Clouds,
			figure{Title: s.name + " from above", Image: drawTop(m), Caption: fmt.Sprintf("%d points; rings every 10 m; colour is height", returns(m))},
			figure{Title: s.name + " ranges", Image: drawRanges(m), Caption: "a row a laser, the highest on top; a column a firing; bright is near", Wide: true})
	}
	c.Latency = tabulate(c.Timeline)
	var out bytes.Buffer
	if err := page.Execute(&out, c); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	path := filepath.Join(folder, File)
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("write report: %w", filefault.Explain(err))
	}
	return path, nil
}

// pngURL returns a picture as a data URL.
func pngURL(m image.Image) (template.URL, error) {
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())), nil
}
