package bench

import "time"

// frameWork is what a frame of either loop computes, on an idle core.
const frameWork = 4 * time.Millisecond

// computation is a fixed amount of work for the processor: so many rounds of a
// generator of random numbers, which stay in registers.
type computation struct {
	rounds int
	state  uint64 // keeps the compiler from leaving the work out
}

// do works.
func (w *computation) do() { w.state = churn(w.state|1, w.rounds) }

// churn is Marsaglia's xorshift (Xorshift RNGs, 2003).
func churn(x uint64, rounds int) uint64 {
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// Calibration: so many tries of at least so long say how fast the processor is.
const (
	workTries = 9
	workTry   = time.Millisecond
)

// calibrateWork returns the computation that takes an idle core as long as target.
func calibrateWork(target time.Duration) computation {
	var state uint64 = 1
	return computation{rounds: roundsFor(target, func(rounds int) time.Duration {
		begun := time.Now()
		state = churn(state, rounds)
		return time.Since(begun)
	}), state: state}
}

// roundsFor returns how many rounds take as long as target, where measure tells
// how long some took. It trusts the shortest of several tries: what else runs on
// the machine makes the others longer.
func roundsFor(target time.Duration, measure func(rounds int) time.Duration) int {
	const most = 1 << 40
	for rounds := 1 << 10; ; rounds *= 2 {
		least := measure(rounds)
		for range workTries - 1 {
			if least < workTry && rounds < most {
				break // too short to tell
			}
			least = min(least, measure(rounds))
		}
		if least >= workTry || rounds >= most {
			return max(1, int(float64(rounds)*float64(target)/float64(max(least, 1))))
		}
	}
}
