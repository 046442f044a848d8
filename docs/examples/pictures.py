"""pictures.py TOPIC [HOST:PORT]: prints stamp and size of the pictures of a run with `--bridge stream:`."""
import socket
import struct
import sys

topic = sys.argv[1].encode()
host, port = (sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:7740").rsplit(":", 1)
server = socket.create_connection((host, int(port)))
received = server.makefile("rb")

# The greeting: version 2, no options, one stream that we want. The answer lists all streams.
server.sendall(struct.pack("<8sHHIHH", b"RBSTREAM", 2, 0, 4 + len(topic), 1, len(topic)) + topic)
_, version, status, length = struct.unpack("<8sHHI", received.read(16))
table = received.read(length)
if status != 0:
    sys.exit(table[2:2 + struct.unpack_from("<H", table)[0]].decode())

while head := received.read(16):
    server.sendall(struct.pack("<IHBBII", 0, 0, 0, 1, 0, 0))  # we are alive
    length, stream, _, control, number, _ = struct.unpack("<IHBBII", head)
    data = received.read(length)
    if stream == 0:  # a control frame
        continue
    sequence, frame, capture_ns, publish_ns = struct.unpack_from("<QQqq", data)
    frame_id = struct.unpack_from("<H", data, 90)[0]
    cdr = data[92 + (frame_id + 7) // 8 * 8 + 4:]  # behind the envelope, the frame id and CDR's header
    seconds, nanoseconds, text = struct.unpack_from("<iII", cdr)  # of sensor_msgs/msg/Image
    height, width = struct.unpack_from("<II", cdr, (12 + text + 3) // 4 * 4)
    print(f"{sequence}: {seconds}.{nanoseconds:09d} s, {width} x {height}", flush=True)
