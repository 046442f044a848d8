package jpegenc

// transform replaces a block by its discrete cosine transform, but for factors that
// quantisation makes good: coefficient (i, j) is 8 leftOut(i) leftOut(j) times T.81's
// (Y. Arai, T. Agui and M. Nakajima, A Fast DCT-SQ Scheme for Images, 1988).
func transform(b *block) {
	for i := 0; i < 64; i += 8 {
		r := (*[8]float32)(b[i : i+8])
		r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7] = transform8(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
	}
	for i := range 8 {
		b[i], b[i+8], b[i+16], b[i+24], b[i+32], b[i+40], b[i+48], b[i+56] =
			transform8(b[i], b[i+8], b[i+16], b[i+24], b[i+32], b[i+40], b[i+48], b[i+56])
	}
}

// transform8 transforms eight samples.
func transform8(x0, x1, x2, x3, x4, x5, x6, x7 float32) (y0, y1, y2, y3, y4, y5, y6, y7 float32) {
	const (
		c4       = 0.70710678 // cos(4π/16)
		c6       = 0.38268343
		c2LessC6 = 0.54119610
		c2AndC6  = 1.30656296
	)
	a0, a7 := x0+x7, x0-x7
	a1, a6 := x1+x6, x1-x6
	a2, a5 := x2+x5, x2-x5
	a3, a4 := x3+x4, x3-x4

	b0, b3 := a0+a3, a0-a3
	b1, b2 := a1+a2, a1-a2
	y0, y4 = b0+b1, b0-b1
	z := (b2 + b3) * c4
	y2, y6 = b3+z, b3-z

	d0, d1, d2 := a4+a5, a5+a6, a6+a7
	e5 := (d0 - d2) * c6
	e2 := c2LessC6*d0 + e5
	e4 := c2AndC6*d2 + e5
	e3 := d1 * c4
	f0, f1 := a7+e3, a7-e3
	return y0, f0 + e4, y2, f1 - e2, y4, f1 + e2, y6, f0 - e4
}
