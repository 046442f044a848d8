package scene_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// cart is a model of a body and a hand. The hand is moved by a joint that only values turn, and the
// body slides up by one that follows the way.
func cart(b *scenetest.Builder, slots int) *scene.Actor {
	unit := b.Put("cart", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{TypeID: "cart", Tag: scene.TagCar, Reserved: true})
	body, hand := unit.Parts[0], unit.Parts[0]
	body.Posed = func(v scene.JointValues, _ simtime.Stamp) mgl64.Mat4 {
		up, _ := v.Of(1)
		return mgl64.Translate3D(0, 0, up)
	}
	hand.Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Translate3D(0, 0, 9) }
	hand.Posed = func(v scene.JointValues, stamp simtime.Stamp) mgl64.Mat4 {
		if angle, given := v.Of(0); given {
			return mgl64.HomogRotate3DZ(angle)
		}
		return hand.Joints(stamp)
	}
	unit.Parts = []scene.Part{body, hand}
	unit.Joints = []scene.Joint{{Name: "hand"}, {Name: "lift", Slides: true, Follow: func(before float64, m scene.Moved) float64 { return before + m.Way/2 }}}
	b.Scene.Slots = slots
	return unit
}

func waypoint(stamp simtime.Stamp, x, yaw float64) scene.Waypoint {
	return scene.Waypoint{Stamp: stamp, Pose: spatial.FromRPY(mgl64.Vec3{x, 0, 0}, 0, 0, yaw)}
}

// joints returns what the parts of a cart show at a time: the angle of its hand, and the height of
// its body.
func joints(a *scene.Actor, stamp simtime.Stamp) (hand, lift float64) {
	m := a.Parts[1].At(stamp)
	return math.Atan2(m.At(1, 0), m.At(0, 0)), a.Parts[0].At(stamp).At(2, 3)
}

// TestJointsAreLedAndFollow: given values are led to in straight lines and held. Others follow
// the way, backwards too, but not over a jump. Earlier times have what was there then.
func TestJointsAreLedAndFollow(t *testing.T) {
	b := scenetest.NewBuilder("carts")
	model := cart(b, 2)
	h := scene.NewHistory(b.Scene, nil, 4)
	h.Record(0)
	way := &scene.Guided{}
	way.Lead(waypoint(0, 0, 0), waypoint(0, 0, 0))
	a, err := h.SpawnActor(model, scene.Actor{}, way)
	require.NoError(t, err)
	assert.InDelta(t, 9, a.Parts[1].At(0).At(2, 3), 1e-12, "its own motion before the first tick")
	h.Record(100)
	assert.InDelta(t, 9, a.Parts[1].At(100).At(2, 3), 1e-12, "its own motion")

	way.Lead(waypoint(100, 0, 180), waypoint(300, 4, 180)) // backwards
	way.Turn(0, 1)
	h.Record(200)
	h.Record(300)
	hand, lift := joints(a, 200)
	assert.InDelta(t, 1, hand, 1e-12, "the first value counts for the whole way")
	assert.InDelta(t, -1, lift, 1e-12)
	_, lift = joints(a, 250)
	assert.InDelta(t, -1.5, lift, 1e-12, "between two ticks")

	way.Lead(way.At(300), waypoint(500, 4, 180))
	way.Turn(0, 2)
	h.Record(400) // the ring of four turns
	h.Record(500)
	for stamp, want := range map[simtime.Stamp]float64{200: 1, 300: 1, 350: 1.25, 400: 1.5, 500: 2, 900: 2} {
		hand, _ = joints(a, stamp)
		assert.InDelta(t, want, hand, 1e-12, "at %d", stamp)
	}
	h.Keep(8)
	hand, _ = joints(a, 400)
	assert.InDelta(t, 1.5, hand, 1e-12)

	way.Lead(waypoint(700, 90, 0), waypoint(700, 90, 0))
	require.NoError(t, h.Jumped(a.ID))
	way.Turn(0, -1)
	h.Record(700)
	hand, lift = joints(a, 600)
	assert.InDelta(t, 2, hand, 1e-12, "up to the jump")
	assert.InDelta(t, -2, lift, 1e-12)
	hand, lift = joints(a, 700)
	assert.InDelta(t, -1, hand, 1e-12)
	assert.InDelta(t, -2, lift, 1e-12, "a jump is no way")

	// A step that is broken off half way is where the next one begins.
	way.Lead(way.At(700), waypoint(900, 92, 0))
	way.Turn(0, 1)
	h.Record(800)
	way.Stand(800, 900)
	h.Record(900)
	hand, lift = joints(a, 900)
	assert.InDelta(t, 0, hand, 1e-12)
	assert.InDelta(t, -1.5, lift, 1e-12)

	// The next one in the slot has values of its own; the history's tables grow.
	require.NoError(t, h.Remove(a.ID))
	h.Record(1000)
	h.Record(1100)
	next, err := h.SpawnActor(model, scene.Actor{}, standing(0, 0, 0))
	require.NoError(t, err)
	own, err := h.SpawnActor(model, scene.Actor{Parts: scaled(model, mgl64.Vec3{2, 2, 2}, mgl64.Vec3{})}, nil)
	require.NoError(t, err)
	assert.Empty(t, own.Joints, "it has parts of its own")
	h.Record(1200)
	_, lift = joints(next, 1200)
	assert.Zero(t, lift)
	assert.InDelta(t, 9, next.Parts[1].At(1200).At(2, 3), 1e-12)
	hand, _ = joints(a, 1200)
	assert.InDelta(t, 0, hand, 1e-12, "what it had last")
	_, lift = joints(next, 0)
	assert.Zero(t, lift, "what it had first")
}

// TestBoxesHoldWhatJointsReach: the box of a time holds the parts where values have led them, and is
// the usual one where they stay within.
func TestBoxesHoldWhatJointsReach(t *testing.T) {
	b := scenetest.NewBuilder("cranes")
	model := cart(b, 2)
	h := scene.NewHistory(b.Scene, nil, 4)
	way := &scene.Guided{}
	way.Lead(waypoint(0, 0, 0), waypoint(0, 0, 0))
	a, err := h.SpawnActor(model, scene.Actor{}, way)
	require.NoError(t, err)
	h.Record(0)
	usual, ok := h.Box(a.ID)
	require.True(t, ok)
	now, ok := h.BoxAt(a.ID, 0)
	require.True(t, ok)
	assert.Equal(t, usual, now, "no value was given")
	way.Lead(waypoint(0, 0, 0), waypoint(100, 0, 0))
	way.Turn(0, math.Pi/4)
	h.Record(100)
	now, ok = h.BoxAt(a.ID, 100)
	require.True(t, ok)
	assert.InDelta(t, math.Sqrt2/2, now.Center[0]+now.Half[0], 1e-6, "a corner of the hand")
	assert.InDelta(t, math.Sqrt2/2, now.Half[1]-now.Center[1], 1e-6)
	assert.InDelta(t, usual.Center[2]+usual.Half[2], now.Center[2]+now.Half[2], 1e-9, "the usual one is in it")
	way.Lead(waypoint(100, 0, 0), waypoint(200, 0, 0))
	way.Turn(0, math.Pi/2)
	h.Record(200)
	now, _ = h.BoxAt(a.ID, 200)
	assert.Equal(t, usual, now)
	_, ok = h.BoxAt(99, 200)
	assert.False(t, ok)
}

// TestRestartForgetsJoints: a history that many with joints were in begins again with room for fewer.
func TestRestartForgetsJoints(t *testing.T) {
	b := scenetest.NewBuilder("carts")
	model := cart(b, 40)
	h := scene.NewHistory(b.Scene, nil, 4)
	drive := func(carts int) float64 {
		h.Record(0)
		way := &scene.Guided{}
		way.Lead(waypoint(100, 0, 0), waypoint(300, 4, 0))
		var last *scene.Actor
		for range carts {
			var err error
			last, err = h.SpawnActor(model, scene.Actor{}, way)
			require.NoError(t, err)
		}
		for stamp := simtime.Stamp(100); stamp <= 300; stamp += 100 {
			h.Record(stamp)
		}
		_, lift := joints(last, 300)
		return lift
	}
	want := drive(20)
	assert.NotZero(t, want)
	h.Restart()
	h.Keep(8)
	assert.InDelta(t, want, drive(1), 1e-12)
}

// TestRecordingJointsAllocatesNothing, nor does leading them.
func TestRecordingJointsAllocatesNothing(t *testing.T) {
	b := scenetest.NewBuilder("carts")
	model := cart(b, 1)
	h := scene.NewHistory(b.Scene, nil, 8)
	way := &scene.Guided{}
	_, err := h.SpawnActor(model, scene.Actor{}, way)
	require.NoError(t, err)
	stamp := simtime.Stamp(0)
	assert.Zero(t, testing.AllocsPerRun(50, func() {
		way.Lead(waypoint(stamp, 0, 0), waypoint(stamp+10, 1, 0))
		way.Turn(0, 1)
		stamp += 10
		h.Record(stamp)
	}))
}

// TestCityWheelsRoll: the wheels of a car turn by the way over their radius, and those in front
// steer as a bicycle does. A walker's legs go with the way, and hang where it stands.
func TestCityWheelsRoll(t *testing.T) {
	s := scene.Plane(mgl64.Vec3{})
	city.Furnish(s, 1)
	s.Slots = 20
	h := scene.NewHistory(s, nil, 0)
	model := s.Model("vehicle.sedan")
	var names []string
	for _, j := range model.Joints {
		names = append(names, j.Name)
		assert.False(t, j.Slides)
	}
	assert.Equal(t, []string{"front_left_steer", "front_left_spin", "rear_left_spin", "front_right_steer", "front_right_spin", "rear_right_spin"}, names)
	part := func(a *scene.Actor, name string) *scene.Part {
		for i := range a.Parts {
			if a.Parts[i].Name == name {
				return &a.Parts[i]
			}
		}
		require.Fail(t, name)
		return nil
	}
	for name, box := range map[string]scene.Box{"vehicle.sedan": {Half: mgl64.Vec3{2.36, 1.02, 0.72}}, "vehicle.bicycle": {Half: mgl64.Vec3{0.88, 0.26, 0.5}}} {
		got := s.BoxOf(s.Model(name))
		assert.InDeltaSlice(t, box.Half[:], got.Half[:], 0.04, "%s with its wheels is as large as before", name)
		assert.InDelta(t, 0, got.Center[2]-got.Half[2], 0.03, name)
	}

	const radius, speed, seconds = 20.0, 5.0, 2.0
	motion := scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{speed, 0, 0}}
	straight, err := h.Spawn("vehicle.sedan", motion)
	require.NoError(t, err)
	corner, err := h.Spawn("vehicle.sedan", circle{radius: radius, speed: speed})
	require.NoError(t, err)
	bicycle, err := h.Spawn("vehicle.bicycle", motion)
	require.NoError(t, err)
	walker, err := h.Spawn("walker.*", scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{1.35, 0, 0}})
	require.NoError(t, err)
	stander, err := h.Spawn("walker.*", nil)
	require.NoError(t, err)
	end := simtime.Stamp(seconds * 1e9)
	for at := simtime.Stamp(0); at <= end; at += 10e6 {
		h.Record(at)
	}
	spin := func(m mgl64.Mat4) float64 { return math.Atan2(m.At(0, 2), m.At(2, 2)) } // about y
	same := func(want, got float64, why string) {
		t.Helper()
		assert.InDelta(t, 0, math.Remainder(got-want, 2*math.Pi), 0.01, why)
	}
	for _, wheel := range []string{"wheel_front_left", "wheel_rear_right"} {
		same(speed*seconds/0.33, spin(part(straight, wheel).At(end)), wheel)
	}
	same(speed*seconds/0.348, spin(part(bicycle, "wheel_rear").At(end)), "of a bicycle")
	turned := part(corner, "wheel_front_right").At(end)
	axle := turned.Col(1).Vec3()
	assert.InDelta(t, math.Atan(2.74/radius), math.Atan2(-axle[0], axle[1]), 0.01, "it steers to the left")
	axle = part(corner, "wheel_rear_right").At(end).Col(1).Vec3()
	assert.InDelta(t, 1, axle[1], 1e-9)

	// A double step is 1.35 m, after which the legs are where they were.
	left := part(walker, "leg_left")
	apart := func(a, b simtime.Stamp) float64 {
		x, y := left.At(a), left.At(b)
		return x.Col(0).Sub(y.Col(0)).Len()
	}
	assert.InDelta(t, 0, apart(500e6, 1500e6), 0.01)
	assert.Greater(t, apart(250e6, 750e6), 0.5)
	still := part(stander, "leg_left")
	assert.Equal(t, still.At(0), still.At(end))
	assert.InDelta(t, 1, still.At(end).At(2, 2), 1e-9, "it hangs")
}

// TestAnimatedNodesAreJoints: a node that is turned about one axis, or moved along one line, is a
// joint of the model. What has no value plays its animation.
func TestAnimatedNodesAreJoints(t *testing.T) {
	k := math.Sqrt(0.5)
	asset := street(node("arm", -1, 1, false), node("lamp", 0, 2, true), node("lamp", -1, 0, true), node("", -1, 5, true), node("base", -1, 7, true))
	asset.Nodes[0].Local.Scale = mgl64.Vec3{2, 2, 2}
	asset.Animations = []scene.Animation{{DurationNs: 4e9, Channels: []scene.Channel{
		{Node: 0, Path: scene.PathTranslation, TimesNs: []int64{0, 4e9}, Values: []float64{1, 0, 0, 5, 0, 0}},
		{Node: 1, Path: scene.PathTranslation, TimesNs: []int64{0, 4e9}, Values: []float64{2, 0, 0, 2, 0, 3}},
		// From a right angle about z, about the own x axis.
		{Node: 2, Path: scene.PathRotation, TimesNs: []int64{0, 2e9, 4e9}, Values: []float64{0, 0, k, k, 0.5, 0.5, 0.5, 0.5, k, k, 0, 0}},
		// About two axes in turn.
		{Node: 3, Path: scene.PathRotation, TimesNs: []int64{0, 2e9, 4e9}, Values: []float64{0, 0, 0, 1, k, 0, 0, k, 0, k, 0, k}},
		{Node: 4, Path: scene.PathScale, TimesNs: []int64{0, 4e9}, Values: []float64{1, 1, 1, 2, 2, 2}},
	}}}
	s := scene.New("test")
	models, err := s.Add(asset, scene.Placement{TypeID: "crane", Reserved: true})
	require.NoError(t, err)
	var told []scene.Joint
	for _, j := range models[0].Joints {
		told = append(told, scene.Joint{Name: j.Name, Slides: j.Slides})
		assert.Nil(t, j.Follow)
	}
	assert.Equal(t, []scene.Joint{{Name: "lamp", Slides: true}, {Name: "arm", Slides: true}, {Name: "lamp_2"}}, told)
	assert.Equal(t, models[0].Joints[0].Name, s.Model("crane").Joints[0].Name)

	h := scene.NewHistory(s, nil, 0)
	way := &scene.Guided{}
	a, err := h.SpawnActor(s.Model("crane"), scene.Actor{}, way)
	require.NoError(t, err)
	at := func(part int, x mgl64.Vec3) mgl64.Vec3 { return mgl64.TransformCoordinate(x, a.Parts[part].At(1e9)) }
	h.Record(1e9)
	assertVec(t, mgl64.Vec3{2 + 4, 0, 1.5}, at(0, mgl64.Vec3{}), 1e-9, "the animation")
	way.Turn(1, -0.5)
	h.Record(1e9)
	assertVec(t, mgl64.Vec3{0.5 + 4, 0, 1.5}, at(0, mgl64.Vec3{}), 1e-9, "one by its value, one by the animation")
	way.Turn(0, 0.25)
	h.Record(1e9)
	assertVec(t, mgl64.Vec3{0.5 + 4, 0, 0.25}, at(0, mgl64.Vec3{}), 1e-9, "metres, though the parent is scaled")
	way.Turn(2, math.Pi/2)
	h.Record(1e9)
	assertVec(t, mgl64.Vec3{0, 1, 0}, at(1, mgl64.Vec3{1, 0, 0}), 1e-9)
	assertVec(t, mgl64.Vec3{0, 0, 1}, at(1, mgl64.Vec3{0, 1, 0}), 1e-9, "a quarter about its x axis")
	way.Turn(2, 0)
	h.Record(1e9)
	assertVec(t, mgl64.Vec3{-1, 0, 0}, at(1, mgl64.Vec3{0, 1, 0}), 1e-9, "0 is the first key")
	assert.Equal(t, models[0].Parts[2].Joints(1e9), a.Parts[2].At(1e9), "not a joint")
}

// TestMotionKeysFollowJoints: between its keys, too, a wheel is where its joints have it, on a car that
// turns ever more.
func TestMotionKeysFollowJoints(t *testing.T) {
	s := scene.Plane(mgl64.Vec3{})
	city.Furnish(s, 1)
	s.Slots = 1
	g, h := build(t, s), scene.NewHistory(s, nil, 0)
	motion := circle{radius: 12, speed: 8, growth: 3}
	way := &scene.Guided{}
	a, err := h.SpawnActor(s.Model("vehicle.sedan"), scene.Actor{}, way)
	require.NoError(t, err)
	state := func(at simtime.Stamp) scene.Waypoint {
		k := scene.StateOf(motion, at)
		return scene.Waypoint{Stamp: at, Pose: k.Pose, Velocity: k.Twist.Linear, VelocityKnown: true}
	}
	for at := simtime.Stamp(0); at <= 200e6; at += 10e6 {
		way.Lead(state(max(at-10e6, 0)), state(at))
		way.Turn(0, 3*float64(at)*1e-9)
		h.Record(at)
	}
	window := scene.Window{Mount: spatial.Identity(), StartNs: 60e6, EndNs: 160e6}
	rows := packMotion(t, g, h, window)
	movers, stride := int(rows[1][0]), int(rows[1][2])
	first, count := 0, 0
	for i, m := range s.Models {
		if m.TypeID == a.TypeID {
			first, count = g.ModelMovers(i)
		}
	}
	require.Equal(t, 5, count)
	own := len(g.Movers)
	for i := range s.Models {
		_, n := g.ModelMovers(i)
		own -= n
	}
	for k := range count {
		m := &g.Movers[first+k]
		within := 1e-4
		if part := a.Parts[m.Part].Name; part == "wheel_front_left" { // it is steered at 3 rad/s
			within = 5e-4
		}
		for at := window.StartNs; at <= window.EndNs; at += 2_500_000 {
			pose, _ := h.Pose(a.ID, at)
			want := g.FromMap(pose).Mat4().Mul4(a.Parts[m.Part].At(at))
			got := keyPose(rows, movers+stride*(own+k)+3, float64(at-window.StartNs)*1e-9)
			for _, v := range []mgl64.Vec3{{}, {0.3, 0, 0}, {0, 0.3, 0}, {0, 0, 0.3}} {
				assertVec(t, mgl64.TransformCoordinate(v, want), got.Apply(v), within, "part %d at %d", m.Part, at)
			}
		}
	}
}

// BenchmarkPackJoints packs a scan among 200 cars of the city, whose wheels turn.
func BenchmarkPackJoints(b *testing.B) {
	s := scene.Plane(mgl64.Vec3{})
	city.Furnish(s, 1)
	s.Slots = 200
	g, h := build(b, s), scene.NewHistory(s, nil, 0)
	for i := range 200 {
		way := &scene.Guided{}
		at := float64(i * 10)
		way.Lead(waypoint(0, at, 0), waypoint(300e6, at+3, 3))
		_, err := h.SpawnActor(s.Model("vehicle.sedan"), scene.Actor{}, way)
		require.NoError(b, err)
	}
	for stamp := simtime.Stamp(0); stamp <= 300e6; stamp += 10e6 {
		h.Record(stamp)
	}
	p := scene.NewPacker(g, h)
	var buf []byte
	for b.Loop() {
		var err error
		buf, err = p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6})
		require.NoError(b, err)
	}
}
