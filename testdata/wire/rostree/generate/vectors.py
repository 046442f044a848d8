#!/usr/bin/python3
"""Makes the vectors in the folder above anew: the messages of wire/ros1 as rosbridge's
protocol has them in BSON (Debian's python3-bson) and CBOR (python3-cbor2).

In both, a time is {secs, nsecs} and uint8[] is binary. In CBOR, as rosbridge does it,
arrays of numbers are typed arrays (RFC 8746) of little-endian elements.
"""
import importlib.util
import os
import re
import struct
import sys

import bson
import cbor2
import genpy

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("ros1", os.path.join(HERE, "../../ros1/generate/vectors.py"))
ros1 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ros1)

TYPED = {"int8": (72, "<%db"), "int16": (77, "<%dh"), "uint16": (69, "<%dH"), "int32": (78, "<%di"), "uint32": (70, "<%dI"),
         "int64": (79, "<%dq"), "uint64": (71, "<%dQ"), "float32": (85, "<%df"), "float64": (86, "<%dd")}


def tree(v, typ, typed):
    if isinstance(v, genpy.Message):
        return {slot: tree(getattr(v, slot), t, typed) for slot, t in zip(v.__slots__, v._slot_types)}
    if isinstance(v, genpy.rostime.TVal):
        return {"secs": v.secs, "nsecs": v.nsecs}
    if isinstance(v, list):
        element = typ.split("[")[0]
        if typed and element in TYPED:
            tag, form = TYPED[element]
            return cbor2.CBORTag(tag, struct.pack(form % len(v), *v))
        return [tree(e, element, typed) for e in v]
    return v


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..")
    for typ in ros1.TYPES:
        m = ros1.Values().message(typ)
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", typ.split("/")[1]).lower()
        with open(os.path.join(out, name + ".bson"), "wb") as f:
            f.write(bson.BSON.encode(tree(m, typ, False)))
        with open(os.path.join(out, name + ".cbor"), "wb") as f:
            f.write(cbor2.dumps(tree(m, typ, True)))


if __name__ == "__main__":
    main()
