package wire_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/raybridge/raybridge/sensors/stream/wire/schema"
)

// filled returns a sample of each kind with a different value in every field, by
// name, and one with empty strings and lists.
func filled() map[string]any {
	all := map[string]any{}
	for _, m := range schema.Messages {
		f := filler{rng: rand.New(rand.NewPCG(uint64(m.Kind), 7))}
		v := reflect.New(m.Go)
		f.fill(v.Elem(), 3)
		all[m.Name] = v.Interface()
		f.bare = true
		v = reflect.New(m.Go)
		f.fill(v.Elem(), 0)
		all[m.Name+"_empty"] = v.Interface()
	}
	return all
}

// filler sets values that are exact in every encoding.
type filler struct {
	rng  *rand.Rand
	bare bool
	n    int
}

func (f *filler) fill(v reflect.Value, length int) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), length)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), length)
		}
	case reflect.Slice:
		if length == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			f.fill(v.Index(i), i) // lists within would differ in length
		}
	case reflect.String:
		if !f.bare {
			v.SetString(fmt.Sprintf("ü%d", f.n)) // 3 bytes and more, never a multiple for all
		}
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.rng.IntN(1<<20)-1<<19) / 64)
	case reflect.Int, reflect.Uint32:
		if n := f.rng.Uint32(); v.CanInt() {
			v.SetInt(int64(uint64(n) & math.MaxInt)) // the same but where an int has 32 bits
		} else {
			v.SetUint(uint64(n))
		}
	case reflect.Int8:
		v.SetInt(int64(f.rng.IntN(256) - 128))
	case reflect.Int32:
		v.SetInt(int64(int32(f.rng.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(f.rng.Uint64()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(f.rng.Uint64() >> (64 - v.Type().Bits()))
	default:
		panic(fmt.Sprintf("no value for %v", v.Type()))
	}
}
