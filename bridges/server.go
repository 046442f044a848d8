package bridges

import (
	"crypto/tls"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/filefault"
)

// clientsOption is the option that ParseServer reads, for those with a standard of 16.
var clientsOption = Option{Key: "clients", Value: "N", Default: "16", Meaning: "clients at a time, at most"}

// ServerOptions are the options of connection strings that ParseServer reads.
var ServerOptions = slices.Concat([]Option{
	{Key: "policy", Value: "drop_oldest|drop_newest|block", Default: "drop_oldest", Meaning: "what a client's full queue does"},
	clientsOption,
}, QueueOptions)

// ParseServer reads how a server treats its clients: "clients=16&policy=block" and the options
// of ParseQueue. Without the option clients there are standard at a time. Other options are
// ignored. Errors wrap ErrConnectionString.
func ParseServer(options map[string]string, standard int) (config transport.Config, err error) {
	if config.Queue, err = ParseQueue(options); err != nil {
		return config, err
	}
	if name, ok := options["policy"]; ok {
		if config.Queue.Policy, err = flow.ParsePolicy(name); err != nil {
			return config, fmt.Errorf("%w: policy=%q: %w", ErrConnectionString, name, err)
		}
	}
	config.MaxClients, err = parseClients(options, standard)
	return config, err
}

// parseClients reads how many clients there may be at a time: "clients=16", else standard.
func parseClients(options map[string]string, standard int) (int, error) {
	text, ok := options["clients"]
	if !ok {
		return standard, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: clients=%q: want a whole number from 1 to 65535", ErrConnectionString, text)
	}
	return int(n), nil
}

// WebSocketOptions are the options of connection strings that ParseWebSocket reads.
var WebSocketOptions = slices.Concat([]Option{
	clientsOption,
	{Key: "origins", Value: "HOST,...", Meaning: "whose web pages may connect too, as patterns; * lets all of them in"},
	{Key: "cert", Value: "FILE", Meaning: "certificate in PEM, for wss; goes with key"},
	{Key: "key", Value: "FILE", Meaning: "the certificate's private key in PEM"},
}, QueueOptions)

// ParseWebSocket reads how a server treats the clients of its WebSocket: "messages=64&
// bytes=67108864&clients=16&origins=viewer.example,*.lab.example:*&cert=FILE&key=FILE". Other
// options are ignored. Errors wrap ErrConnectionString, or ErrTLS where the certificate can't
// be used.
func ParseWebSocket(options map[string]string) (config transport.Config, err error) {
	if config.Queue, err = ParseQueue(options); err != nil {
		return config, err
	}
	if config.MaxClients, err = parseClients(options, 0); err != nil {
		return config, err
	}
	config.WebSocket = &transport.WebSocketConfig{}
	if text, ok := options["origins"]; ok {
		config.WebSocket.Origins = strings.Split(text, ",")
		for _, pattern := range config.WebSocket.Origins {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return config, fmt.Errorf("%w: origins=%q: want hosts between commas, such as viewer.example,https://*.lab.example:8443, or * for all pages", ErrConnectionString, text)
			}
		}
	}
	config.TLS, err = parseCertificate(options)
	return config, err
}

// parseCertificate reads the certificate, if one is named.
func parseCertificate(options map[string]string) (*tls.Config, error) {
	cert, hasCert := options["cert"]
	key, hasKey := options["key"]
	switch {
	case !hasCert && !hasKey:
		return nil, nil
	case cert == "" || key == "":
		return nil, fmt.Errorf("%w: cert and key go together: want cert=FILE&key=FILE, both in PEM", ErrConnectionString)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%w: read certificate %q with key %q: %w", ErrTLS, cert, key, filefault.Explain(err))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Count returns the configuration of a stream whose messages are counted on a topic. A
// message is sent when the first client has it; a latched one that no client has subscribed
// to is kept for those to come, and counts as sent too. A message is dropped when a client
// misses it, or when every client asked for fewer: of several clients it can be both.
func Count(topic *PublishedTopic, config transport.StreamConfig) transport.StreamConfig {
	config.Written = topic.Sent
	config.Settled = func(o transport.Outcome) {
		switch {
		case o.Dropped > 0:
			topic.Dropped(o.Cause)
		case o.Delivered > 0: // Written has counted it
		case config.Latched:
			topic.Sent(o.Bytes)
		default:
			topic.Dropped(flow.CausePeerSlow)
		}
	}
	return config
}
