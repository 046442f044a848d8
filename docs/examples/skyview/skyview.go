// Package skyview is a sensor as a module outside raybridge writes it: a compute shader finds the visible share of the sky.
package skyview

import (
	"context"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
)

var shader = shaders.Entry{
	Name: "sky view", Compute: "skyview.comp", Files: map[string]string{"skyview.comp": glsl}, Workgroup: [3]int{64, 1, 1},
	Bindings: append(shaders.SceneTables(), shaders.Binding{Name: "Results", Kind: shaders.KindStorage}),
}

// SkyView is the message: Share is 0 under a roof, 1 in the desert.
type SkyView struct {
	sample.Header
	Share float64
}

// Options are what a rig may set.
type Options struct {
	Rays int `attribute:"rays" default:"4096" min:"64" max:"65536" doc:"directions looked along"`
}

// Definition describes the sensor.
var Definition = sensors.Define(sensors.Definition{
	ID: "sensor.example.sky_view", Number: 1 << 15, Doc: "share of the sky that is visible", Tags: []string{"gpu"}, OpenGL: true,
	Outputs: sensors.OneOutput[SkyView](sensors.OutputSpec{Name: "sky_view"}), Rate: simtime.Hz(10),
}, func(spec sensors.Spec, o Options) (sensors.Sensor, error) {
	s := &sensor{}
	s.Sensor = compute.New(spec, compute.Shader[uint32]{Entry: &shader, Results: o.Rays, Invocations: [3]int{o.Rays, 1, 1}, Publish: s.publish})
	return s, nil
})

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

const glsl = `
// Looks up along evenly spread directions, one an invocation: is there only sky?
layout(local_size_x = LOCAL_SIZE_X) in;
#include "lib/trace.glsl"
layout(std430, binding = 0) writeonly buffer Results { uint sky[]; };
void main() {
    int i = int(gl_GlobalInvocationID.x), n = sky.length();
    if (i >= n) return;
    float z = (float(i) + 0.5) / float(n), turn = 2.39996323 * float(i); // the golden angle
    vec3 direction = vec3(sqrt(1.0 - z * z) * vec2(cos(turn), sin(turn)), z);
    RigidPose sensor = sensorPose(momentAt(0.0));
    sky[i] = occluded(Ray(sensor.position, rotate(sensor.rotation, direction)), 0.01, 500.0, 0.0) ? 0u : 1u;
}
`
