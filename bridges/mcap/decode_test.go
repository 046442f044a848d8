package mcap

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzFoxglove decodes bytes as each of Foxglove's messages. What comes of them is a
// sample of the type that was promised, which can be converted to a message or is refused.
func FuzzFoxglove(f *testing.F) {
	names := slices.Sorted(maps.Keys(foxgloveDecodings))
	publications := map[reflect.Type]foxglovemsg.Publication{}
	for _, pub := range foxglovemsg.Publications() {
		if pub.Schema.MessageEncoding == "cdr" { // a ROS 2 message
			continue
		}
		publications[pub.Sample] = pub
		if i := slices.Index(names, pub.Schema.Name); i >= 0 {
			convert := pub.Converter()
			m, err := convert(bridgetest.Filled(pub.Sample))
			require.NoError(f, err)
			data, err := m.Append(nil)
			require.NoError(f, err)
			f.Add(uint8(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		name := names[int(which)%len(names)]
		d := foxgloveDecodings[name]
		s, err := d.decode(data)
		if err != nil {
			return
		}
		require.NotNil(t, s, name)
		if !d.unstated {
			assert.Equal(t, d.sample, reflect.TypeOf(s), name)
		}
		if pub, ok := publications[reflect.TypeOf(s)]; ok {
			_, _ = pub.Converter()(s) // it may be refused
		}
	})
}
