package lidar

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/raybridge/raybridge/shaders"
)

// Firings that follow one another in the order are traced together: so many of a packet, and within it of a group (kernels/trace.h).
const (
	packetFirings = 128
	groupFirings  = 16
)

// pointed is a row of a table, and where it points: its azimuth before its elevation, and the other way round, in steps of 2 pi / 2^31.
type pointed struct {
	by  [2]uint64
	row uint32
}

// packetOrder returns each row's place in an order in which packets, and groups of them, are about as wide as high: rows are halved
// across their longer side until a packet is left, and then a group.
func packetOrder(rows []firing) []uint32 {
	list := make([]pointed, len(rows))
	steps := func(angle float32) uint64 { return uint64(int64(float64(angle)*(1<<30/math.Pi)) + 1<<31) }
	for i := range rows {
		azimuth, elevation := steps(rows[i].azimuth), steps(rows[i].elevation)
		list[i] = pointed{[2]uint64{azimuth<<32 | elevation, elevation<<32 | azimuth}, uint32(i)}
	}
	halve(list)
	places := make([]uint32, len(rows))
	for i := range list {
		places[list[i].row] = uint32(i)
	}
	return places
}

func halve(list []pointed) {
	for len(list) > groupFirings {
		unit := packetFirings
		if len(list) <= packetFirings {
			unit = groupFirings
		}
		half := max((len(list)/2+unit/2)/unit, 1) * unit
		split(list, half, longerSide(list))
		halve(list[:half])
		list = list[half:]
	}
}

// longerSide returns 0 where rows are farther from one another by azimuth, and 1 by elevation.
func longerSide(list []pointed) int {
	low, high := list[0].by, list[0].by
	for i := range list {
		for k, at := range list[i].by {
			low[k], high[k] = min(low[k], at), max(high[k], at)
		}
	}
	middle := (float64(low[1]>>32) + float64(high[1]>>32) - 1<<32) / 2 * (math.Pi / (1 << 30))
	if float64(high[0]-low[0])*math.Cos(middle) > float64(high[1]-low[1]) {
		return 0
	}
	return 1
}

// split puts the n rows of the least angles first (Hoare, 1961).
func split(list []pointed, n, side int) {
	for low, high := 0, len(list); high-low > 1; {
		pivot := list[low+(high-low)/2].by[side]
		i, k := low, high-1
		for i <= k {
			for list[i].by[side] < pivot {
				i++
			}
			for list[k].by[side] > pivot {
				k--
			}
			if i <= k {
				list[i], list[k] = list[k], list[i]
				i, k = i+1, k-1
			}
		}
		switch {
		case n <= k:
			high = k + 1
		case n > i:
			low = i
		default:
			return
		}
	}
}

// firingOrder puts the firings of scans in order. It keeps its memory.
type firingOrder struct{ list, spare []timed }

// digit is how many bits of a place are sorted at a time; a table has at most 2^22 rows.
const digit = 11

// sort orders the list by the places of the rows (a radix sort). A row that comes twice stays in the order of time.
func (o *firingOrder) sort(places []uint32) {
	o.spare = slices.Grow(o.spare[:0], len(o.list))[:len(o.list)]
	for shift := 0; shift < 2*digit; shift += digit {
		var starts [1<<digit + 1]int
		for _, f := range o.list {
			starts[places[f.row]>>shift&(1<<digit-1)+1]++
		}
		for i := range 1 << digit {
			starts[i+1] += starts[i]
		}
		for _, f := range o.list {
			at := &starts[places[f.row]>>shift&(1<<digit-1)]
			o.spare[*at] = f
			*at++
		}
		o.list, o.spare = o.spare, o.list
	}
}

// put writes the list as shaders/lidar_echoes.comp reads it, with the ranges that the air leaves. Firings that look nowhere have the
// points that are left.
func (o *firingOrder) put(dst []byte, t *firingTable, now air) {
	const size = 16 * shaders.FiringTexels
	words := func(at []byte, list [4 * shaders.FiringTexels]uint32) {
		for i, w := range list {
			binary.LittleEndian.PutUint32(at[4*i:], w)
		}
	}
	for i, f := range o.list {
		r := &t.rows[f.row]
		words(dst[size*i:], [...]uint32{
			math.Float32bits(r.azimuth), math.Float32bits(r.elevation), math.Float32bits(r.minM), math.Float32bits(float32(now.reach(float64(r.maxM)))),
			f.ns, uint32(r.ring), f.number, math.Float32bits(r.height),
		})
	}
	for i := len(o.list); i < len(dst)/size; i++ {
		words(dst[size*i:], [...]uint32{3: math.Float32bits(-1), 6: uint32(i), 7: 0})
	}
}
