package foxglove_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/sample"
)

const subprotocol = "foxglove.websocket.v1"

// callOf is a message that calls a service.
func callOf(service, id uint32, encoding, request string) string {
	data := binary.LittleEndian.AppendUint32([]byte{2}, service)
	data = binary.LittleEndian.AppendUint32(data, id)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(encoding)))
	return string(data) + encoding + request
}

// attacks are what a hostile client sends again and again, by what it tries to have kept. n is
// the number of the message; those that begin with a byte below a space are binary.
var attacks = map[string]func(n int) string{
	"long topics": func(n int) string {
		return fmt.Sprintf(`{"op":"advertise","channels":[{"id":%d,"topic":"/%s","encoding":"json","schemaName":"a/B"}]}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"long schema names": func(n int) string {
		return fmt.Sprintf(`{"op":"advertise","channels":[{"id":%d,"topic":"/t","encoding":"json","schemaName":"%s"}]}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"schemas": func(n int) string {
		return fmt.Sprintf(`{"op":"advertise","channels":[{"id":%d,"topic":"/t","encoding":"json","schemaName":"a/B","schema":"%s"}]}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"escapes": func(n int) string {
		if n == 0 {
			return `{"op":"advertise","channels":[` + strings.Join(cmdChannels(200), ",") + `]}`
		}
		data := binary.LittleEndian.AppendUint32([]byte{1}, uint32(n%200))
		return string(data) + `{"a":"\\` + bridgetest.Long(bridgetest.HostilePart) + `"}`
	},
	"parameter names": func(n int) string {
		return fmt.Sprintf(`{"op":"subscribeParameterUpdates","parameterNames":["%d%s"]}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"many parameter names": func(n int) string {
		return fmt.Sprintf(`{"op":"subscribeParameterUpdates","parameterNames":["%d%s"]}`, n, bridgetest.Long(200))
	},
	"parameters": func(n int) string {
		return fmt.Sprintf(`{"op":"setParameters","parameters":[{"name":"/text","value":"%d%s"}]}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"ids of requests": func(n int) string {
		return fmt.Sprintf(`{"op":"getParameters","parameterNames":["/text"],"id":"%d%s"}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"operations": func(int) string { return fmt.Sprintf(`{"op":"%s"}`, bridgetest.Long(bridgetest.HostilePart)) },
	"calls": func(n int) string {
		return callOf(1, uint32(n), "json", `{"x":"`+bridgetest.Long(bridgetest.HostilePart)+`"}`)
	},
	"encodings of calls": func(n int) string { return callOf(1, uint32(n), bridgetest.Long(bridgetest.HostilePart), `{}`) },
	"subscriptions": func(int) string {
		return `{"op":"subscribe","subscriptions":[` + strings.Repeat(`{"id":1},`, 25_000) + `{}]}`
	},
}

// harmless are those of which nothing is kept though they aren't refused.
var harmless = map[string]bool{"schemas": false, "escapes": false}

func cmdChannels(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":%d,"topic":"/cmd_vel","encoding":"json","schemaName":"geometry_msgs/Twist"}`, i))
	}
	return list
}

// besieged returns a server that keeps bridgetest.HostileKept for a client. It has a service that
// answers when the test ends, and a parameter that can be set.
func besieged(t *testing.T) *bridges.Bridge {
	t.Helper()
	b := openOf(t, foxglove.Keeping(bridgetest.HostileKept), "127.0.0.1:0", bridges.Env{})
	require.NoError(t, b.Connect(t.Context()))
	publisher[*sample.Imu](t, b, bridges.Topic{Name: "/imu"})
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	require.NoError(t, bridges.AddService(b, "/slow", func(ctx context.Context, _ sample.EmptyRequest) (sample.EmptyResponse, error) {
		<-ctx.Done()
		return sample.EmptyResponse{}, ctx.Err()
	}))
	var kept []any // by the program, for ever
	require.NoError(t, bridges.AddParameter(b, bridges.Parameter{
		Name: "/text", Get: func() any { return "text" },
		Set: func(v any) error {
			kept = append(kept, v)
			return nil
		},
	}))
	t.Cleanup(func() { assert.Empty(t, kept, "values of 256 KiB") })
	return b
}

func kindOf(message string) byte {
	if message[0] < ' ' {
		return transport.OpBinary
	}
	return transport.OpText
}

// TestHostileClients: of ten times as much as the server keeps for a client, it keeps its limit
// at most. It tells the client, counts it, and serves the others.
func TestHostileClients(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 10 MiB of each thing")
	}
	for name, message := range attacks {
		t.Run(name, func(t *testing.T) {
			b := besieged(t)
			h := bridgetest.DialHostile(t, b.Endpoints()[0].Address, subprotocol, false)
			h.Flood(func(n int) (byte, string) {
				m := message(n)
				return kindOf(m), m
			})
			if _, ok := harmless[name]; !ok {
				assert.Positive(t, b.Diagnosis().Malformed)
				assert.Less(t, len(b.Diagnosis().LastError.Error()), 2000)
			}
			assert.Positive(t, h.Answer.Load(), "it is told")
			c, _, _ := dial(t, b)
			c.text("advertiseServices")
			c.synced() // others are served
		})
	}
}

// TestRegistrationsOfAClient: a client may have so many channels and parameters, and no more,
// however little they take.
func TestRegistrationsOfAClient(t *testing.T) {
	c, _, _ := dial(t, connected(t, ""))
	c.say(`{"op":"advertise","channels":[%s]}`, strings.Join(cmdChannels(guard.ClientChannels), ","))
	c.say(`{"op":"advertise","channels":[{"id":999,"topic":"/t","encoding":"json","schemaName":"a/B"}]}`)
	assert.Contains(t, c.text("status")["message"], "256")
	names := make([]string, guard.ClientParameters)
	for n := range names {
		names[n] = fmt.Sprintf(`"/%d"`, n)
	}
	c.say(`{"op":"subscribeParameterUpdates","parameterNames":[%s]}`, strings.Join(names, ","))
	c.text("parameterValues")
	c.say(`{"op":"subscribeParameterUpdates","parameterNames":["/more"]}`)
	c.text("parameterValues")
	assert.Contains(t, c.text("status")["message"], "4096")
}

// TestLargeMessages: reading one takes ten times its size at the most, whatever it holds.
func TestLargeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends messages of 4 MiB")
	}
	const size = bridgetest.LargeMessage
	list := func(element string) string {
		return "[" + strings.Repeat(element+",", size/(len(element)+1)) + element + "]"
	}
	for name, message := range map[string]string{
		"a text":            `{"op":"` + bridgetest.Long(size) + `"}`,
		"channels":          `{"op":"advertise","channels":` + list("{}") + `}`,
		"a schema":          `{"op":"advertise","channels":[{"id":1,"schema":"` + bridgetest.Long(size) + `"}]}`,
		"subscriptions":     `{"op":"subscribe","subscriptions":` + list("{}") + `}`,
		"ends":              `{"op":"unsubscribe","subscriptionIds":` + list("1") + `}`,
		"names":             `{"op":"getParameters","parameterNames":` + list(`""`) + `}`,
		"the same name":     `{"op":"getParameters","parameterNames":` + list(`"/text"`) + `}`,
		"parameters":        `{"op":"setParameters","parameters":` + list("{}") + `}`,
		"a parameter":       `{"op":"setParameters","parameters":[{"name":"/text","value":` + list("[]") + `}]}`,
		"an unknown member": `{"op":"subscribe","other":` + list(`{"a":[]}`) + `}`,
		"a call":            callOf(1, 1, "json", `{"x":`+list("[]")+`}`),
		"no JSON":           strings.Repeat("[", size),
		"a command":         string(binary.LittleEndian.AppendUint32([]byte{1}, 0)) + `{"linear":` + list("{}") + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := besieged(t)
			h := bridgetest.DialHostile(t, b.Endpoints()[0].Address, subprotocol, false)
			require.NoError(t, h.Send(transport.OpText, []byte(`{"op":"advertise","channels":[`+cmdChannels(1)[0]+`]}`)))
			h.Settle()
			h.SendLarge(kindOf(message), message)
		})
	}
}

// FuzzClientFrames sends frames of any content to a server with topics, subscriptions and
// a service: it answers the next question all the same.
func FuzzClientFrames(f *testing.F) {
	for _, text := range []string{
		`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`, `{"op":"unsubscribe","subscriptionIds":[1]}`,
		`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"json","schemaName":"geometry_msgs/Twist"}]}`,
		`{"op":"advertise","channels":[{"id":2,"topic":"/cmd_vel","encoding":"cdr","schemaName":"geometry_msgs/msg/Twist"}]}`,
		`{"op":"unadvertise","channelIds":[1]}`, `{"op":"getParameters","parameterNames":[]}`,
		`{"op":"setParameters","parameters":[{"name":"/raybridge/seed","value":[1,{"a":null}],"type":"byte_array"}]}`,
		`{"op":"subscribeParameterUpdates","parameterNames":["/a"]}`, `{"op":"unsubscribeParameterUpdates","parameterNames":[]}`, `{"op":1}`, `[`,
	} {
		f.Add(true, []byte(text))
	}
	for _, data := range []string{
		"", "\x01\x01\x00\x00\x00{\"linear\":{\"x\":1}}", "\x01\x02\x00\x00\x00\x00\x01\x00\x00", "\x02\x01\x00\x00\x00\x07\x00\x00\x00\x04\x00\x00\x00json{}", "\x03", "\x02\xff",
	} {
		f.Add(false, []byte(data))
	}
	b := connected(f, "")
	publisher[*sample.Imu](f, b, bridges.Topic{Name: "/imu"})
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	f.Fuzz(func(t *testing.T, text bool, data []byte) {
		c, _, _ := dial(t, b)
		kind := websocket.MessageBinary
		if text {
			kind = websocket.MessageText
		}
		require.NoError(t, c.conn.Write(t.Context(), kind, data))
		c.say(`{"op":"getParameters","parameterNames":["/raybridge/version"],"id":"alive"}`)
		for {
			kind, data, err := c.conn.Read(t.Context())
			require.NoError(t, err)
			if kind == websocket.MessageText && string(data) ==
				`{"op":"parameterValues","parameters":[{"name":"/raybridge/version","value":"1.2.3"}],"id":"alive"}` {
				break
			}
		}
		require.NoError(t, c.conn.CloseNow())
	})
}
