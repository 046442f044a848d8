package mcap_test

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample/rossampletest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
)

// differences lists the fields of two samples, by their paths without indexes, that differ;
// headers aside.
func differences(path string, want, got reflect.Value) []string {
	switch want.Kind() {
	case reflect.Pointer:
		return differences(path, want.Elem(), got.Elem())
	case reflect.Struct:
		var list []string
		for i := range want.NumField() {
			f := want.Type().Field(i)
			if f.Type == reflect.TypeFor[sample.Header]() {
				continue
			}
			name := f.Name
			if path != "" {
				name = path + "." + name
			}
			list = append(list, differences(name, want.Field(i), got.Field(i))...)
		}
		return list
	case reflect.Slice, reflect.Array:
		if want.Len() != got.Len() {
			return []string{path}
		}
		var list []string
		for i := range want.Len() {
			for _, d := range differences(path, want.Index(i), got.Index(i)) {
				if !slices.Contains(list, d) {
					list = append(list, d)
				}
			}
		}
		return list
	case reflect.Float32, reflect.Float64:
		if math.Abs(want.Float()-got.Float()) > 1e-3*math.Abs(want.Float()) {
			return []string{path}
		}
		return nil
	}
	if want.Equal(got) {
		return nil
	}
	return []string{path}
}

// groundTruth are the samples that say what is so, which no sensor measures, as far as
// recordings have them.
var groundTruth = []reflect.Type{
	reflect.TypeFor[*sample.Detections2D](), reflect.TypeFor[*sample.Detections3D](), reflect.TypeFor[*sample.Signals](),
	reflect.TypeFor[*sample.RadarObjects](), reflect.TypeFor[*sample.Radar](), reflect.TypeFor[*sample.Collision](), reflect.TypeFor[*sample.LaneInvasion](),
}

// TestWhatMessagesLackOfGroundTruth records a sample of each kind of ground truth with a value
// in every field. What comes back without its value is what Lacks says.
func TestWhatMessagesLackOfGroundTruth(t *testing.T) {
	types := map[string]bool{}
	for _, profile := range []string{"ros2", "ros1", "foxglove"} {
		for _, typ := range groundTruth {
			t.Run(profile+" "+typ.Elem().Name(), func(t *testing.T) {
				dir := t.TempDir()
				b := open(t, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
				require.NoError(t, b.Connect(t.Context()))
				publish, err := bridges.AddPublisherOf(b, typ, bridges.Topic{Name: "/truth"})
				require.NoError(t, err)
				want := rossampletest.Filled(typ)
				if signals, ok := want.(*sample.Signals); ok { // a state and its name are one
					for i, state := range []sample.SignalState{sample.SignalYellow, sample.SignalGreen, sample.SignalOff} {
						signals.Signals[i].State, signals.Signals[i].Label = state, []string{"yellow", "green", "off"}[i]
					}
				}
				require.NoError(t, publish(t.Context(), want))
				require.NoError(t, b.Close(t.Context()))
				r, err := mcap.Open(filepath.Join(dir, "a.mcap"))
				require.NoError(t, err)
				defer r.Close()
				topic := r.Topics()[0]
				m, err := r.Next()
				require.NoError(t, err)
				types[topic.Type] = true
				if reflect.TypeOf(m.Sample) != typ {
					t.Logf("%s is read as %T", topic.Type, m.Sample)
					return
				}
				assert.ElementsMatch(t, differences("", reflect.ValueOf(want), reflect.ValueOf(m.Sample)), mcap.Lacks(topic.Type, typ), "%s", topic.Type)
			})
		}
	}
	assert.Greater(t, len(types), 8)
}
