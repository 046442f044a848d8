package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// species is a kind of tree.
type species int

const (
	lime     species = iota // round, for streets
	plane                   // broad, for parks
	poplar                  // tall and narrow
	spruce                  // a conifer
	cherry                  // small, in blossom
	maple                   // yellow
	allTrees int     = iota
)

// variantsPerSpecies is how many different trees of a kind there are.
const variantsPerSpecies = 3

// treeModel builds one variant of a tree at a level of detail, 0 to 3.
func treeModel(seed uint64, sp species, variant, level int) *model {
	rng := stream(seed, "tree", int(sp), variant)
	s := newShape()
	if sp == spruce {
		buildSpruce(s, rng, level)
	} else {
		buildLeafTree(s, rng, sp, level)
	}
	return single("tree", s, scene.TagVegetation)
}

// crownForm is a leaf tree's proportions, metres.
type crownForm struct {
	trunk, radius, height float64 // the trunk's height to the crown; the crown's half width and height
	spread                float64 // how far the clumps lie apart, of the radius
	clump                 float64 // a clump's size, of the radius
	light, dark, bark     material
}

var crownForms = [allTrees]crownForm{
	lime:   {2.5, 2.3, 5.4, 0.5, 0.68, leafBright, leafMid, bark},
	plane:  {3.0, 3.5, 6.6, 0.56, 0.62, leafMid, leafDark, barkPale},
	poplar: {4.0, 1.25, 9.5, 0.4, 0.85, leafOlive, leafDark, barkPale},
	cherry: {2.6, 1.9, 3.2, 0.5, 0.66, blossomWhite, blossomPink, bark},
	maple:  {2.5, 2.4, 5.0, 0.52, 0.66, leafYellow, leafOlive, bark},
}

// clumps is how many leaf masses a crown has, and splits how finely each is
// built, by level.
var (
	clumpsOfLevel = [4]int{4, 6, 9, 11}
	splitsOfLevel = [4]int{0, 1, 1, 2}
)

func buildLeafTree(s *shape, rng *rand.Rand, sp species, level int) {
	f := crownForms[sp]
	sides := [4]int{4, 5, 6, 9}[level]
	top := f.trunk + f.height*0.55
	lean := vec{between(rng, -0.25, 0.25), between(rng, -0.25, 0.25), 0}
	s.limb(f.bark, sides, []vec{{0, 0, -0.05}, {0, 0, 0.3}, lean.Mul(0.3).Add(vec{0, 0, f.trunk * 0.8}), lean.Add(vec{0, 0, top})},
		[]float64{0.07*f.radius + 0.09, 0.065 * f.radius, 0.05 * f.radius, 0.04})
	centre := lean.Add(vec{0, 0, f.trunk + f.height/2})
	n := clumpsOfLevel[level]
	turn := between(rng, 0, 2*math.Pi)
	for i := range n {
		// Clumps wind upwards around the trunk, the last one on top.
		k := float64(i) / float64(n-1)
		a := turn + float64(i)*2.4
		out := f.radius * f.spread * math.Sqrt(1-k*k*0.98)
		sn, c := math.Sincos(a)
		at := centre.Add(vec{out * c, out * sn, (k - 0.45) * f.height * 0.62})
		size := f.radius * f.clump * between(rng, 0.88, 1.15)
		m := f.dark
		if k > 0.4 {
			m = f.light
		}
		if level >= 2 {
			s.pole(f.bark, 4, lean.Mul(0.5).Add(vec{0, 0, f.trunk * 0.9}), at, [2]float64{0.03 * f.radius, 0.02})
		}
		s.clump(m, rng, clumpShape{at, vec{size, size, size * between(rng, 0.8, 1.0) * f.height / (2.2 * f.radius)}, splitsOfLevel[level]})
	}
}

// clumpShape is where a leaf mass is, its half sizes and fineness.
type clumpShape struct {
	centre, radii vec
	splits        int
}

// clump adds a leaf mass: an uneven faceted ellipsoid.
func (s *shape) clump(m material, rng *rand.Rand, c clumpShape) {
	var waves [4]vec
	var phase [4]float64
	for i := range waves {
		k := between(rng, 2, 4.5)
		waves[i] = vec{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize().Mul(k)
		phase[i] = between(rng, 0, 2*math.Pi)
	}
	bump := func(d vec) vec {
		k := 1.0
		for i, w := range waves {
			k += 0.055 * math.Sin(w.Dot(d)+phase[i])
		}
		if c.splits > 1 { // finer leaves
			k += 0.05 * math.Sin(9*d[0]+phase[0]) * math.Sin(11*d[1]+phase[1]) * math.Sin(10*d[2]+phase[2])
		}
		low := 1.0
		if d[2] < -0.3 {
			low = 0.82 // flatter below
		}
		return vec{d[0] * c.radii[0] * k, d[1] * c.radii[1] * k, d[2] * c.radii[2] * k * low}.Add(c.centre)
	}
	for _, t := range icosphere(c.splits) {
		s.face(m, bump(t[0]), bump(t[1]), bump(t[2]))
	}
}

// buildSpruce builds tiers of drooping branches.
func buildSpruce(s *shape, rng *rand.Rand, level int) {
	tiers, sides := [4]int{3, 5, 7, 10}[level], [4]int{7, 9, 14, 24}[level]
	height := between(rng, 7, 10)
	s.pole(bark, 5, vec{}, vec{0, 0, 1.6}, [2]float64{0.2, 0.16})
	for i := range tiers {
		k := float64(i) / float64(tiers)
		z, r := 1.1+k*(height-1.1), 2.3*(1-k)+0.25
		s.tier(rng, vec{z, r, (height - 1.1) / float64(tiers) * 1.55}, sides)
	}
}

// tier adds one cone of branches with a jagged rim; dim is its height above
// the ground, its radius and its own height.
func (s *shape) tier(rng *rand.Rand, dim vec, sides int) {
	rim := make([]vec, sides)
	turn := between(rng, 0, 2*math.Pi)
	for i := range rim {
		sn, c := math.Sincos(turn + 2*math.Pi*float64(i)/float64(sides))
		r := dim[1]
		if i%2 == 1 {
			r *= 0.76
		}
		rim[i] = vec{r * c, r * sn, dim[0] + between(rng, -0.08, 0.08)}
	}
	tip, under := vec{0, 0, dim[0] + dim[2]}, vec{0, 0, dim[0] + 0.25*dim[2]}
	for i := range rim {
		j := (i + 1) % sides
		s.face(needles, rim[i], rim[j], tip)
		s.face(needles, rim[j], rim[i], under)
	}
}

// hedge builds a clipped hedge along x.
func hedge(length, height float64, m material, level int) *shape {
	s := newShape()
	rng := stream(uint64(length*100), "hedge")
	n := max(1, int(length/[4]float64{4, 1.2, 0.8, 0.4}[level]))
	const half = 0.42
	section := func(i int) []vec {
		x := length * float64(i) / float64(n)
		j := func() float64 { return between(rng, -0.05, 0.05) }
		return []vec{{x, -half + j(), 0}, {x, -half + j(), height * 0.8}, {x, -half*0.7 + j(), height + j()},
			{x, half*0.7 + j(), height + j()}, {x, half + j(), height * 0.8}, {x, half + j(), 0}}
	}
	sections := make([][]vec, n+1)
	for i := range sections {
		sections[i] = section(i)
	}
	s.loft(m, sections, false, 0)
	s.cap(m, sections[0], false)
	s.cap(m, sections[n], true)
	return s
}
