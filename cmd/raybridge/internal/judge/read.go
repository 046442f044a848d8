package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// mostSummary is the longest file that is read, bytes: with 200 topics a summary has 60 kB.
const mostSummary = 64 << 20

// Read reads a file that run --summary wrote, or what GET /v1/status answered. Keys that this program doesn't know are
// passed over. An error says what is wrong with the file.
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
		return nil, fmt.Errorf("is a summary of schema %d: this raybridge reads %d: take the version that wrote it (%s)", *head.Schema, pipeline.SummarySchema, head.Version)
	}
	for _, key := range requiredKeys() {
		if keys[key] == nil {
			return nil, fmt.Errorf("is not the summary of a run, since it has no %q: name a file that run --summary wrote; replay's are others", key)
		}
	}
	var s pipeline.Summary
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, unreadable(data, err)
	}
	return &s, nil
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
