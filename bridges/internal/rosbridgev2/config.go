// Package rosbridgev2 speaks rosbridge's protocol (rosbridge_suite,
// ROSBRIDGE_PROTOCOL.md, version 2), the part that bridges to rosbridge have in common,
// whatever messages they carry.
//
// A [Client] keeps a connection to a server and what was registered with it. That is topics
// that are published ([Client.Advertise]), topics that are subscribed to ([Client.Subscribe])
// and services ([Client.Offer]). [Parse] reads a frame of any encoding, and the Append
// functions write them.
//
// # Encodings
//
// A server wants JSON in text frames, or, in bson_only_mode, BSON in binary frames. It sends
// JSON, CBOR or BSON: the first byte of a frame tells which, given the mode. Only the envelope
// is read and written here, the message in it is the bridge's.
//
// # Goroutines
//
// A connected client has the goroutines of its transport.Client and one for each service, on
// which its handler runs. A handler that takes its time stops neither the reader nor the others.
// [Client.Disconnect] ends them all.
package rosbridgev2

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// defaultPort is rosbridge_server's.
const defaultPort = 9090

// MaxMessage is the size of the largest message in ROS's own serialization, bytes. Whatever the
// text is that carries it, the ROS behind it writes its length, and those of its strings and
// arrays, as uint32. Frames of BSON have at most 2 GiB beside that, see package encode.
const MaxMessage = math.MaxUint32

const (
	// defaultMaxMessageSize is that of rosbridge_server of ROS 2; of the servers of ROS 1
	// one takes 10 MiB and the others any.
	defaultMaxMessageSize = 10_000_000
	// leastMaxMessageSize leaves room for a fragment's own fields.
	leastMaxMessageSize = 1000
)

// Config says how to reach a server and what it speaks.
type Config struct {
	// Address is HOST:PORT.
	Address string
	// TLS is for wss; nil for ws.
	TLS *tls.Config
	// Form is JSON or BSON.
	Form Form
	// Compression is asked for with subscriptions: "none", "cbor" or "cbor-raw".
	Compression string
	// ROS is the version that the server is of.
	ROS ros.Version
	// NonFinite is how JSON has NaN and infinities.
	NonFinite encode.NonFinite
	// MaxMessageSize is the largest frame that the server takes, bytes: it ends the
	// connection at a larger one. 0 doesn't limit it. Larger messages go in fragments, or, with
	// Whole, aren't sent.
	MaxMessageSize int
	Whole          bool

	Retry bridges.Retry
	Queue flow.QueueConfig
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

// Options are the options of connection strings to a server.
type Options struct {
	EncodingOptions
	ClientOptions
}

// EncodingOptions are those of Options that say how messages are encoded.
type EncodingOptions struct {
	BSON      bool   `option:"bson" value:"0|1" default:"0" doc:"the server is in bson_only_mode" want:"1 or 0"`
	Subscribe string `option:"subscribe" value:"cbor|json|cbor-raw" default:"cbor" doc:"how the server sends what is subscribed to" want:"json|cbor|cbor-raw"`
}

// ClientOptions are the others.
type ClientOptions struct {
	NonFinite string `option:"nonfinite" value:"words|null|max" default:"words" doc:"how JSON has NaN and infinities: as Python's words, null, or the largest numbers"`
	MaxSize   string `option:"max_message_size" value:"N" default:"10000000" doc:"bytes of a frame that the server takes, at most, as its parameter says; 0 for any number" want:"0 or a whole number from 1000 on"`
	Fragments string `option:"fragments" value:"on|off" default:"on" doc:"larger messages go in fragments, or are dropped" want:"on or off"`
	CA        string `option:"ca" value:"FILE" doc:"certificates in PEM that a server of wss:// is trusted by; without it the system's" want:"a file"`
	Insecure  bool   `option:"insecure" value:"0|1" default:"0" doc:"trust any server of wss://" want:"1 or 0"`
	bridges.RetryOptions
	bridges.QueueOptions
}

// nonFinites are the words of the option nonfinite.
var nonFinites = map[string]encode.NonFinite{"": encode.Words, "words": encode.Words, "null": encode.Null, "max": encode.Max}

// Config reads "[ws://|wss://]HOST[:PORT]", which the options were given with. The ROS version
// is left to the caller. Errors wrap bridges.ErrConnectionString.
func (o *Options) Config(target string) (Config, error) {
	config := Config{
		Compression: cmp.Or(o.Subscribe, "cbor"), NonFinite: nonFinites[o.NonFinite], MaxMessageSize: defaultMaxMessageSize,
		Whole: o.Fragments == "off", Retry: o.Retry(), Queue: o.Queue(),
	}
	if config.Compression == "json" {
		config.Compression = "none"
	}
	address, encrypted := strings.CutPrefix(target, "wss://")
	if !encrypted {
		address = strings.TrimPrefix(target, "ws://")
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return Config{}, fmt.Errorf("%w: %q: %s:// is not spoken; want ws://, wss:// or nothing before the host", bridges.ErrConnectionString, target, scheme)
	}
	if strings.Contains(address, "=") {
		return Config{}, fmt.Errorf("%w: %q is not an address; options follow a question mark", bridges.ErrConnectionString, target)
	}
	var err error
	if config.Address, err = bridges.DialAddress(strings.TrimSuffix(address, "/"), defaultPort); err != nil {
		return Config{}, err
	}
	if o.BSON { // nothing to fragment, and the server of ROS 1, which alone speaks it, has no limit by default
		config.Form, config.Compression, config.MaxMessageSize, config.Whole = BSON, "none", 0, true
	}
	switch {
	case o.BSON && o.Subscribe != "":
		return Config{}, fmt.Errorf("%w: subscribe=%q: a server in bson_only_mode sends BSON alone", bridges.ErrConnectionString, o.Subscribe)
	case o.BSON && o.NonFinite != "":
		return Config{}, fmt.Errorf("%w: nonfinite=%q: BSON has NaN and infinities of its own: leave it out", bridges.ErrConnectionString, o.NonFinite)
	case o.BSON && o.Fragments == "on":
		return Config{}, fmt.Errorf("%w: fragments=on: a server in bson_only_mode puts no fragments together: leave it out", bridges.ErrConnectionString)
	}
	if o.MaxSize != "" {
		n, err := strconv.ParseUint(o.MaxSize, 10, 31)
		if err != nil || n > 0 && n < leastMaxMessageSize {
			return Config{}, fmt.Errorf("%w: max_message_size=%q: want 0 or a whole number from %d on", bridges.ErrConnectionString, o.MaxSize, leastMaxMessageSize)
		}
		config.MaxMessageSize = int(n)
	}
	return config, config.setTLS(o, encrypted)
}

// setTLS encrypts the connection where the address says so.
func (c *Config) setTLS(o *Options, encrypted bool) error {
	switch {
	case !encrypted && (o.CA != "" || o.Insecure):
		return fmt.Errorf("%w: ca and insecure are for wss:// addresses", bridges.ErrConnectionString)
	case !encrypted:
		return nil
	case o.CA != "" && o.Insecure:
		return fmt.Errorf("%w: insecure=1 looks at no certificate, so ca=FILE has no use", bridges.ErrConnectionString)
	}
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(o.CA)
	if err != nil {
		return fmt.Errorf("%w: ca=%q: %w", bridges.ErrConnectionString, o.CA, fault.File(err))
	}
	c.TLS.RootCAs = x509.NewCertPool()
	if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%w: ca=%q: the file has no certificate in PEM", bridges.ErrConnectionString, o.CA)
	}
	return nil
}

// graphName is a name of ROS: path elements that begin with a letter or an underscore,
// with or without a slash before the first.
var graphName = regexp.MustCompile(`^/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*$`)

// CheckName returns nil if ROS allows the name of a topic or a service, else an error
// that wraps bridges.ErrTopicName.
func CheckName(name string) error {
	if graphName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w %q: want letters, digits and underscores between slashes, no part beginning with a digit", bridges.ErrTopicName, name)
}
