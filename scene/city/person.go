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
	skin, hair, shirt, trousers, shoes      material
	longHair, skirt, bag, hat, shortSleeves bool
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
	o.shortSleeves = chance(rng, 0.35)
	return o
}

// personSides is how many sides limbs and heads have.
var personSides = [3]int{4, 6, 9}

// Joints of somebody 1.77 m tall, metres: heights, and distances from the middle.
const (
	hipHeight      = 0.92
	thighLength    = 0.45
	shoulderHeight = 1.41
	hipOut         = 0.095
	shoulderOut    = 0.205
)

// A body's parts from the lowest slice up; limbs hang from their joint at the origin.
var (
	trunk    = []slice{{0.86, 0, 0.118, 0.168}, {1.05, 0.005, 0.108, 0.152}, {1.28, 0.012, 0.13, 0.19}, {1.425, -0.004, 0.092, 0.205}, {1.49, -0.008, 0.052, 0.065}}
	pelvis   = []slice{{0.8, 0, 0.1, 0.155}, {0.94, 0, 0.116, 0.166}}
	skirt    = []slice{{0.5, 0, 0.19, 0.235}, {0.94, 0, 0.118, 0.17}}
	neck     = []slice{{1.46, -0.005, 0.052, 0.052}, {1.57, 0.005, 0.05, 0.05}}
	head     = []slice{{1.54, 0.035, 0.035, 0.032}, {1.57, 0.025, 0.075, 0.056}, {1.66, 0.01, 0.097, 0.076}, {1.75, 0.002, 0.08, 0.064}}
	shorn    = []slice{{1.62, -0.05, 0.05, 0.076}, {1.69, -0.016, 0.092, 0.086}, {1.75, -0.008, 0.09, 0.074}, {1.79, -0.008, 0, 0}}
	locks    = []slice{{1.4, -0.075, 0.03, 0.08}, {1.62, -0.05, 0.062, 0.09}}
	brim     = []slice{{1.7, 0.02, 0, 0}, {1.7, 0.02, 0.16, 0.13}, {1.715, 0, 0.112, 0.096}, {1.79, -0.005, 0.09, 0.078}, {1.81, -0.005, 0, 0}}
	thigh    = []slice{{-thighLength - 0.02, 0.005, 0.06, 0.056}, {-0.22, 0, 0.08, 0.074}, {0.03, 0, 0.096, 0.085}}
	shin     = []slice{{-0.41, -0.01, 0.046, 0.042}, {-0.15, -0.013, 0.068, 0.06}, {0.03, 0.006, 0.06, 0.056}}
	shoe     = []slice{{-0.47, 0.055, 0.135, 0.046}, {-0.435, 0.05, 0.128, 0.046}, {-0.385, -0.005, 0.055, 0.042}}
	upperArm = []slice{{-0.27, -0.022, 0.044, 0.04}, {-0.02, -0.002, 0.057, 0.052}, {0.02, 0, 0, 0}}
	forearm  = []slice{{-0.5, 0.065, 0.032, 0.03}, {-0.25, -0.022, 0.044, 0.04}}
	hand     = []slice{{-0.66, 0.1, 0, 0}, {-0.58, 0.088, 0.042, 0.022}, {-0.49, 0.065, 0.028, 0.026}}
)

// gait is how a walker's limbs swing.
type gait struct {
	strideHz float64 // double steps a second
	swing    float64 // radians
	phase    float64
}

// at returns what a walker does at a time.
func (g gait) at(stamp simtime.Stamp) pace {
	return pace{2*math.Pi*g.strideHz*float64(stamp)/1e9 + g.phase, g.swing}
}

// pace is where in a double step somebody is, and how far the limbs swing, both in radians. At 0 a
// leg with lead 0 is below the hip, on its way forwards; a limb's lead shifts it.
type pace struct{ turn, swing float64 }

// The joints of walkers are a pace.
var walkerJoints = []scene.Joint{
	{Name: "gait", Follow: func(before float64, m scene.Moved) float64 { return before + 2*math.Pi*m.Way/stride }},
	{Name: "swing", Follow: func(_ float64, m scene.Moved) float64 {
		return usualSwing * min(m.State.Twist.Linear.Len()/usualPace, 1)
	}},
}

// usualSwing is how far the limbs of those swing who walk at usualPace (m/s) or faster.
const usualSwing, usualPace = 0.42, 1.0

// paceOf returns the pace that joints have.
func paceOf(values scene.JointValues) (p pace) {
	p.turn, _ = values.Of(0)
	p.swing, _ = values.Of(1)
	return p
}

// limb returns the joint of a limb that hangs at pivot and swings by amount times the pace.
func limb(pivot vec, amount, lead float64) func(p pace) mgl64.Mat4 {
	return func(p pace) mgl64.Mat4 {
		angle := amount * p.swing * math.Sin(p.turn+lead)
		return mgl64.Translate3D(pivot[0], pivot[1], pivot[2]).Mul4(mgl64.HomogRotate3DY(-angle))
	}
}

// kneeBend is how far a knee bends while its leg swings forwards, and kneeRest else, radians.
const kneeBend, kneeRest = 0.95, 0.07

// shinOf returns the joint of the shin of a leg: it bends while the leg comes forwards.
func shinOf(hip func(p pace) mgl64.Mat4, lead float64) func(p pace) mgl64.Mat4 {
	return func(p pace) mgl64.Mat4 {
		forwards := max(0, math.Cos(p.turn+lead))
		bend := kneeRest + (kneeBend-kneeRest)*forwards*forwards*(p.swing/usualSwing)
		return hip(p).Mul4(mgl64.Translate3D(0, 0, -thighLength)).Mul4(mgl64.HomogRotate3DY(bend))
	}
}

// walker returns a person facing +x, with limbs that swing.
func (o outfit) walker(g gait, level int) *model {
	n := personSides[level]
	body, upper, lower, arm := newShape(), newShape(), newShape(), newShape()
	o.torso(body, n)
	o.thigh(upper, n)
	o.shin(lower, n)
	o.arm(arm, n)
	m := single("body", body, scene.TagPedestrian)
	m.joints = walkerJoints
	add := func(name string, s *shape, joint func(p pace) mgl64.Mat4) {
		m.parts = append(m.parts, modelPart{name: name, shape: s, tag: scene.TagPedestrian,
			joint: func(stamp simtime.Stamp) mgl64.Mat4 { return joint(g.at(stamp)) },
			posed: func(values scene.JointValues) mgl64.Mat4 { return joint(paceOf(values)) }})
	}
	for _, side := range []struct {
		name string
		y    float64
		lead float64
	}{{"left", 1, 0}, {"right", -1, math.Pi}} {
		hip := limb(vec{0, side.y * hipOut, hipHeight}, 1, side.lead)
		add("leg_"+side.name, upper, hip)
		add("shin_"+side.name, lower, shinOf(hip, side.lead))
		add("arm_"+side.name, arm, limb(vec{0, side.y * shoulderOut, shoulderHeight}, -0.8, side.lead))
	}
	return m
}

// standing returns the same person standing still, in one part.
func (o outfit) standing(level int) *model {
	n := personSides[level]
	s := newShape()
	o.torso(s, n)
	for _, side := range []float64{-1, 1} {
		restore := s.in(level0(vec{0, side * hipOut, hipHeight}).rolled(side * 0.04))
		o.thigh(s, n)
		s.frame = s.frame.moved(0, 0, -thighLength)
		o.shin(s, n)
		restore()
		restore = s.in(level0(vec{0, side * shoulderOut, shoulderHeight}).rolled(side * 0.1).pitched(-0.15 * (1.5 + side)))
		o.arm(s, n)
		restore()
	}
	return single("body", s, scene.TagPedestrian)
}

func level0(p vec) frame { return level(p, 0) }

// torso builds head, hair, trunk and what is carried.
func (o outfit) torso(s *shape, n int) {
	s.flesh(o.shirt, n+2, trunk)
	lower := pelvis
	if o.skirt {
		lower = skirt
	}
	s.flesh(o.trousers, n+2, lower)
	s.flesh(o.skin, n, neck)
	s.flesh(o.skin, n, head)
	s.face(o.skin, vec{0.1, -0.016, 1.615}, vec{0.128, 0, 1.62}, vec{0.1, 0, 1.672})
	s.face(o.skin, vec{0.128, 0, 1.62}, vec{0.1, 0.016, 1.615}, vec{0.1, 0, 1.672})
	if o.hat {
		s.flesh(o.trousers, n, brim)
	} else {
		s.flesh(o.hair, n, shorn)
	}
	if o.longHair {
		s.flesh(o.hair, n, locks)
	}
	if o.bag {
		m := pick(stream(uint64(o.shirt), "bag"), clothBlack, leather, clothRed, clothGreen)
		s.flesh(m, n+1, []slice{{1.0, -0.19, 0, 0}, {1.0, -0.19, 0.075, 0.13}, {1.2, -0.2, 0.1, 0.155}, {1.38, -0.185, 0.075, 0.135}, {1.43, -0.16, 0, 0}})
		for _, y := range []float64{-0.12, 0.12} { // straps
			s.face(m, vec{0.15, y - 0.02, 1.2}, vec{0.15, y + 0.02, 1.2}, vec{0.075, y + 0.02, 1.44}, vec{0.075, y - 0.02, 1.44})
		}
	}
}

func (o outfit) thigh(s *shape, n int) { s.flesh(o.legwear(), n, thigh) }

func (o outfit) shin(s *shape, n int) {
	s.flesh(o.legwear(), n, shin)
	s.flesh(o.shoes, n, shoe)
}

// legwear is what a leg shows.
func (o outfit) legwear() material {
	if o.skirt {
		return o.skin
	}
	return o.trousers
}

// arm builds an arm, a little bent.
func (o outfit) arm(s *shape, n int) {
	sleeve := o.shirt
	if o.shortSleeves {
		sleeve = o.skin
	}
	s.flesh(o.shirt, n, upperArm)
	s.flesh(sleeve, n, forearm)
	s.flesh(o.skin, n, hand)
}

// slice is one level section of a body: an ellipse at height z, its middle x forwards, deep and
// wide as its half sizes. One without a size closes the skin.
type slice struct{ z, x, deep, wide float64 }

// flesh adds a rounded skin with n sides through slices, the lowest first.
func (s *shape) flesh(m material, n int, slices []slice) {
	sections := make([][]vec, len(slices))
	for k, g := range slices {
		for i := range n {
			// Seen upwards, counter-clockwise is clockwise seen from above.
			sn, c := math.Sincos(-2 * math.Pi * (float64(i) + 0.5) / float64(n))
			sections[k] = append(sections[k], vec{g.x + g.deep*c, g.wide * sn, g.z})
		}
	}
	s.loft(m, sections, true, 70*math.Pi/180)
}
