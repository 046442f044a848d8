package bridges

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// SplitOptions splits a connection string at its first question mark into what
// it names and the options after it ("key=value&key=value", percent-encoded as
// in a URL). A key that isn't among known, or one that is given twice, is an
// ErrConnectionString that lists the known ones.
func SplitOptions(connection string, known ...string) (target string, options map[string]string, err error) {
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
			return "", nil, fmt.Errorf("%w: unknown option %q; known are: %s",
				ErrConnectionString, key, strings.Join(known, ", "))
		}
		if len(list) > 1 {
			return "", nil, fmt.Errorf("%w: option %q is given twice", ErrConnectionString, key)
		}
		options[key] = list[0]
	}
	return target, options, nil
}
