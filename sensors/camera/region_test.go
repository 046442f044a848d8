package camera

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/spatial"
)

// TestFrustumKeepsWhatIsSeen holds the frustum against the lens: a box with a
// point that the lens puts on the picture is never left out.
func TestFrustumKeepsWhatIsSeen(t *testing.T) {
	l, err := NewLens(320, 200, 75)
	require.NoError(t, err)
	const near, far = 0.5, 60
	frustum := l.frustum(near, far)
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(scale float64) mgl64.Vec3 {
		return mgl64.Vec3{(rng.Float64() - 0.5) * scale, (rng.Float64() - 0.5) * scale, (rng.Float64() - 0.5) * scale}
	}
	seen, out := 0, 0
	for range 20000 {
		camera := spatial.FromRPY(random(20), rng.Float64()*360, rng.Float64()*180-90, rng.Float64()*360)
		toOptical := camera.Inverse().Mat4()
		low := random(100)
		high := low.Add(mgl64.Vec3{rng.Float64() * 4, rng.Float64() * 4, rng.Float64() * 4})
		inside := mgl64.Vec3{}
		for i := range inside {
			inside[i] = low[i] + rng.Float64()*(high[i]-low[i])
		}
		planes := frustum.inFrame(nil, &toOptical)
		excluded := planes.excludes(low, high)
		p := mgl64.TransformCoordinate(inside, toOptical)
		u, v, ok := l.Project(p)
		if ok && l.Contains(u, v) && p[2] >= near && p[2] <= far {
			seen++
			require.False(t, excluded, "box %v to %v has %v in sight", low, high, inside)
		}
		if excluded {
			out++
		}
	}
	assert.Greater(t, seen, 300)
	assert.Greater(t, out, 10000, "most boxes are beside the picture and left out")
}
