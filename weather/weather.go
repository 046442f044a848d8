// Package weather is the one weather that all sensors of a run feel: a State as data, what follows
// from it in closed form, and a History that sensors ask at their capture time.
//
// Coefficients are those of light and of radio waves on a straight way. All are per metre, one way, of
// power: of T = exp(-extinction * distance) remains. Each function names its source.
package weather

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// ErrValue says that a weather has a number out of range, or a preset that nobody knows.
var ErrValue = errors.New("weather is not usable")

// State is a weather. It is the same at all places of a scene. Its zero value is clear, calm and dry,
// and takes nothing from what sensors see.
type State struct {
	// Visibility is the meteorological optical range, metres: of light 5 % are left after that way. 0
	// stands for no limit. Rain and snow that take more than it says win, see Extinction.
	Visibility float64 `json:"visibility,omitempty"`
	// Rain and Snow are what falls, mm/h, snow as the water that it melts to.
	Rain float64 `json:"rain"`
	Snow float64 `json:"snow"`
	// Wetness is how wet the ground is: 0 is dry, and 1 a closed film of water, see WaterDepth.
	Wetness float64 `json:"wetness"`
	Wind    Wind    `json:"wind"`
	// Cloud is the share of the sky that clouds hide, 0 to 1.
	Cloud float64 `json:"cloud"`
}

// Wind is where the air goes to, and how fast, m/s in the map frame.
type Wind struct {
	X float64 `yaml:"x" json:"x" doc:"towards the east, m/s" unit:"m/s" min:"-100" max:"100" default:"0"`
	Y float64 `yaml:"y" json:"y" doc:"towards the north, m/s" unit:"m/s" min:"-100" max:"100" default:"0"`
}

// Setting is a weather as users give it: a preset, and what differs from it. Keys that are left out are nil.
type Setting struct {
	Preset     string   `yaml:"preset" json:"preset,omitempty" doc:"what the other keys count over" enum:"clear,haze,fog,drizzle,rain,heavy_rain,snow" default:"clear"`
	Visibility *float64 `yaml:"visibility" json:"visibility,omitempty" doc:"meteorological optical range, metres: 5 % of the light are left after that way. Rain and snow that take more by themselves win" unit:"m" min:"1" max:"1e9" default:"the preset's"`
	Rain       *float64 `yaml:"rain" json:"rain,omitempty" doc:"rain, mm/h" unit:"mm/h" min:"0" max:"300" default:"the preset's"`
	Snow       *float64 `yaml:"snow" json:"snow,omitempty" doc:"snowfall, mm/h of the water that it melts to" unit:"mm/h" min:"0" max:"20" default:"the preset's"`
	Wetness    *float64 `yaml:"wetness" json:"wetness,omitempty" doc:"how wet the ground is: 0 is dry, 1 a closed film of water of 1.2 mm" min:"0" max:"1" default:"by the rain: the root of rain / (25 mm/h), 1 at most"`
	Wind       *Wind    `yaml:"wind" json:"wind,omitempty" doc:"where the air goes to, which no sensor feels: a world may read it" default:"calm"`
	Cloud      *float64 `yaml:"cloud" json:"cloud,omitempty" doc:"share of the sky that clouds hide" min:"0" max:"1" default:"1 with rain or snow, else the preset's"`
}

// presets are the weathers that have a name. Haze and fog lie within WMO's classes of visibility (haze 1 to 5
// km, fog below 1 km), rain within those of the American Meteorological Society (light to 2.5 mm/h, moderate
// to 7.6 mm/h, heavy above).
var presets = []struct {
	name  string
	state State
}{
	{"clear", State{}},
	{"haze", State{Visibility: 2000}},
	{"fog", State{Visibility: 100, Cloud: 1}},
	{"drizzle", State{Rain: 0.5, Cloud: 1}},
	{"rain", State{Rain: 5, Cloud: 1}},
	{"heavy_rain", State{Rain: 25, Cloud: 1}},
	{"snow", State{Snow: 1, Cloud: 1}},
}

// Presets returns the names of all presets.
func Presets() (names []string) {
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// State returns the whole weather of a setting. The error wraps ErrValue and names the key.
func (s *Setting) State() (State, error) {
	state, err := preset(s.Preset)
	if err != nil {
		return State{}, err
	}
	for _, given := range []struct{ from, to *float64 }{{s.Visibility, &state.Visibility}, {s.Rain, &state.Rain}, {s.Snow, &state.Snow}} {
		if given.from != nil {
			*given.to = *given.from
		}
	}
	if s.Visibility != nil && *s.Visibility == 0 { // which stands for none in a State
		return State{}, limits["visibility"].fault("visibility", 0)
	}
	if s.Wind != nil {
		state.Wind = *s.Wind
	}
	state.Wetness = wetBy(state.Rain)
	if s.Wetness != nil {
		state.Wetness = *s.Wetness
	}
	switch {
	case s.Cloud != nil:
		state.Cloud = *s.Cloud
	case state.RainExtinction()+state.SnowExtinction() > 0:
		state.Cloud = 1
	}
	return state, state.Validate()
}

// String returns what isn't as in clear weather, with units: "rain 5 mm/h, wetness 0.447, cloud 1". Clear weather is "clear".
func (s State) String() string {
	var parts []string
	for _, n := range s.numbers() {
		if n.value != 0 {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %.3g %s", n.name, n.value, limits[n.name].unit)))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), presets[0].name)
}

// preset returns the weather of a name; "" is clear.
func preset(name string) (State, error) {
	for _, p := range presets {
		if p.name == name || name == "" {
			return p.state, nil
		}
	}
	return State{}, fmt.Errorf("%w: preset is %q, %s", ErrValue, name, fault.Want(name, Presets()...))
}

// closedFilm is the rain, mm/h, under which a road has a closed film of water.
const closedFilm = 25

// wetBy returns how wet rain makes the ground. Films grow with the root of the rain (Road Research Laboratory,
// LR 236, 1968). That one closes at closedFilm is assumed.
func wetBy(rain float64) float64 { return min(1, math.Sqrt(max(rain, 0)/closedFilm)) }

// Validate returns an error for the first number that is NaN or out of range. It wraps ErrValue.
func (s State) Validate() error {
	for _, n := range s.numbers() {
		if n.name == "visibility" && n.value == 0 {
			continue
		}
		if err := limits[n.name].check(n.name, n.value); err != nil {
			return err
		}
	}
	return nil
}

// number is one of a State's, by its key.
type number struct {
	name  string
	value float64
}

func (s *State) numbers() [7]number {
	return [...]number{
		{"visibility", s.Visibility}, {"rain", s.Rain}, {"snow", s.Snow}, {"wetness", s.Wetness}, {"wind.x", s.Wind.X}, {"wind.y", s.Wind.Y}, {"cloud", s.Cloud},
	}
}

// limit is the range of a number, and how users read it, with the unit.
type limit struct {
	low, high  float64
	text, unit string
}

// limits are those that the tags of a Setting state, by their keys.
var limits = func() map[string]limit {
	found := map[string]limit{}
	add := func(t reflect.Type, before string) {
		for _, f := range doc.Fields(t) {
			from, to, unit := f.Tag.Get("min"), f.Tag.Get("max"), f.Tag.Get("unit")
			low, err := strconv.ParseFloat(from, 64)
			if high, bad := strconv.ParseFloat(to, 64); err == nil && bad == nil {
				found[before+f.Tag.Get("yaml")] = limit{low, high, strings.TrimSpace(from + " to " + to + " " + unit), unit}
			}
		}
	}
	add(reflect.TypeFor[Setting](), "")
	add(reflect.TypeFor[Wind](), "wind.")
	return found
}()

func (l limit) check(name string, value float64) error {
	if value >= l.low && value <= l.high {
		return nil
	}
	return l.fault(name, value)
}

func (l limit) fault(name string, value float64) error {
	return fmt.Errorf("%w: %s is %v, the range is %s", ErrValue, name, value, l.text)
}
