package bridges

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/closest"
)

// Option is one option of connection strings: KEY=VALUE after the question mark. What a bridge
// declares is what it reads, what its errors name, and what lists show.
type Option struct {
	Key string
	// Value shows what may stand there. Texts between bars are written as they are; words in
	// capitals stand for something: N a whole number, SIZE a number of bytes, with a unit (KB, MB,
	// GB, KiB, MiB, GiB) or without, TIME a Go duration such as 500ms or 3s, FACTOR a number
	// that may have a fraction, FILE a path, other words what they say.
	Value string
	// Default is the value that an option has which isn't given; empty for none.
	Default string
	// Meaning is a line for lists, which says when it isn't about each connection.
	Meaning string
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

// keysOf lists the options' keys.
func keysOf(options []Option) []string {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.Key)
	}
	return keys
}

// SplitOptions splits a connection string at its first question mark into what
// it names and the options after it ("key=value&key=value", percent-encoded as
// in a URL). A key that isn't declared, or one that is given twice, is an
// ErrConnectionString that lists those that are.
func SplitOptions(connection string, declared ...Option) (target string, options map[string]string, err error) {
	known := keysOf(declared)
	target, query, _ := strings.Cut(connection, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, fmt.Errorf("%w: options %q: %w", ErrConnectionString, query, err)
	}
	options = make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list := values[key]
		if !slices.Contains(known, key) && len(known) == 0 {
			return "", nil, fmt.Errorf("%w: unknown option %q; the bridge has none", ErrConnectionString, key)
		}
		if !slices.Contains(known, key) {
			return "", nil, fmt.Errorf("%w: unknown option %q; %s", ErrConnectionString, key, closest.Hint(key, known))
		}
		if len(list) > 1 {
			return "", nil, fmt.Errorf("%w: option %q is given twice", ErrConnectionString, key)
		}
		options[key] = list[0]
	}
	return target, options, nil
}
