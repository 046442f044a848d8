package rosbridgev2

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/fault"
)

// DefaultPort is rosbridge_server's.
const DefaultPort = 9090

// MaxMessage is the size of the largest message in ROS's own serialization, bytes: whatever
// the text is that carries it, the ROS behind it writes its length, and those of its strings
// and arrays, as uint32. Frames of BSON have at most 2 GiB beside that, see package encode.
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

// Options are the options of connection strings that ParseConfig reads.
var Options = slices.Concat(EncodingOptions, ClientOptions)

var (
	// EncodingOptions are those of Options that say how messages are encoded.
	EncodingOptions = []bridges.Option{
		{Key: "bson", Value: "0|1", Default: "0", Meaning: "the server is in bson_only_mode"},
		{Key: "subscribe", Value: "cbor|json|cbor-raw", Default: "cbor", Meaning: "how the server sends what is subscribed to"},
	}
	// ClientOptions are the others.
	ClientOptions = slices.Concat([]bridges.Option{
		{Key: "nonfinite", Value: "words|null|max", Default: "words", Meaning: "how JSON has NaN and infinities: as Python's words, null, or the largest numbers"},
		{Key: "max_message_size", Value: "N", Default: "10000000", Meaning: "bytes of a frame that the server takes, at most, as its parameter says; 0 for any number"},
		{Key: "fragments", Value: "on|off", Default: "on", Meaning: "larger messages go in fragments, or are dropped"},
		{Key: "ca", Value: "FILE", Meaning: "certificates in PEM that a server of wss:// is trusted by; without it the system's"},
		{Key: "insecure", Value: "0|1", Default: "0", Meaning: "trust any server of wss://"},
	}, bridges.RetryOptions, bridges.QueueOptions)
)

// ParseConfig reads "[ws://|wss://]HOST[:PORT]" and options that were split from it. The
// ROS version is left to the caller. Errors wrap bridges.ErrConnectionString.
func ParseConfig(target string, options map[string]string) (Config, error) {
	config := Config{Compression: "cbor", NonFinite: encode.Words, MaxMessageSize: defaultMaxMessageSize}
	address, encrypted := strings.CutPrefix(target, "wss://")
	if !encrypted {
		address = strings.TrimPrefix(target, "ws://")
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return Config{}, fmt.Errorf("%w: %q: %s:// is not spoken; want ws://, wss:// or nothing before the host", bridges.ErrConnectionString, target, scheme)
	}
	if strings.Contains(address, "=") {
		return Config{}, fmt.Errorf("%w: %q is no address; options follow a question mark", bridges.ErrConnectionString, target)
	}
	var err error
	if config.Address, err = bridges.DialAddress(strings.TrimSuffix(address, "/"), DefaultPort); err != nil {
		return Config{}, err
	}
	bson, err := Switch(options, "bson")
	if err != nil {
		return Config{}, err
	}
	if bson { // nothing to fragment, and the server of ROS 1, which alone speaks it, has no limit by default
		config.Form, config.Compression, config.MaxMessageSize, config.Whole = BSON, "none", 0, true
	}
	for _, parse := range []func(map[string]string) error{config.parseSubscribe, config.parseNonFinite, config.parseSize} {
		if err := parse(options); err != nil {
			return Config{}, err
		}
	}
	if err := config.parseTLS(options, encrypted); err != nil {
		return Config{}, err
	}
	if config.Retry, err = bridges.ParseRetry(options); err != nil {
		return Config{}, err
	}
	config.Queue, err = bridges.ParseQueue(options)
	return config, err
}

func (c *Config) parseSubscribe(options map[string]string) error {
	form, ok := options["subscribe"]
	if !ok {
		return nil
	}
	compression, known := map[string]string{"json": "none", "cbor": "cbor", "cbor-raw": "cbor-raw"}[form]
	if !known {
		return fmt.Errorf("%w: subscribe=%q: %s", bridges.ErrConnectionString, form, closest.Want(form, "json", "cbor", "cbor-raw"))
	}
	if c.Form == BSON {
		return fmt.Errorf("%w: subscribe=%q: a server in bson_only_mode sends BSON alone", bridges.ErrConnectionString, form)
	}
	c.Compression = compression
	return nil
}

func (c *Config) parseNonFinite(options map[string]string) error {
	text, ok := options["nonfinite"]
	if !ok {
		return nil
	}
	how, known := map[string]encode.NonFinite{"words": encode.Words, "null": encode.Null, "max": encode.Max}[text]
	switch {
	case !known:
		return fmt.Errorf("%w: nonfinite=%q: %s", bridges.ErrConnectionString, text, closest.Want(text, "words", "null", "max"))
	case c.Form == BSON:
		return fmt.Errorf("%w: nonfinite=%q: BSON has NaN and infinities of its own: leave it out", bridges.ErrConnectionString, text)
	}
	c.NonFinite = how
	return nil
}

// parseSize reads what becomes of large messages.
func (c *Config) parseSize(options map[string]string) error {
	if text, ok := options["max_message_size"]; ok {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n > 0 && n < leastMaxMessageSize {
			return fmt.Errorf("%w: max_message_size=%q: want 0 or a whole number from %d on", bridges.ErrConnectionString, text, leastMaxMessageSize)
		}
		c.MaxMessageSize = int(n)
	}
	switch text, ok := options["fragments"]; {
	case !ok:
	case text == "off":
		c.Whole = true
	case text != "on":
		return fmt.Errorf("%w: fragments=%q: want on or off", bridges.ErrConnectionString, text)
	case c.Form == BSON:
		return fmt.Errorf("%w: fragments=on: a server in bson_only_mode puts no fragments together: leave it out", bridges.ErrConnectionString)
	}
	return nil
}

func (c *Config) parseTLS(options map[string]string, encrypted bool) error {
	insecure, err := Switch(options, "insecure")
	if err != nil {
		return err
	}
	ca, hasCA := options["ca"]
	switch {
	case !encrypted && (hasCA || insecure):
		return fmt.Errorf("%w: ca and insecure are for wss:// addresses", bridges.ErrConnectionString)
	case !encrypted:
		return nil
	case hasCA && insecure:
		return fmt.Errorf("%w: insecure=1 looks at no certificate, so ca=FILE has no use", bridges.ErrConnectionString)
	}
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}
	if !hasCA {
		return nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return fmt.Errorf("%w: ca=%q: %w", bridges.ErrConnectionString, ca, fault.File(err))
	}
	c.TLS.RootCAs = x509.NewCertPool()
	if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%w: ca=%q: the file has no certificate in PEM", bridges.ErrConnectionString, ca)
	}
	return nil
}

// Switch reads an option that is 1 or 0, by default 0. Errors wrap
// bridges.ErrConnectionString.
func Switch(options map[string]string, name string) (bool, error) {
	switch text, ok := options[name]; {
	case !ok, text == "0":
		return false, nil
	case text == "1":
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s=%q: want 1 or 0", bridges.ErrConnectionString, name, text)
	}
}

// ParseROS reads the option "ros": 1, which is the default, or 2. Errors wrap
// bridges.ErrConnectionString.
func ParseROS(options map[string]string) (ros.Version, error) {
	switch text, ok := options["ros"]; {
	case !ok, text == "1":
		return ros.ROS1, nil
	case text == "2":
		return ros.ROS2, nil
	default:
		return 0, fmt.Errorf("%w: ros=%q: want 1 or 2", bridges.ErrConnectionString, text)
	}
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
