package flow_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/flow"
)

// TestRing: the order stays, also where a ring grows whose head is in its middle, and it keeps no hold
// of an element that was taken.
func TestRing(t *testing.T) {
	var r flow.Ring[*int]
	pushed, popped := 0, 0
	for _, step := range []int{5, -3, 20, -15, 9, -9, 100, -107} {
		for range max(step, 0) {
			v := pushed
			r.Push(&v)
			pushed++
		}
		for range max(-step, 0) {
			assert.Equal(t, popped, *r.Pop())
			popped++
		}
		assert.Equal(t, pushed-popped, r.Len())
	}
	assert.Zero(t, r.Len())

	var large flow.Ring[*[1 << 16]int]
	large.Push(new([1 << 16]int))
	taken := weak.Make(large.Pop())
	runtime.GC()
	assert.True(t, taken.Value() == nil, "the ring holds what was taken")
	runtime.KeepAlive(&large)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for range 8 {
			r.Push(nil)
		}
		for range 8 {
			r.Pop()
		}
	}))
}
