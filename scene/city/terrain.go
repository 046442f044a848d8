package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

const (
	terrainReach = 1800.0 // metres from the middle of the town
	terrainSides = 72
	terrainRings = 14
)

// addTerrain places the country around the town: meadows, fields and wooded
// hills up to the horizon.
func (t *town) addTerrain() {
	s := newShape()
	rng := stream(t.seed, "terrain")
	var hills [6][3]float64 // wave vector and phase of the hills
	for i := range hills {
		k := between(rng, 0.002, 0.008)
		sn, c := math.Sincos(between(rng, 0, 2*math.Pi))
		hills[i] = [3]float64{k * c, k * sn, between(rng, 0, 2*math.Pi)}
	}
	edge := rect{t.xs[0], t.ys[0], t.xs[t.size], t.ys[t.size]}.inset(-kerbLine)
	ground := func(ring, side int) vec {
		// The rings start below the town and grow wider outwards.
		k := float64(ring) / terrainRings
		r := 0.6 * min(edge.width(), edge.height()) / 2
		r += (terrainReach - r) * k * k
		sn, c := math.Sincos(2 * math.Pi * float64(side) / terrainSides)
		p := vec2{r * c, r * sn}
		return at3(p, terrainHeight(edge, hills[:], p))
	}
	use := newLandUse(rng)
	for ring := range terrainRings {
		for side := range terrainSides {
			a, b, c, d := ground(ring, side), ground(ring+1, side), ground(ring+1, side+1), ground(ring, side+1)
			s.face(use.at(a.Add(b).Add(c)), a, b, c)
			s.face(use.at(a.Add(c).Add(d)), a, c, d)
		}
	}
	s.smooth(0, 60*math.Pi/180)
	t.add(object{typeID: "static.terrain", pose: standing(vec{}, 0),
		details: always(single("country", s, scene.TagTerrain))}, vec2{})
}

// terrainHeight is flat around the town and rises to hills behind it.
func terrainHeight(town rect, hills [][3]float64, p vec2) float64 {
	outside := vec2{max(town.x0-p[0], 0, p[0]-town.x1), max(town.y0-p[1], 0, p[1]-town.y1)}.Len()
	k := max(0, min(1, (outside-90)/900))
	k = k * k * (3 - 2*k)
	h := 0.0
	for _, w := range hills {
		h += math.Sin(p[0]*w[0] + p[1]*w[1] + w[2])
	}
	return -0.05 + k*(46+14*h)
}

// landUse draws woods and fields as patches of a sum of waves.
type landUse [4][3]float64

func newLandUse(rng *rand.Rand) landUse {
	var l landUse
	for i := range l {
		k := between(rng, 0.006, 0.013)
		sn, c := math.Sincos(between(rng, 0, 2*math.Pi))
		l[i] = [3]float64{k * c / 3, k * sn / 3, between(rng, 0, 2*math.Pi)}
	}
	return l
}

// at returns what grows at a place, given as three times its coordinates.
func (l landUse) at(p vec) material {
	v := 0.0
	for _, w := range l {
		v += math.Sin(p[0]*w[0] + p[1]*w[1] + w[2])
	}
	far := p.Len() > 3*420
	switch {
	case far && v > 0.7:
		return forest
	case far && v < -1.2:
		return field
	}
	return meadow
}
