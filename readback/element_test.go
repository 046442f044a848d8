package readback_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/readback"
)

type inner struct {
	A float32
	B readback.Vec2
}

func TestCheckElement(t *testing.T) {
	type mirror struct {
		Position readback.Vec4
		ID       uint32
		_        uint32
		Cell     readback.UVec2
	}
	type nested struct {
		Rows [3][4]float32
		Tail struct{ X, Y int16 }
	}
	accepted := map[string]error{
		"uint8":           readback.CheckElement[uint8](),
		"float32":         readback.CheckElement[float32](),
		"array":           readback.CheckElement[[4]uint8](),
		"complex":         readback.CheckElement[complex64](),
		"mirror":          readback.CheckElement[mirror](),
		"nested":          readback.CheckElement[nested](),
		"vector":          readback.CheckElement[readback.IVec4](),
		"array of Vec2":   readback.CheckElement[[2]readback.IVec2](),
		"blank fields":    readback.CheckElement[struct{ A, _ uint32 }](),
		"loose alignment": readback.CheckElement[[3]float32](),
	}
	for name, err := range accepted {
		require.NoError(t, err, name)
	}

	refused := map[string]struct {
		err    error
		field  string
		reason string
	}{
		"pointer":           {readback.CheckElement[*int32](), "", "pointer"},
		"string":            {readback.CheckElement[string](), "", "pointer"},
		"slice in a struct": {readback.CheckElement[struct{ Points []uint8 }](), "Points", "pointer"},
		"map":               {readback.CheckElement[map[int]int](), "", "pointer"},
		"interface":         {readback.CheckElement[any](), "", "no bytes of its own"},
		"func in an array":  {readback.CheckElement[[2]func()](), "[]", "pointer"},
		"unsafe pointer":    {readback.CheckElement[unsafe.Pointer](), "", "pointer"},
		"int":               {readback.CheckElement[struct{ N int }](), "N", "int32"},
		"uintptr":           {readback.CheckElement[uintptr](), "", "differs between machines"},
		"bool":              {readback.CheckElement[struct{ OK bool }](), "OK", "no bool"},
		"empty":             {readback.CheckElement[struct{}](), "", "no bytes of its own"},
		"empty field": {readback.CheckElement[struct {
			A uint32
			B [0]uint32
		}](), "B", "no elements"},
		"padding between": {readback.CheckElement[struct {
			A uint8
			B uint32
		}](), "B", "3 bytes of padding"},
		"padding at the end": {readback.CheckElement[struct {
			A uint32
			B uint8
		}](), "", "3 bytes of padding at its end"},
		"padding inside": {readback.CheckElement[struct {
			Deep [2]struct {
				A uint16
				B uint8
			}
		}](), "Deep[]", "1 bytes of padding at its end"},
		"misplaced Vec2": {readback.CheckElement[inner](), "B", "multiples of 8"},
		"misplaced inside": {readback.CheckElement[struct {
			Pad uint32
			In  struct{ V readback.UVec4 }
		}](), "In.V", "multiples of 16"},
		"stride of the array": {readback.CheckElement[struct {
			V readback.Vec4
			F float32
		}](), "", "20 bytes are no multiple of 16"},
		"stride inside": {readback.CheckElement[struct {
			Items [2]struct {
				V readback.Vec2
				F float32
			}
		}](), "Items", "12 bytes apart"},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, test.err, readback.ErrElement)
			var e *readback.ElementError
			require.ErrorAs(t, test.err, &e)
			require.Contains(t, e.Field, test.field)
			if test.field == "" {
				require.Empty(t, e.Field)
			}
			require.ErrorContains(t, test.err, test.reason)
		})
	}
}
