package chart_test

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// frames are the times of frames that mostly take about so long, one in so many
// some times longer, in milliseconds.
func frames(n int, typical float64, oneIn int, longer float64) chart.Series {
	random := rand.New(rand.NewPCG(3, 4))
	s := chart.Series{Kind: chart.Bars}
	for i := range n {
		y := typical * (1 + 0.06*random.NormFloat64())
		if random.IntN(oneIn) == 0 {
			y *= longer
		}
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, y)
	}
	return s
}

// histogram counts values that are spread around a median by a factor, in classes
// of equal ratio from 0.05 to 100.
func histogram(name string, n int, median, factor float64) chart.Series {
	random := rand.New(rand.NewPCG(5, uint64(len(name))))
	const classes = 90
	s := chart.Series{Name: name, Kind: chart.Steps, Y: make([]float64, classes)}
	for i := range classes {
		s.X = append(s.X, 0.05*math.Pow(2000, float64(i)/classes))
	}
	for range n {
		v := median * math.Pow(factor, random.NormFloat64())
		if k := int(math.Log(v/0.05) / math.Log(2000) * classes); k >= 0 && k < classes {
			s.Y[k]++
		}
	}
	return s
}

// samplePage is like what the bench of readback draws.
func samplePage() *chart.Page {
	blocking, pooled := frames(300, 65, 40, 1.5), frames(3000, 4.3, 200, 4)
	blocking.Name, pooled.Name = "blocking", "asynchronous"
	for i := range blocking.X {
		blocking.X[i] *= 0.0654
	}
	for i := range pooled.X {
		pooled.X[i] *= 0.0065
	}
	lateness := chart.Series{Name: "loaded", Kind: chart.Line}
	idle := chart.Series{Name: "idle", Kind: chart.Line}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range 6000 {
		lateness.X, lateness.Y = append(lateness.X, float64(i)/100), append(lateness.Y, 0.4*random.ExpFloat64())
		idle.X, idle.Y = append(idle.X, float64(i)/100), append(idle.Y, 0.06*random.ExpFloat64())
	}
	return &chart.Page{
		Title: "raybridge bench",
		Lines: []string{
			"machine: 2 cores Intel(R) Xeon(R) Processor @ 2.60GHz", "program: go1.26.0 linux/amd64",
			"OpenGL: llvmpipe (LLVM 15.0.6, 256 bits); 4.5 (Core Profile) Mesa 22.3.6; EGL surfaceless",
			"load: 0.31 before, 1.80 after",
		},
		Table: [][]string{
			{"figure", "case", "n", "median", "min", "max", "unit"},
			{"readback.blocking.frame_ms.p50", "1280x720", "5", "64.8", "63.9", "66.1", "ms"},
			{"readback.async.frame_ms.p99", "1280x720", "5", "5.102", "4.98", "6.3", "ms"},
			{"memcpy.bytes_per_s", "8MiB", "5", "9,812,345,678", "9,100,000,000", "10,112,345,678", "bytes/s"},
		},
		Notes: []string{"Both loops make the same captures and have 4 ms of work a frame. A frame ends when the loop may start the next."},
		Charts: []chart.Chart{
			{
				Title: "Blocking readback, 1280x720", X: "time, s", Y: "frame time, ms", Scale: "frames",
				Series: []chart.Series{blocking}, Marks: []chart.Mark{{Name: "30 frames a second", Y: 1000. / 30}},
			},
			{
				Title: "Asynchronous readback, 1280x720", X: "time, s", Y: "frame time, ms", Scale: "frames",
				Series: []chart.Series{pooled}, Marks: []chart.Mark{{Name: "30 frames a second", Y: 1000. / 30}},
			},
			{
				Title: "Latency by stage", X: "latency, ms", Y: "captures", LogX: true,
				Series: []chart.Series{
					histogram("dispatch to GPU done", 3000, 20, 1.3), histogram("fence seen", 3000, 0.3, 1.8), histogram("copied", 3000, 1.1, 1.2),
					histogram("converted", 3000, 2.2, 1.4), histogram("published", 3000, 0.11, 1.5),
				},
			},
			{
				Title: "Lateness of the clock, 100 Hz", X: "time, s", Y: "late by, ms", LogY: true,
				Series: []chart.Series{lateness, idle}, Marks: []chart.Mark{{Name: "a period", Y: 10}, {Name: "limit of p99", Y: 5}},
			},
		},
	}
}
