package city

import "math"

// The pictures are painted in tones near white where a material's base colour
// is to tint them.

func paintAsphalt(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.46 + 0.08*(c.noise.octaves(x, y, 7, 4)-0.5) + 0.05*(c.noise.at(x, y, 2)-0.5)
		v += 0.16 * (c.rng.Float32() - 0.5)
		if c.rng.Float32() < 0.02 { // pale stones
			v += 0.16
		}
		*t = rgb{v, v, v * 1.01}
	})
	for range 5 {
		c.crack(c.rng.IntN(pictureSize), c.rng.IntN(pictureSize))
	}
}

// crack draws a dark wandering line from (x, y).
func (c *canvas) crack(x0, y0 int) {
	x, y := float64(x0), float64(y0)
	a := between(c.rng, 0, 2*math.Pi)
	for range 40 + c.rng.IntN(120) {
		a += between(c.rng, -0.5, 0.5)
		s, co := math.Sincos(a)
		x, y = x+co, y+s
		t := c.at(int(math.Floor(x)), int(math.Floor(y)))
		*t = t.times(0.72)
	}
}

func paintPaving(c *canvas) {
	const slab = 64
	for row := range pictureSize / slab {
		for col := range pictureSize / slab {
			x := col*slab + row%2*slab/2
			tone := 0.78 + 0.1*(c.rng.Float32()-0.5)
			c.slab(pixels{x, row * slab, x + slab, (row + 1) * slab}, grey(tone), 2)
		}
	}
	c.weather(0.10)
}

// slab paints one stone with its joint, lit from above.
func (c *canvas) slab(p pixels, color rgb, joint int) {
	c.each(p, func(x, y int, t *rgb) {
		dx, dy := min(x-p.x0, p.x1-1-x), min(y-p.y0, p.y1-1-y)
		k := 1 + 0.08*(c.rng.Float32()-0.5)
		switch {
		case dx < joint || dy < joint:
			k *= 0.72
		case y-p.y0 == joint:
			k *= 1.08
		case p.y1-1-y == joint || x-p.x0 == joint:
			k *= 0.93
		}
		*t = color.times(k)
	})
}

// weather darkens and lightens the picture in clouds by up to depth.
func (c *canvas) weather(depth float32) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		*t = t.times(1 + 2*depth*(c.noise.octaves(x, y, 7, 3)-0.5))
	})
}

func paintGravel(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.66 + 0.35*(c.noise.at(x, y, 3)-0.5) + 0.25*(c.noise.at(x, y, 2)-0.5)
		*t = grey(v + 0.12*(c.rng.Float32()-0.5))
	})
}

func paintGrass(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.62 + 0.22*(c.noise.octaves(x, y, 6, 3)-0.5)
		*t = rgb{v, v, v * 0.8}
	})
	for range 9000 { // blades
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		k := 0.75 + 0.6*c.rng.Float32()
		for i := range 5 + c.rng.IntN(5) {
			t := c.at(x+i*c.rng.IntN(2), y-i)
			*t = t.mixed(rgb{0.66 * k, 0.68 * k, 0.42 * k}, 0.5)
		}
	}
}

func paintLeaves(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		*t = grey(0.42 + 0.3*c.noise.octaves(x, y, 6, 4))
	})
	for range 5200 {
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		c.leaf(x, y, 4+c.rng.IntN(5))
	}
}

// leaf paints a small rounded leaf, paler at its upper edge.
func (c *canvas) leaf(x0, y0, r int) {
	tone := 0.55 + 0.45*c.rng.Float32()
	squash := 1 + c.rng.IntN(2)
	for y := -r; y <= r; y++ {
		for x := -r; x <= r; x++ {
			if x*x*squash+y*y*(3-squash) > r*r {
				continue
			}
			k := tone * (1 - 0.25*float32(y+r)/float32(2*r))
			*c.at(x0+x, y0+y) = rgb{k, k, k * 0.92}
		}
	}
}
