package lidar

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/sensors"
)

// IntensityScale says what a point's intensity is: surface, carla or svl.
type IntensityScale string

const (
	// noIntensity leaves it 0.
	noIntensity IntensityScale = ""
	// surface is by reflectance, angle and range, 0 to 255.
	surface IntensityScale = "surface"
	// carla is the transmission of the air, exp(-attenuation range), 0 to 1.
	carla IntensityScale = "carla"
	// svl is the surface's metallic factor or the mean of its base colour, 0 to 1.
	svl IntensityScale = "svl"
	// rangeCorrected is the apparent reflectance of what radiometry detects, 0 to 255.
	rangeCorrected IntensityScale = "range_corrected"
)

// scaleCodes are the scales' numbers in shaders/lidar_scan.comp.
var scaleCodes = map[IntensityScale]int{noIntensity: 0, surface: 1, carla: 2, svl: 3, rangeCorrected: 0}

// receiver is what becomes of the light that comes back. The zero value gives every
// return exactly, without an intensity.
type receiver struct {
	scale       IntensityScale
	attenuation float64 // per metre
	noise       float64 // standard deviation of the range, metres
	// unfired is the share of rays that are never fired. Of the returns whose transmission is
	// at most limit, a share is lost. It grows from none at the limit to lostAtZero where no
	// light is left.
	unfired, limit, lostAtZero float64
	// seed replaces the sensor's where it isn't 0.
	seed uint64
	// radiometry decides what is seen, nil for all.
	radiometry *radiometry
}

// receiver returns the receiver that the options describe. Those of CARLA's drop-off hold for
// other lidars than its own, the uniform one, only if they are given, and the air is clear with radiometry unless
// its attenuation is given.
func (o *Intensities) receiver(uniform bool, given *sensors.Settings, light *radiometry) receiver {
	if light != nil {
		uniform = false
		if !given.IsSet("atmosphere_attenuation_rate") {
			air := clearAir
			o.Attenuation = &air
		}
	}
	dropoff := func(name string, value float64) float64 {
		if !uniform && !given.IsSet(name) {
			return 0
		}
		return value
	}
	return receiver{
		scale:       o.Intensity,
		attenuation: *o.Attenuation,
		noise:       o.NoiseStddev,
		unfired:     dropoff("dropoff_general_rate", *o.DropoffGeneralRate),
		limit:       *o.DropoffIntensityLimit,
		lostAtZero:  dropoff("dropoff_zero_intensity", *o.DropoffZeroIntensity),
		seed:        o.NoiseSeed,
		radiometry:  light,
	}
}

// settingsBytes is the size of the uniform block Settings of lidar_scan.comp, echoesBytes that of
// lidar_echoes.comp: settings, radiometry, beam and weather.
const (
	settingsBytes   = 64
	radiometryBytes = 48
	beamBytes       = 32
	echoesBytes     = settingsBytes + radiometryBytes + beamBytes + mistBytes
)

// keptShare returns the slope and the base of the share of returns that are kept at some
// transmission. It also returns up to which transmission that rule holds. CARLA's formula; at a
// limit of 0 there is nothing to divide by, and no light to lose.
func (r *receiver) keptShare() (slope, base, limit float64) {
	if r.lostAtZero == 0 {
		return 0, 1, -1
	}
	if r.limit > 0 {
		slope = r.lostAtZero / r.limit
	}
	return slope, 1 - r.lostAtZero, r.limit
}

// random tells whether anything depends on chance.
func (r *receiver) random() bool {
	return r.radiometry != nil || r.noise > 0 || r.unfired > 0 || r.lostAtZero > 0
}

// beam is that of the receiver, nil for rays without width.
func (r *receiver) beam() *beam {
	if r.radiometry == nil {
		return nil
	}
	return r.radiometry.beam
}

// put writes the words of the uniform block that say how light is received. The attenuation is that of all air.
func (r *receiver) put(dst []byte, seed uint64, attenuation float64) {
	if r.seed != 0 {
		seed = r.seed
	}
	words := [12]uint32{uint32(seed), uint32(seed >> 32)}
	slope, base, limit := r.keptShare()
	for i, v := range [...]float64{attenuation, r.noise, r.unfired, limit, slope, base} {
		words[4+i] = math.Float32bits(float32(v))
	}
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], w)
	}
}
