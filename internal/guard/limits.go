package guard

import "time"

// Limits of all servers; "Who may connect" in docs/bridges/README.md has them as a table.
const (
	// Handshakes is the number of connections of a server whose request, or what its protocol
	// begins with, isn't there yet. One more ends the oldest.
	Handshakes = 64
	// AddressHandshakes of them may be of one address of another machine. One more ends the
	// oldest of that address.
	AddressHandshakes = 16
	// HandshakeTime is how long one may last: for HTTP, the request line and the headers; with
	// TLS, its handshake too.
	HandshakeTime = 2 * time.Second
	// HeaderBytes bounds the request line and the headers.
	HeaderBytes = 64 << 10
	// RequestTime is the time for the rest of a request, and for its answer.
	RequestTime = 10 * time.Second
	// IdleTime is how long a connection of HTTP may rest between two requests.
	IdleTime = time.Minute

	// PingInterval is the time between two pings of a WebSocket client, and SilenceLimit how
	// long nothing may come from it, not so much as the answer to a ping.
	PingInterval = 10 * time.Second
	SilenceLimit = 20 * time.Second

	// ControlConnections, NodeCalls and NodeConnections are how many connections have shaken
	// hands at a time: of the control port, of the API of ros1's node (XML-RPC) and of its
	// topics and services (TCPROS). Half of them may be of one address of another machine.
	ControlConnections = 64
	NodeCalls          = 256
	NodeConnections    = 1024
)
