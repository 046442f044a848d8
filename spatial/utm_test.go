package spatial_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/spatial"
)

// Two points of Karney's test data for the transverse Mercator projection (TMcoords.dat,
// doi:10.5281/zenodo.32470), computed with 80 digits. They are latitude, longitude from the
// central meridian, easting and northing without false ones.
func TestUTMAgainstKarney(t *testing.T) {
	for _, c := range [][4]float64{
		{41.883357469578, 0.582386968573, 48319.9780433339987, 4636989.6238090794305},
		{29.524235381756, 2.523399708599, 244569.524213355782, 3268723.7586167129286},
	} {
		for _, east := range []float64{1, -1} {
			for _, north := range []float64{1, -1} {
				p := spatial.Geodetic{Latitude: north * c[0], Longitude: 9 + east*c[1]}
				zone := spatial.UTMZoneOf(p)
				assert.Equal(t, spatial.UTMZone{Number: 32, South: north < 0}, zone)
				easting, northing := zone.Project(p)
				if zone.South {
					northing -= 10_000_000
				}
				assert.InDelta(t, 500_000+east*c[2], easting, 1e-6)
				assert.InDelta(t, north*c[3], northing, 1e-6)
			}
		}
	}
}

// Cities as the Python package utm lists them in its tests, to the metre.
func TestUTMOfCities(t *testing.T) {
	for name, c := range map[string]struct {
		latitude, longitude, easting, northing float64
		zone                                   int
	}{
		"Aachen":     {50.77535, 6.08389, 294409, 5628898, 32},
		"New York":   {40.71435, -74.00597, 583960, 4507523, 18},
		"Wellington": {-41.28646, 174.77624, 313784, 5427057, 60},
		"Cape Town":  {-33.92487, 18.42406, 261878, 6243186, 34},
		"Mendoza":    {-32.89018, -68.84405, 514586, 6360877, 19},
		"Fairbanks":  {64.83778, -147.71639, 466013, 7190568, 6},
		"Ben Nevis":  {56.79680, -5.00601, 377486, 6296562, 30},
	} {
		p := spatial.Geodetic{Latitude: c.latitude, Longitude: c.longitude}
		zone := spatial.UTMZoneOf(p)
		assert.Equal(t, c.zone, zone.Number, name)
		easting, northing := zone.Project(p)
		assert.InDelta(t, c.easting, easting, 1, name)
		assert.InDelta(t, c.northing, northing, 1, name)
	}
}

func TestUTMZones(t *testing.T) {
	for longitude, zone := range map[float64]int{-180: 1, -174.001: 1, -174: 2, 0: 31, 5.999: 31, 6: 32, 179.999: 60, 180: 1, 186: 2, -190: 59} {
		assert.Equal(t, zone, spatial.UTMZoneOf(spatial.Geodetic{Longitude: longitude}).Number, "%v", longitude)
	}
	// The exceptions, with both sides of each edge (DMA TM 8358.2, figure 2-1).
	for place, zone := range map[[2]float64]int{
		{55.999, 3}: 31, {56, 3}: 32, {56, 2.999}: 31, {60.3913, 5.3221}: 32, {63.999, 3}: 32, {64, 3}: 31, {60, 11.999}: 32, {60, 12}: 33,
		{71.999, 6}: 32, {72, 0}: 31, {72, -0.001}: 30, {72, 8.999}: 31, {72, 9}: 33, {78.2232, 15.6267}: 33, {72, 20.999}: 33, {72, 21}: 35,
		{80, 32.999}: 35, {80, 33}: 37, {84, 41.999}: 37, {80, 42}: 38, {-60, 5}: 31, {-75, 7}: 32,
	} {
		assert.Equal(t, zone, spatial.UTMZoneOf(spatial.Geodetic{Latitude: place[0], Longitude: place[1]}).Number, "%v", place)
	}
	assert.False(t, spatial.UTMZoneOf(spatial.Geodetic{}).South, "the equator counts as north")
}

// snyder is the projection by the truncated series of Snyder (Map Projections: A Working
// Manual, USGS 1395, equations 8-9 to 8-15 and 3-21). It has the constants that SVL Simulator
// has: a = 6378137, e² = 0.00669438.
func snyder(p spatial.Geodetic, zone int) (easting, northing float64) {
	const a, e2, k0 = 6378137, 0.00669438, 0.9996
	phi, lambda := mgl64.DegToRad(p.Latitude), mgl64.DegToRad(p.Longitude-float64(6*zone-183))
	sin, cos := math.Sincos(phi)
	second := e2 / (1 - e2)
	n, t, c, A := a/math.Sqrt(1-e2*sin*sin), math.Pow(sin/cos, 2), second*cos*cos, lambda*cos
	m := a * ((1-e2/4-3*e2*e2/64-5*e2*e2*e2/256)*phi -
		(3*e2/8+3*e2*e2/32+45*e2*e2*e2/1024)*math.Sin(2*phi) +
		(15*e2*e2/256+45*e2*e2*e2/1024)*math.Sin(4*phi) - 35*e2*e2*e2/3072*math.Sin(6*phi))
	easting = 500_000 + k0*n*(A+(1-t+c)*math.Pow(A, 3)/6+(5-18*t+t*t+72*c-58*second)*math.Pow(A, 5)/120)
	northing = k0 * (m + n*sin/cos*(A*A/2+(5-t+9*c+4*c*c)*math.Pow(A, 4)/24+(61-58*t+t*t+600*c-330*second)*math.Pow(A, 6)/720))
	return easting, northing
}

func TestUTMAgainstSnyder(t *testing.T) {
	for latitude := 0.0; latitude <= 80; latitude += 7.3 {
		for longitude := 6.0; longitude < 12; longitude += 0.7 {
			p := spatial.Geodetic{Latitude: latitude, Longitude: longitude}
			wantE, wantN := snyder(p, 32)
			easting, northing := spatial.UTMZone{Number: 32}.Project(p)
			assert.InDelta(t, wantE, easting, 0.005)
			assert.InDelta(t, wantN, northing, 0.005)
		}
	}
}

// grids are places with what PROJ 9.1.1 makes of them, by +proj=utm +ellps=WGS84. That is easting,
// northing, and the meridian's convergence in degrees, clockwise to the grid's north. The last two
// rows are GeographicLib's, of GeoConvert -u -c.
var grids = []struct {
	name                string
	latitude, longitude float64
	zone                spatial.UTMZone
	easting, northing   float64
	convergence         float64
}{
	{"Gaggenau", 48.7522, 8.3198, spatial.UTMZone{Number: 32}, 450002.2658608, 5400132.7693613, -0.511429193551},
	{"a zone's edge", 48, 12, spatial.UTMZone{Number: 32}, 723775.9153968, 5320655.7891916, 2.230355125152},
	{"Bergen", 60.3913, 5.3221, spatial.UTMZone{Number: 32}, 297353.9327292, 6700648.3452317, -3.198716691879},
	{"Longyearbyen", 78.2232, 15.6267, spatial.UTMZone{Number: 33}, 514278.7151133, 8683355.4694705, 0.613509055418},
	{"Sydney", -33.8568, 151.2153, spatial.UTMZone{Number: 56, South: true}, 334900.5696523, 6252288.7528883, 0.994515432286},
	{"south of the equator", -0.5, -78.6, spatial.UTMZone{Number: 17, South: true}, 767128.4537932, 9944686.1185225, -0.020956191297},
	{"Ushuaia", -54.8019, -68.3030, spatial.UTMZone{Number: 19, South: true}, 544805.0974509, 3927029.8846990, -0.569572714583},
	{"on the equator", 0, 6, spatial.UTMZone{Number: 31}, 833978.5569195, 0, 0},
	{"before the date line", -79.9, 179.9, spatial.UTMZone{Number: 60, South: true}, 556752.1281925, 1128161.3728648, -2.855134212419},
	{"GeoConvert", 33.30000003988349, 44.39999994689769, spatial.UTMZone{Number: 38}, 444140.54, 3684706.36, -0.3294222515151},
	{"Mongolia", 47.6514, 106.8216, spatial.UTMZone{Number: 48}, 636793.955125689, 5279163.338930206, 1.3464793685012},
}

func TestUTMAgainstPROJAndGeographicLib(t *testing.T) {
	for _, g := range grids {
		t.Run(g.name, func(t *testing.T) {
			place := spatial.Geodetic{Latitude: g.latitude, Longitude: g.longitude}
			easting, northing := g.zone.Project(place)
			assert.InDelta(t, g.easting, easting, 1e-6)
			assert.InDelta(t, g.northing, northing, 1e-6)
			back := g.zone.Unproject(g.easting, g.northing)
			assert.InDelta(t, g.latitude, back.Latitude, 1e-11)
			assert.InDelta(t, g.longitude, back.Longitude, 1e-11)
			assert.InDelta(t, g.convergence, mgl64.RadToDeg(g.zone.Convergence(place)), 1e-9)
		})
	}
}

// There and back is under a micrometre over the whole zone, and beyond it as far as its
// neighbours' middles.
func TestUTMThereAndBack(t *testing.T) {
	for latitude := -80.0; latitude <= 84; latitude += 8.2 {
		for longitude := 3.0; longitude <= 15; longitude += 1.5 {
			zone := spatial.UTMZone{Number: 32, South: latitude < 0}
			easting, northing := zone.Project(spatial.Geodetic{Latitude: latitude, Longitude: longitude})
			back := zone.Unproject(easting, northing)
			assert.InDelta(t, latitude, back.Latitude, 1e-11, "%v %v", latitude, longitude)
			assert.InDelta(t, longitude, back.Longitude, 1e-11/math.Cos(mgl64.DegToRad(latitude)), "%v %v", latitude, longitude)
		}
	}
}

// The convergence is the direction in which the projection itself takes a step north.
func TestConvergenceIsTheProjectionsOwn(t *testing.T) {
	const step = 1e-5 // degrees
	for _, g := range grids {
		e0, n0 := g.zone.Project(spatial.Geodetic{Latitude: g.latitude - step, Longitude: g.longitude})
		e1, n1 := g.zone.Project(spatial.Geodetic{Latitude: g.latitude + step, Longitude: g.longitude})
		assert.InDelta(t, g.convergence, -mgl64.RadToDeg(math.Atan2(e1-e0, n1-n0)), 1e-6, g.name)
	}
}

func TestParseUTMZone(t *testing.T) {
	for text, want := range map[string]spatial.UTMZone{
		"utm32n": {Number: 32}, "UTM56S": {Number: 56, South: true}, " utm7n ": {Number: 7}, "utm60s": {Number: 60, South: true},
		"EPSG:32632": {Number: 32}, "epsg:32756": {Number: 56, South: true}, "32601": {Number: 1}, "32760": {Number: 60, South: true},
		"25832": {Number: 32}, "EPSG:25828": {Number: 28}, "EPSG:25838": {Number: 38},
		"+proj=utm +zone=32 +ellps=WGS84 +datum=WGS84 +units=m +no_defs": {Number: 32},
		"+proj=utm +zone=56 +south +datum=WGS84 +type=crs":               {Number: 56, South: true},
		"+proj=utm +zone=32 +ellps=GRS80 +towgs84=0,0,0,0,0,0,0":         {Number: 32},
		"+proj=utm +lat_0=49 +lon_0=8 +zone=32 +geoidgrids=egm96_15.gtx": {Number: 32},
	} {
		zone, err := spatial.ParseUTMZone(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, zone, text)
		again, err := spatial.ParseUTMZone(zone.String())
		require.NoError(t, err)
		assert.Equal(t, zone, again)
	}
	for _, text := range []string{
		"", "utm", "utm32", "utm0n", "utm61n", "utm32u", "utm-1n", "utm+1n", "32n", "EPSG:3857", "4326", "EPSG:31467", "32600", "32661", "32700", "32761",
		"25827", "25839", "25884", "+proj=utm", "+proj=utm +zone=99", "+proj=tmerc +lat_0=0 +lon_0=9 +k=0.9996 +x_0=500000",
		"+proj=utm +zone=32 +ellps=bessel", "+proj=utm +zone=32 +units=us-ft", "+proj=utm +zone=32 +towgs84=598.1,73.7,418.2", "+proj=utm +zone=32 +x_0=5", "+zone=32",
	} {
		_, err := spatial.ParseUTMZone(text)
		assert.ErrorContains(t, err, "utm32n", "%q", text)
	}
}

func FuzzParseUTMZone(f *testing.F) {
	for _, text := range []string{"utm32n", "EPSG:32756", "+proj=utm +zone=32 +south", "utm99s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		zone, err := spatial.ParseUTMZone(text)
		if err != nil {
			assert.Zero(t, zone)
			return
		}
		again, err := spatial.ParseUTMZone(zone.String())
		require.NoError(t, err)
		assert.Equal(t, zone, again)
	})
}
