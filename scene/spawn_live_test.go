//go:build cgo

package scene_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// guest is an actor that the test says is there from a time until another.
type guest struct {
	actor       *scene.Actor
	motion      scene.Motion
	from, until simtime.Stamp
}

// traced returns a tracer of a scene with guests, which asks no history.
func traced(s *scene.Scene, guests []guest) *scenetest.Tracer {
	with := *s
	with.Actors = slices.Clone(s.Actors)
	for i, g := range guests {
		// By a number of its own: one actor may be there twice.
		with.Actors = append(with.Actors, &scene.Actor{ID: uint32(1000 + i), Parts: g.actor.Parts, Motion: g.motion})
	}
	return scenetest.NewTracer(&with, func(id uint32, stamp simtime.Stamp) (spatial.Pose, bool) {
		if id >= 1000 {
			g := guests[id-1000]
			return g.motion.PoseAt(stamp), stamp >= g.from && stamp < g.until
		}
		if m := s.Actor(id).Motion; m != nil {
			return m.PoseAt(stamp), true
		}
		return s.Actor(id).Pose, true
	})
}

// raysAt aims rays at boxes of about 3 m around places, at times in the first tenth of a second.
func raysAt(seed uint64, n int, places ...mgl64.Vec3) []listedRay {
	rng := rand.New(rand.NewPCG(seed, 5))
	rays := make([]listedRay, n)
	for i := range rays {
		to := places[i%len(places)].Add(mgl64.Vec3{6*rng.Float64() - 3, 3*rng.Float64() - 1.5, 4*rng.Float64() - 1.5})
		from := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), 4 + rng.NormFloat64()}
		d := to.Sub(from).Normalize()
		rays[i] = listedRay{tmin: 0.01, tmax: 300, seconds: float32(rng.Float64() * 0.1)}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(from[a]), float32(d[a])
		}
	}
	return rays
}

// A slot that a car has left is a van's within one window: the rays see the last visit alone.
func TestRaysMeetTheLastOfASlot(t *testing.T) {
	s := fleet()
	s.Slots = 3
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	var guests []guest
	spawn := func(model string, at, until simtime.Stamp, m scene.Motion) *scene.Actor {
		a, err := h.Spawn(model, m)
		require.NoError(t, err)
		if until > 0 { // it is seen in the window
			guests = append(guests, guest{a, m, at, until})
		}
		return a
	}
	left, right, far := along(mgl64.Vec3{9, 4, 0}, 5), along(mgl64.Vec3{9, -4, 0}, -5), along(mgl64.Vec3{-9, 0, 0}, 2)
	var first, second *scene.Actor
	for at := simtime.Stamp(0); at <= 200e6; at += 10e6 {
		switch at {
		case 50e6:
			first = spawn("vehicle.car", at, 0, left)
			second = spawn("vehicle.van", at, 0, right)
			spawn("vehicle.car", at, 1e9, far)
		case 120e6:
			require.NoError(t, h.Remove(first.ID))
			require.NoError(t, h.Remove(second.ID))
		case 130e6:
			spawn("vehicle.van", at, 1e9, left)
		case 140e6:
			first = spawn("vehicle.car", at, 170e6, right)
		case 170e6:
			require.NoError(t, h.Remove(first.ID))
		}
		h.Record(at)
	}
	rays := raysAt(1, 6000, mgl64.Vec3{9.5, 4, 0.5}, mgl64.Vec3{8.5, -4, 0.5}, mgl64.Vec3{-9, 0, 0.5})
	c := newCaster(t, g, h)
	window := scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}
	hits := c.cast(rays, window, 1)
	a := compare(traced(s, guests), g, rays, hits, 100e6)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.999, a.String())
	rows := map[int32]int{}
	for _, hit := range hits {
		rows[hit.mover]++
	}
	for _, row := range []int32{0, 1, 2, 4} { // a van, and two cars
		assert.Greater(t, rows[row], 100, "row %d", row)
	}
	for _, row := range []int32{3, 5} {
		assert.Zero(t, rows[row], "row %d is of no car", row)
	}
	// A scan of before has who was there before.
	past := scene.Window{Mount: spatial.Identity(), StartNs: 50e6, EndNs: 110e6}
	for i := range rays {
		rays[i].seconds *= 0.6
	}
	old := []guest{{s.Models[0], left, 50e6, 1e9}, {s.Models[1], right, 50e6, 1e9}, {s.Models[0], far, 50e6, 1e9}}
	a = compare(traced(s, old), g, rays, c.cast(rays, past, 1), 50e6)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.999, a.String())
}

// Nothing is on the way of a jump, in windows that end before its tick, hold it, and begin there.
func TestRaysMeetNobodyOnTheWayOfAJump(t *testing.T) {
	s, _, driving, _ := garage(t)
	driving.Motion = scene.Standing(scenetest.At(0, 60, 0, 0).Pose)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	here, there := mgl64.Vec3{9, 4, 1}, mgl64.Vec3{-3, -9, 1}
	before, after := along(here, 10), along(there, 10)
	a, err := h.Spawn("vehicle.sedan", before)
	require.NoError(t, err)
	for at := simtime.Stamp(0); at <= 200e6; at += 10e6 {
		if at == 100e6 {
			require.NoError(t, h.SetMotion(a.ID, after))
			require.NoError(t, h.Jumped(a.ID))
		}
		h.Record(at)
	}
	// From the tick before the jump up to it the actor stays.
	held := scene.Standing(before.PoseAt(90e6))
	c := newCaster(t, g, h)
	for _, test := range []struct {
		name       string
		start, end simtime.Stamp
		guests     []guest
		seen       mgl64.Vec3
	}{
		{"before", 20e6, 90e6, []guest{{a, before, 0, 1e9}}, here},
		{"up to it", 20e6, 97e6, []guest{{a, before, 0, 90e6}, {a, held, 90e6, 1e9}}, here},
		{"in one step", 92e6, 98e6, []guest{{a, held, 0, 1e9}}, here},
		{"over it", 60e6, 160e6, []guest{{a, after, 100e6, 1e9}}, there},
		{"from it", 100e6, 200e6, []guest{{a, after, 100e6, 1e9}}, there},
	} {
		t.Run(test.name, func(t *testing.T) {
			rays := raysAt(2, 3000, here, there, here.Add(there).Mul(0.5))
			for i := range rays {
				rays[i].seconds *= float32(test.end-test.start) / 100e6
			}
			hits := c.cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: test.start, EndNs: test.end}, 1)
			agreement := compare(traced(s, test.guests), g, rays, hits, int64(test.start))
			assert.Zero(t, agreement.Wrong, agreement.String())
			seen := 0
			for i, hit := range hits {
				if hit.mover == 1 {
					seen++
					r := rays[i]
					at := wide(r.origin).Add(wide(r.direction).Mul(float64(hit.t)))
					assert.Less(t, at.Sub(test.seen).Len(), 4.0)
				}
			}
			assert.Greater(t, seen, 100)
		})
	}
}

// slab returns how far a ray goes to a box about the origin of its frame, +Inf if it misses it.
func slab(o, d, half mgl64.Vec3) float64 {
	near, far := 0.0, math.Inf(1)
	for a := range 3 {
		t0, t1 := (-half[a]-o[a])/d[a], (half[a]-o[a])/d[a]
		near, far = max(near, min(t0, t1)), min(far, max(t0, t1))
	}
	if near > far {
		return math.Inf(1)
	}
	return near
}

// An actor's own parts scale a unit box, by constant joints or at rest. Rays meet the analytic box,
// still and on its way.
func TestRaysMeetPartsOfOnesOwn(t *testing.T) {
	b := scenetest.NewBuilder("unit")
	b.Put("floor", scenetest.Plane(10, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -50, scene.TagRoads))
	unit := b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{TypeID: "any", Tag: scene.TagCar, Reserved: true})
	b.Scene.Slots = 4
	g := build(t, b.Scene)
	h := scene.NewHistory(b.Scene, nil, 0)
	type box struct {
		size, middle mgl64.Vec3
		motion       scenetest.Linear
		rests        bool
	}
	place := func(x, y, yaw float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, yaw) }
	boxes := []box{
		{mgl64.Vec3{4.8, 2.2, 1.5}, mgl64.Vec3{0.1, 0, 0.75}, scenetest.Linear{Start: place(9, 5, 30)}, false},
		{mgl64.Vec3{0.4, 0.5, 1.8}, mgl64.Vec3{0, 0.3, 0.9}, scenetest.Linear{Start: place(-7, 3, 10), Velocity: mgl64.Vec3{3, 1, 0}}, false},
		{mgl64.Vec3{12, 2.5, 3.5}, mgl64.Vec3{1, 0, 1.75}, scenetest.Linear{Start: place(2, -9, 0), Velocity: mgl64.Vec3{-20, 0, 0}, YawRate: 0.6}, false},
		// At rest it may be elsewhere, at the model's scale.
		{mgl64.Vec3{1, 1, 1}, mgl64.Vec3{2, -1, 0.5}, scenetest.Linear{Start: place(-6, -6, 45), Velocity: mgl64.Vec3{2, 0, 0}}, true},
	}
	for _, c := range boxes {
		parts := scaled(unit, c.size, c.middle)
		if c.rests {
			parts = slices.Clone(unit.Parts)
			parts[0].Local = mgl64.Translate3D(c.middle[0], c.middle[1], c.middle[2])
		}
		_, err := h.SpawnActor(unit, scene.Actor{Parts: parts}, c.motion)
		require.NoError(t, err)
	}
	for at := simtime.Stamp(0); at <= 200e6; at += 10e6 {
		h.Record(at)
	}
	rays := raysAt(3, 8000, mgl64.Vec3{9, 5, 0.5}, mgl64.Vec3{-6.7, 3, 1}, mgl64.Vec3{1, -9, 1}, mgl64.Vec3{-5, -7, 0.5})
	hits := newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
	counts, wrong := make([]int, len(boxes)), 0
	for i, r := range rays {
		at := simtime.Stamp(100e6 + math.Round(float64(r.seconds)*1e9))
		nearest, row := math.Inf(1), -1
		for k, c := range boxes {
			to := c.motion.PoseAt(at).Inverse()
			if far := slab(to.Apply(wide(r.origin)).Sub(c.middle), to.Rotate(wide(r.direction)), c.size.Mul(0.5)); far < nearest {
				nearest, row = far, k
			}
		}
		if row >= 0 {
			counts[row]++
		}
		if hits[i].mover != int32(row) || row >= 0 && math.Abs(float64(hits[i].t)-nearest) > 2e-3 {
			wrong++
		}
		if row >= 0 && hits[i].mover == int32(row) { // the normal is the face's, across a scale too
			n := boxes[row].motion.PoseAt(at).Inverse().Rotate(wide(hits[i].normal))
			assert.Greater(t, max(math.Abs(n[0]), math.Abs(n[1]), math.Abs(n[2])), 0.999, "ray %d", i)
		}
	}
	assert.Less(t, wrong, 12, "except for rays along edges")
	for k, n := range counts {
		assert.Greater(t, n, 50, "box %d", k)
	}
	a := compare(scenetest.TracerOf(b.Scene, h), g, rays, hits, 100e6)
	assert.Zero(t, a.Wrong, a.String())
}

// Three hundred come while the table has room for one. The scan is the reference's at each size.
func TestRaysMeetHundreds(t *testing.T) {
	s := fleet()
	s.Slots = 300
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	c := newCaster(t, g, h)
	rng := rand.New(rand.NewPCG(6, 6))
	models := []string{"vehicle.car", "vehicle.van"}
	now := simtime.Stamp(0)
	for _, n := range []int{0, 1, 14, 85, 200} {
		for range n {
			start := spatial.FromRPY(mgl64.Vec3{120*rng.Float64() - 60, 120*rng.Float64() - 60, 2*rng.Float64() - 2}, 0, 0, 360*rng.Float64())
			_, err := h.Spawn(models[rng.IntN(2)], scenetest.Linear{Start: start, Velocity: mgl64.Vec3{5 * rng.NormFloat64(), 5 * rng.NormFloat64(), 0}})
			require.NoError(t, err)
		}
		began := now + 10e6
		for range 12 {
			now += 10e6
			h.Record(now)
		}
		there := len(h.Spawned(nil, now))
		rays := randomRays(uint64(n), 3000, 60)
		hits := c.cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: began, EndNs: began + 100e6}, 1)
		a := compare(scenetest.TracerOf(s, h), g, rays, hits, int64(began))
		assert.Zero(t, a.Wrong, "%d there: %v", there, a)
		assert.GreaterOrEqual(t, a.Share(), 0.999, "%d there: %v", there, a)
		rows := map[int32]bool{}
		for _, hit := range hits {
			rows[hit.mover] = hit.mover >= 0
		}
		assert.GreaterOrEqual(t, len(rows), there/2)
	}
	require.Len(t, h.Spawned(nil, now), 300)
	_, err := h.Spawn("vehicle.*", nil)
	assert.ErrorIs(t, err, scene.ErrReserveEmpty)
}

// A spawned limb moves in itself as all of its shape do.
func TestRaysMeetSpawnedShapes(t *testing.T) {
	s := limbs()
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	_, err := h.SpawnActor(s.Models[0], scene.Actor{}, along(mgl64.Vec3{-6, 1, 0}, 2))
	require.NoError(t, err)
	for at := simtime.Stamp(10e6); at <= 200e6; at += 10e6 {
		h.Record(at)
	}
	rays := raysAt(4, 1500, mgl64.Vec3{-6, 1, 0})
	c := newCaster(t, g, h)
	for _, at := range []simtime.Stamp{20e6, 130e6, 20e6} {
		hits := c.cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: at, EndNs: at}, 1)
		for i := range rays { // an instant has no later
			rays[i].seconds = 0
		}
		a := compare(scenetest.TracerOf(s, h), g, rays, hits, int64(at))
		assert.Zero(t, a.Wrong, "at %d: %v", at, a)
		seen := 0
		for _, hit := range hits {
			if int(hit.mover) >= 2*len(g.Movers)/3 {
				seen++
			}
		}
		assert.Greater(t, seen, 200)
	}
}

// The table of movers has those who are in the slots at a capture, last in its window.
func TestResidentSeatsWhoIsInASlot(t *testing.T) {
	s := fleet()
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	fake := fakeWithLimits(1<<20, 16)
	thread := fake.Start(t)
	p := scene.NewPacker(g, h)
	var r *scene.Resident
	var m *scene.MotionTable
	do := func(f func(c *gpu.Ctx) error) {
		t.Helper()
		require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error { return errors.Join(f(c), c.Finish()) }))
	}
	do(func(c *gpu.Ctx) (err error) {
		if r, err = g.Upload(c); err != nil {
			return err
		}
		m, err = p.NewMotionTable(c, r)
		return err
	})
	t.Cleanup(func() { r.Close(); m.Close() })
	// labels returns each row's.
	labels := func() (list []uint32) {
		table := fake.Bytes("scene movers")
		for row := range g.Rows() {
			list = append(list, binary.LittleEndian.Uint32(table[32*row+4:]))
		}
		return list
	}
	label := func(a *scene.Actor, tag scene.Tag) uint32 { return a.ID | uint32(tag)<<16 }
	now := simtime.Stamp(0)
	tick := func() { h.Record(now); now += 10e6 }
	show := func() { do(func(c *gpu.Ctx) error { return r.Show(c, p, now-10e6) }) }
	spawn := func(model string, parts []scene.Part) *scene.Actor {
		a, err := h.SpawnActor(s.Model(model), scene.Actor{Parts: parts}, standing(0, 0, 0))
		require.NoError(t, err)
		return a
	}
	tick()
	show()
	assert.Equal(t, []uint32{0, 0, 0, 0}, labels())
	car := spawn("vehicle.car", nil)
	other := slices.Clone(s.Model("vehicle.van").Parts)
	other[1].Tag = scene.TagBus
	van := spawn("vehicle.van", other)
	tick()
	show()
	assert.Equal(t, []uint32{label(car, scene.TagCar), 0, label(van, scene.TagTruck), label(van, scene.TagBus)}, labels())
	// Others come between two captures. That of the first slot's model has more parts.
	require.NoError(t, h.Remove(car.ID))
	require.NoError(t, h.Remove(van.ID))
	tick()
	truck, second := spawn("vehicle.van", nil), spawn("vehicle.car", nil)
	tick()
	window := scene.Window{Mount: spatial.Identity(), StartNs: 0, EndNs: now - 10e6}
	do(func(c *gpu.Ctx) error { return m.Write(c, window) })
	got := labels()
	assert.Equal(t, []uint32{label(truck, scene.TagTruck), label(truck, scene.TagTruck), label(second, scene.TagCar)}, got[:3])
	// A capture of a window that ended earlier has who was there then; the next has the others again.
	window.EndNs = 10e6
	do(func(c *gpu.Ctx) error { return m.Write(c, window) })
	got = labels()
	assert.Equal(t, label(car, scene.TagCar), got[0])
	assert.Equal(t, []uint32{label(van, scene.TagTruck), label(van, scene.TagBus)}, got[2:])
	show()
	assert.Equal(t, []uint32{label(truck, scene.TagTruck), label(truck, scene.TagTruck), label(second, scene.TagCar)}, labels()[:3])
	roots := fake.Bytes("scene movers")
	assert.Equal(t, uint32(g.Movers[1].Root), binary.LittleEndian.Uint32(roots))
	assert.Equal(t, uint32(g.Movers[0].Root), binary.LittleEndian.Uint32(roots[64:]))
	assert.Empty(t, fake.Faults())
}

// The motion table grows with those who come. A table that was bound is deleted; what it had is in
// the new one.
func TestMotionTableGrows(t *testing.T) {
	s, _, driving, _ := garage(t)
	s.Reserve(driving, 500)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	fake := fakeWithLimits(1<<20, 16)
	thread := fake.Start(t)
	p := scene.NewPacker(g, h)
	var r *scene.Resident
	var m *scene.MotionTable
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		if r, err = g.Upload(c); err != nil {
			return err
		}
		m, err = p.NewMotionTable(c, r)
		return err
	}))
	t.Cleanup(func() { r.Close(); m.Close() })
	sizes := map[int]bool{}
	for k := range 500 {
		_, err := h.Spawn("vehicle.sedan", standing(float64(10*k), 0, 0))
		require.NoError(t, err)
		at := simtime.Stamp(k+1) * 10e6
		h.Record(at)
		window := scene.Window{Mount: spatial.Identity(), StartNs: max(0, at-100e6), EndNs: at}
		require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error { return errors.Join(m.Write(c, window), c.Finish()) }))
		want, err := p.Motion(nil, window)
		require.NoError(t, err)
		table := fake.Bytes("motion")
		// The records of those who are not there mean nothing.
		got, rows := texels(table[:len(want)]), texels(want)
		boxes := found(rows)
		require.Len(t, boxes, k+2)
		require.Equal(t, boxes, found(got), "%d there", k+1)
		for row := range boxes {
			first, count := int(rows[1][0])+row*int(rows[1][2]), int(rows[1][2])
			require.True(t, slices.Equal(rows[first:first+count], got[first:first+count]), "%d there", k+1)
		}
		sizes[len(table)] = true
	}
	assert.Greater(t, len(sizes), 3)
	assert.Less(t, len(sizes), 20, "it grows seldom")
	assert.Empty(t, fake.Faults())
}
