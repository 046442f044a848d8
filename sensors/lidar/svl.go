package lidar

// SVLElevations returns the elevations, in degrees, up positive, from the lowest
// to the highest, of SVL Simulator's lidar with a number of lasers, a vertical field
// of view and the angle of its centre below the horizon. SVL divides the field
// by the number of lasers, so that the topmost is one step short of the upper
// edge; a single laser looks along the centre.
func SVLElevations(laserCount int, fieldOfView, centerAngle float64) []float64 {
	return elevations(laserCount, fieldOfView, centerAngle, laserCount)
}

// EvenElevations are SVLElevations with lasers on both edges of the field of view,
// as the devices have them.
func EvenElevations(laserCount int, fieldOfView, centerAngle float64) []float64 {
	return elevations(laserCount, fieldOfView, centerAngle, laserCount-1)
}

func elevations(lasers int, fieldOfView, centerAngle float64, steps int) []float64 {
	if lasers == 1 {
		return []float64{-centerAngle}
	}
	list := make([]float64, lasers)
	for i := range list {
		list[i] = float64(i)*fieldOfView/float64(steps) - centerAngle - fieldOfView/2
	}
	return list
}

// SVLColumns returns how many firings SVL's lidars make over a horizontal field of
// view in degrees, given those of a whole rotation.
func SVLColumns(measurementsPerRotation int, horizontalAngle float64) int {
	return int(float64(measurementsPerRotation) * horizontalAngle / 360)
}

// svlDevices are the lidars that SVL Simulator offers as templates, and those whose
// parameters its documentation lists, by their names there. They turn a whole
// circle that begins behind.
var svlDevices = map[string]*Device{
	"Lidar16":            svlDevice("Lidar16", SVLElevations(16, 30, 0), 1000, 100),
	"Lidar16b":           svlDevice("Lidar16b", SVLElevations(16, 20, 0), 1500, 100),
	"Lidar32":            svlDevice("Lidar32", SVLElevations(32, 41.33, 10), 1500, 100),
	"Lidar32-NonUniform": svlDevice("Lidar32-NonUniform", svlVLP32C, 1500, 100),
	"Lidar64":            svlDevice("Lidar64", SVLElevations(64, 26.9, 11.45), 2000, 120),
	"Lidar128":           svlDevice("Lidar128", SVLElevations(128, 40, 5), 3272, 300),
	"VLP-16":             svlDevice("VLP-16", SVLElevations(16, 30, 0), 1800, 100),
	"VLP-32C":            svlDevice("VLP-32C", svlVLP32C, 1800, 100),
	"VLS-128":            svlDevice("VLS-128", svlVLS128, 1800, 100),
}

func svlDevice(name string, elevationsDeg []float64, columns int, maxM float64) *Device {
	d := evenColumns(elevationsDeg, columns, 360)
	d.Name, d.MinM, d.MaxM = name, 0.5, maxM
	return &d
}

// svlVLP32C and svlVLS128 are elevations in the order of the lasers, degrees.
var svlVLP32C = []float64{
	-25, -1, -1.667, -15.639, -11.31, 0, -0.667, -8.843, -7.254, 0.333, -0.333, -6.148,
	-5.333, 1.333, 0.667, -4, -4.667, 1.667, 1, -3.667, -3.333, 3.333, 2.333, -2.667,
	-3, 7, 4.667, -2.333, -2, 15, 10.333, -1.333,
}

var svlVLS128 = []float64{
	-11.742, -1.99, 3.4, -5.29, -0.78, 4.61, -4.08, 1.31, -6.5, -1.11, 4.28, -4.41,
	0.1, 6.48, -3.2, 2.19, -3.86, 1.53, -9.244, -1.77, 2.74, -5.95, -0.56, 4.83,
	-2.98, 2.41, -6.28, -0.89, 3.62, -5.07, 0.32, 7.58, -0.34, 5.18, -3.64, 1.75,
	-25, -2.43, 2.96, -5.73, 0.54, 9.7, -2.76, 2.63, -7.65, -1.55, 3.84, -4.85,
	3.188, -5.51, -0.12, 5.73, -4.3, 1.09, -16.042, -2.21, 4.06, -4.63, 0.76, 15,
	-3.42, 1.97, -6.85, -1.33, -5.62, -0.23, 5.43, -3.53, 0.98, -19.582, -2.32, 3.07,
	-4.74, 0.65, 11.75, -2.65, 1.86, -7.15, -1.44, 3.95, -2.1, 3.29, -5.4, -0.01,
	4.5, -4.19, 1.2, -13.565, -1.22, 4.17, -4.52, 0.87, 6.08, -3.31, 2.08, -6.65,
	1.42, -10.346, -1.88, 3.51, -6.06, -0.67, 4.72, -3.97, 2.3, -6.39, -1, 4.39,
	-5.18, 0.21, 6.98, -3.09, 4.98, -3.75, 1.64, -8.352, -2.54, 2.85, -5.84, -0.45,
	8.43, -2.87, 2.52, -6.17, -1.66, 3.73, -4.96, 0.43,
}
