package ros1

import "context"

// OpenTopic makes the way of a topic's ROS messages, past any conversion of samples.
var OpenTopic = openTopic

// Reach asks for a master that answers.
func Reach(ctx context.Context, address string) error {
	_, err := reach(ctx, address)
	return err
}

// ReadHeader reads a connection header.
var ReadHeader = readHeader

// Definition returns the definition and the md5 sum of a type, by its full name.
func Definition(typeName string) (definition, md5 string, err error) {
	typ, err := newMessageType(typeName)
	return typ.definition, typ.md5, err
}

// MasterAndHost returns what a connection string says, with an environment.
func MasterAndHost(connection string, env map[string]string) (master, host, node string, err error) {
	c, err := parseConnection(connection, func(name string) string { return env[name] })
	return c.master, c.host, c.node, err
}

// BindAddress is where a node listens whose host is that.
var BindAddress = bindAddress

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }
