"""Rebuilds messages that a rosbridge server recorded by ROS 1's own message classes.

Reads lines of JSON {"topic", "type", "definition", "module", "frame"}: the frame in base64, and
which Python module reads it: bson, or one of the three that rosbridge_suite uses for JSON,
ujson, simplejson or json. Each message is filled into the class that genpy makes of the definition (Debian's own class
where there is one), every field by its name, none more and none less; then it is written to
a bag by rosbag, read back and compared. Prints lines of JSON {"topic", "raw": base64 of the
serialized message, "md5", "ours": whether Debian has the class}.

    /usr/bin/python3 bag.py FRAMES OUT.bag
"""

import base64
import importlib
import io
import json
import sys

import bson
import genpy
import genpy.dynamic
import rosbag
import roslib.message


def frames(path):
    with open(path) as lines:
        for line in lines:
            record = json.loads(line)
            data = base64.b64decode(record["frame"])
            if record["module"] == "bson":
                frame = bson.BSON(data).decode()
            else:
                frame = importlib.import_module(record["module"]).loads(data.decode("utf-8"))
            assert frame["op"] == "publish" and frame["topic"] == record["topic"], frame
            yield record, frame["msg"]


def message_class(record):
    """The class of Debian's packages, else one made of the definition."""
    made = genpy.dynamic.generate_dynamic(record["type"], record["definition"])
    try:
        debian = roslib.message.get_message_class(record["type"])
    except Exception:
        debian = None
    return debian or made[record["type"]], debian is not None, made


def fill(message, values, made):
    assert set(values) == set(message.__slots__), (sorted(values), message.__slots__)
    for name, kind in zip(message.__slots__, message._slot_types):
        setattr(message, name, value(kind, values[name], getattr(message, name), made))
    return message


def value(kind, given, empty, made):
    base, _, array = kind.partition("[")
    if kind in ("time", "duration"):
        assert set(given) == {"secs", "nsecs"}, given
        return (genpy.Time if kind == "time" else genpy.Duration)(given["secs"], given["nsecs"])
    if array and base in ("uint8", "char"):
        return bytes(given) if isinstance(given, bytes) else base64.b64decode(given, validate=True)
    if array:
        if array != "]":
            assert len(given) == int(array[:-1]), (kind, len(given))
        return [value(base, v, None, made) for v in given]
    if base in ("float32", "float64"):
        # As rosbridge_suite: it refuses None, which null is.
        assert isinstance(given, (int, float)) and not isinstance(given, bool), (kind, given)
        return float(given)
    if base == "bool":
        assert isinstance(given, bool), (kind, given)
        return given
    if base == "string":
        assert isinstance(given, str), (kind, given)
        return given
    if base.startswith(("int", "uint")):
        assert isinstance(given, int) and not isinstance(given, bool), (kind, given)
        return given
    if empty is None:
        full = base if "/" in base else "std_msgs/Header"
        empty = (roslib.message.get_message_class(full) or made[full])() if full not in made else made[full]()
    return fill(empty, given, made)


def serialized(message):
    buffer = io.BytesIO()
    message.serialize(buffer)
    return buffer.getvalue()


def main(path, out):
    written = []
    with rosbag.Bag(out, "w") as bag:
        for i, (record, values) in enumerate(frames(path)):
            cls, ours, made = message_class(record)
            message = fill(cls(), values, made)
            raw = serialized(message)
            bag.write(record["topic"], message, genpy.Time(1 + i))
            written.append((record, raw, cls._md5sum, ours))
    with rosbag.Bag(out) as bag:
        read = list(bag.read_messages(raw=True))
        assert len(read) == len(written), (len(read), len(written))
        for (record, raw, md5, ours), (topic, (kind, data, sum_, _, _), _) in zip(written, read):
            assert (topic, kind, data, sum_) == (record["topic"], record["type"], raw, md5), topic
            print(json.dumps({"topic": topic, "raw": base64.b64encode(raw).decode(), "md5": md5, "ours": ours}))


main(*sys.argv[1:])
