package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// summary is what a run says of itself, taken apart: what another run of the same case says alike, and the rest.
type summary struct {
	tree  map[string]any // all of it; numbers are json.Number
	fixed []byte
	timed json.RawMessage
}

// timedKeys are the keys of a summary that depend on wall time, on the machine, or on how the device is used; the class
// of the device is the manifest's. Below [] are those of each item.
var timedKeys = []string{
	"real_time_factor", "wall_s", "startup_s", "waiting_for", "gpu", "sensors[].latency_p50_ms", "sensors[].latency_p99_ms",
	"sensors[].listeners", "bridges[].endpoints", "bridges[].connections",
}

// newSummary takes a summary apart.
func newSummary(tree map[string]any) *summary {
	s := &summary{tree: maps.Clone(tree)}
	fixed, timed := map[string]any{}, map[string]any{}
	for key, value := range tree {
		items, list := value.([]any)
		switch {
		case slices.Contains(timedKeys, key):
			timed[key] = value
		case list:
			var kept, left []any
			for _, item := range items {
				k, l := divide(key, item)
				kept, left = append(kept, k), append(left, l)
			}
			if fixed[key] = kept; slices.ContainsFunc(left, func(l any) bool { return l != nil }) {
				timed[key] = left
			}
		default:
			fixed[key] = value
		}
	}
	s.fixed, s.timed = recordOf(fixed), recordOf(timed)
	return s
}

// divide takes an item of a summary's list apart; rest is nil for one that has nothing that depends on wall time.
func divide(list string, item any) (fixed, rest any) {
	row, ok := item.(map[string]any)
	if !ok {
		return item, nil
	}
	kept, left := map[string]any{}, map[string]any{}
	for key, value := range row {
		if slices.Contains(timedKeys, list+"[]."+key) {
			left[key] = value
		} else {
			kept[key] = value
		}
	}
	if len(left) == 0 {
		return kept, nil
	}
	return kept, left
}

// whole returns nil if the run came to its end and lost nothing.
func (s *summary) whole() error {
	if s.tree["interrupted"] == true {
		return errors.New("the run was told to end before its time")
	}
	if lost, ok := s.tree["lost"].(map[string]any); ok && len(lost) > 0 {
		var parts []string
		for _, cause := range slices.Sorted(maps.Keys(lost)) {
			parts = append(parts, fmt.Sprintf("%v by %s", lost[cause], cause))
		}
		return fmt.Errorf("the run lost messages: %s", strings.Join(parts, ", "))
	}
	if _, ok := s.tree["sim_s"]; !ok {
		return errors.New("the case's summary says nothing of a run")
	}
	return nil
}

// class is that of the device.
func (s *summary) class() string {
	device, _ := s.tree["gpu"].(map[string]any)
	text := func(key string) string { t, _ := device[key].(string); return t }
	return ClassOf(text("class"), text("renderer"), text("version"))
}

// hostClass is the class of devices that need no driver.
const hostClass = "host"

// ClassOf is the class of a device on this machine, within which equal cases give equal bytes. Drivers of OpenGL count
// with their renderer and version.
func ClassOf(class, renderer, version string) string {
	class += "/" + runtime.GOARCH
	if !strings.HasPrefix(class, hostClass+"/") {
		class += ", " + renderer + ", " + version
	}
	return class
}

// metrics are the summary's numbers of the drive.
func (s *summary) metrics() map[string]float64 {
	all := map[string]float64{}
	given, _ := s.tree["metrics"].(map[string]any)
	for name, value := range given {
		if n, ok := value.(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				all[name] = f
			}
		}
	}
	return all
}
