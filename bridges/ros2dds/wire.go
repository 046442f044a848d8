package ros2dds

import "github.com/raybridge/raybridge/bridges/ros"

// header is what rmw_cyclonedds has before the fields of requests and replies, in the same
// encoding. It is the client, a number of 64 bits, and the request's number, of 64 bits too. A
// reply has those of its request.
type header [4]uint32

// headed is a request or reply with its header.
type headed struct {
	header
	body ros.Message
}

// TypeName returns the body's.
func (h *headed) TypeName() string { return h.body.TypeName() }

// Fields visits the header and the body's fields. Behind the header all alignments are
// as at the beginning.
func (h *headed) Fields(v ros.Visitor) {
	for n := range h.header {
		v.Value("header", ros.Of(&h.header[n]))
	}
	v.Message("body", h.body) // a body without fields is a byte
}

// The topic on which ROS 2's nodes say which endpoints are theirs. It isn't a topic of
// ROS, so it has no prefix.
const (
	graphTopic = "ros_discovery_info"
	graphType  = "rmw_dds_common/msg/ParticipantEntitiesInfo"
)

// graph is a rmw_dds_common/msg/ParticipantEntitiesInfo of a participant with one node
// or none.
type graph struct {
	gidSize          int
	participant      [16]byte
	namespace, node  string
	readers, writers [][16]byte
	gone             bool // the participant has no node any more
}

var _ ros.Message = (*graph)(nil)

// TypeName returns "rmw_dds_common/msg/ParticipantEntitiesInfo".
func (g *graph) TypeName() string { return graphType }

// Fields visits what the encoding has in a row: arrays and sequences of octets are
// visited element by element.
func (g *graph) Fields(v ros.Visitor) {
	g.gid(v, g.participant)
	nodes := uint32(1)
	if g.gone {
		nodes = 0
	}
	v.Value("node_entities_info_seq", ros.Of(&nodes))
	if g.gone {
		return
	}
	v.String("node_namespace", &g.namespace)
	v.String("node_name", &g.node)
	g.gids(v, "reader_gid_seq", g.readers)
	g.gids(v, "writer_gid_seq", g.writers)
}

func (g *graph) gids(v ros.Visitor, name string, list [][16]byte) {
	n := uint32(len(list))
	v.Value(name, ros.Of(&n))
	for _, gid := range list {
		g.gid(v, gid)
	}
}

func (g *graph) gid(v ros.Visitor, gid [16]byte) {
	for i := range g.gidSize {
		var b byte
		if i < len(gid) {
			b = gid[i]
		}
		v.Value("data", ros.Of(&b))
	}
}
