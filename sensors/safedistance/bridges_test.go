package safedistance_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/sensors/safedistance"
	"github.com/raybridge/raybridge/sensors/sample"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The logging bridge learns to write events: a pipeline that is given this registry as
// its Config.Bridges logs them.
func ExampleEvent() {
	registry := bridgesall.Registry()
	plugin, err := registry.Plugin("logging")
	must(err)
	must(bridges.Codec[*safedistance.Event]{
		Schema: bridges.Schema{Name: "SafeDistanceData"},
		Append: func(dst []byte, m *safedistance.Event) ([]byte, error) {
			line, err := json.Marshal(map[string]any{"StampNs": m.StampNs, "Actors": m.Actors})
			return append(dst, line...), err
		},
	}.Register(plugin))

	// What a pipeline does with it.
	out, err := os.MkdirTemp("", "safedistance")
	must(err)
	defer func() { must(os.RemoveAll(out)) }()
	ctx := context.Background()
	bridge, err := registry.Open("logging:events", bridges.Env{OutDir: out})
	must(err)
	publish, err := bridges.AddPublisher[*safedistance.Event](bridge, bridges.Topic{Name: "/safety"})
	must(err)
	must(bridge.Connect(ctx))
	must(publish(ctx, &safedistance.Event{Header: sample.Header{StampNs: 50_000_000}, Actors: []uint32{7, 12}}))
	must(bridge.Close(ctx))

	file, err := os.Open(filepath.Join(out, "events.txt.gz"))
	must(err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	must(err)
	lines, err := io.ReadAll(text)
	must(err)
	fmt.Print(string(lines))
	// Output:
	// SafeDistanceData /safety
	// {"Actors":[7,12],"StampNs":50000000}
}
