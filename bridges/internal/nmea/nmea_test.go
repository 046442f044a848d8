package nmea_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/internal/nmea"
)

func TestAppendPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		latitude, longitude float64
		decimals            int
		want                string
	}{
		{52.508333333, 13.4, 4, "5230.5000,N,01324.0000,E"},
		{-33.5, -70.25, 6, "3330.000000,S,07015.000000,W"},
		{0, 180.5, 5, "0000.00000,N,17930.00000,W"},
		{59.999999999, 0, 3, "6000.000,N,00000.000,E"}, // minutes never are 60
	} {
		assert.Equal(t, c.want, string(nmea.AppendPlace(nil, c.latitude, c.longitude, c.decimals)))
	}
}

// TestChecksum has the example of many tutorials, with its published checksum.
func TestChecksum(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, 0x47, nmea.Checksum([]byte("GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,")))
}
