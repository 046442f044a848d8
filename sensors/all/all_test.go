package all_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/all"
)

// TestAllPassTheConformanceSuite: a test of the type's package that calls sensortest.Run
// names its definition. Sensors without outputs publish nothing that the suite could compare.
func TestAllPassTheConformanceSuite(t *testing.T) {
	list, err := os.ReadFile("all.go")
	require.NoError(t, err)
	types := regexp.MustCompile(`(?m)^\t\t(\w+)\.(\w+Definition),$`).FindAllStringSubmatch(string(list), -1)
	require.Len(t, types, len(all.Definitions()))
	for i, d := range types {
		if len(all.Definitions()[i].Outputs) == 0 {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", d[1], "*_test.go"))
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "sensortest.Run(") && strings.Contains(string(text), "."+d[2])
		}), "%s.%s has no row in TestConformance of sensors/%[1]s", d[1], d[2])
	}
}

// changing are names of what can change while a sensor runs: ranges, noise and exposure.
var changing = regexp.MustCompile(`^range|_range$|^(max_)?distance$|noise|sigma|dropoff|exposure|^iso$|^fstop$|shutter_speed`)

// fixed are those of them that can't: a shutter's exposure decides on stamps, and a receiver's noise belongs to its calibration.
var fixed = []string{"exposure_time", "range_noise"}

// TestRangesNoiseAndExposureAreLive in every type that has them, except for a noise's seed.
func TestRangesNoiseAndExposureAreLive(t *testing.T) {
	found := 0
	for _, d := range all.Definitions() {
		for _, a := range d.Attributes {
			if changing.MatchString(a.Name) && a.Inert == "" && !a.Fixed && !strings.HasSuffix(a.Name, "_seed") && !slices.Contains(fixed, a.Name) {
				found++
				assert.True(t, a.Live, "%s of %s", a.Name, d.ID)
			}
		}
	}
	assert.Greater(t, found, 50)
}

// TestQueuesKeepDeepCopies: a copy of a message has all of it and shares no memory with it. It
// allocates nothing where there is memory of one before (laws D3 and D8).
func TestQueuesKeepDeepCopies(t *testing.T) {
	for _, d := range all.Definitions() {
		for _, out := range d.Outputs {
			src, dst := bridgetest.Filled(out.Type), out.New()
			out.Copy(dst, src)
			clearSlices(reflect.ValueOf(src).Elem())
			src = bridgetest.Filled(out.Type)
			assert.Equal(t, src, dst, "%s of %s", out.Name, d.ID)
			assert.Zero(t, testing.AllocsPerRun(10, func() { out.Copy(dst, src) }), "%s of %s", out.Name, d.ID)
		}
	}
}

// clearSlices sets the elements of a structure's slices to zero.
func clearSlices(v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Clear()
		}
	}
}
