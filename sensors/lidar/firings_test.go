package lidar_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/simtime"
)

// tableOf writes the firings of a device as a table.
func tableOf(tb testing.TB, rays []lidar.Ray) string {
	tb.Helper()
	var b strings.Builder
	b.WriteString("Time/s,azimuth,elevation,ring,range_min,range_max\n")
	for _, r := range rays {
		fmt.Fprintf(&b, "%.9f,%.9f,%.9f,%d,%v,%v\n", float64(r.TimeNs)/1e9, math.Atan2(r.Direction[1], r.Direction[0])*180/math.Pi,
			math.Asin(r.Direction[2])*180/math.Pi, r.Ring, r.MinM, r.MaxM)
	}
	return fileOf(tb, b.String())
}

func fileOf(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "firings.csv")
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestBadFiringTables(t *testing.T) {
	const head = "time,azimuth,elevation\n"
	for text, want := range map[string]string{
		"":                            "it is empty",
		head:                          "it has no row",
		head + "0,NaN,0\n":            "line 2: azimuth is NaN, the range is -360 to 360",
		head + "0,0,0\nInf,1,1\n":     "line 3: time is +Inf",
		head + "0,0,0\n0.0,1,1\n":     "line 3: its time, 0 s, is that of the row before",
		head + "0.1,0,0\n0,1,1\n":     "line 3: its time, 0 s, is before that of the row above",
		head + "0,0,91\n":             "elevation is 91, the range is -90 to 90",
		head + "0,,0\n":               `azimuth is "", need a number`,
		head + "0,0\n":                "wrong number of fields",
		head + "0,0,0\n":              "set firing_period",
		"time,azimuth\n0,0\n":         "it has no column elevation",
		"time,azimut,elevation\n":     "azimuth",
		"time,time,elevation\n":       "it has two columns time",
		head[:22] + ",zenith\n":       "leave one out",
		head[:22] + ",ring\n0,0,0,.5": "ring is 0.5, need a whole number",
		head[:22] + ",range_min,range_max\n0,0,0,5,4": "range_min 5 is not below range_max 4",
		"time;azimuth;elevation\n":                    "separate the columns by commas",
		"time/s,azimuth/rad,elevation\n":              `column "azimuth/rad" has another unit than "deg"`,
		"\"\n":                                        "bad firing table",
	} {
		path := fileOf(t, text)
		_, err := lidar.RayCastDefinition.New(specOf(t, map[string]any{"firing_table": path}))
		require.ErrorIs(t, err, lidar.ErrFirings, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
		assert.ErrorContains(t, err, path)
	}
	good := fileOf(t, head+"0,0,0\n0.001,1,1\n")
	for attributes, want := range map[*map[string]any]string{
		{"firing_table": good, "firing_period": 0.001}: "is over before the last row",
		{"firing_table": good, "preset": "VLP-16"}:     "leave preset out",
		{"firing_table": good, "organized": true}:      "leave organized out",
		{"firing_table": good, "channels": 3}:          "leave channels out",
		{"firing_table": good, "range_min": 11}:        "row 1 of the firing table is left without a range",
		{"firing_period": 1}:                           "set firing_table",
	} {
		_, err := lidar.RayCastDefinition.New(specOf(t, *attributes))
		require.ErrorIs(t, err, sensors.ErrValue)
		assert.ErrorContains(t, err, want)
	}
	for _, units := range []string{"time/s,azimuth/deg,zenith/deg", "time[s],Azimuth [deg],elevation", " time (s),azimuth(deg),elevation (deg)"} {
		path := fileOf(t, units+"\n0,0,0\n0.001,1,1\n")
		_, err := lidar.RayCastDefinition.New(specOf(t, map[string]any{"firing_table": path}))
		require.NoError(t, err, units)
	}
	dir := filepath.Dir(good)
	_, err := lidar.RayCastDefinition.New(specOf(t, map[string]any{"firing_table": dir}))
	require.EqualError(t, err, "read firing table "+dir+": is a directory")
	_, err = lidar.RayCastDefinition.New(specOf(t, map[string]any{"firing_table": good + ".not"}))
	require.ErrorIs(t, err, os.ErrNotExist)
	fast := fileOf(t, head+"0,0,0\n0.00000001,1,1\n")
	_, err = lidar.RayCastDefinition.New(specOf(t, map[string]any{"firing_table": fast}))
	require.ErrorIs(t, err, sensors.ErrValue)
	assert.ErrorContains(t, err, "more than 2796202 firings in a scan, which are the most, 128.0 MiB")
}

func TestAFiringTableHasAMostOfRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second; runs without -short")
	}
	_, err := lidar.ParseFirings(strings.NewReader(manyRows()))
	require.ErrorIs(t, err, lidar.ErrFirings)
	assert.ErrorContains(t, err, "more than 4194304 rows")
}

// A file's rows take the memory that they need, the line of names as much as a row: growing a list would take as much again.
func TestAFiringTableIsReadIntoItsSize(t *testing.T) {
	rows, room, err := lidar.ReadFirings(fileOf(t, "time,azimuth,elevation\n0,0,0\n0.1,1,1\n0.2,2,2\n0.3,3,3\n0.4,4,4"))
	require.NoError(t, err)
	assert.Equal(t, []int{5, 6}, []int{rows, room})
}

// manyRows is a table of a row too many.
func manyRows() string {
	var b strings.Builder
	b.WriteString("time,azimuth,elevation\n")
	for i := range lidar.MaxFirings + 1 {
		fmt.Fprintf(&b, "%d.%02d,0,0\n", i/100, i%100)
	}
	return b.String()
}

func specOf(t *testing.T, attributes map[string]any) sensors.Spec {
	t.Helper()
	return sensors.Spec{Definition: lidar.RayCastDefinition, Settings: settings(t, lidar.RayCastDefinition, attributes), Rate: simtime.Hz(10)}
}

// A scan has the rows of its window. The table begins again after each period, whether or not the scans
// are in step with it.
func TestScansHaveTheRowsOfTheirWindows(t *testing.T) {
	const rows, step, window = 70, 3_000_000, 100_000_000 // the table lasts 0.21 s
	var b strings.Builder
	b.WriteString("zenith,time,azimuth\n")
	for i := range rows {
		fmt.Fprintf(&b, "%v,%v,%d\n", 90-i, 5+float64(i)*step/1e9, i)
	}
	table, err := lidar.ParseFirings(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.NoError(t, lidar.CloseFirings(table, 0))
	for k := range int64(50) {
		from := k * window
		list := lidar.WindowOf(table, from, from+window)
		var want []lidar.Timed
		for i := (from + step - 1) / step; i*step < from+window; i++ {
			want = append(want, lidar.Timed{Row: uint32(i % rows), Ns: uint32(i*step - from), Number: uint32(len(want))})
		}
		require.Equal(t, want, list, "scan %d", k)
		assert.LessOrEqual(t, len(list), lidar.MostOf(table, window))
	}
	assert.Equal(t, 34, lidar.MostOf(table, window))
	assert.Equal(t, 34+70, lidar.MostOf(table, window+210_000_000))
}

// Firings that follow one another in the order point to nearly one place, and each is there once.
func TestFiringsAreOrderedByTheirDirections(t *testing.T) {
	d, ok := lidar.Preset("VelodyneVLS128")
	require.True(t, ok)
	d.Columns = 360
	d.StepDeg = 1
	rays := d.Rays(scanPeriod)
	slices.SortStableFunc(rays, func(a, b lidar.Ray) int { return int(a.TimeNs - b.TimeNs) })
	for i := range rays {
		rays[i].TimeNs = int64(i) * 1000
	}
	file, err := os.Open(tableOf(t, rays))
	require.NoError(t, err)
	defer file.Close()
	table, err := lidar.ParseFirings(file)
	require.NoError(t, err)
	require.NoError(t, lidar.CloseFirings(table, 0))
	order := lidar.OrderOf(table, 0, int64(len(rays))*1000)
	require.Len(t, order, len(rays))
	seen, far := make([]bool, len(rays)), 0
	for i, row := range order {
		require.False(t, seen[row])
		seen[row] = true
		if i > 0 && rays[order[i-1]].Direction.Dot(rays[row].Direction) < math.Cos(0.06) {
			far++
		}
	}
	assert.Less(t, far, len(rays)/20, "steps of more than 3.4 degrees")
	const packet = 128
	for first := 0; first < len(order); first += packet { // 128 lasers over 40 degrees, and 360 columns a degree apart
		var low, high mgl64.Vec3
		for i, row := range order[first : first+packet] {
			d := rays[row].Direction
			at := mgl64.Vec3{math.Atan2(d[1], d[0]), math.Asin(d[2])}
			for k := range at {
				if i == 0 || at[k] < low[k] {
					low[k] = at[k]
				}
				if i == 0 || at[k] > high[k] {
					high[k] = at[k]
				}
			}
		}
		require.Less(t, high.Sub(low).Len(), mgl64.DegToRad(22), "packet at %d", first)
	}
}

func FuzzFirings(f *testing.F) {
	f.Add("time,azimuth,elevation\n0,1,2\n0.1,3,4\n")
	f.Add("Time/s,Azimuth/deg,Zenith/deg\n0,0,90\n1e-5,1.5,89.5\n")
	f.Add("time,azimuth,elevation,ring,range_min,range_max\n0,1,2,3,,\n0.1,3,4,65535,1,200\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := lidar.ParseFirings(strings.NewReader(text))
		if err == nil {
			err = lidar.CloseFirings(table, 0)
		}
		if err != nil {
			require.ErrorIs(t, err, lidar.ErrFirings)
			return
		}
		most := lidar.MostOf(table, scanPeriod)
		for k := range int64(3) {
			if most < 1000 {
				assert.LessOrEqual(t, len(lidar.WindowOf(table, k*scanPeriod, (k+1)*scanPeriod)), most)
			}
		}
	})
}
