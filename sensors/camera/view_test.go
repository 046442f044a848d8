package camera

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDividedLensSeesTheSame(t *testing.T) {
	l, err := NewLens(64, 48, 70)
	require.NoError(t, err)
	fine := l.divided(3)
	p := mgl64.Vec3{0.3, -0.2, 2}
	u, v, _ := l.Project(p)
	fu, fv, _ := fine.Project(p)
	assert.InDelta(t, 3*(u+0.5), fu+0.5, 1e-9)
	assert.InDelta(t, 3*(v+0.5), fv+0.5, 1e-9)
	assert.Equal(t, l, l.divided(1))
}

func TestProjectionPutsDepthInReverse(t *testing.T) {
	l, err := NewLens(64, 48, 70)
	require.NoError(t, err)
	p := l.projection(0.5, 200)
	depth := func(z float32) float32 { return (p.depth[0] + p.depth[1]*z) / z }
	assert.InDelta(t, 1, depth(0.5), 1e-6)
	assert.InDelta(t, 0, depth(200), 1e-6)
	assert.Greater(t, depth(10), depth(11))
}
