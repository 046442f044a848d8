package motion

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWalkHasIndependentStandardSteps checks what makes a random walk: steps of mean
// 0 and variance 1 that don't know of one another, over spans of every length.
func TestWalkHasIndependentStandardSteps(t *testing.T) {
	const n = 1 << 14
	w := walk{seed: 11}
	at := make([]float64, n+1)
	for k := range at {
		at[k] = w.at(uint64(k))
	}
	assert.Zero(t, at[0])
	for _, span := range []int{1, 2, 3, 7, 16, 50} {
		var sum, square, neighbours float64
		steps := n / span
		for k := range steps {
			step := (at[(k+1)*span] - at[k*span]) / math.Sqrt(float64(span))
			sum += step
			square += step * step
			if k > 0 {
				neighbours += step * (at[k*span] - at[(k-1)*span]) / math.Sqrt(float64(span))
			}
		}
		tolerance := 4 / math.Sqrt(float64(steps))
		assert.InDelta(t, 0, sum/float64(steps), tolerance, "mean over %d", span)
		assert.InDelta(t, 1, square/float64(steps), tolerance*math.Sqrt2, "variance over %d", span)
		assert.InDelta(t, 0, neighbours/float64(steps), tolerance, "covariance of neighbours over %d", span)
	}
}

// TestWalkSpreadsWithTheRootOfTime looks at many walks at one step.
func TestWalkSpreadsWithTheRootOfTime(t *testing.T) {
	const walks = 3000
	for _, step := range []uint64{1, 5, 64, 1000, 123_457} {
		var square float64
		for seed := range uint64(walks) {
			w := walk{seed: seed * 0x9e3779b97f4a7c15}
			square += math.Pow(w.at(step), 2)
		}
		assert.InDelta(t, 1, square/walks/float64(step), 4*math.Sqrt(2.0/walks), "step %d", step)
	}
}

func TestWalkIsTheSameWhateverWasAskedBefore(t *testing.T) {
	straight, anew := walk{seed: 3}, walk{seed: 3}
	var want []float64
	for k := range uint64(300) {
		want = append(want, straight.at(k))
	}
	for k := 299; k >= 0; k -= 7 {
		assert.Equal(t, want[k], anew.at(uint64(k)), "step %d", k)
	}
	other := walk{seed: 4}
	assert.NotEqual(t, want[299], other.at(299))
}

func BenchmarkWalk(b *testing.B) {
	w := walk{seed: 1}
	for b.Loop() {
		w.at(3_600_001) // ten hours at 100 Hz
	}
}
