//go:build cgo

package hostdev_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"image"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

func TestMain(m *testing.M) { gputest.Main(m) }

const period = simtime.Stamp(100_000_000)

// textured is a soup whose materials cut out, tint and reflect in every way that a ray's result
// depends on. Where surfaces are blended, the bits of a ray decide whether it passes.
func textured(seed uint64, n int, blended bool) *scene.Scene {
	s := scenetest.Soup(seed, n, true)
	rng := rand.New(rand.NewPCG(seed, 3))
	for k, sampler := range []scene.Sampler{
		{}, {WrapS: scene.WrapMirror, WrapT: scene.WrapClamp, Magnify: scene.FilterNearest}, {WrapS: scene.WrapClamp, Minify: scene.FilterNearestMipmapLinear},
	} {
		size := 64 - 20*k
		img := image.NewNRGBA(image.Rect(0, 0, size, 64))
		for i := range img.Pix {
			img.Pix[i] = byte(128 + 100*math.Sin(float64(i%4)+float64(i/4%size)/5+float64(i/size/4)/(3+float64(k))))
		}
		s.Textures = append(s.Textures, scene.Texture{Name: fmt.Sprint(k), Image: img, Sampler: sampler})
	}
	for i := range s.Meshes {
		m := &s.Meshes[i]
		for range m.Positions {
			m.UVs = append(m.UVs, mgl32.Vec2{4*rng.Float32() - 2, 4*rng.Float32() - 2})
			if i%2 == 1 {
				m.Colors = append(m.Colors, mgl32.Vec4{rng.Float32(), rng.Float32(), rng.Float32(), rng.Float32()})
			}
		}
	}
	for i := range s.Materials {
		m := &s.Materials[i]
		m.Reflectance, m.BaseColorTexture = -1, i%4-1
		if i%3 < 2 {
			m.AlphaMode, m.AlphaCutoff = scene.AlphaMask, 0.5
		}
		if blended && i%3 == 1 {
			m.AlphaMode, m.BaseColor[3] = scene.AlphaBlend, 0.7
		}
		if i%2 == 0 {
			m.MetalRoughTexture, m.Metallic = i%3, 0.9
		}
		if i == 2 {
			m.MetalRoughUV = scene.UVTransform{{0.5, 0.1, 0.3}, {-0.1, 0.5, 0.2}}
		}
		if i == 5 {
			m.Retro, m.Reflectance = true, 0.7
		}
	}
	return s
}

// scenes are what rays are traced in.
func scenes(t *testing.T) map[string]*scene.Scene {
	t.Helper()
	if testing.Short() {
		return map[string]*scene.Scene{"cut outs": textured(3, 3000, false)}
	}
	town, err := city.Generate(city.Options{Seed: 3, Triangles: 40_000})
	require.NoError(t, err)
	return map[string]*scene.Scene{
		"city": town, "soup": scenetest.Soup(1, 3000, false), "movers": scenetest.Soup(2, 3000, true),
		"cut outs": textured(3, 3000, false), "blended": textured(4, 3000, true),
	}
}

// loaded is a scene on one device.
type loaded struct {
	thread   *gpu.Thread
	geometry *scene.Geometry
	resident *scene.Resident
	motion   *scene.MotionTable
}

func newWorld(t testing.TB, thread *gpu.Thread, s *scene.Scene) *loaded {
	t.Helper()
	built, err := scene.Build(t.Context(), s, scene.BuildOptions{})
	require.NoError(t, err)
	history := scene.NewHistory(s, s.Route, 64)
	for at := simtime.Stamp(0); at <= 2*period; at += period / 10 {
		history.Record(at)
	}
	w := &loaded{thread: thread, geometry: built}
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		if w.resident, err = built.Upload(c); err != nil {
			return err
		}
		if w.motion, err = scene.NewPacker(built, history).NewMotionTable(c, w.resident); err != nil {
			return err
		}
		mast := spatial.FromRPY(mgl64.Vec3{0.9, 0, 1.9}, 1, 2, 3)
		return w.motion.Write(c, scene.Window{Parent: scene.EgoID, Mount: mast, StartNs: period, EndNs: 2 * period})
	})
	t.Cleanup(func() { w.resident.Close(); w.motion.Close() })
	return w
}

// job is a dispatch of an entry: what is bound beside the scene, and how large what it writes is.
type job struct {
	entry    *shaders.Entry
	defines  []shaders.Define
	uniform  []byte
	storage  [2][]byte // nil where the result is, or nothing
	table    []uint32  // of the sensor's sampler
	result   int       // slot
	resultOf []byte    // its contents before
	groups   [3]int
}

// run returns what a dispatch has written.
func (w *loaded) run(t *testing.T, j *job) []byte {
	t.Helper()
	out := make([]byte, len(j.resultOf))
	gputest.Do(t, w.thread, func(c *gpu.Ctx) error {
		source, err := shaders.Source(j.entry, j.defines...)
		if err != nil {
			return err
		}
		program, err := c.NewProgram(gpu.ProgramDesc(source))
		if err != nil {
			return err
		}
		defer program.Close()
		bind := append(w.resident.Bindings(nil), w.motion.Binding())
		add := func(kind gpu.BindingKind, slot int, data []byte) *gpu.Buffer {
			b, err := c.NewBuffer(gpu.BufferDesc{Label: "bound", Size: len(data), Data: data})
			require.NoError(t, err)
			bind = append(bind, gpu.Binding{Kind: kind, Slot: slot, Buffer: b})
			return b
		}
		if j.uniform != nil {
			defer add(gpu.BindUniform, 0, j.uniform).Close()
		}
		for slot, data := range j.storage {
			if data != nil {
				defer add(gpu.BindStorage, slot, data).Close()
			}
		}
		if j.table != nil {
			b, err := c.NewBuffer(gpu.BufferDesc{Label: "table", Size: 4 * len(j.table), Data: gpu.BytesOf(j.table)})
			require.NoError(t, err)
			defer b.Close()
			view, err := c.NewTexture(gpu.TextureDesc{Label: "table", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: b})
			require.NoError(t, err)
			defer view.Close()
			bind = append(bind, gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotSensor, Texture: view})
		}
		result := add(gpu.BindStorage, j.result, j.resultOf)
		defer result.Close()
		if err := c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: j.groups}); err != nil {
			return err
		}
		if err := c.Barrier(gpu.BarrierBufferUpdate); err != nil {
			return err
		}
		return c.ReadBuffer(result, 0, out)
	})
	return out
}

// directions returns n unit vectors, most of them near the horizon, neighbours side by side.
func directions(rng *rand.Rand, n int) []mgl32.Vec3 {
	list := make([]mgl32.Vec3, n)
	for i := range list {
		around, up := float64(i)/float64(n)*40*math.Pi, 0.3*rng.NormFloat64()
		list[i] = mgl32.Vec3{float32(math.Cos(around) * math.Cos(up)), float32(math.Sin(around) * math.Cos(up)), float32(math.Sin(up))}
	}
	return list
}

// Words of hits, rays and sights are float32 or uint32 alike.
func words(floats ...float32) []uint32 {
	list := make([]uint32, len(floats))
	for i, v := range floats {
		list[i] = math.Float32bits(v)
	}
	return list
}

const listedRays = 10_000

func traceJob(seed uint64, anyHit bool) *job {
	rng := rand.New(rand.NewPCG(seed, 1))
	var list []uint32
	for _, d := range directions(rng, listedRays) {
		o := mgl32.Vec3{float32(rng.NormFloat64()), float32(rng.NormFloat64()), 2}
		list = append(list, words(o[0], o[1], o[2], 0.01, d[0], d[1], d[2], 200, 0.1*rng.Float32(), 0, 0, 0)...)
	}
	return &job{
		entry: &shaders.SceneTrace, defines: []shaders.Define{shaders.Flag("OCCLUSION", anyHit)}, result: 1,
		storage: [2][]byte{gpu.BytesOf(list)}, resultOf: make([]byte, 32*listedRays),
		groups: shaders.SceneTrace.Groups(8, listedRays/shaders.TracedRays/8+8, 1),
	}
}

func raysJob(seed uint64, owner uint32) *job {
	rng := rand.New(rand.NewPCG(seed, 2))
	var table []uint32
	for i, d := range directions(rng, listedRays) {
		far := float32(150)
		if i%11 == 0 {
			far = 0 // isn't cast
		}
		table = append(table, words(0, 0, 0.1, 0.02, d[0], d[1], d[2], far)...)
	}
	return &job{
		entry: &shaders.Rays, uniform: gpu.BytesOf([]uint32{owner, ^uint32(1<<scene.TagRoads | 1<<scene.TagVegetation), 0, 0}),
		table: table, resultOf: make([]byte, 16*listedRays), groups: shaders.Rays.Groups(listedRays/shaders.TracedRays+1, 1, 1),
	}
}

const actors = 40

func sightsJob(seed uint64, owner uint32) *job {
	rng := rand.New(rand.NewPCG(seed, 4))
	var list []uint32
	for _, d := range directions(rng, listedRays) {
		list = append(list, words(d[0], d[1], d[2], 60*rng.Float32())...)
		who := rng.Uint32N(actors)
		list = append(list, who, who+1, 0, 0)
	}
	return &job{
		entry: &shaders.GroundTruthSights, uniform: gpu.BytesOf(append([]uint32{listedRays, owner, 1 << scene.TagVegetation, 0}, words(0.5, 0, 0, 0)...)),
		storage: [2][]byte{1: gpu.BytesOf(list)}, resultOf: make([]byte, 24*actors),
		groups: shaders.GroundTruthSights.Groups(listedRays/shaders.TracedRays+1, 1, 1),
	}
}

// TestListsOfRaysAgree holds the kernels of listed rays against their shaders on OpenGL, within
// what two classes of devices may differ by.
func TestListsOfRaysAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			shader, kernel := newWorld(t, gl, s), newWorld(t, host, s)
			for _, anyHit := range []bool{false, true} {
				j := traceJob(1, anyHit)
				agreeOnHits(t, hitsOf(shader.run(t, j)), hitsOf(kernel.run(t, j)), anyHit)
			}
			for _, owner := range []uint32{0, 2} {
				j := raysJob(1, owner)
				agreeOnResults(t, shader.run(t, j), kernel.run(t, j))
				j = sightsJob(1, owner)
				want, got := wordsOf(shader.run(t, j)), wordsOf(kernel.run(t, j))
				for i := range want {
					require.InDelta(t, want[i], got[i], 2, "tally %d, word %d", i/6, i%6)
				}
			}
		})
	}
}

func wordsOf(b []byte) []uint32 {
	list := make([]uint32, len(b)/4)
	copy(gpu.BytesOf(list), b)
	return list
}

// listedHit is a record of shaders.SceneTrace.
type listedHit struct {
	t, u     float32
	_        float32 // v
	triangle int32
	normal   [3]float32
	mover    int32
}

func hitsOf(b []byte) []listedHit {
	list := make([]listedHit, len(b)/32)
	copy(gpu.BytesOf(list), b)
	return list
}

// near is whether two ranges are one to within what devices differ by.
func near(a, b float32) bool {
	return a == b || math.Abs(float64(a-b)) <= 1e-4+3e-5*math.Abs(float64(a))
}

func agreeOnHits(t *testing.T, want, got []listedHit, anyHit bool) {
	t.Helper()
	var seen, alone, ranges, labels, normals int
	for i := range want {
		w, g := &want[i], &got[i]
		if (w.triangle < 0) != (g.triangle < 0) {
			alone++
		}
		if w.triangle < 0 || g.triangle < 0 {
			continue
		}
		seen++
		switch {
		case anyHit: // which one it is depends on the order of the search
		case !near(w.t, g.t):
			ranges++
		case w.triangle != g.triangle || w.mover != g.mover:
			labels++
		case math.Abs(float64(w.u-g.u)) > 2e-3 || math.Abs(float64(w.normal[0]-g.normal[0])) > 1e-4 || math.Abs(float64(w.normal[2]-g.normal[2])) > 1e-4:
			normals++
		}
	}
	t.Logf("%d hits, %d on one side alone, %d ranges, %d triangles, %d normals differ", seen, alone, ranges, labels, normals)
	few := len(want) / 5000
	assert.LessOrEqual(t, alone, few, "hit here or there alone")
	assert.LessOrEqual(t, ranges, few, "ranges")
	assert.LessOrEqual(t, labels, len(want)/1000, "triangles")
	assert.LessOrEqual(t, normals, few, "normals")
}

func agreeOnResults(t *testing.T, want, got []byte) {
	t.Helper()
	w, g := wordsOf(want), wordsOf(got)
	differ, found := 0, 0
	for i := 0; i < len(w); i += 4 {
		a, b := math.Float32frombits(w[i]), math.Float32frombits(g[i])
		if !math.IsInf(float64(a), 1) {
			found++
		}
		ca, cb := math.Float32frombits(w[i+1]), math.Float32frombits(g[i+1])
		if !near(a, b) || w[i+2] != g[i+2] || w[i+3] != g[i+3] || math.Abs(float64(ca-cb)) > 1e-4 {
			differ++
		}
	}
	t.Logf("%d found, %d differ", found, differ)
	assert.LessOrEqual(t, differ, len(w)/4/1000)
}

// firings are lidars in every variant of their shader.
func firings() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, scale := range []string{"surface", "carla", "svl"} {
		for _, noisy := range []bool{false, true} {
			for _, rolling := range []bool{false, true} {
				a := map[string]any{
					"preset": "VelodyneVLP16", "organized": true, "intensity": scale, "rolling": rolling, "range": 80.0, "range_min": 6.0,
					"atmosphere_attenuation_rate": 0.01, "compensated": rolling && scale == "surface", "columns": 600,
				}
				if noisy {
					a["noise_stddev"], a["dropoff_general_rate"], a["dropoff_zero_intensity"] = 0.05, 0.2, 0.5
				}
				all[fmt.Sprintf("%s noisy %t rolling %t", scale, noisy, rolling)] = a
			}
		}
	}
	return all
}

// weathered takes the weather out of attributes, which a test has there under "weather".
func weathered(all map[string]any) (attributes map[string]any, w weather.State) {
	w, _ = all["weather"].(weather.State)
	attributes = maps.Clone(all)
	delete(attributes, "weather")
	return attributes, w
}

// scan fires a lidar on a device.
func scan(t *testing.T, thread *gpu.Thread, s *scene.Scene, attributes map[string]any) []sample.Point {
	t.Helper()
	attributes, fallen := weathered(attributes)
	h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{
		Scene: s, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{0.9, 0, 1.9}, 2, 1, 0), Ego: s.Route, Seed: 5, Attributes: attributes, Weather: fallen,
	})
	defer h.End()
	h.Fire(2 * period)
	return sensortest.Last[*sample.PointCloud](h, "points").Points
}

// TestLidarsAgree holds lidar.scan against its shader: in all variants, each in one scene that
// has everything, and one in the others.
func TestLidarsAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			for variant, attributes := range firings() {
				if (testing.Short() || name != "cut outs") && variant != "surface noisy true rolling true" && name != "blended" {
					continue
				}
				t.Run(variant, func(t *testing.T) {
					agreeOnPoints(t, scan(t, gl, s, attributes), scan(t, host, s, attributes))
				})
			}
		})
	}
}

// TestLidarsOfAnyShapeAgree: packets are cut from scans that have few lasers or columns, a sector, and lasers
// that are turned aside.
func TestLidarsOfAnyShapeAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	s := textured(3, 3000, false)
	for name, attributes := range map[string]map[string]any{
		"one ray":             {"channels": 1, "columns": 1},
		"one laser":           {"channels": 1, "columns": 700},
		"one column":          {"channels": 140, "columns": 1},
		"fewer than a packet": {"channels": 3, "columns": 5},
		"flat":                {"channels": 20, "columns": 300, "upper_fov": 3.0, "lower_fov": 3.0},
		"a sector, aside":     {"preset": "HesaiAT128E2X", "columns": 210},
		"all round, aside":    {"preset": "VelodyneVLS128", "columns": 360},
		"few steps, aside":    {"preset": "VelodyneVLS128", "columns": 3},
	} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(attributes, map[string]any{"organized": true, "rolling": true, "range": 80.0})
			agreeOnPoints(t, scan(t, gl, s, attributes), scan(t, host, s, attributes))
		})
	}
}

// TestFiringTablesAgree holds lidar.echoes against its shader: a pattern that packets cut anywhere.
func TestFiringTablesAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	table := filepath.Join(t.TempDir(), "firings.csv")
	var text strings.Builder
	text.WriteString("time,azimuth,elevation,ring\n")
	for i := range 20_011 {
		a := 2 * math.Pi * 0.618034 * float64(i)
		fmt.Fprintf(&text, "%.6f,%.6f,%.6f,%d\n", float64(i)*1e-5, 170*math.Cos(a), 40*math.Sin(a*1.27)*math.Cos(float64(i)*0.01), i%7)
	}
	require.NoError(t, os.WriteFile(table, []byte(text.String()), 0o600))
	for name, s := range scenes(t) {
		for variant, attributes := range firings() {
			if variant != "surface noisy true rolling true" && (name != "cut outs" || !strings.HasSuffix(variant, "noisy true rolling true")) {
				continue
			}
			t.Run(name+" "+variant, func(t *testing.T) {
				a := maps.Clone(attributes)
				for _, own := range []string{"preset", "organized", "columns"} {
					delete(a, own)
				}
				a["firing_table"] = table
				agreeOnFirings(t, scan(t, gl, s, a), scan(t, host, s, a))
			})
		}
	}
}

// TestRadiometryAgrees holds lidar.echoes against its shader where the signal decides what is seen.
func TestRadiometryAgrees(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	materials := filepath.Join(t.TempDir(), "materials.yaml")
	require.NoError(t, os.WriteFile(materials, []byte("classes: {vegetation: {reflectance_905: 0.3}}\nmaterials: {sign_face: {retro: 3}}\n"), 0o600))
	for name, s := range scenes(t) {
		for variant, more := range map[string]map[string]any{
			"probable": {"r10": 30.0, "range_noise": 0.3, "false_alarm_rate": 0.05, "noise_stddev": 0.02},
			"sharp":    {"r10": 40.0, "detection": "sharp", "intensity_code": "livox", "compensated": true, "dropoff_general_rate": 0.1},
			"named":    {"r10": 60.0, "materials": materials, "wavelength": "1550", "rolling": false, "overlap_start": 3.0, "overlap_end": 30.0, "intensity_code": "hesai"},
		} {
			t.Run(name+" "+variant, func(t *testing.T) {
				a := map[string]any{"preset": "VelodyneVLP16", "columns": 600, "intensity": "range_corrected", "range": 80.0, "range_min": 4.0}
				maps.Copy(a, more)
				agreeOnFirings(t, scan(t, gl, s, a), scan(t, host, s, a))
			})
		}
	}
}

// TestWeatherAgrees holds what lidar.echoes sees of the weather against its shader, for rays and for beams: fog before and behind near
// targets, several drops and flakes, echoes that merge, and wet ground.
func TestWeatherAgrees(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	for name, s := range scenes(t) {
		for variant, more := range map[string]map[string]any{
			"fog":    {"weather": weather.State{Visibility: 60}, "r10": 60.0, "range_noise": 0.3, "false_alarm_rate": 0.05},
			"rain":   {"weather": weather.State{Rain: 100, Wetness: 1}, "r10": 300.0, "overlap_start": 0.5, "overlap_end": 2.0, "detection": "sharp"},
			"merged": {"weather": weather.State{Snow: 2}, "r10": 100.0, "beam_divergence": 5.0, "columns": 100, "merge_distance": 2.0},
			"beam":   {"weather": weather.State{Visibility: 200, Rain: 5, Snow: 2}, "r10": 100.0, "beam_divergence": 5.0, "returns": "triple", "columns": 150},
		} {
			if name != "blended" && name != "movers" && (!testing.Short() || variant != "beam") {
				continue
			}
			t.Run(name+" "+variant, func(t *testing.T) {
				a := map[string]any{"preset": "VelodyneVLP16", "columns": 300, "intensity": "range_corrected", "range": 80.0, "range_min": 0.4}
				maps.Copy(a, more)
				agreeOnFirings(t, scan(t, gl, s, a), scan(t, host, s, a))
			})
		}
	}
}

// TestBeamsAgree holds the steps of lidar.echoes that beams have against their shader.
func TestBeamsAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	for name, s := range scenes(t) {
		for variant, more := range map[string]map[string]any{
			"adaptive": {"r10": 30.0, "range_noise": 0.3, "false_alarm_rate": 0.05, "returns": "dual"},
			"full":     {"r10": 60.0, "detection": "sharp", "beam_pattern": "full", "beam_rays": 7, "returns": "triple", "compensated": true, "columns": 150},
			"last":     {"r10": 60.0, "returns": "last", "merge_distance": 2.0, "dropoff_general_rate": 0.1, "rolling": false, "beam_rays": 37, "columns": 300},
		} {
			if name != "blended" && variant != "adaptive" {
				continue
			}
			t.Run(name+" "+variant, func(t *testing.T) {
				a := map[string]any{
					"preset": "VelodyneVLP16", "columns": 450, "intensity": "range_corrected", "range": 80.0, "range_min": 4.0,
					"beam_divergence": 5.0, "beam_divergence_vertical": 12.0,
				}
				maps.Copy(a, more)
				agreeOnFirings(t, scan(t, gl, s, a), scan(t, host, s, a))
			})
		}
	}
}

// agreeOnFirings agrees on points whose misses are left out.
func agreeOnFirings(t *testing.T, want, got []sample.Point) {
	t.Helper()
	// A firing's points stand side by side: the how manieth one is of it.
	name := func(points []sample.Point, i int) (of [2]uint32) {
		of[0] = points[i].Ray
		for ; i > 0 && points[i-1].Ray == of[0]; i-- {
			of[1]++
		}
		return of
	}
	byRay := map[[2]uint32]sample.Point{}
	for i, p := range got {
		byRay[name(got, i)] = p
	}
	var both [2][]sample.Point
	for i, w := range want {
		if g, ok := byRay[name(want, i)]; ok {
			both[0], both[1] = append(both[0], w), append(both[1], g)
		}
	}
	require.Greater(t, len(want), 100)
	assert.LessOrEqual(t, len(want)+len(got)-2*len(both[0]), max(len(want)/10_000, 2), "returns here or there alone")
	agreeOnPoints(t, both[0], both[1])
}

func agreeOnPoints(t *testing.T, want, got []sample.Point) {
	t.Helper()
	require.Len(t, got, len(want))
	var alone, ranges, labels, intensities, returns int
	for i := range want {
		w, g := &want[i], &got[i]
		require.Equal(t, w.Ring, g.Ring)
		require.Equal(t, w.TimeNs, g.TimeNs)
		require.Equal(t, w.Ray, g.Ray)
		require.InDelta(t, w.Azimuth, g.Azimuth, 1e-5)     // OpenGL says nothing of how exact its atan is
		require.InDelta(t, w.Elevation, g.Elevation, 1e-5) // OpenGL says nothing of how exact its atan is
		if w.Return != g.Return || w.Return == 0 && w.Distance != g.Distance {
			alone++
			continue
		}
		if w.Return == 0 {
			continue
		}
		returns++
		off := math.Hypot(math.Hypot(float64(w.X-g.X), float64(w.Y-g.Y)), float64(w.Z-g.Z))
		switch {
		case !near(w.Distance, g.Distance) || off > 3e-4+6e-5*float64(w.Distance):
			ranges++
		case w.Instance != g.Instance || w.Tag != g.Tag:
			labels++
		case math.Abs(float64(w.Intensity-g.Intensity)) > 0.4 || math.Abs(float64(w.CosIncidence-g.CosIncidence)) > 1e-3:
			intensities++
		}
	}
	t.Logf("%d returns of %d, %d on one side alone, %d ranges, %d labels, %d intensities differ", returns, len(want), alone, ranges, labels, intensities)
	assert.LessOrEqual(t, alone, max(len(want)/20_000, 1), "returns here or there alone")
	assert.LessOrEqual(t, ranges, max(len(want)/20_000, 1), "ranges")
	assert.LessOrEqual(t, labels, len(want)/1000, "labels")
	assert.LessOrEqual(t, intensities, len(want)/1000, "intensities")
}

// photo fires a camera on a device.
func photo(t *testing.T, thread *gpu.Thread, s *scene.Scene, d *sensors.Definition, attributes map[string]any) *sample.Image {
	t.Helper()
	o := sensortest.Options{
		Scene: s, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.6}, 3, 2, 11), Ego: s.Route,
		Attributes: map[string]any{"image_size_x": 221, "image_size_y": 165},
	}
	maps.Copy(o.Attributes, attributes)
	h := sensortest.New(t, d, o)
	defer h.End()
	h.Fire(2 * period)
	return sensortest.Last[*sample.Image](h, "image")
}

// lenses are those whose rays are traced.
func lenses() map[string]map[string]any {
	return map[string]map[string]any{
		"plumb_bob":   {"lens": "plumb_bob", "distortion": []float64{-0.25, 0.08, 0.002, -0.001, 0.01}},
		"svl":         {"lens": "svl", "distortion": []float64{-0.05, 0.01, 0, 0}},
		"svl_fisheye": {"lens": "svl_fisheye", "xi": 0.9, "distortion": []float64{-0.1, 0.02, 0, 0}},
		"rational":    {"lens": "rational", "distortion": []float64{0.3, 0.05, 0.001, -0.001, 0.01, 0.6, 0.1, 0.02}},
		"equidistant": {"lens": "equidistant", "fx": 75.0, "distortion": []float64{-0.03, 0.004, 0, 0}},
	}
}

// comparePictures returns the depths that two devices find at the pixels to which both give one
// label, and how many pixels there are.
func comparePictures(t *testing.T, on [2]*gpu.Thread, s *scene.Scene, attributes map[string]any) (same [][2]float32, pixels int) {
	t.Helper()
	var labels, depths [2]*sample.Image
	for i, thread := range on {
		labels[i], depths[i] = photo(t, thread, s, camera.InstanceDefinition, attributes), photo(t, thread, s, camera.DepthDefinition, attributes)
	}
	pixels = labels[0].Width * labels[0].Height
	for i := range pixels {
		x, y := i%labels[0].Width, i/labels[0].Width
		at := y*labels[0].Step + 2*x
		if !bytes.Equal(labels[0].Data[at:at+2], labels[1].Data[at:at+2]) {
			continue
		}
		var pair [2]float32
		for k, d := range depths {
			pair[k] = math.Float32frombits(binary.LittleEndian.Uint32(d.Data[y*d.Step+4*x:]))
		}
		same = append(same, pair)
	}
	return same, pixels
}

// TestTracedCamerasAgree holds camera.trace with each lens and camera.sun against their shaders:
// labels, depth where labels are equal, and colours under traced shadows. One scene has all
// lenses.
func TestTracedCamerasAgree(t *testing.T) {
	gl, host := gputest.Thread(t), start(t, hostdev.Options{})
	for name, s := range scenes(t) {
		for lens, attributes := range lenses() {
			if name != "cut outs" && lens != "svl_fisheye" {
				continue
			}
			t.Run(name+" "+lens, func(t *testing.T) {
				same, pixels := comparePictures(t, [2]*gpu.Thread{gl, host}, s, attributes)
				labels, depths := pixels-len(same), 0
				for _, d := range same {
					if !near(d[0], d[1]) {
						depths++
					}
				}
				t.Logf("%d pixels, %d labels and %d depths differ", pixels, labels, depths)
				assert.LessOrEqual(t, labels, pixels/1000)
				assert.LessOrEqual(t, depths, pixels/1000)
			})
		}
		t.Run(name+" sun", func(t *testing.T) {
			traced := map[string]any{"shadows": "traced"}
			want, got := photo(t, gl, s, camera.RGBDefinition, traced), photo(t, host, s, camera.RGBDefinition, traced)
			off := 0
			for i := range want.Data {
				if math.Abs(float64(want.Data[i])-float64(got.Data[i])) > 2 {
					off++
				}
			}
			t.Logf("%d of %d values differ by more than 2", off, len(want.Data))
			assert.LessOrEqual(t, off, len(want.Data)/200)
		})
	}
}

// TestPicturesDependOnNoEarlierOnes: what a device keeps from one capture to the next, such as empty
// tiles of the sun's maps, shows in no picture.
func TestPicturesDependOnNoEarlierOnes(t *testing.T) {
	for name, s := range scenes(t) {
		fire := func(stamps ...simtime.Stamp) (sums []uint64) {
			h := sensortest.New(t, camera.RGBDefinition, sensortest.Options{
				Scene: s, GL: start(t, hostdev.Options{}), Mount: spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.6}, 3, 2, 11), Ego: s.Route,
				Attributes: map[string]any{"image_size_x": 221, "image_size_y": 165},
			})
			defer h.End()
			for _, stamp := range stamps {
				h.Fire(stamp)
				sums = append(sums, sum(sensortest.Last[*sample.Image](h, "image").Data))
			}
			return sums
		}
		stamps := []simtime.Stamp{period, 2 * period, 30 * period, 31 * period}
		var alone []uint64
		for _, stamp := range stamps {
			alone = append(alone, fire(stamp)...)
		}
		assert.Equal(t, alone, fire(stamps...), name)
	}
}

// TestBitsDependOnNothing: every instruction set, any number of threads and a second run give
// the same bytes.
func TestBitsDependOnNothing(t *testing.T) {
	s := textured(7, 3000, true)
	attributes := firings()["surface noisy true rolling true"]
	echoes := map[string]map[string]any{
		"flakes": {"weather": weather.State{Snow: 2}}, "rays in sleet": {"weather": weather.State{Rain: 5, Snow: 2, Visibility: 200}, "beam_divergence": 0.0},
		"triple": {"weather": weather.State{Rain: 5, Visibility: 200}, "returns": "triple"}, "dry": {"returns": "dual", "dropoff_general_rate": 0.1},
	}
	var first map[string]uint64
	for _, isa := range hostdev.ISAs() {
		for threads := 1; threads <= 3; threads++ {
			if testing.Short() && threads != 2 {
				continue
			}
			for range 2 {
				thread := start(t, hostdev.Options{ISA: isa, Threads: threads})
				w := newWorld(t, thread, s)
				sums := map[string]uint64{"lidar": sum(gpu.BytesOf(scan(t, thread, s, attributes)))}
				for name, a := range echoes {
					a["preset"], a["columns"] = "VelodyneVLP16_real", 150
					sums[name] = sum(gpu.BytesOf(scan(t, thread, s, a)))
				}
				for lens, attributes := range lenses() {
					sums[lens] = sum(photo(t, thread, s, camera.InstanceDefinition, attributes).Data)
				}
				sums["sun"] = sum(photo(t, thread, s, camera.RGBDefinition, map[string]any{"shadows": "traced"}).Data)
				for name, j := range map[string]*job{"trace": traceJob(2, false), "occlusion": traceJob(2, true), "rays": raysJob(2, 3), "sights": sightsJob(2, 3)} {
					sums[name] = sum(w.run(t, j))
				}
				w.resident.Close()
				w.motion.Close()
				if first == nil {
					first = sums
				}
				require.Equal(t, first, sums, "%s, %d threads", isa, threads)
			}
		}
	}
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// TestBrokenTablesAreErrors: hierarchies that lead nowhere or in a circle, and tables that are
// missing or too short, are errors that name them.
func TestBrokenTablesAreErrors(t *testing.T) {
	thread := start(t, hostdev.Options{Threads: 2})
	const valid = 1 << 30
	node := func(ref uint32) []uint32 { // its first child is a cube
		axis := words(-1, 1, 1, 1, 1, -1, -1, -1)
		return append(slices.Concat(axis, axis, axis), ref, 0, 0, 0)
	}
	motion := func(root, top uint32) []uint32 {
		return slices.Concat(words(1, 0, 0), []uint32{top}, words(6, 6, 11), []uint32{root}, words(make([]float32, 16)...), node(valid))
	}
	row, none := make([]uint32, 12), make([]uint32, 28)
	for _, c := range []struct {
		says                string
		nodes, motion, rows []uint32
	}{
		{"the hierarchy below node 0 can't be made", node(valid), motion(valid, 0), row},
		{"the hierarchy below node 7 can't be made", node(valid), motion(valid|7, 0), row},
		{"the movers' hierarchy can't be made", none, motion(0, valid), row},
		{"the motion table has 1 texels", none, make([]uint32, 4), row},
		{"the scene's tables have 6, 3 and 3 rows", none, motion(0, 0), make([]uint32, 24)},
		{"sampler 0 has no table", nil, motion(0, 0), row},
		{"", none, motion(0, 0), row}, // an empty scene
	} {
		err := thread.Do(context.Background(), func(ctx *gpu.Ctx) error {
			source, err := shaders.Source(&shaders.SceneTrace)
			require.NoError(t, err)
			program, err := ctx.NewProgram(gpu.ProgramDesc(source))
			require.NoError(t, err)
			defer program.Close()
			var bind []gpu.Binding
			for slot, data := range [][]uint32{c.nodes, c.rows, row, row, none, {0}, {0}, row, c.motion} {
				if data == nil {
					continue
				}
				b, err := ctx.NewBuffer(gpu.BufferDesc{Label: "table", Size: 4 * len(data), Data: gpu.BytesOf(data)})
				require.NoError(t, err)
				defer b.Close()
				desc := gpu.TextureDesc{Label: "table", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: b}
				if len(data) == 1 {
					desc = gpu.TextureDesc{Label: "pictures", Kind: gpu.Texture2DArray, Format: gpu.FormatRGBA8, Width: 1, Height: 1, Layers: 1}
				}
				view, err := ctx.NewTexture(desc)
				require.NoError(t, err)
				defer view.Close()
				bind = append(bind, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: view})
			}
			list := traceJob(1, false).storage[0]
			for slot := range 2 {
				b, err := ctx.NewBuffer(gpu.BufferDesc{Label: "rays", Size: len(list), Data: list})
				require.NoError(t, err)
				defer b.Close()
				bind = append(bind, gpu.Binding{Kind: gpu.BindStorage, Slot: slot, Buffer: b})
			}
			require.NoError(t, ctx.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: [3]int{8, 200, 1}}))
			return ctx.Finish()
		})
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says)
	}
}

// TestAFailedKernelFailsItsFence: what a kernel can't do is an error of the next entry, its fence
// fails, and the device works on.
func TestAFailedKernelFailsItsFence(t *testing.T) {
	thread := start(t, hostdev.Options{Threads: 1})
	w := newWorld(t, thread, scenetest.Soup(1, 60, false))
	j := raysJob(1, 0)
	j.uniform = j.uniform[:8]
	err := thread.Do(context.Background(), func(c *gpu.Ctx) error {
		source, err := shaders.Source(j.entry)
		require.NoError(t, err)
		program, err := c.NewProgram(gpu.ProgramDesc(source))
		require.NoError(t, err)
		defer program.Close()
		require.NoError(t, c.Dispatch(&gpu.Dispatch{Program: program, Bind: w.resident.Bindings(nil), Groups: j.groups}))
		fence, err := c.NewFence()
		require.NoError(t, err)
		defer fence.Close()
		require.NoError(t, c.Finish())
		assert.Equal(t, gpu.FenceFailed, c.PollFence(fence))
		require.NoError(t, c.ResetFence(fence))
		require.NoError(t, c.Finish())
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(fence))
		return nil
	})
	require.ErrorContains(t, err, "uniform block 0 has 0 bytes")
	assert.Len(t, w.run(t, raysJob(1, 0)), 16*listedRays)
}
