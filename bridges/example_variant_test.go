package bridges_test

import (
	"context"
	"fmt"
	"os"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Evaluation is the bridge mcap under a name of its own.
type Evaluation struct{ mcap.Factory }

// Info names the variant. Its type stays what it speaks.
func (f Evaluation) Info() bridges.Info {
	info := f.Factory.Info()
	info.Name, info.Summary = "mcap_evaluation", "records what the evaluation needs, to MCAP files"
	return info
}

// A bridge's name and its type may differ, and two bridges may share a type. Both can be
// used in one run.
func Example_variant() {
	dir, err := os.MkdirTemp("", "variant")
	check(err)
	defer os.RemoveAll(dir)
	registry := bridges.MustRegistry(mcap.Factory{}, Evaluation{})
	ctx := context.Background()
	for _, spec := range []string{"mcap:all.mcap", "mcap_evaluation:part.mcap"} {
		bridge, err := registry.Open(spec, bridges.Env{OutDir: dir})
		check(err)
		publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed"})
		check(err)
		check(bridge.Connect(ctx))
		check(publish(ctx, &sample.Speed{MetresPerSecond: 13.5}))
		check(bridge.Close(ctx))
		fmt.Println(bridge.Info().Name, "of type", bridge.Info().Type, "wrote", bridge.Statistics().Messages)
	}
	// Output:
	// mcap of type mcap wrote 1
	// mcap_evaluation of type mcap wrote 1
}
