#!/usr/bin/env python3
"""golden.py BINARY OTHER FOLDER: runs BINARY and writes into FOLDER what its bridges wrote.

The demo rig runs for two seconds of simulated time, stepped, with seed 1, on software
OpenGL. A rig with one sensor of each type that OTHER has, too, runs for 0.4 s. Each runs once for the files:
MCAP in three profiles and the log. Each runs again for the servers stream, carla, foxglove
and rosbridge, and for the clients cyber and ros2lgsvl. FOLDER then has one file for each
topic that a peer received. golden.sh compares two such folders.

The host's time at which a message was handed over differs from run to run. It is in the
messages of stream and foxglove, and is left out.
"""

import asyncio
import base64
import gzip
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import urllib.request

# A queue that holds everything: a peer that is slow on a busy machine misses nothing.
QUEUE = "messages=100000&bytes=2000000000"

# More than carla has streams of; it closes the connections of the others.
STREAMS = 40

# The settings of sensors that would take long, or see nothing, with their defaults.
SETTINGS = {
    "sensor.lidar.ray_cast": "preset: VelodyneVLP16, columns: 90, noise_stddev: 0.02, dropoff_general_rate: 0.3",
    "sensor.lidar.ray_cast_semantic": "range: 60, points_per_second: 20000",
    "sensor.lidar.laser_scan": "measurements_per_rotation: 180",
    "sensor.other.ultrasonic": "image_size_x: 40, image_size_y: 16",
    "sensor.other.imu": "noise_accel_stddev_x: 0.1, noise_gyro_bias_z: 0.01",
    "sensor.other.gnss": "noise_alt_stddev: 1",
    "sensor.ground_truth.boxes_2d": "image_size_x: 160, image_size_y: 90",
    "sensor.ground_truth.boxes_3d": "max_distance: 200",
    "sensor.camera.dvs": "sigma_positive_threshold: 0.1, image_size_x: 64, image_size_y: 48",
    "sensor.other.safe_distance": "safe_distance_front: 60, safe_distance_lateral: 60, safe_distance_back: 60",
    "sensor.other.obstacle": "distance: 100, hit_radius: 3",
    "sensor.other.signals": "max_distance: 300",
    "sensor.other.radar": "points_per_second: 20000",
}

# Sensors that drive: they publish nothing, and the ego of these runs obeys no commands.
SILENT = {f"sensor.other.{name}" for name in ("control", "control_calibration", "cruise_control", "lane_following")}


class Dump:
    """The bytes that one bridge's peer received, a file for each topic."""

    def __init__(self, folder):
        self.folder = folder
        self.messages = 0
        folder.mkdir(parents=True)

    def write(self, topic, data):
        name = topic.strip("/").replace("/", "_") or "root"
        with open(self.folder / name, "ab") as file:
            file.write(struct.pack("<I", len(data)) + data)
        self.messages += 1


class WebSocket:
    """The client half of RFC 6455, as much of it as the servers here ask for."""

    async def connect(self, port, protocol=None):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        if protocol:
            lines.append(f"Sec-WebSocket-Protocol: {protocol}")
        self.writer.write("\r\n".join(lines + ["", ""]).encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode())
        return self

    def send(self, data, opcode=1):
        head = bytes([0x80 | opcode])
        if len(data) < 126:
            head += bytes([0x80 | len(data)])
        else:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(data))
        self.writer.write(head + bytes(4) + data)  # A mask of zeros leaves the bytes as they are.

    def tell(self, **fields):
        self.send(json.dumps(fields).encode())

    async def messages(self):
        """Yields the opcode and the bytes of each message, until the server closes."""
        whole, kind = b"", 0
        try:
            while True:
                first, length = await self.reader.readexactly(2)
                if length == 126:
                    length, = struct.unpack(">H", await self.reader.readexactly(2))
                elif length == 127:
                    length, = struct.unpack(">Q", await self.reader.readexactly(8))
                data = await self.reader.readexactly(length)
                opcode = first & 15
                if opcode == 8:
                    return
                if opcode == 9:
                    self.send(data, 10)
                elif opcode != 10:
                    kind, whole = opcode or kind, whole + data
                    if first & 0x80:
                        yield kind, whole
                        whole = b""
        except (asyncio.IncompleteReadError, ConnectionError):
            return


async def foxglove(dump, port, ready):
    socket = await WebSocket().connect(port, "foxglove.sdk.v1")
    topics = {}
    asked = False
    async for kind, data in socket.messages():
        if kind == 1:
            message = json.loads(data)
            if message["op"] == "serverInfo":
                message.pop("sessionId", None)
                dump.write("serverInfo", json.dumps(message, sort_keys=True).encode())
            if message["op"] == "advertise":
                for channel in message["channels"]:
                    number = channel.pop("id")
                    topics[number] = channel["topic"]
                    dump.write("advertise_" + channel["topic"], json.dumps(channel, sort_keys=True).encode())
                    socket.tell(op="subscribe", subscriptions=[{"id": number, "channelId": number}])
                if not asked:
                    asked = True
                    # The answer comes after the server has read the subscriptions.
                    socket.tell(op="getParameters", parameterNames=[], id="ready")
            if message["op"] == "parameterValues":
                ready.set()
        elif data[0] == 1:
            number, = struct.unpack_from("<I", data, 1)
            dump.write(topics[number], data[13:])  # without the time at which it was sent


async def rosbridge(dump, port, ready):
    socket = await WebSocket().connect(port)
    socket.tell(op="call_service", service="/rosapi/topics", id="topics")
    async for _, data in socket.messages():
        message = json.loads(data)
        if message["op"] == "publish":
            dump.write(message["topic"], data)
        elif message.get("id") == "topics":
            dump.write("rosapi_topics", data)
            for topic in message["values"]["topics"]:
                socket.tell(op="subscribe", topic=topic)
            socket.tell(op="call_service", service="/rosapi/get_time", id="ready")
        elif message.get("id") == "ready":
            ready.set()


async def stream(dump, port, ready):
    wish = struct.pack("<HH", 1, 1) + b"*"
    for version in (2, 1):  # version 1 until raybridge's stream became ROS messages
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        writer.write(b"RBSTREAM" + struct.pack("<HHI", version, 0, len(wish)) + wish)
        head = await reader.readexactly(16)
        rest = await reader.readexactly(struct.unpack_from("<I", head, 12)[0])
        if struct.unpack_from("<H", head, 10)[0] == 0:
            break
        writer.close()
    published = 24 if version == 2 else 40  # the offset of the host's time in a message

    async def alive():
        while True:
            writer.write(struct.pack("<IHBBII", 0, 0, 0, 1, 0, 0))
            await asyncio.sleep(0.5)

    names = {}

    def text(data, at):
        length, = struct.unpack_from("<H", data, at)
        return data[at + 2:at + 2 + length].decode(), at + 2 + length

    def description(data, at):
        start = at
        number, = struct.unpack_from("<H", data, at)
        at += 8 if version == 2 else 12
        name, at = text(data, at)
        for _ in range(5 if version == 2 else 3):
            _, at = text(data, at)
        if version == 2:
            at += 4 + struct.unpack_from("<I", data, at)[0]
        names[number] = name
        dump.write("description_" + name, data[start:at])
        return at

    beat = asyncio.create_task(alive())
    try:
        _, at = text(rest, 0)
        count, = struct.unpack_from("<H", rest, at + 18)
        at += 20
        for _ in range(count):
            at = description(rest, at)
        ready.set()
        while True:
            length, number, flags, control, sequence, _ = struct.unpack("<IHBBII", await reader.readexactly(16))
            data = await reader.readexactly(length)
            if control == 2:
                description(data, 0)
            if control == 4:
                dump.write("losses", data)
            if number:
                dump.write(names[number], struct.pack("<BI", flags, sequence) + data[:published] + data[published + 8:])
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        beat.cancel()


async def carla(dump, port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    writer.write(struct.pack("<I", number))
    try:
        while True:
            length, = struct.unpack("<I", await reader.readexactly(4))
            dump.write(f"stream_{number:02}", await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


class Sink:
    """A server that takes all that one client sends, and says nothing."""

    def __init__(self, folder):
        self.folder, self.ready, self.done = folder, asyncio.Event(), asyncio.Event()
        folder.mkdir(parents=True)

    async def listen(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def serve(self, reader, _):
        self.ready.set()
        with open(self.folder / "bytes", "ab") as file:
            while data := await reader.read(1 << 20):
                file.write(data)
        self.done.set()


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def listed(binary):
    return subprocess.run([binary, "sensors", "list"], check=True, capture_output=True, text=True).stdout.splitlines()


def every_sensor(binary, other, file):
    """Writes a configuration with one sensor of each type that both programs have and that publishes."""
    known = {line.split()[0] for line in listed(other)}
    lines = ["scene: {city: true, triangles: 40000}", "sensors:"]
    for line in listed(binary):
        kind = line.split()[0]
        if kind in SILENT or kind not in known:
            continue
        settings = SETTINGS.get(kind, "image_size_x: 64, image_size_y: 48" if kind.startswith("sensor.camera.") else "")
        fields = [f"id: {kind}", f"name: my_{kind.rsplit('.', 1)[1]}", "pose: {x: 1, z: 1.7}"]
        if "each frame" not in line:
            fields.append("rate: 10")
        lines.append("  - {" + ", ".join(fields + [settings] * (settings != "")) + "}")
    file.write_text("\n".join(lines) + "\n")


def command(binary, out, rig):
    return [binary, "run", "--gpu", "software", "--step", "--seed", "1", "--policy", "block",
            "--out", str(out), "--quiet"] + rig


def files(binary, folder, rig):
    out = folder / "files"
    bridges = ["mcap:ros2", "mcap:ros1.mcap?profile=ros1", "mcap:foxglove.mcap?profile=foxglove", "logging:log"]
    words = command(binary, out, rig)
    subprocess.run(words + [word for bridge in bridges for word in ("--bridge", bridge)], check=True)
    for packed in out.glob("*.gz"):
        # gzip's header and level aren't what is compared.
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()


async def servers(binary, folder, rig):
    ports = {name: port() for name in ("stream", "carla", "foxglove", "rosbridge", "control")}
    dumps = {name: Dump(folder / name) for name in ("stream", "carla", "foxglove", "rosbridge")}
    sinks = {name: Sink(folder / name) for name in ("cyber", "ros2lgsvl")}
    bridges = [f"stream:{ports['stream']}", f"carla:{ports['carla']}", f"foxglove:{ports['foxglove']}",
               f"rosbridge:listen={ports['rosbridge']}"]
    bridges += [f"{name}:127.0.0.1:{await sink.listen()}" for name, sink in sinks.items()]
    bridges = [f"{bridge}?{QUEUE}" for bridge in bridges]
    words = command(binary, folder / "out", rig) + ["--control", str(ports["control"]), "--paused"]
    run = await asyncio.create_subprocess_exec(*words, *(word for bridge in bridges for word in ("--bridge", bridge)))

    def control(path, **how):
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{ports['control']}{path}", **how)) as answer:
            return json.load(answer)

    for _ in range(300):
        try:
            control("/v1/time")
            break
        except OSError:
            await asyncio.sleep(0.1)
    ready = {name: asyncio.Event() for name in ("stream", "foxglove", "rosbridge")}
    peers = [asyncio.create_task(peer(dumps[peer.__name__], ports[peer.__name__], ready[peer.__name__]))
             for peer in (stream, foxglove, rosbridge)]
    peers += [asyncio.create_task(carla(dumps["carla"], ports["carla"], number + 1)) for number in range(STREAMS)]
    for event in [*ready.values(), *(sink.ready for sink in sinks.values())]:
        await asyncio.wait_for(event.wait(), 30)
    await asyncio.sleep(1)  # CARLA's protocol has no answer to wait for.
    await asyncio.to_thread(control, "/v1/resume", method="POST")
    if await run.wait():
        raise SystemExit("golden.py: the run failed")
    await asyncio.wait_for(asyncio.gather(*peers, *(sink.done.wait() for sink in sinks.values())), 30)
    for name, dump in dumps.items():
        print(f"{name}: {dump.messages} messages")
        if not dump.messages:
            raise SystemExit(f"golden.py: {name} sent nothing")


def main():
    binary, other, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True)
    config = folder / "every.yaml"
    every_sensor(binary, other, config)
    rigs = {"demo": ["--duration", "2s"], "every": ["--duration", "400ms", "--config", str(config)]}
    for name, rig in rigs.items():
        files(binary, folder / name, rig)
        asyncio.run(servers(binary, folder / name, rig))


main()
