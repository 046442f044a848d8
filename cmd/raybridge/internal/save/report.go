package save

import (
	"bytes"
	"cmp"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ReportFile is the report's name in the output folder.
const ReportFile = "report.html"

//go:embed report.tmpl
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"png":    pngURL,
	"number": func(v float64) string { return fault.Number(v, 4) },
	"fixed":  func(v float64) string { return fmt.Sprintf("%.2f", v) },
	"ms":     func(d time.Duration) string { return fault.Number(float64(d)/1e6, 3) + " ms" },
	"mega":   func(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) },
}).Parse(pageSource))

// Report makes report.html of a run. It has pictures of each camera, views of each cloud from
// above and as ranges, latencies by stage, and the tables. It is one file that needs no
// network. It collects the first and the latest message of every camera, and the latest of
// every lidar. Its methods may be called from any goroutine.
type Report struct {
	mu        sync.Mutex
	shots     []*shot
	scans     []*scan
	listeners []*pipeline.Listener
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
			listener, err := r.listen(s, out.Name, s.Topics()[i], out.New())
			if err != nil {
				return fmt.Errorf("report on sensor %s: %w", s.Name(), err)
			}
			if listener != nil {
				r.listeners = append(r.listeners, listener)
			}
		}
	}
	return nil
}

// listen keeps the latest message of one output if it can be drawn. example is a
// message of the output's type.
func (r *Report) listen(s *pipeline.Sensor, output, topic string, example any) (*pipeline.Listener, error) {
	switch example.(type) {
	case *sample.Image:
		kept := &shot{name: s.Name(), topic: topic, typeID: s.TypeID()}
		r.shots = append(r.shots, kept)
		return pipeline.Listen(s, output, func(_ sensors.Tick, m *sample.Image) {
			r.mu.Lock()
			defer r.mu.Unlock()
			sample.Copy(&kept.last, m)
			if kept.seen++; kept.seen == 1 {
				sample.Copy(&kept.first, m)
			}
		})
	case *sample.PointCloud:
		kept := &scan{name: s.Name(), topic: topic}
		r.scans = append(r.scans, kept)
		return pipeline.Listen(s, output, func(_ sensors.Tick, m *sample.PointCloud) {
			r.mu.Lock()
			defer r.mu.Unlock()
			sample.Copy(&kept.message, m)
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
		Title: s.name + " · " + s.topic, Caption: fmt.Sprintf("at %.2f s; %s", float64(m.Stamp)/1e9, caption), Image: shown,
	}
}

// contents is what the page shows.
type contents struct {
	Summary  pipeline.Summary
	Cameras  []figure
	Clouds   []figure
	Latency  []bar
	Timeline []pipeline.PartLatency
}

// Write writes the report into a folder, when the run is over, and returns its path.
func (r *Report) Write(folder string, p *pipeline.Pipeline) (string, error) {
	for _, l := range r.listeners {
		l.Stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := contents{Summary: p.Summary(), Timeline: p.Latencies()}
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
			figure{Title: s.name + " from above", Image: drawTop(m), Caption: countReturns(m) + "; rings every 10 m; colour is height"},
			figure{Title: s.name + " ranges", Image: drawRanges(m), Caption: "a row a laser, the highest on top; a column a firing; bright is near", Wide: true})
	}
	c.Latency = tabulate(c.Timeline)
	var out bytes.Buffer
	if err := page.Execute(&out, c); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	path := filepath.Join(folder, ReportFile)
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("write report: %w", fault.File(err))
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

// drawImage shows a camera's data as people see it, and says how.
func drawImage(m *sample.Image, typeID string) (shown image.Image, caption string) {
	caption = fmt.Sprintf("%d × %d, %s", m.Width, m.Height, m.Encoding)
	if rolls := m.Shutter.String(); rolls != "" {
		caption += ", " + rolls
	}
	kind, err := picture.KindOf(m, typeID)
	if err != nil {
		return image.NewNRGBA(image.Rect(0, 0, 1, 1)), caption + ": " + err.Error()
	}
	if kind.Legend != "" {
		caption += ": " + kind.Legend
	}
	return kind.Paint(nil, m), caption
}

const (
	topSize   = 900  // pixels
	topRange  = 50.0 // metres to the edge
	ringStep  = 10.0 // metres
	rowHeight = 12   // pixels of a laser in the range view, at most
)

var (
	background = color.NRGBA{16, 18, 22, 255}
	gridColor  = color.NRGBA{52, 58, 68, 255}
)

// hits goes over the points that hit something.
func hits(m *sample.PointCloud) iter.Seq[*sample.Point] {
	return func(yield func(*sample.Point) bool) {
		for i := range m.Points {
			if p := &m.Points[i]; p.Return != sample.ReturnUnknown && !yield(p) {
				return
			}
		}
	}
}

// countReturns counts the points that hit something; those of a lidar that reports several echoes of a firing by their type, too.
func countReturns(m *sample.PointCloud) string {
	n, of := 0, [math.MaxUint8 + 1]int{}
	for p := range hits(m) {
		n++
		of[p.Return]++
	}
	text := fault.Count(n, "point")
	if m.Returns.Points() == 1 {
		return text
	}
	var parts []string
	for kind, n := range of {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d of return type %d", n, kind))
		}
	}
	return text + " (" + strings.Join(parts, ", ") + ")"
}

// drawTop shows a cloud from above, the sensor in the middle looking up the page;
// colour is height.
func drawTop(m *sample.PointCloud) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, topSize, topSize))
	draw.Draw(out, out.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	scale := topSize / (2 * topRange)
	for r := ringStep; r <= topRange*math.Sqrt2; r += ringStep {
		for a := 0.0; a < 2*math.Pi; a += 1 / (r * scale) {
			out.SetNRGBA(int(topSize/2+r*scale*math.Cos(a)), int(topSize/2+r*scale*math.Sin(a)), gridColor)
		}
	}
	lo, hi := heights(m)
	for p := range hits(m) {
		x := int(topSize/2 - float64(p.Y)*scale)
		y := int(topSize/2 - float64(p.X)*scale)
		c := color.NRGBA(picture.HeightRamp.At((float64(p.Z) - lo) / (hi - lo)))
		out.SetNRGBA(x, y, c)
		out.SetNRGBA(x+1, y, c)
		out.SetNRGBA(x, y+1, c)
		out.SetNRGBA(x+1, y+1, c)
	}
	for d := -4; d <= 4; d++ { // the sensor
		out.SetNRGBA(topSize/2+d, topSize/2, color.NRGBA{255, 255, 255, 255})
		out.SetNRGBA(topSize/2, topSize/2+d, color.NRGBA{255, 255, 255, 255})
	}
	return out
}

// heights returns the 2nd and 98th percentile of the points' heights.
func heights(m *sample.PointCloud) (lo, hi float64) {
	var z []float32
	for p := range hits(m) {
		z = append(z, p.Z)
	}
	if len(z) == 0 {
		return 0, 1
	}
	slices.Sort(z)
	lo, hi = float64(z[len(z)*2/100]), float64(z[len(z)*98/100])
	return lo, max(hi, lo+0.1)
}

// nearest and farthest are the ends of the range view's scale, metres.
const nearest, farthest = 1.0, 100.0

// rangeColor shows a distance on a logarithmic scale, near bright.
func rangeColor(r float64) color.NRGBA {
	return color.NRGBA(picture.DepthRamp.At(math.Log(max(r, nearest)/nearest) / math.Log(farthest/nearest)))
}

// drawRanges shows a cloud as the device sees it: a row for each laser, sorted
// by elevation, and a column for each firing, whose strongest return is shown.
func drawRanges(m *sample.PointCloud) image.Image {
	m = m.SingleReturn(new(sample.PointCloud))
	elevation := make([]float32, m.Rings)
	for i := range m.Points {
		elevation[int(m.Points[i].Ray)%m.Rings] = m.Points[i].Elevation
	}
	order := make([]int, m.Rings)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(elevation[b], elevation[a]) })
	row := make([]int, m.Rings)
	for r, laser := range order {
		row[laser] = r
	}
	height := max(1, min(rowHeight, 600/max(m.Rings, 1)))
	out := image.NewNRGBA(image.Rect(0, 0, m.Columns, m.Rings*height))
	draw.Draw(out, out.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	for p := range hits(m) {
		c := rangeColor(float64(p.Distance))
		// Columns turn clockwise from straight ahead: the middle of the picture is ahead.
		x := (int(p.Ray)/m.Rings + m.Columns/2) % m.Columns
		for y := range height {
			out.SetNRGBA(x, row[int(p.Ray)%m.Rings]*height+y, c)
		}
	}
	return out
}

// bar is one stage of the way to the first bridge. It has the slowest sensor's median and
// 99th percentile, and both as shares of the longest of all, in per cent.
type bar struct {
	Name               string
	P50, P99           time.Duration
	P50Share, P99Share float64
}

// way is the order of the stages.
var way = []string{"gpu", "fence", "copy", "wait", "queue", "send"}

// tabulate takes the slowest sensor of each stage that happened.
func tabulate(stages []pipeline.PartLatency) (bars []bar) {
	var longest time.Duration
	for _, name := range way {
		b, seen := bar{Name: name}, false
		for _, s := range stages {
			if s.Name == name {
				seen = true
				b.P50, b.P99 = max(b.P50, s.P50), max(b.P99, s.P99)
			}
		}
		if seen {
			bars = append(bars, b)
			longest = max(longest, b.P50, b.P99)
		}
	}
	for i := range bars {
		bars[i].P50Share, bars[i].P99Share = share(bars[i].P50, longest), share(bars[i].P99, longest)
	}
	return bars
}

// share is a part of a whole in per cent, to a tenth.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(1000*part.Seconds()/whole.Seconds()) / 10
}
