package ros1_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros1"
)

// raw is a ROS message as a sample of its own, which the bridge of openRaw publishes
// without a conversion.
type raw struct{ message ros.Message }

// openBridge returns a bridge that isn't connected. Its topics of *raw have the types that
// types tells.
func openBridge(t *testing.T, connection string, types map[string]string) *bridges.Bridge {
	t.Helper()
	registry, err := bridges.NewRegistry(ros1.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("ros1")
	require.NoError(t, err)
	require.NoError(t, bridges.AddType[*raw](plugin, "any"))
	require.NoError(t, bridges.AddPublisherCreator(plugin, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*raw], error) {
		send, err := ros1.OpenTopic(i, topic, types[topic.Name])
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, m *raw) error { return send(ctx, m.message, 0) }, nil
	}))
	b, err := registry.Open("ros1:"+connection, bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

// plain returns a message as testdata/peers/plain.py prints it.
func plain(m ros.Message) any {
	p := &plainVisitor{names: ros.NamesOfROS1(m), values: map[string]any{}}
	m.Fields(p)
	return p.values
}

type plainVisitor struct {
	names  ros.Names
	values map[string]any
}

var _ ros.SeqVisitor = (*plainVisitor)(nil)

func (p *plainVisitor) set(name string, v any) { p.values[p.names.Of(name)] = v }

func bits(v float64) any {
	if math.IsNaN(v) {
		return map[string]any{"bits": "nan"}
	}
	return map[string]any{"bits": fmt.Sprintf("%016x", math.Float64bits(v))}
}

func each[T any](list []T, value func(T) any) any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = value(v)
	}
	return out
}

func (p *plainVisitor) HeaderSeq(v *uint32)                { p.set("seq", float64(*v)) }
func (p *plainVisitor) Bool(name string, v *bool)          { p.set(name, *v) }
func (p *plainVisitor) Int8(name string, v *int8)          { p.set(name, float64(*v)) }
func (p *plainVisitor) Uint8(name string, v *uint8)        { p.set(name, float64(*v)) }
func (p *plainVisitor) Uint16(name string, v *uint16)      { p.set(name, float64(*v)) }
func (p *plainVisitor) Int32(name string, v *int32)        { p.set(name, float64(*v)) }
func (p *plainVisitor) Uint32(name string, v *uint32)      { p.set(name, float64(*v)) }
func (p *plainVisitor) Float32(name string, v *float32)    { p.set(name, bits(float64(*v))) }
func (p *plainVisitor) Float64(name string, v *float64)    { p.set(name, bits(*v)) }
func (p *plainVisitor) String(name string, v *string)      { p.set(name, *v) }
func (p *plainVisitor) Message(name string, v ros.Message) { p.set(name, plain(v)) }

func (p *plainVisitor) Bytes(name string, v *ros.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	p.set(name, map[string]any{"base64": base64.StdEncoding.EncodeToString(data)})
}

func (p *plainVisitor) Int16(name string, v *int16)   { p.set(name, float64(*v)) }
func (p *plainVisitor) Int64(name string, v *int64)   { p.set(name, float64(*v)) }
func (p *plainVisitor) Uint64(name string, v *uint64) { p.set(name, float64(*v)) }

func (p *plainVisitor) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindInt32:
		p.set(name, each(ros.Elements[int32](v), func(n int32) any { return float64(n) }))
	case ros.KindFloat32:
		p.set(name, each(ros.Elements[float32](v), func(f float32) any { return bits(float64(f)) }))
	case ros.KindFloat64:
		p.set(name, each(ros.Elements[float64](v), bits))
	default:
		panic("no type of the bridge has an array of " + v.Kind().String())
	}
}

func (p *plainVisitor) Messages(name string, v ros.Messages) {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = plain(v.At(i))
	}
	p.set(name, list)
}
