package flow

// Ring is a line that grows when it is full. Steady state allocates nothing. The zero value is
// empty. It isn't safe for several goroutines.
type Ring[T any] struct {
	items   []T
	head, n int
}

// Len returns how many wait.
func (r *Ring[T]) Len() int { return r.n }

// Push adds at the tail.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.items) {
		grown := make([]T, max(8, 2*r.n))
		n := copy(grown, r.items[r.head:])
		copy(grown[n:], r.items[:r.head])
		r.items, r.head = grown, 0
	}
	r.items[(r.head+r.n)%len(r.items)] = v
	r.n++
}

// Pop takes the oldest. The ring must not be empty.
func (r *Ring[T]) Pop() T {
	var none T
	v := r.items[r.head]
	r.items[r.head] = none
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return v
}
