//go:build cgo

package raybridge_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

const (
	scanPeriod    = int64(100 * time.Millisecond)
	runTime       = 300 * time.Millisecond
	width, height = 640, 480
	fieldOfView   = 90.0
	// Every so many rays and pixels are compared: the reference is slow.
	rayStride, pixelStride = 3, 6
)

// street is a configuration of testdata.
func street(t *testing.T, file string) *config.Config {
	t.Helper()
	c, err := config.Reader{}.Read(filepath.Join(root, "testdata", file))
	require.NoError(t, err)
	return c
}

// drive is a short run of a lidar and a depth and a semantic camera.
type drive struct {
	scene  *scene.Scene
	p      *pipeline.Pipeline
	lidar  *pipeline.Sensor
	camera *pipeline.Sensor

	scans  []sample.PointCloud
	depths []sample.Image
	labels []sample.Image
}

func newDrive(t *testing.T, c *config.Config) *drive {
	t.Helper()
	s, warnings, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	ego, _, err := raybridge.EgoOf(c, s)
	require.NoError(t, err)
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: s, Ego: ego, Sensors: all.Registry(),
		Open: gputest.Opener(),
	})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	d := &drive{scene: s, p: p}
	size := map[string]any{"image_size_x": width, "image_size_y": height, "fov": fieldOfView}
	d.lidar = d.add(t, "sensor.lidar.ray_cast", sensors.Pose{X: 0.9, Z: 1.9}, map[string]any{"preset": "VelodyneVLP16", "organized": true})
	// Tilted, so that no wall's edge runs along a column of pixels.
	tilted := sensors.Pose{X: 1.4, Z: 1.55, Roll: 3, Pitch: 2, Yaw: 11}
	d.camera = d.add(t, "sensor.camera.depth", tilted, size)
	semantic := d.add(t, "sensor.camera.semantic_segmentation", tilted, size)
	keep(t, d.lidar, "points", &d.scans)
	keep(t, d.camera, "image", &d.depths)
	keep(t, semantic, "image", &d.labels)
	require.NoError(t, p.Run(t.Context(), runTime))
	return d
}

func (d *drive) add(t *testing.T, id string, pose sensors.Pose, attributes map[string]any) *pipeline.Sensor {
	t.Helper()
	s, err := d.p.AddSensor(sensors.Config{ID: id, Name: filepath.Ext(id)[1:], Pose: pose, Attributes: attributes})
	require.NoError(t, err)
	return s
}

// keep collects copies of all messages of an output.
func keep[E any](t *testing.T, s *pipeline.Sensor, output string, into *[]E) {
	t.Helper()
	_, err := pipeline.Listen(s, output, func(_ sensors.Tick, m *E) {
		*into = append(*into, *new(E))
		sample.Copy(&(*into)[len(*into)-1], m)
	})
	require.NoError(t, err)
}

// ray is one range of a sensor in the map frame.
type ray struct {
	origin, direction mgl64.Vec3
	low, high         float64
	stamp             simtime.Stamp
	got               float64
	// spread is the angle, in radians, by which a rasteriser may see beside it.
	spread float64
}

// besideEdge tells whether a ray within the spread has nearly the range. Rasterisers round
// corners to 1/256 of a pixel, and what is cut off at the near plane a little more.
func (r *ray) besideEdge(tracer *scenetest.Tracer) bool {
	x := r.direction.Cross(mgl64.Vec3{0, 0, 1}).Normalize()
	y := x.Cross(r.direction)
	for _, part := range []float64{0.15, 0.4, 1} {
		for k := range 8 {
			sin, cos := math.Sincos(float64(k) * math.Pi / 4)
			d := r.direction.Add(x.Mul(cos).Add(y.Mul(sin)).Mul(part * r.spread)).Normalize()
			want := math.Inf(1)
			if h, ok := tracer.Trace(r.origin, d, r.low, r.high, r.stamp); ok {
				want = h.T
			}
			if want == r.got || math.Abs(want-r.got) <= 0.01+0.01*want {
				return true
			}
		}
	}
	return false
}

// compare holds ranges beside the float64 tracer on all processors.
func (d *drive) compare(rays []ray) *scenetest.Agreement {
	tracer := scenetest.NewTracer(d.scene, d.p.History().Pose)
	parts := make([]scenetest.Agreement, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for w := range parts {
		workers.Go(func() {
			for i := w; i < len(rays); i += len(parts) {
				r := &rays[i]
				wrong := parts[w].Wrong
				parts[w].Add(tracer, r.origin, r.direction, r.low, r.high, r.stamp, r.got)
				if parts[w].Wrong > wrong && r.spread > 0 && r.besideEdge(tracer) {
					parts[w].Wrong--
					parts[w].Edge++
				}
			}
		})
	}
	workers.Wait()
	var sum scenetest.Agreement
	for i := range parts {
		sum.Equal += parts[i].Equal
		sum.Edge += parts[i].Edge
		sum.Wrong += parts[i].Wrong
		sum.Worst = max(sum.Worst, parts[i].Worst)
		sum.Examples = append(sum.Examples, parts[i].Examples...)
	}
	return &sum
}

func (d *drive) pose(t *testing.T, s *pipeline.Sensor, stamp simtime.Stamp) spatial.Pose {
	t.Helper()
	ego, ok := d.p.History().Pose(scene.EgoID, stamp)
	require.True(t, ok)
	return ego.Compose(s.Mount())
}

// lidarRays lists the rays of all scans; a scan rolls while everything moves.
func (d *drive) lidarRays(t *testing.T) []ray {
	t.Helper()
	device, ok := lidar.Preset("VelodyneVLP16")
	require.True(t, ok)
	var list []ray
	for i := range d.scans {
		scan := &d.scans[i]
		for k, r := range device.Rays(scanPeriod) {
			if k%rayStride != i%rayStride {
				continue
			}
			at := scan.Stamp + simtime.Stamp(r.TimeNs)
			pose := d.pose(t, d.lidar, at)
			list = append(list, ray{pose.Apply(r.Origin), pose.Rotate(r.Direction), r.MinM, r.MaxM, at, float64(scan.Points[k].Distance), 0})
		}
	}
	return list
}

// depthRays lists the rays through the pixels of all pictures; a depth is planar
// (REP-118).
func (d *drive) depthRays(t *testing.T) []ray {
	t.Helper()
	lens, err := camera.NewLens(width, height, fieldOfView)
	require.NoError(t, err)
	var list []ray
	for i := range d.depths {
		m := &d.depths[i]
		pose := d.pose(t, d.camera, m.Stamp).Compose(spatial.OpticalInBody())
		for v := pixelStride / 2; v < height; v += pixelStride {
			for u := pixelStride / 2; u < width; u += pixelStride {
				r := lens.Ray(float64(u), float64(v))
				got := float64(math.Float32frombits(binary.LittleEndian.Uint32(m.Data[v*m.Step+4*u:])))
				list = append(list, ray{pose.Position, pose.Rotate(r).Normalize(), 0.05 * r.Len(), 1000 * r.Len(), m.Stamp, got * r.Len(), 0.02 / lens.Fx})
			}
		}
	}
	return list
}

// tags lists the labels that the lidar and the camera saw.
func (d *drive) tags() map[scene.Tag]int {
	seen := map[scene.Tag]int{}
	for i := range d.scans {
		for k := range d.scans[i].Points {
			if p := &d.scans[i].Points[k]; p.Instance != 0 {
				seen[scene.Tag(p.Tag)]++
			}
		}
	}
	for i := range d.labels {
		for _, tag := range d.labels[i].Data {
			seen[scene.Tag(tag)]++
		}
	}
	return seen
}

// hits is the share of lidar rays that came back.
func (d *drive) hits() float64 {
	hits, rays := 0, 0
	for i := range d.scans {
		for k := range d.scans[i].Points {
			rays++
			if !math.IsInf(float64(d.scans[i].Points[k].Distance), 0) {
				hits++
			}
		}
	}
	return float64(hits) / float64(rays)
}

func (d *drive) agrees(t *testing.T) {
	t.Helper()
	require.Len(t, d.scans, 3)
	require.Len(t, d.depths, 3)
	a := d.compare(append(d.lidarRays(t), d.depthRays(t)...))
	t.Log(a)
	assert.GreaterOrEqual(t, a.Share(), 0.9999)
	assert.Zero(t, a.Wrong, "ranges that no edge explains: %v", a.Examples)
}

func TestTheCityAgreesWithTheTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	d := newDrive(t, config.Default())
	d.agrees(t)
	assert.GreaterOrEqual(t, d.hits(), 0.6)
	assert.GreaterOrEqual(t, len(d.tags()), 8)
}

func TestTheStreetAgreesWithTheTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	driveAlong(t, street(t, "street.yaml"))
}

func TestTheKaykitStreetAgreesWithTheTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	if _, err := os.Stat(filepath.Join(root, "../shared/assets/kaykit_city")); err != nil {
		t.Skipf("needs the models of ../shared/assets/kaykit_city beside the checkout; TestTheStreetAgreesWithTheTracer has our own: %v", err)
	}
	t.Parallel()
	driveAlong(t, street(t, "kaykit_street.yaml"))
}

// driveAlong holds a run in a street beside the tracer.
func driveAlong(t *testing.T, c *config.Config) {
	t.Helper()
	d := newDrive(t, c)
	d.agrees(t)
	assert.GreaterOrEqual(t, d.hits(), 0.5)
	seen := d.tags()
	for _, tag := range []scene.Tag{scene.TagRoads, scene.TagBuilding, scene.TagPole} {
		assert.Positive(t, seen[tag], "nothing of %v was seen", tag)
	}
}
