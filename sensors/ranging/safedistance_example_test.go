//go:build cgo

package ranging_test

import (
	"context"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/spatial"
)

// park puts a car into a scene.
func park(b *scenetest.Builder, typeID string, x, y float64) *scene.Actor {
	place := scenetest.At(x, y, 0.75, scene.TagCar)
	place.TypeID = typeID
	return b.Put(typeID, scenetest.Box(4, 2, 1.5), scenetest.Matte(typeID, 0.8, 0.1, 0.1), place)
}

// The fifth step of CARLA's tutorial: find the sensor, spawn it on a vehicle while the
// simulation runs, and print who comes too close.
func Example_safeDistance() {
	ctx := context.Background()
	town := scenetest.NewBuilder("car park")
	vehicle := park(town, "vehicle.lincoln.mkz", 0, 0)
	park(town, "vehicle.audi.a2", 4.8, 0)
	park(town, "vehicle.mercedes.coupe", 0, 2.4)
	park(town, "vehicle.mini.cooper", 12, 0)
	town.Scene.Ego = spatial.FromRPY(mgl64.Vec3{-50, 0, 0}, 0, 0, 0)

	world, err := pipeline.New(ctx, pipeline.Config{Scene: town.Scene, Open: eglctx.Open(eglctx.Options{}), Sensors: all.Registry()})
	must(err)
	must(world.Step(ctx, 1)) // it runs

	blueprint, err := all.Registry().Get("sensor.other.safe_distance")
	must(err)
	sensor, err := world.AddSensor(sensors.Config{ID: blueprint.ID, Name: "safety", AttachTo: vehicle.ID})
	must(err)
	listener, err := pipeline.Listen(sensor, "event", func(_ sensors.Tick, event *ranging.SafeDistanceEvent) {
		for _, id := range event.Actors {
			other, err := world.Actor(id)
			must(err)
			fmt.Printf("Vehicle too close: %s\n", other.TypeID())
		}
	})
	must(err)
	must(world.Step(ctx, 10)) // it is due at multiples of 50 ms, from a period after it came

	listener.Stop()
	must(sensor.Destroy())
	must(world.Close(ctx))
	// Output:
	// Vehicle too close: vehicle.audi.a2
	// Vehicle too close: vehicle.mercedes.coupe
}
