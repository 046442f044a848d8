package camera

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
)

func TestDrawListJoinsNeighbours(t *testing.T) {
	d := &drawing{
		static: []chunk{
			{first: 0, count: 256, high: mgl64.Vec3{1, 1, 1}},
			{first: 256, count: 256, high: mgl64.Vec3{1, 1, 1}},
			{first: 512, count: 256, low: mgl64.Vec3{50, 0, 0}, high: mgl64.Vec3{51, 1, 1}},
			{first: 768, count: 100, high: mgl64.Vec3{1, 1, 1}, cut: true},
		},
		movers: []chunk{{first: 900, count: 10, high: mgl64.Vec3{1, 1, 1}}, {first: 900, count: 10, high: mgl64.Vec3{1, 1, 1}}},
	}
	near := region{{mgl64.Vec3{-1, 0, 0}, 10}} // x <= 10
	there, away := mgl64.Ident4(), mgl64.Translate3D(20, 0, 0)
	var l drawList
	l.addStatic(d, near, &there)
	// The second row is of a slot whose model has no second mover.
	r := &renderer{drawing: d, stage: stage{cast: []scene.Shown{{Mover: 0}, {Mover: -1}, {Mover: 1}, {Mover: 1}}}}
	l.addMovers(r, near, []mgl64.Mat4{there, there, {}, away, there})
	assert.Equal(t, []gpu.DrawCall{{First: 0, Count: 3 * 512, Index: 0}, {First: 2700, Count: 30, Index: 1}, {First: 2700, Count: 30, Index: 4}}, l.plain)
	assert.Equal(t, []gpu.DrawCall{{First: 3 * 768, Count: 300, Index: 0}}, l.cut)
	l.reset()
	assert.Empty(t, append(l.plain, l.cut...))
}
