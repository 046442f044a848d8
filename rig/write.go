package rig

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors"
)

// WriteYAML writes the rig in our own form, with comments: what it came from, and what
// was said of it. Parse reads it again as the same rig.
func (r *Rig) WriteYAML(out io.Writer) error {
	var w yamlWriter
	w.head(r)
	if len(r.Drivers) > 0 {
		w.printf("drivers: %s\n", flowOf(r.Drivers, doc.Text))
	}
	if r.ControlTopic != "" {
		w.printf("control_topic: %s\n", doc.Text(r.ControlTopic))
	}
	if len(r.Bridges) > 0 {
		w.printf("bridges:\n")
	}
	for _, b := range r.Bridges {
		w.printf("  - {type: %s, connection: %s}\n", doc.Text(b.Type), doc.Text(b.Connection))
	}
	if len(r.Sensors) == 0 {
		w.printf("sensors: []\n")
	} else {
		w.printf("sensors:\n")
	}
	for i := range r.Sensors {
		if i > 0 {
			w.printf("\n")
		}
		w.entry(&r.Sensors[i], r.comments[r.Sensors[i].Name])
	}
	_, err := out.Write(w.Bytes())
	return err
}

// yamlWriter is a document under construction.
type yamlWriter struct{ bytes.Buffer }

func (w *yamlWriter) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// origins say, for each kind of rig, what a reader of its YAML wants to know.
var origins = map[string]string{
	"SVL":   "Converted from the sensors of an SVL vehicle. The vehicle's origin is base_link; axes are\n# REP-103's: x forward, y left, z up.",
	"CARLA": "Converted from the sensors of a CARLA vehicle. The vehicle's origin is base_link; axes\n# are REP-103's: x forward, y left, z up.",
}

// head writes the comments before the list.
func (w *yamlWriter) head(r *Rig) {
	if text, ok := origins[r.origin]; ok {
		w.printf("# %s\n", text)
	}
	for _, part := range []struct {
		title string
		lost  bool
	}{{"Accepted with changes", false}, {"Without a counterpart here", true}} {
		begun := false
		for _, n := range r.Notices {
			if n.Lost != part.lost {
				continue
			}
			if !begun {
				w.printf("#\n# %s (lines of the original file):\n", part.title)
				begun = true
			}
			w.printf("#   %s\n", oneLine(n.brief()))
		}
	}
	if w.Len() > 0 {
		w.printf("\n")
	}
}

// oneLine keeps a text within its comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
}

// entry writes one sensor.
func (w *yamlWriter) entry(e *sensors.Config, comment string) {
	if comment != "" {
		w.printf("  # %s\n", oneLine(comment))
	}
	w.printf("  - id: %s\n    name: %s\n", doc.Text(e.ID), doc.Text(e.Name))
	for _, k := range []struct{ key, value string }{
		{"parent", e.Parent}, {"frame", e.Frame}, {"frame_id", e.FrameID}, {"topic", e.Topic},
	} {
		if k.value != "" {
			w.printf("    %s: %s\n", k.key, doc.Text(k.value))
		}
	}
	if len(e.Topics) > 0 {
		w.printf("    topics: {%s}\n", strings.Join(pairs(e.Topics), ", "))
	}
	if parts := qualityOf(e.QoS); len(parts) > 0 {
		w.printf("    qos: {%s}\n", strings.Join(parts, ", "))
	}
	if rate := e.Rate.String(); plainNumber.MatchString(rate) && !e.Rate.IsZero() {
		w.printf("    rate: %s\n", rate)
	} else if !e.Rate.IsZero() {
		w.printf("    rate: %s\n", doc.Text(rate))
	}
	if e.Always {
		w.printf("    always: true\n")
	}
	w.pose(e.Pose)
	for _, name := range e.Names() {
		w.printf("    %s: %s\n", doc.Text(name), valueOf(e.Attributes[name]))
	}
}

func pairs(topics map[string]string) (list []string) {
	for _, output := range slices.Sorted(maps.Keys(topics)) {
		list = append(list, doc.Text(output)+": "+doc.Text(topics[output]))
	}
	return list
}

// qualityOf lists what a quality of service gives.
func qualityOf(q sensors.Quality) (parts []string) {
	for _, k := range []struct{ key, value string }{{"reliability", q.Reliability}, {"durability", q.Durability}} {
		if k.value != "" {
			parts = append(parts, k.key+": "+k.value)
		}
	}
	if q.Depth > 0 {
		parts = append(parts, fmt.Sprint("depth: ", q.Depth))
	}
	return parts
}

// pose writes the components that aren't 0.
func (w *yamlWriter) pose(p sensors.Pose) {
	var parts []string
	for _, c := range []struct {
		key   string
		value float64
	}{{"x", p.X}, {"y", p.Y}, {"z", p.Z}, {"roll", p.Roll}, {"pitch", p.Pitch}, {"yaw", p.Yaw}} {
		if c.value != 0 {
			parts = append(parts, c.key+": "+doc.Number(c.value))
		}
	}
	if len(parts) > 0 {
		w.printf("    pose: {%s}\n", strings.Join(parts, ", "))
	}
}

// valueOf writes an attribute's value.
func valueOf(v any) string {
	switch v := v.(type) {
	case string:
		return doc.Text(v)
	case float64:
		return doc.Number(v)
	case []float64:
		return flowOf(v, doc.Number)
	case []any:
		return flowOf(v, valueOf)
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

// flowOf writes a list in one line.
func flowOf[T any](list []T, write func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = write(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// plainNumber is what YAML takes for a number.
var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
