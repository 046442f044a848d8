package bridges

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
)

// Option is one option of connection strings: KEY=VALUE after the question mark. What a bridge
// declares is what it reads, what its errors name, and what lists show.
type Option struct {
	Key string `json:"key"`
	// Value shows what may stand there. Texts between bars are written as they are; words in
	// capitals stand for something. N is a whole number, and SIZE a number of bytes, with a unit
	// (KB, MB, GB, KiB, MiB, GiB) or without. TIME is a Go duration such as 500ms or 3s, FACTOR a
	// number that may have a fraction, FILE a path. Other words are what they say.
	Value string `json:"value"`
	// Default is the value that an option has which isn't given; empty for none.
	Default string `json:"default,omitempty"`
	// Meaning is a line for lists, which says when it isn't about each connection.
	Meaning string `json:"meaning"`
}

// Form returns the option as "KEY=VALUE".
func (o Option) Form() string { return o.Key + "=" + o.Value }

// Form returns the whole form of the bridge's connection strings: Connection, and after it the
// options, each in brackets.
func (i *Info) Form() string {
	var b strings.Builder
	b.WriteString(i.Connection)
	for n, o := range i.Options {
		mark := "&"
		if n == 0 {
			mark = "?"
		}
		b.WriteString("[" + mark + o.Form() + "]")
	}
	return b.String()
}

// OptionsOf lists the options that a struct, or the one that a pointer leads to, declares by the
// tags of its fields, in their order. Those of an embedded struct stand at its place.
//
//	option   Option.Key
//	value    Option.Value
//	default  Option.Default; a field that isn't zero has its own
//	doc      Option.Meaning
//	want     what an error says is wanted, words perhaps; value's words without it
//	min, max what a number may be, at least (0) and at most (2147483647)
//
// [ReadOptions] takes what they say. A field is a string, which isn't empty if it has want, or
// a list of strings between commas. It may be a bool (1, on or true), an int, or a float64. It may be
// a time.Duration above 0, a flow.Policy, or an int64, which is a SIZE. Where value lists words
// there are no others.
func OptionsOf(declared any) []Option {
	var list []Option
	v := reflect.Indirect(reflect.ValueOf(declared))
	for _, f := range optionFields(v) {
		o := Option{Key: f.Tag.Get("option"), Value: f.Tag.Get("value"), Default: f.Tag.Get("default"), Meaning: f.Tag.Get("doc")}
		if own := v.FieldByIndex(f.Index); !own.IsZero() {
			o.Default = fmt.Sprint(own)
		}
		list = append(list, o)
	}
	return list
}

// optionFields returns the fields of a struct that declare options.
func optionFields(v reflect.Value) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("option") == "" })
}

// ReadOptions splits a connection string at its first question mark into what it names and the
// options after it ("key=value&key=value", percent-encoded as in a URL). It sets the fields of
// the struct that options points to, which declare them: see [OptionsOf]. What isn't given stays
// as it is; given has the texts of what is. A key that isn't declared, one that is given twice,
// and a value that can't be used are an ErrConnectionString that says what is expected.
func ReadOptions(connection string, options any) (target string, given map[string]string, err error) {
	target, query, _ := strings.Cut(connection, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, fmt.Errorf("%w: options %q: %w", ErrConnectionString, query, err)
	}
	v := reflect.ValueOf(options).Elem()
	fields := optionFields(v)
	var known []string
	for _, f := range fields {
		known = append(known, f.Tag.Get("option"))
	}
	given = make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, n := values.Get(key), slices.Index(known, key)
		switch {
		case len(known) == 0:
			return "", nil, fmt.Errorf("%w: unknown option %q; the bridge has none", ErrConnectionString, key)
		case n < 0:
			return "", nil, fmt.Errorf("%w: unknown option %q; %s", ErrConnectionString, key, fault.Hint(key, known))
		case len(values[key]) > 1:
			return "", nil, fmt.Errorf("%w: option %q is given twice", ErrConnectionString, key)
		}
		if err := setOption(v.FieldByIndex(fields[n].Index).Addr().Interface(), fields[n].Tag, text); err != nil {
			return "", nil, fmt.Errorf("%w: %s=%q: %w", ErrConnectionString, key, text, err)
		}
		given[key] = text
	}
	return target, given, nil
}

// setOption sets the field that a pointer leads to. The error says what is wanted.
func setOption(field any, tag reflect.StructTag, text string) (err error) {
	ok, value, want := true, tag.Get("value"), tag.Get("want")
	if words := strings.Split(value, "|"); len(words) > 1 && value == strings.ToLower(value) {
		ok, want = slices.Contains(words, text), cmp.Or(want, value)
	}
	switch field := field.(type) {
	case *flow.Policy:
		*field, err = flow.ParsePolicy(text)
		return err
	case *string:
		ok = ok && (text != "" || want == "")
		*field = text
	case *[]string:
		*field = strings.Split(text, ",")
	case *bool:
		*field = text == "1" || text == "on" || text == "true"
	case *int:
		*field, err = strconv.Atoi(text)
		ok = ok && err == nil && within(tag, float64(*field))
	case *float64:
		*field, err = strconv.ParseFloat(text, 64)
		ok = err == nil && within(tag, *field)
	case *time.Duration:
		*field, err = time.ParseDuration(text)
		ok = err == nil && *field > 0
	case *int64:
		*field, err = memory.ParseSize(text)
		return err
	default:
		panic(fmt.Sprintf("bridges: an option is a %T", field))
	}
	if ok {
		return nil
	}
	if words := strings.Split(want, "|"); len(words) > 1 {
		return errors.New(fault.Want(text, words...))
	}
	return errors.New("want " + want)
}

// within reports whether a number is one that the tags allow.
func within(tag reflect.StructTag, n float64) bool {
	least, _ := strconv.ParseFloat(tag.Get("min"), 64)
	most, err := strconv.ParseFloat(tag.Get("max"), 64)
	if err != nil {
		most = math.MaxInt32
	}
	return n >= least && n <= most
}

// QueueOptions are the options of connection strings that bound what waits for one peer.
type QueueOptions struct {
	Messages int `option:"messages" value:"N" default:"64" doc:"messages that wait for one peer, at most" min:"1" want:"a whole number from 1 on"`
	Bytes    int `option:"bytes" value:"N" default:"67108864" doc:"bytes that wait for one peer, at most" min:"1" want:"a whole number from 1 on"`
}

// Queue returns the queue that the options ask for, with 0 for what isn't given.
func (o QueueOptions) Queue() flow.QueueConfig {
	return flow.QueueConfig{Messages: o.Messages, Bytes: int64(o.Bytes)}
}

// Retry says when a bridge that lost its peer, or didn't find it, tries again.
type Retry = transport.Retry

// RetryOptions are the options of connection strings that say when to connect again.
type RetryOptions struct {
	Interval time.Duration `option:"retry" value:"TIME" default:"3s" doc:"time before a new attempt to connect" want:"a time above 0, such as 3s"`
	Backoff  float64       `option:"backoff" value:"FACTOR" default:"1" doc:"by which that time grows with each attempt that failed, 1 to 10" min:"1" max:"10" want:"a factor from 1 to 10"`
	Longest  time.Duration `option:"longest" value:"TIME" default:"30s" doc:"that it grows to" want:"a time above 0, such as 3s"`
	Attempts int           `option:"attempts" value:"N" default:"0" doc:"failed attempts after which the bridge gives up; 0 is never" want:"a whole number; 0 is without end"`
}

// Retry returns what the options ask for, with 0 for what isn't given.
func (o RetryOptions) Retry() Retry {
	return Retry{Interval: o.Interval, Backoff: o.Backoff, Longest: o.Longest, Attempts: o.Attempts}
}

// ListenAddress reads where a bridge is to listen, as its connection string names it. PORT is
// for clients on this machine only, HOST:PORT, or :PORT, for all that reach it. Port 0 is any
// free one. An empty text means standard. The result is HOST:PORT; errors wrap
// ErrConnectionString. Any goroutine may call it.
func ListenAddress(text, standard string) (string, error) {
	if text == "" {
		return standard, nil
	}
	host, port := "127.0.0.1", text
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%w: bad address %q: need PORT or HOST:PORT, such as %s", ErrConnectionString, text, standard)
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%w: bad address %q: the port is a number from 0, for any free one, to 65535", ErrConnectionString, text)
	}
	return net.JoinHostPort(host, port), nil
}

// DialAddress reads where a bridge's peer is, as its connection string names it: HOST,
// HOST:PORT, [IPV6] or [IPV6]:PORT. Without a port it is standardPort. The result is
// HOST:PORT; errors wrap ErrConnectionString. Any goroutine may call it.
func DialAddress(text string, standardPort int) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: bad address %q: %s; want HOST or HOST:PORT, such as localhost:%d or [::1]:%d",
			ErrConnectionString, text, why, standardPort, standardPort)
	}
	host, port := text, strconv.Itoa(standardPort)
	switch {
	case text == "":
		return bad("no host")
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		host = text[1 : len(text)-1]
	case strings.HasPrefix(text, "["), strings.Count(text, ":") == 1:
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return bad("it can't be split into host and port")
		}
	case strings.Contains(text, ":"):
		return bad("an IPv6 address stands in brackets")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return bad("the port is a number from 1 to 65535")
	}
	if host == "" || strings.ContainsAny(host, "/ @[]") {
		return bad("the host is not a name or number")
	}
	return net.JoinHostPort(host, port), nil
}
