#!/usr/bin/python3
"""Makes the vectors in the folder above anew, with the message classes that Debian
packages for ROS 1 (python3-sensor-msgs and so on; genpy serialises), and those that
genpy makes of Kinds.msg, which has fields of every type.

NAME.bin is a serialised message, NAME.json the values in it as JSON with ROS 1's names:
uint8[] as base64, NaN and infinities as strings. types.json has the md5 sum and the
definition, without comments and blank lines, of every type.
"""
import base64
import importlib
import io
import json
import math
import os
import re
import sys

import genpy
import genpy.dynamic

TYPES = """
std_msgs/Header std_msgs/Float32 rosgraph_msgs/Clock
geometry_msgs/Point geometry_msgs/Vector3 geometry_msgs/Quaternion geometry_msgs/Pose
geometry_msgs/PoseWithCovariance geometry_msgs/Twist geometry_msgs/TwistWithCovariance
geometry_msgs/Transform geometry_msgs/TransformStamped tf2_msgs/TFMessage nav_msgs/Odometry
sensor_msgs/Image sensor_msgs/CompressedImage sensor_msgs/RegionOfInterest sensor_msgs/CameraInfo
sensor_msgs/PointField sensor_msgs/PointCloud2 sensor_msgs/Imu sensor_msgs/NavSatStatus
sensor_msgs/NavSatFix sensor_msgs/LaserScan sensor_msgs/Range
kinds_msgs/Kinds kinds_msgs/Nothing
""".split()
SERVICES = ["std_srvs/Empty", "std_srvs/SetBool", "std_srvs/Trigger"]
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "uint16": (0, 65535),
          "int16": (-32768, 32767), "int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1),
          "int64": (-2**63, 2**63 - 1), "uint64": (0, 2**63 - 1), "byte": (-128, 127), "char": (0, 255)}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Kinds.msg")) as f:
    DYNAMIC = genpy.dynamic.generate_dynamic("kinds_msgs/Kinds", f.read())


class Values:
    """A different value for each field, counted up."""

    def __init__(self):
        self.n = 0

    def of(self, typ):
        self.n += 1
        array = re.match(r"(.*)\[(\d*)\]$", typ)
        if array:
            element, size = array.groups()
            size = int(size) if size else 3
            if element in ("uint8", "char"):
                return bytes((self.n * 37 + 59 * i) % 256 for i in range(size))
            return [self.of(element) for _ in range(size)]
        if typ == "time":
            return genpy.Time(1700000000 + self.n, 999999999 - self.n)
        if typ == "duration":
            return genpy.Duration(-self.n, 999999999 - self.n)
        if typ == "string":
            return "text %d: Straße \"道路\"\\\n\x01" % self.n
        if typ == "bool":
            return self.n % 2 == 1
        if typ in RANGES:
            low, high = RANGES[typ]
            return (low, high, self.n)[self.n % 3] if self.n % 2 else self.n % (high + 1)
        if typ in ("float32", "float64"):
            edges = {5: math.nan, 7: math.inf, 11: -math.inf, 13: -0.0}
            return edges.get(self.n % 17, self.n * 0.125 - 2)
        return self.message(typ)

    def message(self, typ):
        m = load(typ)()
        for slot, t in zip(m.__slots__, m._slot_types):
            setattr(m, slot, self.of(t))
        return m


def load(typ, folder="msg"):
    if typ in DYNAMIC:
        return DYNAMIC[typ]
    pkg, name = typ.split("/")
    return getattr(importlib.import_module(pkg + "." + folder), name)


def plain(v):
    """v as JSON knows it."""
    if isinstance(v, genpy.Message):
        return {slot: plain(getattr(v, slot)) for slot in v.__slots__}
    if isinstance(v, genpy.rostime.TVal):
        return {"secs": v.secs, "nsecs": v.nsecs}
    if isinstance(v, bytes):
        return base64.b64encode(v).decode()
    if isinstance(v, list):
        return [plain(e) for e in v]
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v


def definition(text):
    """The lines that mean something, with one space between words."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\s+", " ", line.split("#")[0]).strip()
        if line:
            lines.append(re.sub(r" ?= ?", "=", line) if not line.startswith("==") else line)
    return "\n".join(lines) + "\n" if lines else ""


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    types = {}
    for typ in TYPES:
        cls = load(typ)
        types[typ] = {"md5": cls._md5sum, "definition": definition(cls._full_text)}
        m = Values().message(typ)
        buffer = io.BytesIO()
        m.serialize(buffer)
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", typ.split("/")[1]).lower()
        with open(os.path.join(out, name + ".bin"), "wb") as f:
            f.write(buffer.getvalue())
        with open(os.path.join(out, name + ".json"), "w") as f:
            json.dump({"type": typ, "message": plain(m)}, f, indent=1, ensure_ascii=False)
            f.write("\n")
    for typ in SERVICES:
        types[typ] = {"md5": load(typ, "srv")._md5sum}
    with open(os.path.join(out, "types.json"), "w") as f:
        json.dump(types, f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
