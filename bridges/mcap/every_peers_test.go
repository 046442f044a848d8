//go:build peers

package mcap_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/internal/rossample/rossampletest"
	"github.com/raybridge/raybridge/bridges/mcap"
)

// TestJavaScriptReadsEveryField: a message of each type that goes into a ROS recording,
// with something in every field, is decoded to all the values that it was made of and to
// none else.
func TestJavaScriptReadsEveryField(t *testing.T) {
	for profile, publications := range map[string][]rossample.Publication{"ros2": rossample.Standard(), "ros1": inROS1()} {
		t.Run(profile, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
			want := map[string]map[string]any{}
			for _, pub := range publications {
				topic, s := "/filled/"+pub.Sample.Elem().Name(), rossampletest.Filled(pub.Sample)
				publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topic})
				require.NoError(t, err)
				if b.Status() != bridges.Connected {
					require.NoError(t, b.Connect(t.Context()))
				}
				require.NoError(t, publish(t.Context(), s))
				m, err := pub.Converter()(s)
				require.NoError(t, err)
				want[topic] = printed(m, profile == "ros1")
			}
			require.NoError(t, b.Close(t.Context()))
			got := map[string]map[string]any{}
			for _, d := range javascript(t, filepath.Join(dir, "a.mcap")) {
				got[d.Topic] = d.Value
			}
			require.Len(t, got, len(publications))
			for topic := range want {
				assert.Equal(t, want[topic], got[topic], topic)
			}
		})
	}
}

// inROS1 are the messages of profile ros1: boxes are lgsvl_msgs', all others those of ROS 2.
func inROS1() []rossample.Publication {
	list := rossample.Standard()
	for i, pub := range list {
		for _, other := range rossample.SVL() {
			if pub.Sample == other.Sample && strings.HasPrefix(pub.Type, "vision_msgs/") {
				list[i] = other
			}
		}
	}
	return list
}

// printed is a message as check.mjs prints it, decoded from JSON.
func printed(m rosmsg.Message, ros1 bool) map[string]any {
	p := &printer{ros1: ros1, names: rosmsg.NamesOfROS1(m), fields: map[string]any{}}
	m.Fields(p)
	return p.fields
}

type printer struct {
	ros1   bool
	names  rosmsg.Names
	fields map[string]any
}

var _ rosmsg.SeqVisitor = (*printer)(nil)

// set sets a field by the name that the decoders have for it: theirs of times are sec and
// nsec in both versions' definitions.
func (p *printer) set(name string, v any) {
	switch {
	case p.ros1 && name == "nanosec":
		name = "nsec"
	case p.ros1 && name != "sec":
		name = p.names.Of(name)
	}
	p.fields[name] = v
}

func (p *printer) HeaderSeq(v *uint32) {
	if p.ros1 {
		p.set("seq", float64(*v))
	}
}

func (p *printer) Bool(name string, v *bool)             { p.set(name, *v) }
func (p *printer) Int8(name string, v *int8)             { p.set(name, float64(*v)) }
func (p *printer) Uint8(name string, v *uint8)           { p.set(name, float64(*v)) }
func (p *printer) Uint16(name string, v *uint16)         { p.set(name, float64(*v)) }
func (p *printer) Int32(name string, v *int32)           { p.set(name, float64(*v)) }
func (p *printer) Uint32(name string, v *uint32)         { p.set(name, float64(*v)) }
func (p *printer) Float32(name string, v *float32)       { p.set(name, printedNumber(float64(*v))) }
func (p *printer) Float64(name string, v *float64)       { p.set(name, printedNumber(*v)) }
func (p *printer) String(name string, v *string)         { p.set(name, *v) }
func (p *printer) Message(name string, v rosmsg.Message) { p.set(name, printed(v, p.ros1)) }

func (p *printer) Bytes(name string, v *rosmsg.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	p.set(name, blob(data))
}

func (p *printer) Int16(name string, v *int16)   { p.set(name, float64(*v)) }
func (p *printer) Int64(name string, v *int64)   { p.set(name, float64(*v)) }
func (p *printer) Uint64(name string, v *uint64) { p.set(name, float64(*v)) }

// Array is what check.mjs prints of an array of numbers; no message has another.
func (p *printer) Array(name string, v rosmsg.Array) {
	b := blob(v.AppendBinary(nil))
	b["n"] = float64(v.Len())
	p.set(name, b)
}

func (p *printer) Messages(name string, v rosmsg.Messages) {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = printed(v.At(i), p.ros1)
	}
	p.set(name, list)
}

// printedNumber is what check.mjs prints of a number.
func printedNumber(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}
