package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// mostSummary is the longest file that is read, bytes: with 200 topics a summary has 60 kB.
const mostSummary = 64 << 20

// Read reads a file that run --summary wrote, or what GET /v1/status answered. Keys that this program doesn't know are
// passed over, and figures that no run can come to are refused. An error says what is wrong with the file.
func Read(path string) (*pipeline.Summary, error) {
	data, err := fault.ReadUpTo(path, mostSummary)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read summary: %w", err)
	case len(data) > mostSummary:
		return nil, fmt.Errorf("read summary: %s has more than %d MB: it is not a summary", path, mostSummary>>20)
	}
	s, err := parseSummary(data)
	if err != nil {
		return nil, fmt.Errorf("read summary: %s %w", path, err)
	}
	return s, nil
}

// parseSummary reads a summary. The error continues a sentence that begins with the file's name.
func parseSummary(data []byte) (*pipeline.Summary, error) {
	if len(data) == 0 {
		return nil, errors.New("is empty: was the run that was to write it killed, or the disk full?")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, unreadable(data, err)
	}
	var head struct {
		Schema  *int
		Version string
	}
	if err := json.Unmarshal(data, &head); err != nil || head.Schema == nil {
		return nil, errors.New(`is not a summary, since it has no number "schema": name a file that run --summary wrote`)
	}
	if *head.Schema != pipeline.SummarySchema {
		return nil, fmt.Errorf("is a summary of schema %d: this raybridge reads %d: take the version that wrote it (%s)", *head.Schema, pipeline.SummarySchema, fault.Printable(head.Version))
	}
	if err := checkKeys(keys, head.Version); err != nil {
		return nil, err
	}
	var s pipeline.Summary
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, unreadable(data, err)
	}
	if err := checkFigures(&s); err != nil {
		return nil, err
	}
	return &s, nil
}

// ofRuns are the keys that tell the summary of a run, by any version, from that of a replay.
var ofRuns = []string{"real_time_factor", "sim_s", "sensors"}

// checkKeys returns an error where a key lacks that every summary has.
func checkKeys(keys map[string]json.RawMessage, version string) error {
	lacks := func(key string) bool { return keys[key] == nil || string(keys[key]) == "null" }
	for _, key := range ofRuns {
		if lacks(key) {
			return fmt.Errorf("is not the summary of a run, since it has no %q: name a file that run --summary wrote; replay's are others", key)
		}
	}
	for _, key := range requiredKeys() {
		switch {
		case !lacks(key):
		case key == "lost" && keys[key] == nil:
			return fmt.Errorf("was written by %s, which did not sum up losses: run again", cmp.Or(fault.Printable(version), "an older raybridge"))
		default:
			return fmt.Errorf("is not a whole summary, since it has no %q: run again", key)
		}
	}
	return nil
}

// mostFigure is above every rate and every count that a run can come to, and every time in seconds or ms.
const mostFigure = 1e15

// checkFigures returns an error where a figure can't be a run's.
func checkFigures(s *pipeline.Summary) error {
	wrong := func(name string, v float64) error {
		return fmt.Errorf("is not a run's summary, since %s is %v: run again", name, v)
	}
	implausible := func(v float64) bool { return v < 0 || v > mostFigure }
	for _, f := range []struct {
		name string
		v    float64
	}{{"real_time_factor", s.RealTimeFactor}, {"wall_s", s.WallS}, {"sim_s", s.SimS}} {
		if implausible(f.v) {
			return wrong(fmt.Sprintf("its %q", f.name), f.v)
		}
	}
	for cause, n := range s.Lost {
		if implausible(float64(n)) {
			return wrong(fmt.Sprintf("the count of %q in its \"lost\"", cause), float64(n))
		}
	}
	for name, v := range s.Metrics {
		if math.Abs(v) > mostFigure {
			return wrong(fmt.Sprintf("its metric %q", name), v)
		}
	}
	for i := range s.Sensors {
		row := &s.Sensors[i]
		for _, f := range []struct {
			name string
			v    float64
		}{{"messages", float64(row.Messages)}, {"rate_hz", row.RateHz}, {"latency_p99_ms", row.LatencyP99Ms}, {"others", float64(row.Others)}} {
			if implausible(f.v) {
				return wrong(fmt.Sprintf("%q of topic %q", f.name, row.Topic), f.v)
			}
		}
	}
	return nil
}

// unreadable says what is wrong with JSON.
func unreadable(data []byte, err error) error {
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other) && other.Field == "":
		return errors.New("is not a summary: name a file that run --summary wrote")
	case errors.As(err, &other):
		return fmt.Errorf("is not a summary, since its %q is %s", other.Field, other.Value)
	case errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(new(any)), io.ErrUnexpectedEOF):
		return fmt.Errorf("ends in the middle, after %d bytes: was the run that wrote it killed, or the disk full?", len(data))
	default:
		return fmt.Errorf("is not JSON: %w", err)
	}
}

// requiredKeys are those that every summary has.
func requiredKeys() (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pipeline.Summary]()) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !strings.Contains(options, "omitempty") {
			keys = append(keys, name)
		}
	}
	return keys
}
