package lidar

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/raybridge/raybridge/shaders"
)

// nearWidths is how many beam widths a firing may be away, to be a neighbour.
const nearWidths = 2

// mostLooks is how many firings of a band are looked at, to each side. A pattern that is denser has enough neighbours
// among them.
const mostLooks = 32

// sectors is how many directions a firing has neighbours in, of each the nearest.
const sectors = 4 * shaders.NeighbourTexels

// Entries of the table where there is no neighbour: openSide where all three sectors of a side have none, so that nobody tells
// whether an edge is there, and the ray at the rim on that side is always traced.
const (
	noNeighbour = math.MaxUint32
	openSide    = math.MaxUint32 - 1
)

// neighbours finds which firings of a scan point to near places, wherever they stand in the table. It keeps its
// memory.
type neighbours struct {
	width [2]float64 // full widths of the beam at half maximum, radians
	rings float64    // radius of the outermost ring in these widths: what is nearer doesn't tell of the whole beam
	all   []aimed    // by bands and azimuths
	bands []band
}

// aimed is the direction of a firing, and its place in the list.
type aimed struct {
	band               int32
	azimuth, elevation float32
	at                 uint32
}

// band is firings of almost one elevation: first to end of all.
type band struct {
	number     int32
	first, end int
}

// put writes, for each firing of the list, the places of its neighbours: in each of eight sectors the nearest outside of
// the beam's rings and within two beam widths, and which sides are open.
func (n *neighbours) put(dst []byte, list []timed, t *firingTable) {
	n.sort(list, t)
	for i := range n.all {
		a := &n.all[i]
		for k, at := range n.around(a) {
			binary.LittleEndian.PutUint32(dst[4*(sectors*int(a.at)+k):], at)
		}
	}
	for i := 4 * sectors * len(list); i < len(dst); i++ {
		dst[i] = 0xff
	}
}

// sort orders firings by bands as high as the reach of a beam, and within these by azimuth.
func (n *neighbours) sort(list []timed, t *firingTable) {
	n.all, n.bands = n.all[:0], n.bands[:0]
	for i, f := range list {
		r := &t.rows[f.row]
		number := int32(math.Floor(float64(r.elevation) / (nearWidths * n.width[1])))
		n.all = append(n.all, aimed{number, float32(math.Remainder(float64(r.azimuth), 2*math.Pi)), r.elevation, uint32(i)})
	}
	slices.SortFunc(n.all, func(a, b aimed) int {
		return cmp.Or(cmp.Compare(a.band, b.band), cmp.Compare(a.azimuth, b.azimuth), cmp.Compare(a.at, b.at))
	})
	for i := range n.all {
		if last := len(n.bands) - 1; last < 0 || n.bands[last].number != n.all[i].band {
			n.bands = append(n.bands, band{n.all[i].band, i, i})
		}
		n.bands[len(n.bands)-1].end = i + 1
	}
}

// around returns the places of a firing's neighbours, and its open sides.
func (n *neighbours) around(a *aimed) [sectors]uint32 {
	var found [sectors]uint32
	var best [sectors]float64
	for k := range found {
		found[k], best[k] = noNeighbour, nearWidths*nearWidths
	}
	along := math.Cos(float64(a.elevation)) / n.width[0]
	look := func(b *aimed) (beyond bool) {
		turn := float64(b.azimuth) - float64(a.azimuth)
		if math.Abs(turn) > math.Pi {
			turn -= math.Copysign(2*math.Pi, turn)
		}
		x := turn * along
		y := (float64(b.elevation) - float64(a.elevation)) / n.width[1]
		d := x*x + y*y
		if d > 0 && d >= n.rings*n.rings && d <= nearWidths*nearWidths {
			if k := sectorOf(x, y); d < best[k] || d == best[k] && b.at < found[k] {
				best[k], found[k] = d, b.at
			}
		}
		return math.Abs(x) > nearWidths
	}
	first := sort.Search(len(n.bands), func(i int) bool { return n.bands[i].number >= a.band-1 })
	for _, b := range n.bands[first:] {
		if b.number > a.band+1 {
			break
		}
		in := n.all[b.first:b.end]
		from := sort.Search(len(in), func(i int) bool { return in[i].azimuth >= a.azimuth })
		for i := range min(len(in), mostLooks) { // ahead, around the whole turn
			if look(&in[(from+i)%len(in)]) {
				break
			}
		}
		for i := range min(len(in), mostLooks) {
			if look(&in[(from-1-i+len(in))%len(in)]) {
				break
			}
		}
	}
	for k := 0; k < sectors; k += 2 { // the middles of the sides
		if found[k] == noNeighbour && found[k+1] == noNeighbour && found[(k+sectors-1)%sectors] == noNeighbour {
			found[k] = openSide
		}
	}
	return found
}

// sectorOf is which of eight directions a place is in: those of the axes and the ones between.
func sectorOf(x, y float64) int {
	const tan = math.Sqrt2 - 1 // of pi / 8
	right, up := math.Abs(x), math.Abs(y)
	k := 1
	switch {
	case up <= tan*right:
		k = 0
	case right <= tan*up:
		k = 2
	}
	switch { // k counts from the right, anticlockwise
	case x < 0 && (y >= 0 || k == 0):
		k = 4 - k
	case x <= 0 && y < 0:
		k = 4 + k
	case y < 0:
		k = 8 - k
	}
	return k % 8
}
