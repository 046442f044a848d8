package rihs_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rihs"
)

func ExampleOf() {
	hash, err := rihs.Of("rosgraph_msgs/msg/Clock")
	if err != nil {
		panic(err)
	}
	fmt.Println(hash)
	// Output: RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564
}

// The hashes that ROS 2 itself prints ("ros2 topic info -v", "Topic type hash") and that
// implementations of rmw_zenoh's protocol carry, for types whose definitions are the
// same from Iron to Rolling.
var published = map[string]string{
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
	for name, want := range published {
		got, err := rihs.Of(name)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

func TestUnknownType(t *testing.T) {
	for _, name := range []string{"", "Image", "sensor_msgs/Image", "sensor_msgs/msg/Nothing", "nothing/msg/Image"} {
		_, err := rihs.Of(name)
		assert.Error(t, err, name)
	}
	_, err := rihs.Of("sensor_msgs/msg/Nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "sensor_msgs/msg/Nothing")
}
