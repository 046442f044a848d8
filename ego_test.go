package raybridge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

func TestEgo(t *testing.T) {
	t.Parallel()
	route, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {9, 0, 0}, {9, 9, 0}}, 1)
	require.NoError(t, err)
	s := scene.New("test")
	s.Route = route
	ego := func(text string) scene.Motion {
		m, _, err := raybridge.EgoOf(read(t, text), s)
		require.NoError(t, err)
		return m
	}
	assert.Equal(t, scene.Motion(route), ego(""), "the scene's own")

	loop := ego("ego: {waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}], speed: 4}")
	assert.InDelta(t, 0.4, loop.PoseAt(10_100e6).Position.Sub(loop.PoseAt(10e9).Position).Len(), 1e-9, "4 m/s")

	standing := ego("ego: {pose: {x: 3, yaw: 90}}")
	assert.Equal(t, mgl64.Vec3{3, 0, 0}, standing.PoseAt(0).Position)
	assert.Equal(t, standing.PoseAt(0), standing.PoseAt(5e9))

	for _, driver := range []string{"external", "keys"} {
		driven := ego("ego: {driver: " + driver + ", pose: {x: 3}}")
		require.IsType(t, &scene.Driven{}, driven)
		assert.Equal(t, mgl64.Vec3{3, 0, 0}, driven.PoseAt(0).Position)
	}

	for text, want := range map[string]time.Duration{
		"driver: external":                          scene.DefaultCommandTimeout,
		"driver: external, commands: {timeout: 2s}": 2 * time.Second,
		"driver: external, commands: {timeout: 0s}": -1,
		"driver: keys, commands: {timeout: 0s}":     scene.DefaultCommandTimeout,
	} {
		driven, ok := ego("ego: {" + text + "}").(*scene.Driven)
		require.True(t, ok)
		assert.Equal(t, want, driven.Vehicle().CommandTimeout, text)
	}

	for _, driver := range []string{"waypoints", "external"} {
		_, _, err = raybridge.EgoOf(read(t, "ego: {driver: "+driver+", waypoints: [{}, {}, {}]}"), s)
		require.ErrorIs(t, err, scene.ErrMotion, driver)
	}
}

// TestPoseBesideOthers: a pose counts with every driver, all of it. Beside waypoints it says where on them
// the vehicle begins, and a warning tells where that is elsewhere.
func TestPoseBesideOthers(t *testing.T) {
	t.Parallel()
	s := scene.New("test")
	for text, want := range map[string]struct {
		x, y, yaw float64
		warning   string
	}{
		"{x: 55, y: 1}":            {55, 0, 0, ""},
		"{x: 55, y: 1, yaw: 5}":    {55, 0, 0, ""},
		"{x: 103, y: 50, yaw: 90}": {105, 50, 90, ""},
		"{x: 55, y: 20}":           {55, 0, 0, "ego.pose: it is 20 m beside the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
		"{x: 55, yaw: 170}":        {55, 0, 0, "ego.pose: it is turned by 170 degrees from the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
		"{x: 55, pitch: 20}":       {55, 0, 0, "ego.pose: it is turned by 20 degrees from the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
	} {
		ego, warning, err := raybridge.EgoOf(read(t, "ego: {waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}], speed: 4, pose: "+text+"}"), s)
		require.NoError(t, err)
		pose := ego.PoseAt(0)
		assert.InDeltaSlice(t, []float64{want.x, want.y, 0}, pose.Position[:], 1e-6, text)
		_, _, yaw := pose.RPY()
		assert.InDelta(t, want.yaw, yaw, 1e-6, text)
		assert.Equal(t, want.warning, warning, text)
		assert.InDelta(t, 4, ego.PoseAt(1e9).Position.Sub(pose.Position).Len(), 1e-6)
	}
	for _, driver := range []string{"external", "keys"} {
		driven, warning, err := raybridge.EgoOf(read(t, "ego: {driver: "+driver+", pose: {x: 3, z: 1, roll: 4, pitch: -8, yaw: 30}, waypoints: [{}, {x: 90}, {y: 90}]}"), s)
		require.NoError(t, err)
		assert.Empty(t, warning)
		assert.Equal(t, mgl64.Vec3{3, 0, 1}, driven.PoseAt(0).Position)
		roll, pitch, yaw := driven.PoseAt(0).RPY()
		assert.InDeltaSlice(t, []float64{4, -8, 30}, []float64{roll, pitch, yaw}, 1e-9)
	}
	c := read(t, "actors: [{file: house.gltf, pose: {x: 40, y: 30}, waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}]}]")
	made, warnings, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	last := made.Actors[len(made.Actors)-1]
	require.NotNil(t, last.Motion)
	at := last.Motion.PoseAt(0).Position
	assert.InDeltaSlice(t, []float64{37.5, 32.5, 0}, at[:], 1e-9)
	assert.Contains(t, strings.Join(warnings, "\n"), "house.gltf: pose: it is 3.5")
}

// TestWaypointsAreTheRoute: what drives an external driver's vehicle finds the file's waypoints
// as the scene's route, in a scene of files too. The vehicle starts there.
func TestWaypointsAreTheRoute(t *testing.T) {
	t.Parallel()
	c := read(t, "scene: {file: house.gltf}\nego: {driver: external, waypoints: [{x: 50, y: 7}, {x: 150, y: 7}, {x: 150, y: 107}]}")
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	loop, ok := s.Route.(*scene.WaypointLoop)
	require.True(t, ok)
	on, along := loop.At(loop.Nearest(spatial.FromRPY(mgl64.Vec3{100, 8, 0}, 0, 0, 0), 0))
	assert.InDeltaSlice(t, []float64{100, 7, 0}, on[:], 1e-9)
	assert.InDeltaSlice(t, []float64{1, 0, 0}, along[:], 1e-9)
	ego, _, err := raybridge.EgoOf(c, s)
	require.NoError(t, err)
	require.IsType(t, &scene.Driven{}, ego)
	assert.Equal(t, loop.PoseAt(0).Position, ego.PoseAt(0).Position)
}

// TestTheEgoStandsOnThePlane: in the middle, wherever that is.
func TestTheEgoStandsOnThePlane(t *testing.T) {
	t.Parallel()
	c := read(t, "scene: {plane: true, offset: {x: 300000, y: 4000000, z: 50}}")
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	ego, astray, err := raybridge.EgoOf(c, s)
	require.NoError(t, err)
	assert.Nil(t, ego)
	assert.Empty(t, astray)
	assert.Equal(t, mgl64.Vec3{300_000, 4_000_000, 50}, s.Ego.Position)

	c = read(t, "scene: {plane: true}\nego: {driver: external}")
	s, _, err = raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	ego, _, err = raybridge.EgoOf(c, s)
	require.NoError(t, err)
	assert.Equal(t, mgl64.Vec3{}, ego.PoseAt(0).Position)
}
