package save

import (
	"fmt"
	"strings"
)

// AppendPLY appends points as a PLY file, binary and little-endian, with a property of
// the element vertex for each field: "The PLY Polygon File Format", Turk 1994. Where the
// sensor was is a comment.
func AppendPLY(dst []byte, p *Points) []byte {
	dst = append(dst, plyHeader(p)...)
	return p.append(dst)
}

func plyHeader(p *Points) string {
	pose := p.pose()
	x, q := pose.Position, pose.Orientation
	lines := []string{
		"ply",
		"format binary_little_endian 1.0",
		"comment " + p.about(),
		"comment sensor in the map x y z qw qx qy qz " + decimals(x[0], x[1], x[2], q.W, q.V[0], q.V[1], q.V[2]),
		fmt.Sprintf("element vertex %d", p.Len()),
	}
	for _, f := range p.fields {
		lines = append(lines, "property "+f.ply+" "+f.name)
	}
	return strings.Join(append(lines, "end_header"), "\n") + "\n"
}
