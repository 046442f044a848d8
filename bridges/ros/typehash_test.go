package ros_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/ros"
)

func ExampleTypeHash() {
	hash, err := ros.TypeHash("rosgraph_msgs/msg/Clock")
	if err != nil {
		panic(err)
	}
	fmt.Println(hash)
	// Output: RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564
}

// The hashes that ROS 2 itself prints ("ros2 topic info -v", "Topic type hash") and that
// implementations of rmw_zenoh's protocol carry. They are for types whose definitions are the
// same from Iron to Rolling.
var typeHashes = map[string]string{
	"builtin_interfaces/msg/Time": "RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197",
	"rosgraph_msgs/msg/Clock":     "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
	"geometry_msgs/msg/Twist":     "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a",
	"nav_msgs/msg/Odometry":       "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
	"sensor_msgs/msg/CameraInfo":  "RIHS01_b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
	"sensor_msgs/msg/Image":       "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
	"sensor_msgs/msg/Imu":         "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
	"sensor_msgs/msg/PointCloud2": "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
	"tf2_msgs/msg/TFMessage":      "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
}

func TestPublishedHashes(t *testing.T) {
	for name, want := range typeHashes {
		got, err := ros.TypeHash(name)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

// outside are types of which package ros has no structure, declared as a user would.
type outside struct{ name, text string }

func (o *outside) TypeName() string   { return o.name }
func (o *outside) Definition() string { return o.text }

// Fields visits what the definition says.
func (o *outside) Fields(v ros.Visitor) {
	switch o.name {
	case "sensor_msgs/msg/JointState":
		v.Message("header", new(ros.Header))
		v.Array("name", ros.Sequence(new([]string)))
		v.Array("position", ros.Sequence(new([]float64)))
		v.Array("velocity", ros.Sequence(new([]float64)))
		v.Array("effort", ros.Sequence(new([]float64)))
	case "std_msgs/msg/String":
		v.String("data", new(string))
	case "rcl_interfaces/msg/Log":
		v.Message("stamp", new(ros.Time))
		v.Value("level", ros.Of(new(uint8)))
		v.String("name", new(string))
		v.String("msg", new(string))
		v.String("file", new(string))
		v.String("function", new(string))
		v.Value("line", ros.Of(new(uint32)))
	case "rcl_interfaces/msg/ParameterValue":
		v.Value("type", ros.Of(new(uint8)))
		v.Value("bool_value", ros.Of(new(bool)))
		v.Value("integer_value", ros.Of(new(int64)))
		v.Value("double_value", ros.Of(new(float64)))
		v.String("string_value", new(string))
		v.Bytes("byte_array_value", new(ros.Bytes))
		v.Array("bool_array_value", ros.Sequence(new([]bool)))
		v.Array("integer_array_value", ros.Sequence(new([]int64)))
		v.Array("double_array_value", ros.Sequence(new([]float64)))
		v.Array("string_array_value", ros.Sequence(new([]string)))
	case "rcl_interfaces/msg/Parameter":
		v.String("name", new(string))
		v.Message("value", parameterValue)
	case "rcl_interfaces/msg/ParameterEvent":
		v.Message("stamp", new(ros.Time))
		v.String("node", new(string))
		for _, name := range []string{"new_parameters", "changed_parameters", "deleted_parameters"} {
			v.Messages(name, ros.List[parameter](new([]parameter)))
		}
	}
}

var parameterValue = &outside{"rcl_interfaces/msg/ParameterValue", `uint8 type
bool bool_value
int64 integer_value
float64 double_value
string string_value
byte[] byte_array_value
bool[] bool_array_value
int64[] integer_array_value
float64[] double_array_value
string[] string_array_value`}

// parameter is rcl_interfaces/Parameter.
type parameter struct{}

func (*parameter) TypeName() string { return "rcl_interfaces/msg/Parameter" }
func (*parameter) Fields(v ros.Visitor) {
	(&outside{name: "rcl_interfaces/msg/Parameter"}).Fields(v)
}

// TestPublishedHashesOfDeclaredTypes: with sequences of every sort, bytes among them.
func TestPublishedHashesOfDeclaredTypes(t *testing.T) {
	for _, c := range []struct{ name, text, hash string }{
		{"std_msgs/msg/String", "string data", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"},
		{
			"sensor_msgs/msg/JointState", "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
			"a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
		},
		{
			"rcl_interfaces/msg/Log", "byte DEBUG=10\nbuiltin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\nuint32 line",
			"e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
		},
		{
			"rcl_interfaces/msg/ParameterEvent",
			"builtin_interfaces/Time stamp\nstring node\nParameter[] new_parameters\nParameter[] changed_parameters\nParameter[] deleted_parameters",
			"043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204",
		},
	} {
		require.NoError(t, ros.Declare(&outside{c.name, c.text}))
		got, err := ros.TypeHash(c.name)
		require.NoError(t, err)
		assert.Equal(t, "RIHS01_"+c.hash, got, c.name)
	}
}

func TestTypeHashOfUnknownType(t *testing.T) {
	for _, name := range []string{"", "Image", "sensor_msgs/Image", "sensor_msgs/msg/Nothing", "nothing/msg/Image"} {
		_, err := ros.TypeHash(name)
		assert.Error(t, err, name)
	}
	_, err := ros.TypeHash("sensor_msgs/msg/Nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "sensor_msgs/msg/Nothing")
}
