package ros2dds

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/internal/cdr"
)

// The bytes follow from the definitions of rmw_dds_common: a Gid is char[16] from Iron
// on, char[24] up to Humble; names are string<=256.
func TestGraphOnTheWire(t *testing.T) {
	gid := func(b byte) (g [16]byte) {
		for i := range g {
			g[i] = b
		}
		return g
	}
	const zeros = "0000000000000000"
	ones, twos, threes := strings.Repeat("01", 16), strings.Repeat("02", 16), strings.Repeat("03", 16)
	for _, c := range []struct {
		name string
		g    graph
		want string
	}{
		{"iron", graph{gidSize: 16, participant: gid(1), namespace: "/", node: "sim", readers: [][16]byte{gid(2)}, writers: [][16]byte{gid(3), gid(2)}},
			"00010000" + ones + "01000000" + "02000000" + "2f00" + "0000" + "04000000" + "73696d00" +
				"01000000" + twos + "02000000" + threes + twos},
		{"humble", graph{gidSize: 24, participant: gid(1), namespace: "/a", node: "b", writers: [][16]byte{gid(3)}},
			"00010000" + ones + zeros + "01000000" + "03000000" + "2f6100" + "00" + "02000000" + "6200" + "0000" +
				"00000000" + "01000000" + threes + zeros},
		{"gone", graph{gidSize: 16, participant: gid(1), namespace: "/", node: "sim", gone: true}, "00010000" + ones + "00000000"},
	} {
		var e cdr.Encoder
		assert.Equal(t, c.want, hex.EncodeToString(e.Append(nil, &c.g)), c.name)
	}
}
