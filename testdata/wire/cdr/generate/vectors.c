// Writes one file for each vector: a message filled with the values below, as
// Cyclone DDS encodes it. Each message goes through a writer and a reader of
// one process; dds_takecdr hands over the bytes that would be on the wire.
//
// usage: vectors DIR
#include "vectors.h"
#include "dds/ddsi/ddsi_serdata.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef geometry_msgs_msg_dds__TransformStamped_ TransformStamped;
typedef geometry_msgs_msg_dds__Quaternion_ Quaternion;
typedef geometry_msgs_msg_dds__Vector3_ Vector3;

static dds_entity_t participant;
static const char *out_dir;

static void fail(const char *what, int32_t rc) {
  fprintf(stderr, "%s: %s\n", what, dds_strretcode(-rc));
  exit(1);
}

void encode(const char *name, const dds_topic_descriptor_t *type, const void *sample) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_entity_t topic = dds_create_topic(participant, type, name, NULL, NULL);
  if (topic < 0) fail(name, topic);
  dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  int32_t rc = dds_write(writer, sample);
  if (rc < 0) fail(name, rc);
  struct ddsi_serdata *data = NULL;
  dds_sample_info_t info;
  rc = dds_takecdr(reader, &data, 1, &info, DDS_ANY_STATE);
  if (rc != 1) fail(name, rc);
  size_t size = ddsi_serdata_size(data);
  void *bytes = malloc(size);
  ddsi_serdata_to_ser(data, 0, size, bytes);
  char path[512];
  snprintf(path, sizeof path, "%s/%s.cyclone", out_dir, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) { perror(path); exit(1); }
  free(bytes);
  ddsi_serdata_unref(data);
  dds_delete_qos(qos);
}

static const Time stamp = {1700000000, 123456789};

Header header(char *frame) { return (Header){stamp, frame}; }

// ramp fills n doubles with first, first + 0.125, first + 0.25, ...
void ramp(double *v, int n, double first) {
  for (int i = 0; i < n; i++) v[i] = first + 0.125 * i;
}

static void clocks(void) {
  rosgraph_msgs_msg_dds__Clock_ m = {stamp};
  encode("clock", &rosgraph_msgs_msg_dds__Clock__desc, &m);
  m.clock = (Time){-1, 999999999}; // one nanosecond before the epoch
  encode("clock_before_epoch", &rosgraph_msgs_msg_dds__Clock__desc, &m);
}

static void images(void) {
  uint8_t pixels[18];
  for (int i = 0; i < 18; i++) pixels[i] = (uint8_t)(i * 7 + 1);
  sensor_msgs_msg_dds__Image_ m = {
    .header = header("camera_front_optical"), .height = 2, .width = 3, .encoding = "rgb8", .is_bigendian = 0,
    .step = 9, .data = {._maximum = 18, ._length = 18, ._buffer = pixels}};
  encode("image_rgb8", &sensor_msgs_msg_dds__Image__desc, &m);

  float depth[4] = {1.5f, 2.25f, NAN, INFINITY};
  m = (sensor_msgs_msg_dds__Image_){
    .header = header("d"), .height = 2, .width = 2, .encoding = "32FC1", .is_bigendian = 0,
    .step = 8, .data = {._maximum = 16, ._length = 16, ._buffer = (uint8_t *)depth}};
  encode("image_32fc1", &sensor_msgs_msg_dds__Image__desc, &m);

  uint8_t png[5] = {0x89, 'P', 'N', 'G', 0x0d};
  sensor_msgs_msg_dds__CompressedImage_ c = {
    .header = header("cam"), .format = "png", .data = {._maximum = 5, ._length = 5, ._buffer = png}};
  encode("compressed_image", &sensor_msgs_msg_dds__CompressedImage__desc, &c);
}

static void camera_infos(void) {
  double d[5];
  ramp(d, 5, -0.5);
  sensor_msgs_msg_dds__CameraInfo_ m = {
    .header = header("camera_front_optical"), .height = 480, .width = 640, .distortion_model = "plumb_bob",
    .d = {._maximum = 5, ._length = 5, ._buffer = d}};
  ramp(m.k, 9, 500);
  ramp(m.r, 9, 1);
  ramp(m.p, 12, 600);
  encode("camera_info", &sensor_msgs_msg_dds__CameraInfo__desc, &m);
  m.header = header("");
  m.distortion_model = "";
  m.d._length = 0;
  encode("camera_info_undistorted", &sensor_msgs_msg_dds__CameraInfo__desc, &m);
}

static void motion(void) {
  sensor_msgs_msg_dds__Imu_ imu = {
    .header = header("imu_link"), .orientation = {0.1, -0.2, 0.3, 0.9},
    .angular_velocity = {0.01, -0.02, 0.03}, .linear_acceleration = {0.5, -0.25, 9.80665}};
  ramp(imu.orientation_covariance, 9, -1);
  ramp(imu.angular_velocity_covariance, 9, 2);
  ramp(imu.linear_acceleration_covariance, 9, 4);
  encode("imu", &sensor_msgs_msg_dds__Imu__desc, &imu);

  sensor_msgs_msg_dds__NavSatFix_ fix = {
    .header = header("gnss"), .status = {-1, 9}, .latitude = 48.137154, .longitude = -11.576124,
    .altitude = 519.25, .position_covariance_type = 2};
  ramp(fix.position_covariance, 9, 0.25);
  encode("nav_sat_fix", &sensor_msgs_msg_dds__NavSatFix__desc, &fix);

  nav_msgs_msg_dds__Odometry_ odom = {
    .header = header("odom"), .child_frame_id = "base_link",
    .pose.pose = {.position = {1, -2, 3}, .orientation = {0.5, -0.5, 0.5, -0.5}},
    .twist.twist = {.linear = {10, -11, 12}, .angular = {0.1, -0.2, 0.3}}};
  ramp(odom.pose.covariance, 36, 100);
  ramp(odom.twist.covariance, 36, 200);
  encode("odometry", &nav_msgs_msg_dds__Odometry__desc, &odom);
}

static void transforms(void) {
  TransformStamped list[2] = {
    {header("map"), "base_link", {{1, 2, 3}, {0, 0, 0, 1}}},
    {header("base_link"), "lidar", {{-1.5, 0.25, 1.75}, {0.5, 0.5, -0.5, 0.5}}}};
  list[1].header.stamp = (Time){1700000001, 0};
  tf2_msgs_msg_dds__TFMessage_ m = {{._maximum = 2, ._length = 2, ._buffer = list}};
  encode("tf", &tf2_msgs_msg_dds__TFMessage__desc, &m);
  m.transforms._length = 0;
  encode("tf_empty", &tf2_msgs_msg_dds__TFMessage__desc, &m);
}

// Point i of every cloud. The layouts are their documented structures.
typedef struct {
  float x, y, z, intensity, azimuth, elevation, distance;
  uint32_t time_ns;
  uint16_t ring;
  uint8_t return_type;
} Point;
typedef struct __attribute__((packed)) {
  float x, y, z;
  uint8_t intensity, return_type;
  uint16_t channel;
  float azimuth, elevation, distance;
  uint32_t time_stamp;
} PointXYZIRCAEDT;
typedef struct __attribute__((packed)) { float x, y, z, intensity; uint16_t ring; float time; } PointXYZIRT;
typedef struct { float x, y, z, intensity; } PointXYZI;
typedef struct { float x, y, z; uint32_t zero; uint8_t intensity, zeros[7]; double timestamp; } PointSVL;
typedef struct { float x, y, z, cos_angle; uint32_t object, tag; } PointSemantic;

static Point point(int i) {
  static const float intensity[6] = {12.4f, 99.5f, 254.75f, 0.0f, 300.0f, -3.0f};
  return (Point){1.5f + i, -2.25f * i, 0.125f * i - 1, intensity[i], 0.1f * i, -0.05f * i, 10.0f + i,
                 100000007u * i, 300 * i + 5, i % 3};
}

static PointXYZIRCAEDT autoware(Point p) {
  float rounded = roundf(p.intensity);
  uint8_t intensity = rounded < 0 ? 0 : rounded > 255 ? 255 : (uint8_t)rounded;
  return (PointXYZIRCAEDT){p.x, p.y, p.z, intensity, p.return_type, p.ring, p.azimuth, p.elevation, p.distance, p.time_ns};
}

void cloud(const char *name, PointField *fields, int n, int step, int height, int width, void *data) {
  PointCloud2 m = {
    .header = header("lidar_top"), .height = height, .width = width,
    .fields = {._maximum = n, ._length = n, ._buffer = fields}, .is_bigendian = false, .point_step = step,
    .row_step = step * width,
    .data = {._maximum = step * width * height, ._length = step * width * height, ._buffer = data},
    .is_dense = height == 1};
  encode(name, &sensor_msgs_msg_dds__PointCloud2__desc, &m);
}

static void clouds(void) {
  PointField f[10] = {{"x", 0, F32, 1}, {"y", 4, F32, 1}, {"z", 8, F32, 1}, {"intensity", 12, U8, 1},
    {"return_type", 13, U8, 1}, {"channel", 14, U16, 1}, {"azimuth", 16, F32, 1}, {"elevation", 20, F32, 1},
    {"distance", 24, F32, 1}, {"time_stamp", 28, U32, 1}};
  PointXYZIRCAEDT a[6];
  for (int i = 0; i < 6; i++) a[i] = autoware(point(i));
  cloud("point_cloud_xyzircaedt", f, 10, 32, 1, 6, a);
  cloud("point_cloud_empty", f, 10, 32, 1, 0, a);

  // Two lasers, three firings: laser 0 has ring 1 and is the second row. Firing
  // 1 has no return, firing 2 of laser 1 one below the minimum range.
  for (int i = 0; i < 6; i++) {
    Point p = point(i);
    int laser = i % 2, firing = i / 2;
    p.ring = 1 - laser;
    if (firing == 1) p.x = p.y = p.z = NAN, p.distance = INFINITY;
    if (firing == 2 && laser == 1) p.x = p.y = p.z = NAN, p.distance = -INFINITY;
    a[p.ring * 3 + firing] = autoware(p);
  }
  cloud("point_cloud_organized", f, 10, 32, 2, 3, a);

  PointField velodyne[6] = {{"x", 0, F32, 1}, {"y", 4, F32, 1}, {"z", 8, F32, 1}, {"intensity", 12, F32, 1},
    {"ring", 16, U16, 1}, {"time", 18, F32, 1}};
  PointXYZIRT v[6];
  PointXYZI x[6];
  for (int i = 0; i < 6; i++) {
    Point p = point(i);
    v[i] = (PointXYZIRT){p.x, p.y, p.z, p.intensity, p.ring, (float)(p.time_ns / 1e9)};
    x[i] = (PointXYZI){p.x, p.y, p.z, p.intensity};
  }
  cloud("point_cloud_xyzirt", velodyne, 6, 22, 1, 6, v);
  cloud("point_cloud_xyzi", velodyne, 4, 16, 1, 6, x);
  cloud("point_cloud_carla", velodyne, 4, 16, 1, 6, x);

  // The second SVL cloud has intensities of 0 to 1, which SVL multiplies by 255
  // and cuts off.
  static const float unit[6] = {0.0f, 0.5f, 0.999f, 1.0f, 0.25f, -1.0f};
  PointField lgsvl[5] = {{"x", 0, F32, 1}, {"y", 4, F32, 1}, {"z", 8, F32, 1}, {"intensity", 16, U8, 1}, {"timestamp", 24, F64, 1}};
  PointField semantic[6] = {{"x", 0, F32, 1}, {"y", 4, F32, 1}, {"z", 8, F32, 1}, {"CosAngle", 12, F32, 1},
    {"ObjIdx", 16, U32, 1}, {"ObjTag", 20, U32, 1}};
  PointSVL l[6], u[6];
  PointSemantic o[6];
  for (int i = 0; i < 6; i++) {
    Point p = point(i);
    double at = (double)(stamp.sec * 1000000000ll + stamp.nanosec + p.time_ns) / 1e9;
    l[i] = (PointSVL){p.x, p.y, p.z, 0, autoware(p).intensity, {0}, at};
    u[i] = (PointSVL){p.x, p.y, p.z, 0, unit[i] < 0 ? 0 : (uint8_t)(unit[i] * 255), {0}, at};
    o[i] = (PointSemantic){p.x, p.y, p.z, 0.5f, 99, 9};
  }
  cloud("point_cloud_svl", lgsvl, 5, 32, 1, 6, l);
  cloud("point_cloud_svl_unit", lgsvl, 5, 32, 1, 6, u);
  cloud("point_cloud_carla_semantic", semantic, 6, 24, 1, 6, o);
}

int main(int argc, char **argv) {
  if (argc != 2) { fprintf(stderr, "usage: vectors DIR\n"); return 2; }
  out_dir = argv[1];
  participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
  if (participant < 0) fail("participant", participant);
  clocks();
  images();
  camera_infos();
  motion();
  transforms();
  clouds();
  ranges();
  vehicle();
  detections();
  kinds();
  dds_delete(participant);
  return 0;
}
