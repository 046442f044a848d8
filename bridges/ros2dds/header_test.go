package ros2dds

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/ros"
)

// The octets follow from the form of rmw_cyclonedds: an unsigned and a signed number of
// 64 bits, then the fields.
func TestRequestsAndRepliesOnTheWire(t *testing.T) {
	const head = "00010000" + "1122334455667788" + "0500000000000000"
	request := headed{body: &ros.SetBoolRequest{}}
	data, err := hex.DecodeString(head + "01")
	require.NoError(t, err)
	var d cdr.Decoder
	require.NoError(t, d.Decode(data, &request))
	assert.Equal(t, header{0x44332211, 0x88776655, 5, 0}, request.header)
	assert.Equal(t, &ros.SetBoolRequest{Data: true}, request.body)

	for want, body := range map[string]ros.Message{
		head + "01" + "000000" + "05000000" + "646f6e6500": &ros.SetBoolResponse{Success: true, Message: "done"},
		head + "00": &ros.EmptyResponse{},
	} {
		var e cdr.Encoder
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
			var d cdr.Decoder
			var e cdr.Encoder
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
