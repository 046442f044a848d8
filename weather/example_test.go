package weather_test

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/weather"
)

// A key beside a preset takes the place of the preset's value. State has all that follows from both.
func Example() {
	visibility := 500.
	setting := weather.Setting{Preset: "heavy_rain", Visibility: &visibility}
	state, err := setting.State()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("one sees %.0f m\n", state.OpticalRange())
	fmt.Printf("rain alone leaves %.3f of a lidar's light that goes 100 m and back\n", math.Exp(-200*state.RainExtinction()))
	fmt.Printf("fog sends back %.1e of it per metre and steradian\n", state.FogBackscatter())
	fmt.Printf("a cubic metre has %.0f drops wider than 1 mm\n", state.RainDrops().Above(1))
	fmt.Printf("a radar of 76.5 GHz loses %.1f dB in 200 m and back\n", 10/math.Ln10*400*state.RadarExtinction(76.5))
	fmt.Printf("%.1f mm of water are on the road, and snow on %.0f of it\n", state.WaterDepth(), state.SnowCover())
	// Output:
	// one sees 500 m
	// rain alone leaves 0.575 of a lidar's light that goes 100 m and back
	// fog sends back 1.7e-04 of it per metre and steradian
	// a cubic metre has 477 drops wider than 1 mm
	// a radar of 76.5 GHz loses 4.6 dB in 200 m and back
	// 1.2 mm of water are on the road, and snow on 0 of it
}
