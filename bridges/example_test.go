package bridges_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// A bridge of your own is used like raybridge's: put it in the registry, open
// it by its name, and publish.
func Example() {
	dir, err := os.MkdirTemp("", "tsv")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := recordTable(dir); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "drive.tsv"))
	if err != nil {
		panic(err)
	}
	fmt.Print(strings.ReplaceAll(string(text), "\t", " "))
	// Output:
	// speed 2 connected
	// 0 /speed 13.5
	// 10000000 /speed 14
}

func recordTable(dir string) error {
	registry, err := bridges.NewRegistry(tsv)
	if err != nil {
		return err
	}
	bridge, err := registry.Open("tsv:drive.tsv", bridges.Env{OutDir: dir})
	if err != nil {
		return err
	}
	publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed", QoS: flow.SensorDataQoS})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := bridge.Connect(ctx); err != nil {
		return err
	}
	for i := range 2 {
		speed := &sample.Speed{MetresPerSecond: 13.5 + float64(i)/2}
		speed.Stamp = simtime.Stamp(int64(i) * 10_000_000)
		if err := publish(ctx, speed); err != nil {
			return err
		}
	}
	s := bridge.Statistics()
	fmt.Println(s.Topics[0].Type, s.Messages, s.Status)
	return bridge.Close(ctx)
}

// TestDocumentationShowsTheExample holds the page and the code together.
func TestDocumentationShowsTheExample(t *testing.T) {
	code, err := os.ReadFile("example_tsv_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/adding-a-bridge.md")
	require.NoError(t, err)
	_, example, ok := strings.Cut(string(code), "\nvar tsv = ")
	require.True(t, ok)
	assert.Contains(t, string(page), "```go\nvar tsv = "+example+"```\n")
}
