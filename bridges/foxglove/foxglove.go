package foxglove

import (
	"cmp"
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
)

// DefaultAddress is where the bridge listens if the connection string has no address.
const DefaultAddress = "127.0.0.1:8765"

// Factory is the bridge named "foxglove".
type Factory struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "foxglove", Type: "foxglove", Kind: bridges.KindNetwork,
		Summary:    "serves every topic to Foxglove and other viewers that speak its WebSocket protocol",
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: bridges.OptionsOf(bridges.WebSocketOptions{}),
	}
}

// Register declares the messages of package foxglovemsg, the run's log, what clients may
// publish (the subscriptions of rossample.StandardSubscriptions, in JSON, CDR and ROS 1's
// encoding) and the services that they may call (those of std_srvs, in JSON).
func (f Factory) Register(p *bridges.Plugin) error {
	var list []error
	for _, pub := range foxglovemsg.Publications() {
		list = append(list, pub.Register(p, pub.Type, open))
	}
	for _, sub := range rossample.StandardSubscriptions() {
		list = append(list, f.RegSubscription(p, sub))
	}
	return errors.Join(append(list, registerServices(p))...)
}

// RegPublication lets the bridge publish one more type, as a ROS 2 message (cdr, ros2msg).
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return foxglovemsg.RegisterROS(p, pub, open)
}

// RegSubscription lets clients publish one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, sub.Type, listen)
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, maxMessage)), nil
}

// open makes the way of one topic's messages.
func open(i bridges.Instance, info *bridges.PublishedTopic, schema foxglovemsg.Schema) (foxglovemsg.Send, error) {
	t, err := i.(*instance).add(info, schema)
	if err != nil {
		return nil, err
	}
	t.exact = schema.MessageEncoding == "protobuf"
	return t.send, nil
}

// parseConnection reads a connection string. Errors wrap bridges.ErrConnectionString, or
// bridges.ErrTLS where the certificate can't be used.
func parseConnection(connection string) (address string, config transport.Config, err error) {
	var options bridges.WebSocketOptions
	target, _, err := bridges.ReadOptions(connection, &options)
	if err != nil {
		return "", config, err
	}
	if address, err = bridges.ListenAddress(target, DefaultAddress); err != nil {
		return "", config, err
	}
	config, err = options.WebSocket()
	return address, config, err
}
