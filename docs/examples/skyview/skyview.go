// Package skyview is a sensor of one's own, as a module outside raybridge would write
// it: a compute shader finds which share of the sky can be seen from where it stands.
package skyview

import (
	"context"
	"embed"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

//go:embed skyview.comp
var files embed.FS

var shader = shaders.Entry{
	Name: "sky view", Compute: "skyview.comp", Files: files, Workgroup: [3]int{64, 1, 1},
	Bindings: append(shaders.SceneTables(), shaders.Binding{Name: "Results", Kind: shaders.KindStorage}),
}

// SkyView is the message: Share is 0 under a roof, 1 in the desert.
type SkyView struct {
	sample.Header
	Share float64
}

// CopyToCache lets queues keep a SkyView.
func (m *SkyView) CopyToCache(dst *SkyView) { *dst = *m }

// CacheKey groups all of them in one pool.
func (m *SkyView) CacheKey() uint64 { return 0 }

// Definition describes the sensor.
var Definition = &sensors.Definition{
	ID: "sensor.example.sky_view", Number: 1 << 15, Doc: "share of the sky that is visible", Tags: []string{"gpu"},
	Attributes: []sensors.Attribute{{Name: "rays", Type: sensors.Int, Min: 64, Max: 1 << 16, Default: int64(4096), Doc: "directions looked along"}},
	Outputs:    []sensors.OutputSpec{sensors.Declare[SkyView](sensors.OutputSpec{Name: "sky_view"})}, DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		s, n := &sensor{}, spec.Settings.Int("rays")
		s.Sensor = compute.New(spec, compute.Shader[uint32]{
			Entry: &shader, Results: n, Invocations: [3]int{n, 1, 1}, Publish: s.publish,
		})
		return s, nil
	},
}

type sensor struct {
	*compute.Sensor[uint32]
	out *sensors.Output[*SkyView]
}

func (s *sensor) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*SkyView](env, "sky_view"); err != nil {
		return err
	}
	return s.Sensor.Begin(ctx, env)
}

func (s *sensor) publish(at sensors.Tick, header sample.Header, sky []uint32) {
	sum := uint32(0)
	for _, x := range sky {
		sum += x
	}
	s.out.TryQueue(at, &SkyView{header, float64(sum) / float64(len(sky))})
}
