// This file measures what it costs to be watched: whole scrapes of a run's metrics.

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	streams "github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// scrapes is a number of topics that a run has.
type scrapes struct{ topics int }

func (s scrapes) title() string { return fmt.Sprintf("%d_topics", s.topics) }

// topicCounts lists the cases.
var topicCounts = []scrapes{{30}}

// Scrapes of a run, and the steps before them: in the first 256 messages of a topic each is timed.
const (
	scrapesOfARun      = 100
	quickScrapesOfARun = 20
	stepsBeforeScrapes = 20
)

var metricsMethod = strings.TrimSpace(`
metrics: whole requests of /metrics on the API's UNIX socket, one after the other on one connection, in a paused run of a plane. A third of
its sensors are cameras, each with two topics, the others instruments; a client in this process has received twenty messages of each. A
scrape is timed from its request to the answer's end; cpu_ms is what this process has computed in that time, of client and server.`)

// Metrics measures scrapes of a run. It appends to the report.
func Metrics(ctx context.Context, config Config, report *Report) error {
	n := ifQuick(config.Quick, quickScrapesOfARun, scrapesOfARun)
	b := caseBench[scrapes]{"metrics", topicCounts, func(cfg *Config, s scrapes) ([]Result, error) {
		return s.measure(ctx, cfg, n)
	}, metricsMethod}
	return b.run(config, report)
}

// sensors have as many topics as the case says.
func (s scrapes) sensors() (list []sensors.Config) {
	for i := range s.topics / 3 {
		list = append(list,
			sensors.Config{ID: "sensor.camera.rgb", Name: fmt.Sprintf("camera%d", i), Rate: simtime.Hz(100), Attributes: map[string]any{"image_size_x": 64, "image_size_y": 48}},
			sensors.Config{ID: "sensor.other.imu", Name: fmt.Sprintf("imu%d", i), Rate: simtime.Hz(100)})
	}
	return list
}

// measure makes runs of so many scrapes.
func (s scrapes) measure(ctx context.Context, cfg *Config, n int) (rows []Result, err error) {
	site, err := openSite(ctx, cfg, socket(), s.sensors())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	client, err := streams.Dial(ctx, site.server.Addr(), streams.Options{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, stream := range client.Streams() {
		if err := client.Listen(ctx, stream.Name, func(*streams.Data) {}); err != nil {
			return nil, err
		}
	}
	for range stepsBeforeScrapes {
		if err := site.post(ctx, []byte(`{"steps": 1}`)); err != nil {
			return nil, err
		}
	}
	wall := Result{"metrics.scrape_ms", s.title(), "ms", nil, "the median of a run's scrapes"}
	cpu := Result{"metrics.cpu_ms", s.title(), "ms", nil, "of client and server"}
	size := Result{"metrics.bytes", s.title(), "bytes", nil, "of an answer"}
	for run := range cfg.Runs + 1 {
		bytes, before := int64(0), cpuTime()
		ms, _, err := stepTimes(n, func() (err error) {
			bytes, err = site.scrape(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		if run > 0 { // buffers have grown in the first
			wall.Runs = append(wall.Runs, ms)
			cpu.Runs = append(cpu.Runs, milliseconds(cpuTime()-before)/float64(n))
			size.Runs = append(size.Runs, float64(bytes))
		}
	}
	return []Result{wall, cpu, size}, nil
}

// scrape asks for the metrics, and returns how long the answer is.
func (s *site) scrape(ctx context.Context) (bytes int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the scrape was refused: %s", response.Status)
	}
	return io.Copy(io.Discard, response.Body)
}
