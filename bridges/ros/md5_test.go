package ros_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros"
)

// What a publisher of ROS 1 says of its topic.
func ExampleVersion_Definition() {
	definition, err := ros.ROS1.Definition("std_msgs/msg/Header")
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := ros.MD5("std_msgs/msg/Header")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ros.ROS1.TypeName("std_msgs/msg/Header"), sum)
	fmt.Print(definition)
	// Output:
	// std_msgs/Header 2176decaecbce78abc3b96ef049fabed
	// uint32 seq
	// time stamp
	// string frame_id
}

// TestTypesAreThoseOfDebian: the sums and definitions of the classes that genpy made.
func TestTypesAreThoseOfDebian(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../testdata/wire/ros1", "types.json"))
	require.NoError(t, err)
	var types map[string]struct{ MD5, Definition string }
	require.NoError(t, json.Unmarshal(text, &types))
	require.Len(t, types, 30)
	all := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
		all[ros.ROS1.TypeName(m.TypeName())] = m
	}
	for name, want := range types {
		if strings.HasPrefix(name, "std_srvs/") {
			got, err := ros.ServiceMD5(strings.Replace(name, "/", "/srv/", 1))
			require.NoError(t, err)
			assert.Equal(t, want.MD5, got, name)
			continue
		}
		sum, err := ros.MD5(all[name].TypeName())
		require.NoError(t, err)
		assert.Equal(t, want.MD5, sum, name)
		definition, err := ros.ROS1.Definition(all[name].TypeName())
		require.NoError(t, err)
		assert.Equal(t, want.Definition, strings.ReplaceAll(definition, "\n\n", "\n"), name)
	}
}

// TestTypesOfOtherPackages: sums that headers and classes of these packages, made by
// others' builds of ROS 1, have in them.
func TestTypesOfOtherPackages(t *testing.T) {
	for name, want := range map[string]string{
		"ackermann_msgs/msg/AckermannDriveStamped": "1fd5d7f58889cefd44d29f6653240d0c",
		"nmea_msgs/msg/Sentence":                   "9f221efc5f4b3bac7ce4af102b32308b",
		"carla_msgs/msg/CarlaCollisionEvent":       "9f08ee4a25bac7157d460b45684dd2b7",
		"carla_msgs/msg/CarlaLaneInvasionEvent":    "3846cea49c4897522899dbda091314e8",
		"lgsvl_msgs/msg/BoundingBox3D":             "0afc39928ba33aad299a6acabb48fd7d",
		"lgsvl_msgs/msg/CanBusData":                "b87b5770e05e57bf8145ee83c4177b03",
		"lgsvl_msgs/msg/DetectedRadarObject":       "ce4b6b01290125e6b2cd22dde070d1fb",
		"lgsvl_msgs/msg/SignalArray":               "393df759551aab912558e66c169902cd",
		"lgsvl_msgs/msg/Ultrasonic":                "147c0a86645c864fa65cb63dc4af9f2f",
		"lgsvl_msgs/msg/VehicleControlData":        "d20f5929de67f38ac323dce02f59b3d4",
		"lgsvl_msgs/msg/VehicleOdometry":           "c14a75cb62b0432c46bae4f9370e8916",
		"lgsvl_msgs/msg/VehicleStateData":          "b4405ea9889445c8f7934126d18f047c",
	} {
		got, err := ros.MD5(name)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

func TestUnknownTypes(t *testing.T) {
	for _, name := range []string{"", "sensor_msgs/msg/Nothing", "sensor_msgs/srv/Image_Request"} {
		_, err := ros.ROS1.Definition(name)
		assert.Error(t, err, name)
		_, err = ros.MD5(name)
		assert.Error(t, err, name)
		_, err = ros.ServiceMD5(name)
		assert.Error(t, err, name)
	}
}

func TestTypeName(t *testing.T) {
	for name, want := range map[string]string{
		"sensor_msgs/msg/Image": "sensor_msgs/Image", "std_srvs/srv/SetBool": "std_srvs/SetBool",
		"std_srvs/srv/SetBool_Request": "std_srvs/SetBoolRequest", "sensor_msgs/Image": "sensor_msgs/Image",
	} {
		assert.Equal(t, want, ros.ROS1.TypeName(name))
		assert.Equal(t, name, ros.ROS2.TypeName(name))
	}
}
