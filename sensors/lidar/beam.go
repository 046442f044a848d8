package lidar

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

// Beam is the width of a lidar's beam, and what becomes of the echoes that come back from it. docs/lidars.md has the
// rules.
type Beam struct {
	Divergence         float64           `attribute:"beam_divergence" unit:"mrad" max:"100" usual:"0 10" doc:"full angle of the beam, horizontally; 0 means a ray without width. Needs intensity: range_corrected. Presets whose names end in _real have the device's if this isn't set; docs/lidars.md has the sources"`
	DivergenceVertical float64           `attribute:"beam_divergence_vertical" unit:"mrad" max:"100" usual:"0 10" doc:"full angle of the beam, vertically; 0 means as horizontally. Needs beam_divergence"`
	Definition         string            `attribute:"beam_definition" default:"fwhm" enum:"fwhm,1/e2,manual" doc:"where the beam's angle ends: at half of the maximum (FWHM), at 1/e2 of it, or where a manual ends it that doesn't say, which is taken as FWHM, as HELIOS++ does. Needs beam_divergence"`
	Rays               int               `attribute:"beam_rays" default:"19" min:"7" max:"37" doc:"sub-rays of a beam, of equal energy, in rings about its centre: 7, 19 or 37. Needs beam_divergence"`
	Pattern            string            `attribute:"beam_pattern" default:"adaptive" enum:"adaptive,full" doc:"which beams are traced by all their sub-rays. adaptive: those with an edge beside them. full: all, which also finds what is between two firings, such as a thin pole. Needs beam_divergence"`
	Returns            sample.ReturnMode `attribute:"returns" default:"strongest" doc:"which echoes of a firing are points. dual has the strongest and the last, or the second strongest where these are one; triple the strongest, the last and the first. All but strongest need beam_divergence"`
	MergeDistance      float64           `attribute:"merge_distance" unit:"m" max:"100" usual:"0 5" doc:"up to which distance echoes merge to one, by the device's own rule, such as 1 by the VLS-128's manual; 0 means by the pulse. Needs beam_divergence"`
}

// beamOnly are the attributes that mean nothing without a beam's width.
var beamOnly = []string{"beam_divergence_vertical", "beam_definition", "beam_rays", "beam_pattern", "returns", "merge_distance"}

const (
	// fwhm is the full width at half maximum of a Gaussian, in its deviations, and tail its full width at 1/e2.
	fwhm = 2.3548200450309493
	tail = 4
	// metresPerNs is the range that light has in a nanosecond, there and back.
	metresPerNs = 0.149896229
	// mergedShare is how much of a pulse's half length two equal Gaussian pulses may be apart and still have one peak.
	mergedShare = 0.85
)

// ring is sub-rays at a distance from the beam's centre, in its deviations.
type ring struct {
	rays   int
	radius float64
}

// beamRings are the rings of each number of sub-rays, the centre left out. All sub-rays have the same energy. The radii
// are those with the least mean square of the error of the energy on one side of an edge, over all edges.
var beamRings = map[int][]ring{
	7:  {{6, 1.3018}},
	19: {{6, 0.6876}, {12, 1.5183}},
	37: {{6, 0.4784}, {12, 0.9304}, {18, 1.6815}},
}

// rimRays is how many rays at the rim of a beam tell whether it meets an edge.
const rimRays = 4

// beam is a beam that has a width.
type beam struct {
	Beam
	sigma      [2]float64 // deviations, horizontally and vertically, radians
	pulseWidth float64    // nanoseconds
}

// beam returns the options' beam, nil for a ray without width.
func (o *Intensities) beam(given *sensors.Settings) (*beam, error) {
	b := &beam{Beam: o.Beam, pulseWidth: o.Radiometry.PulseWidth}
	if b.Divergence == 0 {
		for _, name := range beamOnly {
			if given.Differs(name) {
				return nil, fmt.Errorf("%w: %s is that of a beam with a width: set beam_divergence, or leave %[2]s out", sensors.ErrValue, name)
			}
		}
		return nil, nil
	}
	if o.Intensity != rangeCorrected {
		return nil, fmt.Errorf("%w: beam_divergence needs the energy that comes back: set intensity: range_corrected, or leave beam_divergence out",
			sensors.ErrValue)
	}
	if beamRings[b.Rays] == nil {
		return nil, fmt.Errorf("%w: beam_rays is %d: want 7, 19 or 37", sensors.ErrValue, b.Rays)
	}
	if b.DivergenceVertical == 0 {
		b.DivergenceVertical = b.Divergence
	}
	width := fwhm
	if b.Definition == "1/e2" {
		width = tail
	}
	b.sigma = [2]float64{b.Divergence / 1000 / width, b.DivergenceVertical / 1000 / width}
	return b, nil
}

// points is how many a firing has, one without a beam.
func (b *beam) points() int {
	if b == nil {
		return 1
	}
	return b.Returns.Points()
}

// fits returns an error if a scan of so many firings has too many points.
func (b *beam) fits(firings int) error {
	if n := b.points(); b != nil && firings > maxRays/n {
		return fmt.Errorf("%w: a scan of %d firings with %d points each (returns: %s) has %d points, %s, and %d at most are possible, %s",
			sensors.ErrValue, firings, n, b.Returns, firings*n, sizeOf(firings*n), maxRays, sizeOf(maxRays))
	}
	return nil
}

// merges is up to which distance two echoes are one, metres.
func (b *beam) merges() float64 {
	if b.MergeDistance > 0 {
		return b.MergeDistance
	}
	return mergedShare * metresPerNs * b.pulseWidth
}

// subRays are the angles of the beam's rays from its centre, to the left and up, in radians: the centre, the
// rings, and those at the rim: the corners of the square about the outermost ring. A straight edge that has a
// sub-ray on its far side has the corner there, too, that is nearest to its own direction.
func (b *beam) subRays() (list [][2]float64) {
	add := func(radius, angle float64) {
		sin, cos := math.Sincos(angle)
		list = append(list, [2]float64{radius * cos * b.sigma[0], radius * sin * b.sigma[1]})
	}
	add(0, 0)
	for k, r := range beamRings[b.Rays] {
		for i := range r.rays {
			add(r.radius, 0.2*float64(k+1)+2*math.Pi*float64(i)/float64(r.rays))
		}
	}
	for i := range rimRays {
		add(math.Sqrt2*b.outermost(), math.Pi/2*float64(i))
	}
	return list
}

// outermost is the radius of the outermost ring, in deviations.
func (b *beam) outermost() float64 {
	rings := beamRings[b.Rays]
	return rings[len(rings)-1].radius
}

// widest is the largest angle between two of those that give echoes, radians.
func (b *beam) widest() float64 { return 2 * b.outermost() * max(b.sigma[0], b.sigma[1]) }

// texels is how many rows the table has for a scan of n firings: their neighbours, and the sub-rays.
func (b *beam) texels(n int) int { return shaders.NeighbourTexels*n + b.Rays + rimRays }

// list writes the rows of the sub-rays.
func (b *beam) list(dst []byte) {
	for i, ray := range b.subRays() {
		for k, angle := range ray {
			binary.LittleEndian.PutUint32(dst[16*i+4*k:], math.Float32bits(float32(angle)))
		}
	}
}

// put writes the words of the uniform block behind those of the radiometry. first is the texel of the sub-rays.
func (b *beam) put(dst []byte, first int) {
	full := uint32(0)
	if b.Pattern == "full" {
		full = 1
	}
	words := [...]uint32{
		uint32(b.Rays), uint32(first), full, uint32(slices.Index(b.Returns.Values(), string(b.Returns))), math.Float32bits(float32(b.merges())),
		math.Float32bits(float32(b.widest() * b.widest())),
	}
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], w)
	}
}
