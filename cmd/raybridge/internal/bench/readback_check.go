package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"unsafe"

	"github.com/raybridge/raybridge/sensors/sample"
)

// leastRate is what an asynchronous loop must make at least, as a share of the
// captures per second of the blocking one: else its frames would be short because
// it does less.
const leastRate = 0.9

// compareRates refuses asynchronous runs that make too few captures beside the
// blocking runs right before them. Rates are captures per second. The median of
// the shares counts: what slows the whole machine down for a while leaves it alone.
func compareRates(blocking, async []float64) error {
	var shares Result
	for i := range async {
		shares.Runs = append(shares.Runs, async[i]/blocking[i])
	}
	if share := shares.Median(); !(share >= leastRate) {
		return fmt.Errorf("it made %.2f of the blocking loop's captures per second, and %.1f is the least that counts: "+
			"was the machine busy with something else?", share, leastRate)
	}
	return nil
}

// compareStreams holds what the asynchronous loop published beside what the
// blocking one did: the same captures of the same outputs, in their order, with
// the same bytes.
func compareStreams(blocking, async []stream, captures int) error {
	if len(blocking) != len(async) {
		return fmt.Errorf("%d topics, not %d", len(async), len(blocking))
	}
	for i := range async {
		got, want := &async[i], &blocking[i]
		if err := got.complete(captures); err != nil {
			return err
		}
		if err := want.complete(captures); err != nil {
			return fmt.Errorf("the blocking loop itself failed: %w", err)
		}
		for k := range captures {
			if got.arrivals[k].sum != want.arrivals[k].sum {
				return fmt.Errorf("capture %d of %s has other bytes than the blocking loop's", k, got.topic)
			}
		}
	}
	return nil
}

// complete checks that each capture came once, in order: the stamp of a loop's
// captures is their number.
func (s *stream) complete(captures int) error {
	for k := range s.arrivals {
		if at := s.arrivals[k].stamp; at != int64(k) {
			return fmt.Errorf("capture %d of %s came as number %d", at, s.topic, k)
		}
	}
	if n := len(s.arrivals); n != captures {
		return fmt.Errorf("%d of %d captures arrived on %s", n, captures, s.topic)
	}
	return nil
}

// sums has one seed, so that the sums of both loops can be compared.
var sums = maphash.MakeSeed()

// sumOf returns a sum of a message's data: all but what tells one capture of a
// scene that stands still from the next.
func sumOf(message any) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(sums)
	switch m := message.(type) {
	case *sample.Image:
		addNumbers(&h, m.Width, m.Height, m.Step)
		h.WriteString(m.Encoding)
		h.Write(m.Data)
	case *sample.CameraInfo:
		addNumbers(&h, m.Width, m.Height)
		h.WriteString(m.DistortionModel)
		for _, list := range [][]float64{m.D, m.K[:], m.R[:], m.P[:]} {
			addFloats(&h, list)
		}
	case *sample.PointCloud:
		addNumbers(&h, m.Rings, m.Columns, len(m.Points))
		h.Write(cloudBytes(m.Points))
	default:
		return 0, fmt.Errorf("sum of a %T: %w", message, errors.ErrUnsupported)
	}
	return h.Sum64(), nil
}

func addNumbers(h *maphash.Hash, list ...int) {
	var b [8]byte
	for _, n := range list {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
}

func addFloats(h *maphash.Hash, list []float64) {
	addNumbers(h, len(list))
	var b [8]byte
	for _, f := range list {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(f))
		h.Write(b[:])
	}
}

// cloudBytes views points, which have no padding, as their bytes.
func cloudBytes(points []sample.Point) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(points))), len(points)*int(unsafe.Sizeof(sample.Point{})))
}

// wordBytes views words as the bytes that they are on this machine.
func wordBytes(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))
}
