package city

import (
	"math"
	"math/rand/v2"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
)

// outfit is how a person looks.
type outfit struct {
	skin, hair, shirt, trousers, shoes material
	longHair, skirt, bag, hat          bool
}

func drawOutfit(rng *rand.Rand) outfit {
	cloths := []material{clothWhite, clothBlack, clothRed, clothBlue, clothNavy, clothGreen, clothYellow, clothGrey, clothBeige, clothPurple, clothTeal}
	o := outfit{
		skin: pick(rng, skinLight, skinLight, skinMid, skinDark), hair: pick(rng, hairBlack, hairBrown, hairBrown, hairBlond, hairGrey),
		shirt: pick(rng, cloths...), trousers: pick(rng, clothDenim, clothDenim, clothBlack, clothNavy, clothBeige, clothGrey),
		shoes: pick(rng, leather, clothBlack, clothWhite), bag: chance(rng, 0.35), hat: chance(rng, 0.12),
	}
	if chance(rng, 0.5) {
		o.longHair, o.skirt = chance(rng, 0.7), chance(rng, 0.3)
	}
	return o
}

// personSides is how many sides limbs and heads have.
var personSides = [3]int{4, 6, 10}

const (
	hipHeight      = 0.92
	shoulderHeight = 1.42
)

// gait is how a walker's limbs swing.
type gait struct {
	strideHz float64 // double steps a second
	swing    float64 // radians
	phase    float64
}

// angle returns a limb's swing at a simulation time, positive forwards.
func (g gait) angle(stamp simtime.Stamp) float64 {
	return g.swing * math.Sin(2*math.Pi*g.strideHz*float64(stamp)/1e9+g.phase)
}

// limb returns the joint of a limb that hangs at pivot and swings by sign
// times the gait.
func (g gait) limb(pivot vec, sign float64) func(stamp simtime.Stamp) mgl64.Mat4 {
	return func(stamp simtime.Stamp) mgl64.Mat4 {
		return mgl64.Translate3D(pivot[0], pivot[1], pivot[2]).Mul4(mgl64.HomogRotate3DY(-sign * g.angle(stamp)))
	}
}

// walker returns a person 1.76 m tall, facing +x, with limbs that swing.
func (o outfit) walker(g gait, level int) *model {
	n := personSides[level]
	body := newShape()
	o.torso(body, n)
	m := single("body", body, scene.TagPedestrian)
	leg, arm := newShape(), newShape()
	o.leg(leg, n)
	o.arm(arm, n)
	for _, l := range []struct {
		name  string
		shape *shape
		pivot vec
		sign  float64
	}{
		{"leg_left", leg, vec{0, 0.1, hipHeight}, 1}, {"leg_right", leg, vec{0, -0.1, hipHeight}, -1},
		{"arm_left", arm, vec{0, 0.23, shoulderHeight}, -0.8}, {"arm_right", arm, vec{0, -0.23, shoulderHeight}, 0.8},
	} {
		m.parts = append(m.parts, modelPart{name: l.name, shape: l.shape, tag: scene.TagPedestrian, joint: g.limb(l.pivot, l.sign)})
	}
	return m
}

// standing returns the same person standing still, in one part.
func (o outfit) standing(level int) *model {
	n := personSides[level]
	s := newShape()
	o.torso(s, n)
	for _, side := range []float64{-1, 1} {
		restore := s.in(level0(vec{0, side * 0.1, hipHeight}).rolled(side * 0.04))
		o.leg(s, n)
		restore()
		restore = s.in(level0(vec{0, side * 0.23, shoulderHeight}).rolled(side * 0.1).pitched(-0.15))
		o.arm(s, n)
		restore()
	}
	return single("body", s, scene.TagPedestrian)
}

func level0(p vec) frame { return level(p, 0) }

// torso builds head, hair, trunk and what is carried.
func (o outfit) torso(s *shape, n int) {
	// oval turns a ring into an ellipse: broad shoulders, flat chest.
	from := len(s.verts)
	hem := 0.84
	s.turned(o.shirt, n+2, ring{hem, 0}, ring{hem, 0.17}, ring{1.05, 0.155}, ring{1.3, 0.2}, ring{1.43, 0.19}, ring{1.49, 0.07}, ring{1.5, 0})
	if o.skirt {
		s.turned(o.trousers, n+2, ring{0.5, 0}, ring{0.5, 0.26}, ring{0.9, 0.175}, ring{0.92, 0})
	} else {
		s.turned(o.trousers, n+2, ring{0.8, 0}, ring{0.8, 0.145}, ring{0.9, 0.15})
	}
	s.squash(from, vec{0.68, 1.12, 1})
	s.turned(o.skin, n, ring{1.46, 0.055}, ring{1.56, 0.055})
	s.ball(o.skin, n, vec{0.01, 0, 1.64}, vec{0.1, 0.085, 0.125})
	o.headdress(s, n)
	if o.bag {
		s.box(pick(stream(uint64(o.shirt), "bag"), clothBlack, leather, clothRed, clothGreen), vec{-0.3, -0.15, 1.0}, vec{-0.12, 0.15, 1.42}, allSides)
	}
}

func (o outfit) headdress(s *shape, n int) {
	switch {
	case o.hat:
		defer s.in(s.frame.moved(0, 0, 1.69))()
		s.turned(o.trousers, n, ring{0, 0}, ring{0, 0.16}, ring{0.02, 0.11}, ring{0.11, 0.095}, ring{0.12, 0})
	case o.longHair:
		s.ball(o.hair, n, vec{-0.02, 0, 1.67}, vec{0.108, 0.1, 0.115})
		s.box(o.hair, vec{-0.12, -0.09, 1.42}, vec{-0.04, 0.09, 1.68}, allSides)
	default:
		s.ball(o.hair, n, vec{-0.018, 0, 1.685}, vec{0.105, 0.092, 0.095})
	}
}

// leg builds a leg hanging from the hip at the origin.
func (o outfit) leg(s *shape, n int) {
	skinned := o.trousers
	if o.skirt {
		skinned = o.skin
	}
	s.turned(skinned, n, ring{-0.86, 0.05}, ring{-0.5, 0.062}, ring{-0.44, 0.068}, ring{-0.05, 0.088})
	s.box(o.shoes, vec{-0.07, -0.045, -hipHeight}, vec{0.17, 0.045, -0.84}, allSides)
}

// arm builds an arm hanging from the shoulder at the origin, a little bent.
func (o outfit) arm(s *shape, n int) {
	elbow, hand := vec{-0.02, 0, -0.29}, vec{0.06, 0, -0.54}
	s.pole(o.shirt, n, vec{}, elbow, [2]float64{0.058, 0.045})
	s.pole(o.shirt, n, elbow, hand, [2]float64{0.045, 0.036})
	s.pole(o.skin, n, hand, hand.Add(vec{0.02, 0, -0.13}), [2]float64{0.038, 0.03})
}

// squash scales the vertices added since from along the axes of the frame that they were built
// in. The frame must be level at the origin of the model.
func (s *shape) squash(from int, k vec) {
	for i := from; i < len(s.verts); i++ {
		v := &s.verts[i]
		v.p = vec{v.p[0] * k[0], v.p[1] * k[1], v.p[2] * k[2]}
		v.n = vec{v.n[0] / k[0], v.n[1] / k[1], v.n[2] / k[2]}.Normalize()
	}
}

// ball adds an ellipsoid with n sides.
func (s *shape) ball(m material, n int, c, radii vec) {
	f := s.frame
	s.frame = worldFrame()
	from := len(s.verts)
	rings := max(2, n/2)
	profile := make([]ring, rings+1)
	for i := range profile {
		sn, co := math.Sincos(math.Pi * float64(i) / float64(rings))
		profile[i] = ring{-co, sn}
	}
	profile[0].r, profile[rings].r = 0, 0
	s.turned(m, n, profile...)
	s.squash(from, radii)
	s.frame = f
	for i := from; i < len(s.verts); i++ {
		s.verts[i].p = f.point(s.verts[i].p.Add(c))
		s.verts[i].n = f.direction(s.verts[i].n)
	}
}
