package ros2dds

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

// The octets follow from the form of rmw_cyclonedds: an unsigned and a signed number of
// 64 bits, then the fields.
func TestRequestsAndRepliesOnTheWire(t *testing.T) {
	const head = "00010000" + "1122334455667788" + "0500000000000000"
	request := headed{body: &ros.SetBoolRequest{}}
	data, err := hex.DecodeString(head + "01")
	require.NoError(t, err)
	var d encode.BinaryDecoder
	require.NoError(t, d.Decode(data, &request))
	assert.Equal(t, header{0x44332211, 0x88776655, 5, 0}, request.header)
	assert.Equal(t, &ros.SetBoolRequest{Data: true}, request.body)

	for want, body := range map[string]ros.Message{
		head + "01" + "000000" + "05000000" + "646f6e6500": &ros.SetBoolResponse{Success: true, Message: "done"},
		head + "00": &ros.EmptyResponse{},
	} {
		var e encode.BinaryEncoder
		assert.Equal(t, want, hex.EncodeToString(e.Append(nil, &headed{request.header, body})))
	}
}

// Whatever clients send is read or refused.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{"00010000" + "1122334455667788" + "0500000000000000" + "01", "00010000" + "01", "0001", "00000000" + "11223344"} {
		data, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, service := range ros.Services() {
			var d encode.BinaryDecoder
			var e encode.BinaryEncoder
			request := headed{body: service.NewRequest()}
			if d.Decode(data, &request) != nil {
				continue
			}
			again := headed{body: service.NewRequest()}
			require.NoError(t, d.Decode(e.Append(nil, &request), &again))
			assert.Equal(t, request, again)
		}
	})
}

func TestNamesOfServices(t *testing.T) {
	assert.Equal(t, "rq/sim/setRequest", requestsTopic("/sim/set"))
	assert.Equal(t, "rr/sim/setReply", repliesTopic("/sim/set"))
	assert.Equal(t, "std_srvs::srv::dds_::SetBool_Request_", ddsType("std_srvs/srv/SetBool_Request"))
	assert.Equal(t, "serviceid=1.0.0.0.ff.0.0.0.0.0.0.10.0.0.1.2;", serviceData([16]byte{0: 1, 4: 255, 11: 16, 15: 0xc1}, 258))
}

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
		var e encode.BinaryEncoder
		assert.Equal(t, c.want, hex.EncodeToString(e.Append(nil, &c.g)), c.name)
	}
}
