package mcap_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// taken is one message that is to be recorded.
type taken struct {
	topic string
	log   int64
	simtime.Stamped
}

// series are the varied messages, topic after topic in each step.
func series() (list []taken) {
	for seq := range variedMessages {
		of := varied(seq)
		for _, topic := range slices.Sorted(maps.Keys(of)) {
			list = append(list, taken{topic, int64(of[topic].Captured()) + 1_000_000, of[topic]})
		}
	}
	return list
}

// recordList records messages and returns the recording.
func recordList(t *testing.T, connection string, list []taken) string {
	t.Helper()
	dir, c := t.TempDir(), &clock{}
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir, Now: c.Now})
	publishers := map[string]bridges.Publisher[any]{}
	for _, m := range list {
		if publishers[m.topic] == nil {
			publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(m.Stamped), bridges.Topic{Name: m.topic, QoS: flow.SensorDataQoS})
			require.NoError(t, err)
			publishers[m.topic] = publish
		}
	}
	require.NoError(t, b.Connect(t.Context()))
	for _, m := range list {
		c.now = m.log
		require.NoError(t, publishers[m.topic](t.Context(), m.Stamped))
	}
	require.NoError(t, b.Close(t.Context()))
	files, err := filepath.Glob(filepath.Join(dir, "a*"))
	require.NoError(t, err)
	if len(files) == 1 {
		return files[0]
	}
	return filepath.Join(dir, "a.mcap") // of which there are parts
}

// compared is what Diff finds, by topic.
func compared(t *testing.T, a, b string) map[string]mcap.TopicDiff {
	t.Helper()
	list, unfinished, err := mcap.Reading{Memory: memory.New(64 << 20)}.Diff(t.Context(), a, b)
	require.NoError(t, err)
	assert.Empty(t, unfinished)
	found := map[string]mcap.TopicDiff{}
	for _, d := range list {
		found[cmp.Or(d.A, d.B).Name] = d
	}
	return found
}

// changed returns the series with one message changed, the fourth of a topic.
func changed(topic string, change func(simtime.Stamped)) []taken {
	list, seq := series(), 0
	for _, m := range list {
		if m.topic == topic {
			if seq == 3 {
				change(m.Stamped)
			}
			seq++
		}
	}
	return list
}

// TestDiffNamesTheField in each profile, and says nothing of the other topics.
func TestDiffNamesTheField(t *testing.T) {
	type want struct{ ros2, ros1, foxglove, a, b string }
	one := func(name, a, b string) want { return want{name, name, name, a, b} }
	for _, c := range []struct {
		topic  string
		change func(simtime.Stamped)
		want   want
	}{
		{"/points", func(s simtime.Stamped) { s.(*sample.PointCloud).Points[2].Intensity = 7 }, one("points[2].intensity", "2", "7")},
		{"/points", func(s simtime.Stamped) { s.(*sample.PointCloud).Points[1].X = float32(math.NaN()) }, one("points[1].x", "3", "NaN")},
		{"/points", func(s simtime.Stamped) { p := s.(*sample.PointCloud); p.Points = p.Points[:2] }, want{"width", "width", "data", "", ""}},
		{"/image", func(s simtime.Stamped) { s.(*sample.Image).Data[4] = 9 }, one("data[4]", "5", "9")},
		{"/image", func(s simtime.Stamped) { s.(*sample.Image).Encoding = sample.EncodingBGR8 }, one("encoding", `"rgb8"`, `"bgr8"`)},
		{"/compressed", func(s simtime.Stamped) { c := s.(*sample.CompressedImage); c.Data = append(c.Data, 1) }, one("data", "3 elements", "4 elements")},
		{"/info", func(s simtime.Stamped) { s.(*sample.CameraInfo).K[4] = 0.5 }, want{"k[4]", "K[4]", "K[4]", "0", "0.5"}},
		{"/imu", func(s simtime.Stamped) { s.(*sample.Imu).LinearAcceleration[1] = math.Copysign(0, -1) }, one("linear_acceleration.y", "0", "-0")},
		{"/fix", func(s simtime.Stamped) { s.(*sample.GnssFix).Latitude = 49.5 }, one("latitude", "49", "49.5")},
		{"/odom", func(s simtime.Stamped) { s.(*sample.Odometry).ChildFrameID = "rear" }, want{"child_frame_id", "child_frame_id", "body_frame_id", `"base_link"`, `"rear"`}},
		{"/scan", func(s simtime.Stamped) { s.(*sample.LaserScan).Ranges[1] = 8 }, one("ranges[1]", "2", "8")},
		{"/tf", func(s simtime.Stamped) { s.(*sample.Transforms).Transforms[0].ChildFrameID = "odom" }, one("transforms[0].child_frame_id", `"base_link"`, `"odom"`)},
		{"/tf", func(s simtime.Stamped) {
			f := s.(*sample.Transforms)
			f.Transforms = append(f.Transforms, f.Transforms[0])
		}, one("transforms", "1 element", "2 elements")},
	} {
		for profile, name := range map[string]string{"ros2": c.want.ros2, "ros1": c.want.ros1, "foxglove": c.want.foxglove} {
			a := recordList(t, "a.mcap?chunk=500&profile="+profile, series())
			b := recordList(t, "a.mcap?compression=none&profile="+profile, changed(c.topic, c.change))
			for topic, d := range compared(t, a, b) {
				if topic != c.topic {
					assert.True(t, d.Equal(), "%s is as it was", topic)
					continue
				}
				require.False(t, d.Equal())
				require.NotNil(t, d.First, "%s %s", profile, name)
				assert.EqualValues(t, 3, d.First.Number)
				assert.Equal(t, headerAt(3).Stamp, d.First.Stamp)
				assert.Equal(t, name, d.First.Name, "%s %s", profile, topic)
				if c.want.a != "" {
					assert.Equal(t, c.want.a+" "+c.want.b, d.First.A+" "+d.First.B, "%s %s", profile, name)
				}
				assert.NotEqual(t, d.First.A, d.First.B)
			}
		}
	}
}

// TestDiffOfWholeTopics: counts, topics that one recording has, times, and messages that interleave in another way.
func TestDiffOfWholeTopics(t *testing.T) {
	a := recordList(t, "a.mcap", series())
	for name, c := range map[string]struct {
		list []taken
		want map[string]string
	}{
		"the same":              {series(), nil},
		"a topic less":          {slices.DeleteFunc(series(), func(m taken) bool { return m.topic == "/imu" }), map[string]string{"/imu": "5 0"}},
		"the last message less": {series()[:len(series())-1], map[string]string{"/tf": "5 4 message 4 missing in B"}},
		"the first less":        {slices.DeleteFunc(series(), func(m taken) bool { return m.topic == "/imu" && m.Captured() == headerAt(0).Stamp }), map[string]string{"/imu": "5 4 message 0 missing in B"}},
	} {
		b := recordList(t, "a.mcap", c.list)
		found := map[string]string{}
		for topic, d := range compared(t, a, b) {
			if !d.Equal() {
				found[topic] = counts(&d)
			}
		}
		assert.Equal(t, len(c.want), len(found), name)
		for topic, want := range c.want {
			assert.Equal(t, want, found[topic], name)
		}
	}

	late := series()
	for i := range late {
		if late[i].topic == "/fix" && late[i].Captured() == headerAt(2).Stamp {
			late[i].log += 2
		}
	}
	d := compared(t, a, recordList(t, "a.mcap", late))["/fix"]
	require.NotNil(t, d.First)
	assert.Equal(t, mcap.FieldDiff{Name: "log time", A: "0.324456789 s", B: "0.324456791 s"}, d.First.FieldDiff)
	assert.EqualValues(t, 2, d.First.Number)

	other := series()
	slices.SortStableFunc(other, func(x, y taken) int { return bytes.Compare([]byte(x.topic), []byte(y.topic)) })
	for topic, d := range compared(t, a, recordList(t, "a.mcap", other)) {
		assert.True(t, d.Equal(), "%s: each topic has the same messages", topic)
	}
}

func counts(d *mcap.TopicDiff) string {
	text := ""
	for _, n := range []int64{d.MessagesA, d.MessagesB} {
		text += string(rune('0'+n)) + " "
	}
	switch m := d.First; {
	case m == nil:
		return text[:len(text)-1]
	case !m.InA:
		return fmt.Sprintf("%smessage %d missing in A", text, m.Number)
	case !m.InB:
		return fmt.Sprintf("%smessage %d missing in B", text, m.Number)
	default:
		return fmt.Sprintf("%smessage %d %s", text, m.Number, m.Name)
	}
}

// TestDiffPairsByStamp: one message that a recording lacks makes the others no different, and what differs first is named.
func TestDiffPairsByStamp(t *testing.T) {
	type row struct {
		stamp, log int64 // in ns; log is beside 1000 ns for each message
		x          float64
	}
	record := func(rows []row) string {
		var list []taken
		for i, r := range rows {
			m := &sample.Imu{Header: headerAt(0)}
			m.Stamp, m.LinearAcceleration[0] = simtime.Stamp(r.stamp), r.x
			list = append(list, taken{"/imu", 1000*int64(i+1) + r.log, m})
		}
		return recordList(t, "a.mcap", list)
	}
	whole := []row{{10, 0, 1}, {20, 0, 2}, {30, 0, 3}, {40, 0, 4}}
	less := []row{{10, 0, 1}, {30, 1000, 3}, {40, 1000, 4}}
	for name, c := range map[string]struct {
		a, b  []row
		want  string
		stamp simtime.Stamp
	}{
		"one less":                        {whole, less, "4 3 message 1 missing in B", 20},
		"one more":                        {less, whole, "3 4 message 1 missing in A", 20},
		"a later stamp":                   {whole, []row{{11, 0, 1}, {21, 0, 2}, {31, 0, 9}}, "4 3 message 0 missing in B", 10},
		"an earlier stamp":                {whole, []row{{9, 0, 1}, {19, 0, 2}, {29, 0, 9}}, "4 3 message 0 missing in A", 9},
		"a log time before data":          {whole, []row{{10, 1, 1}, {20, 0, 2}, {30, 0, 9}, {40, 0, 4}}, "4 4 message 0 log time", 10},
		"data before a log time":          {whole, []row{{10, 0, 1}, {20, 0, 9}, {30, 1, 3}, {40, 0, 4}}, "4 4 message 1 linear_acceleration.x", 20},
		"both at once":                    {whole, []row{{10, 0, 1}, {20, 1, 9}, {30, 0, 3}, {40, 0, 4}}, "4 4 message 1 linear_acceleration.x", 20},
		"one stamp, in order":             {[]row{{10, 0, 1}, {10, 0, 2}}, []row{{10, 0, 1}, {10, 0, 3}}, "2 2 message 1 linear_acceleration.x", 10},
		"the second series":               {[]row{{10, 0, 1}, {20, 0, 2}, {10, 0, 3}}, []row{{10, 0, 1}, {20, 0, 2}, {10, 0, 4}}, "3 3 message 2 linear_acceleration.x", 10},
		"the first series has one more":   {[]row{{10, 0, 1}, {20, 0, 2}, {5, 0, 3}}, []row{{10, 0, 1}, {5, 1000, 3}}, "3 2 message 1 missing in B", 20},
		"the first series has one less":   {[]row{{10, 0, 1}, {5, 1000, 3}}, []row{{10, 0, 1}, {20, 0, 2}, {5, 0, 3}}, "2 3 message 1 missing in A", 20},
		"a series that one hasn't":        {append(whole[:4:4], row{20, 0, 2}), whole, "5 4 message 4 missing in B", 20},
		"a series that the other has not": {whole, append(whole[:4:4], row{20, 0, 2}), "4 5 message 4 missing in A", 20},
	} {
		d := compared(t, record(c.a), record(c.b))["/imu"]
		if assert.NotNil(t, d.First, name) {
			assert.Equal(t, c.want, counts(&d), name)
			assert.Equal(t, c.stamp, d.First.Stamp, name)
		}
	}
	twice := append(whole[:4:4], whole...)
	d := compared(t, record(twice), record(twice))["/imu"]
	assert.True(t, d.Equal(), "two series that are the same")
}

// TestDiffOfOtherForms: a folder and a split recording have the messages of a file.
func TestDiffOfOtherForms(t *testing.T) {
	a := recordList(t, "a.mcap", series())
	for _, connection := range []string{"a", "a?split=1000&chunk=300", "a.mcap?split=1000&chunk=300"} {
		for topic, d := range compared(t, a, recordList(t, connection, series())) {
			assert.True(t, d.Equal(), "%s %s", connection, topic)
		}
	}
}

// TestDiffOfWhatCantBeRead says so, rather than to compare the rest.
func TestDiffOfWhatCantBeRead(t *testing.T) {
	a := recordList(t, "a.mcap?chunk=300", series())
	data, err := os.ReadFile(a)
	require.NoError(t, err)
	file := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	damaged := bytes.Clone(data)
	damaged[len(data)/2] ^= 0xff
	_, _, err = mcap.Reading{}.Diff(t.Context(), a, file("damaged.mcap", damaged))
	require.ErrorIs(t, err, mcap.ErrDamaged)
	_, _, err = mcap.Reading{}.Diff(t.Context(), file("text.mcap", []byte("messages")), a)
	require.ErrorIs(t, err, mcap.ErrNotMCAP)
	_, _, err = mcap.Reading{}.Diff(t.Context(), a, a+"x")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = mcap.Reading{Memory: memory.New(100)}.Diff(t.Context(), a, a)
	require.ErrorIs(t, err, memory.ErrExceeded)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = mcap.Reading{}.Diff(ended, a, a)
	require.ErrorIs(t, err, context.Canceled)

	cut := file("cut.mcap", data[:len(data)/2])
	list, unfinished, err := mcap.Reading{}.Diff(t.Context(), a, cut)
	require.NoError(t, err)
	assert.Equal(t, []string{cut}, unfinished)
	assert.True(t, slices.ContainsFunc(list, func(d mcap.TopicDiff) bool { return !d.Equal() }))
}

// foreign writes a file of another program with one message.
func foreign(t *testing.T, schema foxglove.Schema, encoding string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.mcap")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := foxglove.NewWriter(f, &foxglove.WriterOptions{Chunked: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	schema.ID = 1
	require.NoError(t, w.WriteSchema(&schema))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/it", MessageEncoding: encoding}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: 7, PublishTime: 7, Data: data}))
	require.NoError(t, w.Close())
	return path
}

// TestDiffOfTypesOfOthers: by the definition in the file, whatever raybridge knows. Without one that can be read, or where it
// isn't that of the data, a byte is named.
func TestDiffOfTypesOfOthers(t *testing.T) {
	const definition = `uint8 KIND=3
Part[] parts   # of other_msgs
bool[2] flags
int16 low -5
string<=8 label
wheels/Wheel wheel
================================================================================
MSG: other_msgs/Part
char c
float64 v
================================================================================
MSG: wheels/Wheel
`
	// CDR, little endian: its alignment counts from behind the first four bytes.
	message := func(change func(b []byte)) []byte {
		b := []byte{0, 1, 0, 0}
		put := func(align int, values ...byte) {
			for (len(b)-4)%align != 0 {
				b = append(b, 0)
			}
			b = append(b, values...)
		}
		put(4, 2, 0, 0, 0) // two parts
		for i := range 2 {
			put(1, byte('x'+i))
			put(8, binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(i)+0.5))...)
		}
		put(1, 1, 0)                    // flags
		put(2, 0xfe, 0xff)              // low: -2
		put(4, 3, 0, 0, 0, 'h', 'i', 0) // label
		put(1, 0)                       // wheel has no fields, and so a byte
		change(b)
		return b
	}
	nothing := func([]byte) {}
	schema := foxglove.Schema{Name: "other_msgs/msg/Car", Encoding: "ros2msg", Data: []byte(definition)}
	unknown, wrong := schema, schema
	unknown.Encoding = "ros2idl"
	wrong.Data = []byte("other_msgs/Nowhere there")
	for name, c := range map[string]struct {
		schema foxglove.Schema
		change func(b []byte)
		want   mcap.FieldDiff
	}{
		"a part's number":  {schema, func(b []byte) { copy(b[28:], binary.LittleEndian.AppendUint64(nil, math.Float64bits(-2))) }, mcap.FieldDiff{Name: "parts[1].v", A: "1.5", B: "-2"}},
		"a part's char":    {schema, func(b []byte) { b[20]++ }, mcap.FieldDiff{Name: "parts[1].c", A: "121", B: "122"}},
		"a flag":           {schema, func(b []byte) { b[37] = 1 }, mcap.FieldDiff{Name: "flags[1]", A: "false", B: "true"}},
		"a flag's byte":    {schema, func(b []byte) { b[36] = 2 }, mcap.FieldDiff{Name: "flags[0]", A: "true (0x01)", B: "true (0x02)"}},
		"a number":         {schema, func(b []byte) { b[38] = 0xfd }, mcap.FieldDiff{Name: "low", A: "-2", B: "-3"}},
		"a text":           {schema, func(b []byte) { b[44] = 'H' }, mcap.FieldDiff{Name: "label", A: `"hi"`, B: `"Hi"`}},
		"padding":          {schema, func(b []byte) { b[10] = 1 }, mcap.FieldDiff{Name: "byte 10", A: "0x00", B: "0x01"}},
		"a count too many": {schema, func(b []byte) { b[7] = 0x7f }, mcap.FieldDiff{Name: "byte 7", A: "0x00", B: "0x7f"}},
		"another language": {unknown, func(b []byte) { b[37] = 1 }, mcap.FieldDiff{Name: "byte 37", A: "0x00", B: "0x01"}},
		"no definition":    {wrong, func(b []byte) { b[37] = 1 }, mcap.FieldDiff{Name: "byte 37", A: "0x00", B: "0x01"}},
	} {
		d := compared(t, foreign(t, c.schema, "cdr", message(nothing)), foreign(t, c.schema, "cdr", message(c.change)))["/it"]
		if assert.NotNil(t, d.First, name) {
			assert.Equal(t, c.want, d.First.FieldDiff, name)
		}
	}
	longer := append(message(nothing), 0)
	d := compared(t, foreign(t, schema, "cdr", message(nothing)), foreign(t, schema, "cdr", longer))["/it"]
	require.NotNil(t, d.First)
	assert.Equal(t, mcap.FieldDiff{Name: "byte 48", A: "48 bytes", B: "0x00"}, d.First.FieldDiff)
	d = compared(t, foreign(t, schema, "cdr", message(nothing)), foreign(t, wrong, "cdr", message(func(b []byte) { b[37] = 1 })))["/it"]
	require.NotNil(t, d.First)
	assert.Equal(t, "byte 37", d.First.Name, "the definitions differ")
}
