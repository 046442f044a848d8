package cyber

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo"
	"github.com/raybridge/raybridge/sensors/stream/queue"
	"github.com/raybridge/raybridge/spatial/geodesy"
)

// standardPort is cyber_bridge's.
const standardPort = 9090

// options is what a connection string says.
type options struct {
	address string
	layout  apollo.Layout
	origin  *bridges.Origin
	retry   bridges.Retry
	queue   queue.Config
}

// known are the options that parse reads.
var known = slices.Concat([]bridges.Option{
	{Key: "apollo", Value: "7|8", Default: "7", Meaning: "version of Apollo up to which, or from which on, messages are laid out"},
	{Key: "origin", Value: "LATITUDE,LONGITUDE[,ALTITUDE]", Meaning: "where the map's origin is, degrees and metres; without it the scene's"},
}, bridges.RetryOptions, bridges.QueueOptions)

func parse(connection string) (o options, err error) {
	target, values, err := bridges.SplitOptions(connection, known...)
	if err != nil {
		return options{}, err
	}
	if o.address, err = bridges.DialAddress(target, standardPort); err != nil {
		return options{}, err
	}
	if o.layout, err = parseLayout(values); err != nil {
		return options{}, err
	}
	if o.origin, err = parseOrigin(values); err != nil {
		return options{}, err
	}
	if o.retry, err = bridges.ParseRetry(values); err != nil {
		return options{}, err
	}
	o.queue, err = bridges.ParseQueue(values)
	return o, err
}

func parseLayout(values map[string]string) (apollo.Layout, error) {
	switch text, ok := values["apollo"]; {
	case !ok, text == "7":
		return apollo.Layout7, nil
	case text == "8":
		return apollo.Layout8, nil
	default:
		return 0, fmt.Errorf("%w: apollo=%q: want 7, for Apollo up to 7, or 8, for those from 8 on", bridges.ErrConnectionString, text)
	}
}

func parseOrigin(values map[string]string) (*bridges.Origin, error) {
	text, ok := values["origin"]
	if !ok {
		return nil, nil
	}
	bad := fmt.Errorf("%w: origin=%q: want LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,ALTITUDE in degrees and metres, such as 37.417,-122.016",
		bridges.ErrConnectionString, text)
	fields := strings.Split(text, ",")
	if len(fields) < 2 || len(fields) > 3 {
		return nil, bad
	}
	var numbers [3]float64
	for i, field := range fields {
		var err error
		if numbers[i], err = strconv.ParseFloat(field, 64); err != nil {
			return nil, bad
		}
	}
	origin := &bridges.Origin{Latitude: numbers[0], Longitude: numbers[1], Altitude: numbers[2]}
	const highest = 100_000 // metres
	if !(within(origin.Latitude, 90) && within(origin.Longitude, 180) && within(origin.Altitude, highest)) {
		return nil, bad
	}
	return origin, nil
}

// within reports whether v is a number of -limit to limit.
func within(v, limit float64) bool { return v >= -limit && v <= limit }

func newMap(origin *bridges.Origin) *apollo.Map {
	if origin == nil {
		return nil
	}
	return apollo.NewMap(geodesy.Position(*origin))
}
