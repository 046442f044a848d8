package ros2dds

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// environment is a getenv of fixed variables, "KEY=value".
func environment(set ...string) func(string) string {
	return func(key string) string {
		for _, s := range set {
			if k, v, _ := strings.Cut(s, "="); k == key {
				return v
			}
		}
		return ""
	}
}

func TestConnectionStrings(t *testing.T) {
	for _, c := range []struct {
		connection, domainID string
		want                 settings
	}{
		{"", "", settings{node: "raybridge", namespace: "/", gidSize: 16}},
		{"", "42", settings{domain: 42, node: "raybridge", namespace: "/", gidSize: 16}},
		{"7", "42", settings{domain: 7, node: "raybridge", namespace: "/", gidSize: 16}},
		{"232?node=sim_1&namespace=/a/b", "", settings{domain: 232, node: "sim_1", namespace: "/a/b", gidSize: 16}},
		{"?ros=humble&namespace=/", "", settings{node: "raybridge", namespace: "/", gidSize: 24}},
		{"0?retry=1s&backoff=2&longest=1m&attempts=3", "", settings{node: "raybridge", namespace: "/", gidSize: 16, retry: bridges.Retry{Interval: time.Second, Backoff: 2, Longest: time.Minute, Attempts: 3}}},
		{"0?messages=5&bytes=1000", "9", settings{node: "raybridge", namespace: "/", gidSize: 16, queue: flow.QueueConfig{Messages: 5, Bytes: 1000}}},
	} {
		got, err := parseConnection(c.connection, environment("ROS_DOMAIN_ID="+c.domainID))
		require.NoError(t, err, c.connection)
		assert.Equal(t, c.want, got, c.connection)
	}
}

func TestBadConnectionStrings(t *testing.T) {
	for _, c := range []struct{ connection, domainID, says string }{
		{"x", "", "0 to 232"},
		{"233", "", "0 to 232"},
		{"-1", "", "0 to 232"},
		{"", "many", "ROS_DOMAIN_ID"},
		{"?color=red", "", "color"},
		{"?node=", "", "node"},
		{"?node=a/b", "", "node"},
		{"?node=9a", "", "node"},
		{"?namespace=", "", "namespace"},
		{"?namespace=vehicle", "", "/vehicle"},
		{"?namespace=/a//b", "", "namespace"},
		{"?ros=jazzy", "", "humble"},
		{"?ros=", "", "humble"},
		{"?messages=0", "", "messages"},
		{"?bytes=x", "", "bytes"},
		{"?retry=0s", "", "retry"},
	} {
		_, err := parseConnection(c.connection, environment("ROS_DOMAIN_ID="+c.domainID))
		assert.ErrorIs(t, err, bridges.ErrConnectionString, c.connection)
		assert.ErrorContains(t, err, c.says, c.connection)
	}
}

func TestDefaultsOfTheLibrary(t *testing.T) {
	assert.Contains(t, defaults(environment()), "<FragmentSize>65000B</FragmentSize>")
	assert.NotContains(t, defaults(environment()), "127.0.0.1")
	assert.Contains(t, defaults(environment("ROS_LOCALHOST_ONLY=1")), `address="127.0.0.1"`)
}

func TestNamesOnTheWire(t *testing.T) {
	assert.Equal(t, "rt/lidar/points", ddsTopic("/lidar/points"))
	assert.Equal(t, "sensor_msgs::msg::dds_::PointCloud2_", ddsType("sensor_msgs/msg/PointCloud2"))
	assert.Equal(t, "typehash=RIHS01_00;", endpointData("RIHS01_00"))
	assert.Equal(t, "enclave=/;", participantData)
	assert.Equal(t, "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", ddsType(graphType))
}
