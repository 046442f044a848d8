package rosbson

import "github.com/raybridge/raybridge/bridges/ros"

// Array appends an array of numbers, bools or strings; uint8's are binary.
func (e *Encoder) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindBool:
		elements(e, name, typeBool, ros.Elements[bool](v), (*Encoder).bool)
	case ros.KindInt8:
		integers(e, name, ros.Elements[int8](v))
	case ros.KindUint8:
		e.Bytes(name, &ros.Bytes{Data: ros.Elements[uint8](v)})
	case ros.KindInt16:
		integers(e, name, ros.Elements[int16](v))
	case ros.KindUint16:
		integers(e, name, ros.Elements[uint16](v))
	case ros.KindInt32:
		integers(e, name, ros.Elements[int32](v))
	case ros.KindUint32:
		integers(e, name, ros.Elements[uint32](v))
	case ros.KindInt64:
		integers(e, name, ros.Elements[int64](v))
	case ros.KindUint64:
		e.unsigned(name, ros.Elements[uint64](v))
	case ros.KindFloat32:
		elements(e, name, typeDouble, ros.Elements[float32](v), func(e *Encoder, f float32) { e.double(float64(f)) })
	case ros.KindFloat64:
		elements(e, name, typeDouble, ros.Elements[float64](v), (*Encoder).double)
	case ros.KindString:
		elements(e, name, typeString, ros.Elements[string](v), (*Encoder).text)
	}
}

// elements appends an array of values of one type.
func elements[T any](e *Encoder, name string, typ byte, list []T, value func(*Encoder, T)) {
	e.name(typeArray, name)
	start := e.open()
	for i, v := range list {
		e.index(typ, i)
		value(e, v)
	}
	e.close(start)
}

// integers appends an array of int32 and, where they are beyond its range, int64.
func integers[T int8 | int16 | uint16 | int32 | uint32 | int64](e *Encoder, name string, list []T) {
	e.name(typeArray, name)
	start := e.open()
	for i, v := range list {
		e.index(integerType(int64(v)), i)
		e.integerValue(int64(v))
	}
	e.close(start)
}

func (e *Encoder) unsigned(name string, list []uint64) {
	e.name(typeArray, name)
	start := e.open()
	for i, v := range list {
		n := e.signed(name, v)
		e.index(integerType(n), i)
		e.integerValue(n)
	}
	e.close(start)
}
