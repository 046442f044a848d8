package apollo

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// RosApollo is the bridge named "rosapollo". It is a client of the rosbridge server of LG's ROS
// 1 for Apollo 3.0 and 3.5, which knows protobuf messages as ROS types "pb_msgs/...".
//
// The connection string is
//
//	rosapollo:[ws://|wss://]HOST[:9090][?ca=FILE][&insecure=1][&retry=...]
//
// The protocol is rosbridge's, version 2, in JSON text frames.
//
// # Messages
//
// Radar objects, CanBus, GnssFix, GpsOdometry, Imu, 3-D boxes and signals are Apollo's
// messages. They are ContiRadar, Chassis, GnssBestPose, Gps, Imu (CorrectedImu on topics that
// end in "corrected_imu"), PerceptionObstacles and TrafficLightDetection. Everything else is
// the ROS message that bridge rosbridge sends. Commands come as pb_msgs/ControlCommand, boxes
// as lgsvl_msgs' arrays.
//
// An Apollo message in JSON is an object of the fields that are set, by their names in the
// .proto file. Enumerations are integers, 64-bit integers numbers, bytes base64, and null is a
// number that is NaN or infinite. What comes may also have protobuf's own JSON form.
//
// # Goroutines
//
// Those of rosbridgev2.Client.
//
// # Known gaps
//
// LG's fork of rosbridge can't be had any more: how it wants protobuf messages is inferred
// from what SVL Simulator sent it. BSON, CBOR and cbor-raw aren't spoken.
type RosApollo struct{ limit int64 } // of any message, bytes; 0 for what the formats have

// Info describes the bridge.
func (RosApollo) Info() bridges.Info {
	return bridges.Info{
		Name: "rosapollo", Type: "rosapollo", Kind: bridges.KindNetwork,
		Summary:    "publishes to the rosbridge server of LG's ROS for Apollo, with pb_msgs types",
		Connection: "[ws://|wss://]HOST[:9090]", Options: bridges.OptionsOf(rosbridgev2.ClientOptions{}),
	}
}

// published are the messages of Apollo that the bridge sends, in the place of ROS messages
// made of the same samples.
var published = map[string]string{
	"apollo.drivers.ContiRadar":               "*sample.RadarObjects",
	"apollo.canbus.Chassis":                   "*sample.CanBus",
	"apollo.drivers.gnss.GnssBestPose":        "*sample.GnssFix",
	"apollo.localization.Gps":                 "*sample.GpsOdometry",
	"apollo.drivers.gnss.Imu":                 "*sample.Imu",
	"apollo.perception.PerceptionObstacles":   "*sample.Detections3D",
	"apollo.perception.TrafficLightDetection": "*sample.Signals",
}

const (
	// command is the message of Apollo that the bridge receives, and control the ROS message
	// in whose place it is.
	command = "apollo.control.ControlCommand"
	control = "lgsvl_msgs/msg/VehicleControlData"
)

// Register declares the samples by the names of ROS 1 and of pb_msgs.
func (f RosApollo) Register(p *bridges.Plugin) error {
	var problems []error
	replaced := map[string]bool{}
	for _, pub := range publications() {
		if sample, ok := published[pub.Type]; ok {
			replaced[sample] = true
			problems = append(problems, pub.Register(p, shortName(pub.Schema), openApollo))
		}
	}
	for _, pub := range rossample.SVL() {
		if !replaced[pub.Sample.String()] {
			problems = append(problems, f.RegPublication(p, pub))
		}
	}
	for _, sub := range subscriptions() {
		if sub.Type == command {
			problems = append(problems, sub.Register(p, shortName(sub.Schema), listenApollo))
		}
	}
	for _, sub := range rossample.SVLSubscriptions() {
		if sub.Type != control {
			problems = append(problems, f.RegSubscription(p, sub))
		}
	}
	return errors.Join(append(problems, rossample.RegisterServices(p, ros.ROS1, offer), ros.CarryMirrors(p, f))...)
}

// RegPublication lets the bridge publish one more type, as a ROS message, which the ROS
// behind the server must have.
func (RosApollo) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), openROS)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (RosApollo) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), listenROS)
}

// NewInstance returns an rosClient without a connection.
func (f RosApollo) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return &rosClient{env: env, limit: cmp.Or(f.limit, math.MaxInt64)}, nil
}

// rosClient is a client. Its methods may be called from any goroutine.
type rosClient struct {
	rosbridgev2.Client
	env   bridges.Env
	limit int64 // of a message, bytes, beside the formats' own
}

var (
	_ bridges.Checker   = (*rosClient)(nil)
	_ bridges.Instance  = (*rosClient)(nil)
	_ bridges.Diagnoser = (*rosClient)(nil)
	_ bridges.Failer    = (*rosClient)(nil)
	_ mapped            = (*rosClient)(nil)
)

// Map returns where the map frame lies on the earth.
func (i *rosClient) Map() spatial.MapFrame { return i.env.Map }

// Check reads a connection string as Connect does.
func (i *rosClient) Check(connection string) error {
	_, err := parseRos(connection)
	return err
}

// Connect begins to dial.
func (i *rosClient) Connect(ctx context.Context, connection string) error {
	config, err := parseRos(connection)
	if err != nil {
		return err
	}
	config.ROS, config.Compression, config.Log = ros.ROS1, "", i.env.Log
	return i.Client.Connect(ctx, config)
}

// parseRos reads a connection string. Errors wrap bridges.ErrConnectionString.
func parseRos(connection string) (rosbridgev2.Config, error) {
	var o rosbridgev2.Options
	target, _, err := bridges.ReadOptions(connection, &o.ClientOptions)
	if err != nil {
		return rosbridgev2.Config{}, err
	}
	return o.Config(target)
}

// rosTopic is a topic of ROS messages.
type rosTopic struct {
	message ros.Message
	encoder encode.TreeEncoder
	sizes   *encode.BinaryEncoder
	limit   int64
}

func (t *rosTopic) AppendAs(dst []byte, config *rosbridgev2.Config) (out []byte, altered bool, err error) {
	if err := bridges.CheckSize(t.sizes.Size(t.message), t.limit); err != nil {
		return dst, false, err
	}
	t.encoder.NonFinite = config.NonFinite
	out = t.encoder.Append(dst, t.message)
	return out, t.encoder.Altered(), t.encoder.Err()
}

// openROS makes the way of ROS messages.
func openROS(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	if err := rosbridgev2.CheckName(info.Name); err != nil {
		return nil, err
	}
	way := i.(*rosClient).Advertise(info, typeName)
	t := &rosTopic{sizes: encode.ROS1.Encoder(), encoder: encode.TreeEncoder{Version: ros.ROS1}, limit: min(i.(*rosClient).limit, rosbridgev2.MaxMessage)}
	return func(ctx context.Context, message ros.Message, _ simtime.Stamp) error {
		t.message = message
		return way.Send(ctx, t)
	}, nil
}

// maxProtobuf is the size of the largest message of Apollo, bytes. Protobuf, which the server
// fills with what it reads, has no larger ones (protobuf.dev, "Proto Limits").
const maxProtobuf = math.MaxInt32

// apolloTopic is a topic of Apollo's messages.
type apolloTopic struct {
	message protoreflect.Message
	limit   int64
}

func (t *apolloTopic) AppendAs(dst []byte, config *rosbridgev2.Config) (out []byte, altered bool, err error) {
	if err := bridges.CheckSize(int64(proto.Size(t.message.Interface())), t.limit); err != nil {
		return dst, false, err
	}
	e := encoder{nonFinite: config.NonFinite}
	out = e.appendObject(dst, t.message)
	return out, e.altered, nil
}

// openApollo makes the way of Apollo's messages.
func openApollo(i bridges.Instance, info *bridges.PublishedTopic, message protoreflect.MessageDescriptor) (protoSend, error) {
	if err := rosbridgev2.CheckName(info.Name); err != nil {
		return nil, err
	}
	name := shortName(message)
	info.SetWire(name)
	way := i.(*rosClient).Advertise(info, name)
	t := &apolloTopic{limit: min(i.(*rosClient).limit, maxProtobuf)}
	return func(ctx context.Context, message protoMessage, _ simtime.Stamp) error {
		t.message = message.Proto().ProtoReflect()
		return way.Send(ctx, t)
	}, nil
}

func listenROS(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	return i.(*rosClient).Subscribe(rosbridgev2.Reads(topic.Name, typeName, in))
}

func listenApollo(i bridges.Instance, topic bridges.Topic, message protoreflect.MessageDescriptor, in protoInbox) error {
	receive := func(_ *rosbridgev2.Config, form rosbridgev2.Form, data []byte) error {
		if form != rosbridgev2.JSON {
			return fmt.Errorf("%w: a message that isn't JSON", rosbridgev2.ErrFrame)
		}
		m := in.New()
		// Python's protobuf leaves required fields to the reader.
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true, AllowPartial: true}).Unmarshal(encode.StrictJSON(data), m); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(shortName(message), "pb_msgs/"), err)
		}
		return in.Deliver(m)
	}
	return i.(*rosClient).Subscribe(&rosbridgev2.Subscription{Topic: topic.Name, Type: shortName(message), Receive: receive})
}

// offer offers a service.
func offer(i bridges.Instance, name string, a rossample.Answerer) error {
	if err := rosbridgev2.CheckName(name); err != nil {
		return err
	}
	i.(*rosClient).Offer(rosbridgev2.Answers(name, a))
	return nil
}

// encoder writes messages in JSON.
type encoder struct {
	nonFinite encode.NonFinite
	altered   bool // numbers were replaced
}

// appendObject appends a message as SVL wrote one: the fields that are set, in the order of
// the definition, by the definition's names. Unlike protobuf's own JSON form it has integers
// for enumerations and numbers for 64-bit integers.
func (e *encoder) appendObject(dst []byte, m protoreflect.Message) []byte {
	fields := m.Descriptor().Fields()
	separator := byte('{')
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) {
			continue
		}
		dst = append(append(append(dst, separator, '"'), field.Name()...), '"', ':')
		separator = ','
		if value := m.Get(field); field.IsList() {
			dst = e.appendList(dst, field, value.List())
		} else {
			dst = e.appendValue(dst, field, value)
		}
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

func (e *encoder) appendList(dst []byte, field protoreflect.FieldDescriptor, list protoreflect.List) []byte {
	dst = append(dst, '[')
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendValue(dst, field, list.Get(i))
	}
	return append(dst, ']')
}

func (e *encoder) appendValue(dst []byte, field protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return e.appendObject(dst, v.Message())
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool())
	case protoreflect.EnumKind:
		return strconv.AppendInt(dst, int64(v.Enum()), 10)
	case protoreflect.StringKind:
		return appendText(dst, v.String())
	case protoreflect.BytesKind:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
		return append(dst, '"')
	case protoreflect.FloatKind:
		return e.appendNumber(dst, v.Float(), 32)
	case protoreflect.DoubleKind:
		return e.appendNumber(dst, v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, v.Uint(), 10)
	default:
		return strconv.AppendInt(dst, v.Int(), 10)
	}
}

// appendNumber appends the shortest decimals that are this number.
func (e *encoder) appendNumber(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst, altered := e.nonFinite.Append(dst, f, bits)
		e.altered = e.altered || altered
		return dst
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // a string has none
		panic(err)
	}
	return append(dst, quoted...)
}
