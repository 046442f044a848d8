package lidar_test

import (
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/lidar"
)

// scattered is n directions at random, degrees.
func scattered(n int, width, height float64) (directions [][2]float64) {
	random := rand.New(rand.NewPCG(3, 4))
	for range n {
		directions = append(directions, [2]float64{math.Remainder(180+width*(random.Float64()-0.5), 360), 10 + height*(random.Float64()-0.5)})
	}
	return directions
}

// besides are the neighbours of the firings of some rows by comparing each with each, for a width in radians.
func besides(directions [][2]float64, rows []uint32, width float64) (all [][8]int32) {
	angle := func(row uint32, k int) float64 { return float64(float32(mgl64.DegToRad(directions[row][k]))) }
	for _, i := range rows {
		found, best := [8]int32{-1, -1, -1, -1, -1, -1, -1, -1}, [8]float64{4, 4, 4, 4, 4, 4, 4, 4}
		for at, j := range rows {
			x := math.Remainder(angle(j, 0)-angle(i, 0), 2*math.Pi) * math.Cos(angle(i, 1)) / width
			y := (angle(j, 1) - angle(i, 1)) / width
			sector := (int(math.Round(math.Atan2(y, x)/(math.Pi/4))) + 8) % 8
			if d := x*x + y*y; d > 0 && d <= best[sector] {
				found[sector], best[sector] = int32(at), d
			}
		}
		sides := found
		for k := 0; k < 8; k += 2 {
			if found[k] < 0 && found[k+1] < 0 && found[(k+7)%8] < 0 {
				sides[k] = -2
			}
		}
		all = append(all, sides)
	}
	return all
}

// A scan has the neighbours that its own firings have, whether its window was guessed, or another one was, or none.
func TestScansAreListedAhead(t *testing.T) {
	const rows, window, width = 900, 40_000_000, 5e-3 // the table lasts 0.09 s
	directions := scattered(rows, 12, 5)
	list := lidar.NewLister(lidar.TableOf(directions, 100_000), window, [2]float64{width, width})
	var before []uint32
	for k := range int64(7) {
		from := k * window
		got, beside := list.List(from, from+window)
		require.InDelta(t, 400, len(got), 1)
		require.Equal(t, besides(directions, got, width), beside, "scan %d", k)
		require.NotEqual(t, before, got)
		before = got
		switch k % 3 {
		case 0:
			list.Ahead(from+window, from+2*window)
		case 1:
			list.Ahead(from+2*window, from+3*window)
		}
	}
	list.Ahead(0, window)
	list.Wait()
}

// BenchmarkListing measures the firings of a scan of 222,000 out of a table that doesn't repeat, with their neighbours: milliseconds of
// CPU time that it takes, and the GL thread's when it was listed ahead. docs/lidars.md has the figures.
func BenchmarkListing(b *testing.B) {
	const scan, period = 222_000, 100_000_000
	table := lidar.TableOf(scattered(3*scan/2, 360, 40), period/scan)
	list := lidar.NewLister(table, period, [2]float64{3e-3, 3e-3})
	k := int64(0)
	for name, ahead := range map[string]bool{"alone": false, "ahead": true} {
		b.Run(name, func(b *testing.B) {
			spent := 0.0
			for ; b.Loop(); k++ {
				if ahead {
					list.Ahead(k*period, (k+1)*period)
					list.Wait()
				}
				before := cpuMilliseconds(b)
				list.Make(k*period, (k+1)*period)
				spent += cpuMilliseconds(b) - before
			}
			b.ReportMetric(spent/float64(b.N), "cpu-ms/scan")
		})
	}
}

// cpuMilliseconds is what the process has used.
func cpuMilliseconds(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
