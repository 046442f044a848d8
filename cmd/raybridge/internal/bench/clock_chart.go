package bench

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/simtime"
)

// clockCharts draws, for each rate, how late the ticks of each case were, over
// time and as histograms.
func clockCharts(measured []*lateClock) []chart.Chart {
	var charts []chart.Chart
	for _, rate := range []simtime.Rate{simtime.Hz(100), simtime.Hz(1000)} {
		over := chart.Chart{
			Title: fmt.Sprintf("Lateness of the clock at %s Hz", rate), X: "time, s", Y: "lateness, ms", LogY: true, Scale: "clock lateness",
			Marks: []chart.Mark{{Name: "period", Y: milliseconds(rate.Period())}},
		}
		classes := chart.Chart{
			Title: fmt.Sprintf("Lateness of the clock at %s Hz", rate), X: "lateness, ms", Y: "share of the ticks, %", LogX: true, LogY: true,
			Scale: "clock histogram",
		}
		for _, late := range measured {
			if late.rate == rate {
				over.Series = append(over.Series, late.overTime())
				classes.Series = append(classes.Series, late.histogram())
			}
		}
		if len(over.Series) > 0 {
			charts = append(charts, over, classes)
		}
	}
	return charts
}

// chartPoints is about how many points a line has room for.
const chartPoints = 1000

// overTime is the lateness of the last run's ticks: the greatest of so many one
// after the other as the line has no room for.
func (l *lateClock) overTime() chart.Series {
	s := chart.Series{Name: l.name}
	run := l.runs[len(l.runs)-1]
	group := (len(run.late) + chartPoints - 1) / chartPoints
	for i := 0; i < len(run.late); i += group {
		worst := run.late[i]
		for _, late := range run.late[i:min(i+group, len(run.late))] {
			worst = max(worst, late)
		}
		s.X = append(s.X, float64(run.deadlines[i])/1e9)
		s.Y = append(s.Y, float64(worst)/1e6)
	}
	return s
}

// A histogram's classes: so many to a decade of milliseconds, from the first to
// the last.
const (
	classesADecade = 10
	firstDecade    = -4
	lastDecade     = 3
)

// histogram sorts all runs' ticks into classes of equal ratio. What is below the
// first or above the last is counted in it.
func (l *lateClock) histogram() chart.Series {
	s := chart.Series{Name: l.name, Kind: chart.Steps}
	const classes = (lastDecade - firstDecade) * classesADecade
	counts := make([]int, classes)
	all := 0
	for _, run := range l.runs {
		for _, late := range run.late {
			class := math.Floor((math.Log10(max(1, float64(late))/1e6) - firstDecade) * classesADecade)
			counts[int(min(max(class, 0), classes-1))]++
		}
		all += len(run.late)
	}
	for i, n := range counts {
		s.X = append(s.X, math.Pow(10, firstDecade+float64(i)/classesADecade))
		s.Y = append(s.Y, 100*float64(n)/float64(all))
	}
	return s
}
