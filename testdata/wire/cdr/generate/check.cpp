// Decodes what Cyclone DDS encoded with Fast CDR, encodes it again and writes
// the vector if the two agree on every byte but the padding after the message
// (Cyclone pads to a multiple of four and counts it in the header's options).
//
// usage: check DIR
#include "ros2.h"
#include <fastcdr/Cdr.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <functional>
#include <string>
#include <vector>

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using Bytes = std::vector<char>;

template <class M> Bytes recode(Bytes in) {
  FastBuffer source(in.data(), in.size());
  Cdr decoder(source, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
  decoder.read_encapsulation();
  M m;
  m.deserialize(decoder);
  Bytes zeros(in.size() + 8, 0); // Fast CDR leaves alignment padding as it finds it
  FastBuffer target(zeros.data(), zeros.size());
  Cdr encoder(target, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  encoder.serialize_encapsulation();
  m.serialize(encoder);
  return Bytes(target.getBuffer(), target.getBuffer() + encoder.getSerializedDataLength());
}

int main(int argc, char **argv) {
  if (argc != 2) { std::cerr << "usage: check DIR\n"; return 2; }
  using namespace sensor_msgs::msg::dds_;
  const std::map<std::string, std::function<Bytes(Bytes)>> vectors{
    {"clock", recode<rosgraph_msgs::msg::dds_::Clock_>},
    {"clock_before_epoch", recode<rosgraph_msgs::msg::dds_::Clock_>},
    {"image_rgb8", recode<Image_>}, {"image_32fc1", recode<Image_>},
    {"compressed_image", recode<CompressedImage_>},
    {"camera_info", recode<CameraInfo_>}, {"camera_info_undistorted", recode<CameraInfo_>},
    {"imu", recode<Imu_>}, {"nav_sat_fix", recode<NavSatFix_>},
    {"odometry", recode<nav_msgs::msg::dds_::Odometry_>},
    {"tf", recode<tf2_msgs::msg::dds_::TFMessage_>}, {"tf_empty", recode<tf2_msgs::msg::dds_::TFMessage_>},
    {"point_cloud_xyzircaedt", recode<PointCloud2_>}, {"point_cloud_empty", recode<PointCloud2_>},
    {"point_cloud_organized", recode<PointCloud2_>}, {"point_cloud_xyzirt", recode<PointCloud2_>},
    {"point_cloud_xyzi", recode<PointCloud2_>}, {"point_cloud_carla", recode<PointCloud2_>},
    {"point_cloud_svl", recode<PointCloud2_>}, {"point_cloud_svl_unit", recode<PointCloud2_>},
    {"point_cloud_carla_semantic", recode<PointCloud2_>},
    {"laser_scan", recode<LaserScan_>}, {"laser_scan_plain", recode<LaserScan_>}, {"range", recode<Range_>},
    {"radar", recode<PointCloud2_>}, {"dvs_events", recode<PointCloud2_>},
    {"speed", recode<std_msgs::msg::dds_::Float32_>}, {"gps_odometry", recode<nav_msgs::msg::dds_::Odometry_>},
    {"can_bus", recode<lgsvl_msgs::msg::dds_::CanBusData_>},
    {"vehicle_odometry", recode<lgsvl_msgs::msg::dds_::VehicleOdometry_>},
    {"collision", recode<carla_msgs::msg::dds_::CarlaCollisionEvent_>},
    {"lane_invasion", recode<carla_msgs::msg::dds_::CarlaLaneInvasionEvent_>},
    {"detections_2d", recode<vision_msgs::msg::dds_::Detection2DArray_>},
    {"detections_3d", recode<vision_msgs::msg::dds_::Detection3DArray_>},
    {"lgsvl_detections_2d", recode<lgsvl_msgs::msg::dds_::Detection2DArray_>},
    {"lgsvl_detections_3d", recode<lgsvl_msgs::msg::dds_::Detection3DArray_>},
    {"signals", recode<lgsvl_msgs::msg::dds_::SignalArray_>}, {"signals_none", recode<lgsvl_msgs::msg::dds_::SignalArray_>},
    {"radar_objects", recode<lgsvl_msgs::msg::dds_::DetectedRadarObjectArray_>},
    {"kinds", recode<kinds_msgs::msg::dds_::Kinds_>}};
  int bad = 0;
  for (const auto &[name, recode_message] : vectors) {
    const std::string path = std::string(argv[1]) + "/" + name;
    std::ifstream in(path + ".cyclone", std::ios::binary);
    const Bytes cyclone{std::istreambuf_iterator<char>(in), {}};
    const Bytes fast = recode_message(cyclone);
    const size_t padding = cyclone.size() - fast.size();
    bool same = cyclone.size() >= fast.size() && padding < 4 && size_t(cyclone[3]) == padding;
    for (size_t i = 0; same && i < fast.size(); i++) same = i == 3 || fast[i] == cyclone[i];
    if (!same) { std::cerr << name << ": the two encoders disagree\n"; bad++; continue; }
    std::ofstream(path + ".cdr", std::ios::binary).write(fast.data(), fast.size());
    std::cout << name << " " << fast.size() << " bytes, padding " << padding << "\n";
  }
  return bad != 0;
}
