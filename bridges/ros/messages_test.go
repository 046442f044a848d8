package ros_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros"
)

// describer writes down a message's fields as a definition would.
type describer struct{ lines []string }

func (d *describer) add(name, typ string)            { d.lines = append(d.lines, typ+" "+name) }
func (d *describer) Value(name string, v ros.Ref)    { d.add(name, v.Kind().String()) }
func (d *describer) String(name string, _ *string)   { d.add(name, "string") }
func (d *describer) Bytes(name string, _ *ros.Bytes) { d.add(name, "uint8[]") }
func (d *describer) Array(name string, v ros.Array) {
	if size, fixed := v.Fixed(); fixed {
		d.add(name, fmt.Sprintf("%v[%d]", v.Kind(), size))
		return
	}
	d.add(name, v.Kind().String()+"[]")
}
func (d *describer) Message(name string, v ros.Message)   { d.add(name, v.TypeName()) }
func (d *describer) Messages(name string, v ros.Messages) { d.add(name, v.ElementType()+"[]") }

var constant = regexp.MustCompile(`^\w+ [A-Z0-9_]+=`)

// definition reads a .msg file's fields, written as describer writes them.
func definition(t *testing.T, typeName string) []string {
	pkg, name, ok := strings.Cut(typeName, "/msg/")
	require.True(t, ok, typeName)
	text, err := os.ReadFile(filepath.Join("msg", pkg, name+".msg"))
	require.NoError(t, err)
	return fieldsOf(pkg, string(text))
}

func fieldsOf(pkg, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		parts := strings.Fields(line)
		if len(parts) == 0 || constant.MatchString(line) {
			continue
		}
		typ := parts[0]
		switch {
		case strings.Contains(typ, "/"):
			typ = strings.Replace(typ, "/", "/msg/", 1)
		case typ[0] >= 'A' && typ[0] <= 'Z':
			typ = pkg + "/msg/" + typ
		}
		lines = append(lines, typ+" "+parts[1])
	}
	return lines
}

func TestStructuresFollowTheDefinitions(t *testing.T) {
	covered := map[string]bool{}
	for _, m := range bridgetest.EveryMessage() {
		if strings.Contains(m.TypeName(), "/srv/") || strings.HasPrefix(m.TypeName(), "kinds_msgs/") {
			continue
		}
		var d describer
		m.Fields(&d)
		assert.Equal(t, definition(t, m.TypeName()), d.lines, m.TypeName())
		covered[strings.Replace(m.TypeName(), "/msg/", "/", 1)+".msg"] = true
	}
	require.NoError(t, fs.WalkDir(os.DirFS("msg"), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			assert.True(t, covered[path], "%s has no structure", path)
		}
		return err
	}))
}

func TestConstantsAreThoseOfTheDefinitions(t *testing.T) {
	assert.Equal(t, uint8(7), ros.PointFieldFloat32)
	assert.Equal(t, int8(-1), ros.NavSatStatusStatusNoFix)
	assert.Equal(t, uint16(8), ros.NavSatStatusServiceGalileo)
	assert.Equal(t, int32(2), ros.CarlaLaneInvasionEventLaneMarkingSolid)
	assert.Equal(t, uint8(4), ros.VehicleStateDataVehicleModeEmergencyMode)
}

// TestDefinitionsHaveNoComments: what peers get says the same as the file, without them.
func TestDefinitionsHaveNoComments(t *testing.T) {
	text, err := ros.MessageFile("sensor_msgs/Range")
	require.NoError(t, err)
	assert.Equal(t, `std_msgs/Header header
uint8 ULTRASOUND=0
uint8 INFRARED=1
uint8 radiation_type
float32 field_of_view
float32 min_range
float32 max_range
float32 range
`, text)
	for _, service := range ros.Services() {
		request, response, err := ros.ServiceDefinition(service.Type)
		require.NoError(t, err)
		assert.NotContains(t, request+response, "#", service.Type)
	}
}

func TestServicesFollowTheDefinitions(t *testing.T) {
	files, err := filepath.Glob("srv/*/*.srv")
	require.NoError(t, err)
	assert.Len(t, ros.Services(), len(files))
	for _, service := range ros.Services() {
		pkg, name, ok := strings.Cut(service.Type, "/srv/")
		require.True(t, ok, service.Type)
		request, response, err := ros.ServiceDefinition(service.Type)
		require.NoError(t, err)
		for text, m := range map[string]ros.Message{request + "#_Request": service.NewRequest(), response + "#_Response": service.NewResponse()} {
			text, suffix, _ := strings.Cut(text, "#")
			var d describer
			m.Fields(&d)
			assert.Equal(t, fieldsOf(pkg, text), d.lines, service.Type)
			assert.Equal(t, pkg+"/srv/"+name+suffix, m.TypeName())
		}
	}
	for _, name := range []string{"std_srvs/SetBool", "std_srvs/msg/SetBool", "std_srvs/srv/Nothing", ""} {
		_, _, err := ros.ServiceDefinition(name)
		assert.Error(t, err, name)
	}
}

// seqDescriber is shown the header's seq too.
type seqDescriber struct{ describer }

func (d *seqDescriber) HeaderSeq(*uint32) { d.add("seq", "uint32") }

func TestOnlySeqVisitorsSeeSeq(t *testing.T) {
	var ros1 seqDescriber
	new(ros.Header).Fields(&ros1)
	assert.Equal(t, []string{"uint32 seq", "builtin_interfaces/msg/Time stamp", "string frame_id"}, ros1.lines)
}

// TestNamesInROS1: what ROS 1 calls otherwise is told by the message.
func TestNamesInROS1(t *testing.T) {
	renamed := map[string][]string{}
	for _, m := range bridgetest.EveryMessage() {
		var d describer
		m.Fields(&d)
		definition, err := ros.ROS1.Definition(m.TypeName())
		assert.Equal(t, strings.Contains(m.TypeName(), "/srv/"), err != nil)
		for _, line := range d.lines {
			_, name, _ := strings.Cut(line, " ")
			assert.Equal(t, name, ros.ROS2.Names(m).Of(name))
			other := ros.ROS1.Names(m).Of(name)
			if !strings.Contains(m.TypeName(), "/srv/") {
				assert.Regexp(t, `(?m)^\S+ `+other+`$`, definition, m.TypeName())
			}
			if other != name {
				renamed[m.TypeName()] = append(renamed[m.TypeName()], other)
			}
		}
	}
	assert.Equal(t, map[string][]string{
		"builtin_interfaces/msg/Time": {"secs", "nsecs"}, "builtin_interfaces/msg/Duration": {"secs", "nsecs"},
		"sensor_msgs/msg/CameraInfo": {"D", "K", "R", "P"}, "kinds_msgs/msg/Kinds": {"Gain"},
	}, renamed)
}

func TestSchemaHoldsEveryNestedDefinitionOnce(t *testing.T) {
	for _, m := range bridgetest.EveryMessage() {
		if strings.Contains(m.TypeName(), "/msg/") {
			_, err := ros.ROS2.Definition(m.TypeName())
			require.NoError(t, err)
		}
	}
	got, err := ros.ROS2.Definition("nav_msgs/msg/Odometry")
	require.NoError(t, err)
	line := strings.Repeat("=", 80) + "\n"
	assert.Equal(t, `std_msgs/Header header
string child_frame_id
geometry_msgs/PoseWithCovariance pose
geometry_msgs/TwistWithCovariance twist
`+line+`MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
`+line+`MSG: geometry_msgs/PoseWithCovariance
Pose pose
float64[36] covariance
`+line+`MSG: geometry_msgs/TwistWithCovariance
Twist twist
float64[36] covariance
`+line+`MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
`+line+`MSG: geometry_msgs/Pose
Point position
Quaternion orientation
`+line+`MSG: geometry_msgs/Twist
Vector3 linear
Vector3 angular
`+line+`MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
`+line+`MSG: geometry_msgs/Quaternion
float64 x 0
float64 y 0
float64 z 0
float64 w 1
`+line+`MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
`, got)
}

func TestSchemaOfUnknownType(t *testing.T) {
	for _, name := range []string{"", "Image", "sensor_msgs/Image", "sensor_msgs/msg/Nothing"} {
		_, err := ros.ROS2.Definition(name)
		assert.Error(t, err, name)
	}
}

func TestValidTopic(t *testing.T) {
	for _, name := range []string{"/points", "/sensing/lidar/top/points_raw", "/_hidden", "/a1"} {
		assert.True(t, ros.ValidTopic(name), name)
	}
	for _, name := range []string{"", "/", "points", "/points/", "//points", "/1st", "/a/2", "/a__b", "/a b", "/é", "/a-b", "~/x", "/{node}"} {
		assert.False(t, ros.ValidTopic(name), name)
	}
}
