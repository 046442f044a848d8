//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

// valueOf is a message as the peers print it, decoded from JSON: see testdata/peers/print.h.
func valueOf(m ros.Message) map[string]any {
	return rostest.Form{
		Bytes: func(data []byte) any {
			return map[string]any{"bytes": float64(len(data)), "hash": fmt.Sprintf("%016x", hashOctets(data))}
		},
		Number: number,
	}.Tree(m)
}

func number(f float64, _ int) any {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return fmt.Sprintf("%sinf", map[bool]string{true: "-"}[f < 0])
	}
	return f
}

// hashOctets is print.h's.
func hashOctets(p []byte) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for ; len(p) >= 8; p = p[8:] {
		h = (h ^ binary.NativeEndian.Uint64(p)) * prime
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
	}
	return h
}
