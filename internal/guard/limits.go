package guard

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of all servers; "Who may connect" in docs/bridges/README.md has them as a table.
const (
	// Handshakes is the number of connections of a server whose request, or what its protocol
	// begins with, isn't there yet. One more ends the oldest.
	Handshakes = 64
	// AddressHandshakes of them may be of one address of another machine. One more ends the
	// oldest of that address.
	AddressHandshakes = 16
	// HandshakeTime is how long one may last: for HTTP, a request with its body. A
	// WebSocket's has none. With TLS its handshake counts too.
	HandshakeTime = 2 * time.Second
	// HeaderBytes bounds the request line and the headers.
	HeaderBytes = 64 << 10
	// RequestTime is the time for the rest of a request, and for its answer.
	RequestTime = 10 * time.Second
	// IdleTime is how long a connection of HTTP may rest between two requests.
	IdleTime = time.Minute

	// PingInterval is the time between two pings of a WebSocket client. SilenceLimit is how
	// long nothing may come from it, answers to pings included.
	PingInterval = 10 * time.Second
	SilenceLimit = 20 * time.Second

	// ControlConnections is how many connections of the control port have shaken hands at a
	// time. NodeCalls is the same for the API of ros1's node (XML-RPC), NodeConnections for its
	// topics and services (TCPROS). Half of them may be of one address of another machine.
	ControlConnections = 64
	NodeCalls          = 256
	NodeConnections    = 1024
)

// Limits of what one client of a WebSocket bridge may send, and have kept; "What a client may
// have kept" in docs/bridges/README.md has them as a table.
const (
	// MessageBytes bounds a message that a client sends.
	MessageBytes = 16 << 20
	// KeptBytes bounds all that is kept for a client beside the messages that wait for it. That
	// is registrations, messages that aren't complete, calls that wait, and unread answers.
	KeptBytes = 16 << 20
	// EntryBytes is what an entry in a server's tables counts for in KeptBytes, besides its
	// texts.
	EntryBytes = 256
	// ReasonBytes bounds the text of a status, and of an error that is kept: either may quote
	// what the client sent.
	ReasonBytes = 1 << 10
	// NameBytes bounds names: of operations, topics, services, types, parameters, encodings.
	NameBytes = 256
	// IDBytes bounds ids that a client chooses.
	IDBytes = 1 << 10
	// ListElements bounds a list in a message.
	ListElements = 4096
	// ParameterBytes bounds a value that a client gives a parameter, in JSON.
	ParameterBytes = 64 << 10

	// ClientTopics is how many topics a client may subscribe to, and advertise, and
	// TopicSubscriptions how often one of them, each with an id (rosbridge).
	ClientTopics       = 4096
	TopicSubscriptions = 64
	// ThrottledMessages is how many messages of a topic wait for their time, however large a
	// queue_length the client asks for (rosbridge).
	ThrottledMessages = 64
	// ClientChannels and ClientParameters are how many channels a client may advertise, and how
	// many parameters it may subscribe to (foxglove).
	ClientChannels   = 256
	ClientParameters = 4096
	// ServiceCalls is how many calls of one service wait (rosbridge), and ServerCalls of all
	// services together (foxglove).
	ServiceCalls = 16
	ServerCalls  = 64
	// FragmentedMessages is how many messages may be incomplete, and Fragments in how many
	// parts one may come (rosbridge).
	FragmentedMessages = 16
	Fragments          = 1 << 16
)

// Excerpt returns a text, or as much of its beginning as so many bytes hold.
func Excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.ToValidUTF8(text[:most], "\ufffd") + "..."
}
