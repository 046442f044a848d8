package city

import (
	"github.com/raybridge/raybridge/scene"
)

// verge is the width of the pavement on the far side of the outermost streets.
const verge = 4.0

// addOutskirts places what closes the view at the ends of the streets: a
// pavement, detached houses and trees around the town.
func (t *town) addOutskirts() {
	edge := rect{t.xs[0], t.ys[0], t.xs[t.size], t.ys[t.size]}.inset(-kerbLine)
	t.addVerge(edge)
	corners := edge.corners()
	for i, a := range corners {
		b := corners[(i+1)%4]
		lines := t.xs
		if i%2 == 1 {
			lines = t.ys
		}
		// One house faces the end of each street, one lies between two.
		for k := range 2*len(lines) - 1 {
			at := lines[k/2]
			if k%2 == 1 {
				at = (lines[k/2] + lines[k/2+1]) / 2
			}
			d := b.Sub(a).Normalize()
			along := at - a[i%2]
			if i >= 2 {
				along = a[i%2] - at
			}
			t.addVilla(a.Add(d.Mul(along)), d, i*64+k)
		}
	}
}

// addVerge surrounds the outermost streets with a strip of pavement.
func (t *town) addVerge(edge rect) {
	s := newShape()
	in, out := edge.corners(), edge.inset(-verge).corners()
	t.markKerb([]vec2{in[3], in[2], in[1], in[0]})
	for i := range in {
		j := (i + 1) % 4
		s.face(kerbStone, at3(in[j], 0), at3(in[i], 0), at3(in[i], kerbHeight), at3(in[j], kerbHeight))
		s.face(paving, at3(out[i], kerbHeight), at3(out[j], kerbHeight), at3(in[j], kerbHeight), at3(in[i], kerbHeight))
		s.face(soil, at3(out[i], -0.1), at3(out[j], -0.1), at3(out[j], kerbHeight), at3(out[i], kerbHeight))
	}
	t.add(object{typeID: "static.sidewalk", pose: standing(vec{}, 0), details: always(single("verge", s, scene.TagSidewalks))}, in[0])
}

// addVilla places a detached house behind the verge at p; d runs along the
// street, the town to its left.
func (t *town) addVilla(p, d vec2, index int) {
	rng := stream(t.seed, "villa", index)
	out := vec2{d[1], -d[0]}
	at := func(along, back float64) vec2 { return p.Add(d.Mul(along)).Add(out.Mul(verge + back)) }
	w, deep, front := between(rng, 10, 15), between(rng, 9, 11), between(rng, 5, 9)
	// The street side comes first, counter-clockwise: it runs against d.
	plot := plot{outline: []vec2{at(w/2, front), at(-w/2, front), at(-w/2, front+deep), at(w/2, front+deep)},
		fronts: []frontage{streetFront, streetFront, courtFront, streetFront}}
	look := pick(rng, stuccoHouse, brickTownhouse)(rng, storeyLimits{1, 2})
	look.form, look.ground, look.groundHeight, look.balconies = pitchedRoof, flats, 3.3, 0
	t.addHouse(&house{plot: plot, look: look, seed: t.seed, index: 3000000 + index})
	for _, side := range []float64{-1, 1} {
		x := side * (w/2 + between(rng, 4, 8))
		t.addTree(at(x, front+between(rng, 0, 8)), treeWish{species: pick(rng, plane, lime, spruce, poplar, maple), size: between(rng, 0.9, 1.3), ground: -0.05, rng: rng})
		a, b := at(side*(w/2+9), 1.2), at(side*1.8, 1.2)
		if side > 0 {
			a, b = b, a
		}
		t.addHedgeAt(a, b, -0.05)
	}
}
