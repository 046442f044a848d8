package rig_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/rig"
)

func TestTopicName(t *testing.T) {
	for topic, want := range map[string]string{
		"/lidar/points": "/lidar/points", "/_hidden/a_1": "/_hidden/a_1", "imu": "imu", "/": "/",
		"/3d": "/n3d", "/lidar-top/points": "/lidar_top/points", "/a__b": "/a_b", "/-front-": "/front",
		"/a.b/2.5m": "/a_b/n2_5m", "/kamera.größe": "/kamera_gr_e", "/~/x": "/n/x", "/Front Left": "/Front_Left", "/___": "/n",
	} {
		assert.Equal(t, want, rig.TopicName(topic), topic)
	}
}

// FuzzTopicName: whatever is written, ROS allows what comes of it, and it stays.
func FuzzTopicName(f *testing.F) {
	for _, seed := range []string{"/lidar-top/3d", "/a__b", "/~", "/ä/1", "/_"} {
		f.Add(seed)
	}
	allowed := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	f.Fuzz(func(t *testing.T, topic string) {
		got := rig.TopicName(topic)
		assert.Equal(t, got, rig.TopicName(got))
		require.Equal(t, strings.Count(topic, "/"), strings.Count(got, "/"))
		for part := range strings.SplitSeq(got, "/") {
			if part != "" {
				assert.True(t, allowed.MatchString(part) && !strings.Contains(part, "__"), "%q of %q", part, topic)
			}
		}
	})
}

// TestForbiddenTopicsAreTold, once each, where they are written.
func TestForbiddenTopicsAreTold(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.test, name: top-1}\n  - {id: sensor.test, name: b, topic: /3d, topics: {data: /x-y}}\n  - {id: sensor.test, name: c, topic: good/}\n"))
	require.NoError(t, err)
	r.Note(registry())
	var told []string
	for _, n := range r.Notices {
		told = append(told, n.String())
		assert.False(t, n.Lost)
	}
	assert.Equal(t, []string{
		"r.yaml:2:29: sensors[0].name: ROS forbids the topic /top-1, /top_1 takes its place",
		"r.yaml:3:39: sensors[1].topic: ROS forbids the topic /3d, /n3d takes its place",
		"r.yaml:3:59: sensors[1].topics.data: ROS forbids the topic /x-y, /x_y takes its place",
	}, told)
	list, err := r.Resolve(registry())
	require.NoError(t, err)
	assert.Equal(t, []string{"/top_1", "/n3d", "/good"}, []string{list[0].Topic, list[1].Topic, list[2].Topic})
	assert.Equal(t, "/x_y", list[1].Topics["data"])
}
