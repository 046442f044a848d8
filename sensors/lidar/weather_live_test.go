//go:build cgo

package lidar_test

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

// corridor is long and narrow, so that rays hit it at all ranges. Its near end has retroreflectors.
func corridor() *scene.Scene {
	b := scenetest.NewBuilder("corridor")
	b.Put("corridor", scenetest.Box(600, 20, 20), scenetest.Matte("grey", 0.4, 0.4, 0.4), scenetest.At(150, 0, 0, scene.TagBuilding))
	sign := scenetest.Matte("sign", 0.5, 0.5, 0.5)
	sign.Retro = true
	b.Put("sign", scenetest.Box(1, 6, 6), sign, scenetest.At(20, 0, 2, scene.TagTrafficSign))
	return b.Scene
}

// along is a lidar without a threshold in the corridor, with drop-off and noise.
func along(t *testing.T, w weather.State, more map[string]any) sensortest.Options {
	o := sensortest.Options{Scene: corridor(), GL: gputest.Thread(t), Seed: 5, Weather: w, Attributes: map[string]any{
		"channels": 40, "columns": 300, "range": 150, "organized": true, "noise_stddev": 0.02, "horizontal_fov": 120.0,
	}}
	maps.Copy(o.Attributes, more)
	return o
}

// tabled are the same rays as a table of firings.
func tabled(t *testing.T) map[string]any {
	var rays []lidar.Ray
	for i := range 6000 {
		turn, rise := 0.8*math.Sin(float64(i)*0.01), 0.5*math.Sin(float64(i)*0.37)
		rays = append(rays, lidar.Ray{
			Direction: mgl64.Vec3{math.Cos(rise) * math.Cos(turn), math.Cos(rise) * math.Sin(turn), math.Sin(rise)}, TimeNs: int64(i) * 1000, MaxM: 150,
		})
	}
	return map[string]any{"firing_table": tableOf(t, rays), "firing_period": 0.1}
}

// TestLidarsWithoutThresholdLoseWhatTheWeatherTakes: a return at R stays while exp(-2 alpha R) (range / R)² >= 1. A point that stays is
// where it was, and its light is what is left of it on both ways.
func TestLidarsWithoutThresholdLoseWhatTheWeatherTakes(t *testing.T) {
	for name, c := range map[string]struct {
		weather weather.State
		alpha   float64
		more    map[string]any
	}{
		"fog":            {weather.State{Visibility: 100}, 2.99573 / 100, nil},
		"heavy rain":     {weather.State{Rain: 25}, 2.774e-3, map[string]any{"intensity": "carla"}},
		"snow":           {weather.State{Snow: 1}, 3.04e-3, map[string]any{"intensity": "svl"}},
		"fog on a table": {weather.State{Visibility: 200}, 2.99573 / 200, tabled(t)},
		"no limit":       {weather.State{Visibility: 1e9}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.more["firing_table"] != nil {
				for _, other := range []string{"channels", "columns", "organized", "horizontal_fov"} {
					c.more[other] = nil
				}
			}
			points := func(w weather.State) map[uint32]sample.Point {
				o := along(t, w, nil)
				for name, value := range c.more {
					if o.Attributes[name] = value; value == nil {
						delete(o.Attributes, name)
					}
				}
				h := sensortest.New(t, lidar.RayCastDefinition, o)
				h.Fire(scanPeriod)
				found := map[uint32]sample.Point{}
				for _, p := range sensortest.Last[*sample.PointCloud](h, "points").Points {
					if p.Return != sample.ReturnUnknown {
						found[p.Ray] = p
					}
				}
				return found
			}
			dry, wet := points(weather.State{}), points(c.weather)
			require.Greater(t, len(dry), 3000)
			lost := 0
			for ray, p := range dry {
				r := float64(p.Distance)
				margin := -2*c.alpha*r + 2*math.Log(150/r)
				q, stays := wet[ray]
				if !stays {
					lost++
				}
				if math.Abs(margin) > 0.02 { // of the noise, and of the coefficient's digits
					require.Equal(t, margin > 0, stays, "at %v m", r)
				}
				if !stays {
					continue
				}
				want := float64(p.Intensity) * math.Exp(-2*c.alpha*r)
				switch {
				case c.more["intensity"] == "svl":
					want = float64(p.Intensity)
				case p.Intensity > 100:
					want = 101 + (float64(p.Intensity)-101)*math.Exp(-2*c.alpha*r)
				}
				require.InDelta(t, want, q.Intensity, 2e-3*want)
				q.Intensity = p.Intensity
				require.Equal(t, p, q)
			}
			if c.alpha == 0 {
				assert.Equal(t, dry, wet)
				return
			}
			assert.Greater(t, lost, 20)
			assert.LessOrEqual(t, len(wet), len(dry))
		})
	}
}

// TestLidarsFeelAWeatherThatChanges: it holds from the next scan on, and what was before comes back with it. The planar and the
// semantic lidar feel it, too.
func TestLidarsFeelAWeatherThatChanges(t *testing.T) {
	for d, more := range map[*sensors.Definition]map[string]any{
		lidar.RayCastDefinition:         {"dropoff_general_rate": 0.0, "dropoff_zero_intensity": 0.0},
		lidar.RayCastSemanticDefinition: {"noise_stddev": nil},
		lidar.LaserScanDefinition:       {"channels": nil, "columns": nil, "organized": nil, "horizontal_fov": 120.0},
	} {
		t.Run(d.ID, func(t *testing.T) {
			o := along(t, weather.State{}, nil)
			for name, value := range more {
				if o.Attributes[name] = value; value == nil {
					delete(o.Attributes, name)
				}
			}
			h := sensortest.New(t, d, o)
			var returns []int
			for k, w := range []weather.State{{}, {Visibility: 50}, {Visibility: 150}, {}} {
				require.NoError(t, h.Env.History.Weather().Set(w))
				h.Fire(scanPeriod * simtime.Stamp(1+k))
				returns = append(returns, returnsOf(h))
			}
			assert.Equal(t, returns[0], returns[3])
			assert.Less(t, returns[2], returns[0])
			assert.Less(t, returns[1], returns[2])
		})
	}
}

// TestAScanKeepsItsWeather has it change, and the clock jump, between a scan's capture and its publication.
func TestAScanKeepsItsWeather(t *testing.T) {
	for d, more := range map[*sensors.Definition]map[string]any{
		lidar.RayCastDefinition:   {"organized": nil},
		lidar.LaserScanDefinition: {"channels": nil, "columns": nil, "organized": nil, "horizontal_fov": 120.0, "intensity": "surface"},
	} {
		t.Run(d.ID, func(t *testing.T) {
			o := along(t, weather.State{Visibility: 100}, nil)
			for name, value := range more {
				if o.Attributes[name] = value; value == nil {
					delete(o.Attributes, name)
				}
			}
			var scans []any
			for _, jumps := range []bool{false, true} {
				h := sensortest.New(t, d, o)
				h.Env.History.Record(0)
				h.Env.History.Record(scanPeriod)
				at := sensors.Tick{Due: scanPeriod, PeriodNs: int64(scanPeriod)}
				scanner := h.Sensor.(sensors.Capturer)
				gputest.Do(t, o.GL, func(c *gpu.Ctx) error {
					_, err := scanner.Capture(c, at)
					return errors.Join(err, c.Finish())
				})
				if jumps {
					require.NoError(t, h.Env.History.Weather().Set(weather.State{}))
					h.Env.History.Weather().Record(2*scanPeriod, 2*scanPeriod)
				}
				for scanner.Pending() > 0 {
					gputest.Do(t, o.GL, func(c *gpu.Ctx) error {
						scanner.Poll(c)
						return nil
					})
					scanner.Process(at.Due)
				}
				for _, list := range h.Messages {
					scans = append(scans, list...)
				}
			}
			require.Len(t, scans, 2)
			assert.True(t, assert.ObjectsAreEqual(scans[0], scans[1])) // whose differences take minutes to print
		})
	}
}

// returnsOf is how many rays of the latest scan hit something.
func returnsOf(h *sensortest.Harness) (n int) {
	if h.Messages["scan"] != nil {
		for _, r := range sensortest.Last[*sample.LaserScan](h, "scan").Ranges {
			if !math.IsInf(float64(r), 0) {
				n++
			}
		}
		return n
	}
	for _, p := range sensortest.Last[*sample.PointCloud](h, "points").Points {
		if p.Return != sample.ReturnUnknown {
			n++
		}
	}
	return n
}
