package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/raybridge/raybridge/flow"
)

// labels keeps the labels of series from one scrape to the next: to make them takes longer than to read the counts.
type labels map[series][]*dto.LabelPair

// series is a metric with the values of its labels, "" for those that it doesn't have.
type series struct {
	desc   *prometheus.Desc
	values [3]string
}

// mostLabels is how many series' labels are kept. They are made again where there are more, such as those of sensors that
// have ended.
const mostLabels = 10_000

// of returns the labels of a series.
func (l labels) of(d *prometheus.Desc, values ...string) []*dto.LabelPair {
	s := series{desc: d}
	copy(s.values[:], values)
	pairs, made := l[s]
	if !made {
		if len(l) >= mostLabels {
			clear(l)
		}
		pairs = prometheus.MakeLabelPairs(d, values)
		l[s] = pairs
	}
	return pairs
}

// number is a counter or a gauge at a scrape.
type number struct {
	desc    *prometheus.Desc
	labels  []*dto.LabelPair
	value   float64
	counter bool
}

func (n *number) Desc() *prometheus.Desc { return n.desc }

func (n *number) Write(m *dto.Metric) error {
	m.Label = n.labels
	if n.counter {
		m.Counter = &dto.Counter{Value: &n.value}
	} else {
		m.Gauge = &dto.Gauge{Value: &n.value}
	}
	return nil
}

// distribution is a histogram at a scrape.
type distribution struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	within flow.Histogram
}

// bounds are those of histograms in seconds.
var bounds = func() (list [flow.HistogramBounds]float64) {
	for i := range list {
		list[i] = flow.HistogramBound(i).Seconds()
	}
	return list
}()

func (d *distribution) Desc() *prometheus.Desc { return d.desc }

func (d *distribution) Write(m *dto.Metric) error {
	sum := d.within.Total.Seconds()
	m.Label, m.Histogram = d.labels, &dto.Histogram{SampleCount: &d.within.Count, SampleSum: &sum, Bucket: make([]*dto.Bucket, len(bounds))}
	buckets := make([]dto.Bucket, len(bounds))
	for i := range buckets {
		buckets[i].UpperBound, buckets[i].CumulativeCount = &bounds[i], &d.within.Within[i]
		m.Histogram.Bucket[i] = &buckets[i]
	}
	return nil
}
