#!/usr/bin/python3
"""Makes the vectors in the folder above anew: message bodies of SVL Simulator's ROS 2
bridge, packed field by field from the protocol's description with Python's struct.

u8, u32, ... are little-endian numbers; s is a string (u32 length, bytes); a is an array
(u32 count, elements), also one of fixed size.
"""
import math
import os
import struct
import sys


def u8(v): return struct.pack("<B", v)
def i8(v): return struct.pack("<b", v)
def u16(v): return struct.pack("<H", v)
def i32(v): return struct.pack("<i", v)
def u32(v): return struct.pack("<I", v)
def f32(*v): return struct.pack("<%df" % len(v), *v)
def f64(*v): return struct.pack("<%dd" % len(v), *v)
def s(v): return u32(len(v.encode())) + v.encode()
def a(elements): return u32(len(elements)) + b"".join(elements)


def header(frame="lidar", secs=1700000000, nsecs=123456789):
    return i32(secs) + u32(nsecs) + s(frame)


def field(name, offset, datatype):
    return s(name) + u32(offset) + u8(datatype) + u32(1)


pose = f64(12.5, -3, 0.75) + f64(0, 0, 0.6, 0.8)
twist = f64(5, -1, 0) + f64(0, 0, 0.5)

VECTORS = {
    "clock": i32(1700000000) + u32(123456789),
    "clock_before_epoch": i32(-2) + u32(999999999),
    "image": header() + u32(2) + u32(3) + s("rgb8") + u8(0) + u32(9) + a([u8(7 * i + 1) for i in range(18)]),
    "compressed_image": header() + s("jpeg") + a([u8(0xff), u8(0xd8), u8(0xff)]),
    "camera_info": header() + u32(480) + u32(640) + s("plumb_bob") + a([f64(-0.5), f64(0.25)])
        + a([f64(500 + i) for i in range(9)]) + a([f64(i) for i in range(9)]) + a([f64(600 + i) for i in range(12)])
        + u32(1) + u32(2) + u32(3) + u32(4) + u32(5) + u32(6) + u8(1),
    "imu": header() + f64(0.1, -0.2, 0.3, 0.9) + a([f64(-1)] + [f64(0)] * 8)
        + f64(0.01, -0.02, 0.03) + a([f64(2 + i) for i in range(9)])
        + f64(0.5, -0.25, 9.80665) + a([f64(4 + i) for i in range(9)]),
    "nav_sat_fix": header() + i8(-1) + u16(9) + f64(48.137154, -11.576124, 519.25) + a([f64(i) for i in range(9)]) + u8(2),
    "odometry": header("odom") + s("base_link") + pose + a([f64(100 + i) for i in range(36)]) + twist + a([f64(200 + i) for i in range(36)]),
    "laser_scan": header() + f32(-1.5, 1.5, 1, 0.001, 0.1, 0.25, 30)
        + a([f32(1.5), f32(math.inf), f32(-math.inf), f32(math.nan)]) + a([]),
    "point_cloud": header() + u32(1) + u32(2)
        + a([field("x", 0, 7), field("y", 4, 7), field("z", 8, 7), field("intensity", 16, 2), field("timestamp", 24, 8)])
        + u8(0) + u32(32) + u32(64) + a([u8(i) for i in range(64)]) + u8(1),
    "can_bus": header() + f32(8.5, 0.25, 0.5, -0.75) + bytes([1, 0, 1, 0, 1, 0, 1, 0, 1]) + i8(2) + u8(1) + f32(900)
        + f64(49.01, -8.4, 115.5) + f64(0, 0, 0.6, 0.8) + f64(8, -2, 0.5),
    "detections_2d": header() + a([header("box") + u32(7) + s("Sedan") + f32(1) + f32(320.5, 240.25, 100, 60.5) + twist]),
    "detections_3d": header() + a([header() + u32(7) + s("Straße") + f32(0.5) + pose + f64(4.5, 1.8, 1.5) + twist]),
    "signals": header() + a([header() + u32(3) + s("green") + f32(1) + pose + f64(0.25, 0.5, 1)] * 2),
    "radar_objects": header() + a([i32(-7) + f64(1, 0, 0) + f64(0, -1, 0) + f64(0, 0, 0) + f64(1, 2, 3) + f64(0.5)
        + f64(30, 0, -0.5) + f64(-4, 0.5, 0) + f64(30, 1, -0.5) + f64(-4, 1, 0) + f64(4.5, 1.8, 1.5) + u8(1) + u8(1)]),
    "ultrasonic": header() + f32(1.25),
    "vehicle_odometry": header() + f32(8.5, 0.25, -0.125),
    "vehicle_control": header() + f32(0.25, 0.5, -0.5, 0.125) + u8(2),
    "vehicle_state": header() + bytes([3, 2, 1, 4, 1]) + bytes([1, 0, 1]),
    "speed": f32(-3.25),
    "tf_empty": a([]),
}

if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    for name, data in VECTORS.items():
        with open(os.path.join(out, name + ".bin"), "wb") as f:
            f.write(data)
