package ros1_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1"
)

type environment = map[string]string

func TestConnectionStrings(t *testing.T) {
	for _, c := range []struct {
		connection         string
		env                environment
		master, host, node string
	}{
		{"", nil, "127.0.0.1:11311", "", "/raybridge"},
		{"", environment{"ROS_MASTER_URI": "http://robot:11312"}, "robot:11312", "", "/raybridge"},
		{"", environment{"ROS_MASTER_URI": "http://robot/"}, "robot:11311", "", "/raybridge"},
		{"?node=a/b", environment{"ROS_MASTER_URI": "http://[::1]:11311/"}, "[::1]:11311", "", "/a/b"},
		{"robot", environment{"ROS_MASTER_URI": "http://other:1"}, "robot:11311", "", "/raybridge"},
		{"http://robot:11311/", nil, "robot:11311", "", "/raybridge"},
		{"[::1]", nil, "[::1]:11311", "", "/raybridge"},
		{"robot", environment{"ROS_IP": "10.0.0.1"}, "robot:11311", "10.0.0.1", "/raybridge"},
		{"robot", environment{"ROS_IP": "10.0.0.1", "ROS_HOSTNAME": "me"}, "robot:11311", "me", "/raybridge"},
		{"robot?host=fe80::1", environment{"ROS_IP": "10.0.0.1", "ROS_HOSTNAME": "me"}, "robot:11311", "fe80::1", "/raybridge"},
		{"robot?host=[::1]", nil, "robot:11311", "::1", "/raybridge"},
	} {
		master, host, node, err := ros1.MasterAndHost(c.connection, c.env)
		require.NoError(t, err, c.connection)
		assert.Equal(t, []string{c.master, c.host, c.node}, []string{master, host, node}, "%q with %v", c.connection, c.env)
	}
	for _, env := range []environment{
		{"ROS_MASTER_URI": "robot:11311"}, {"ROS_MASTER_URI": "https://robot:11311"}, {"ROS_MASTER_URI": "http://robot:0"},
		{"ROS_IP": "a b"}, {"ROS_HOSTNAME": "a:b"},
	} {
		_, _, _, err := ros1.MasterAndHost("", env)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", env)
	}
}

// A node that only this machine is to find listens for no other.
func TestWhereANodeListens(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:0", "127.0.1.1": "127.0.1.1:0", "localhost": "127.0.0.1:0", "::1": "[::1]:0", "10.0.0.1": ":0", "robot": ":0",
	} {
		assert.Equal(t, want, ros1.BindAddress(host), host)
	}
}

// Headers as rospy writes them; testdata/README.md says how.
func TestHeadersOfRospy(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"subscriber": {"callerid": "/rviz", "topic": "/imu", "type": "sensor_msgs/Imu", "md5sum": "6a62c6daae103f4ff57a132d6f95cec2", "tcp_nodelay": "1", "message_definition": "Header header\nä=\n"},
		"any":        {"callerid": "/rostopic_1_2", "topic": "/imu", "type": "*", "md5sum": "*", "message_definition": ""},
		"service":    {"callerid": "/rosservice", "service": "/lights", "md5sum": "09fb03525b03e7ea1fd3992bafd87e16", "persistent": "1"},
		"probe":      {"service": "/lights", "md5sum": "*", "probe": "1"},
	} {
		data, err := os.ReadFile("../../testdata/wire/tcpros/" + name + ".header")
		require.NoError(t, err)
		rest := bytes.NewBuffer(append(data, "rest"...))
		header, err := ros1.ReadHeader(rest)
		require.NoError(t, err)
		for key, value := range want {
			assert.Equal(t, value, header[key], "%s: %s", name, key)
		}
		assert.Equal(t, "rest", rest.String(), "what follows is left")
	}
}
