package stage_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// A car comes and moves within one frame of a world.
func Example() {
	plaza := scenetest.Plaza(1)
	w, err := scene.Build(context.Background(), plaza, scene.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	history := scene.NewHistory(plaza, nil, 0)
	actors := stage.New(w, history, 1, slog.New(slog.DiscardHandler))

	plan, err := actors.Check(&world.Frame{
		Until:  100_000_000,
		Spawn:  []world.Spawn{{Name: "a", Model: "vehicle.sedan", Reference: world.GroundCentre, State: at(0, 0, 0)}},
		Actors: []world.Actor{{Ref: world.Ref{Name: "a"}, State: at(2, 0, 0)}},
	}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	spawned, _ := actors.Apply(plan)
	history.Record(50_000_000)
	history.Record(100_000_000)
	for _, stamp := range []simtime.Stamp{50_000_000, 100_000_000} {
		pose, _ := history.Pose(spawned[0], stamp)
		fmt.Println(stamp, "ns:", pose.Position[0], "m")
	}
	// Output:
	// 50000000 ns: 1 m
	// 100000000 ns: 2 m
}
