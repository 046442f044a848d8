//go:build peers

package foxglove_test

import (
	"encoding/base64"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/simtime"
)

// octets is what viewer.mjs prints of bytes.
func octets(data []byte) any { return base64.StdEncoding.EncodeToString(data) }

// everyField has a sample of each type, with something in every field, and all that
// viewer.mjs must print of its message.
func everyField(t *testing.T) (list []simtime.Stamped, want []map[string]any) {
	t.Helper()
	convert := map[any]ros.Publication{}
	for _, pub := range rossample.Standard() {
		convert[pub.Sample] = pub
	}
	for _, pub := range foxglovemsg.Publications() {
		s := bridgetest.FoxgloveSample(pub.Sample)
		tree := bridgetest.FoxgloveTree(s, octets)
		if tree == nil {
			m, err := convert[pub.Sample].Converter()(s)
			require.NoError(t, err)
			tree = bridgetest.Form{Bytes: octets}.Tree(m)
		}
		list, want = append(list, s), append(want, tree)
	}
	return list, want
}

// Foxglove's own client, with Foxglove's own schemas, decodes a message of each type. It gets
// all the values that the message was made of and no others.
func TestFoxglovesClientReadsEveryField(t *testing.T) {
	b := connected(t, "")
	list, want := everyField(t)
	topic := func(i int) string { return "/filled/" + reflect.TypeOf(list[i]).Elem().Name() }
	var publish []bridges.Publisher[any]
	for i, s := range list {
		p, err := bridges.AddPublisherOf(b, reflect.TypeOf(s), bridges.Topic{Name: topic(i)})
		require.NoError(t, err)
		publish = append(publish, p)
	}
	viewer := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/viewer.mjs", address(b)))
	for i := range list {
		require.Eventually(t, func() bool { return b.Listening(topic(i)) }, bridgetest.Patience, tick, topic(i))
	}
	for i, s := range list {
		require.NoError(t, publish[i](t.Context(), s), topic(i))
		got := line(t, viewer.Expect(t, `"topic":"`+topic(i)+`"`))
		assert.Equal(t, want[i], got["message"], topic(i))
	}
}
