package city

import (
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// reserve lists the actors held in reserve: n of each kind of vehicle, and n walkers.
// It comes after spend, for they look like somebody who is there: so they share
// their meshes, and cost nothing until they are spawned.
func (t *town) reserve(n int) {
	for m := range vehicles {
		look := t.moverLike(vehicles[m].typeID)
		if look == nil {
			look = t.vehicleDetails(vehicleModel(m), firstPaint, [3]float64{})[0].make()
		}
		for range n {
			t.hold(vehicles[m].typeID, look)
		}
	}
	walkers := t.walkersLike(n)
	for i := range n {
		if len(walkers) == 0 {
			g := gait{strideHz: 1, swing: 0.42}
			t.hold(pedestrianID(i%peopleVariants), drawOutfit(stream(t.seed, "outfit", i%peopleVariants)).walker(g, 0))
			continue
		}
		like := walkers[i%len(walkers)]
		t.hold(like.typeID, like.model)
	}
}

// hold adds one actor to the reserve.
func (t *town) hold(typeID string, look *model) {
	t.reserved = append(t.reserved, &object{
		typeID: typeID, size: 1, model: look,
		pose: spatial.Pose{Orientation: mgl64.QuatIdent()},
	})
}

// moverLike returns the model of somebody of a type that moves, or else stands.
func (t *town) moverLike(typeID string) *model {
	var standing *model
	for _, o := range t.objects {
		if o.typeID != typeID || o.model == nil {
			continue
		}
		if o.motion != nil {
			return o.model
		}
		if standing == nil {
			standing = o.model
		}
	}
	return standing
}

// walkersLike returns up to n walkers of different types.
func (t *town) walkersLike(n int) (out []*object) {
	var types []string
	for _, o := range t.objects {
		if len(out) == n {
			break
		}
		walks := o.motion != nil && o.model != nil && o.model.parts[0].tag == scene.TagPedestrian
		if walks && !slices.Contains(types, o.typeID) {
			types, out = append(types, o.typeID), append(out, o)
		}
	}
	return out
}
