package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// The picture that a panorama is for.
const (
	panoramaWidth  = 320
	panoramaHeight = 240
)

// panorama writes the table of docs/examples/lenses.yaml, OUT.npy: the rays of a picture that is a whole cylinder, unrolled.
func panorama(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: gen panorama OUT.npy")
	}
	const focal = panoramaWidth / (2 * math.Pi)
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, 3), }\n", panoramaHeight, panoramaWidth)
	data := bytes.NewBufferString("\x93NUMPY\x01\x00")
	rays := make([]float32, 0, 3*panoramaWidth*panoramaHeight)
	for v := range panoramaHeight {
		for u := range panoramaWidth {
			sin, cos := math.Sincos((float64(u) - (panoramaWidth-1)/2.0) / focal)
			rays = append(rays, float32(sin), float32((float64(v)-(panoramaHeight-1)/2.0)/focal), float32(cos))
		}
	}
	for _, part := range []any{uint16(len(header)), []byte(header), rays} {
		if err := binary.Write(data, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return os.WriteFile(args[0], data.Bytes(), 0o644)
}
