package weather

import "math"

// Reach returns up to which range a device sees in the weather that sees up to dry without it, metres. Its echoes weaken
// with a power of the range, 2 for surfaces that fill a lidar's beam and 4 for a radar's targets, and by the extinction there
// and back: one from R is as weak as the last without weather where exp(-2 extinction R) (dry / R)^power is 1.
func Reach(dry, extinction, power float64) float64 {
	// With x = 2 extinction R / power that is x e^x = most: Lambert's W, by Newton from above.
	most := 2 * extinction * dry / power
	if most == 0 {
		return dry
	}
	x := math.Log1p(most)
	for range 8 {
		e := math.Exp(x)
		x -= (x*e - most) / (e * (1 + x))
	}
	return dry * x / most
}
