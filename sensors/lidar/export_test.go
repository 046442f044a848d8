package lidar

import "github.com/raybridge/raybridge/sensors"

// DeviceOf is the device that settings of a scan describe.
func DeviceOf(s *sensors.Settings) (Device, error) { return deviceOf(s) }

// EndRad is where a device's scan ends.
func (d *Device) EndRad() float64 { return d.endRad() }

// KeptShare is the share of returns kept at a transmission under CARLA's rule.
func KeptShare(s *sensors.Settings, transmission float64) float64 {
	r := receiverOf(s)
	slope, base, limit := r.keptShare()
	if transmission > limit {
		return 1
	}
	return slope*transmission + base
}
