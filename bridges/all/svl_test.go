package all_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all"
)

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

// TestPicturesAndScansGoEverywhere: raw images, calibrations and laser scans are carried
// by every bridge whose protocol has a message for them. Apollo has none for calibrations,
// CARLA's streams none for calibrations and laser scans.
func TestPicturesAndScansGoEverywhere(t *testing.T) {
	missing := map[string]bool{"cyber CameraInfo": true, "carla CameraInfo": true, "carla LaserScan": true}
	for _, f := range all.Factories() {
		name := f.Info().Name
		publishes, _ := carried(t, name)
		for _, sample := range []string{"Image", "CameraInfo", "LaserScan"} {
			assert.Equal(t, !missing[name+" "+sample], publishes[sample], "%s publishes %s", name, sample)
		}
	}
}

// TestWhoTakesCommands: every bridge whose peers can send any takes those that move the
// externally driven ego.
func TestWhoTakesCommands(t *testing.T) {
	for _, f := range all.Factories() {
		info := f.Info()
		_, subscribes := carried(t, info.Name)
		takes := info.Kind == bridges.KindNetwork && info.Name != "stream" && info.Name != "carla"
		assert.Equal(t, takes, subscribes["VehicleControl"], info.Name)
	}
}
