package city

import "math"

// addTrafficControl places lights or signs at the crossing of streets i and j.
func (t *town) addTrafficControl(i, j int) {
	at := vec2{t.xs[i], t.ys[j]}
	rng := stream(t.seed, "control", t.gridIndex(i, j))
	lights := t.besidePark(i, j) || chance(rng, 0.4)
	// The ego arrives at the park's corners from these sides: it has green.
	eastWest := (i+j)%2 == 0
	for arm := range 4 {
		// Traffic on an arm comes in along -d and keeps to its right.
		d, r := armAxes(arm)
		if !t.hasArm(i, j, arm) {
			continue
		}
		yaw := float64(arm) * math.Pi / 2
		place := func(out float64) vec {
			return at3(at.Add(d.Mul(out)).Add(r.Mul(furnitureLine)), kerbHeight)
		}
		if lights {
			show := showRed
			if (arm%2 == 0) == eastWest {
				show = showGreen
			}
			o := t.put(lightProp(show), place(stopLine-0.6), yaw)
			t.lights = append(t.lights, light{object: o, first: show == showGreen, offsetNs: t.signalOffset(i, j)})
			continue
		}
		sign := signProp(prioritySign)
		if (arm%2 == 0) != eastWest {
			sign = signProp(pick(rng, stopSign, yieldSign))
		}
		t.put(sign, place(stopLine), yaw)
		t.put(signProp(crossingSign), place(crosswalkNear-0.3), yaw)
	}
}

// armAxes returns the direction from a crossing along an arm, and to the left of that.
func armAxes(arm int) (along, left vec2) {
	sn, co := math.Sincos(float64(arm) * math.Pi / 2)
	return vec2{math.Round(co), math.Round(sn)}, vec2{-math.Round(sn), math.Round(co)}
}

func lightProp(show aspect) prop {
	return prop{"traffic_light", "traffic.traffic_light", int(show), 0.15, func(level int) *model { return trafficLight(show, level) }}
}

// besidePark reports the four crossings at the park's corners.
func (t *town) besidePark(i, j int) bool {
	m := t.size / 2
	return (i == m || i == m+1) && (j == m || j == m+1)
}

// hasArm reports whether a street leaves crossing (i, j) towards arm: 0 east,
// 1 north, 2 west, 3 south.
func (t *town) hasArm(i, j, arm int) bool {
	switch arm {
	case 0:
		return i < t.size
	case 1:
		return j < t.size
	case 2:
		return i > 0
	}
	return j > 0
}
