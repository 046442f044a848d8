package lidar

import "github.com/raybridge/raybridge/sensors"

// DeviceOf is the device that settings of a scan describe.
func DeviceOf(s *sensors.Settings) (Device, error) {
	made, err := RayCastDefinition.New(sensors.Spec{Settings: s})
	if err != nil {
		return Device{}, err
	}
	return made.(*cloudLidar).device, nil
}

// EndRad is where a device's scan ends.
func (d *Device) EndRad() float64 { return d.endRad() }

// KeptShare is the share of returns kept at a transmission under CARLA's rule.
func KeptShare(s *sensors.Settings, transmission float64) float64 {
	made, err := RayCastDefinition.New(sensors.Spec{Settings: s})
	if err != nil {
		panic(err)
	}
	slope, base, limit := made.(*cloudLidar).receiver.keptShare()
	if transmission > limit {
		return 1
	}
	return slope*transmission + base
}
