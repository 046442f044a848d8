package weather

import "math"

// RadarExtinction returns what rain takes from a radar's horizontally polarized wave, per metre of power. The
// frequency is in GHz, 1 to 1000. Fog and dry snow take less than a thousandth of what light loses, and count as nothing.
func (s State) RadarExtinction(frequency float64) float64 {
	if s.Rain == 0 {
		return 0
	}
	k, alpha := SpecificAttenuation(frequency)
	return math.Ln10 / 10 * 1e-3 * k * math.Pow(s.Rain, alpha)
}

// SpecificAttenuation returns the coefficients of a horizontally polarized wave of a frequency in GHz: k Rain^alpha is
// what it loses in dB/km (Recommendation ITU-R P.838-3, tables 1 and 3).
func SpecificAttenuation(frequency float64) (k, alpha float64) {
	x := math.Log10(frequency)
	log := -0.18961*x + 0.71147
	for _, t := range [...]bump{{-5.33980, -0.10008, 1.13098}, {-0.35351, 1.26970, 0.45400}, {-0.23789, 0.86036, 0.15354}, {-0.94158, 0.64552, 0.16817}} {
		log += t.at(x)
	}
	alpha = 0.67849*x - 1.95537
	for _, t := range [...]bump{
		{-0.14318, 1.82442, -0.55187},
		{0.29591, 0.77564, 0.19822},
		{0.32177, 0.63773, 0.13164},
		{-5.37610, -0.96230, 1.47828},
		{16.1721, -3.29980, 3.43990},
	} {
		alpha += t.at(x)
	}
	return math.Pow(10, log), alpha
}

// bump is a term a exp(-((x-b)/c)²) of the recommendation's regression.
type bump struct{ a, b, c float64 }

func (t bump) at(x float64) float64 {
	u := (x - t.b) / t.c
	return t.a * math.Exp(-u*u)
}
