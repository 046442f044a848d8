package ros2lgsvl_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
)

// treeOf is a message as the server takes it apart.
func treeOf(m ros.Message) lgsvltest.Value {
	t := tree{}
	m.Fields(t)
	return lgsvltest.Value(t)
}

type tree map[string]any

func (t tree) Bool(name string, v *bool)          { t[name] = *v }
func (t tree) Int8(name string, v *int8)          { t[name] = *v }
func (t tree) Uint8(name string, v *uint8)        { t[name] = *v }
func (t tree) Uint16(name string, v *uint16)      { t[name] = *v }
func (t tree) Int32(name string, v *int32)        { t[name] = *v }
func (t tree) Uint32(name string, v *uint32)      { t[name] = *v }
func (t tree) Float32(name string, v *float32)    { t[name] = *v }
func (t tree) Float64(name string, v *float64)    { t[name] = *v }
func (t tree) String(name string, v *string)      { t[name] = *v }
func (t tree) Message(name string, v ros.Message) { t[name] = treeOf(v) }
func (t tree) Int16(name string, v *int16)        { t[name] = *v }
func (t tree) Int64(name string, v *int64)        { t[name] = *v }
func (t tree) Uint64(name string, v *uint64)      { t[name] = *v }
func (t tree) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindInt32:
		t[name] = elements(ros.Elements[int32](v))
	case ros.KindFloat32:
		t[name] = elements(ros.Elements[float32](v))
	case ros.KindFloat64:
		t[name] = elements(ros.Elements[float64](v))
	default:
		panic("no type of the bridge has an array of " + v.Kind().String())
	}
}

func (t tree) Bytes(name string, v *ros.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	t[name] = data
}

func (t tree) Messages(name string, v ros.Messages) {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = treeOf(v.At(i))
	}
	t[name] = list
}

func elements[T any](v []T) []any {
	list := make([]any, len(v))
	for i := range v {
		list[i] = v[i]
	}
	return list
}

// message converts a sample as the bridge's table says.
func message(t *testing.T, sample bridges.Stamped) ros.Message {
	t.Helper()
	for _, pub := range rossample.SVL() {
		if pub.Sample == reflect.TypeOf(sample) {
			m, err := pub.Converter()(sample)
			require.NoError(t, err)
			return m
		}
	}
	require.Fail(t, "no message", "%T", sample)
	return nil
}

// received is what the server was sent.
type received struct {
	mu       sync.Mutex
	messages map[string]lgsvltest.Message // guarded by mu: the last one by topic
}

func (r *received) add(m lgsvltest.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages[m.Topic] = m
}

func (r *received) find(topic string) (lgsvltest.Message, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.messages[topic]
	return m, ok
}

// The server takes a message of every type apart to the values that went in, by the
// message's definition.
func TestEveryTypeIsTakenApart(t *testing.T) {
	r := &received{messages: map[string]lgsvltest.Message{}}
	s := lgsvltest.New(lgsvltest.Config{Published: r.add})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	b := open(t, s.Address())
	connect(t, b)
	known := map[reflect.Type]bool{}
	for i, p := range samples() {
		topic := fmt.Sprintf("/topic_%d/%s", i, p.name)
		require.NoError(t, p.publish(t.Context(), b, topic))
		eventually(t, func() bool { _, ok := r.find(topic); return ok }, topic)
		got, _ := r.find(topic)
		assert.Equal(t, treeOf(message(t, p.sample)), got.Value, p.name)
		assert.Equal(t, b.Statistics().Topics[i].Type, got.Type.Name)
		known[reflect.TypeOf(p.sample)] = true
	}
	assert.Empty(t, s.Log())
	for _, pub := range rossample.SVL() {
		assert.True(t, known[pub.Sample], "%v is among the samples", pub.Sample)
	}
}
