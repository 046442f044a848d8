package foxglove

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/internal/guard"
)

// subprotocols are those that the server speaks, the best first.
var subprotocols = []string{"foxglove.sdk.v1", "foxglove.websocket.v1"}

// Opcodes of binary messages ("Binary messages" in the specification).
const (
	opMessageData     = 1
	opTime            = 2
	opServiceResponse = 3

	opClientMessageData    = 1
	opClientServiceRequest = 2
)

// Levels of a status.
const (
	levelInfo    = 0
	levelWarning = 1
	levelError   = 2
)

// capabilities of the server ("Server Info").
var capabilities = []string{"clientPublish", "time", "parameters", "parametersSubscribe", "services"}

type serverInfo struct {
	Op                 string            `json:"op"`
	Name               string            `json:"name"`
	Capabilities       []string          `json:"capabilities"`
	SupportedEncodings []string          `json:"supportedEncodings"`
	Metadata           map[string]string `json:"metadata"`
	SessionID          string            `json:"sessionId"`
}

type status struct {
	Op      string `json:"op"`
	Level   int    `json:"level"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty"`
}

type removeStatus struct {
	Op        string   `json:"op"`
	StatusIDs []string `json:"statusIds"`
}

// unadvertise takes channels back.
type unadvertise struct {
	Op         string   `json:"op"`
	ChannelIDs []uint32 `json:"channelIds"`
}

// channel is a topic as the protocol has it; a client's has an id that is the client's.
type channel struct {
	ID             uint32 `json:"id"`
	Topic          string `json:"topic"`
	Encoding       string `json:"encoding"`
	SchemaName     string `json:"schemaName"`
	Schema         string `json:"schema"`
	SchemaEncoding string `json:"schemaEncoding,omitempty"`
}

// newChannel describes a topic. Binary schemas are in base64.
func newChannel(id uint32, topic string, s foxglovemsg.Schema) channel {
	text := string(s.Data)
	if s.Encoding == "protobuf" {
		text = base64.StdEncoding.EncodeToString(s.Data)
	}
	return channel{ID: id, Topic: topic, Encoding: s.MessageEncoding, SchemaName: s.Name, Schema: text, SchemaEncoding: s.Encoding}
}

type parameterValues struct {
	Op         string      `json:"op"`
	Parameters []parameter `json:"parameters"`
	ID         string      `json:"id,omitempty"`
}

// parameter is a value with its name; one without a value is to be removed.
type parameter struct {
	Name  string `json:"name"`
	Value any    `json:"value,omitempty"`
	Type  string `json:"type,omitempty"`
}

type serviceCallFailure struct {
	Op        string `json:"op"`
	ServiceID uint32 `json:"serviceId"`
	CallID    uint32 `json:"callId"`
	Message   string `json:"message"`
}

// request is a JSON message of a client: what any of them may hold. Its lists are JSON arrays
// as they came, parts of the message, nil for none.
type request struct {
	Op, ID                         string
	Subscriptions, SubscriptionIDs []byte
	Channels, ChannelIDs           []byte
	ParameterNames, Parameters     []byte
}

type subscription struct {
	ID        uint32 `json:"id"`
	ChannelID uint32 `json:"channelId"`
}

// setParameter is a parameter that a client sets.
type setParameter struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
	Type  string          `json:"type"`
}

// parseRequest reads a text message of a client, whose lists are left for each to read.
func parseRequest(data []byte) (request, error) {
	var r request
	lists := map[string]*[]byte{
		"subscriptions": &r.Subscriptions, "subscriptionIds": &r.SubscriptionIDs, "channels": &r.Channels, "channelIds": &r.ChannelIDs,
		"parameterNames": &r.ParameterNames, "parameters": &r.Parameters,
	}
	err := encode.JSONMembers(data, func(name, value []byte) (err error) {
		switch list := lists[string(name)]; {
		case list != nil && string(value) != "null":
			*list = value
		case string(name) == "op":
			r.Op, err = encode.JSONText(value)
		case string(name) == "id":
			r.ID, err = encode.JSONText(value)
		}
		return err
	})
	switch {
	case err != nil:
		return r, fmt.Errorf("read text message: %w", err)
	case r.Op == "":
		return r, fmt.Errorf("text message without op: %w", errMalformed)
	}
	return r, errors.Join(checkName("op", r.Op), checkSize("id", len(r.ID), guard.IDBytes))
}

// each reads a list, one element after the other, of which nothing is kept but what take
// does. Of more than guard.ListElements the rest isn't read.
func each[T any](list []byte, take func(T) error) error {
	if list == nil {
		return nil
	}
	n := 0
	return encode.JSONElements(list, func(value []byte) error {
		if n++; n > guard.ListElements {
			return checkSize("list", n, guard.ListElements)
		}
		var element T
		if err := json.Unmarshal(value, &element); err != nil {
			return fmt.Errorf("element %d of a list: %w", n, err)
		}
		return take(element)
	})
}

// checkSize returns an error for what is larger than a limit.
func checkSize(what string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%s of %d, the most are %d: %w", what, size, limit, errMalformed)
}

// checkName returns an error for a name that is too long, and quotes its beginning.
func checkName(what, name string) error {
	if err := checkSize(what, len(name), guard.NameBytes); err != nil {
		return fmt.Errorf("%s: %w", guard.Excerpt(name, 64), err)
	}
	return nil
}

// errMalformed says that a client's message isn't of the protocol; the connection stays.
var errMalformed = fmt.Errorf("malformed message")

// clientMessage is a binary message of a client that publishes.
type clientMessage struct {
	channel uint32
	data    []byte
}

func parseClientMessage(data []byte) (clientMessage, error) {
	if len(data) < 5 {
		return clientMessage{}, fmt.Errorf("message data of %d bytes, want 5 or more: %w", len(data), errMalformed)
	}
	return clientMessage{channel: binary.LittleEndian.Uint32(data[1:]), data: data[5:]}, nil
}

// serviceRequest is a binary message of a client that calls a service.
type serviceRequest struct {
	service, call uint32
	encoding      string
	data          []byte
}

func parseServiceRequest(data []byte) (serviceRequest, error) {
	const head = 1 + 4 + 4 + 4
	if len(data) < head {
		return serviceRequest{}, fmt.Errorf("service call of %d bytes, want %d or more: %w", len(data), head, errMalformed)
	}
	n := binary.LittleEndian.Uint32(data[9:])
	if uint64(n) > uint64(len(data)-head) || n > guard.NameBytes {
		return serviceRequest{}, fmt.Errorf("service call with an encoding of %d bytes: %w", n, errMalformed)
	}
	return serviceRequest{
		service: binary.LittleEndian.Uint32(data[1:]), call: binary.LittleEndian.Uint32(data[5:]),
		encoding: string(data[head : head+n]), data: data[head+n:],
	}, nil
}

// appendServiceResponse appends a binary message ("Service Call Response").
func appendServiceResponse(dst []byte, r serviceRequest, content []byte) []byte {
	dst = append(dst, opServiceResponse)
	dst = binary.LittleEndian.AppendUint32(dst, r.service)
	dst = binary.LittleEndian.AppendUint32(dst, r.call)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.encoding)))
	return append(append(dst, r.encoding...), content...)
}

// messagePrefix is what a client's messages of a subscription begin with; the time
// follows, which all clients share.
func messagePrefix(id uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{opMessageData}, id)
}

// fullName turns ROS 1's name of a type, "pkg/Type", into ROS 2's, "pkg/msg/Type".
func fullName(name string) string {
	if pkg, rest, ok := strings.Cut(name, "/"); ok && !strings.Contains(rest, "/") {
		return pkg + "/msg/" + rest
	}
	return name
}

// marshal returns a JSON message. Those of this package can be encoded, except values of
// parameters, which are checked before.
func marshal(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	return data, nil
}
