package ros2dds

import (
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "ros2dds".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "ros2dds", Type: "ros2dds", Kind: bridges.KindNetwork,
		Summary:    "takes part in ROS 2 over DDS, as a node (build tag ros2dds)",
		Connection: "[DOMAIN]", Default: "$ROS_DOMAIN_ID, or else 0", Options: known,
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
	var errs []error
	for _, pub := range rossample.Standard() {
		errs = append(errs, f.RegPublication(p, pub))
	}
	for _, sub := range rossample.StandardSubscriptions() {
		errs = append(errs, f.RegSubscription(p, sub))
	}
	for _, s := range rossample.Services() {
		errs = append(errs, s.Register(p, s.Type, func(i bridges.Instance, name string, answerer rossample.Answerer) error {
			return i.(topics).offer(name, answerer)
		}))
	}
	return errors.Join(errs...)
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
