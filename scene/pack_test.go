package scene_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// texels reads packed bytes as rows, as the shaders fetch them.
func texels(b []byte) [][4]float64 {
	rows := make([][4]float64, len(b)/16)
	for i := range rows {
		for c := range 4 {
			rows[i][c] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[16*i+4*c:])))
		}
	}
	return rows
}

func packMotion(t testing.TB, g *scene.Geometry, h *scene.History, window scene.Window) [][4]float64 {
	t.Helper()
	packed, err := scene.NewPacker(g, h).Motion(nil, window)
	require.NoError(t, err)
	return texels(packed)
}

// keyPose interpolates packed keys as lib/motion.glsl does.
func keyPose(rows [][4]float64, first int, seconds float64) spatial.Pose {
	n, start, rate := int(rows[0][0]), rows[0][1], rows[0][2]
	at := max((seconds-start)*rate, 0)
	k := max(min(int(at), n-2), 0)
	f := min(at-float64(k), 1)
	if rate == 0 {
		f = 0
	}
	a, b := first+4*k, first+4*min(k+1, n-1)
	s := f + rows[a][3]*f*(f-0.5)*(f-1)
	vec := func(r [4]float64) mgl64.Vec3 { return mgl64.Vec3{r[0], r[1], r[2]} }
	quat := func(r [4]float64) mgl64.Quat { return mgl64.Quat{W: r[3], V: vec(r)} }
	qa, qb, bend := quat(rows[a+1]), quat(rows[b+1]), f*(1-f)
	return spatial.Pose{
		Position:    vec(rows[a]).Add(vec(rows[b]).Sub(vec(rows[a])).Mul(f)).Add(vec(rows[a+2]).Mul(bend)),
		Orientation: qa.Scale(1 - s).Add(qb.Scale(s)).Add(quat(rows[a+3]).Scale(bend)).Normalize(),
	}
}

func TestMotionKeysFollowTheHistory(t *testing.T) {
	s := scenetest.Soup(3, 600, true)
	ego := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{1, 2, 0}, 0, 0, 175), Velocity: mgl64.Vec3{20, 3, 0}, YawRate: 1}
	g, h := build(t, s), recorded(s, ego)
	mount := spatial.FromRPY(mgl64.Vec3{1, 0, 1.8}, 1, 2, 3)
	for _, window := range []scene.Window{
		{StartNs: 100e6, EndNs: 200e6, Mount: mount},
		{StartNs: 83_333_333, EndNs: 157_142_857, Mount: mount},
		{StartNs: 41e6, EndNs: 42e6, Mount: mount},
		{StartNs: 55e6, EndNs: 55e6, Mount: mount},
	} {
		rows := packMotion(t, g, h, window)
		movers, stride := int(rows[1][0]), int(rows[1][2])
		for f := range 9 {
			at := window.StartNs + (window.EndNs-window.StartNs)*simtime.Stamp(f)/8
			seconds := float64(at-window.StartNs) * 1e-9
			parent, _ := h.Pose(scene.EgoID, at)
			samePose(t, parent.Compose(mount), keyPose(rows, 2, seconds))

			driving, _ := h.Pose(g.Movers[0].Actor.ID, at)
			samePose(t, driving, keyPose(rows, movers+3, seconds))

			// The animated part: what its keys make of the baked, scaled mesh is
			// what its joints make of the mesh.
			a := g.Movers[1].Actor
			want := a.Pose.Mat4().Mul4(a.Parts[0].Joints(at)).Mul4(mgl64.Scale3D(1/0.5, 1/0.8, 1/0.5))
			got := keyPose(rows, movers+stride+3, seconds)
			for _, v := range []mgl64.Vec3{{0, 0, 0}, {4, 0, 0}, {0, 4, 0}, {0, 0, 4}} {
				assertVec(t, mgl64.TransformCoordinate(v, want), got.Apply(v), 1e-5)
			}
		}
	}
}

func samePose(t *testing.T, want, got spatial.Pose) {
	t.Helper()
	assertVec(t, want.Position, got.Position, 3e-6)
	assert.InDelta(t, 1, math.Abs(want.Orientation.Dot(got.Orientation)), 1e-11)
}

// Every mover stays in the box through which rays find it, at any time.
func TestMoversStayInTheirSweptBoxes(t *testing.T) {
	s := scenetest.Soup(3, 600, true)
	g, h := build(t, s), recorded(s, nil)
	rows := packMotion(t, g, h, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6})
	nodes := int(rows[1][1])
	found := map[int]bool{}
	for k := range 4 {
		n := rows[nodes : nodes+7]
		if n[0][k] > n[1][k] {
			continue
		}
		mover, _, leaf := scene.Ref(math.Float32bits(float32(n[6][k]))).Leaf()
		require.True(t, leaf)
		found[mover] = true
		m := &g.Movers[mover]
		for at := int64(100e6); at <= 200e6; at += 3e6 {
			pose, _ := h.Pose(m.Actor.ID, simtime.Stamp(at))
			place := m.Actor.Parts[m.Part].Local
			if joints := m.Actor.Parts[m.Part].Joints; joints != nil {
				place = joints(simtime.Stamp(at))
			}
			for _, v := range s.Meshes[m.Actor.Parts[m.Part].Mesh].Positions {
				p := mgl64.TransformCoordinate(wide(v), pose.Mat4().Mul4(place))
				for a := range 3 {
					require.True(t, p[a] >= n[2*a][k] && p[a] <= n[2*a+1][k], "mover %d leaves its box at %d ns", mover, at)
				}
			}
		}
	}
	assert.Len(t, found, 2)
}

func TestManyMoversAreAllInTheHierarchy(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 17, 200} {
		b := scenetest.NewBuilder("fleet")
		box := scenetest.Box(4, 2, 1.5)
		for i := range n {
			start := spatial.Identity()
			start.Position = mgl64.Vec3{float64(i%14) * 10, float64(i/14) * 10, 1}
			b.Put("car", box, scenetest.Matte("red", 1, 0, 0), scene.Placement{Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{10, 0, 0}}})
		}
		g, h := build(t, b.Scene), recorded(b.Scene, nil)
		rows := packMotion(t, g, h, scene.Window{Mount: spatial.Identity(), StartNs: 0, EndNs: 100e6})
		require.Len(t, g.Movers, n)
		found := map[int]int{}
		var walk func(r scene.Ref)
		walk = func(r scene.Ref) {
			if mover, _, leaf := r.Leaf(); leaf {
				found[mover]++
				return
			}
			at := int(rows[1][1]) + 7*r.Node()
			for k := range 4 {
				if rows[at][k] <= rows[at+1][k] {
					walk(scene.Ref(math.Float32bits(float32(rows[at+6][k]))))
				}
			}
		}
		walk(scene.Ref(math.Float32bits(float32(rows[0][3]))))
		assert.Len(t, found, n)
	}
}

func TestPlacesAreMatrices(t *testing.T) {
	s := scenetest.Soup(3, 600, true)
	g, h := build(t, s), recorded(s, nil)
	p := scene.NewPacker(g, h)
	place := p.Places(nil, p.Cast(nil, 123e6), 123e6)[1]
	m := &g.Movers[1]
	want := m.Actor.Pose.Mat4().Mul4(m.Actor.Parts[0].Joints(123e6))
	// The matrix takes a stored vertex to where the mesh's vertex is.
	for i := m.First; i < m.First+m.Count; i++ {
		v := g.Vertices[3*i]
		inMesh := mgl64.Vec3{float64(v[0]) / 0.5, float64(v[1]) / 0.8, float64(v[2]) / 0.5}
		got := mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, place)
		assertVec(t, mgl64.TransformCoordinate(inMesh, want), got, 1e-4)
	}
}

// Motion grows what it is given, writes into what is large enough, and refuses what can't be.
func TestMotionGrowsItsBytes(t *testing.T) {
	s := scenetest.Soup(3, 600, true)
	g, h := build(t, s), recorded(s, nil)
	p := scene.NewPacker(g, h)
	window := scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 150e6}
	want, err := p.Motion(nil, window)
	require.NoError(t, err)
	for _, room := range []int{1, 10, len(want) - 1, 2 * len(want), 1 << 20} {
		dst := make([]byte, room)
		got, err := p.Motion(dst, window)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d bytes", room)
		assert.Equal(t, room >= len(want), &dst[0] == &got[0], "%d bytes", room)
	}
	for text, window := range map[string]scene.Window{
		"before its start": {StartNs: 2, EndNs: 1},
		"no actor 99":      {Parent: 99},
	} {
		dst := make([]byte, 10)
		got, err := p.Motion(dst, window)
		require.ErrorContains(t, err, text)
		assert.NotNil(t, got, "the bytes stay for the next time")
	}
}

// The corrected linear interpolation against slerp's closed form.
func TestSlerpCorrection(t *testing.T) {
	for _, c := range []struct{ half, within float64 }{{0.003, 1e-8}, {0.05, 1e-7}, {0.25, 1e-5}, {0.5, 1.5e-4}} {
		k := scene.SlerpCorrection(math.Cos(c.half))
		for f := 0.0; f <= 1; f += 1.0 / 64 {
			s := f + k*f*(f-0.5)*(f-1)
			x, y := 1-s+s*math.Cos(c.half), s*math.Sin(c.half)
			assert.InDelta(t, f*c.half, math.Atan2(y, x), c.within, "half angle %v at %v", c.half, f)
		}
	}
}

func BenchmarkPackMotion(b *testing.B) {
	s := scenetest.NewBuilder("fleet")
	box := scenetest.Box(4, 2, 1.5)
	for i := range 200 {
		start := spatial.Identity()
		start.Position = mgl64.Vec3{float64(i%14) * 10, float64(i/14) * 10, 1}
		s.Put("car", box, scenetest.Matte("red", 1, 0, 0), scene.Placement{Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{10, 0, 0}, YawRate: 0.3}})
	}
	g, h := build(b, s.Scene), recorded(s.Scene, nil)
	p := scene.NewPacker(g, h)
	var buf []byte
	for _, bench := range []struct {
		name   string
		window scene.Window
	}{
		{"instant", scene.Window{Mount: spatial.Identity()}},
		{"scan", scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = p.Motion(buf, bench.window); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
