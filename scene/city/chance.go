package city

import (
	"hash/fnv"
	"math/rand/v2"
)

// stream returns the stream of chance of one thing: what names the purpose,
// index the thing. Streams don't depend on the order they are asked for.
func stream(seed uint64, what string, index ...int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(what))
	var b [8]byte
	for _, i := range index {
		for k := range b {
			b[k] = byte(uint64(i) >> (8 * k))
		}
		h.Write(b[:])
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// between returns a number in [lo, hi).
func between(rng *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }

// chance reports true with probability p.
func chance(rng *rand.Rand, p float64) bool { return rng.Float64() < p }

// pick returns one of the items.
func pick[T any](rng *rand.Rand, items ...T) T { return items[rng.IntN(len(items))] }
