package ros1

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// standardPort is the master's.
const standardPort = 11311

// config is what a connection string and the environment say.
type config struct {
	// master is the master's HOST:PORT.
	master string
	// node is the node's name; named says that the user chose it.
	node  string
	named bool
	// host is where others find the node; empty for the address that leads to the master.
	host  string
	retry bridges.Retry
	queue queue.Config
}

// graphName is a name of ROS's graph (wiki.ros.org/Names), without "~".
var graphName = regexp.MustCompile(`^/?[A-Za-z]\w*(/\w+)*$`)

// globalName returns a name as the master knows it, or false for one that ROS 1
// doesn't allow.
func globalName(name string) (string, bool) {
	if !graphName.MatchString(name) {
		return "", false
	}
	return "/" + strings.TrimPrefix(name, "/"), true
}

var options = slices.Concat([]bridges.Option{
	{Key: "node", Value: "NAME", Default: defaultNode, Meaning: "the node's name"},
	{Key: "host", Value: "HOST", Meaning: "how others reach this machine; without it $ROS_HOSTNAME, $ROS_IP or the address that leads to the master"},
}, bridges.RetryOptions, bridges.QueueOptions)

// parseConnection reads a connection string; getenv is os.Getenv. Errors wrap
// bridges.ErrConnectionString.
func parseConnection(connection string, getenv func(string) string) (config, error) {
	target, given, err := bridges.SplitOptions(connection, options...)
	if err != nil {
		return config{}, err
	}
	c := config{node: defaultNode}
	if c.master, err = masterAddress(target, getenv("ROS_MASTER_URI")); err != nil {
		return config{}, err
	}
	if name, ok := given["node"]; ok {
		if c.node, c.named = globalName(name); !c.named {
			return config{}, fmt.Errorf("%w: node=%q: want a ROS name such as /raybridge", bridges.ErrConnectionString, name)
		}
	}
	// As roscpp and rospy do: the program's own option, then ROS_HOSTNAME, then ROS_IP.
	for _, host := range []string{given["host"], getenv("ROS_HOSTNAME"), getenv("ROS_IP")} {
		if host = strings.TrimSpace(host); host != "" {
			c.host = strings.Trim(host, "[]")
			break
		}
	}
	if strings.ContainsAny(c.host, "/ @[]") || strings.Contains(c.host, ":") && net.ParseIP(c.host) == nil {
		return config{}, fmt.Errorf("%w: host %q (option host, ROS_HOSTNAME or ROS_IP): want this machine's name or IP address, as others reach it",
			bridges.ErrConnectionString, c.host)
	}
	if c.retry, err = bridges.ParseRetry(given); err != nil {
		return config{}, err
	}
	c.queue, err = bridges.ParseQueue(given)
	return c, err
}

// masterAddress returns the master's HOST:PORT: the connection string's, or else that of
// ROS_MASTER_URI, or else this machine's.
func masterAddress(target, uri string) (string, error) {
	switch {
	case target != "":
		target = strings.TrimSuffix(strings.TrimPrefix(target, "http://"), "/")
		return bridges.DialAddress(target, standardPort)
	case uri == "":
		return bridges.DialAddress("127.0.0.1", standardPort)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("%w: ROS_MASTER_URI is %q: want http://HOST:%d, or name the master as ros1:HOST", bridges.ErrConnectionString, uri, standardPort)
	}
	return bridges.DialAddress(u.Host, standardPort)
}

// pollInterval is how often the master is asked whether it still knows the node: about
// each second, and as often as the node would look for a master that is away.
func (c config) pollInterval() time.Duration {
	wait, _ := c.retry.Wait(0)
	return min(wait, time.Second)
}

// names are those that the node may have, in order of preference: the one that the user
// chose, or raybridge's own with a number for each further instance.
func (c config) names() []string {
	list := []string{c.node}
	if !c.named {
		for i := 2; i <= maxInstances; i++ {
			list = append(list, fmt.Sprintf("%s_%d", c.node, i))
		}
	}
	return list
}

const (
	defaultNode  = "/raybridge"
	maxInstances = 32
)

// bindAddress returns where to listen so that others reach host: on this machine's own
// network alone if host is of that, else on all networks.
func bindAddress(host string) string {
	if ip := net.ParseIP(host); ip.IsLoopback() {
		return net.JoinHostPort(host, "0")
	}
	if host == "localhost" {
		return "127.0.0.1:0"
	}
	return ":0"
}
