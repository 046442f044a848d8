package ros1

import (
	"cmp"
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "ros1".
type Factory struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "ros1", Type: "ros1", Kind: bridges.KindNetwork,
		Summary:    "a ROS 1 node that publishes to rospy and roscpp over TCPROS",
		Connection: "[MASTER[:11311]]", Default: "$ROS_MASTER_URI, or else localhost:11311", Options: options,
	}
}

// Register declares the messages that SVL Simulator's users expect, what is subscribed
// to, and services.
func (f Factory) Register(p *bridges.Plugin) error {
	var err error
	for _, pub := range rossample.SVL() {
		err = errors.Join(err, f.RegPublication(p, pub))
	}
	for _, sub := range rossample.SVLSubscriptions() {
		err = errors.Join(err, f.RegSubscription(p, sub))
	}
	return errors.Join(err, registerServices(p))
}

// RegPublication lets the bridge publish one more type, as a ROS message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), openTopic)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), subscribe)
}

// NewInstance returns a node that isn't connected.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, maxMessage)), nil
}
