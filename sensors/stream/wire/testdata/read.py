"""Reads messages of the stream protocol with nothing but the tables of its document.

    python3 testdata/read.py ../../../docs/stream-protocol.md MESSAGE.bin ...

prints each message as a line of JSON: its header, then its fields by name. It shares
nothing with the Go code, which independent_test.go holds against it, and is a start for
readers in other languages.
"""

import json
import re
import struct
import sys

SCALARS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}


def tables(path):
    """Returns the tables of kinds and records: (offset, type, field, remark) by heading."""
    found, rows = {}, None
    for line in open(path, encoding="utf-8"):
        if heading := re.match(r"### (?:(\d+): )?(\w+)", line):
            kind = heading[1] and int(heading[1])
            rows = []
            found[kind or heading[2]] = {"name": heading[2], "rows": rows, "fixed": 0}
        elif rows is not None and (size := re.search(r"fixed part of (\d+) bytes|^(\d+) bytes each", line)):
            list(found.values())[-1]["fixed"] = int(size[1] or size[2])
        elif rows is not None and (row := re.match(r"\| (\d+) \| (\S+) \| (\S+) \| (.*?) ?\|$", line)):
            rows.append((int(row[1]), row[2], row[3], row[4]))
    return found


def scalar(b, at, kind):
    return struct.unpack_from("<" + SCALARS[kind], b, at)[0]


def doubles(b, at, n):
    return list(struct.unpack_from("<%dd" % n, b, at))


def fixed(b, at, kind):
    """Reads a value of fixed size."""
    if kind == "bool":
        return b[at] != 0
    if kind == "vec3":
        return doubles(b, at, 3)
    if kind == "quat":
        x, y, z, w = doubles(b, at, 4)
        return {"V": [x, y, z], "W": w}
    if kind == "pose":
        return {"Position": fixed(b, at, "vec3"), "Orientation": fixed(b, at + 24, "quat")}
    if kind == "twist":
        return {"Linear": fixed(b, at, "vec3"), "Angular": fixed(b, at + 24, "vec3")}
    if array := re.fullmatch(r"f64\[(\d+)\]", kind):
        return doubles(b, at, int(array[1]))
    return scalar(b, at, kind)


def record(b, at, table, text):
    fields = {}
    for offset, kind, name, _ in table["rows"]:
        if kind == "text":
            start, size = struct.unpack_from("<II", b, at + offset)
            fields[name] = text[start:start + size].decode()
        else:
            fields[name] = fixed(b, at + offset, kind)
    return fields


def body(b, table, known):
    """Reads the fixed part, then what varies in length, in the same order."""
    fields, varying = {}, []
    for offset, kind, name, remark in table["rows"]:
        if remark.startswith("number of"):
            varying.append((name, re.match(r"number of (\w+)", remark)[1], scalar(b, offset, "u32"), remark))
        else:
            fields[name] = fixed(b, offset, kind)
    places, at = [], table["fixed"]
    for name, element, count, remark in varying:
        size = 1 if element == "bytes" else known[element]["fixed"] if element in known else struct.calcsize("<" + SCALARS[element])
        places.append((name, element, count, at, remark))
        at += (size * count + 7) // 8 * 8
    assert at == len(b), "the parts have %d bytes, the body %d" % (at, len(b))
    text = next((b[at:at + n] for name, _, n, at, _ in places if name == "-"), b"")
    for name, element, count, at, remark in places:
        if name == "-":
            continue
        if element == "bytes":
            raw = b[at:at + count]
            fields[name] = list(raw) if re.search(r": (rows|file)", remark) else raw.decode()
        elif element in known:
            fields[name] = [record(b, at + i * known[element]["fixed"], known[element], text) for i in range(count)]
        else:
            fields[name] = list(struct.unpack_from("<%d%s" % (count, SCALARS[element]), b, at))
    return fields


def message(b, known):
    magic, kind_of_sensor, kind, version, flags, named = struct.unpack_from("<4sIHHHH", b)
    sequence, frame, capture, publish = struct.unpack_from("<QQqq", b, 16)
    size, = struct.unpack_from("<Q", b, 104)
    start = 112 + (named + 7) // 8 * 8
    assert magic == b"RBMS" and version == 1 and start + size == len(b), "not a message of version 1"
    header = {"StampNs": capture, "Seq": sequence, "Frame": frame, "FrameID": b[112:112 + named].decode(),
              "Pose": fixed(b, 48, "pose"), "PublishNs": publish, "Type": kind_of_sensor, "Given": flags & 1 == 1}
    return {"kind": known[kind]["name"], "header": header, **body(b[start:], known[kind], known)}


def main(document, *files):
    known = tables(document)
    for file in files:
        with open(file, "rb") as f:
            print(json.dumps(message(f.read(), known)))


if __name__ == "__main__":
    main(*sys.argv[1:])
