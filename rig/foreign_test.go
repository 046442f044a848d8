package rig_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
)

// jsonf writes a document.
func jsonf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// svlLike is a registry of what the tests of frames and poses use, without attributes.
func svlLike() *sensors.Registry {
	var list []*sensors.Definition
	for _, id := range []string{"sensor.other.radar", "sensor.other.imu", "sensor.other.gnss"} {
		list = append(list, &sensors.Definition{
			ID: id, DefaultRate: "10", New: func(sensors.Spec) (sensors.Sensor, error) { return nothing{}, nil },
		})
	}
	return sensors.Must(sensors.NewRegistry(list...))
}

func seed(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// fuzz reads anything, strictly and not, and writes what was read: it must be read
// again as the same rig.
func fuzz(f *testing.F) {
	f.Helper()
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = rig.Parse("r.json", data)
		r, err := rig.Reader{Lenient: true}.Parse("r.json", data)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := r.WriteYAML(&first); err != nil {
			t.Fatal(err)
		}
		again, err := rig.Parse("r.yaml", first.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, first.String())
		}
		if len(again.Sensors) != len(r.Sensors) {
			t.Fatalf("%d sensors of %d in\n%s", len(again.Sensors), len(r.Sensors), first.String())
		}
		if err := again.WriteYAML(&second); err != nil {
			t.Fatal(err)
		}
		third, err := rig.Parse("r.yaml", second.Bytes())
		if err != nil || len(third.Sensors) != len(r.Sensors) {
			t.Fatalf("%v in\n%s", err, second.String())
		}
	})
}
