package ros2dds

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// settings is what a connection string says.
type settings struct {
	domain          uint32
	node, namespace string
	// gidSize is the size of an endpoint's identity in ros_discovery_info.
	gidSize int
	queue   queue.Config
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

// known are the options that parseConnection reads.
var known = slices.Concat([]bridges.Option{
	{Key: "node", Value: "NAME", Default: "raybridge", Meaning: "the node's name"},
	{Key: "namespace", Value: "/NAME", Default: "/", Meaning: "the node's namespace"},
	{Key: "ros", Value: "humble", Meaning: "for ROS 2 Humble and those before; without it for later ones"},
}, bridges.RetryOptions, bridges.QueueOptions)

// parseConnection reads a connection string. getenv is os.Getenv. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string, getenv func(string) string) (settings, error) {
	s := settings{node: "raybridge", namespace: "/", gidSize: gidSize}
	target, options, err := bridges.SplitOptions(connection, known...)
	if err != nil {
		return s, err
	}
	if s.domain, err = parseDomain(target, getenv("ROS_DOMAIN_ID")); err != nil {
		return s, err
	}
	if name, ok := options["node"]; ok {
		if s.node = name; !nodeName.MatchString(name) || len(name) > 255 {
			return s, fmt.Errorf("%w: node=%q: want letters, digits and underscores", bridges.ErrConnectionString, name)
		}
	}
	if name, ok := options["namespace"]; ok {
		if s.namespace = name; name != "/" && !ros.ValidTopic(name) || len(name) > 245 {
			return s, fmt.Errorf("%w: namespace=%q: want a name such as /vehicle", bridges.ErrConnectionString, name)
		}
	}
	switch options["ros"] {
	case "":
		if _, ok := options["ros"]; ok {
			return s, fmt.Errorf("%w: ros is empty: want humble", bridges.ErrConnectionString)
		}
	case "humble":
		s.gidSize = humbleGIDSize
	default:
		return s, fmt.Errorf("%w: ros=%q: leave it out for later versions, or %s", bridges.ErrConnectionString, options["ros"], closest.Want(options["ros"], "humble"))
	}
	if s.queue, err = bridges.ParseQueue(options); err != nil {
		return s, err
	}
	s.retry, err = bridges.ParseRetry(options)
	return s, err
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
