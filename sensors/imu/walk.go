package imu

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// walk is a random walk of independent standard normal steps, W(0) = 0, that can be
// asked for any step by itself. It is Lévy's construction of Brownian motion (P.
// Lévy, Processus stochastiques et mouvement brownien, 1948): the powers of two are
// reached one from another, and every number between is the middle of two that are
// known before it, with a normal value of its own. So W(k) takes about 2 log2(k) normal
// values, and is the same whatever was asked for before.
type walk struct {
	seed uint64
	bits rand.PCG
}

// at returns W(step).
func (w *walk) at(step uint64) float64 {
	if step == 0 {
		return 0
	}
	low, atLow := uint64(1), w.normal(1)
	for n := bits.Len64(step) - 1; n > 0; n-- {
		atLow += math.Sqrt(float64(low)) * w.normal(2*low)
		low *= 2
	}
	if low == step {
		return atLow
	}
	high, atHigh := 2*low, atLow+math.Sqrt(float64(low))*w.normal(2*low)
	for {
		half := (high - low) / 2
		middle := low + half
		// Between two known values the middle has their mean and a quarter of the
		// variance of the whole step from one to the other.
		atMiddle := (atLow+atHigh)/2 + math.Sqrt(float64(half)/2)*w.normal(middle)
		switch {
		case middle == step:
			return atMiddle
		case middle < step:
			low, atLow = middle, atMiddle
		default:
			high, atHigh = middle, atMiddle
		}
	}
}

// normal returns the standard normal value that belongs to a step.
func (w *walk) normal(step uint64) float64 {
	w.bits.Seed(w.seed, step)
	return rand.New(&w.bits).NormFloat64()
}
