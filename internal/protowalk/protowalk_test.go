package protowalk_test

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/raybridge/raybridge/internal/protowalk"
)

var errDamaged = errors.New("the test's message is damaged")

// number, fixed, short, text and doubles append a field as package protowire writes it.
func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func fixed(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}

func short(b []byte, field protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, field, protowire.Fixed32Type), v)
}

func text(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func doubles(b []byte, field protowire.Number, values ...float64) []byte {
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendFixed64(packed, math.Float64bits(v))
	}
	return text(b, field, string(packed))
}

// TestAMessageOfTheLibrary is walked: a descriptor, which protobuf's own library wrote.
func TestAMessageOfTheLibrary(t *testing.T) {
	b, err := proto.Marshal(&descriptorpb.DescriptorProto{
		Name: proto.String("Step"),
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("until"), Number: proto.Int32(1)}, {Name: proto.String("größe"), Number: proto.Int32(-2)},
		},
	})
	require.NoError(t, err)
	var name string
	type field struct {
		name   string
		number int32
	}
	var fields []field
	m := protowalk.Over(b, errDamaged)
	for m.Next() {
		switch m.Field {
		case 1:
			name = m.Text("")
		case 2:
			var f field
			in := protowalk.Over(m.Message(), errDamaged)
			for in.Next() {
				switch in.Field {
				case 1:
					f.name = in.Text("")
				case 3:
					f.number = int32(in.Varint())
				}
			}
			m.Within("field", in.Err)
			fields = append(fields, f)
		}
	}
	require.NoError(t, m.Err)
	assert.Equal(t, "Step", name)
	assert.Equal(t, []field{{"until", 1}, {"größe", -2}}, fields)
}

func TestFieldsOfEachType(t *testing.T) {
	group := protowire.AppendTag(number(protowire.AppendTag(nil, 9, protowire.StartGroupType), 1, 1), 9, protowire.EndGroupType)
	b := append(number(nil, 1, math.MaxUint64), group...) // which nobody knows
	b = doubles(fixed(short(fixed(b, 2, -2.5), 3, math.MaxUint32), 4, 4), 4, 5, 6)
	b = text(b, 536870911, "last")
	var values [2]float64
	count := 0
	var got []any
	m := protowalk.Over(b, errDamaged)
	for m.Next() {
		switch m.Field {
		case 1:
			got = append(got, m.Varint())
		case 2:
			got = append(got, m.Double())
		case 3:
			got = append(got, m.Fixed32())
		case 4:
			count = m.Doubles(values[:], count)
		case 536870911:
			got = append(got, string(m.Message()))
		}
	}
	require.NoError(t, m.Err)
	assert.Equal(t, []any{uint64(math.MaxUint64), -2.5, uint32(math.MaxUint32), "last"}, got)
	assert.Equal(t, [2]float64{4, 5}, values)
	assert.Equal(t, 3, count, "the third is counted")
}

func TestFaultsNameTheField(t *testing.T) {
	for name, c := range map[string]struct {
		message []byte
		read    func(*protowalk.Walk)
		want    string
	}{
		"varint":         {fixed(nil, 7, 1), func(m *protowalk.Walk) { assert.Zero(t, m.Varint()) }, "field 7 has wire type 1, want 0"},
		"fixed64":        {number(nil, 7, 1), func(m *protowalk.Walk) { assert.Zero(t, m.Fixed64()) }, "field 7 has wire type 0, want 1"},
		"double":         {short(nil, 7, 1), func(m *protowalk.Walk) { assert.Zero(t, m.Double()) }, "field 7 has wire type 5, want 1"},
		"fixed32":        {number(nil, 7, 1), func(m *protowalk.Walk) { assert.Zero(t, m.Fixed32()) }, "field 7 has wire type 0, want 5"},
		"message":        {number(nil, 7, 1), func(m *protowalk.Walk) { assert.Empty(t, m.Message()) }, "field 7 has wire type 0, want 2"},
		"text":           {text(nil, 7, "\xff"), func(m *protowalk.Walk) { assert.Empty(t, m.Text("")) }, "field 7 is not UTF-8"},
		"odd doubles":    {text(nil, 7, "1234567"), func(m *protowalk.Walk) { m.Doubles(nil, 0) }, "field 7 has no doubles"},
		"no doubles":     {number(nil, 7, 1), func(m *protowalk.Walk) { m.Doubles(nil, 0) }, "field 7 has no doubles"},
		"the first":      {append(number(nil, 7, 1), 0xff), func(m *protowalk.Walk) { m.Fixed64() }, "field 7 has wire type 0, want 1"},
		"cut in a value": {doubles(number(nil, 6, 1), 7, 1, 2)[:10], func(*protowalk.Walk) {}, "in field 7: unexpected EOF"},
		"cut in a tag":   {append(number(nil, 6, 1), 0xff), func(*protowalk.Walk) {}, "after field 6: unexpected EOF"},
		"field 0":        {[]byte{0, 0}, func(*protowalk.Walk) {}, "after field 0: "},
	} {
		t.Run(name, func(t *testing.T) {
			m := protowalk.Over(c.message, errDamaged)
			for m.Next() {
				c.read(&m)
			}
			require.ErrorIs(t, m.Err, errDamaged)
			assert.ErrorContains(t, m.Err, errDamaged.Error()+": "+c.want)
			assert.False(t, m.Next(), "it ends the walk")
			m.Within("outside", errDamaged)
			assert.NotContains(t, m.Err.Error(), "outside", "the first stays")
		})
	}
	m := protowalk.Over([]byte{0xff}, errDamaged)
	m.Within("part", nil)
	require.NoError(t, m.Err)
	assert.False(t, m.Next())
	require.ErrorIs(t, m.Err, io.ErrUnexpectedEOF, "what is cut can be told")
	outer := protowalk.Over(nil, errDamaged)
	outer.Within("part", m.Err)
	assert.EqualError(t, outer.Err, "part: "+m.Err.Error())
}

// TestWalkingAllocatesNothing: neither do names that are the same each time.
func TestWalkingAllocatesNothing(t *testing.T) {
	b := text(doubles(fixed(number(nil, 1, 1), 2, 2), 3, 1, 2, 3, 4, 5, 6, 7), 4, "vehicle.sedan")
	var values [7]float64
	name := "vehicle.sedan"
	var sum float64
	assert.Zero(t, testing.AllocsPerRun(50, func() {
		m := protowalk.Over(b, errDamaged)
		for m.Next() {
			switch m.Field {
			case 1:
				sum += float64(m.Varint())
			case 2:
				sum += m.Double()
			case 3:
				sum += float64(m.Doubles(values[:], 0))
			case 4:
				name = m.Text(name)
			}
		}
		if m.Err != nil || name != "vehicle.sedan" {
			t.Fatal(m.Err, name)
		}
	}))
}

// FuzzWalk reads anything: a walk ends, and finds the fields that the library finds.
func FuzzWalk(f *testing.F) {
	f.Add(text(short(fixed(number(nil, 1, 1), 2, 2), 3, 3), 4, "four"))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := protowalk.Over(b, errDamaged)
		rest := b
		for m.Next() {
			field, _, n := protowire.ConsumeField(rest)
			require.Equal(t, field, m.Field)
			rest = rest[n:]
		}
		_, _, n := protowire.ConsumeField(rest)
		require.Equal(t, m.Err == nil, len(rest) == 0)
		require.True(t, len(rest) == 0 || n < 0, "the library reads on")
	})
}
