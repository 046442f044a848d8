//go:build cgo

package hostdev_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// call is one call of a gpu.Driver: its method, its arguments, and the handle that it returned.
// What a reading call has read stands in its argument.
type call struct {
	Method string
	Args   []any
	Handle gpu.Handle
}

// recorder is a driver that keeps the calls which decide what others read. It reads each copy.
type recorder struct {
	gpu.Driver
	calls   []call
	copies  int // each is read
	entries map[gpu.Handle]string
	done    map[string]bool // entries that were dispatched or drawn
}

// record returns an opener of a host device whose calls are kept.
func record(o hostdev.Options) (*recorder, gpu.Opener) {
	r := &recorder{entries: map[gpu.Handle]string{}, done: map[string]bool{}}
	return r, func() (*gpu.Context, error) {
		c, err := hostdev.Open(o)()
		if err == nil {
			r.Driver, c.Driver = c.Driver, r
		}
		return c, err
	}
}

// Info says that captures need copies, so that each is read.
func (r *recorder) Info() gpu.Info {
	info := r.Driver.Info()
	info.HostMemory = false
	return info
}

// keep keeps a call. Its arguments are read at once: the caller uses their memory again.
func (r *recorder) keep(h gpu.Handle, method string, args ...any) {
	for i, a := range args {
		args[i] = json.RawMessage(must(json.Marshal(a)))
	}
	r.calls = append(r.calls, call{method, args, h})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (r *recorder) CreateBuffer(d gpu.BufferDesc) (gpu.Handle, error) {
	h, err := r.Driver.CreateBuffer(d)
	r.keep(h, "CreateBuffer", d)
	return h, err
}

func (r *recorder) WriteBuffer(h gpu.Handle, offset int, data []byte) error {
	r.keep(0, "WriteBuffer", h, offset, data)
	return r.Driver.WriteBuffer(h, offset, data)
}

func (r *recorder) ReadBuffer(h gpu.Handle, offset int, dst []byte) error {
	err := r.Driver.ReadBuffer(h, offset, dst)
	r.keep(0, "ReadBuffer", h, offset, dst)
	return err
}

func (r *recorder) CopyBuffer(dst, src gpu.Handle, to, from, size int) error {
	r.keep(0, "CopyBuffer", dst, src, to, from, size)
	if err := r.Driver.CopyBuffer(dst, src, to, from, size); err != nil {
		return err
	}
	r.copies++
	return r.ReadBuffer(dst, to, make([]byte, size))
}

func (r *recorder) CreateTexture(d gpu.TextureDesc, buffer gpu.Handle) (gpu.Handle, error) {
	h, err := r.Driver.CreateTexture(d, buffer)
	d.Buffer = nil
	r.keep(h, "CreateTexture", d, buffer)
	return h, err
}

func (r *recorder) WriteTexture(h gpu.Handle, d *gpu.TextureDesc, at gpu.TextureRegion, data []byte) error {
	r.keep(0, "WriteTexture", h, d, at, data)
	return r.Driver.WriteTexture(h, d, at, data)
}

func (r *recorder) CopyTextureToBuffer(src gpu.Handle, level int, f gpu.Format, dst gpu.Handle, offset, size int) error {
	r.keep(0, "CopyTextureToBuffer", src, level, f, dst, offset, size)
	if err := r.Driver.CopyTextureToBuffer(src, level, f, dst, offset, size); err != nil {
		return err
	}
	return r.ReadBuffer(dst, offset, make([]byte, size))
}

func (r *recorder) CreateProgram(d gpu.ProgramDesc) (gpu.Handle, error) {
	h, err := r.Driver.CreateProgram(d)
	if err != nil {
		return h, err // one that this device hasn't
	}
	d.Compute, d.Vertex, d.Fragment = "", "", ""
	r.keep(h, "CreateProgram", d)
	r.entries[h] = d.Entry
	return h, err
}

func (r *recorder) CreateFramebuffer(d gpu.FramebufferDesc, colors []gpu.Handle, depth gpu.Handle) (gpu.Handle, error) {
	h, err := r.Driver.CreateFramebuffer(d, colors, depth)
	d.Color, d.Depth = nil, nil
	r.keep(h, "CreateFramebuffer", d, colors, depth)
	return h, err
}

func (r *recorder) ClearFramebuffer(h gpu.Handle, attachments int, colors []gpu.ClearColor, depth bool) error {
	r.keep(0, "ClearFramebuffer", h, attachments, colors, depth)
	return r.Driver.ClearFramebuffer(h, attachments, colors, depth)
}

func (r *recorder) Dispatch(p gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	r.done[r.entries[p]] = true
	r.keep(0, "Dispatch", p, bind, groups)
	return r.Driver.Dispatch(p, bind, groups)
}

func (r *recorder) Draw(p, frame gpu.Handle, bind []gpu.BoundResource, d *gpu.Draw) error {
	r.done[r.entries[p]] = true
	r.keep(0, "Draw", p, frame, bind, &gpu.Draw{Viewport: d.Viewport, Calls: d.Calls, CullBack: d.CullBack, DepthBias: d.DepthBias})
	return r.Driver.Draw(p, frame, bind, d)
}

func (r *recorder) CreateFence() (gpu.Handle, error) {
	h, err := r.Driver.CreateFence()
	r.keep(h, "CreateFence")
	return h, err
}

func (r *recorder) CreateQuery() (gpu.Handle, error) {
	h, err := r.Driver.CreateQuery()
	r.keep(h, "CreateQuery")
	return h, err
}

func (r *recorder) Finish() error {
	r.keep(0, "Finish")
	return r.Driver.Finish()
}

func (r *recorder) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	r.keep(0, "Delete", kind, h)
	r.Driver.Delete(kind, h)
}

// write writes the calls to a file, a line each.
func (r *recorder) write(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	for _, c := range r.calls {
		require.NoError(t, json.NewEncoder(&b).Encode(c))
	}
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// readCalls reads what write wrote.
func readCalls(t *testing.T, path string) (calls []call) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var line struct {
			Method string
			Args   []json.RawMessage
			Handle gpu.Handle
		}
		require.NoError(t, d.Decode(&line))
		c := call{Method: line.Method, Handle: line.Handle}
		for _, a := range line.Args {
			c.Args = append(c.Args, a)
		}
		calls = append(calls, c)
	}
	return calls
}

// replay makes recorded calls on a host device, and holds all that is read against what was.
func replay(t *testing.T, calls []call, o hostdev.Options) {
	t.Helper()
	c, err := hostdev.Open(o)()
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	read := 0
	var differ []string // calls, and how many bytes of them
	for n, of := range calls {
		method := reflect.ValueOf(c.Driver).MethodByName(of.Method)
		args := make([]reflect.Value, len(of.Args))
		for i, a := range of.Args {
			v := reflect.New(method.Type().In(i))
			require.NoError(t, json.Unmarshal(a.(json.RawMessage), v.Interface()))
			args[i] = v.Elem()
		}
		var want []byte
		if of.Method == "ReadBuffer" {
			want = bytes.Clone(args[2].Bytes())
			clear(args[2].Bytes())
		}
		for _, result := range method.Call(args) {
			switch v := result.Interface().(type) {
			case gpu.Handle:
				require.Equal(t, of.Handle, v, "call %d, %s", n, of.Method)
			case error:
				require.NoError(t, v, "call %d, %s", n, of.Method)
			}
		}
		if want != nil {
			wrong := 0
			for i, b := range args[2].Bytes() {
				if b != want[i] {
					wrong++
				}
			}
			if wrong > 0 {
				differ = append(differ, fmt.Sprintf("call %d: %d of %d bytes", n, wrong, len(want)))
			}
			read += len(want)
		}
	}
	require.Empty(t, c.Driver.DebugErrors())
	require.Positive(t, read)
	require.Empty(t, differ, "%s, %d threads", o.ISA, o.Threads)
}

// recordAll fires sensors and lists of rays so that every entry of the catalogue runs, with small
// pictures and few rays.
func recordAll(t *testing.T, o hostdev.Options) *recorder {
	t.Helper()
	r, open := record(o)
	thread, err := gpu.Start(open)
	require.NoError(t, err)
	for seed, blended := range []bool{false, true} {
		s := textured(uint64(seed)+7, 600, blended)
		s.Materials[1].Paint, s.Actors[1].Paint = true, &[3]uint8{10, 200, 90}
		s.Materials[2].Lamps, s.Materials[3].Emissive = world.LightBrake, [3]float32{1, 2, 3}
		for _, f := range shots(blended) {
			size := map[string]any{"image_size_x": 67, "image_size_y": 35}
			if f.definition == lidar.RayCastDefinition {
				size = map[string]any{"preset": "VelodyneVLP16", "columns": 45}
			}
			if f.definition == groundtruth.Boxes2DDefinition {
				size = nil
			}
			attributes, fallen := weathered(f.attributes)
			if attributes == nil {
				attributes = map[string]any{}
			}
			maps.Copy(attributes, size)
			h := sensortest.New(t, f.definition, sensortest.Options{
				Scene: s, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.6}, 3, 2, 11), Ego: s.Route, Seed: 5, Attributes: attributes, Weather: fallen,
			})
			before := r.copies
			h.Fire(period)
			h.Fire(2 * period)
			h.End()
			require.Equal(t, before+2, r.copies, "captures of %s that are read", f.definition.ID)
			h.Env.Resident.Close()
		}
		w := newWorld(t, thread, s)
		for _, j := range []*job{traceJob(2, false), traceJob(2, true), raysJob(2, 3), sightsJob(2, 3)} {
			w.run(t, j)
		}
		w.resident.Close()
		w.motion.Close()
	}
	require.Empty(t, thread.Live())
	require.NoError(t, thread.Close())
	for _, e := range shaders.All() {
		assert.True(t, r.done[e.Name], "%s was recorded", e.Name)
	}
	return r
}

// shot is a sensor that a recording fires.
type shot struct {
	definition *sensors.Definition
	attributes map[string]any
}

func shots(short bool) []shot {
	list := []shot{
		{camera.RGBDefinition, nil}, {camera.RGBDefinition, map[string]any{"shadows": "traced"}}, {groundtruth.Boxes2DDefinition, nil},
		{lidar.RayCastDefinition, map[string]any{"intensity": "range_corrected", "r10": 60.0}},
		{lidar.RayCastDefinition, map[string]any{"intensity": "range_corrected", "r10": 60.0, "rolling": false, "detection": "sharp", "intensity_code": "hesai"}},
		{lidar.RayCastDefinition, map[string]any{"intensity": "range_corrected", "r10": 60.0, "beam_divergence": 30.0, "returns": "triple"}},
		{lidar.RayCastDefinition, map[string]any{"intensity": "range_corrected", "r10": 200.0, "weather": weather.State{Visibility: 60, Wetness: 0.5}}},
		{lidar.RayCastDefinition, map[string]any{
			"intensity": "range_corrected", "r10": 200.0, "beam_divergence": 30.0, "returns": "triple", "weather": weather.State{Visibility: 200, Rain: 50, Snow: 2},
		}},
		{lidar.RayCastDefinition, map[string]any{
			"intensity": "range_corrected", "r10": 200.0, "beam_divergence": 3.0, "weather": weather.State{Visibility: 200, Snow: 5},
		}},
	}
	all := firings()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !short || strings.HasSuffix(name, "noisy true rolling true") {
			list = append(list, shot{lidar.RayCastDefinition, all[name]})
		}
	}
	named := lenses()
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, shot{camera.InstanceDefinition, named[name]}, shot{camera.RGBDefinition, named[name]})
	}
	if short {
		return list
	}
	return append(list,
		shot{camera.RGBDefinition, map[string]any{"samples": 9, "encoding": "bgr8"}}, shot{camera.RGBDefinition, map[string]any{"enable_postprocess_effects": false, "encoding": "bgra8"}},
		shot{camera.DepthDefinition, nil}, shot{camera.DepthDefinition, map[string]any{"output": "carla"}}, shot{camera.DepthDefinition, map[string]any{"output": "svl"}},
		shot{camera.SemanticDefinition, nil}, shot{camera.SemanticDefinition, map[string]any{"output": "palette"}}, shot{camera.NormalsDefinition, nil},
		shot{camera.InstanceDefinition, map[string]any{"encoding": "32SC1"}}, shot{camera.OpticalFlowDefinition, nil}, shot{camera.DVSDefinition, nil},
	)
}

// replayed names a file of recorded calls that TestReplay replays: its process is one of another
// CPU.
const replayed = "RAYBRIDGE_REPLAY"

// TestEveryKernelGivesTheSameBits: any instruction set, any number of threads, and again.
func TestEveryKernelGivesTheSameBits(t *testing.T) {
	r := recordAll(t, hostdev.Options{Threads: 1})
	path := filepath.Join(t.TempDir(), "calls.json")
	r.write(t, path)
	calls := readCalls(t, path)
	for _, isa := range hostdev.ISAs() {
		for _, threads := range []int{1, 2, 3, 2} {
			if testing.Short() && threads != 2 {
				continue
			}
			replay(t, calls, hostdev.Options{ISA: isa, Threads: threads})
		}
	}
}

// TestReplay is run by TestOtherCPUs.
func TestReplay(t *testing.T) {
	path := os.Getenv(replayed)
	if path == "" {
		t.Skip("TestOtherCPUs runs this on other CPUs")
	}
	calls := readCalls(t, path)
	for _, isa := range hostdev.ISAs() {
		t.Run(isa, func(t *testing.T) { replay(t, calls, hostdev.Options{ISA: isa, Threads: 2}) })
	}
}
