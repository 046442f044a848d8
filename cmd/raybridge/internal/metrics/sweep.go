package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Sweep is what the coordinator of a sweep counts.
type Sweep struct {
	// Done, Failed, Running and Waiting are all cases of the plan, each once.
	Done, Failed, Running, Waiting int
	Workers                        int
	// These count since the coordinator's start.
	Offers, Redeliveries, Requeued, Silent int
}

var (
	sweepCases    = desc("sweep_cases", "Cases of the sweep's plan, by what they are now: done, failed for good, running or waiting.", "state")
	sweepWorkers  = desc("sweep_workers", "Workers that were heard of within their lease.")
	sweepLeases   = desc("sweep_leases", "Cases that a worker has begun, and that nobody else is given until its lease ends.")
	sweepOffers   = desc("sweep_offers_total", "Cases that were put into the queue; one that is tried again counts again.")
	sweepAgain    = desc("sweep_redeliveries_total", "Cases that the queue has handed out again, because their worker was silent or has given them back.")
	sweepRequeued = desc("sweep_requeued_total", "Cases that the queue had lost, and that were put there again.")
	sweepSilent   = desc("sweep_workers_lost_total", "Workers that weren't heard any longer, and hadn't said that they leave.")
)

// SweepHandler answers scrapes of a coordinator. read may be called from any goroutine.
func SweepHandler(read func() Sweep, build Build) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), sweepCollector{read, build})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// sweepCollector reads the counts at each scrape.
type sweepCollector struct {
	read  func() Sweep
	build Build
}

// Describe lists all metrics.
func (c sweepCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, sweepCases, sweepWorkers, sweepLeases, sweepOffers, sweepAgain, sweepRequeued, sweepSilent} {
		to <- d
	}
}

// Collect reads the counts.
func (c sweepCollector) Collect(to chan<- prometheus.Metric) {
	s, out := c.read(), output{to, labels{}}
	out.gauge(buildInfo, 1, c.build.Version, c.build.Revision, c.build.GoVersion)
	out.gauge(sweepCases, float64(s.Done), "done")
	out.gauge(sweepCases, float64(s.Failed), "failed")
	out.gauge(sweepCases, float64(s.Running), "running")
	out.gauge(sweepCases, float64(s.Waiting), "waiting")
	out.gauge(sweepWorkers, float64(s.Workers))
	out.gauge(sweepLeases, float64(s.Running))
	out.counter(sweepOffers, float64(s.Offers))
	out.counter(sweepAgain, float64(s.Redeliveries))
	out.counter(sweepRequeued, float64(s.Requeued))
	out.counter(sweepSilent, float64(s.Silent))
}
