// Package lidar is the scanning lidar: each scan is traced by one compute
// dispatch, a ray for each firing of each laser.
//
// # Geometry
//
// A device fires all its lasers once per column; columns follow one another
// clockwise seen from above, as spinning devices turn, from straight ahead on. A
// laser has its own elevation, azimuth offset, height and time within the column.
// Points are in the sensor's frame as it stood when they were fired.
//
// # Time
//
// A scan due at t covers [t - 1/rate, t): its stamp is the first firing's time,
// point times are offsets from it. Sensor and objects are where they are at each
// ray's own time. With rolling: false all rays are of the instant t.
//
// # Intensity
//
// Diffuse surfaces give 100 * reflectance * cos(incidence) * exp(-attenuation *
// range), retroreflectors 101 + 154 * reflectance * exp(-attenuation * range).
//
// # Limits
//
// One return a ray; beams have no width. The firing tables are those of AWSIM's
// and RGL's presets; the offset between a device's mounting point and its
// optical centre is left to the rig.
package lidar
