"""lane_invasion.py [HOST:PORT]: tells which lane marks the ego crosses, of snapshots and marks, as CARLA's clients do.

For a run with `--bridge stream:` whose rig has a sensor.other.lane_marks on /lane_marks."""
import itertools
import socket
import struct
import sys

EGO = 0


class Cdr:
    """Reads numbers, each at a multiple of its size, and texts."""

    def __init__(self, data, at):
        self.data, self.begin, self.at = data, at, at

    def read(self, form):  # such as "3d"; of one kind
        size = struct.calcsize("<" + form[-1])
        self.at += -(self.at - self.begin) % size
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size * len(values)
        return values

    def number(self, form):
        return self.read(form)[0]

    def text(self):
        length = self.number("I")
        self.at += length


def lane_marks(cdr):
    """The line of each mark by its id, points (x, y)."""
    marks = {}
    for _ in range(cdr.number("I")):
        mark, _, _ = cdr.number("I"), cdr.number("B"), cdr.number("B")
        marks[mark] = [cdr.read("3d")[:2] for _ in range(cdr.number("I"))]
    return marks


def ego_corners(cdr):
    """The corners (x, y) of the bottom of the ego's box in a snapshot, None if it isn't there."""
    cdr.read("q")  # since the frame before
    for _ in range(cdr.number("I")):
        actor = cdr.number("I")
        cdr.text()  # its type
        cdr.number("B")
        position, q = cdr.read("3d"), cdr.read("4d")
        cdr.read("9d")  # twist and acceleration
        center, half = cdr.read("3d"), cdr.read("3d")
        if actor == EGO:
            sides = itertools.product((-1, 1), (-1, 1))
            box = [(center[0] + x * half[0], center[1] + y * half[1], center[2] - half[2]) for x, y in sides]
            return [tuple(p + r for p, r in zip(position, rotate(q, corner))) for corner in box]
        cdr.read("3f"), cdr.read("i"), cdr.read("2B"), cdr.read("4f")
    return None


def rotate(q, v):
    """x and y of v, turned by the quaternion q = (x, y, z, w)."""
    t = [2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])]
    return v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1], v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2]


def side(p, q, r):
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def cross(a, b, c, d):
    """Whether the way from a to b leads over the piece from c to d, which belongs to its left side."""
    if abs(a[0] - b[0]) + abs(a[1] - b[1]) < 1e-9 or (side(c, d, a) >= 0) == (side(c, d, b) >= 0):
        return False
    return side(a, b, c) * side(a, b, d) <= 0


def crossed(before, now, marks):
    return [mark for mark, line in marks.items()
            if any(cross(a, b, c, d) for a, b in zip(before, now) for c, d in itertools.pairwise(line))]


def text(data, at):
    end = at + 2 + struct.unpack_from("<H", data, at)[0]
    return data[at + 2:end].decode(), end


host, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7740").rsplit(":", 1)
server = socket.create_connection((host, int(port)))
received = server.makefile("rb")

# The greeting: version 2, no options, two streams that we want. The answer lists all streams.
names = b"".join(struct.pack("<H", len(name)) + name for name in (b"/snapshot", b"/lane_marks"))
server.sendall(struct.pack("<8sHHIH", b"RBSTREAM", 2, 0, 2 + len(names), 2) + names)
_, version, status, length = struct.unpack("<8sHHI", received.read(16))
table = received.read(length)
reason, at = text(table, 0)
if status != 0:
    sys.exit(reason)
topics = {}
count, at = struct.unpack_from("<H", table, at + 18)[0], at + 20
for _ in range(count):
    stream, at = struct.unpack_from("<H", table, at)[0], at + 8
    topics[stream], at = text(table, at)
    for _ in range(5):  # sensor, its type, the message's type, encoding and language
        _, at = text(table, at)
    at += 4 + struct.unpack_from("<I", table, at)[0]  # the definition

marks, before, last = {}, None, 0
while head := received.read(16):
    server.sendall(struct.pack("<IHBBII", 0, 0, 0, 1, 0, 0))  # we are alive
    length, stream, _, control, number, _ = struct.unpack("<IHBBII", head)
    data = received.read(length)
    if stream == 0:  # a control frame
        continue
    capture_ns, frame_id = struct.unpack_from("<q", data, 16)[0], struct.unpack_from("<H", data, 90)[0]
    cdr = Cdr(data, 92 + (frame_id + 7) // 8 * 8 + 4)  # behind the envelope, the frame id and CDR's header
    cdr.read("2I")  # the stamp
    cdr.text()  # the frame
    if topics[stream] == "/lane_marks":
        marks = lane_marks(cdr)
        continue
    now = ego_corners(cdr)
    if before and now and capture_ns > last:  # time may be set back
        for mark in crossed(before, now, marks):
            print(f"{capture_ns / 1e9:.3f} s: over mark {mark}", flush=True)
    before, last = now, capture_ns
