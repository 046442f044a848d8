// Package lidar is the lidars: sensor.lidar.ray_cast, sensor.lidar.ray_cast_semantic
// and sensor.lidar.laser_scan. Each scan is traced by one compute dispatch, a ray for
// each firing of each laser.
//
// # Geometry
//
// A device fires all its lasers once per column; columns follow one another
// clockwise seen from above, as spinning devices turn. A laser has its own
// elevation, azimuth offset, height and time within the column. Points are in the
// sensor's frame as it stood when they were fired, or with compensated: true as it
// stood at the scan's stamp; azimuth, elevation and distance are the firing's either
// way. A surface nearer than the shortest range hides what is behind it and reads
// -Inf (REP-117).
//
// # Presets
//
// Device presets have the firing tables of AWSIM's and RGL's, and begin straight
// ahead. Laser 94 of VelodyneVLS128 points 2.08 degrees up, as the device's does, where
// their table has 2.008. The offset between a device's mounting point and its optical
// centre is left to the rig. Presets with the names of SVL Simulator's templates have its elevations
// (SVLElevations), columns and ranges, and begin behind. Attributes that weren't set
// are the preset's own: neither loses returns. The near-field lasers of HesaiAT128E2X
// measure from 0.5 m in even columns and from 7.2 m in odd ones.
//
// The preset uniform is CARLA's model: channels from upper_fov to lower_fov, columns
// from points_per_second, drop-off by default. A message here is a whole scan, whose
// columns share the time since the last one: a world of CARLA that steps twice in a
// turn sends each half as it comes. All rays have times of their own unless
// rolling: false, which is CARLA's and SVL's way.
//
// # Time
//
// A scan due at t covers [t - 1/rate, t): its stamp is the first firing's time,
// point times are offsets from it. Sensor and objects are where they are at each
// ray's own time. With rolling: false all rays are of the instant t.
//
// # Intensity
//
// surface: diffuse surfaces give 100 * reflectance * cos(incidence) * T, where T is
// exp(-attenuation * range), retroreflectors 101 + 154 * reflectance * T. carla: T.
// svl: the metallic factor of a material that has a texture of them, of others the mean
// of the base colour's red, green and blue. The last two are 0 to 1
// (sample.PointCloud.UnitIntensity). sensor.lidar.ray_cast_semantic has none.
//
// # Drop-off and noise
//
// In CARLA's order: a share dropoff_general_rate of the rays is never fired. A return
// whose T is at most dropoff_intensity_limit is kept with the probability
// 1 - zero + zero T / limit, zero being dropoff_zero_intensity. Noise moves a point
// along its ray and changes nothing else. The draws of a ray depend on the seed, the
// scan's number and the ray's, on nothing before them.
//
// # The planar lidar
//
// sensor.lidar.laser_scan is SVL's LaserScan and Lidar2D. Its parameters are, here and
// there: center_angle CenterAngle, range_min MinDistance, range MaxDistance,
// measurements_per_rotation MeasurementsPerRotation, forward_angle ForwardAngle,
// horizontal_fov HorizontalAngle; RotationFrequency is the rate, and rolling is false
// there: a scan of one instant, with a time_increment of 0. Its rays are SVL's,
// counter-clockwise, and angle_min is the first ray's angle, where SVL writes that of
// one step before it.
//
// # SVL's lidar
//
// The parameters of SVL's Lidar come to those of sensor.lidar.ray_cast so: elevations
// are VerticalRayAngles, or SVLElevations of LaserCount, FieldOfView and CenterAngle;
// columns are SVLColumns of MeasurementsPerRotation and HorizontalAngle; range_min is
// MinDistance, range MaxDistance, forward_angle ForwardAngle, horizontal_fov
// HorizontalAngle; the rate is RotationFrequency, rolling false, intensity and layout
// svl, and both drop-off rates 0. Compensated changes nothing in a scan of one instant.
//
// # Limits
//
// One return a ray; beams have no width. A scan has at most 2,796,202 rays; a rolling
// one takes less than 4.3 s.
package lidar
