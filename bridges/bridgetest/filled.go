package bridgetest

import (
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Filled returns a sample of a type, a pointer to a structure of package sample, with a
// value of its own in every field.
func Filled(t reflect.Type) simtime.Stamped {
	switch t {
	case reflect.TypeFor[*sample.Image]():
		return Image(3)
	case reflect.TypeFor[*sample.PointCloud]():
		return PointCloud(3)
	}
	v := reflect.New(t.Elem())
	n := 0
	fill(v.Elem(), &n)
	return v.Interface().(simtime.Stamped)
}

// fill sets everything that v is made of; n counts the values.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Int8:
		v.SetInt(int64(*n % 3))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 4))
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d, \"quoted\", äöü", *n))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n)
			}
		}
	}
}
