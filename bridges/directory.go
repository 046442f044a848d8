package bridges

// Endpoint is where receivers find a topic whose protocol has something else for it
// than its name.
type Endpoint struct {
	Topic string `json:"topic"`
	// Sensor is the name of the sensor that publishes the topic.
	Sensor string `json:"sensor,omitempty"`
	// Address is the server's, HOST:PORT.
	Address string `json:"address"`
	// Stream is the topic's number there, 0 for none, and Token what the protocol's
	// clients are given to find it, in hexadecimal digits.
	Stream uint32 `json:"stream,omitempty"`
	Token  string `json:"token,omitempty"`
}

// Directory is an Instance that receivers connect to: Endpoints lists its topics in
// the order of their numbers, with the addresses as they are while it is connected. A
// server without topics yet has one endpoint without a topic. Any goroutine may ask.
type Directory interface {
	Endpoints() []Endpoint
}

// Endpoints returns where receivers find the bridge's topics; nil for a bridge that
// receivers don't connect to. Of a closed bridge it is where they found them.
func (b *Bridge) Endpoints() []Endpoint {
	if last := b.lastEndpoints.Load(); last != nil {
		return *last
	}
	if d, ok := b.instance.(Directory); ok {
		return d.Endpoints()
	}
	return nil
}
