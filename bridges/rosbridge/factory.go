package rosbridge

import (
	"cmp"
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "rosbridge".
type Factory struct{ limit int64 } // of a message, bytes; 0 for what the formats have

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "rosbridge", Type: "rosbridge", Kind: bridges.KindNetwork,
		Summary:    "publishes to a rosbridge server, or serves roslib's clients itself",
		Connection: "[ws://|wss://]HOST[:9090]|listen=[[HOST:]9090]", Options: allOptions(),
	}
}

// navSatFix is the message that gps=nmea has another one for.
const navSatFix = "sensor_msgs/msg/NavSatFix"

// Register declares the samples and commands that SVL's ROS bridge knows, more of our
// own, and std_srvs' services, by ROS 1's names.
func (f Factory) Register(p *bridges.Plugin) error {
	var problems []error
	for _, pub := range rossample.SVL() {
		if pub.Type == navSatFix {
			problems = append(problems, pub.RegisterSample(p, ros.ROS1.TypeName(pub.Type), openGnss(pub)))
			continue
		}
		problems = append(problems, f.RegPublication(p, pub))
	}
	for _, sub := range rossample.SVLSubscriptions() {
		problems = append(problems, f.RegSubscription(p, sub))
	}
	for _, service := range rossample.Services() {
		problems = append(problems, service.Register(p, ros.ROS1.TypeName(service.Type), offer))
	}
	return errors.Join(problems...)
}

// RegPublication lets the bridge publish one more type, as a ROS message, which the ROS
// behind a server must have.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), open)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), listen)
}

// NewInstance returns an instance without a connection.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, rosbridgev2.MaxMessage)), nil
}

func open(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	t, err := i.(*instance).add(info, typeName)
	if err != nil {
		return nil, err
	}
	return t.send, nil
}
