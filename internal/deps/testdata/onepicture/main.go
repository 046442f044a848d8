// Command onepicture steps a simulation with one camera and a Foxglove server until it has
// sent pictures to a client, clears its coverage counters, sends one picture more, and
// writes the counters to the folder that it is given. It prints the server's address.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	p, err := pipeline.New(ctx, pipeline.Config{
		Scene: scenetest.Soup(1, 200, false), Open: eglctx.Open(eglctx.Options{Device: "software"}),
		Sensors: all.Registry(), Bridges: bridges.MustRegistry(foxglove.Factory{}),
	})
	if err != nil {
		return err
	}
	_, err = p.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "front", Rate: simtime.Hz(10), Attributes: map[string]any{
		"image_size_x": 64, "image_size_y": 48,
	}})
	if err == nil {
		err = p.AddBridge(ctx, carry.BridgeConfig{Spec: "foxglove:127.0.0.1:0"})
	}
	if err != nil {
		return errors.Join(err, p.Close(ctx))
	}
	fmt.Println(p.Summary().Bridges[0].Endpoints[0].Address)
	return errors.Join(send(ctx, p, folder), p.Close(ctx))
}

// send sends pictures, the last one with counters.
func send(ctx context.Context, p *pipeline.Pipeline, folder string) error {
	for n := 0; n == 0 && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		n, _ = p.Receivers("/front/image_raw")
	}
	if err := p.Step(ctx, 25); err != nil { // two pictures, and half of the way to the next
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	delivered, err := p.StepSensors(ctx, 10)
	if err != nil {
		return err
	}
	if len(delivered) != 1 || delivered[0].Messages != 1 {
		return fmt.Errorf("want one picture, have %+v", delivered)
	}
	return errors.Join(coverage.WriteMetaDir(folder), coverage.WriteCountersDir(folder))
}
