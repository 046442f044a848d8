package all_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/sensors/sample"
)

// update writes testdata/bridges.txt anew: go test ./bridges/all -run TestListing -update.
var update = flag.Bool("update", false, "write testdata/bridges.txt anew")

// All bridges of raybridge are opened by name; here one that writes a file.
func ExampleRegistry() {
	dir, err := os.MkdirTemp("", "all")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	registry := all.Registry()
	fmt.Println(strings.Join(registry.Names(), " "))
	if err := registry.Check("foxglove:?clients=many", bridges.Env{}); err != nil {
		fmt.Println(err)
	}
	bridge, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed"})
	if err != nil {
		panic(err)
	}
	if err := bridge.Connect(context.Background()); err != nil {
		panic(err)
	}
	if err := publish(context.Background(), &sample.Speed{MetresPerSecond: 13.5}); err != nil {
		panic(err)
	}
	if err := bridge.Close(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(bridge.Statistics().Messages, "message of type", bridge.Statistics().Topics[0].Type)
	// Output:
	// carla cyber foxglove logging mcap ros1 ros2dds ros2lgsvl rosapollo rosbridge stream
	// connect bridge "foxglove" (?clients=many): bad connection string: clients="many": want a whole number from 1 to 65535
	// 1 message of type SpeedData
}

// TestListing holds the bridges, their options and messages to testdata/bridges.txt.
func TestListing(t *testing.T) {
	var b strings.Builder
	registry := all.Registry()
	for _, name := range registry.Names() {
		plugin, err := registry.Plugin(name)
		require.NoError(t, err)
		info := plugin.Info()
		fmt.Fprintf(&b, "%s:%s (%s)\n", info.Name, info.Form(), info.Kind)
		for _, typ := range plugin.Types() {
			fmt.Fprintln(&b, " ", typ.Go, "as", typ.Wire)
		}
	}
	golden := filepath.Join("testdata", "bridges.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String(), "run go test ./bridges/all -run TestListing -update")
}

// targets are connection strings that each bridge can use, without options.
var targets = map[string][]string{
	"carla": {"", "0"}, "cyber": {"robot"}, "foxglove": {"", "0"}, "logging": {"drive"}, "mcap": {"drive.mcap", "drive"},
	"ros1": {"", "robot"}, "ros2lgsvl": {"robot"}, "rosapollo": {"robot", "wss://robot"}, "stream": {"", "0"},
	"rosbridge": {"robot", "wss://robot", "listen=0"},
}

// TestDeclaredOptionsAreRead: what a bridge declares is what its parser takes, with the
// default and each of the values that are written out.
func TestDeclaredOptionsAreRead(t *testing.T) {
	t.Setenv("ROS_MASTER_URI", "")
	registry := all.Registry()
	for name, connections := range targets {
		plugin, err := registry.Plugin(name)
		require.NoError(t, err)
		for _, o := range plugin.Info().Options {
			values := written(o)
			require.NotEmpty(t, o.Meaning, o.Key)
			for _, value := range values {
				assert.True(t, usable(registry, name, connections, o.Key+"="+value), "%s: %s=%s", name, o.Key, value)
			}
		}
		for _, connection := range connections {
			assert.NoError(t, registry.Check(name+":"+connection, bridges.Env{}))
			assert.ErrorContains(t, registry.Check(name+":"+connection+"?zork=1", bridges.Env{}), `unknown option "zork"`)
		}
	}
}

// written lists the values of an option that can be written as they stand.
func written(o bridges.Option) []string {
	var values []string
	if o.Default != "" {
		values = append(values, o.Default)
	}
	for _, value := range strings.Split(o.Value, "|") {
		if value == strings.ToLower(value) {
			values = append(values, value)
		}
	}
	return values
}

// usable reports whether one of a bridge's connections takes an option.
func usable(registry *bridges.Registry, name string, connections []string, option string) bool {
	for _, connection := range connections {
		if registry.Check(name+":"+connection+"?"+option, bridges.Env{}) == nil {
			return true
		}
	}
	return false
}
