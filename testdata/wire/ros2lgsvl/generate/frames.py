#!/usr/bin/python3
"""Makes the files in the folder above again: what bridge ros2lgsvl sends for the samples of
bridges/ros2lgsvl/samples_test.go, each file an AddPublisher and a Publish.

    python3 testdata/wire/ros2lgsvl/generate/frames.py

The bytes are packed with Python's struct from the protocol's description
(docs/bridges/ros2lgsvl.md) and from the messages' public definitions; no code of raybridge
is used.
"""
import math
import os
import struct


def u8(v): return struct.pack("<B", v)
def i8(v): return struct.pack("<b", v)
def u16(v): return struct.pack("<H", v)
def i32(v): return struct.pack("<i", v)
def u32(v): return struct.pack("<I", v)
def f32(*v): return struct.pack("<%df" % len(v), *v)
def f64(*v): return struct.pack("<%dd" % len(v), *v)
def text(v): return u32(len(v.encode())) + v.encode()
def array(elements): return u32(len(elements)) + b"".join(elements)


def header(frame="probe", sec=1700000000, nanosec=123456789):
    return i32(sec) + u32(nanosec) + text(frame)


def field(name, offset, datatype):
    return text(name) + u32(offset) + u8(datatype) + u32(1)


def doubles(first, n):
    return array([f64(first + i) for i in range(n)])


def diagonal(*v):
    return [f64(v[i // 7] if i % 7 == 0 else 0) for i in range(36)]


def svl_point(x, y, z, intensity, seconds):
    return f32(x, y, z) + bytes(4) + u8(intensity) + bytes(7) + f64(seconds)


XYZW = f64(12.5, -3, 0.75) + f64(0, 0, 0.6, 0.8)  # position, then orientation x y z w
TWIST = f64(5, -1, 0) + f64(0, 0, 0.5)

BODIES = {
    "clock": ("rosgraph_msgs/Clock", i32(1700000000) + u32(123456789)),
    "image": ("sensor_msgs/Image", header() + u32(2) + u32(3) + text("rgb8") + u8(0) + u32(9)
              + array([u8(7 * i + 1) for i in range(18)])),
    "compressed_image": ("sensor_msgs/CompressedImage", header() + text("jpeg") + array([u8(0xff), u8(0xd8), u8(0xd9)])),
    # The definition has the height first; SVL sent the width first.
    "camera_info": ("sensor_msgs/CameraInfo", header() + u32(480) + u32(640) + text("plumb_bob") + doubles(0.25, 5)
                    + doubles(500, 9) + doubles(10, 9) + doubles(600, 12) + u32(0) * 2 + u32(0) * 4 + u8(0)),
    "point_cloud": ("sensor_msgs/PointCloud2", header() + u32(1) + u32(2)
                    + array([field("x", 0, 7), field("y", 4, 7), field("z", 8, 7), field("intensity", 16, 2), field("timestamp", 24, 8)])
                    + u8(0) + u32(32) + u32(64)
                    + u32(64) + svl_point(1, -2, 0.5, 200, 1700000000.123456789) + svl_point(1.5, -2.5, 1, 0, 1700000000.123506789)
                    + u8(1)),
    "imu": ("sensor_msgs/Imu", header() + f64(0, 0, 0.6, 0.8) + doubles(1, 9) + f64(0.01, -0.02, 0.03) + doubles(2, 9)
            + f64(0.5, -0.25, 9.80665) + doubles(4, 9)),
    "nav_sat_fix": ("sensor_msgs/NavSatFix", header() + i8(-1) + u16(9) + f64(48.137154, -11.576124, 519.25) + doubles(0, 9) + u8(2)),
    "odometry": ("nav_msgs/Odometry", header() + text("base_link") + XYZW + doubles(100, 36) + TWIST + doubles(200, 36)),
    "transforms": ("tf2_msgs/TFMessage", array([header() + text("lidar") + f64(12.5, -3, 0.75) + f64(0, 0, 0.6, 0.8)])),
    "laser_scan": ("sensor_msgs/LaserScan", header() + f32(-1.5, 1.5, 1, 0.001, 0.1, 0.25, 30)
                   + array([f32(1.5), f32(math.inf), f32(-math.inf)]) + array([f32(1), f32(0), f32(255)])),
    "ultrasonic": ("lgsvl_msgs/Ultrasonic", header() + f32(1.25)),
    "can_bus": ("lgsvl_msgs/CanBusData", header() + f32(8.5, 0.25, 0.5, -0.75) + bytes([1, 0, 1, 0, 1, 0, 1, 0, 1]) + i8(2) + u8(1)
                + f32(900) + f64(49.01, -8.4, 115.5) + f64(0, 0, 0.6, 0.8) + f64(8, -2, 0.5)),
    "vehicle_odometry": ("lgsvl_msgs/VehicleOdometry", header() + f32(8.5, 0.25, -0.125)),
    "detections_2d": ("lgsvl_msgs/Detection2DArray", header() + array([
        header() + u32(7) + text("Sedan") + f32(1) + f32(320.5, 240.25, 100, 60.5) + TWIST])),
    "detections_3d": ("lgsvl_msgs/Detection3DArray", header() + array([
        header() + u32(7) + text("Straße") + f32(0.5) + XYZW + f64(4.5, 1.8, 1.5) + TWIST])),
    "signals": ("lgsvl_msgs/SignalArray", header() + array([header() + u32(3) + text("green") + f32(1) + XYZW + f64(0.25, 0.5, 1)])),
    "radar_objects": ("lgsvl_msgs/DetectedRadarObjectArray", header() + array([
        i32(7) + f64(1, 0, 0) + f64(0, -1, 0) + f64(0, 0, 0) + f64(0, 0, 0) + f64(math.atan2(3, 4))
        + f64(4, 3, -0.5) + f64(-4, 0.5, 0) + f64(4, 3, -0.5) + f64(-4, 0.5, 0) + f64(4.5, 1.8, 1.5) + u8(0) + u8(1)])),
    "radar": ("sensor_msgs/PointCloud2", header() + u32(1) + u32(1)
              + array([field(n, 4 * i, 7) for i, n in enumerate(["x", "y", "z", "Range", "Velocity", "AzimuthAngle", "ElevationAngle"])])
              + u8(0) + u32(28) + u32(28) + u32(28) + f32(12.5, 0, 0, 12.5, -3.25, 0, 0) + u8(1)),
    "dvs_events": ("sensor_msgs/PointCloud2", header() + u32(1) + u32(2)
                   + array([field("x", 0, 4), field("y", 2, 4), field("t", 4, 8), field("pol", 12, 1)])
                   + u8(0) + u32(13) + u32(26) + u32(26) + u16(3) + u16(1) + f64(7) + i8(1) + u16(300) + u16(2) + f64(8) + i8(0) + u8(1)),
    "collision": ("carla_msgs/CarlaCollisionEvent", header() + u32(7) + f64(-100, 25.5, 0)),
    "lane_invasion": ("carla_msgs/CarlaLaneInvasionEvent", header() + array([i32(2), i32(10)])),
    "speed": ("std_msgs/Float32", f32(8.5)),
    "comfort": ("lgsvl_msgs/ComfortData", f32(5, 2, 0.5, 90, 180, -45, 60)),
    "destination": ("geometry_msgs/PoseStamped", header() + XYZW),
    "gps_odometry": ("nav_msgs/Odometry", header() + text("base_link") + f64(456000.5, 5428000.25, 116.5) + f64(0, 0, 0.6, 0.8)
                     + array(diagonal(1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6)) + f64(8.5, 0, 0) + f64(0, 0, 0.25)
                     + array(diagonal(1e-6, 1e6, 1e6, 1e6, 1e6, 1e-6))),
}


def main():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name, (typ, body) in BODIES.items():
        topic = "/test/" + name
        with open(os.path.join(folder, name + ".bin"), "wb") as out:
            out.write(u8(2) + text(topic) + text(typ))
            out.write(u8(3) + text(topic) + u32(len(body)) + body)


main()
