// The vectors of what sensors make of ranges, of the vehicle's own state, and of the
// objects around it.
#include "vectors.h"
#include <math.h>

typedef geometry_msgs_msg_dds__Pose_ Pose;
typedef vision_msgs_msg_dds__ObjectHypothesisWithPose_ Hypothesis;

// SEQUENCE of n elements at p.
#define SEQUENCE(n, p) {._maximum = (n), ._length = (n), ._buffer = (p)}

void ranges(void) {
  float range[4] = {1.5f, INFINITY, -INFINITY, 7.25f}, intensity[4] = {0.5f, 0, 0, 12};
  sensor_msgs_msg_dds__LaserScan_ scan = {
    header("scan"), -1.5f, 1.5f, 1.0f, 0.001f, 0.1f, 0.25f, 30, SEQUENCE(4, range), SEQUENCE(4, intensity)};
  encode("laser_scan", &sensor_msgs_msg_dds__LaserScan__desc, &scan);
  scan.intensities._length = 0;
  encode("laser_scan_plain", &sensor_msgs_msg_dds__LaserScan__desc, &scan);

  sensor_msgs_msg_dds__Range_ near = {header("sonar"), 0, 0.7f, 0.3f, 2, 1.25f};
  encode("range", &sensor_msgs_msg_dds__Range__desc, &near);

  // Straight ahead; a right angle to the left and 30 degrees up, to the last bit of float.
  struct { float x, y, z, range, velocity, azimuth, elevation; } radar[2] = {
    {20, 0, 0, 20, -3.5f, 0, 0},
    {0, 0, 0, 8, 1.25f, (float)M_PI_2, (float)(M_PI / 6)}};
  double azimuth = radar[1].azimuth, elevation = radar[1].elevation;
  radar[1].x = (float)(8 * cos(azimuth) * cos(elevation));
  radar[1].y = (float)(8 * sin(azimuth) * cos(elevation));
  radar[1].z = (float)(8 * sin(elevation));
  PointField radar_fields[7] = {{"x", 0, F32, 1}, {"y", 4, F32, 1}, {"z", 8, F32, 1}, {"Range", 12, F32, 1},
    {"Velocity", 16, F32, 1}, {"AzimuthAngle", 20, F32, 1}, {"ElevationAngle", 24, F32, 1}};
  cloud("radar", radar_fields, 7, 28, 1, 2, radar);

  struct __attribute__((packed)) { uint16_t x, y; double t; int8_t pol; } events[3] = {
    {5, 7, 1000000001, 1}, {639, 479, 1000000001, 0}, {0, 0, 1000999999, 1}};
  PointField event_fields[4] = {{"x", 0, U16, 1}, {"y", 2, U16, 1}, {"t", 4, F64, 1}, {"pol", 12, I8, 1}};
  cloud("dvs_events", event_fields, 4, 13, 1, 3, events);
}

void vehicle(void) {
  std_msgs_msg_dds__Float32_ speed = {-3.25f};
  encode("speed", &std_msgs_msg_dds__Float32__desc, &speed);

  nav_msgs_msg_dds__Odometry_ gps = {
    .header = header("gps"), .child_frame_id = "base_link",
    .pose.pose = {.position = {456120.5, 5428321.25, 115.5}, .orientation = {0, 0, 0.6, 0.8}},
    .pose.covariance = {[0] = 1e-6, [7] = 1e-6, [14] = 1e-6, [21] = 1e-6, [28] = 1e-6, [35] = 1e-6},
    .twist.twist = {.linear = {8.5, 0, 0}, .angular = {0, 0, 0.25}},
    .twist.covariance = {[0] = 1e-6, [7] = 1e6, [14] = 1e6, [21] = 1e6, [28] = 1e6, [35] = 1e-6}};
  encode("gps_odometry", &nav_msgs_msg_dds__Odometry__desc, &gps);

  lgsvl_msgs_msg_dds__CanBusData_ can = {
    .header = header("can"), .speed_mps = 8.5f, .throttle_pct = 0.25f, .brake_pct = 0.5f, .steer_pct = -0.75f,
    .parking_brake_active = true, .low_beams_active = true, .fog_lights_active = true,
    .right_turn_signal_active = true, .reverse_gear_active = true, .selected_gear = 2, .engine_active = true,
    .engine_rpm = 900, .gps_latitude = 49.01, .gps_longitude = -8.4, .gps_altitude = 115.5,
    .orientation = {0, 0, 0.6, 0.8}, .linear_velocities = {8, -2, 0.5}};
  encode("can_bus", &lgsvl_msgs_msg_dds__CanBusData__desc, &can);

  lgsvl_msgs_msg_dds__VehicleOdometry_ wheels = {header("wheels"), 8.5f, 0.25f, -0.125f};
  encode("vehicle_odometry", &lgsvl_msgs_msg_dds__VehicleOdometry__desc, &wheels);

  carla_msgs_msg_dds__CarlaCollisionEvent_ hit = {header("ego"), 42, {-100, 50.5, 0}};
  encode("collision", &carla_msgs_msg_dds__CarlaCollisionEvent__desc, &hit);

  int32_t marks[2] = {2, 10};
  carla_msgs_msg_dds__CarlaLaneInvasionEvent_ crossed = {header("ego"), SEQUENCE(2, marks)};
  encode("lane_invasion", &carla_msgs_msg_dds__CarlaLaneInvasionEvent__desc, &crossed);
}

static const Pose box_pose = {{12.5, -3, 0.75}, {0, 0, 0.6, 0.8}};

static void boxes(void) {
  Hypothesis car = {{"Sedan", 1}, {{{0, 0, 0}, {0, 0, 0, 1}}, {0}}}, walker = {{"walker.adult", 0.5}, {{{0, 0, 0}, {0, 0, 0, 1}}, {0}}};
  vision_msgs_msg_dds__Detection2D_ flat[2] = {
    {header("camera"), SEQUENCE(1, &car), {{{320.5, 240.25}, 0}, 100, 60.5}, "7"},
    {header("camera"), SEQUENCE(1, &walker), {{{10, 20}, 0}, 4, 9}, "65535"}};
  vision_msgs_msg_dds__Detection2DArray_ flat_boxes = {header("camera"), SEQUENCE(2, flat)};
  encode("detections_2d", &vision_msgs_msg_dds__Detection2DArray__desc, &flat_boxes);

  Hypothesis solid_car = car;
  solid_car.pose.pose = box_pose;
  vision_msgs_msg_dds__Detection3D_ solid = {header("lidar"), SEQUENCE(1, &solid_car), {box_pose, {4.5, 1.8, 1.5}}, "7"};
  vision_msgs_msg_dds__Detection3DArray_ solid_boxes = {header("lidar"), SEQUENCE(1, &solid)};
  encode("detections_3d", &vision_msgs_msg_dds__Detection3DArray__desc, &solid_boxes);

  lgsvl_msgs_msg_dds__Detection2D_ svl_flat[2] = {
    {header("camera"), 7, "Sedan", 1, {320.5f, 240.25f, 100, 60.5f}, {{5, -1, 0}, {0, 0, 0.5}}},
    {header("camera"), 65535, "", 0.5f, {10, 20, 4, 9}, {{0, 0, 0}, {0, 0, 0}}}};
  lgsvl_msgs_msg_dds__Detection2DArray_ svl_flat_boxes = {header("camera"), SEQUENCE(2, svl_flat)};
  encode("lgsvl_detections_2d", &lgsvl_msgs_msg_dds__Detection2DArray__desc, &svl_flat_boxes);

  lgsvl_msgs_msg_dds__Detection3D_ svl_solid = {
    header("lidar"), 7, "Sedan", 1, {box_pose, {4.5, 1.8, 1.5}}, {{5, -1, 0}, {0, 0, 0.5}}};
  lgsvl_msgs_msg_dds__Detection3DArray_ svl_solid_boxes = {header("lidar"), SEQUENCE(1, &svl_solid)};
  encode("lgsvl_detections_3d", &lgsvl_msgs_msg_dds__Detection3DArray__desc, &svl_solid_boxes);
}

void detections(void) {
  boxes();
  lgsvl_msgs_msg_dds__Signal_ light = {header("signals"), 3, "green", 1, {box_pose, {0.25, 0.5, 1}}};
  lgsvl_msgs_msg_dds__SignalArray_ lights = {header("signals"), SEQUENCE(1, &light)};
  encode("signals", &lgsvl_msgs_msg_dds__SignalArray__desc, &lights);
  lights.signals._length = 0;
  encode("signals_none", &lgsvl_msgs_msg_dds__SignalArray__desc, &lights);

  lgsvl_msgs_msg_dds__DetectedRadarObject_ seen[2] = {
    {7, {1, 0, 0}, {0, -1, 0}, {0, 0, 0}, {0, 0, 0}, 0, {30, 0, -0.5}, {-4, 0.5, 0}, {30, 0, -0.5}, {-4, 0.5, 0},
     {4.5, 1.8, 1.5}, 0, true},
    {9, {1, 0, 0}, {0, -1, 0}, {0, 0, 0}, {0, 0, 0}, M_PI_2, {0, 8, 0}, {0, 0, 0}, {0, 8, 0}, {0, 0, 0},
     {0.5, 0.5, 1.75}, 1, false}};
  lgsvl_msgs_msg_dds__DetectedRadarObjectArray_ objects = {header("radar"), SEQUENCE(2, seen)};
  encode("radar_objects", &lgsvl_msgs_msg_dds__DetectedRadarObjectArray__desc, &objects);
}
