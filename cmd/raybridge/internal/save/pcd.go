package save

import (
	"fmt"
	"strconv"
	"strings"
)

// AppendPCD appends points as a PCD file, version 0.7 with binary data: the Point Cloud
// Library's "The PCD (Point Cloud Data) file format". VIEWPOINT is the sensor's pose in
// the map frame, so that viewers show clouds of several places where they belong.
func AppendPCD(dst []byte, p *Points) []byte {
	dst = append(dst, pcdHeader(p)...)
	return p.append(dst)
}

func pcdHeader(p *Points) string {
	column := func(of func(f *field) string) string {
		var words []string
		for i := range p.fields {
			words = append(words, of(&p.fields[i]))
		}
		return strings.Join(words, " ")
	}
	pose := p.pose()
	x, q := pose.Position, pose.Orientation
	lines := []string{
		"# .PCD v0.7 - Point Cloud Data file format",
		"# " + p.about(),
		"VERSION 0.7",
		"FIELDS " + column(func(f *field) string { return f.name }),
		"SIZE " + column(func(f *field) string { return strconv.Itoa(f.size) }),
		"TYPE " + column(func(f *field) string { return string(f.pcd) }),
		"COUNT " + column(func(*field) string { return "1" }),
		fmt.Sprintf("WIDTH %d", p.width),
		fmt.Sprintf("HEIGHT %d", p.height),
		"VIEWPOINT " + decimals(x[0], x[1], x[2], q.W, q.V[0], q.V[1], q.V[2]),
		fmt.Sprintf("POINTS %d", p.Len()),
		"DATA binary",
	}
	return strings.Join(lines, "\n") + "\n"
}

// append appends the points' bytes.
func (p *Points) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, p.Len()*p.step)...)
	p.put(dst[start:])
	return dst
}

// decimals writes numbers in as few digits as read back to them, without exponents,
// which not every reader knows.
func decimals(values ...float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(words, " ")
}
