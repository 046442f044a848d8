// Package ros2dds is the bridge "ros2dds". It publishes on ROS 2's own wire, DDS, through
// Cyclone DDS's C library. So ROS 2 nodes on the network see raybridge as a node.
//
// # Building
//
// The bridge needs cgo, the library (Debian: cyclonedds-dev) and the build tag ros2dds:
// "make build-ros2dds". A program that is built without them knows the bridge and its types, and
// opening one is bridges.ErrNotBuilt.
//
// # Connection
//
//	ros2dds:[DOMAIN][?node=NAME][&namespace=/NAME][&ros=humble][&messages=N][&bytes=N]
//	        [&retry=3s][&backoff=F][&longest=30s][&attempts=N]
//
// The default domain is that of ROS_DOMAIN_ID, or 0. The node is called raybridge, in the
// namespace /. Nodes of ROS 2 Humble and before see node names only with ros=humble: later
// versions say them in another form.
//
// DDS has no peer to connect to. The bridge is Connected as soon as it takes part in the
// domain, and finds readers and writers as they come and go. A domain that can't be joined
// ([ErrSettings], [ErrDomain]) is tried again every 3 s without end, or as the options say.
// Connect returns without an error meanwhile.
//
// # On the wire
//
// A topic "/points" is the DDS topic "rt/points", a type "sensor_msgs/msg/PointCloud2"
// the DDS type "sensor_msgs::msg::dds_::PointCloud2_" (design.ros2.org, "Topic and
// Service name mapping to DDS"). Messages are plain CDR, little endian. Each
// endpoint says the hash of its type (REP-2011), the participant its enclave, and
// "ros_discovery_info" which endpoints are the node's, as rmw_dds_common has it.
//
// # Services
//
// A service "/sim/set" is the DDS topics "rq/sim/setRequest" and "rr/sim/setReply". Requests
// and replies have a header before their fields, as rmw_cyclonedds has it; clients on
// rmw_fastrtps, which has none, can't call them. A connection answers calls one by one on
// a goroutine of its own.
//
// # Who listens
//
// [bridges.Audience]: a sensor computes for a topic that has a matched reader. Topics
// that are kept for late joiners (TransientLocal, such as /tf_static) are always listened
// to. A message on another topic without readers isn't even encoded; it counts as not_connected.
//
// In DDS, readers that ask for more than a topic's quality of service offers don't count. Nor
// do writers that offer less than a subscription asks for. The library's threads count them; a
// goroutine of the connection looks once a second, and logs each topic and policy once.
// Diagnosis has all of them ([ErrIncompatibleQoS]).
//
// # Queues
//
// A publisher encodes its message into memory of the library's and queues it. One goroutine of
// the connection gives what is queued to the library, in order. The queue is bounded by messages
// (64) and bytes (64 MiB). The topic's policy says what happens when it is full: by default the
// oldest message goes. The library doesn't wait for readers of a topic whose history keeps the
// last messages. Messages that a slow reader hasn't got are replaced by newer ones, as ROS 2
// defines it. A topic that keeps all messages (KeepAll) waits for its readers, for up to 1 s a
// message, so it has a queue and a goroutine of its own. A message that isn't written in time
// counts as peer_slow.
//
// # Settings of the library
//
// Fragments are 65,000 bytes, messages up to 65,500, socket buffers up to 8 MiB. With the
// library's own defaults messages of 8 MB lose fragments faster than they are repaired. The
// file or the XML that the environment variable CYCLONEDDS_URI names has precedence.
// ROS_LOCALHOST_ONLY=1 keeps to the loopback interface.
package ros2dds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Factory is the bridge named "ros2dds".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "ros2dds", Type: "ros2dds", Kind: bridges.KindNetwork,
		Summary:    "takes part in ROS 2 over DDS, as a node (build tag ros2dds)",
		Connection: "[DOMAIN]", Default: "$ROS_DOMAIN_ID, or else 0", Options: bridges.OptionsOf(standard),
	}
}

// topics is what an instance does for its topics.
type topics interface {
	publish(info *bridges.PublishedTopic, typeName string) (ros.Send, error)
	subscribe(topic bridges.Topic, typeName string, in ros.Inbox) error
	offer(service string, answerer rossample.Answerer) error
}

// Register declares the message of every sample that ROS has one for, the commands
// that vehicles obey, and the services of std_srvs.
func (f Factory) Register(p *bridges.Plugin) error {
	offer := func(i bridges.Instance, name string, answerer rossample.Answerer) error {
		return i.(topics).offer(name, answerer)
	}
	return errors.Join(rossample.Register(p, f, rossample.Standard(), rossample.StandardSubscriptions()), rossample.RegisterServices(p, ros.ROS2, offer))
}

// RegPublication lets the bridge publish one more type, as a ROS message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, pub.Type, func(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
		return i.(topics).publish(info, typeName)
	})
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, sub.Type, func(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
		return i.(topics).subscribe(topic, typeName, in)
	})
}

// NewInstance returns an instance that takes part in no domain yet. In a program without
// the library it is bridges.ErrNotBuilt.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env) }

// settings is what a connection string says.
type settings struct {
	domain          uint32
	node, namespace string
	// gidSize is the size of an endpoint's identity in ros_discovery_info.
	gidSize int
	queue   flow.QueueConfig
	// retry says when to try again if the domain can't be joined.
	retry bridges.Retry
}

// Sizes of rmw_dds_common/msg/Gid, whose last bytes are 0 up to Humble.
const (
	gidSize       = 16
	humbleGIDSize = 24
)

// maxDomain is the last domain whose ports lie below 65536 (DDSI-RTPS 2.3, section
// 9.6.1.1).
const maxDomain = 232

var nodeName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// options are those of a connection string.
type options struct {
	Node      string `option:"node" value:"NAME" doc:"the node's name"`
	Namespace string `option:"namespace" value:"/NAME" doc:"the node's namespace"`
	ROS       string `option:"ros" value:"humble" doc:"for ROS 2 Humble and those before; without it for later ones"`
	bridges.RetryOptions
	bridges.QueueOptions
}

// standard are the options where none is given.
var standard = options{Node: "raybridge", Namespace: "/"}

// parseConnection reads a connection string. getenv is os.Getenv. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string, getenv func(string) string) (settings, error) {
	o := standard
	target, given, err := bridges.ReadOptions(connection, &o)
	s := settings{node: o.Node, namespace: o.Namespace, gidSize: gidSize, retry: o.Retry(), queue: o.Queue()}
	if err != nil {
		return s, err
	}
	if s.domain, err = parseDomain(target, getenv("ROS_DOMAIN_ID")); err != nil {
		return s, err
	}
	if !nodeName.MatchString(s.node) || len(s.node) > 255 {
		return s, fmt.Errorf("%w: node=%q: want letters, digits and underscores", bridges.ErrConnectionString, s.node)
	}
	if s.namespace != "/" && !ros.ValidTopic(s.namespace) || len(s.namespace) > 245 {
		return s, fmt.Errorf("%w: namespace=%q: want a name such as /vehicle", bridges.ErrConnectionString, s.namespace)
	}
	switch o.ROS {
	case "":
		if _, ok := given["ros"]; ok {
			return s, fmt.Errorf("%w: ros is empty: want humble", bridges.ErrConnectionString)
		}
	case "humble":
		s.gidSize = humbleGIDSize
	default:
		return s, fmt.Errorf("%w: ros=%q: leave it out for later versions, or %s", bridges.ErrConnectionString, o.ROS, fault.Want(o.ROS, "humble"))
	}
	return s, nil
}

// parseDomain reads the domain's id, or the environment's if there is none.
func parseDomain(text, environment string) (uint32, error) {
	where := "domain"
	if text == "" {
		text, where = environment, "ROS_DOMAIN_ID"
	}
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id > maxDomain {
		return 0, fmt.Errorf("%w: %s %q: want a number from 0 to %d", bridges.ErrConnectionString, where, text, maxDomain)
	}
	return uint32(id), nil
}

// defaults are the library's settings for messages of many megabytes, which those of the
// user override one by one.
func defaults(getenv func(string) string) string {
	interfaces := ""
	if getenv("ROS_LOCALHOST_ONLY") == "1" {
		interfaces = `<Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces>`
	}
	return `<CycloneDDS><Domain id="any">` +
		`<General>` + interfaces + `<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>` +
		`<Internal><SocketReceiveBufferSize max="8MiB"/><SocketSendBufferSize max="8MiB"/></Internal>` +
		`</Domain></CycloneDDS>`
}

// ddsTopic is the DDS topic of a ROS topic, which begins with a slash.
func ddsTopic(name string) string { return "rt" + name }

// The DDS topics of a ROS service, whose name begins with a slash.
func requestsTopic(name string) string { return "rq" + name + "Request" }

func repliesTopic(name string) string { return "rr" + name + "Reply" }

// ddsType is the DDS type of a ROS message type: "pkg/msg/Type" is
// "pkg::msg::dds_::Type_".
func ddsType(typeName string) string {
	at := strings.LastIndexByte(typeName, '/')
	return strings.ReplaceAll(typeName[:at], "/", "::") + "::dds_::" + typeName[at+1:] + "_"
}

// What endpoints and participants say of themselves: "key=value;" (REP-2016, and
// rmw_dds_common).
const participantData = "enclave=/;"

func endpointData(hash string) string { return "typehash=" + hash + ";" }

// serviceData is what both endpoints of a participant's n-th service say, so that clients of
// rmw_cyclonedds know that they belong together. It is 16 numbers in hexadecimal form, the
// participant's GUID with n instead of the entity.
func serviceData(participant [16]byte, n uint32) string {
	id := participant
	binary.BigEndian.PutUint32(id[12:], n)
	text := make([]string, len(id))
	for i, b := range id {
		text[i] = strconv.FormatUint(uint64(b), 16)
	}
	return "serviceid=" + strings.Join(text, ".") + ";"
}

// Errors of this bridge, beside those of package bridges; test them with errors.Is. The
// first two are tried again.
var (
	// ErrSettings: Cyclone DDS can't read its settings, mostly those that the environment
	// variable CYCLONEDDS_URI names; the message says which element is wrong.
	ErrSettings = cyclone.ErrSettings
	// ErrDomain: the domain can't be joined with the settings that there are; the message
	// has the library's reason, such as an interface that doesn't exist.
	ErrDomain = cyclone.ErrDomain
	// ErrIncompatibleQoS: readers or writers of others don't match the bridge's, because one
	// side asks for more than the other offers. The connection stays.
	ErrIncompatibleQoS = errors.New("incompatible quality of service")
)
