package lidar

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/optics"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/shaders"
)

// Radiometry is how light is received with intensity: range_corrected. docs/lidars.md has the formulas.
type Radiometry struct {
	R10            float64       `attribute:"r10" unit:"m" default:"100" min:"0.1" max:"2000" usual:"5 500" doc:"range at which a surface of 10 % reflectance is seen in 9 of 10 shots: a data sheet's. The signal of others follows from it by reflectance, incidence and range"`
	Wavelength     string        `attribute:"wavelength" unit:"nm" default:"905" enum:"905,1550" doc:"which reflectances of materials hold, 905 or 1550, as a number or as text: 905 also stands for 850 to 940"`
	IntensityCode  IntensityCode `attribute:"intensity_code" default:"velodyne" doc:"scale of the intensity. velodyne is 0 to 100 % of a white surface, retroreflectors 101 to 255. livox is 0 to 150, and 151 to 255. hesai is percent up to 255"`
	Detection      string        `attribute:"detection" default:"probable" enum:"probable,sharp" doc:"probable has noise, so that weak echoes are seen now and then, and false alarms. sharp has neither: what is as strong as 10 % at r10 is seen"`
	FalseAlarmRate *float64      `attribute:"false_alarm_rate" default:"0.0001" max:"0.5" usual:"0 0.01" doc:"share of shots without an echo that give a point of noise, at any range"`
	RangeNoise     *float64      `attribute:"range_noise" unit:"m" default:"0.09" max:"10" usual:"0 1" doc:"range noise k: the deviation is k / sqrt(2 SNR), and never below noise_stddev. 0.09 is LISA's"`
	OverlapStart   float64       `attribute:"overlap_start" unit:"m" max:"100" usual:"0 5" doc:"R1, up to which the receiver sees nothing of the beam"`
	OverlapEnd     float64       `attribute:"overlap_end" unit:"m" max:"100" usual:"0 5" doc:"R2, from which it sees the whole beam. Between both the signal rises linearly. Fog and drops have 2 and 6 m if it isn't set"`
	PulseWidth     float64       `attribute:"pulse_width" unit:"ns" default:"5" min:"0.1" max:"1000" usual:"1 20" doc:"duration of a pulse at half of its maximum. Its bins share the false alarms, and echoes merge that are nearer to one another than 0.85 of its half length in air (0.64 m for 5 ns), as Gaussian pulses do. 5 is assumed: sheets have none"`
	Materials      string        `attribute:"materials" path:"true" doc:"YAML file of the reflectances of semantic classes and of materials, over the defaults of docs/materials.md"`
}

// radiometryOnly are the attributes of Radiometry.
var radiometryOnly = []string{
	"r10", "wavelength", "intensity_code", "detection", "false_alarm_rate", "range_noise", "overlap_start", "overlap_end",
	"pulse_width", "materials",
}

// carlaOnly are the attributes of CARLA's receiver that mean nothing with intensity: range_corrected.
var carlaOnly = []string{"dropoff_intensity_limit", "dropoff_zero_intensity"}

// intensityCodes are the scales of Radiometry.IntensityCode in the order of their numbers in shaders/lidar_echoes.comp.
var intensityCodes = []IntensityCode{"velodyne", "livox", "hesai"}

// IntensityCode is a device's scale of the intensity.
type IntensityCode string

// Values returns all of them.
func (IntensityCode) Values() (names []string) {
	for _, c := range intensityCodes {
		names = append(names, string(c))
	}
	return names
}

const (
	// clearAir is the extinction of clear air at 905 nm, 1/m: a visibility of 20 km (Kruse).
	clearAir = 1e-4
	// nineOfTen is the standard normal quantile of 0.9.
	nineOfTen = 1.2815515655446004
	// usualAlarms is the share of false alarms that data sheets have.
	usualAlarms = 1e-4
)

// radiometry is a receiver whose threshold decides what is seen.
type radiometry struct {
	Radiometry
	surfaces *optics.Table
	maxM     float64 // of the device
	beam     *beam   // nil for a ray without width
}

// radiometry returns the options' receiver, nil for another intensity. A device that has one by itself gives what
// isn't set.
func (o *Intensities) radiometry(preset PresetName, given *sensors.Settings) (*radiometry, error) {
	o.Intensity = intensityOf(given)
	if o.Intensity != rangeCorrected {
		for _, name := range radiometryOnly {
			if given.Differs(name) {
				return nil, fmt.Errorf("%w: %s is that of intensity: range_corrected: set that, or leave %[2]s out", sensors.ErrValue, name)
			}
		}
	}
	for _, name := range refusedOf(given) {
		if given.IsSet(name) {
			return nil, fmt.Errorf("%w: %s is CARLA's, and intensity: range_corrected has a detection of its own: leave %[2]s out", sensors.ErrValue, name)
		}
	}
	if model := realOf(preset); model != nil && o.Intensity == rangeCorrected {
		model.fill(o, given)
	}
	beam, err := o.beam(given)
	if err != nil || o.Intensity != rangeCorrected {
		return nil, err
	}
	r := &radiometry{Radiometry: o.Radiometry, beam: beam}
	if r.OverlapEnd < r.OverlapStart {
		return nil, fmt.Errorf("%w: overlap_end %v is below overlap_start %v", sensors.ErrValue, r.OverlapEnd, r.OverlapStart)
	}
	r.surfaces, err = optics.Read(r.Materials)
	return r, err
}

// intensityOf is the scale of a lidar of these settings: that of a device that has a receiver, if nothing else is set.
func intensityOf(given *sensors.Settings) IntensityScale {
	if realOf(PresetName(given.Value("preset").(string))) != nil && !given.IsSet("intensity") {
		return rangeCorrected
	}
	return IntensityScale(given.Value("intensity").(string))
}

// refusedOf names the attributes that a lidar of these settings can't have: CARLA's detection where it has another.
func refusedOf(given *sensors.Settings) []string {
	if intensityOf(given) == rangeCorrected {
		return carlaOnly
	}
	return nil
}

// threshold is the signal-to-noise ratio from which an echo is told from noise: the share of false alarms of
// a shot is shared by the bins of its range.
func (r *radiometry) threshold() float64 {
	share := *r.FalseAlarmRate
	if share == 0 {
		share = usualAlarms
	}
	return math.Sqrt2 * math.Erfinv(1-2*share/max(r.maxM/(metresPerNs*r.PulseWidth), 1))
}

// levels are the signal-to-noise ratios of the threshold and of 10 % at R10, and the strength of the latter.
func (r *radiometry) levels() (threshold, atR10, weakest float64) {
	threshold = r.threshold()
	atR10 = threshold + nineOfTen
	if r.Detection == "sharp" {
		threshold = atR10
	}
	return threshold, atR10, 0.1 * math.Exp(-2*clearAir*r.R10) / (r.R10 * r.R10)
}

// put writes the words of the uniform block behind the light's. first is the texel of the classes.
func (r *radiometry) put(dst []byte, first uint32, noise float64) {
	threshold, atR10, weakest := r.levels()
	alarms := *r.FalseAlarmRate
	if r.Detection == "sharp" {
		alarms = -1
	}
	slope := 1e9
	if r.OverlapEnd > r.OverlapStart {
		slope = 1 / (r.OverlapEnd - r.OverlapStart)
	}
	reals := [...]float64{
		atR10 / weakest, r.OverlapStart, slope, threshold,
		*r.RangeNoise * *r.RangeNoise / 2, noise * noise, alarms, clearAir,
	}
	for i, v := range reals {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
	}
	words := [...]uint32{first, 0, 0, uint32(slices.Index(intensityCodes, r.IntensityCode))}
	if len(r.surfaces.Materials) > 0 {
		words[1] = 1
	}
	if r.Wavelength != "905" {
		words[2] = 1
	}
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*(len(reals)+i):], w)
	}
}

// texels is how many rows of the table say what surfaces return. The places of the weather follow them.
func (r *radiometry) texels(s *scene.Scene) int {
	if len(r.surfaces.Materials) == 0 {
		return shaders.Classes
	}
	return shaders.Classes + len(s.Materials)
}

// list writes those rows.
func (r *radiometry) list(dst []byte, s *scene.Scene) {
	put := func(row int, values ...float64) {
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[16*row+4*i:], math.Float32bits(float32(v)))
		}
	}
	for class := range shaders.Classes {
		of := r.surfaces.Classes[scene.Tag(class)]
		beads := gain(of.Beads, 0)
		first := 0.0
		if own := r.surfaces.Given[scene.Tag(class)]; r.reflectance(&own) >= 0 {
			first = 1
		}
		put(class, r.reflectance(&of), max(gain(of.Retro, 0), beads), beads, first)
	}
	if len(r.surfaces.Materials) == 0 {
		return
	}
	for i := range s.Materials {
		of := r.surfaces.Materials[s.Materials[i].Name]
		put(shaders.Classes+i, r.reflectance(&of), gain(of.Retro, -1))
	}
}

// warnOfAbsent says which materials of the user's file the scene doesn't have.
func (r *radiometry) warnOfAbsent(log *slog.Logger, s *scene.Scene) {
	known := map[string]bool{}
	for i := range s.Materials {
		known[s.Materials[i].Name] = true
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(r.surfaces.Materials)) {
		if !known[name] {
			log.Warn("the scene has no material of that name: what the file says of it changes nothing",
				"file", r.Materials, "material", name, "hint", fault.Hint(name, names))
		}
	}
}

// reflectance is that at the laser's wavelength, below 0 for an unknown one.
func (r *radiometry) reflectance(of *optics.Surface) float64 {
	at := of.Reflectance905
	if r.Wavelength != "905" {
		at = of.Reflectance1550
	}
	if at == nil {
		return -1
	}
	return *at
}

// gain is what a retroreflector returns, over a white Lambertian surface that faces the sensor: pi R_A.
func gain(ra *float64, unknown float64) float64 {
	if ra == nil {
		return unknown
	}
	return math.Pi * *ra
}

// realSuffix ends the names of presets whose receivers are those of the devices.
const realSuffix = "_real"

// realDevice is what a device's data sheet says of its receiver and its beam.
type realDevice struct {
	r10, rangeNoise float64
	code            IntensityCode
	source          string // of r10
	beam            sheetBeam
}

// sheetBeam is what a sheet says of a beam: full angles in mrad, and a merge distance in metres, 0 for that of the
// pulse. Each has its source. No sheet has the pulse's width: 5 ns is assumed.
type sheetBeam struct {
	horizontal, vertical float64
	definition, source   string
	merge                float64
	mergeSource          string
}

// The beams of the makers. 0.13 and 0.18 degrees are 2.27 and 3.1 mrad.
var (
	vls128Beam = sheetBeam{3, 1.5, "manual", "VLS-128 manual, table F-1", 1, "VLS-128 manual"}
	vlpBeam    = sheetBeam{3, 1.5, "manual", "AWSIM's lidar library, from manuals", 1, "assumed: VLS-128 manual"}
	os1Beam    = sheetBeam{2.27, 2.27, "fwhm", "data sheet of the OS1, first generation", 0, "assumed: the pulse's"}
	hesaiBeam  = sheetBeam{2.27, 2.27, "manual", "assumed, as in AWSIM's lidar library", 0, "assumed: the pulse's"}
)

// realDevices are those of the firing tables. Ranges at 10 % are the makers' where a source is named. Others
// are assumed: the longest range of the table, taken as one at 80 %, over the square root of 8. The
// overlap of transmitter and receiver isn't published: it is assumed to be whole. The range noise is
// LISA's 0.09 m (assumed), and Ouster's fits its sheet: 1.5 cm at a ratio of 250, 3 cm at 100, 10 cm at 12.
var realDevices = map[string]realDevice{
	"VelodyneVLP16":            {35, 0.09, "velodyne", "assumed", vlpBeam},
	"VelodyneVLP32C":           {71, 0.09, "velodyne", "assumed", vlpBeam},
	"VelodyneVLS128":           {106, 0.09, "velodyne", "assumed", vls128Beam},
	"HesaiPandarQT":            {20, 0.09, "hesai", "assumed: the table's range", hesaiBeam},
	"HesaiPandar40P":           {71, 0.09, "hesai", "assumed", hesaiBeam},
	"OusterOS1_64":             {40, 0.42, "velodyne", "data sheet of the OS1, first generation, in 100 klx", os1Beam},
	"HesaiAT128E2X":            {200, 0.09, "hesai", "assumed: the table's range", hesaiBeam},
	"HesaiPandarXT32":          {80, 0.09, "hesai", "assumed", hesaiBeam},
	"HesaiQT128C2X":            {20, 0.09, "hesai", "assumed: the table's range", hesaiBeam},
	"HesaiPandar128E4X":        {200, 0.09, "hesai", "assumed: the table's range", hesaiBeam},
	"HesaiPandar128E4XHighRes": {200, 0.09, "hesai", "assumed: the table's range", hesaiBeam},
}

// realOf returns the device whose receiver a preset has, nil for presets that have none.
func realOf(preset PresetName) *realDevice {
	model, real := strings.CutSuffix(string(preset), realSuffix)
	if d, known := realDevices[model]; real && known {
		return &d
	}
	return nil
}

// realPresets are the receivers and beams of presets that have a device's, with their sources.
func realPresets() sensors.Table {
	t := sensors.Table{Head: []string{
		"preset", "R10", "source", "range noise k", "code", "beam H x V", "definition", "source", "echoes merge up to", "source", "pulse", "overlap R1 to R2",
	}}
	o := sensors.DefaultsOf[Intensities]().Radiometry
	for _, name := range slices.Sorted(maps.Keys(realDevices)) {
		d := realDevices[name]
		b := &beam{Beam: Beam{MergeDistance: d.beam.merge}, pulseWidth: o.PulseWidth}
		t.Rows = append(t.Rows, []string{
			name + realSuffix, fmt.Sprintf("%g m", d.r10), d.source, fmt.Sprintf("%g m", d.rangeNoise), string(d.code),
			fmt.Sprintf("%g x %g mrad", d.beam.horizontal, d.beam.vertical), d.beam.definition, d.beam.source,
			fmt.Sprintf("%.2g m", b.merges()), d.beam.mergeSource, fmt.Sprintf("%g ns, assumed", o.PulseWidth), fmt.Sprintf("%g to %g m, assumed", o.OverlapStart, o.OverlapEnd),
		})
	}
	return t
}

// derived adds the values in force of the attributes that a preset, or the receiver itself, decides if they aren't set.
func (r *radiometry) derived(values map[string]any) {
	values["intensity"], values["intensity_code"] = string(rangeCorrected), string(r.IntensityCode)
	values["r10"], values["range_noise"] = r.R10, *r.RangeNoise
	if b := r.beam; b != nil {
		values["beam_divergence"], values["beam_divergence_vertical"] = b.Divergence, b.DivergenceVertical
		values["beam_definition"], values["merge_distance"] = b.Definition, b.merges()
	}
}

// fill gives what isn't set.
func (d *realDevice) fill(o *Intensities, given *sensors.Settings) {
	r, b := &o.Radiometry, &o.Beam
	if !given.IsSet("r10") {
		r.R10 = d.r10
	}
	if !given.IsSet("range_noise") {
		r.RangeNoise = &d.rangeNoise
	}
	if !given.IsSet("intensity_code") {
		r.IntensityCode = d.code
	}
	if !given.IsSet("beam_divergence") {
		b.Divergence = d.beam.horizontal
	}
	if b.Divergence == 0 { // rays without width
		return
	}
	if !given.IsSet("beam_divergence_vertical") {
		b.DivergenceVertical = d.beam.vertical
	}
	if !given.IsSet("beam_definition") {
		b.Definition = d.beam.definition
	}
	if !given.IsSet("merge_distance") {
		b.MergeDistance = d.beam.merge
	}
}
