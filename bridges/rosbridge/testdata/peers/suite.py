"""Reads frames as a server of rosbridge_suite does, by one of the modules that it uses for JSON.

    /usr/bin/python3 suite.py ujson|simplejson|json FILE

FILE has a frame in base64 on each line, in the order in which they came. Fragments are
kept by their id and joined in the order in which they came, once there are as many as
announced. Prints for each operation a line of JSON {"op", "topic", "latch", "fields":
[names of the message's], "data": SHA-256 of its bytes, "bytes": their number, "fragments"}.
"""

import array
import base64
import hashlib
import importlib
import json
import sys

module = importlib.import_module(sys.argv[1])
received = {}


def incoming(text, fragments):
    frame = module.loads(text)
    if frame["op"] == "fragment":
        parts = received.setdefault(frame["id"], {})
        assert frame["num"] not in parts and frame["num"] < frame["total"], frame
        parts[frame["num"]] = frame["data"]
        if len(parts) == frame["total"]:
            del received[frame["id"]]
            incoming("".join(parts.values()), len(parts))
        return
    message = frame.get("msg", {})
    for value in message.values():
        if isinstance(value, list):
            array.array("d").extend(value)  # which takes numbers alone
    data = base64.standard_b64decode(message.get("data", ""))
    print(json.dumps({
        "op": frame["op"], "topic": frame["topic"], "latch": frame.get("latch", False), "fields": sorted(message),
        "data": hashlib.sha256(data).hexdigest(), "bytes": len(data), "fragments": fragments,
    }))


with open(sys.argv[2]) as lines:
    for line in lines:
        incoming(base64.b64decode(line).decode("utf-8"), 0)
assert not received, "unfinished fragments"
