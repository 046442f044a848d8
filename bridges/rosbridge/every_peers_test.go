//go:build peers

package rosbridge_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// forms are how roslib.mjs shows messages that came as JSON, as CBOR and as ROS 1
// serializes them.
var forms = map[string]bridgetest.Form{
	"none":     {ROS1: true, Bytes: base64Text, Number: decimal},
	"cbor":     {ROS1: true, Bytes: base64Text},
	"cbor-raw": {ROS1: true, Bytes: base64Text, Rename: map[string]string{"secs": "sec", "nsecs": "nsec"}},
}

func base64Text(data []byte) any { return base64.StdEncoding.EncodeToString(data) }

// decimal is a number as JSON has it: a float32 is the shortest decimal that reads back as
// it, and what isn't finite is null.
func decimal(v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, bits), 64)
	return v
}

// filled returns a sample with something in every field, infinities and NaN where a field
// may have them, and a time in all headers.
func filled(typ reflect.Type) simtime.Stamped {
	s := bridgetest.Filled(typ)
	reflect.ValueOf(s).Elem().FieldByName("Stamp").SetInt(1_700_000_000_123_456_789)
	switch s := s.(type) {
	case *sample.LaserScan:
		s.Ranges = append(s.Ranges, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, math.SmallestNonzeroFloat32)
	case *sample.Imu:
		s.AngularVelocity = [3]float64{math.Inf(1), math.Inf(-1), math.NaN()}
		s.LinearAcceleration = [3]float64{math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1}
	}
	return s
}

// TestRoslibSubscribes has roslib take every topic as JSON, as CBOR and as ROS serializes it.
// npm's rosmsg-serialization decodes the last by rosapi's definitions. Each message has all the
// values that were sent, and no others.
func TestRoslibSubscribes(t *testing.T) {
	b := opened(t, fmt.Sprintf("listen=127.0.0.1:%d", bridgetest.FreePort(t)))
	var list []func() error
	byTopic := map[string]ros.Publication{}
	for _, pub := range rossample.SVL() {
		s := filled(pub.Sample)
		byTopic[topicOf(s)] = pub
		publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topicOf(s)})
		require.NoError(t, err)
		list = append(list, func() error { return publish(t.Context(), s) })
	}
	require.NoError(t, b.Connect(t.Context()))
	keepPublishing(t, list)
	output := roslib(t, "subscribe", b, fmt.Sprint(len(list)), "none", "cbor", "cbor-raw").Wait(t)
	seen := map[string]bool{}
	for line := range strings.Lines(output) {
		text, ok := strings.CutPrefix(line, "message ")
		if !ok {
			continue
		}
		var got struct {
			Topic, Type string
			Forms       map[string]map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		seen[got.Topic] = true
		pub := byTopic[got.Topic]
		assert.Equal(t, ros.ROS1.TypeName(pub.Type), got.Type)
		m, err := pub.Converter()(filled(pub.Sample))
		require.NoError(t, err)
		require.Len(t, got.Forms, len(forms), got.Topic)
		for form, shown := range forms {
			assert.Equal(t, shown.Tree(m), got.Forms[form], "%s in %s", got.Topic, form)
		}
	}
	require.Len(t, seen, len(list))
}
