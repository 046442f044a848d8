package fault_test

import (
	"testing"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/stretchr/testify/assert"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          fault.Kind
	}{
		{"Town03.xodr", "", fault.OpenDRIVE},
		{"TOWN03.XODR", "<osm>", fault.OpenDRIVE},
		{"a.osi.gz", "\x1f\x8b", fault.OSI},
		{"a.tar.gz", "\x1f\x8b", fault.Archive},
		{"a.net.xml", "", fault.SUMO},
		{"a.xml", "<?xml version=\"1.0\"?>\n<!-- by hand -->\n<robot name=\"r\">", fault.URDF},
		{"a.xml", "\ufeff <sdf>", fault.SDF},
		{"a", "#ROSBAG V2.0\n", fault.Recording},
		{"a", "about a <robot>", ""},
		{"a.xml", "<html>", ""},
		{"", "", ""},
	} {
		assert.Equal(t, c.want, fault.KindOf(c.name, []byte(c.content)), "%s %q", c.name, c.content)
	}
}
