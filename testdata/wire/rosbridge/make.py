#!/usr/bin/python3
"""Makes the frames beside this script with Debian's python3-bson (PyMongo's bson) and
python3-cbor2: run it here, after make setup-peers."""


import bson
import cbor2

MESSAGE = {"linear": {"x": 1.5, "y": -0.25, "z": 0.0}, "angular": {"x": 0.0, "y": 0.0, "z": 1e-300}}
RAW = bytes(range(48))

FRAMES = {
    "publish": {"op": "publish", "topic": "/cmd_vel", "msg": MESSAGE},
    "call": {"op": "call_service", "id": "call:/light:1", "service": "/light", "args": {"data": True}},
    "response": {"op": "service_response", "service": "/light", "id": "call:/light:1",
                 "values": {"success": True, "message": "on"}, "result": True},
    "failure": {"op": "service_response", "service": "/light", "id": "call:/light:1", "values": "no lamp", "result": False},
    "status": {"op": "status", "level": "error", "msg": "no such topic \u00fc"},
    "advertise": {"op": "advertise", "topic": "/points", "type": "sensor_msgs/PointCloud2"},
    "subscribe": {"op": "subscribe", "topic": "/cmd_vel", "type": "geometry_msgs/Twist", "compression": "cbor"},
    "service": {"op": "advertise_service", "type": "std_srvs/SetBool", "service": "/light"},
    "head": {"op": "publish", "topic": "/points", "msg": {}},
    # Elements that envelopes needn't have and readers must step over.
    "other": {"op": "publish", "n": 1, "m": 1 << 40, "f": 0.5, "z": None, "b": b"\x00\x01", "l": [1, [2]], "d": {"a": {"b": 1}},
              "t": False, "topic": "/x", "msg": {}},
}

for name, frame in FRAMES.items():
    with open(name + ".bson", "wb") as f:
        f.write(bson.BSON.encode(frame))
    with open(name + ".cbor", "wb") as f:
        f.write(cbor2.dumps(frame))
with open("raw.cbor", "wb") as f:
    f.write(cbor2.dumps({"op": "publish", "topic": "/cmd_vel", "msg": {"secs": 7, "nsecs": 250000000, "bytes": RAW}}))
