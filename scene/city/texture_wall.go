package city

func paintBrick(c *canvas) {
	const courses, across = 26, 8
	c.fill(wholePicture, grey(0.86))
	for row := range courses {
		y0, y1 := row*pictureSize/courses, (row+1)*pictureSize/courses
		for col := range across {
			w := pictureSize / across
			x := col*w + row%2*w/2
			tone := 0.74 + 0.22*(c.rng.Float32()-0.5)
			warm := 0.06 * (c.rng.Float32() - 0.5)
			color := rgb{tone + warm, tone, tone - warm}
			c.each(pixels{x + 2, y0 + 2, x + w, y1}, func(_, y int, t *rgb) {
				k := 1 + 0.14*(c.rng.Float32()-0.5)
				if y == y1-1 {
					k *= 0.8
				}
				*t = color.times(k)
			})
		}
	}
	c.weather(0.08)
}

func paintPlaster(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.88 + 0.09*(c.noise.octaves(x, y, 7, 2)-0.5) + 0.04*(c.rng.Float32()-0.5)
		*t = grey(v)
	})
	c.streaks(26, 0.035)
}

// streaks draws rain marks: narrow columns a little darker, fading downwards.
func (c *canvas) streaks(n int, depth float32) {
	for range n {
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		length, width := 60+c.rng.IntN(200), 1+c.rng.IntN(5)
		for i := range length {
			fade := depth * float32(length-i) / float32(length)
			for k := range width {
				t := c.at(x+k, y+i)
				*t = t.times(1 - fade)
			}
		}
	}
}

func paintAshlar(c *canvas) {
	const high, wide = 64, 128
	for row := range pictureSize / high {
		for col := range pictureSize / wide {
			x := col*wide + row%2*wide/2
			tone := 0.82 + 0.08*(c.rng.Float32()-0.5)
			c.slab(pixels{x, row * high, x + wide, (row + 1) * high}, rgb{tone, tone, tone * 0.98}, 2)
		}
	}
	c.weather(0.09)
	c.streaks(20, 0.05)
}

func paintConcrete(c *canvas) {
	const high, wide = 256, 256
	for row := range pictureSize / high {
		for col := range pictureSize / wide {
			p := pixels{col * wide, row * high, (col + 1) * wide, (row + 1) * high}
			c.slab(p, grey(0.84+0.05*(c.rng.Float32()-0.5)), 2)
			for _, at := range [4][2]int{{40, 40}, {216, 40}, {40, 216}, {216, 216}} {
				c.fill(pixels{p.x0 + at[0], p.y0 + at[1], p.x0 + at[0] + 4, p.y0 + at[1] + 4}, grey(0.6))
			}
		}
	}
	c.weather(0.08)
	c.streaks(40, 0.05)
}

func paintRoofTiles(c *canvas) {
	const rows, cols = 16, 16
	h, w := pictureSize/rows, pictureSize/cols
	for row := range rows {
		for col := range cols {
			x, y := col*w+row%2*w/2, row*h
			tone := 0.76 + 0.16*(c.rng.Float32()-0.5)
			c.each(pixels{x, y, x + w, y + h}, func(px, py int, t *rgb) {
				k := 0.8 + 0.25*float32(py-y)/float32(h) // the lower edge lies on top
				if py-y < 4 {
					k *= 0.7
				}
				if px-x < 2 {
					k *= 0.75
				}
				*t = grey(tone * k * (1 + 0.06*(c.rng.Float32()-0.5)))
			})
		}
	}
	c.weather(0.1)
}
