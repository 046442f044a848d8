package rosbridge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func fix(latitude, longitude, altitude float64, ns int64) *sample.GnssFix {
	return &sample.GnssFix{
		Header:   sample.Header{Stamp: simtime.Stamp(ns), Pose: spatial.Identity()},
		Latitude: latitude, Longitude: longitude, Altitude: altitude,
	}
}

func TestGGA(t *testing.T) {
	const noon = 12*3600_000_000_000 + 34*60_000_000_000 + 56_789_999_999
	for _, c := range []struct {
		fix  *sample.GnssFix
		want string // without the checksum
	}{
		{fix(48.1173, 11.516666666666667, 545.4, noon), "$GPGGA,123456.789,4807.038000,N,01131.000000,E,1,10,0.01,545.400000,M,0.000000,M,,"},
		{fix(0, 0, 0, 0), "$GPGGA,000000.000,0000.000000,N,00000.000000,E,1,10,0.01,0.000000,M,0.000000,M,,"},
		// Two digits of degrees and minutes, three of longitudes, also where they are small.
		{fix(-1.05, -2.001, -3.5, 3_600_000_000_000+61_001_000_000), "$GPGGA,010101.001,0103.000000,S,00200.060000,W,1,10,0.01,-3.500000,M,0.000000,M,,"},
		// Minutes that round to 60 are a degree.
		{fix(59.99999999999, 179.99999999999, 1, -1), "$GPGGA,235959.999,6000.000000,N,18000.000000,E,1,10,0.01,1.000000,M,0.000000,M,,"},
		// Longitudes of 0..360 are folded, and days go round.
		{fix(90, 350, 0, 86_400_000_000_000*3+999_000), "$GPGGA,000000.000,9000.000000,N,01000.000000,W,1,10,0.01,0.000000,M,0.000000,M,,"},
	} {
		got, err := appendGGA(nil, c.fix)
		require.NoError(t, err)
		sentence, sum, ok := strings.Cut(string(got), "*")
		require.True(t, ok)
		assert.Equal(t, c.want, sentence)
		assert.Equal(t, xor(sentence[1:]), sum)
	}
	for status, quality := range map[int8]string{-1: ",E,0,", 0: ",E,1,", 1: ",E,2,", 2: ",E,4,"} {
		f := fix(1, 1, 1, 0)
		f.Status = status
		got, err := appendGGA(nil, f)
		require.NoError(t, err)
		assert.Contains(t, string(got), quality)
	}
	for _, f := range []*sample.GnssFix{fix(91, 0, 0, 0), fix(math.NaN(), 0, 0, 0), fix(0, math.Inf(1), 0, 0), fix(0, 0, math.NaN(), 0)} {
		_, err := appendGGA(nil, f)
		assert.ErrorIs(t, err, bridges.ErrConvert)
	}
}

func xor(text string) string {
	sum := 0
	for _, c := range []byte(text) {
		sum ^= int(c)
	}
	return fmt.Sprintf("%02X", sum)
}

func TestAttitude(t *testing.T) {
	for _, c := range []struct {
		roll, pitch, yaw float64 // REP-103, degrees
		want             string
	}{
		{0, 0, 0, "0.000,0.000,90.000,"},    // east
		{0, 0, 90, "0.000,0.000,0.000,"},    // north
		{0, 0, 180, "0.000,0.000,270.000,"}, // west
		{0, 0, -90, "0.000,0.000,180.000,"},
		{0, 0, 90.0001, "0.000,0.000,0.000,"},  // not 360
		{2.5, -10, 30, "2.500,10.000,60.000,"}, // nose up is positive
	} {
		f := fix(0, 0, 0, 1_500_000_000)
		f.Pose = spatial.FromRPY(mgl64.Vec3{}, mgl64.DegToRad(c.roll), mgl64.DegToRad(c.pitch), mgl64.DegToRad(c.yaw))
		got := string(appendAttitude(nil, f))
		sentence, sum, ok := strings.Cut(got, "@")
		require.True(t, ok)
		assert.Equal(t, "QQ02C,INSATT,V,000001.500,"+c.want, sentence)
		assert.Equal(t, xor(sentence), sum, "from the first character on: there is no $")
	}
	unknown := fix(0, 0, 0, 0)
	unknown.Pose = spatial.Pose{}
	assert.NotContains(t, string(appendAttitude(nil, unknown)), "NaN")
}
