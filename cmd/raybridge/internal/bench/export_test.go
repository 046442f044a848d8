package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// MessageCaseNames lists the cases of a machine with room for all workers.
func MessageCaseNames(all int, brief bool) (names []string) {
	for _, k := range messageCases(all, brief) {
		names = append(names, k.name)
	}
	return names
}

// OverTimes is over of runs of one message each that took so many nanoseconds.
func OverTimes(a, b []int) float64 {
	runs := func(times []int) (list []batch) {
		for _, t := range times {
			list = append(list, batch{messages: 1, took: time.Duration(t)})
		}
		return list
	}
	return over(runs(a), runs(b))
}

// What the tests of package bench_test use.
var (
	Percentile   = percentile
	RoundsFor    = roundsFor
	CompareRates = compareRates
	SumOf        = sumOf
	ClassOf      = stageClasses.of
	MeasureBytes = measureBytes
	AddFigures   = (*Report).addFigures
	Processor    = (*Machine).processor
)

// FrameWork is what a frame computes.
const FrameWork = frameWork

// Arrival is a published message of CompareStreams.
type Arrival struct {
	Stamp int64
	Sum   uint64
}

// CompareStreams compares the messages of topics.
func CompareStreams(blocking, async [][]Arrival, captures int) error {
	return compareStreams(streamsOf(blocking), streamsOf(async), captures)
}

func streamsOf(topics [][]Arrival) []stream {
	var list []stream
	for i, topic := range topics {
		s := stream{topic: fmt.Sprintf("/topic%d", i)}
		for _, a := range topic {
			s.arrivals = append(s.arrivals, arrival{stamp: a.Stamp, sum: a.Sum})
		}
		list = append(list, s)
	}
	return list
}

// CasesWanted names the cases that a configuration measures.
func CasesWanted(c Config) (names []string, bare bool, err error) {
	list, bare, err := c.wantedReadbacks()
	for _, k := range list {
		names = append(names, k.name)
	}
	return names, bare, err
}

// Deliver publishes messages of one output, each as the capture of its stamp, and
// returns what arrived.
func Deliver(ctx context.Context, spec *sensors.OutputSpec, captures int, fill func(capture int) any) ([]Arrival, error) {
	d, err := openDelivery(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	sink, err := d.connect("sensor.some", spec, true)
	if err != nil {
		return nil, err
	}
	d.expect(captures)
	for k := range captures {
		sink.TryQueue(sensors.Tick{Due: simtime.Stamp(k), Started: time.Now()}, fill(k))
	}
	if err := d.dispatcher.Drain(ctx); err != nil {
		return nil, err
	}
	if err := d.failure(); err != nil {
		return nil, err
	}
	var list []Arrival
	for _, s := range d.received() {
		for _, a := range s.arrivals {
			list = append(list, Arrival{a.stamp, a.sum})
		}
	}
	return list, nil
}

// FiguresOf returns the rows and charts of cases with one run of each loop, whose frames are
// given. refused is why their asynchronous runs don't count.
func FiguresOf(names []string, blocking, async []time.Duration, refused error) (rows []Result, charts []chart.Chart) {
	passOf := func(frames []time.Duration) *pass {
		p := &pass{frames: frames, asks: frames, waits: frames, took: time.Second}
		p.streams = streamsOf([][]Arrival{{{0, 1}, {1, 1}}})
		return p
	}
	var measured []*readbackFigures
	for _, name := range names {
		f := &readbackFigures{
			named: named{name}, captures: 2, blocking: []*pass{passOf(blocking)}, async: []*pass{passOf(async)}, refused: refused,
		}
		f.stages = []*stageTimes{f.async[0].stages([stageCount]buckets{}, [stageCount]buckets{stageCopy: {time.Millisecond: 2}})}
		measured = append(measured, f)
		rows = append(rows, f.results()...)
	}
	return rows, readbackCharts(measured)
}

// MeasureReadback measures one case, however slow its asynchronous loop is, and
// returns the figures with what was refused.
func MeasureReadback(ctx context.Context, c Config, name string) (rows []Result, charts []chart.Chart, refused, err error) {
	cfg, err := c.checked()
	if err != nil {
		return nil, nil, nil, err
	}
	st, err := openStage(ctx, &cfg, sensorTriangles)
	if err != nil {
		return nil, nil, nil, err
	}
	defer st.close()
	for _, k := range readbackCases() {
		if k.name == name {
			f, err := st.readback(ctx, &k, calibrateWork(100*time.Microsecond))
			if err != nil {
				return nil, nil, nil, err
			}
			return f.results(), readbackCharts([]*readbackFigures{f}), f.refused, nil
		}
	}
	return nil, nil, nil, fmt.Errorf("no case %s", name)
}

// AlwaysOn returns a rig whose sensors compute though nobody listens.
func AlwaysOn(rig string) (string, error) { return alwaysOn(rig) }

// Attend lets the time of a run begin that says so much, in a process of which the CPU time is asked.
func Attend(ctx context.Context, said io.Reader, pid int) error {
	_, err := nobody.attend(ctx, said, pid)
	return err
}
