//go:build peers

package mcap_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglovemsgtest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

// TestJavaScriptReadsEveryField: a message of each type that goes into a recording, with
// something in every field, is decoded to all the values that it was made of and to none
// else.
func TestJavaScriptReadsEveryField(t *testing.T) {
	for profile, publications := range map[string][]ros.Publication{"ros2": rossample.Standard(), "ros1": inROS1(), "foxglove": rossample.Standard()} {
		t.Run(profile, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
			want := map[string]map[string]any{}
			for _, pub := range publications {
				topic, s := "/filled/"+pub.Sample.Elem().Name(), foxglovemsgtest.Filled(pub.Sample)
				publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topic})
				require.NoError(t, err)
				if b.Status() != bridges.Connected {
					require.NoError(t, b.Connect(t.Context()))
				}
				require.NoError(t, publish(t.Context(), s))
				if profile == "foxglove" {
					want[topic] = foxglovemsgtest.Tree(s, func(data []byte) any { return blob(data) })
				}
				if want[topic] == nil {
					m, err := pub.Converter()(s)
					require.NoError(t, err)
					want[topic] = formOf(profile).Tree(m)
				}
			}
			require.NoError(t, b.Close(t.Context()))
			got := map[string]map[string]any{}
			for _, d := range javascript(t, filepath.Join(dir, "a.mcap")) {
				got[d.Topic] = d.Value
			}
			require.Len(t, got, len(publications))
			for topic := range want {
				assert.Equal(t, want[topic], got[topic], topic)
			}
		})
	}
}

// inROS1 are the messages of profile ros1: boxes are lgsvl_msgs', all others those of ROS 2.
func inROS1() []ros.Publication {
	list := rossample.Standard()
	for i, pub := range list {
		for _, other := range rossample.SVL() {
			if pub.Sample == other.Sample && strings.HasPrefix(pub.Type, "vision_msgs/") {
				list[i] = other
			}
		}
	}
	return list
}

// formOf is how check.mjs shows the ROS messages of a profile. Its decoder of ROS 1 has
// other names for the parts of a time than rospy.
func formOf(profile string) rostest.Form {
	return rostest.Form{
		ROS1: profile == "ros1", Rename: map[string]string{"secs": "sec", "nsecs": "nsec"},
		Bytes: func(data []byte) any { return blob(data) },
		Array: func(v ros.Array) any {
			b := blob(v.AppendBinary(nil))
			b["n"] = float64(v.Len())
			return b
		},
	}
}
