package all_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All bridges of raybridge are opened by name; here one that writes a file.
func ExampleRegistry() {
	dir, err := os.MkdirTemp("", "all")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	registry := all.Registry()
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
	// connect bridge "foxglove" (?clients=many): bad connection string: clients="many": want a whole number from 1 to 65535
	// 1 message of type SpeedData
}

// targets are connection strings that each bridge can use, without options.
var targets = map[string][]string{
	"carla": {"", "0"}, "cyber": {"robot"}, "foxglove": {"", "0"}, "logging": {"drive"}, "mcap": {"drive.mcap", "drive"},
	"nuscenes": {"set"}, "ros1": {"", "robot"}, "ros2lgsvl": {"robot"}, "rosapollo": {"robot", "wss://robot"}, "stream": {"", "0"},
	"rosbridge": {"robot", "wss://robot", "listen=0"}, "velodyne": {"robot", "[::1]:2369", "drive.pcap"},
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

// svl is what SVL Simulator's bridges carried, by its data types: those that published one
// (P) and those that subscribed to it (S). Its logging bridge took subscriptions to
// commands, too, and never delivered any; that isn't here. Bridges are raybridge's that
// speak the same protocol, or the same system's.
var svl = []struct{ data, sample, publish, subscribe string }{
	{"Image", "CompressedImage", "ros apollo ros2 cyber logging", ""},
	{"UncompressedImage", "Image", "ros2", ""},
	{"CameraInfo", "CameraInfo", "ros ros2", ""},
	{"PointCloud", "PointCloud", "ros apollo ros2 cyber logging", ""},
	{"LaserScan", "LaserScan", "ros ros2 cyber", ""},
	{"Clock", "Clock", "ros apollo ros2 cyber logging", ""},
	{"Gps", "GnssFix", "ros apollo ros2 cyber logging", ""},
	{"GpsOdometry", "GpsOdometry", "ros apollo ros2 cyber logging", ""},
	{"GpsIns", "InsStatus", "cyber", ""},
	{"Imu and CorrectedImu", "Imu", "ros apollo ros2 cyber logging", ""},
	{"CanBus", "CanBus", "ros apollo ros2 cyber logging", ""},
	{"DetectedRadarObject", "RadarObjects", "ros apollo ros2 cyber logging", ""},
	{"Ultrasonic", "Range", "ros ros2", ""},
	{"Detected2DObject", "Detections2D", "ros apollo ros2 cyber logging", "ros apollo ros2 cyber"},
	{"Detected3DObject", "Detections3D", "ros apollo ros2 cyber logging", "ros apollo ros2 cyber"},
	{"Signal", "Signals", "ros apollo ros2 cyber logging", ""},
	{"LaneLines", "LaneLines", "cyber", ""},
	{"VehicleOdometry", "VehicleOdometry", "ros ros2 logging", ""},
	{"VehicleControl", "VehicleControl", "", "ros apollo ros2 cyber"},
	{"VehicleState", "VehicleState", "", "ros apollo ros2"},
}

// systems are the bridges by the names in svl.
var systems = map[string][]string{
	"ros": {"rosbridge", "ros1"}, "apollo": {"rosapollo"}, "ros2": {"ros2lgsvl", "ros2dds"}, "cyber": {"cyber"}, "logging": {"logging"},
}

// carried returns the types of samples that a bridge publishes and subscribes to.
func carried(t *testing.T, name string) (publishes, subscribes map[string]bool) {
	t.Helper()
	plugin, err := all.Registry().Plugin(name)
	require.NoError(t, err)
	publishes, subscribes = map[string]bool{}, map[string]bool{}
	for _, typ := range plugin.Types() {
		sample := strings.TrimPrefix(typ.Go, "*sample.")
		publishes[sample] = publishes[sample] || typ.Publishes
		subscribes[sample] = subscribes[sample] || typ.Subscribes
	}
	return publishes, subscribes
}

// TestWhatSVLCarriedIsCarried: no bridge has less than SVL's of the same kind.
func TestWhatSVLCarriedIsCarried(t *testing.T) {
	for system, names := range systems {
		for _, name := range names {
			publishes, subscribes := carried(t, name)
			for _, row := range svl {
				if strings.Contains(" "+row.publish+" ", " "+system+" ") {
					assert.True(t, publishes[row.sample], "%s publishes %s", name, row.data)
				}
				if strings.Contains(" "+row.subscribe+" ", " "+system+" ") {
					assert.True(t, subscribes[row.sample], "%s subscribes to %s", name, row.data)
				}
			}
		}
	}
	for _, name := range []string{"rosbridge", "ros1", "rosapollo"} {
		plugin, err := all.Registry().Plugin(name)
		require.NoError(t, err)
		var services []string
		for _, s := range plugin.Services() {
			services = append(services, s.Wire)
		}
		assert.Equal(t, []string{"std_srvs/Empty", "std_srvs/SetBool", "std_srvs/Trigger"}, services, name)
	}
}

// TestPicturesAndScansGoEverywhere: raw images, calibrations and laser scans are carried by every
// bridge whose protocol has a message for them. The others say that theirs has none.
func TestPicturesAndScansGoEverywhere(t *testing.T) {
	for _, f := range all.Factories() {
		plugin, err := all.Registry().Plugin(f.Info().Name)
		require.NoError(t, err)
		for _, typ := range []reflect.Type{reflect.TypeFor[*sample.Image](), reflect.TypeFor[*sample.CameraInfo](), reflect.TypeFor[*sample.LaserScan]()} {
			if _, err := plugin.Publishes(typ); err != nil {
				assert.NotEmpty(t, f.Info().Gap(typ), "%s publishes %v", f.Info().Name, typ)
			}
		}
	}
}

// beeps is a type that no bridge knows.
type beeps struct {
	sample.Header
	Tones []uint32
}

// TestWhatNobodyDeclared: a bridge carries it field by field, or says why it carries nothing that it
// doesn't know. A log isn't data: it is carried where it was declared.
func TestWhatNobodyDeclared(t *testing.T) {
	for _, f := range all.Factories() {
		name, gap := f.Info().Name, f.Info().OtherGap
		plugin, err := all.Registry().Plugin(name)
		require.NoError(t, err)
		wire, err := plugin.Publishes(reflect.TypeFor[*beeps]())
		if gap != "" {
			assert.ErrorContains(t, err, gap, name)
			assert.ErrorIs(t, err, bridges.ErrNoConverter, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, "raybridge_msgs/Beeps", strings.Replace(wire, "/msg/", "/", 1), name)
		again, err := plugin.Publishes(reflect.TypeFor[*beeps]())
		assert.NoError(t, err)
		assert.Equal(t, wire, again)
		_, err = plugin.Publishes(reflect.TypeFor[*struct{ simtime.Stamp }]())
		assert.ErrorIs(t, err, bridges.ErrNoConverter, name)
		declared := slices.ContainsFunc(plugin.Types(), func(i bridges.TypeInfo) bool { return i.Go == "*sample.Log" })
		_, err = plugin.Publishes(reflect.TypeFor[*sample.Log]())
		assert.Equal(t, declared, err == nil, name)
	}
}

// TestWhoTakesCommands: every bridge whose peers can send anything takes the commands that move
// the externally driven ego.
func TestWhoTakesCommands(t *testing.T) {
	for _, f := range all.Factories() {
		_, subscribes := carried(t, f.Info().Name)
		if slices.Contains(slices.Collect(maps.Values(subscribes)), true) {
			assert.True(t, subscribes["VehicleControl"], f.Info().Name)
		}
	}
}
