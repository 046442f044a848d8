package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// BenchmarkMessage is the way of one small message from a sensor's tick through a recording's
// lane and a listener. A stepped run costs that beside its sensors.
func BenchmarkMessage(b *testing.B) {
	for name, captured := range map[string]string{"computed": plainID, "captured": laggyID} {
		b.Run(name, func(b *testing.B) {
			to := &sink{}
			p := newUnclocked(b, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(to)})
			s := addScripted(b, p, captured, "s", "100")
			hear(b, s, func(sensors.Tick, *sample.Imu) {})
			if err := p.AddBridge(b.Context(), carry.BridgeConfig{Spec: "test:x"}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := p.Run(b.Context(), time.Duration(b.N)*10*time.Millisecond); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// sink is a peer that keeps nothing.
type sink struct{ peer }

func (s *sink) Register(to *bridges.Plugin) error {
	return bridges.RegPublisher(to, "Imu", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Imu], error) {
		return func(context.Context, *sample.Imu) error { return nil }, nil
	})
}
